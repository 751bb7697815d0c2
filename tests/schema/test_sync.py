from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from fake_database import FakeDatabase, plan_of, table
from following import Follower, contents
from msgspec.structs import replace

from remloom import Edge, Entity
from remloom.errors import ConflictError, SourceError
from remloom.schema.databases.contract import Unreadable
from remloom.schema.sync.keys import PAGE
from remloom.schema.sync.report import SHOWN
from remloom.schema.sync.writer import PageChangedError, SyncWriter

CUSTOMERS = table("customers", "id integer, name string?, email string?, parent integer?",
                  "parent > customers.id")  # fmt: skip
PRODUCTS = table("products", "id string, name string")
ORDERS = table("orders", "id integer, customer integer?, total decimal?", "customer > customers.id")
ITEMS = table("order_product", "order_id integer, product string, quantity integer?, price decimal?",
              "order_id > orders.id", "product > products.id",
              primary_key=("order_id", "product"))  # fmt: skip
TICKETS = table("tickets", "id integer, customer integer?, opened datetime?",
                "customer > customers.id")  # fmt: skip
TABLES = (CUSTOMERS, PRODUCTS, ORDERS, ITEMS, TICKETS)


def _rows() -> dict[str, list[tuple[Any, ...]]]:
    return {
        "customers": [
            (1, "Acme Corporation", "info@acme.example", None),
            (2, "Acme Berlin", None, 1),
            (3, None, "x@y.example", 3),
            (4, "Acme Corporation", None, 9),
        ],
        "products": [("sku/1", "Anvil"), ("Sku-2", "Rope")],
        "orders": [
            (10, 1, Decimal("99.90")),
            (11, 1, None),
            (12, 2, Decimal("5")),
            (13, None, None),
        ],
        "order_product": [
            (10, "sku/1", 2, Decimal("9.50")),
            (10, "Sku-2", 1, None),
            (12, "sku/1", 7, None),
        ],
        "tickets": [(1, 1, datetime(2026, 3, 1, tzinfo=UTC)), (2, 3, None)],
    }


@pytest.fixture
def crm() -> FakeDatabase:
    return FakeDatabase(TABLES, _rows())


@pytest.fixture
def follower(tmp_path: Path, crm: FakeDatabase) -> Iterator[Follower]:
    with Follower(tmp_path / "home", crm, plan_of(TABLES)) as follower:
        yield follower


def test_rows_come_with_handle_name_alias_and_fields(follower: Follower) -> None:
    report = follower.sync()
    assert (report.added, report.refused, report.faults) == (15, 0, {})
    order = follower.row("orders", "order-10")
    assert order.fields == {"number": 10, "customer": 1, "total": Decimal("99.90")}
    assert (order.name, order.type, order.uri) == ("order-10", "order", "crm/orders")
    assert follower.found("info@acme.example") == ["customer-1"]
    assert follower.found("acme corporation") == ["customer-1", "customer-4"]
    assert follower.row("customers", "customer-3").name == "customer-3"


def test_a_foreign_key_is_an_edge_as_the_seed_has_it(follower: Follower) -> None:
    follower.sync()
    edge = follower.edge("order-10", "belongs_to", "customer-1")
    assert edge.weight == 1.0
    assert edge.properties == {
        "dst_entity_type": "customer",
        "dst_name": "Acme Corporation",
        "source_fk": "customer",
    }
    assert [edge.src for edge in follower.edges(dst="customer-1", rel_type="belongs_to")] == [
        "order-10",
        "order-11",
        "ticket-1",
    ]
    assert not follower.edges(src="order-13")


def test_a_link_table_is_edges_with_its_columns(follower: Follower) -> None:
    follower.sync()
    edge = follower.edge("order-10", "contains", "product-sku/1")
    assert edge.properties == {
        "quantity": 2,
        "price": 9.5,
        "dst_entity_type": "product",
        "dst_name": "Anvil",
        "source_fk": "order_product.product",
    }


def test_a_column_of_a_link_table_that_cannot_be_read_is_named(
    crm: FakeDatabase, follower: Follower
) -> None:
    crm.data["order_product"][0] = (10, "sku/1", Unreadable("out of range"), Decimal("9.50"))
    for _ in range(2):
        report = follower.sync()
        (links,) = (each for each in report.tables if each.table == "order_product")
        (named,) = links.left_out_values
        assert (named.row, named.reason) == ("order-10", "quantity cannot be read: out of range")
        assert report.left_out == 1
        properties = follower.edge("order-10", "contains", "product-sku/1").properties
        assert (properties.get("quantity"), properties["price"]) == (None, 9.5)


