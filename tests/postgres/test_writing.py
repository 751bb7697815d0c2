"""Batches that are sent to the server in parts are one write all the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from postgres_server import connect
from remloom import Edge, Entity, Memory, Moment, Resource
from remloom.errors import InvalidInputError, StoreError
from remloom.model import Record
from remloom.store.postgres import PostgresStore, binary_arrays
from remloom.store.postgres.indexes import trigram_index
from remloom.store.postgres.write.batch_writer import BatchWriter
from remloom.store.sqlite import SqliteStore
from remloom.testing.conformance import put

Opening = Callable[..., PostgresStore]


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary_arrays, "_PART", 3)
    monkeypatch.setattr(trigram_index, "TAIL", 8)


@pytest.mark.parametrize("place", [0, 4, 9])
def test_a_record_that_the_server_refuses_undoes_the_parts_before_it(
    postgres: str, place: int
) -> None:
    with Memory.open(postgres, tenant=f"refused-{place}", embedder="none") as memory:
        batch = [Entity(name=f"e{number}", summary="some words") for number in range(10)]
        batch[place] = Entity(name="bad", properties={"text": "a\0b"})
        with pytest.raises(InvalidInputError, match="NUL"):
            memory.write(
                [*batch, *(Edge(src=f"e{n}", rel_type="knows", dst=f"f{n}") for n in range(10))]
            )
        assert memory.admin.stats().records == {"resources": 0, "entities": 0, "moments": 0}
        memory.write([Entity(name="e1")])
        assert [hit.name for hit in memory.lookup("e1").records] == ["e1"]


def test_an_edge_that_the_server_refuses_undoes_the_parts_before_it(postgres: str) -> None:
    with Memory.open(postgres, tenant="refused-edge", embedder="none") as memory:
        edges = [Edge(src=f"e{n}", rel_type="knows", dst=f"f{n}") for n in range(10)]
        with pytest.raises(InvalidInputError, match="NUL"):
            memory.write(
                [*edges, Edge(src="e9", rel_type="likes", dst="f9", properties={"text": "a\0b"})]
            )
        assert memory.admin.stats().edges == 0
        assert not memory.lookup("e1", "f1").records


def test_a_connection_that_dies_between_two_parts_leaves_nothing(
    opening: Opening, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opening()
    put(store, Entity(name="before"))
    store_part = BatchWriter._put_records

    def dying(writing: BatchWriter, sql: str, changes: Any) -> None:
        store_part(writing, sql, changes)
        with connect(postgres) as other:
            other.execute(
                "SELECT pg_terminate_backend(%s)", (writing.cursor.connection.info.backend_pid,)
            )

    with monkeypatch.context() as patched:
        patched.setattr(BatchWriter, "_put_records", dying)
        with pytest.raises(StoreError, match="does not answer"):
            put(store, *(Entity(name=f"e{number}") for number in range(10)))
    assert store.admin.stats().records["entities"] == 1
    put(store, Entity(name="after"))
    assert store.admin.check() == []


@pytest.mark.parametrize("seed", range(4))
def test_the_same_writes_leave_the_same_in_both_stores(
    opening: Opening, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    store, embedded = opening(), SqliteStore(tmp_path / "memory.db")
    for _ in range(12):
        batch = _batch(chance)
        for each in (store, embedded):
            put(each, *batch)
    labels = [f"n{number}" for number in range(40)]
    shown = [
        {
            label: sorted(
                (
                    (type(record).schema, record.name, _said(record), record.graph_paths)
                    for record in records
                ),
                key=str,
            )
            for label, records in each.records.lookup(labels, edges=100).items()
        }
        for each in (store, embedded)
    ]
    assert shown[0] == shown[1]
    assert store.admin.stats().edges == embedded.admin.stats().edges
    assert store.admin.check() == []
    embedded.close()


def _batch(chance: random.Random) -> list[Record | Edge]:
    """New records and known ones, some of them twice, and edges between what is there and what is
    not."""
    batch: list[Record | Edge] = []
    for _ in range(chance.randint(0, 20)):
        name, word = f"n{chance.randrange(30)}", f"word{chance.randrange(9)}"
        made: tuple[Record, ...] = (
            Entity(
                name=name,
                type=chance.choice(("", "person")),
                summary=word,
                aliases=(f"N {chance.randrange(30)}",),
            ),
            Entity(name=name, summary=word),
            Resource(name=name, uri=f"{name}.md", content=word),
            Moment(id=f"m-{name}", name=name, summary=word),
        )
        batch.append(chance.choice(made))
    for _ in range(chance.randint(0, 20)):
        ends = (f"n{chance.randrange(40)}" for _ in range(2))
        made_at = datetime(2025, 1, chance.randint(1, 28), tzinfo=UTC)
        rel_type, weight = chance.choice(("a", "b")), chance.random()
        batch.append(
            Edge(
                src=next(ends), dst=next(ends), rel_type=rel_type, weight=weight, created_at=made_at
            )
        )
    return batch


def _said(record: Record) -> object:
    return record.content if isinstance(record, Resource) else record.summary
