"""Rows outlive their schema's versions: they are read as it is today, migrated, dropped with it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import apsw
import apsw.ext
import pytest

from remloom import Edge, Memory
from remloom.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    RowError,
    SchemaChangeError,
    UnknownNameError,
)
from remloom.model import Field, Row
from remloom.predicates import Gt, Query

FIELDS = {
    "code": "string", "amount": "integer", "day": "date", "note": "string", "size": "string", "fax": "string",
}  # fmt: skip


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.schemas.register(
            schema_name="orders", fields=FIELDS, handle=("code",), entity_types=("order",)
        )
        memory.write([order(number) for number in range(3)])
        yield memory


def order(number: int, **fields: Any) -> Row:
    given = {
        "code": f"A{number}", "amount": number, "day": date(2026, 3, 1 + number), "note": f"note {number}",
        "size": str(number), "fax": "none",
    }  # fmt: skip
    return Row(schema="orders", fields={**given, **fields})


def change(memory: Memory, mapping: dict[str, str | None] | None = None, **fields: Any) -> None:
    kept = {name: field for name, field in {**FIELDS, **fields}.items() if field is not None}
    memory.schemas.register(
        schema_name="orders",
        fields=kept,
        handle=("code",),
        entity_types=("order",),
        mapping=mapping,
    )


def breaks(
    memory: Memory, mapping: dict[str, str | None] | None = None, **fields: Any
) -> dict[str, str]:
    before = memory.schemas.get("orders")
    with pytest.raises(SchemaChangeError) as caught:
        change(memory, mapping, **fields)
    assert memory.schemas.get("orders") == before
    return {broken["path"]: broken["why"] for broken in caught.value.fields["breaks"]}


def test_rows_are_created_found_and_listed(memory: Memory) -> None:
    id = memory.schemas.create_row(order(7))
    row = memory.schemas.get_row("orders", "order-A7")
    assert row == memory.schemas.get_row("orders", id)
    assert (row.type, row.version, row.fields["day"]) == ("order", 1, date(2026, 3, 8))
    found = memory.schemas.query_rows("orders", Query().filter(Gt("amount", 1)).order_by("amount"))
    assert [row.handle for row in found] == ["order-A2", "order-A7"]
    with pytest.raises(NotFoundError):
        memory.schemas.get_row("orders", "order-A9")
    with pytest.raises(UnknownNameError):
        memory.schemas.query_rows("invoices", Query())


def test_a_row_that_is_none_writes_nothing_of_its_batch(memory: Memory) -> None:
    with pytest.raises(RowError, match=r"fields\.amount"):
        memory.write([order(8), order(9, amount="many")])
    assert memory.lookup("order-A8").records == []


def test_rows_of_before_are_read_as_the_schema_is_today(memory: Memory) -> None:
    mapping = {"amount": "total", "fax": None, "size": "integer"}
    change(
        memory,
        mapping,
        amount=None,
        total="decimal",
        fax=None,
        size="integer",
        day="datetime",
        kind="enum(web, shop)",
    )
    row = memory.schemas.get_row("orders", "order-A2")
    assert row.fields == {
        "code": "A2", "total": Decimal(2), "day": datetime(2026, 3, 3, tzinfo=UTC), "note": "note 2", "size": 2,
    }  # fmt: skip
    (hit,) = memory.lookup("order-A2").records
    assert hit.record.fields["total"] == Decimal(2)


@pytest.mark.parametrize("is_migrated", [False, True], ids=["as they were", "migrated"])
def test_statements_may_say_an_earlier_name(memory: Memory, is_migrated: bool) -> None:
    change(
        memory,
        {"amount": "total", "note": "remark"},
        amount=None,
        total="decimal",
        note=None,
        remark="string",
    )
    memory.write([Row(schema="orders", fields={"code": "A3", "total": 3})])
    if is_migrated:
        memory.schemas.migrate("orders")
    for name in ("amount", "total", "fields.amount", "fields.total"):
        rows = memory.sql(f"SELECT code FROM orders WHERE {name} > 1 ORDER BY {name} DESC").rows
        assert rows == [("A3",), ("A2",)], name
        found = memory.schemas.query_rows("orders", Query().filter(Gt(name, 1)).order_by(name))
        assert [row.handle for row in found] == ["order-A2", "order-A3"], name
    answer = memory.sql(
        "SELECT note, max(total) FROM orders WHERE note IS NOT NULL GROUP BY note ORDER BY note"
    )
    assert answer.rows == [("note 0", 0.0), ("note 1", 1.0), ("note 2", 2.0)]
    assert "amount" not in memory.sql("SELECT * FROM orders").columns


def test_every_break_is_named_and_nothing_changes(memory: Memory) -> None:
    assert breaks(memory, amount="date", note=None).keys() == {"fields.amount", "fields.note"}


def test_values_that_cannot_become_another_kind_are_named_by_their_rows(memory: Memory) -> None:
    memory.write([order(8, size="large")])
    found = breaks(memory, {"size": "integer"}, size="integer")
    assert found == {"fields.size": "of 'order-A8' must be a whole number of 64 bits, not 'large'"}


def test_a_field_that_is_required_now_is_there_in_every_row(memory: Memory) -> None:
    required = {"kind": "string", "required": True}
    change(memory, {"note": "string"}, note=required)
    assert memory.schemas.get("orders").base_fields["note"].required
    memory.schemas.create_row(order(8, fax=None))
    assert breaks(memory, {"fax": "string"}, note=required, fax=required) == {
        "fields.fax": "'order-A8' has none"
    }


def test_metadata_of_stored_rows_has_to_be_as_a_new_json_schema_says(memory: Memory) -> None:
    pytest.importorskip("jsonschema_rs")
    parts: dict[str, Any] = {
        "schema_name": "orders",
        "fields": FIELDS,
        "handle": ("code",),
        "entity_types": ("order",),
    }
    with pytest.raises(SchemaChangeError, match="metadata_schema"):
        memory.schemas.register(**parts, metadata_schema={"required": ["origin"]})
    memory.schemas.register(**parts, metadata_schema={"properties": {"origin": {"type": "string"}}})
    with pytest.raises(RowError, match=r"metadata\.origin"):
        memory.write([Row(schema="orders", fields={"code": "x"}, metadata={"origin": 3})])


def test_migrating_writes_rows_as_the_schema_is_today(memory: Memory) -> None:
    memory.create_edge(Edge(src="order-A1", rel_type="belongs_to", dst="Acme"))
    change(memory, {"amount": "total", "fax": None}, amount=None, total="decimal", fax=None)
    before = memory.schemas.get_row("orders", "order-A1")
    assert before.version == 1
    told: list[tuple[int, int]] = []
    migrated = memory.schemas.migrate(
        "orders", progress=lambda done, total: told.append((done, total))
    )
    assert (migrated.rows, migrated.failed, told[-1]) == (3, {}, (3, 3))
    after = memory.schemas.get_row("orders", "order-A1")
    assert (after.version, after.id, after.fields) == (2, before.id, before.fields)
    assert memory.schemas.get("orders").rows_since == 2
    assert memory.sql("SELECT total FROM orders ORDER BY total").rows == [(0.0,), (1.0,), (2.0,)]
    assert [edge.dst for edge in memory.get_edges("order-A1")] == ["acme"]
    assert memory.schemas.migrate("orders").rows == 0
    assert memory.admin.check() == []


def test_indexes_serve_after_a_migration_and_go_with_their_schema(memory: Memory) -> None:
    for field in ("amount", "fax"):
        memory.create_index("orders", field)
    change(memory, {"amount": "total", "fax": None}, amount=None, total="decimal", fax=None)
    memory.schemas.migrate("orders")
    store: Any = memory.admin.store
    connection = store._database.reader.connection
    seen: list[str] = []
    connection.exec_trace = lambda cursor, sql, values: not seen.append(sql)
    assert len(memory.schemas.query_rows("orders", Query().filter(Gt("total", 1)))) == 1
    connection.exec_trace = None
    (sql,) = [sql for sql in seen if "fields" in sql]
    values = [None] * apsw.ext.query_info(connection, sql).bindings_count
    plan = str(connection.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall())
    assert "user_" in plan
    memory.schemas.drop("orders", rows=True)
    assert store.kv.count("index") == 0


def test_a_migration_that_was_broken_off_goes_on(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remloom.schema.definitions.registry._AT_ONCE", 1)
    change(memory, {"amount": "total"}, amount=None, total="decimal")

    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.schemas.migrate("orders", progress=stop)
    versions = sorted(row.version for row in memory.schemas.query_rows("orders", Query()))
    assert versions == [1, 2, 2]
    assert memory.schemas.get("orders").rows_since == 1
    assert memory.schemas.migrate("orders").rows == 1
    assert memory.schemas.get("orders").rows_since == 2


def test_rows_that_cannot_be_migrated_stay_and_are_told(memory: Memory) -> None:
    types = {"entity_types": None}
    parts: dict[str, Any] = {
        "schema_name": "orders",
        "handle": ("code",),
        "entity_types": ("sale",),
    }
    fields = {**FIELDS, "fax": "json"}
    memory.schemas.register(**parts, fields=fields, mapping=types)
    migrated = memory.schemas.migrate("orders")
    assert (migrated.rows, len(migrated.failed)) == (0, 3)
    assert all("type: must be one of sale" in why for why in migrated.failed.values())
    assert memory.schemas.get_row("orders", "order-A1").version == 1


def test_a_name_comes_again_once_no_row_has_the_field_of_before(memory: Memory) -> None:
    change(memory, {"fax": None}, fax=None)
    assert breaks(memory, fax="integer") == {
        "fields.fax": "version 1 had another: schemas.migrate('orders') first"
    }
    memory.schemas.migrate("orders")
    change(memory, fax="integer")
    assert "fax" not in memory.schemas.get_row("orders", "order-A1").fields


def test_a_schema_with_rows_is_dropped_with_them_or_not_at_all(memory: Memory) -> None:
    change(memory, note="json")
    with pytest.raises(ConflictError, match="has rows"):
        memory.schemas.drop("orders")
    memory.admin.set_expiry(
        [memory.schemas.get_row("orders", "order-A0").id], datetime(2020, 1, 1, tzinfo=UTC)
    )
    receipt = memory.schemas.drop("orders", rows=True)
    assert (receipt.records, receipt.verified) == (3, True)
    assert memory.schemas.list() == []
    assert memory.lookup("order-A1").records == []
    assert list(memory.admin.records()) == []
    with pytest.raises(InvalidInputError):
        memory.sql("SELECT * FROM orders")
    with pytest.raises(UnknownNameError):
        memory.schemas.drop("orders")
    # another one of its name has nothing of it
    memory.schemas.register(schema_name="orders", fields={"code": "integer"}, handle=("code",))
    memory.write([Row(schema="orders", fields={"code": 7})])
    assert memory.sql("SELECT code, version FROM orders").rows == [(7, 1)]


def test_another_memory_of_the_tenant_sees_what_is_registered_at_once(
    memory: Memory, tmp_path: Path
) -> None:
    with Memory.open(tmp_path, embedder="none") as other:
        assert other.sql("SELECT count(*) FROM orders").rows == [(3,)]
        change(memory, {"amount": "total"}, amount=None, total="decimal")
        other.write([Row(schema="orders", fields={"code": "A9", "total": "9.5"})])
        with pytest.raises(RowError, match="is called total now"):
            other.write([order(1)])
    assert memory.schemas.get_row("orders", "order-A9").fields["total"] == Decimal("9.5")


def test_who_was_found_by_a_field_is_not_once_it_is_no_key_and_rows_are_migrated(
    tmp_path: Path,
) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        fields = {"email": Field(is_key=True), "phone": Field(is_key=True)}
        memory.schemas.register(schema_name="people", fields=fields)
        given = {"email": "ann@x.example", "phone": "555"}
        memory.write([Row(schema="people", name="Ann", aliases=("Annie",), fields=given)])
        memory.schemas.register(schema_name="people", fields={**fields, "email": Field()})
        memory.schemas.migrate("people")
        assert not memory.lookup("ann@x.example").records
        for label in ("Ann", "Annie", "555"):
            assert [hit.name for hit in memory.lookup(label).records] == ["Ann"]