def test_an_inverse_edge_is_written_where_the_plan_wants_one(follower: Follower) -> None:
    follower.sync()
    edge = follower.edge("customer-1", "has_ticket", "ticket-1")
    assert edge.properties["dst_name"] == "ticket-1"


def test_what_leads_nowhere_leads_to_a_thin_entity_and_is_counted(follower: Follower) -> None:
    report = follower.sync()
    assert report.orphans == 1
    (hit,) = follower.memory.lookup("customer-9").records
    assert isinstance(hit.record, Entity)
    assert (hit.record.thin, hit.record.type) == (True, "customer")


def test_a_cycle_has_the_names_of_those_that_came_later(
    crm: FakeDatabase, follower: Follower
) -> None:
    crm.data["customers"] = [(1, "First", None, 2), (2, "Second", None, 1)]
    follower.sync()
    assert follower.edge("customer-1", "parent", "customer-2").properties["dst_name"] == "Second"
    assert follower.edge("customer-2", "parent", "customer-1").properties["dst_name"] == "First"


def test_unchanged_rows_are_not_written_again(follower: Follower) -> None:
    follower.sync()
    before = contents(follower.memory, whole=True)
    report = follower.sync()
    assert (report.added, report.changed, report.deleted) == (0, 0, 0)
    assert (report.edges_added, report.edges_ended) == (0, 0)
    assert report.unchanged == 15
    assert contents(follower.memory, whole=True) == before


