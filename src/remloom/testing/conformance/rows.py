"""The store contract as tests: rows of registered schemas."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from ...errors import ConflictError, InvalidInputError, UnknownNameError
from ...kv import Entry
from ...model import Entity, Field, Resource, Row, SchemaDefinition
from ...predicates import Contains, Eq, Exists, Gt, In, Predicate, Query, StartsWith
from ...store.batch import Batch
from ...store.contract import Store
from ...store.definitions import definition_entries
from ...store.specs import NameSpec, SearchSpec
from .opening import (
    T0,
    Opened,
    Opening,
    by_name,
    by_text,
    edge_between,
    edge_keys,
    edges_of,
    lookup,
    names,
    put,
    register,
    selected,
    stored,
    the_entity,
)

ORDERS = SchemaDefinition(
    schema_name="orders",
    version=1,
    rows_since=1,
    entity_types=("order",),
    handle=("order_id",),
    base_fields={
        "order_id": Field(kind="integer", required=True),
        "total": Field(kind="decimal"),
        "weight": Field(kind="float"),
        "placed_at": Field(kind="datetime"),
        "due": Field(kind="date"),
        "status": Field(kind="enum", values=("open", "paid"), default="open"),
        "rush": Field(kind="boolean"),
        "note": Field(searchable=True),
        "tags": Field(list=True),
        "payload": Field(kind="json"),
    },
)
CUSTOMERS = SchemaDefinition(
    schema_name="customers",
    version=1,
    rows_since=1,
    entity_types=("customer",),
    handle=("customer_id",),
    name_fields=("first_name", "last_name"),
    base_fields={
        "customer_id": Field(),
        "first_name": Field(),
        "last_name": Field(),
        "email": Field(is_key=True),
    },
)


def order(number: int, **fields: Any) -> Row:
    """A row of `ORDERS`."""
    return Row(schema="orders", fields={"order_id": number, **fields})


def customer(id: str, first: str, last: str, **fields: Any) -> Row:
    """A row of `CUSTOMERS`."""
    named = {"customer_id": id, "first_name": first, "last_name": last}
    return Row(schema="customers", fields={**named, **fields})


def found(store: Store, where: Predicate) -> list[str]:
    """The handles of the orders that meet a condition."""
    records = store.records.query("orders", Query().filter(where).order_by("handle"))
    return [record.handle for record in records if isinstance(record, Row)]


class RowCases(Opened):
    """Rows are records like the built-in ones, in everything that a store does with records."""

    @pytest.fixture
    def crm(self, store: Store) -> Store:
        register(store, ORDERS, CUSTOMERS)
        return store

    # -- the registry ------------------------------------------------------------------------------

    def test_the_registered_schemas_are_the_same_value_until_one_changes(
        self, reopen: Opening
    ) -> None:
        one, other = reopen(), reopen()
        assert one.schemas() == {}
        register(one, ORDERS)
        before = other.schemas()
        assert before == {"orders": ORDERS}
        assert other.schemas() is before
        register(one, CUSTOMERS)
        after = other.schemas()
        assert set(after) == {"orders", "customers"}
        assert after["orders"] is before["orders"]

    def test_a_schema_that_is_not_registered_is_told_with_the_nearest(self, crm: Store) -> None:
        with pytest.raises(UnknownNameError, match="did you mean 'orders'"):
            put(crm, Row(schema="order", name="x"))
        with pytest.raises(UnknownNameError, match="did you mean 'orders'"):
            crm.records.query("order", Query())
        with pytest.raises(UnknownNameError, match="did you mean 'orders'"):
            crm.search.text("x", SearchSpec(schema="order", limit=5))
        with pytest.raises(UnknownNameError, match="did you mean 'orders'"):
            selected(crm, "SELECT name FROM order1")

    def test_a_transaction_sees_the_schemas(self, crm: Store) -> None:
        seen: list[Any] = []

        def work(reads: Any) -> Batch:
            seen.append(reads.schemas())
            return Batch()

        crm.update(work)
        crm.update(work)
        assert set(seen[0]) == {"orders", "customers"}
        # what was compiled for a definition is found by it
        assert seen[0]["orders"] is seen[1]["orders"] is crm.schemas()["orders"]

    # -- writing and reading -----------------------------------------------------------------------

    def test_fields_come_back_as_they_were_written(self, crm: Store) -> None:
        fields = {
            "order_id": 2**53 + 1,
            "total": Decimal("10.10"),
            "weight": 0.25,
            "placed_at": T0,
            "due": date(2025, 1, 20),
            "status": "paid",
            "rush": False,
            "note": "Ümlauts, 東京",
            "tags": ["a", "b"],
            "payload": {"deep": [1, None, 2.5, True]},
        }
        (id,) = put(crm, Row(schema="orders", name="The first", fields=fields)).ids
        row = stored(crm, id, Row)
        assert row.fields == fields
        kinds = {name: type(value) for name, value in fields.items()}
        assert {name: type(value) for name, value in row.fields.items()} == kinds
        assert (row.handle, row.name, row.type) == (f"order-{2**53 + 1}", "The first", "order")
        assert list(crm.records.all("orders")) == [row]
        again = put(crm, Row(schema="orders", name="The first", fields=fields))
        assert (again.ids, again.unchanged) == ((id,), 1)

    def test_a_default_is_given_where_a_field_is_not(self, crm: Store) -> None:
        put(crm, order(1))
        assert found(crm, Eq("status", "open")) == ["order-1"]

    def test_a_row_is_found_by_handle_name_and_key_fields(self, crm: Store) -> None:
        put(crm, customer("C7", "Ann", "Lee", email="ann@example.com"))
        for key in ("customer-c7", "ann-lee", "ann@example.com"):
            assert names(lookup(crm, key)) == ["Ann Lee"], key
        assert by_name(crm, "ann le") == ["Ann Lee"]
        of_type = NameSpec(type="customer", threshold=0.5, limit=5)
        assert names(crm.search.names("ann le", of_type)) == ["Ann Lee"]
        assert crm.records.complete("ann-", 5) == ["Ann Lee"]
        assert crm.records.complete("customer-", 5) == ["customer-C7"]

    def test_namesakes_are_two_rows(self, crm: Store) -> None:
        put(crm, customer("1", "John", "Smith"), customer("2", "John", "Smith"))
        assert len(lookup(crm, "john-smith")) == 2
        assert len(lookup(crm, "customer-1")) == 1

    def test_handles_that_are_one_label_are_refused(self, crm: Store) -> None:
        with pytest.raises(ConflictError, match="one label"):
            put(crm, customer("aB", "A", "B"), customer("Ab", "A", "B"))
        put(crm, customer("aB", "A", "B"))
        with pytest.raises(ConflictError, match="one label"):
            put(crm, customer("Ab", "A", "B"))
        assert crm.admin.stats().records["customers"] == 1

    def test_a_row_of_another_tenant_is_found_by_its_handle(self, crm: Store) -> None:
        put(crm, replace(order(1, total=1), id="from-elsewhere"))
        written = put(crm, order(1, total=2))
        assert (written.ids, written.updated) == (("from-elsewhere",), 1)
        assert found(crm, Eq("total", 2)) == ["order-1"]

    def test_a_row_and_another_record_may_have_one_name(self, crm: Store) -> None:
        put(crm, Entity(name="Ann Lee"), customer("1", "Ann", "Lee"))
        assert {record.schema for record in lookup(crm, "ann-lee")} == {"entities", "customers"}

    def test_an_id_of_another_schema_is_refused(self, crm: Store) -> None:
        put(crm, Resource(id="x", name="a", content="a"))
        with pytest.raises(ConflictError):
            put(crm, replace(order(1), id="x"))

    # -- edges -------------------------------------------------------------------------------------

    def test_edges_lead_from_handle_to_handle(self, crm: Store) -> None:
        edge = edge_between("", "customer-1", properties={"dst_name": "John Smith"})
        put(crm, replace(order(1, note="first"), graph_paths=(edge,)))
        thin = the_entity(crm, "customer-1")
        assert thin.thin
        put(crm, customer("1", "John", "Smith"))
        (row,) = lookup(crm, "customer-1")
        assert row.schema == "customers"
        edges = edges_of(crm, "customer-1", "in")
        assert edge_keys(edges) == [("order-1", "r", "customer-1")]
        assert lookup(crm, "order-1")[0].graph_paths[0].dst == "customer-1"

    def test_a_name_that_reads_like_the_handle_of_a_row_takes_none_of_its_edges(
        self, crm: Store
    ) -> None:
        put(crm, replace(order(1), graph_paths=(edge_between("", "customer-2"),)))
        # in either order of writing
        put(crm, customer("1", "Customer", "2"), customer("2", "Customer", "1"))
        put(crm, customer("3", "Customer", "2"))
        assert {row.name for row in lookup(crm, "customer-2")} == {"Customer 1", "Customer 2"}
        (own,) = crm.records.lookup(["customer-2"], own=True)["customer-2"]
        assert own.name == "Customer 1"
        for handle, edges in (("1", []), ("2", [("order-1", "r", "customer-2")]), ("3", [])):
            found = edges_of(crm, f"customer-{handle}", "both")
            assert edge_keys(found) == edges
        crm.delete([own.id])
        assert edges_of(crm, "customer-2", "both") == []

    def test_a_foreign_key_leads_to_what_is_called_so_by_no_one_but_a_row(self, crm: Store) -> None:
        put(crm, customer("1", "Customer", "2"))
        edge = edge_between("", "customer-2", properties={"source_fk": "customer"})
        put(crm, replace(order(1), graph_paths=(edge,)))
        (own,) = crm.records.lookup(["customer-2"], own=True)["customer-2"]
        assert isinstance(own, Entity)
        assert own.thin
        assert crm.graph.count(["customer-1"], direction="in") == 0
        put(crm, customer("2", "Ann", "Lee"))
        assert names(crm.records.lookup(["customer-2"], own=True)["customer-2"]) == ["Ann Lee"]
        assert len(lookup(crm, "customer-2")) == 2

    def test_edges_follow_a_row_to_its_new_handle(self, crm: Store) -> None:
        edge = edge_between("", "customer-1")
        (id,) = put(crm, replace(order(1), graph_paths=(edge,))).ids
        put(crm, replace(order(2), id=id))
        edges = edges_of(crm, "customer-1", "in")
        assert edge_keys(edges) == [("order-2", "r", "customer-1")]

    # -- statements --------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("where", "handles"),
        [
            (Gt("total", 10), ["order-2", "order-3"]),
            (Gt("total", Decimal("10.5")), ["order-3"]),
            (Eq("fields.total", 9.5), ["order-1"]),
            (Gt("weight", 1), ["order-3"]),
            (Gt("placed_at", T0), ["order-2", "order-3"]),
            (Eq("due", date(2025, 1, 2)), ["order-2"]),
            (Gt("due", "2025-01-02"), ["order-3"]),
            (In("status", ["paid"]), ["order-1", "order-3"]),
            (Eq("rush", True), ["order-2"]),
            (StartsWith("note", "Blue"), ["order-1"]),
            (Contains("tags", "b"), ["order-2", "order-3"]),
            (Eq("payload.k", 2), ["order-2"]),
            (Exists("note"), ["order-1"]),
        ],
        ids=[
            "decimal", "decimal-exact", "path", "float", "datetime", "date", "date-text", "enum",
            "boolean", "text", "list", "json", "exists",
        ],
    )  # fmt: skip
    def test_a_predicate_compares_by_the_kind_of_a_field(
        self, crm: Store, where: Predicate, handles: list[str]
    ) -> None:
        put(crm, *_three_orders())
        assert found(crm, where) == handles

    def test_a_predicate_of_an_unknown_field_is_told_with_near_ones(self, crm: Store) -> None:
        with pytest.raises(UnknownNameError, match="did you mean 'total'"):
            found(crm, Eq("totl", 1))
        with pytest.raises(InvalidInputError, match="number"):
            found(crm, Eq("total", "much"))

    @pytest.mark.parametrize(
        ("sql", "rows"),
        [
            ("SELECT order_id FROM orders WHERE total > 9.9 ORDER BY total", [(2,), (3,)]),
            ("SELECT order_id, total FROM orders ORDER BY total DESC LIMIT 1", [(3, 100.25)]),
            ("SELECT status, sum(total) FROM orders GROUP BY status", [("open", 10.5), ("paid", 109.75)]),  # noqa: E501
            ("SELECT max(placed_at) FROM orders", [("2025-01-15T12:00:00Z",)]),
            ("SELECT order_id FROM orders WHERE placed_at >= '2025-01-15T11:00:00Z'", [(2,), (3,)]),
            ("SELECT due FROM orders WHERE due < '2025-01-02'", [("2025-01-01",)]),
            ("SELECT order_id FROM orders WHERE rush", [(2,)]),
            ("SELECT order_id FROM orders WHERE contains(tags, 'a')", [(1,)]),
            ("SELECT order_id FROM orders WHERE tags ? 'b' AND payload ? 'k'", [(2,)]),
            ("SELECT order_id FROM orders WHERE fields.weight > 1", [(3,)]),
            ("SELECT payload ->> 'k' FROM orders WHERE order_id = 2", [(2,)]),
            ("SELECT count(*) FROM orders WHERE note IS NULL", [(2,)]),
            ("SELECT handle, name, type FROM orders WHERE order_id = 1", [("order-1", "order-1", "order")]),  # noqa: E501
        ],
        ids=[
            "number", "order", "groups", "max-time", "time", "date", "boolean", "list", "keys",
            "path", "json", "null", "own",
        ],
    )  # fmt: skip
    def test_a_select_knows_every_field(
        self, crm: Store, sql: str, rows: list[tuple[object, ...]]
    ) -> None:
        put(crm, *_three_orders())
        assert sorted(selected(crm, sql).rows) == sorted(rows)

    def test_an_index_is_made_of_a_field(self, crm: Store) -> None:
        put(crm, *_three_orders())
        for name in ("total", "placed_at", "status", "payload.k"):
            crm.sql.create_index("orders", name)
        assert found(crm, Gt("total", 10)) == ["order-2", "order-3"]
        assert found(crm, Gt("placed_at", T0)) == ["order-2", "order-3"]

    # -- search ------------------------------------------------------------------------------------

    def test_words_of_names_and_searchable_fields_are_found(self, crm: Store) -> None:
        put(crm, *_three_orders(), customer("1", "Blue", "Bell"))

        def handles(text: str, schema: str | None) -> list[str]:
            matches = crm.search.text(text, SearchSpec(schema=schema, limit=9))
            return [match.record.handle for match in matches if isinstance(match.record, Row)]

        assert handles("blue", "orders") == ["order-1"]
        assert handles("blue", "customers") == ["customer-1"]
        assert set(handles("blue", None)) == {"order-1", "customer-1"}
        put(crm, order(1, note="red"))
        assert handles("blue", "orders") == []

    def test_vectors_of_rows_are_searched(self, crm: Store) -> None:
        put(
            crm,
            replace(order(1, note="a", total=1), embedding=[1.0, 0.0]),
            replace(order(2, note="b", total=2), embedding=[0.8, 0.6]),
            Resource(name="c", content="c", embedding=[1.0, 0.0]),
        )
        matches = crm.search.vector([1.0, 0.0], SearchSpec(schema="orders", limit=5))
        assert names(matches) == ["order-1", "order-2"]
        filtered = SearchSpec(schema="orders", where=Gt("total", 1), limit=5)
        assert names(crm.search.vector([1.0, 0.0], filtered)) == ["order-2"]

    # -- what becomes of them ----------------------------------------------------------------------

    def test_a_row_that_is_deleted_is_gone_everywhere(self, crm: Store) -> None:
        (id, *_) = put(crm, *_three_orders()).ids
        crm.delete([id])
        assert crm.records.get(None, id) is None
        assert lookup(crm, "order-1") == []
        assert by_text(crm, "blue") == []
        assert crm.admin.stats().records["orders"] == 2

    def test_a_row_expires(self, crm: Store) -> None:
        past = datetime.now(UTC) - timedelta(seconds=1)
        put(crm, replace(order(1, note="Blue"), expires_at=past), order(2))
        assert lookup(crm, "order-1") == []
        assert names(crm.records.query("orders", Query())) == ["order-2"]
        assert names(crm.records.expired(5)) == ["order-1"]
        put(crm, order(1))
        assert names(lookup(crm, "order-1")) == ["order-1"]

    def test_rows_are_there_when_the_store_is_opened_again(self, reopen: Opening) -> None:
        first = reopen()
        register(first, ORDERS)
        put(first, *_three_orders())
        first.close()
        again = reopen()
        assert found(again, Gt("total", 10)) == ["order-2", "order-3"]

    def test_a_definition_that_changes_is_seen_at_the_next_call(self, crm: Store) -> None:
        put(crm, order(1))
        with pytest.raises(UnknownNameError):
            found(crm, Eq("region", "EU"))
        fields = {**ORDERS.base_fields, "region": Field()}
        register(crm, replace(ORDERS, version=2, base_fields=fields))
        put(crm, order(2, region="EU"))
        assert found(crm, Eq("region", "EU")) == ["order-2"]
        assert selected(crm, "SELECT region FROM orders WHERE order_id = 1").rows == [(None,)]

    def test_rows_of_an_earlier_version_are_found_by_the_names_of_today(self, crm: Store) -> None:
        put(crm, *_three_orders())
        kept = {
            name: field
            for name, field in ORDERS.base_fields.items()
            if name not in ("total", "tags", "placed_at", "due")
        }
        came = {
            "amount": Field(kind="decimal"),
            "labels": Field(list=True),
            "ordered_at": Field(kind="datetime"),
            "due": Field(),
            "region": Field(default="it's 5%"),
            "rank": Field(kind="integer", default=7),
        }
        later = replace(
            ORDERS,
            version=2,
            base_fields=kept | came,
            renamed={"total": "amount", "tags": "labels", "placed_at": "ordered_at"},
        )
        store = crm
        store.kv.put(definition_entries(later, 9, earlier=ORDERS))
        put(store, order(4, amount=50, labels=["b"], region="EU", rank=1))
        assert found(store, Gt("amount", 20)) == ["order-3", "order-4"]
        assert found(store, Gt("total", 20)) == ["order-3", "order-4"]
        assert found(store, Contains("labels", "b")) == ["order-2", "order-3", "order-4"]
        assert found(store, Eq("region", "it's 5%")) == ["order-1", "order-2", "order-3"]
        assert found(store, Eq("rank", 7)) == ["order-1", "order-2", "order-3"]
        assert found(store, Eq("due", "2025-01-02")) == ["order-2"]
        assert found(store, Gt("ordered_at", T0)) == ["order-2", "order-3"]
        for statement, rows in (
            ("SELECT sum(total) FROM orders WHERE amount < 60", [(70.0,)]),
            ("SELECT region, count(*) FROM orders GROUP BY region", [("EU", 1), ("it's 5%", 3)]),
            ("SELECT labels FROM orders WHERE order_id = 3", [('["b","c"]',)]),
            ("SELECT due FROM orders WHERE order_id = 1", [("2025-01-01",)]),
        ):
            assert sorted(selected(store, statement).rows) == rows
        assert "total" not in selected(store, "SELECT * FROM orders").columns
        for name in ("amount", "labels", "rank"):
            store.sql.create_index("orders", name)
        assert found(store, Gt("amount", 20)) == ["order-3", "order-4"]

    def test_rows_of_an_earlier_version_are_compared_as_the_kinds_of_today(
        self, crm: Store
    ) -> None:
        numbers = (2**53, 2**53 + 1)
        for number, rush in zip(numbers, (True, False), strict=True):
            at = datetime(2025, 3, 1, 9, tzinfo=UTC) + timedelta(days=number - 2**53)
            fields = {"due": at.date(), "placed_at": at, "payload": {"k": rush}, "note": str(rush)}
            put(crm, order(number, rush=rush, **fields))
        kept = {name: ORDERS.base_fields[name] for name in ("order_id", "total", "weight")}
        came = {
            "rush": Field(),
            "note": Field(kind="boolean"),
            "due": Field(kind="datetime"),
            "placed_at": Field(kind="date"),
            "extra": Field(kind="json"),
            "labels": Field(list=True, default=["it's new"]),
            "more": Field(kind="json", default={"k": "5%"}),
        }
        later = replace(
            ORDERS, version=2, base_fields=kept | came, renamed={"payload": "extra"}, handle=()
        )
        crm.kv.put(definition_entries(later, 9, earlier=ORDERS))
        first, second = (f"order-{number}" for number in numbers)
        for condition in (
            Eq("order_id", numbers[0]),
            Eq("rush", "true"),
            Eq("note", True),
            Eq("due", datetime(2025, 3, 1, tzinfo=UTC)),
            Eq("placed_at", date(2025, 3, 1)),
            Eq("extra.k", True),
            Eq("payload.k", True),
            Eq("fields.payload.k", True),
        ):
            assert found(crm, condition) == [first], condition
        assert found(crm, Contains("labels", "it's new")) == [first, second]
        for field in ("extra.k", "payload.k", "fields.payload.k", "rush"):
            query = Query().order_by(field, "asc")
            in_order = [getattr(row, "handle", "") for row in crm.records.query("orders", query)]
            assert in_order == [second, first], field
        assert found(crm, Eq("more.k", "5%")) == [first, second]
        for value, shown in (
            ("rush", "true"),
            ("due", "2025-03-01T00:00:00.000000Z"),
            ("placed_at", "2025-03-01"),
            ("labels", '["it\'s new"]'),
            ("payload->>'k'", True),
        ):
            answer = selected(crm, f"SELECT {value} FROM orders WHERE order_id = {numbers[0]}")
            assert answer.rows == [(shown,)], value

    def test_a_damaged_definition_is_told(self, crm: Store) -> None:
        crm.kv.put([Entry("schemas", "orders", b'{"schema_name": 5}'), Entry("schemas", "@", b"9")])
        with pytest.raises(Exception, match="orders"):
            crm.schemas()


def _three_orders() -> list[Row]:
    hours = [T0 + timedelta(hours=number) for number in range(3)]
    return [
        order(
            1, total=Decimal("9.50"), weight=0.5, placed_at=hours[0], due=date(2025, 1, 1),
            status="paid", note="Blue widgets", tags=["a"], payload={"k": 1}, rush=False,
        ),
        order(
            2, total=Decimal("10.5"), weight=1.0, placed_at=hours[1], due=date(2025, 1, 2),
            status="open", tags=["b"], payload={"k": 2}, rush=True,
        ),
        order(
            3, total=Decimal("100.25"), weight=20.0, placed_at=hours[2], due=date(2025, 1, 3),
            status="paid", tags=["b", "c"],
        ),
    ]  # fmt: skip
