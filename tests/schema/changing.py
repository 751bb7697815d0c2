"""A database that changes at random, the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from fake_database import FakeDatabase, plan_of, table

__all__ = ["TABLES", "change", "fill", "plan"]

TABLES = (
    table("customers", "id integer, name string?, parent integer?", "parent > customers.id"),
    table("products", "id string, name string?"),
    table("orders", "id integer, customer integer?, product string?", "customer > customers.id",
          "product > products.id"),
    table("order_product", "order_id integer, product string, quantity integer?",
          "order_id > orders.id", "product > products.id", primary_key=("order_id", "product")),
    table("tickets", "id integer, customer integer?", "customer > customers.id"),
)  # fmt: skip
_NAMES = ("Acme", "ACME", "Globex", "Initech", "customer-1", None)
# keys of which several are one label
_SKUS = ("a", "A", "b-1", "B 1", "c/d", "c%2Fd", "e", "f")
_MOST = 30  # rows of a table


def plan() -> Any:
    """Plan to take all of it."""
    return plan_of(TABLES)


def _id(random: Random) -> int:
    return random.randrange(1, _MOST)


def _sku(random: Random) -> str:
    return random.choice(_SKUS)


def _maybe(random: Random, make: Callable[[Random], Any]) -> Any:
    return make(random) if random.random() < 0.8 else None


_ROWS: dict[str, Callable[[Random], tuple[Any, ...]]] = {
    "customers": lambda r: (_id(r), r.choice(_NAMES), _maybe(r, _id)),
    "products": lambda r: (_sku(r), r.choice(_NAMES)),
    "orders": lambda r: (_id(r), _maybe(r, _id), _maybe(r, _sku)),
    "order_product": lambda r: (_id(r), _sku(r), _maybe(r, _id)),
    "tickets": lambda r: (_id(r), _maybe(r, _id)),
}


def fill(random: Random, count: int = 60) -> FakeDatabase:
    """Make a database with some rows."""
    database = FakeDatabase(TABLES, {name: [] for name in _ROWS})
    for _ in range(count):
        change(random, database)
    return database


def change(random: Random, database: FakeDatabase) -> None:
    """Insert, update or delete a row, or give it another key."""
    name = random.choice(list(_ROWS))
    rows = database.data[name]
    kind = random.choice(("insert", "insert", "update", "delete", "move"))
    new = _ROWS[name](random)
    key = 2 if name == "order_product" else 1
    place = random.randrange(len(rows)) if rows else 0
    if kind == "delete" and rows:
        del rows[place]
    elif kind == "update" and rows:
        rows[place] = (*rows[place][:key], *new[key:])
    elif all(row[:key] != new[:key] for row in rows):
        if kind == "move" and rows:
            rows[place] = (*new[:key], *rows[place][key:])
        else:
            rows.append(new)
