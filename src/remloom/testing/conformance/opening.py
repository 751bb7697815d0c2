"""How the tests of the contract open a store, write to it, and make records of every schema."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pytest
from msgspec import Struct
from msgspec.structs import replace

from ...errors import StoreClosedError
from ...model import (
    Direction,
    Edge,
    EdgeKey,
    Entity,
    Field,
    Moment,
    Record,
    Resource,
    Row,
    SchemaDefinition,
)
from ...sql.answers import ResultSet
from ...sql.compile import compile_select
from ...store.batch import Batch, Vector
from ...store.contract import Reads, Store
from ...store.definitions import definition_entries
from ...store.encoding import micros
from ...store.results import Written
from ...store.rules import validation
from ...store.specs import EdgeSpec, NameSpec, SearchSpec

Opening = Callable[[], Store]
_R = TypeVar("_R", bound=Record)
T0 = datetime(2025, 1, 15, 10, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
# its rows have a name and a text, as entities do; one without a handle has its name for it
NOTES = SchemaDefinition(
    schema_name="notes",
    version=1,
    rows_since=1,
    base_fields={
        "age": Field(kind="integer"),
        "status": Field(),
        "tags": Field(list=True),
        "nested": Field(kind="json"),
        "ordinal": Field(kind="integer"),
        "language": Field(),
        "category": Field(),
    },
)


class RecordSchema(Struct, frozen=True):
    """A schema, and how the cases make records of it."""

    name: str
    make_record: Callable[..., Record]
    text: str  # the field that is searched and embedded, perhaps with the name
    free: str  # the field that values of any name are in
    data: str  # the field that what is known of a record is in

    def make(
        self, name: str = "", text: str = "", *, values: dict[str, Any] | None = None, **fields: Any
    ) -> Record:
        """Make a record. `values` are of its field `free`."""
        fields |= {self.text: text, self.free: values or {}}
        return self.make_record(name=name, **fields)

    def make_with(self, data: dict[str, Any], **fields: Any) -> Record:
        """Make a record of which this is known; see `make`."""
        return replace(self.make(**fields), **{self.data: data})


_ROWS = RecordSchema(
    NOTES.schema_name, partial(Row, schema=NOTES.schema_name), "summary", "metadata", "fields"
)
EVERY = (
    RecordSchema("resources", Resource, "content", "metadata", "metadata"),
    RecordSchema("entities", Entity, "summary", "properties", "properties"),
    RecordSchema("moments", Moment, "summary", "metadata", "metadata"),
    _ROWS,
)
# those whose records have aliases
NAMED = (EVERY[1], _ROWS)


def register(store: Store, *definitions: SchemaDefinition) -> None:
    """Register schemas, as they are."""
    changes = len(store.schemas())
    for number, definition in enumerate(definitions, changes + 1):
        store.kv.put(definition_entries(definition, number))


# -- writing and reading ---------------------------------------------------------------------------


def selected(store: Store, sql: str, limit: int = 1_000) -> ResultSet:
    """Run a SELECT as a user writes it."""
    return store.sql.select(compile_select(sql, store.schemas()), limit=limit, timeout=5.0)


def put(store: Store, *items: Record | Edge, model: str = "") -> Written:
    """Write items as `Memory` does."""
    return store.write(batch_of(store, *items, model=model))


def batch_of(reads: Reads, *items: Record | Edge, model: str = "") -> Batch:
    """Build the batch that writes items."""
    return validation.build(items, tenant="conformance", model=model, schemas=reads.schemas)


def names(found: Iterable[Any]) -> list[str]:
    return [getattr(item, "record", item).name for item in found]


def lookup(store: Store, key: str) -> list[Record]:
    """The records of one label."""
    return store.records.lookup([key])[key]


def the_entity(store: Store, key: str) -> Entity:
    """The only record of a label, an entity."""
    (record,) = lookup(store, key)
    assert isinstance(record, Entity)
    return record


def stored(store: Store, id: str, kind: type[_R]) -> _R:
    record = store.records.get(None, id)
    assert isinstance(record, kind)
    return record


def edge_between(src: str, dst: str, **fields: Any) -> Edge:
    """An edge whose type matters to no test."""
    return relation(src, "r", dst, **fields)


def relation(src: str, rel_type: str, dst: str, **fields: Any) -> Edge:
    return Edge(src=src, rel_type=rel_type, dst=dst, **fields)


def edges_of(reads: Reads, key: str, direction: Direction = "out", **spec: Any) -> list[Edge]:
    return reads.graph.edges(EdgeSpec([key], direction=direction, **spec))


def edge_keys(edges: Iterable[Edge]) -> list[EdgeKey]:
    return [edge.key for edge in edges]


def edges_at(store: Store, key: str) -> set[EdgeKey]:
    """The edges from and to a label."""
    return set(edge_keys(edges_of(store, key, "both")))


def by_name(store: Store, text: str, **spec: Any) -> list[str]:
    spec = {"threshold": 0.5, "limit": 5, **spec}
    return names(store.search.names(text, NameSpec(**spec)))


def by_text(store: Store, words: str, **spec: Any) -> list[str]:
    return names(store.search.text(words, SearchSpec(**{"limit": 5, **spec})))


def by_vector(store: Store, vector: Sequence[float], **spec: Any) -> list[str]:
    return names(store.search.vector(vector, SearchSpec(**{"limit": 5, **spec})))


def window(start: int, end: int, components: Sequence[float], digest: bytes = b"") -> Vector:
    """The vector of a part of a text."""
    return Vector(start, end, np.array(components, np.float32).tobytes(), digest)


def together(workers: int, work: Callable[[int], None]) -> None:
    """Run `work` in that many threads, begun at once; raise the first error of any."""
    errors: list[BaseException] = []
    start = threading.Barrier(workers)

    def run(worker: int) -> None:
        start.wait()
        try:
            work(worker)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(worker,)) for worker in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _name_of(schema: RecordSchema) -> str:
    return schema.name


def _known(schema: RecordSchema, store: Store) -> RecordSchema:
    """Return a schema, registered if it is not built in."""
    if schema.name == NOTES.schema_name:
        register(store, NOTES)
    return schema


class Clock:
    """The time by which records expire, set by hand."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.at = datetime.now(UTC)
        patch.setattr("remloom.store.encoding.time_ns", lambda: (micros(self.at) or 0) * 1000)

    def after(self, hours: int) -> datetime:
        """The time so many hours from the one it shows."""
        return self.at + hours * HOUR

    def advance(self, hours: int) -> None:
        self.at = self.after(hours)


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
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> Clock:
        return Clock(monkeypatch)

    @pytest.fixture
    def store(self, reopen: Opening) -> Iterator[Store]:
        opened = reopen()
        yield opened
        # whatever a case did, every index agrees with its table
        with suppress(StoreClosedError):
            assert opened.admin.check() == []

    @pytest.fixture(params=EVERY, ids=_name_of)
    def schema(self, request: pytest.FixtureRequest, store: Store) -> RecordSchema:
        return _known(request.param, store)

    @pytest.fixture(params=NAMED, ids=_name_of)
    def named(self, request: pytest.FixtureRequest, store: Store) -> RecordSchema:
        return _known(request.param, store)
