"""Rows are held to the definition of their schema: every fault is named, and nothing else changes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import LITTLE, effort
from remloom.errors import RowError
from remloom.model import Edge, Field, Row, SchemaDefinition
from remloom.schema.definitions.changes import _WIDER
from remloom.store.rules.field_values import read_row
from remloom.store.rules.row_rules import checker_of

CALLS = SchemaDefinition(
    schema_name="calls",
    version=3,
    base_fields={
        "outcome": Field(kind="string", required=True),
        "kind": Field.parse("enum(call, email)", default="call"),
        "minutes": Field(kind="integer"),
        "mood": Field(kind="float"),
        "price": Field(kind="decimal"),
        "paid": Field(kind="boolean"),
        "day": Field(kind="date"),
        "at": Field(kind="datetime"),
        "tags": Field.parse("string[]"),
        "times": Field.parse("list[datetime]"),
        "raw": Field(kind="json"),
        "class": Field(kind="string", personal="health"),
    },
    entity_types=("customer", "agent"),
    edge_types=("about",),
    renamed={"result": "outcome"},
)


def check(**fields: Any) -> dict[str, Any]:
    row = Row(schema="calls", type="customer", fields={"outcome": "fine", **fields})
    checked = checker_of(CALLS).check(row)
    assert checked.version == 3
    return checked.fields


def faults(row: Row, definition: SchemaDefinition = CALLS) -> dict[str, str]:
    with pytest.raises(RowError) as caught:
        checker_of(definition).check(row)
    assert caught.value.fields["schema"] == definition.schema_name
    return {fault["path"]: fault["why"] for fault in caught.value.fields["faults"]}


def test_fields_are_stored_so_that_they_sort_and_lose_nothing() -> None:
    east = timezone(timedelta(hours=2))
    stored = check(
        at=datetime(2026, 3, 1, 9, tzinfo=east), day=date(2026, 3, 1), price=Decimal("10.50"),
        times=["2026-03-01T09:00:00.5Z"], raw={"a": [1, None]}, minutes=None,
    )  # fmt: skip
    assert stored == {
        "outcome": "fine", "kind": "call", "at": "2026-03-01T07:00:00.000000Z", "day": "2026-03-01",
        "price": "10.50", "times": ["2026-03-01T09:00:00.500000Z"], "raw": {"a": [1, None]},
    }  # fmt: skip


def test_every_fault_of_a_row_is_named_with_its_place() -> None:
    row = Row(
        schema="calls", type="pet", graph_paths=(Edge(dst="x", rel_type="eats"),),
        fields={
            "kind": "fax", "minutes": 1.5, "mood": float("nan"), "price": "ten", "paid": "yes", "result": "x",
            "day": datetime(2026, 1, 1), "at": datetime(2026, 1, 1), "tags": ["a\0"], "outcom": "x",
            "raw": {"x": {1, 2}}, "class": 9,
        },
    )  # fmt: skip
    assert faults(row) == {
        "fields.kind": "must be one of call, email, not 'fax'",
        "fields.minutes": "must be a whole number of 64 bits, not 1.5",
        "fields.mood": "must be a finite number, not nan",
        "fields.price": "must be a decimal number, not 'ten'",
        "fields.paid": "must be true or false, not 'yes'",
        "fields.result": "is called outcome now",
        "fields.day": "must be a date (2026-03-01), not of type datetime",
        "fields.at": "must be a time with a time zone (2026-03-01T09:00:00Z), not of type datetime",
        "fields.tags": "holds a NUL character",
        "fields.outcom": "is no field of calls: did you mean outcome?",
        "fields.raw": "it.x is of type set: it would not come back as it is",
        "fields.class": "must be text, not of type int",
        "fields.outcome": "is required",
        "type": "must be one of customer, agent, not 'pet'",
        "graph_paths[0]": "must be an edge of type about, not 'eats'",
    }


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("outcome", "a\ud800", "holds half a surrogate pair"),
        ("minutes", 2**64, "must be a whole number of 64 bits, not 18446744073709551616"),
        ("price", "1e99999", "must be a decimal number, not '1e99999'"),
        ("times", ["x"], "must be a list, each a time with a time zone (2026-03-01T09:00:00Z), not of type list"),
        ("at", "0001-01-01T00:00:00+14:00", "must be a time with a time zone (2026-03-01T09:00:00Z), not '0001-01-01T00:00:00+14:00'"),
    ],
    ids=["surrogate", "large", "exponent", "list", "year 0"],
)  # fmt: skip
def test_what_no_store_can_keep_is_a_fault(name: str, value: Any, why: str) -> None:
    row = Row(schema="calls", type="agent", fields={"outcome": "fine", name: value})
    assert faults(row) == {f"fields.{name}": why}


def test_a_backslash_before_u0000_is_text_like_any_other() -> None:
    assert check(outcome="\\u0000")["outcome"] == "\\u0000"


def test_a_part_of_an_entity_type_is_one_and_edges_of_its_types_are_fine() -> None:
    edge = Edge(dst="Acme", rel_type="about")
    row = Row(schema="calls", type="customer/vip", fields={"outcome": "x"}, graph_paths=(edge,))
    assert checker_of(CALLS).check(row).graph_paths == (edge,)


def test_a_schema_without_graph_refuses_edges() -> None:
    flat = SchemaDefinition(schema_name="flat", graph_enabled=False)
    row = Row(schema="flat", graph_paths=(Edge(dst="x", rel_type="y"),))
    assert list(faults(row, flat)) == ["graph_paths"]


def test_metadata_is_held_to_its_json_schema_and_each_fault_has_its_path() -> None:
    pytest.importorskip("jsonschema_rs")
    schema = {
        "type": "object", "required": ["origin"],
        "properties": {"score": {"type": "object", "properties": {"by": {"type": "string"}}}},
    }  # fmt: skip
    definition = SchemaDefinition(schema_name="leads", metadata_schema=schema)
    fine = Row(schema="leads", metadata={"origin": "web", "score": {"by": "Ada"}})
    assert checker_of(definition).check(fine).metadata == fine.metadata
    assert faults(Row(schema="leads", metadata={"score": {"by": 3}}), definition) == {
        "metadata": '"origin" is a required property',
        "metadata.score.by": '3 is not of type "string"',
    }


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0")),
    "integer": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "decimal": st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=8),
    "boolean": st.booleans(),
    "date": st.dates(),
    "datetime": st.datetimes(timezones=st.just(UTC)),
    "json": st.dictionaries(st.sampled_from("ab"), st.integers(0, 9) | st.none()),
}  # fmt: skip


@given(st.data(), st.sampled_from(sorted(VALUES)), st.booleans())
def test_what_is_read_back_is_what_was_written(
    data: st.DataObject, kind: Any, is_list: bool
) -> None:
    values = st.lists(VALUES[kind], max_size=3) if is_list else VALUES[kind]
    value = data.draw(values)
    definition = SchemaDefinition(
        schema_name="any", version=1, base_fields={"x": Field(kind=kind, list=is_list)}
    )
    stored = checker_of(definition).check(Row(schema="any", fields={"x": value}))
    assert read_row(stored, definition).fields["x"] == value


@given(st.lists(st.datetimes(timezones=st.timezones() | st.just(UTC), min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)), min_size=2, max_size=5))  # fmt: skip
def test_stored_times_sort_as_times_do(times: list[datetime]) -> None:
    stored = [(check(at=at)["at"], at) for at in times]
    assert [at for _, at in sorted(stored)] == sorted(times)


WIDER = [(kind, wider) for kind, all in _WIDER.items() for wider in all if kind != "enum"]


@given(st.data(), st.sampled_from(WIDER), st.booleans())
def test_a_value_of_before_fits_every_wider_kind(
    data: st.DataObject, kinds: tuple[Any, Any], is_renamed: bool
) -> None:
    before, now = (
        SchemaDefinition(schema_name="any", version=version, rows_since=1, base_fields={name: Field(kind=kind)}, renamed=renamed)
        for version, name, kind, renamed in (
            (1, "x", kinds[0], {}), (2, "y" if is_renamed else "x", kinds[1], {"x": "y"} if is_renamed else {}),
        )
    )  # fmt: skip
    value = data.draw(VALUES[kinds[0]])
    stored = checker_of(before).check(Row(schema="any", fields={"x": value}))
    read = read_row(stored, now)
    again = checker_of(now).check(read)
    assert again.version == 2
    assert read_row(again, now).fields == read.fields


def test_a_row_of_an_earlier_version_is_read_as_the_schema_is_today() -> None:
    row = Row(
        schema="calls", version=1,
        fields={"result": "fine", "minutes": "12", "at": "2026-03-01", "gone": 1, "tags": "one", "mood": "high"},
    )  # fmt: skip
    assert read_row(row, CALLS).fields == {
        "outcome": "fine", "minutes": 12, "at": datetime(2026, 3, 1, tzinfo=UTC), "kind": "call",
        "tags": ["one"], "mood": "high",
    }  # fmt: skip


def test_checking_a_row_is_little_work() -> None:
    fields: dict[str, Any] = {
        "a": "text", "b": 1, "c": 2.5, "d": True, "e": "another text", "f": 7, "g": "x" * 40, "h": 0.5,
    }  # fmt: skip
    kinds = {"a": "string", "b": "integer", "c": "float", "d": "boolean", "e": "string", "f": "integer", "g": "string", "h": "float"}  # fmt: skip
    checker = checker_of(SchemaDefinition(schema_name="wide", base_fields=kinds))  # type: ignore[arg-type]
    rows = [Row(schema="wide", fields=fields) for _ in range(2_000)]

    def check() -> None:
        for row in rows:
            checker.check(row)

    # an order of magnitude above what it is: reading a database is to wait for other things
    assert effort(check) < LITTLE
