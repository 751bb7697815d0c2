from __future__ import annotations

from collections.abc import Callable

import pytest
from fake_database import FakeDatabase, table
from msgspec.structs import replace

from remloom.model import Field
from remloom.schema.databases.contract import Column, ForeignKey, Table
from remloom.schema.drift import compare
from remloom.schema.plan.plan import Plan, PlannedEdge, PlannedField, PlannedTable
from remloom.schema.plan.source import take_baseline

CUSTOMERS = table("customers", "id integer, name string, email string?, changed datetime")
ORDERS = table(
    "orders", "id integer, customer integer?, total float, state string", "customer > customers.id"
)
STATE = Column(name="state", kind="enum", declared="text", values=("open", "paid"), nullable=False)
SALT = b"salt"


def _plan() -> Plan:
    def fields(of: Table) -> tuple[PlannedField, ...]:
        return tuple(
            PlannedField(column=column.name, name=column.name, field=Field(kind=column.kind))
            for column in of.columns
        )

    return Plan(
        source="crm",
        tables=(
            PlannedTable(
                table="customers",
                schema_name="customers",
                entity_type="customer",
                key=("id",),
                name=("name",),
                fields=fields(CUSTOMERS),
                watermark="changed",
            ),
            PlannedTable(
                table="orders",
                schema_name="orders",
                entity_type="order",
                key=("id",),
                fields=fields(ORDERS),
            ),
        ),
        edges=(
            PlannedEdge(
                table="orders",
                columns=("customer",),
                target="customers",
                target_columns=("id",),
                name="belongs_to",
            ),
        ),
    )


@pytest.fixture
def crm() -> FakeDatabase:
    orders = replace(ORDERS, columns=(*ORDERS.columns[:3], STATE))
    people = [(n, f"Customer {n}", f"{n}@example.com", "2026-01-01") for n in range(40)]
    return FakeDatabase(
        [CUSTOMERS, orders],
        {"customers": people, "orders": [(n, n, n * 1.5, "open") for n in range(40)]},
    )


def drift(crm: FakeDatabase, change: Callable[[], object]) -> list[str]:
    before = take_baseline(crm, _plan(), SALT)
    change()
    now = take_baseline(crm, _plan(), SALT)
    return list(map(str, compare(_plan(), before, now)))


def _columns(crm: FakeDatabase, name: str, **changes: Column | None) -> None:
    """Change columns of a table; None drops one, one that is not there is put behind the others."""
    old = crm.described[name]
    columns = []
    kept = []
    for position, column in enumerate(old.columns):
        new = changes.pop(column.name, column)
        if new is not None:
            columns.append(new)
            kept.append(position)
    added = [column for column in changes.values() if column is not None]
    crm.described[name] = replace(old, columns=(*columns, *added))
    crm.data[name] = [(*(row[n] for n in kept), *(None for _ in added)) for row in crm.data[name]]


def _swap(crm: FakeDatabase, table: str, column: str, **changes: object) -> None:
    old = next(found for found in crm.described[table].columns if found.name == column)
    _columns(crm, table, **{column: replace(old, **changes)})


def _alter(crm: FakeDatabase, name: str, **changes: object) -> None:
    crm.described[name] = replace(crm.described[name], **changes)


def _rename_table(crm: FakeDatabase) -> None:
    crm.described["sales"] = replace(crm.described.pop("orders"), name="sales")
    crm.data["sales"] = crm.data.pop("orders")


def _set(crm: FakeDatabase, name: str, position: int, value: object) -> None:
    row = crm.data[name][0]
    crm.data[name][0] = (*row[:position], value, *row[position + 1 :])


NEW = Column(name="vat", kind="string", declared="text")

CHANGES: dict[str, tuple[Callable[[FakeDatabase], object], list[str]]] = {
    "nothing": (lambda crm: None, []),
    "a new table": (
        lambda crm: crm.described.update(tickets=table("tickets", "id integer")),
        ["tickets: table added"],
    ),
    "a table less": (lambda crm: crm.described.pop("orders"), ["orders: table gone"]),
    "a renamed table": (_rename_table, ["orders: table renamed, sales"]),
    "a new column": (
        lambda crm: _columns(crm, "customers", vat=NEW),
        ["customers.vat: column added, text"],
    ),
    "a column less": (
        lambda crm: _columns(crm, "customers", email=None),
        ["customers.email: column gone"],
    ),
    "a renamed column": (
        lambda crm: _swap(crm, "customers", "email", name="mail"),
        ["customers.email: column renamed, mail"],
    ),
    "another type": (
        lambda crm: _swap(crm, "orders", "total", kind="decimal", declared="numeric"),
        ["orders.total: type changed, float -> numeric"],
    ),
    "what must be filled": (
        lambda crm: _swap(crm, "customers", "email", nullable=False),
        ["customers.email: nullability changed, may be NULL -> NOT NULL"],
    ),
    "another primary key": (
        lambda crm: _alter(crm, "orders", primary_key=("id", "customer")),
        ["orders: primary key changed, id -> id, customer"],
    ),
    "a new foreign key": (
        lambda crm: _alter(
            crm,
            "customers",
            foreign_keys=(ForeignKey(columns=("email",), target="orders", target_columns=("id",)),),
        ),
        ["customers.email: foreign key added, orders(id)"],
    ),
    "a foreign key less": (
        lambda crm: _alter(crm, "orders", foreign_keys=()),
        ["orders.customer: foreign key gone, customers(id)"],
    ),
    "a unique column": (
        lambda crm: _alter(crm, "customers", unique=(("email",),)),
        ["customers.email: unique key added"],
    ),
    "a new value of an enum": (
        lambda crm: _swap(crm, "orders", "state", values=("open", "paid", "lost")),
        ["orders.state: values added, lost"],
    ),
    "a value of an enum less": (
        lambda crm: _swap(crm, "orders", "state", values=("open",)),
        ["orders.state: values gone, paid"],
    ),
    "two of one name": (
        lambda crm: _set(crm, "customers", 1, "Customer 7"),
        ["customers.name: names repeat"],
    ),
    "an order of nobody": (
        lambda crm: _set(crm, "orders", 1, 999),
        ["orders.customer: orphans, 0 -> 1"],
    ),
    "twice as many rows": (
        lambda crm: crm.data["orders"].extend((n, 1, 1.0, "open") for n in range(50, 90)),
        ["orders: row count, 40 -> 80"],
    ),
    "a few rows more": (
        lambda crm: crm.data["orders"].extend((n, 1, 1.0, "open") for n in range(50, 60)),
        [],
    ),
    "no watermark": (
        lambda crm: _columns(crm, "customers", changed=None),
        ["customers.changed: column gone", "customers.changed: watermark gone"],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_kind_of_change_is_reported(crm: FakeDatabase, name: str) -> None:
    change, expected = CHANGES[name]
    assert drift(crm, lambda: change(crm)) == expected


def test_a_new_unique_column_in_the_place_of_another_is_not_a_rename(crm: FakeDatabase) -> None:
    def change() -> None:
        _swap(crm, "customers", "email", name="phone")
        rows = crm.data["customers"]
        crm.data["customers"] = [(*row[:2], f"+49 {row[0]}", row[3]) for row in rows]

    assert drift(crm, change) == [
        "customers.email: column gone",
        "customers.phone: column added, string",
    ]


def test_figures_hold_no_value(crm: FakeDatabase) -> None:
    figures = take_baseline(crm, _plan(), SALT)[1]
    assert "Customer 7" not in str(figures)
    assert "7@example.com" not in str(figures)
