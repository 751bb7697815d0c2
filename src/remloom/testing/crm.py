"""A CRM as SQL, with what makes real databases hard: rows of one name, names that are missing, keys
of two columns or that differ in case alone, ways back to the same table, orphans, and relations
that nobody declared.

The same rows are made each time.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from importlib.resources import files
from typing import Any, Literal, TypeAlias

Dialect: TypeAlias = Literal["sqlite", "postgresql", "mysql"]

# table, column -> table, column; of `order_items` and others that lead to two tables, too
DECLARED = {
    ("teams", "lead_id"): ("users", "id"),
    ("users", "manager_id"): ("users", "id"),
    ("users", "home_team_id"): ("teams", "id"),
    ("accounts", "billing_address_id"): ("addresses", "address_id"),
    ("accounts", "shipping_address_id"): ("addresses", "address_id"),
    ("accounts", "owner_id"): ("users", "id"),
    ("contacts", "account_code"): ("accounts", "account_code"),
    ("opportunities", "account_code"): ("accounts", "account_code"),
    ("opportunities", "contact_id"): ("contacts", "id"),
    ("orders", "customer_id"): ("customers", "customer_id"),
    ("order_items", "order_id"): ("orders", "id"),
    ("order_items", "product_sku"): ("products", "sku"),
    ("support_tickets", "agent_id"): ("users", "id"),
    ("ticket_notes", "ticket_id"): ("support_tickets", "id"),
    ("ticket_notes", "author_id"): ("users", "id"),
}
# table -> column of what a person calls its rows
NAMES = {
    "teams": "name",
    "users": "full_name",
    "accounts": "account_name",
    "contacts": "first_name, last_name",
    "opportunities": "deal_name",
    "products": "name",
    "customers": "name",
    "support_tickets": "subject",
}

_BATCH = 500  # rows of one INSERT
_FIRST_CUSTOMER = 12345
_START = datetime(2025, 1, 6, 9, tzinfo=UTC)
_TYPES = {
    "sqlite": {
        "text": "TEXT", "name": "VARCHAR(200)", "code": "VARCHAR(20)", "time": "TIMESTAMP",
        "json": "JSON", "blob": "BLOB", "lead": " REFERENCES users (id)",
    },
    "postgresql": {
        "text": "TEXT", "name": "VARCHAR(200)", "code": "VARCHAR(20)", "time": "TIMESTAMP",
        "json": "JSONB", "blob": "BYTEA", "lead": "",
    },
    "mysql": {
        "text": "TEXT", "name": "VARCHAR(200)", "code": "VARCHAR(20) COLLATE utf8mb4_bin",
        "time": "DATETIME", "json": "JSON", "blob": "BLOB", "lead": "",
    },
}  # fmt: skip
# of which MySQL takes no notice within a column
_REFERENCE = re.compile(r"^  (\w+) ([^\n]*?) REFERENCES (\w+ \(\w+\))", re.MULTILINE)

_FIRST = ("Ada", "Bo", "Chen", "Dora", "Emil", "Fatma", "Grace", "Hugo", "Ines", "John")
_LAST = ("Doe", "Smith", "Okafor", "Garcia", "Weiß", "Li", "O'Neil", "Novák")
_FIRMS = ("Acme", "Globex", "Initech", "Umbrella", "Stark", "Wayne", "Tyrell", "Cyberdyne")
_CITIES = ("Oslo", "Rome", "Lyon", "Porto", "Graz", "Gent")
_THINGS = ("Lamp", "Desk", "Chair", "Shelf", "Clock", "Vase", "Rug", "Mirror")


def crm_statements(
    dialect: Dialect, *, customers: int = 20, interactions: int = 0, seed: int = 1
) -> Iterator[str]:
    """Write the tables and rows as statements, in an order that foreign keys allow.

    Args:
        customers: how many there are; of all else there is about as much.
        interactions: rows of the table without a key.
        seed: other rows for another one.
    """
    yield from _create(dialect)
    for table, rows in crm_tables(customers=customers, interactions=interactions, seed=seed):
        for start in range(0, len(rows), _BATCH):
            batch = ",\n".join(_values(row, dialect) for row in rows[start : start + _BATCH])
            yield f"INSERT INTO {table} VALUES {batch}"
    yield "UPDATE teams SET lead_id = id"
    if dialect != "sqlite":
        yield "ALTER TABLE teams ADD FOREIGN KEY (lead_id) REFERENCES users (id)"


def crm_tables(
    *, customers: int = 20, interactions: int = 0, seed: int = 1
) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """Give the rows, table by table."""
    maker = _Maker(customers, interactions, random.Random(seed))
    for table in maker.TABLES:
        yield table, list(getattr(maker, table)())


def _create(dialect: Dialect) -> Iterator[str]:
    text = files(__package__).joinpath("crm.sql").read_text(encoding="utf-8")
    text = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    for statement in text.split(";"):
        if not statement.strip():
            continue
        sql = statement.strip()
        for name, type_ in _TYPES[dialect].items():
            sql = sql.replace(f"{{{name}}}", type_)
        yield _with_table_constraints(sql) if dialect == "mysql" else sql


def _with_table_constraints(sql: str) -> str:
    keys = [
        f"  FOREIGN KEY ({column}) REFERENCES {target}"
        for column, _, target in _REFERENCE.findall(sql)
    ]
    if not keys:
        return sql
    sql = _REFERENCE.sub(r"  \1 \2", sql)
    return sql[: sql.rindex("\n)")] + ",\n" + ",\n".join(keys) + "\n)"


def _values(row: Sequence[Any], dialect: Dialect) -> str:
    return f"({', '.join(_literal(value, dialect) for value in row)})"


def _literal(value: Any, dialect: Dialect) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'" if dialect == "postgresql" else f"x'{value.hex()}'"
    if isinstance(value, int | float | Decimal):
        return str(value)
    if isinstance(value, dict):
        value = json.dumps(value)
    text = f"{value:%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else str(value)
    return "'" + text.replace("'", "''") + "'"


class _Maker:
    """Makes the rows; a method for each table."""

    TABLES = (
        "teams", "users", "addresses", "accounts", "contacts", "opportunities", "products",
        "customers", "orders", "order_items", "support_tickets", "ticket_notes", "interactions",
    )  # fmt: skip

    def __init__(self, customers: int, interactions: int, chance: random.Random) -> None:
        self._many = customers
        self._interactions = interactions
        self._chance = chance
        # enough people to lead all teams
        self._users = max(4, customers // 4)

    def teams(self) -> Iterator[tuple[Any, ...]]:
        for number, name in enumerate(("North", "South", "Support"), start=1):
            yield number, name, None

    def users(self) -> Iterator[tuple[Any, ...]]:
        for number in range(1, self._users + 1):
            name = f"{_FIRST[number % 10]} {_LAST[number % 8]}"
            email = f"user{number}@crm.example"
            manager = number // 2 or None
            yield number, name, email, f"scrypt${number:08x}", manager, number % 3 + 1

    def addresses(self) -> Iterator[tuple[Any, ...]]:
        for number in range(1, self._many + 1):
            city = self._chance.choice(_CITIES)
            yield number, f"{number} Main Street", city, "Norway" if city == "Oslo" else None

    def accounts(self) -> Iterator[tuple[Any, ...]]:
        industries = ("energy", "health", "retail", "software")
        for number in range(self._many):
            name: str | None = f"{_FIRMS[number % 8]} {'Ltd' if number < 16 else 'Group'}"
            if number % 7 == 6:
                name = None
            shipping = self._chance.randint(1, self._many) if number % 3 else None
            yield (
                self._code(number), name, self._chance.choice(industries), number + 1, shipping,
                self._chance.randint(1, self._users), Decimal(number * 123_457) / 100,
                _START + timedelta(hours=number), bytes([number % 256, 0, 255]),
            )  # fmt: skip

    def contacts(self) -> Iterator[tuple[Any, ...]]:
        yield (
            1, "John", "Doe", "john.doe@example.com", "+1 555 0100", date(1980, 2, 29),
            self._code(0),
        )  # fmt: skip
        for number in range(2, self._many + 1):
            first, last = self._chance.choice(_FIRST), self._chance.choice(_LAST)
            account = self._code(self._chance.randrange(self._many)) if number % 5 else None
            email = f"c{number}@firm{number % 7}.example" if number % 4 else None
            born = date(1960, 1, 1) + timedelta(days=self._chance.randrange(15_000))
            yield number, first, last, email, f"+47 55 {number:04}", born, account

    def opportunities(self) -> Iterator[tuple[Any, ...]]:
        for number in range(1, self._many + 1):
            stage = self._chance.choice(("lead", "offer", "won", "lost"))
            closes = date(2026, 1, 31) + timedelta(days=number) if number % 6 else None
            yield (
                number, f"{self._chance.choice(_THINGS)}s for {_FIRMS[number % 8]}",
                self._code((number - 1) % self._many),
                self._chance.randint(1, self._many) if number % 4 else None, stage,
                Decimal(self._chance.randrange(10**7)) / 100, closes, {"source": "fair", "rank": 1},
            )  # fmt: skip

    def products(self) -> Iterator[tuple[Any, ...]]:
        for number, name in enumerate(_THINGS):
            yield f"SKU-{number:04}", name, Decimal(499 + 1000 * number) / 100

    def customers(self) -> Iterator[tuple[Any, ...]]:
        for number in range(self._many):
            name: str | None = f"{_FIRMS[number % 8]} {'Corporation' if number < 8 else 'Inc'}"
            if number % 9 == 8:
                name = None
            email = f"mail@{number}.customer.example"
            yield _FIRST_CUSTOMER + number, name, email, _START + timedelta(minutes=number)

    def orders(self) -> Iterator[tuple[Any, ...]]:
        for number in range(1, 2 * self._many + 1):
            status = self._chance.choice(("open", "paid", "shipped"))
            customer = _FIRST_CUSTOMER + (number - 1) // 2
            total = Decimal(self._chance.randrange(10**6)) / 100
            yield number, customer, status, total, date(2025, 3, 1) + timedelta(days=number % 300)

    def order_items(self) -> Iterator[tuple[Any, ...]]:
        for order in range(1, 2 * self._many + 1):
            for product in self._chance.sample(range(8), 1 + order % 3):
                price = Decimal(499 + 1000 * product) / 100
                yield order, f"SKU-{product:04}", self._chance.randint(1, 9), price

    def support_tickets(self) -> Iterator[tuple[Any, ...]]:
        for number in range(1, self._many + 1):
            # every tenth is of a customer who is gone
            customer = _FIRST_CUSTOMER + self._chance.randrange(self._many)
            customer = 99_000 + number if number % 10 == 0 else customer
            yield (
                number, f"{self._chance.choice(_THINGS)} is broken", f"It fell, {number} times.",
                customer, self._chance.randint(1, self._users),
                self._chance.choice(("low", "normal", "high")), _START + timedelta(days=number),
            )  # fmt: skip

    def ticket_notes(self) -> Iterator[tuple[Any, ...]]:
        for ticket in range(1, self._many + 1):
            for line in range(1, ticket % 3 + 1):
                yield ticket, line, f"Note {line} on {ticket}", self._chance.randint(1, self._users)

    def interactions(self) -> Iterator[tuple[Any, ...]]:
        for number in range(self._interactions):
            # every fiftieth is of a contact who is gone
            contact = 90_000 + number if number % 50 == 49 else number % self._many + 1
            kind = ("call", "email", "meeting")[number % 3]
            yield contact, kind, _START + timedelta(minutes=number), number % 600 + 0.5

    def _code(self, number: int) -> str:
        """Two neighbours' codes differ in case alone."""
        code = f"ac{number // 2:04}"
        return code if number % 2 else code.capitalize()
