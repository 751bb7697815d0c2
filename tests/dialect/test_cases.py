"""The shipped cases of the dialect, against the embedded store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from remloom import Memory
from remloom.testing.dialect import Case, check, load, prepare
from remloom.testing.embedder import WordEmbedder

FILES = load()
CASES = [(file, case) for file, content in FILES.items() for case in content.cases]


@pytest.fixture(scope="module")
def memories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Memory]]:
    opened: dict[str, Memory] = {}
    yield opened
    for memory in opened.values():
        memory.close()


@pytest.mark.parametrize(("file", "case"), CASES, ids=[f"{file}: {case.name}" for file, case in CASES])
def test_the_dialect_means_what_its_cases_say(
    file: str, case: Case, memories: dict[str, Memory], tmp_path_factory: pytest.TempPathFactory
) -> None:
    if file not in memories:
        memories[file] = Memory.open(tmp_path_factory.mktemp(file), embedder=WordEmbedder())
        prepare(memories[file], FILES[file].given)
    check(memories[file], case)


def test_there_are_enough_cases_and_none_twice() -> None:
    assert len(CASES) >= 150
    assert sum(case.error is not None for _, case in CASES) >= 40
    assert len({(file, case.name) for file, case in CASES}) == len(CASES)
