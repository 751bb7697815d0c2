"""How the tests of the contract open a store, and write to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from ...model import Edge, EdgeKey, Record
from ...sql.answers import ResultSet
from ...sql.compile import compile_select
from ...store.batch import Batch, Vector
from ...store.contract import Reads, Store
from ...store.results import Written
from ...store.rules import validation
from ...store.specs import EdgeSpec
from .schemas import EVERY, NAMED, NOTES, RecordSchema, register

Opening = Callable[[], Store]
T0 = datetime(2025, 1, 15, 10, tzinfo=UTC)
DAY = timedelta(days=1)


def selected(store: Store, sql: str, limit: int = 1_000) -> ResultSet:
    """Run a SELECT, given as a user writes it."""
    return store.sql.select(compile_select(sql, store.schemas()), limit=limit, timeout=5.0)


def put(store: Store, *items: Record | Edge, model: str = "") -> Written:
    """Write items as `Memory` does."""
    return store.write(batch_of(store, *items, model=model))


def batch_of(reads: Reads, *items: Record | Edge, model: str = "") -> Batch:
    """Build the batch that writes items."""
    return validation.build(items, tenant="conformance", model=model, schemas=reads.schemas)


def names(found: list[Any]) -> list[str]:
    return [getattr(item, "record", item).name for item in found]


def lookup(store: Store, key: str) -> list[Record]:
    """The records of one label."""
    return store.records.lookup([key])[key]


def edge_between(src: str, dst: str, **fields: Any) -> Edge:
    """An edge whose type matters to no test."""
    return Edge(src=src, rel_type="r", dst=dst, **fields)


def edge_keys(edges: Iterable[Edge]) -> list[EdgeKey]:
    return [edge.key for edge in edges]


def edges_at(store: Store, key: str) -> set[EdgeKey]:
    """The edges from and to a label."""
    return set(edge_keys(store.graph.edges(EdgeSpec([key], direction="both"))))


def window(start: int, end: int, components: Sequence[float], digest: bytes = b"") -> Vector:
    """The vector of a part of a text."""
    return Vector(start, end, np.array(components, np.float32).tobytes(), digest)


def _name_of(schema: RecordSchema) -> str:
    return schema.name


def _known(schema: RecordSchema, store: Store) -> RecordSchema:
    """Return a schema, registered if it is not built in."""
    if schema.name == NOTES.schema_name:
        register(store, NOTES)
    return schema


class Opened:
    """`store` is a fresh, empty tenant; `reopen()` opens it again.

    A case with `schema` is about records of every schema, one with `named` about those that have
    aliases: built-in ones, and rows of a registered one.
    """

    @pytest.fixture
    def opening(self, tmp_path: Any) -> Opening:
        raise NotImplementedError("return a function that opens the tenant under test")

    @pytest.fixture
    def reopen(self, opening: Opening) -> Iterator[Opening]:
        opened: list[Store] = []

        def reopen() -> Store:
            opened.append(opening())
            return opened[-1]

        yield reopen
        for store in opened:
            store.close()

    @pytest.fixture
    def store(self, reopen: Opening) -> Store:
        return reopen()

    @pytest.fixture(params=EVERY, ids=_name_of)
    def schema(self, request: pytest.FixtureRequest, store: Store) -> RecordSchema:
        return _known(request.param, store)

    @pytest.fixture(params=NAMED, ids=_name_of)
    def named(self, request: pytest.FixtureRequest, store: Store) -> RecordSchema:
        return _known(request.param, store)
