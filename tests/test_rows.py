"""Rows of a registered schema, beside the built-in records."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from msgspec.structs import replace

from remloom import Edge, Entity, Memory, Row
from remloom.errors import ConflictError, RowError, UnknownNameError
from remloom.model import Field, SchemaDefinition
from remloom.predicates import Contains, Eq, Gt, Query
from remloom.store.copy import copy
from remloom.store.definitions import definition_entries
from remloom.testing.embedder import WordEmbedder

ORDERS = SchemaDefinition(
    schema_name="orders",
    version=1,
    entity_types=("order",),
    handle=("order_id",),
    base_fields={
        "order_id": Field(kind="integer", required=True),
        "total": Field(kind="decimal"),
        "placed_at": Field(kind="datetime"),
        "day": Field(kind="date"),
        "status": Field.parse("enum(open, paid)"),
        "note": Field(searchable=True),
        "email": Field(is_key=True),
        "tags": Field.parse("list[string]"),
        "extra": Field(kind="json"),
    },
)
WRITTEN = {
    "order_id": 7,
    "total": Decimal("19.990"),
    "placed_at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    "day": date(2026, 1, 2),
    "status": "open",
    "note": "blue widgets",
    "email": "ann@example.com",
    "tags": ["a", "b"],
    "extra": {"k": 1},
}


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.admin.store.kv.put(definition_entries(ORDERS, 1))
        yield memory


def _order(number: int, **fields: object) -> Row:
    return Row(schema="orders", fields={"order_id": number, **fields})


def test_a_row_is_read_back_as_it_was_written(memory):
    (id,) = memory.write([Row(schema="orders", name="The first", fields=WRITTEN)])
    (row,) = memory.lookup("order-7").records
    assert row.record.fields == WRITTEN
    assert (row.id, row.record.type, row.record.name) == (id, "order", "The first")
    assert memory.write([Row(schema="orders", name="The first", fields=WRITTEN)]) == [id]


def test_a_row_is_found_by_its_handle_its_name_and_its_keys(memory):
    memory.write([Row(schema="orders", name="The first", fields=WRITTEN)])
    for label in ("order-7", "the first", "ann@example.com"):
        assert [hit.record.handle for hit in memory.lookup(label).records] == ["order-7"]


def test_a_row_of_no_registered_schema_is_refused_with_the_nearest(memory):
    with pytest.raises(UnknownNameError, match="did you mean 'orders'"):
        memory.write([Row(schema="order", fields={})])


def test_every_fault_of_a_row_is_named(memory):
    with pytest.raises(RowError, match="total") as caught:
        memory.write([_order(1, total="much", status="lost")])
    assert "status" in str(caught.value)


def test_handles_that_are_one_label_are_refused(memory):
    rows = [Row(schema="orders", handle=name, fields={"order_id": 1}) for name in ("o-aB", "o-Ab")]
    with pytest.raises(ConflictError, match="one label"):
        memory.write(rows)
    memory.write(rows[:1])
    with pytest.raises(ConflictError, match="one label"):
        memory.write(rows[1:])


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("SELECT order_id FROM orders WHERE total > 9 ORDER BY total DESC", [(2,), (1,)]),
        ("SELECT status, sum(total) FROM orders GROUP BY status", [("open", 33.0), ("paid", 9.0)]),
        ("SELECT order_id FROM orders WHERE placed_at >= '2026-01-02'", [(1,), (2,)]),
        ("SELECT fields.total FROM orders WHERE order_id = 0", [(9.0,)]),
    ],
    ids=["numbers", "aggregates", "times", "paths"],
)
def test_a_select_knows_the_fields_as_columns(memory, statement, rows):
    statuses = ("paid", "open", "open")
    memory.write(
        _order(
            number,
            total=Decimal([9, 11, 22][number]),
            status=status,
            placed_at=datetime(2026, 1, 1 + number, tzinfo=UTC),
        )
        for number, status in enumerate(statuses)
    )
    assert memory.query(statement).rows == rows


def test_an_unknown_column_is_told_with_near_ones(memory):
    with pytest.raises(UnknownNameError, match="did you mean 'total'"):
        memory.query("SELECT totl FROM orders")


def test_predicates_compare_by_the_kind_of_a_field(memory):
    memory.write([_order(1, total=9, tags=["a"], extra={"k": 1}), _order(2, total=Decimal("11.5"))])

    def handles(where):
        rows = memory.admin.store.records.query("orders", Query().filter(where))
        return [row.handle for row in rows]

    assert handles(Gt("total", 10)) == ["order-2"]
    assert handles(Eq("fields.total", Decimal("11.5"))) == ["order-2"]
    assert handles(Contains("tags", "a")) == ["order-1"]
    assert handles(Eq("extra.k", 1)) == ["order-1"]
    with pytest.raises(UnknownNameError, match="total"):
        handles(Eq("totl", 1))


def test_words_of_searchable_fields_are_found(memory):
    memory.write([_order(1, note="blue widgets"), _order(2, note="red gadgets", email="blue")])
    found = memory.search_text("blue", schema="orders").records
    assert [hit.record.handle for hit in found] == ["order-1"]


def test_an_index_serves_a_field(memory):
    memory.write(_order(number, total=number) for number in range(50))
    memory.create_index("orders", "total")
    plan = memory.query("EXPLAIN SELECT order_id FROM orders WHERE total > 40").rows
    assert any("USING" in detail and "user_" in detail for _, detail in plan)


def test_a_row_that_is_forgotten_is_gone(memory):
    memory.write([_order(1, note="blue widgets")])
    receipt = memory.forget("order-1")
    assert (receipt.records, receipt.remaining) == (1, ())
    assert not memory.lookup("order-1").records
    assert not memory.search_text("widgets").records
    assert memory.admin.store.admin.check() == []


def test_a_traversal_of_one_namesake_leaves_the_other_alone(memory):
    memory.write(
        [
            Entity(name="John Smith", aliases=("customer-1",), type="one"),
            Entity(name="John Smith", aliases=("customer-2",), type="two"),
            Edge(src="order-1", rel_type="belongs_to", dst="customer-1"),
            Edge(src="order-2", rel_type="belongs_to", dst="customer-2"),
        ]
    )
    nodes = memory.query("TRAVERSE belongs_to WITH LOOKUP customer-1 DIRECTION in").nodes
    assert [node.record.name for node in nodes] == ["John Smith", "order-1"]


def test_an_export_takes_the_definitions_along(memory, tmp_path):
    later = replace(ORDERS, version=2, base_fields={**ORDERS.base_fields, "region": Field()})
    memory.write([Row(schema="orders", name="The first", fields=WRITTEN)])
    memory.admin.store.kv.put(definition_entries(later, 2, earlier=ORDERS))
    memory.admin.export(tmp_path / "all.jsonl")
    with Memory.open(tmp_path / "other", embedder="none") as other:
        imported = other.admin.import_(tmp_path / "all.jsonl")
        assert (imported.records, imported.created) == (1, 1)
        assert other.admin.store.schemas() == {"orders": later}
        (row,) = other.lookup("order-7").records
        first = memory.lookup("order-7").records[0].record
        assert row.record == replace(first, revision=row.record.revision)
        assert other.query("SELECT total FROM orders").rows == [(19.99,)]
        # what comes of the same handle is the same row, in whichever tenant it began
        assert other.admin.import_(tmp_path / "all.jsonl").unchanged == 1


def test_an_export_into_a_memory_with_another_definition_is_checked_by_that(memory, tmp_path):
    memory.write([_order(1, total=Decimal(5))])
    memory.admin.export(tmp_path / "all.jsonl")
    narrower = {"order_id": Field(kind="integer")}
    with Memory.open(tmp_path / "other", embedder="none") as other:
        own = replace(ORDERS, base_fields=narrower, handle=())
        other.admin.store.kv.put(definition_entries(own, 1))
        with pytest.raises(RowError, match="total"):
            other.admin.import_(tmp_path / "all.jsonl")
        assert not other.lookup("order-1").records


def test_an_export_without_schemas_is_of_the_format_of_before(tmp_path):
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.write([Entity(name="Ann")])
        memory.admin.export(tmp_path / "all.jsonl")
    assert '"format":1' in (tmp_path / "all.jsonl").read_text().splitlines()[0]


def test_a_copy_has_the_schemas_their_rows_and_indexes(memory, tmp_path):
    memory.write([Row(schema="orders", name="The first", fields=WRITTEN)])
    memory.create_index("orders", "total")
    with Memory.open(tmp_path / "other", embedder="none") as other:
        copied = copy(memory.admin.store, other.admin.store, origin="test")
        assert copied.records == 1
        assert other.lookup("order-7").records[0].record.fields == WRITTEN
        assert other.query("SELECT total FROM orders").rows == [(19.99,)]
        assert copy(memory.admin.store, other.admin.store, origin="test").written == 0


def test_a_search_statement_finds_rows_by_their_words_and_by_a_vector(tmp_path):
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.admin.store.kv.put(definition_entries(ORDERS, 1))
        memory.write(
            [_order(1, note="blue widgets", total=5), _order(2, note="red gadgets", total=9)],
            wait=True,
        )
        for statement in (
            'SEARCH "blue widgets" IN orders LIMIT 1',
            'SEARCH "blue widgets" IN orders WHERE total < 9',
        ):
            found = memory.query(statement).records
            assert [hit.record.handle for hit in found] == ["order-1"], statement
        assert memory.query('SEARCH "widgets" IN orders WHERE total > 9').records == []
        found = memory.search_text("widgets", schema="orders", where="total < 9").records
        assert [hit.record.handle for hit in found] == ["order-1"]
        nodes = memory.query('TRAVERSE WITH SEARCH "blue widgets" IN orders LIMIT 1').nodes
        assert nodes[0].record.handle == "order-1"


def test_a_row_is_there_as_of_when_it_was_written_with_the_edges_of_that_time(memory):
    first, second = (datetime(2025, month, 1, tzinfo=UTC) for month in (1, 6))
    edges = (
        Edge(src="", rel_type="belongs_to", dst="customer-1", valid_from=first, valid_to=second),
        Edge(src="", rel_type="belongs_to", dst="customer-2", valid_from=second),
    )
    memory.write([replace(_order(1), created_at=first, graph_paths=edges)])
    assert not memory.query("LOOKUP order-1 AS OF 2024-12-31").records
    for day, customer in (("2025-02-01", "customer-1"), ("2025-07-01", "customer-2")):
        (hit,) = memory.query(f"LOOKUP order-1 AS OF {day}").records
        assert [edge.dst for edge in hit.record.graph_paths] == [customer]
        nodes = memory.query(f"TRAVERSE belongs_to WITH LOOKUP order-1 AS OF {day}").nodes
        assert [node.record.name for node in nodes] == ["order-1", customer]
