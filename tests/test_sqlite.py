"""The embedded store passes the contract, encrypted and not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from remloom import Memory, Resource
from remloom.store.specs import NameSpec, SearchSpec
from remloom.store.sqlite import SqliteStore
from remloom.testing.conformance import Opening, StoreConformance, put
from steps import steps


class TestPlain(StoreConformance):
    @pytest.fixture
    def opening(self, tmp_path: Path) -> Opening:
        return lambda: SqliteStore(tmp_path / "memory.db")


class TestEncrypted(StoreConformance):
    @pytest.fixture
    def opening(self, tmp_path: Path) -> Opening:
        return lambda: SqliteStore(tmp_path / "memory.db", "ab" * 32)


def test_who_reads_an_older_state_sets_no_index_back(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "memory.db")) as store, ThreadPoolExecutor(1) as other:
        put(store, Resource(content="The first light.", name="Ann"))

        def search() -> list[list[str]]:
            fuzzy = store.search.names("ann", NameSpec(threshold=0.5, limit=9))
            text = store.search.text("light", SearchSpec(limit=9))
            return [[hit.record.id for hit in found] for found in (fuzzy, text)]

        for number in range(3):
            with store.snapshot():
                before = search()
                other.submit(
                    put, store, Resource(content=f"Light {number}.", name=f"Ann {number}")
                ).result()
                assert [len(found) for found in other.submit(search).result()] == [
                    number + 2,
                    number + 2,
                ]
                assert search() == before
        assert [len(found) for found in search()] == [4, 4]
        assert store.admin.check() == []


def test_writing_texts_of_one_name_costs_about_the_same_however_many_have_it(
    tmp_path: Path,
) -> None:
    costs = []
    with Memory.open(tmp_path, embedder="none") as memory:
        for more in (1_000, 4_000):
            memory.write([Resource(name="note", content=f"{more} {n}") for n in range(more)])
            some = [Resource(name="note", content=f"{more}, then {n}") for n in range(200)]
            with steps(memory) as together:
                memory.write(some)
            with steps(memory) as alone:
                for text in some[:20]:
                    memory.write([replace(text, content=f"{text.content}, and alone")])
            costs.append((together.writing, alone.writing))
    (together_few, alone_few), (together_many, alone_many) = costs
    assert 0 < together_many < 4 * together_few
    assert 0 < alone_many < 2 * alone_few
