"""Others do something in between: a schema, its rows, its source are as if one came after the
other."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from fake_database import FakeDatabase, plan_of, table
from following import Follower

from remloom import Memory, Row
from remloom.errors import ChangedError, RemloomError, SchemaChangeError, UnknownNameError
from remloom.predicates import Query
from remloom.store.contract import Store

NOTES = table("notes", "id integer, text string?, size decimal?")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home", tenant="sales", embedder="none") as memory:
        memory.schemas.register(schema_name="leads", fields={"size": "string"})
        yield memory


@pytest.fixture
def other(memory: Memory, tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home", tenant="sales", embedder="none") as other:
        yield other


def before_first(store: Store, method: str, work: Callable[[], object]) -> None:
    """Have something done before the next call of a method of a store."""
    call = getattr(store, method)

    def do_first(*given: Any, **options: Any) -> Any:
        setattr(store, method, call)
        work()
        return call(*given, **options)

    setattr(store, method, do_first)


def lead(number: int, size: str = "1") -> Row:
    return Row(schema="leads", handle=f"lead-{number}", fields={"size": size})


def leads(memory: Memory) -> list[str]:
    return sorted(row.handle for row in memory.schemas.query_rows("leads", Query()))


# -- registering -----------------------------------------------------------------------------------


def test_a_row_that_comes_while_a_schema_is_narrowed_refuses_it(
    memory: Memory, other: Memory
) -> None:
    memory.write([lead(1)])
    before_first(memory.admin.store, "update", lambda: other.write([lead(2, "large")]))
    with pytest.raises(SchemaChangeError, match="lead-2"):
        memory.schemas.register(
            schema_name="leads", fields={"size": "integer"}, mapping={"size": "integer"}
        )
    assert memory.schemas.get("leads").version == 1
    assert memory.sql("SELECT size FROM leads ORDER BY handle").rows == [("1",), ("large",)]


def test_who_registers_what_another_just_registered_follows_it(
    memory: Memory, other: Memory
) -> None:
    fields = {"size": "string", "rank": "integer"}
    before_first(
        memory.admin.store,
        "update",
        lambda: other.schemas.register(schema_name="leads", fields=fields),
    )
    registered = memory.schemas.register(schema_name="leads", fields={**fields, "note": "string"})
    assert registered.version == 3
    assert list(memory.schemas.get("leads", 2).base_fields) == ["size", "rank"]


# -- dropping --------------------------------------------------------------------------------------


def test_a_schema_is_dropped_although_others_write_on(memory: Memory, other: Memory) -> None:
    memory.write([lead(number) for number in range(50)])
    told: list[RemloomError] = []

    def write_on() -> None:
        for number in range(50, 10_000):
            try:
                other.write([lead(number)])
            except UnknownNameError as error:
                told.append(error)
                return

    writer = threading.Thread(target=write_on)
    writer.start()
    receipt = memory.schemas.drop("leads", rows=True)
    writer.join()
    assert told
    assert receipt.records >= 50
    assert "leads" not in memory.admin.stats().records
    assert memory.admin.check() == []


def test_rows_that_come_while_a_schema_is_dropped_go_with_it(memory: Memory, other: Memory) -> None:
    memory.write([lead(1)])
    store = memory.admin.store

    def write_between() -> None:
        other.write([lead(2)])
        before_first(store, "erase", lambda: other.write([lead(3)]))

    before_first(store, "erase", write_between)
    before_first(store, "update", lambda: other.write([lead(4)]))
    memory.schemas.drop("leads", rows=True)
    assert memory.schemas.list() == []
    assert not memory.lookup("lead-1", "lead-2", "lead-3", "lead-4").records
    assert memory.admin.stats().records.get("leads", 0) == 0


@pytest.mark.parametrize("rows", [False, True])
def test_a_row_that_has_expired_goes_with_its_schema(memory: Memory, rows: bool) -> None:
    past = datetime.now(UTC) - timedelta(seconds=1)
    memory.write([Row(schema="leads", handle="lead-1", name="Secret", expires_at=past)])
    assert memory.schemas.drop("leads", rows=rows).records == 1
    assert memory.admin.store.records.expired(5) == []
    assert memory.admin.check() == []


# -- syncs -----------------------------------------------------------------------------------------


@pytest.fixture
def notes() -> FakeDatabase:
    return FakeDatabase((NOTES,), {"notes": [(1, "one", Decimal(5)), (2, "two", Decimal("7.5"))]})


@pytest.fixture
def follower(tmp_path: Path, notes: FakeDatabase) -> Iterator[Follower]:
    with Follower(tmp_path / "followed", notes, plan_of((NOTES,))) as follower:
        yield follower


def test_no_page_is_written_to_a_schema_that_was_dropped_meanwhile(follower: Follower) -> None:
    schemas = follower.memory.schemas
    before_first(follower.store, "write", lambda: schemas.drop("notes", rows=True))
    report = follower.sync()
    assert (report.added, report.refused) == (0, 2)
    assert follower.memory.admin.stats().records.get("notes", 0) == 0
    assert follower.memory.admin.check() == []


def test_a_page_is_written_as_its_schema_says_by_then(
    follower: Follower, notes: FakeDatabase
) -> None:
    definition = follower.memory.schemas.get("notes")
    fields = {**definition.base_fields, "text": "enum(one)"}
    before_first(
        follower.store,
        "write",
        lambda: follower.memory.schemas.register(
            definition, fields=fields, mapping={"text": "enum(one)"}
        ),
    )
    report = follower.sync()
    assert (report.added, report.refused) == (2, 0)
    assert [row.fields.get("text") for row in follower.rows("notes")] == ["one", None]
    assert report.tables[0].left_out == 1


# -- sources ---------------------------------------------------------------------------------------


@pytest.fixture
def crm(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(tmp_path / "crm.db")
    connection.executescript(
        "CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, name TEXT);"
        "INSERT INTO customers VALUES (1, 'Acme'), (2, 'Globex');"
    )
    yield connection
    connection.close()


@pytest.fixture
def following(memory: Memory, crm: sqlite3.Connection, tmp_path: Path) -> Memory:
    memory.schemas.register_from_discovery(memory.schemas.discover(str(tmp_path / "crm.db")))
    memory.schemas.sync("crm")
    return memory


def add_column(crm: sqlite3.Connection, name: str) -> None:
    crm.execute(f"ALTER TABLE customers ADD COLUMN {name} TEXT")


def test_a_plan_that_is_registered_while_drift_is_accepted_stays(
    following: Memory, other: Memory, crm: sqlite3.Connection, tmp_path: Path
) -> None:
    add_column(crm, "vat")

    def register_again() -> None:
        other.schemas.register_from_discovery(other.schemas.discover(str(tmp_path / "crm.db")))

    before_first(following.admin.store, "update", register_again)
    with pytest.raises(ChangedError, match="ask for its drift again"):
        following.schemas.drift("crm", accept=True)
    assert not following.schemas.drift("crm")
    assert "vat" in following.schemas.get("customers").base_fields


def test_what_a_sync_noted_stays_when_drift_is_accepted(
    following: Memory, other: Memory, crm: sqlite3.Connection
) -> None:
    add_column(crm, "vat")
    (before,) = following.schemas.sources()
    before_first(following.admin.store, "update", lambda: other.schemas.sync("crm"))
    following.schemas.drift("crm", accept=True)
    (source,) = following.schemas.sources()
    assert source.synced_at is not None
    assert before.synced_at is not None
    assert source.synced_at > before.synced_at
    assert not following.schemas.drift("crm")


def test_drift_that_is_accepted_while_a_sync_ends_stays(
    following: Memory, other: Memory, crm: sqlite3.Connection
) -> None:
    add_column(crm, "vat")
    before_first(following.admin.store, "update", lambda: other.schemas.drift("crm", accept=True))
    following.schemas.sync("crm")
    assert not following.schemas.drift("crm")


def test_forgotten_rows_stay_forgotten_when_their_plan_is_registered_again(
    following: Memory, crm: sqlite3.Connection, tmp_path: Path
) -> None:
    following.forget("customer-1")
    crm.execute("UPDATE customers SET name = 'Acme again' WHERE customer_id = 1")
    crm.commit()
    for _ in range(2):
        plan = following.schemas.discover(str(tmp_path / "crm.db"))
        following.schemas.register_from_discovery(plan)
        assert following.schemas.sync("crm").forgotten == 1
    assert not following.lookup("customer-1", "Acme again").records
