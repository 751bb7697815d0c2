"""Rows of a registered schema on a server: its indexes, and what its SQL computes with."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import pytest

from remloom import Memory, Row
from remloom.errors import ConflictError
from remloom.predicates import Gt, Query

START = datetime(2026, 1, 1, tzinfo=UTC)
FIELDS = {
    "number": "integer",
    "total": "decimal",
    "weight": "float",
    "paid": "boolean",
    "placed_at": "datetime",
    "day": "date",
    "note": "string",
}


@pytest.fixture(scope="module")
def memory(postgres: str) -> Iterator[Memory]:
    with Memory.open(postgres, tenant=f"rows{uuid4().hex[:8]}", embedder="none") as memory:
        memory.schemas.register(schema_name="orders", fields=FIELDS, entity_types=["order"])
        memory.write(_order(number) for number in range(2_000))
        for field in FIELDS:
            memory.create_index("orders", field)
        memory.admin.optimize()
        yield memory


def _order(number: int) -> Row:
    fields = {
        "number": number,
        "total": f"{number}.50",
        "weight": number / 4,
        "paid": number % 2 == 0,
        "placed_at": START + timedelta(hours=number, microseconds=1),
        "day": (START + timedelta(days=number)).date(),
        "note": f"note {number}",
    }
    return Row(schema="orders", handle=f"order-{number}", fields=fields)


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("number > 1997", [1998, 1999]),
        ("total >= 1998.5", [1998, 1999]),
        ("weight > 499.5", [1999]),
        ("placed_at > '2026-03-25T06:00:00Z'", [1998, 1999]),
        ("day = '2026-01-03'", [2]),
        ("note = 'note 7'", [7]),
        ("fields.number = 3", [3]),
    ],
)
def test_an_index_of_a_field_serves_its_comparisons(
    memory: Memory, condition: str, found: list[int]
) -> None:
    statement = f"SELECT number FROM orders WHERE {condition} ORDER BY number"
    assert [number for (number,) in memory.sql(statement).rows] == found
    plan = " ".join(detail for _, detail in memory.query(f"EXPLAIN {statement}").rows)
    assert "Index Scan using user_" in plan
    assert "Seq Scan" not in plan


def test_fields_are_computed_with_as_what_they_are(memory: Memory) -> None:
    (row,) = memory.sql(
        "SELECT max(total), min(day), max(placed_at), count(*) FROM orders WHERE paid = true"
    ).rows
    assert row == (1998.5, "2026-01-01", "2026-03-25T06:00:00.000001Z", 1_000)


def test_rows_are_ordered_by_a_field(memory: Memory) -> None:
    query = Query().filter(Gt("day", date(2031, 6, 20))).order_by("placed_at", "desc")
    found = memory.admin.store.records.query("orders", query)
    assert [row.fields["number"] for row in found] == [1_999, 1_998, 1_997]  # type: ignore[union-attr]


def test_two_rows_have_no_handle_of_one_label(memory: Memory) -> None:
    with pytest.raises(ConflictError, match="are one label"):
        memory.write([Row(schema="orders", handle="Order 7", fields={"number": 7})])
    assert len(memory.lookup("order-7").records) == 1


def test_rows_of_an_earlier_version_are_migrated(postgres: str) -> None:
    with Memory.open(postgres, tenant=f"rows{uuid4().hex[:8]}", embedder="none") as memory:
        memory.schemas.register(schema_name="parts", fields={"size": "integer"})
        memory.write([Row(schema="parts", name=f"Part {n}", fields={"size": n}) for n in range(3)])
        mapping = {"size": "length"}
        memory.schemas.register(schema_name="parts", fields={"length": "decimal"}, mapping=mapping)
        assert memory.schemas.migrate("parts").rows == 3
        assert memory.sql("SELECT length, version FROM parts ORDER BY length DESC").rows[0] == (
            2,
            2,
        )
        assert memory.schemas.drop("parts", rows=True).records == 3
