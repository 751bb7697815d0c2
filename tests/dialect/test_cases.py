"""The shipped cases of the dialect, against every store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from remloom import Memory
from remloom.testing.dialect import DialectCase, check, load, prepare
from remloom.testing.embedder import WordEmbedder, WordTokenEncoder

FILES = load()
CASES = [(file, case) for file, content in FILES.items() for case in content.cases]
MemoryOf = Callable[[str], Memory]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def memory_of(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MemoryOf]:
    """The memory that has what a case file gives."""
    opened: dict[str, Memory] = {}

    def memory_of(file: str) -> Memory:
        if file not in opened:
            home = (
                tmp_path_factory.mktemp(file)
                if request.param == "sqlite"
                else request.getfixturevalue("postgres")
            )
            opened[file] = Memory.open(
                home,
                tenant=f"t{uuid4().hex}",
                embedder=WordEmbedder(),
                token_encoder=WordTokenEncoder(),
            )
            prepare(opened[file], FILES[file].given)
        return opened[file]

    yield memory_of
    for memory in opened.values():
        memory.close()


@pytest.mark.parametrize(
    ("file", "case"), CASES, ids=[f"{file}: {case.name}" for file, case in CASES]
)
def test_the_dialect_means_what_its_cases_say(
    file: str, case: DialectCase, memory_of: MemoryOf
) -> None:
    check(memory_of(file), case)


def test_there_are_enough_cases_and_none_twice() -> None:
    assert len(CASES) >= 150
    assert sum(case.error is not None for _, case in CASES) >= 40
    assert len({(file, case.name) for file, case in CASES}) == len(CASES)
