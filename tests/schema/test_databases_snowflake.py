"""Snowflake's connector, against fakesnow, which answers it out of DuckDB: no Snowflake.

Its pins do not go with ours, so that these tests run only where it was installed by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from remloom.schema.databases.opening import open_database

_URL = "snowflake://me:s3cret@account/CRM/PUBLIC?warehouse=W"
_MADE = (
    "CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(50), seen TIMESTAMP_TZ, data VARIANT,"
    " amount NUMBER(10, 2), photo BINARY)",
    "CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT REFERENCES customers (id),"
    ' "Mixed" TEXT)',
    "CREATE VIEW named AS SELECT name FROM customers",
    "COMMENT ON TABLE customers IS 'Who buys'",
    "INSERT INTO customers SELECT 1, 'Ann', '2024-01-01 10:00:00+02:00', PARSE_JSON('{\"a\": 1}'),"
    " 1.5, TO_BINARY('00', 'HEX')",
    "INSERT INTO customers SELECT 2, 'Bo', NULL, NULL, NULL, NULL",
    "INSERT INTO orders VALUES (1, 1, 'x'), (2, 1, 'y')",
)


@pytest.fixture
def database() -> Iterator[Any]:
    """A database with customers and orders."""
    fakesnow = pytest.importorskip("fakesnow", reason="fakesnow pins other versions than Remloom")
    import snowflake.connector

    with fakesnow.patch():
        with snowflake.connector.connect(database="CRM", schema="PUBLIC") as connection:
            for statement in _MADE:
                connection.cursor().execute(statement)
        opened = open_database(_URL)
        yield opened
        opened.close()


@pytest.mark.filterwarnings("ignore")
def test_tables_of_snowflake_are_described_and_read(database: Any) -> None:
    tables = {table.name: table for table in database.tables()}
    customers, orders = tables["CUSTOMERS"], tables["ORDERS"]
    assert (customers.comment, customers.primary_key, customers.rows) == ("Who buys", ("ID",), 2)
    assert {column.name: column.kind for column in customers.columns} == {
        "ID": "integer", "NAME": "string", "SEEN": "datetime", "DATA": "json", "AMOUNT": "decimal",
        "PHOTO": None,
    }  # fmt: skip
    names = ["ID", "NAME", "SEEN", "DATA", "AMOUNT"]
    assert database.rows(customers, names, after=None, limit=1) == [
        (1, "Ann", datetime(2024, 1, 1, 8, tzinfo=UTC), {"a": 1}, Decimal("1.50"))
    ]
    assert database.rows(customers, ["NAME"], after=(1,), limit=5) == [("Bo",)]
    assert database.count_contained("CUSTOMERS", ["ID"], [(1,), (7,)]) == 1
    assert database.count_contained("ORDERS", ["Mixed", "ID"], [("x", 1), ("x", 2)]) == 1
    profile = database.profile(orders, 1000)
    assert (profile.sampled, profile.whole) == (2, True)
    assert "s3cret" not in database.address