CHANGES = {
    "a name": ("customers", 0, (1, "ACME", "info@acme.example", None)),
    "a foreign key": ("orders", 0, (10, 2, Decimal("99.90"))),
    "a foreign key that is NULL now": ("orders", 0, (10, None, Decimal("99.90"))),
    "an alias": ("customers", 0, (1, "Acme Corporation", "new@acme.example", None)),
    "a column of a link": ("order_product", 0, (10, "sku/1", None, None)),
    "the other end of a link": ("order_product", 1, (11, "Sku-2", 1, None)),
    "a primary key": ("customers", 0, (7, "Acme Corporation", "info@acme.example", None)),
    "the case of a key": ("products", 1, ("SKU-2", "Rope")),
    "a row less": ("customers", 0, None),
    "a link less": ("order_product", 2, None),
    "an inverse edge": ("tickets", 0, (1, 2, None)),
    "a ticket less": ("tickets", 0, None),
    "a namesake of a key": ("products", 2, ("SKU/1", "Other anvil")),
    "what an orphan led to": ("customers", 4, (9, "Late", None, None)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_leaves_what_a_fresh_ingest_has(
    crm: FakeDatabase, follower: Follower, tmp_path: Path, name: str
) -> None:
    follower.sync()
    of, position, row = CHANGES[name]
    crm.data[of][position : position + 1] = [] if row is None else [row]
    follower.sync()
    with Follower(tmp_path / "fresh", crm, plan_of(TABLES)) as fresh:
        fresh.sync()
        assert contents(follower.memory) == contents(fresh.memory)


def test_an_edge_ends_when_what_it_led_to_gets_another_name_at_once(
    crm: FakeDatabase, follower: Follower
) -> None:
    follower.sync()
    crm.data["customers"][:2] = [(1, "Renamed", None, None), (2, "Acme Berlin", None, None)]
    follower.sync()
    assert not follower.edges(src="customer-2", rel_type="parent")


def test_edges_that_others_wrote_stay(crm: FakeDatabase, follower: Follower) -> None:
    follower.sync()
    follower.memory.write([Edge(src="Sarah Chen", rel_type="manages", dst="customer-1")])
    follower.memory.write([Edge(src="order-10", rel_type="discussed_in", dst="Kickoff")])
    crm.data["orders"][0] = (10, 2, None)
    del crm.data["customers"][0]
    follower.sync()
    assert follower.edge("sarah-chen", "manages", "customer-1")
    assert follower.edge("order-10", "discussed_in", "kickoff")
    assert follower.edge("order-11", "belongs_to", "customer-1")


def test_keys_that_are_one_label_get_digits_of_their_own(
    crm: FakeDatabase, follower: Follower
) -> None:
    crm.data["products"] = [("aB", "One"), ("Ab", "Other"), ("c", "Third")]
    crm.data["order_product"] = [(10, "aB", 1, None), (11, "Ab", 1, None)]
    report = follower.sync()
    handles = sorted(row.handle for row in follower.rows("products"))
    assert [handle[:11] for handle in handles] == ["product-Ab-", "product-aB-", "product-c"]
    (one,) = follower.edges(src="order-10", rel_type="contains")
    assert one.properties["dst_name"] == "One"
    products = next(table for table in report.tables if table.table == "products")
    assert products.colliding == 1


def test_a_row_that_is_called_as_another_by_its_key_stays(
    crm: FakeDatabase, follower: Follower
) -> None:
    crm.data["customers"][1] = (2, "customer-9", None, None)
    follower.sync()
    crm.data["customers"].append((9, "Ninth", None, None))
    report = follower.sync()
    customers = next(table for table in report.tables if table.table == "customers")
    assert (customers.added, customers.unchanged, customers.deleted) == (1, 4, 0)
    assert follower.found("customer-9") == ["customer-2", "customer-9"]
    assert not follower.sync().changed


def test_a_page_that_could_never_be_written_is_no_success(
    crm: FakeDatabase, follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PageChangedError("rows were forgotten meanwhile")

    with monkeypatch.context() as patch:
        patch.setattr(SyncWriter, "_commit", refused)
        with pytest.raises(ConflictError, match="again and again"):
            follower.sync()
    assert follower.sync().added


def test_a_value_that_is_not_as_its_field_says_is_left_out_and_named_and_the_row_is_kept(
    crm: FakeDatabase, follower: Follower
) -> None:
    crm.data["orders"][1] = (11, 1, "a lot")
    report = follower.sync()
    orders = next(table for table in report.tables if table.table == "orders")
    assert (orders.added, orders.refused, orders.left_out) == (4, 0, 1)
    assert report.totals["left_out"] == 1
    (odd,) = orders.left_out_values
    assert odd.row == "order-11"
    assert "total" in odd.reason


def test_a_row_without_a_key_is_refused(crm: FakeDatabase, follower: Follower) -> None:
    crm.described["products"] = table("products", "id string, name string", primary_key=())
    crm.data["products"].append((None, "Nameless"))
    report = follower.sync()
    products = next(table for table in report.tables if table.table == "products")
    assert (products.added, products.refused) == (2, 1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["integer", "string"])
def test_of_rows_of_one_key_the_first_is_taken_and_the_others_are_named(
    tmp_path: Path, kind: str, seed: int
) -> None:
    draw = random.Random(seed)
    keyed = table("products", f"id {kind}, name string")
    keys: list[Any] = list(range(2 * PAGE)) if kind == "integer" else [
        f"{'aA'[number % 2]}-{number // 2}" for number in range(2 * PAGE)
    ]  # fmt: skip
    rows = [(key, f"Product {number}") for number, key in enumerate(keys)]
    places = sorted(draw.sample(range(len(rows)), 12))
    others = [(rows[place][0], f"Another {place}") for place in places]
    # beside the first of its key, on the same page, on another, and the same once more
    for place, other in zip(reversed(places), reversed(others), strict=True):
        rows.insert(draw.randint(place + 1, len(rows)), other)
    rows.append(rows[places[0]])
    database = FakeDatabase([replace(keyed, primary_key=())], {"products": rows})
    with Follower(tmp_path, database, plan_of([keyed])) as follower:
        for added in (len(keys), 0):
            (products,) = follower.sync().tables
            assert (products.added, products.changed) == (added, 0)
            assert (products.refused, len(products.refusals)) == (12, min(12, SHOWN))
            assert {each.reason for each in products.refusals} == {"another row has this key"}
            names = {row.name for row in follower.rows("products")}
            assert names == {f"Product {number}" for number in range(len(keys))}


def test_forgotten_rows_stay_forgotten(crm: FakeDatabase, follower: Follower) -> None:
    follower.sync()
    assert follower.memory.forget("customer-1").verified
    crm.data["customers"][0] = (1, "Acme, renamed", "info@acme.example", None)
    crm.data["orders"].append((14, 1, None))
    report = follower.sync()
    assert report.forgotten == 1
    assert not follower.memory.lookup("customer-1", "Acme, renamed").records
    entries = follower.store.kv.list("forgotten_rows")
    assert "customer-1" not in str(entries)
    assert b"Acme" not in b"".join(entry.value for entry in follower.store.kv.list("sources"))


def test_a_forgotten_row_stays_away_from_a_tenant_that_was_imported(
    crm: FakeDatabase, follower: Follower, tmp_path: Path
) -> None:
    follower.sync()
    follower.memory.forget("customer-1")
    export = tmp_path / "export.jsonl"
    follower.memory.admin.export(export)
    assert "customer-1" not in str(follower.store.kv.list("forgotten_rows"))
    # as in a tenant that had forgotten another row, with a secret of its own
    for entry in follower.store.kv.list("forgotten_rows"):
        follower.store.kv.put([], deleted=[("forgotten_rows", entry.key)])
    follower.memory.forget("customer-2")
    follower.memory.admin.import_(export)
    # what is not as it was imported would be written
    crm.data["customers"][:2] = [(1, "Acme, renamed", None, None), (2, "Renamed", None, None)]
    assert follower.sync().forgotten == 2
    assert not follower.memory.lookup("customer-1", "Acme, renamed", "Renamed").records


def test_a_forgotten_row_stays_away_when_its_key_becomes_ambiguous(
    crm: FakeDatabase, follower: Follower
) -> None:
    follower.sync()
    follower.memory.forget("product-Sku-2")
    crm.data["products"].append(("SKU-2", "Other rope"))
    follower.sync()
    names = sorted(row.name for row in follower.rows("products"))
    assert names == ["Anvil", "Other rope"]


def test_a_dry_run_writes_nothing_and_says_the_same(follower: Follower) -> None:
    dry = follower.sync(dry_run=True)
    assert not contents(follower.memory)["rows"]
    report = follower.sync()
    for name in ("read", "added", "changed", "deleted", "refused", "edges_added"):
        assert getattr(dry, name) == getattr(report, name)
    assert [table.orphans for table in dry.tables] == [table.orphans for table in report.tables]


def test_a_source_that_is_down_changes_nothing(crm: FakeDatabase, follower: Follower) -> None:
    follower.sync()
    before = contents(follower.memory, whole=True)
    crm.is_down = True
    with pytest.raises(SourceError):
        follower.sync()
    assert contents(follower.memory, whole=True) == before
    crm.is_down = False
    assert follower.sync().unchanged == 15


def test_a_sync_that_was_broken_off_goes_on(crm: FakeDatabase, follower: Follower) -> None:
    def fail(name: str) -> None:
        if name == "orders":
            crm.is_down = True
            raise SourceError("the connection was lost")

    crm.on_rows = fail
    with pytest.raises(SourceError):
        follower.sync()
    crm.on_rows, crm.is_down = lambda name: None, False
    report = follower.sync()
    assert report.resumed
    assert (report.unchanged, report.added) == (4, 11)


def test_a_table_that_cannot_be_read_costs_no_other(crm: FakeDatabase, follower: Follower) -> None:
    follower.sync()
    before = contents(follower.memory, whole=True)

    def fail(name: str) -> None:
        if name == "orders":
            raise SourceError("permission denied for orders")

    crm.on_rows = fail
    report = follower.sync()
    assert report.faults == {"orders": "cannot be read: permission denied for orders"}
    assert report.unchanged > 0
    assert contents(follower.memory, whole=True) == before


def test_two_syncs_of_one_source_are_not_done_at_once(
    crm: FakeDatabase, follower: Follower
) -> None:
    refused = []

    def sync_too(name: str) -> None:
        crm.on_rows = lambda name: None
        with pytest.raises(ConflictError) as error:
            follower.sync()
        refused.append(error.value.message)

    crm.on_rows = sync_too
    follower.sync()
    assert "is being synced" in refused[0]


def test_a_table_that_is_gone_is_refused_and_its_rows_stay(
    crm: FakeDatabase, follower: Follower
) -> None:
    follower.sync()
    del crm.described["orders"]
    report = follower.sync()
    assert report.faults == {"orders": "the database has no table 'orders' any more"}
    assert report.deleted == 0
    assert len(follower.rows("orders")) == 4


def test_rows_with_a_unique_value_in_common_are_proposed_as_one(
    crm: FakeDatabase, tmp_path: Path
) -> None:
    contacts = table("contacts", "id integer, email string")
    crm.described["contacts"] = contacts
    crm.data["contacts"] = [(1, "INFO@acme.example"), (2, "nobody@example.com")]
    with Follower(tmp_path / "other", crm, plan_of((*TABLES, contacts))) as follower:
        (pair,) = follower.sync().same_as
        assert {pair.first, pair.second} == {"customer-1", "contact-1"}
        assert not follower.edges(rel_type="same_as")


def test_with_history_an_edge_ends_and_begins_again(crm: FakeDatabase, follower: Follower) -> None:
    follower.sync()
    crm.data["orders"][0] = (10, 2, None)
    assert follower.sync(history=True).edges_ended == 1
    assert follower.edge("order-10", "belongs_to", "customer-1").valid_to
    assert follower.edge("order-10", "belongs_to", "customer-2").valid_to is None
    crm.data["orders"][0] = (10, 1, None)
    follower.sync(history=True)
    assert follower.edge("order-10", "belongs_to", "customer-1").valid_to is None
    assert follower.edge("order-10", "belongs_to", "customer-2").valid_to
    assert follower.sync(history=True).unchanged == 15
