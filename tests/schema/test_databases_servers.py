"""PostgreSQL and MariaDB, read as databases that are there; the CRM in SQLite beside them."""

from __future__ import annotations

import sqlite3
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from fake_database import count_rows

import mariadb_server
import postgres_server
from remloom.errors import SourceError
from remloom.schema.databases.contract import Database, Table
from remloom.schema.databases.opening import open_database
from remloom.testing.crm import DECLARED, crm_statements, crm_tables

Opening = Callable[..., Database]


@pytest.fixture
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opening]:
    """Makes a database of a kind by statements, and opens it."""
    with ExitStack() as stack:

        def opening(kind: str, *statements: str) -> Database:
            if kind == "sqlite":
                url = f"sqlite:///{tmp_path / 'crm.db'}"
                with sqlite3.connect(tmp_path / "crm.db") as connection:
                    for statement in statements:
                        connection.execute(statement)
                connection.close()
            elif kind == "postgresql":
                server = request.getfixturevalue("postgres")
                url = stack.enter_context(postgres_server.database(server))
                with postgres_server.connect(url) as connection:
                    for statement in statements:
                        connection.execute(statement)
            else:
                server = request.getfixturevalue("mariadb")
                url = stack.enter_context(mariadb_server.database(server))
                with mariadb_server.connect(url) as connection, connection.cursor() as cursor:
                    for statement in statements:
                        cursor.execute(statement)
            database = open_database(url)
            stack.callback(database.close)
            return database

        yield opening


def described(database: Database, name: str) -> Table:
    (table,) = database.tables([name])
    return table


def pages(database: Database, table: Table, size: int) -> list[tuple[Any, ...]]:
    """All rows, page by page; each begins with its key."""
    columns = [*table.primary_key, *(c.name for c in table.columns if c.kind)]
    rows: list[tuple[Any, ...]] = []
    after: tuple[Any, ...] | None = None
    while page := database.rows(table, columns, after=after, limit=size):
        rows += page
        after = page[-1][: len(table.primary_key)] or (len(rows),)
    return rows


@pytest.mark.parametrize("kind", ["sqlite", "postgresql", "mysql"])
def test_the_crm_is_described_and_read_alike_by_every_database(opening: Opening, kind: Any) -> None:
    database = opening(kind, *crm_statements(kind, interactions=60))
    tables = {table.name: table for table in database.tables()}
    made = dict(crm_tables(interactions=60))

    declared = {
        (table.name, column): (one.target, target)
        for table in tables.values()
        for one in table.foreign_keys
        for column, target in zip(one.columns, one.target_columns, strict=True)
    }
    assert declared == DECLARED
    assert {name: table.rows for name, table in tables.items()} == {
        name: len(rows) for name, rows in made.items()
    }
    assert tables["order_items"].primary_key == ("order_id", "product_sku")
    assert tables["interactions"].primary_key == ()
    assert ("email",) in tables["users"].unique
    assert ("updated_at",) in tables["customers"].indexed
    accounts = {column.name: column for column in tables["accounts"].columns}
    assert accounts["industry"].values == ("energy", "health", "retail", "software")
    assert {name: column.kind for name, column in accounts.items()} == {
        "account_code": "string",
        "account_name": "string",
        "industry": "enum",
        "billing_address_id": "integer",
        "shipping_address_id": "integer",
        "owner_id": "integer",
        "annual_revenue": "decimal",
        "created_at": "datetime",
        "logo": None,
    }

    for name, table in tables.items():
        rows = pages(database, table, 7)
        assert len(rows) == len(set(map(repr, rows))) == len(made[name])
    first = pages(database, tables["accounts"], 50)[0]
    assert first[0] == "Ac0000"
    assert (first[1:4], first[7]) == (("Ac0000", "Acme Ltd", first[3]), Decimal(0))
    assert first[8] == datetime(2025, 1, 6, 9, tzinfo=UTC)
    assert pages(database, tables["opportunities"], 50)[0][-1] == {"source": "fair", "rank": 1}

    codes = [("Ac0000",), ("ac0000",), ("AC0000",), ("none",)]
    assert database.count_contained("accounts", ["account_code"], codes) == 2
    pairs = [(row[0], row[1]) for row in made["order_items"]]
    columns = ["order_id", "product_sku"]
    assert database.count_contained("order_items", columns, [*pairs, (1, "no")]) == len(pairs)

    profile = database.profile(tables["accounts"], 1000)
    names = next(one for one in profile.columns if one.column == "account_name")
    assert profile.whole
    assert (names.nulls, names.distinct) == (2, 12)


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_a_snapshot_sees_one_state_and_nothing_is_written(opening: Opening, kind: str) -> None:
    database: Any = opening(kind, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    table = described(database, "t")
    with pytest.raises(SourceError, match=r"(?i)read only|read-only"):
        database._read("INSERT INTO t VALUES (2)")
    with database.snapshot():
        assert count_rows(database, table) == 1
        with pytest.raises(SourceError):
            database._read("SELECT no_such_column FROM t")
        assert count_rows(database, table) == 1
    assert count_rows(database, table) == 1


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_large_tables_are_sampled_all_over(opening: Opening, kind: str) -> None:
    many = ", ".join(f"({number * 3}, {number % 10})" for number in range(60_000))
    database = opening(
        kind,
        "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
        f"INSERT INTO t VALUES {many}",
        "ANALYZE t" if kind == "postgresql" else "ANALYZE TABLE t",
    )
    table = described(database, "t")
    assert table.rows is not None
    assert 50_000 < table.rows < 70_000
    profile = database.profile(table, 20_000)
    assert 300 < profile.sampled < 2_000
    assert not profile.whole
    assert min(profile.columns[0].values) < 60_000
    assert max(profile.columns[0].values) > 120_000
    assert database.count_contained("t", ["n"], [(1,), (11,)]) == 1


def test_what_postgresql_can_hold_is_made_plain(opening: Opening) -> None:
    database = opening(
        "postgresql",
        "CREATE TYPE mood AS ENUM ('sad', 'it''s ok')",
        "CREATE DOMAIN price AS numeric(9, 2) CHECK (VALUE > 0)",
        """CREATE TABLE t (id uuid PRIMARY KEY, mood mood, moods mood[], price price, ratio float8,
            exact numeric, day date, at timestamptz, at_day timestamp[], span interval,
            range int4range, tags text[], data jsonb, place point, ip inet, clock time,
            photo bytea, twice int GENERATED ALWAYS AS (2 * 21) STORED)""",
        "COMMENT ON TABLE t IS 'All kinds'",
        "COMMENT ON COLUMN t.mood IS 'How it feels'",
        """INSERT INTO t VALUES ('00000000-0000-0000-0000-000000000007', 'it''s ok', '{sad}', 9.50,
            'NaN', 'NaN', 'infinity', '2024-02-29 12:00+02', '{2024-01-01}', '1 mon 26:00', '[1,5)',
            '{a,NULL}', '{"n": [1.5]}', '(1,2)', '10.0.0.1', '12:30', '\\x00ff')""",
        """INSERT INTO t (id, day, at) VALUES ('00000000-0000-0000-0000-000000000008', '0044-03-15 BC',
            '-infinity')""",
    )
    table = described(database, "t")
    assert table.comment == "All kinds"
    columns = {column.name: column for column in table.columns}
    assert columns["mood"].values == columns["moods"].values == ("sad", "it's ok")
    assert columns["moods"].list
    assert columns["mood"].comment == "How it feels"
    assert columns["price"].kind == "decimal"
    assert columns["photo"].kind is None
    row, second = pages(database, table, 1)
    assert row[1:] == (
        "00000000-0000-0000-0000-000000000007",
        "it's ok",
        ["sad"],
        Decimal("9.50"),
        "NaN",
        "NaN",
        "infinity",
        datetime(2024, 2, 29, 10, tzinfo=UTC),
        [datetime(2024, 1, 1, tzinfo=UTC)],
        "P1MT26H",
        "[1,5)",
        ["a", None],
        {"n": [1.5]},
        "(1,2)",
        "10.0.0.1",
        "12:30:00",
        42,
    )
    assert set(second[2:]) == {None, 42, "0044-03-15 BC", "-infinity"}


def test_names_schemas_and_partitions_of_postgresql_are_taken_as_they_are(opening: Opening) -> None:
    database = opening(
        "postgresql",
        "CREATE SCHEMA sales",
        'CREATE TABLE sales."Order" ("select" int PRIMARY KEY, "Mixed ""Case%s" text)',
        """CREATE TABLE log (at date NOT NULL, n int, o int REFERENCES sales."Order",
            PRIMARY KEY (at, n)) PARTITION BY RANGE (at)""",
        "CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM ('2024-01-01') TO ('2024-07-01')",
        "CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM ('2024-07-01') TO ('2025-01-01')",
        "CREATE TABLE who (id int PRIMARY KEY)",
        "ALTER TABLE log ADD COLUMN who int",
        "ALTER TABLE log_1 ADD FOREIGN KEY (who) REFERENCES who",
        "CREATE MATERIALIZED VIEW later AS SELECT 1 WITH NO DATA",
        """INSERT INTO sales."Order" VALUES (1, '50 %% off')""".replace("%%", "%"),
        "INSERT INTO log VALUES ('2024-03-01', 1, 1), ('2024-09-01', 1, 1), ('2024-09-01', 2, NULL)",
        "CREATE MATERIALIZED VIEW totals AS SELECT o, count(*) FROM log GROUP BY o",
        "CREATE UNIQUE INDEX ON log (at, n, o)",
        'CREATE UNIQUE INDEX ON sales."Order" (lower("Mixed ""Case%s"))',
    )
    tables = {table.name: table for table in database.tables()}
    assert "not filled" in tables.pop("later").withheld
    assert set(tables) == {"log", "sales.Order", "totals", "who"}
    assert tables["totals"].is_view
    assert tables["log"].rows == 3
    assert [one.target for one in tables["log"].foreign_keys] == ["sales.Order", "who"]
    assert tables["sales.Order"].unique == ()
    assert [row[2:] for row in pages(database, tables["log"], 1)] == [
        (date(2024, 3, 1), 1, 1, None),
        (date(2024, 9, 1), 1, 1, None),
        (date(2024, 9, 1), 2, None, None),
    ]
    assert pages(database, tables["sales.Order"], 1) == [(1, 1, "50 % off")]
    assert database.count_contained("sales.Order", ['Mixed "Case%s'], [("50 % off",)]) == 1


def test_what_mariadb_can_hold_is_made_plain(opening: Opening) -> None:
    database = opening(
        "mysql",
        "SET sql_mode = ''",
        """CREATE TABLE `or``der %s` (id BINARY(16) PRIMARY KEY, `select` ENUM('a', 'it''s') COMMENT 'Which',
            flags SET('x', 'y'), is_on TINYINT(1), bits BIT(1), day DATE, at DATETIME, clock TIME,
            big BIGINT UNSIGNED, price DECIMAL(12, 4), place POINT, y YEAR, doc JSON, photo BLOB,
            twice INT AS (2 * y), KEY (price), UNIQUE (big)) COMMENT 'Odd'""",
        """INSERT INTO `or``der %s` (id, `select`, flags, is_on, bits, day, at, clock, big, price, place, y, doc)
            VALUES (x'00000000000000000000000000000007', 'it''s', 'x,y', 1, b'1', '0000-00-00',
            '2024-02-00 10:00:00', '-30:15:00', 18446744073709551615, 1.25, ST_PointFromText('POINT(1 2)'),
            2024, '{"a": 1}')""".replace("%", "%%").replace("%%s", "%s"),
    )
    (table,) = database.tables()
    assert (table.name, table.comment) == ("or`der %s", "Odd")
    assert ("big",) in table.unique
    kinds = {column.name: column.kind for column in table.columns}
    assert kinds == {
        "id": "string", "select": "enum", "flags": "string", "is_on": "boolean", "bits": "boolean",
        "day": "date", "at": "datetime", "clock": "string", "big": "integer", "price": "decimal",
        "place": "string", "y": "integer", "doc": "json", "photo": None, "twice": "integer",
    }  # fmt: skip
    assert pages(database, table, 5) == [
        (
            *["00000000000000000000000000000007"] * 2, "it's", "x,y", True, True, "0000-00-00",
            "2024-02-00 10:00:00", "-30:15:00", 2**64 - 1, Decimal("1.2500"), "POINT(1 2)", 2024, {"a": 1}, 4048,
        )
    ]  # fmt: skip
    assert database.rows(table, ["id"], after=("00" * 16,), limit=5) == [("00" * 15 + "07",)]


@pytest.mark.parametrize(
    ("scheme", "option"), [("postgresql", "sslpassword"), ("mysql", "ssl_key_password")]
)
def test_errors_never_show_the_password(scheme: str, option: str) -> None:
    url = f"{scheme}://me:s3cr%2Ft@127.0.0.1:1/crm?{option}=hidden2"
    with pytest.raises(SourceError) as caught:
        open_database(url)
    said = "".join(traceback.format_exception(caught.value)) + repr(caught.value.as_dict())
    assert "127.0.0.1" in said
    assert not any(secret in said for secret in ("s3cr", "hidden2"))


def test_a_wrong_password_is_an_error_without_it(request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue("mariadb")
    with mariadb_server.connect(server) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE OR REPLACE USER reader@localhost IDENTIFIED BY 'right one'")
        cursor.execute("GRANT SELECT ON *.* TO reader@localhost")
    with mariadb_server.database(server) as url:
        url, wrong = url.replace("root@", "reader@"), "wr0" + "ng"
        with pytest.raises(SourceError, match="denied") as caught:
            open_database(url, password=wrong)
        assert wrong not in "".join(traceback.format_exception(caught.value))
        database = open_database(url, password="right one")
        assert database.tables() == []
        assert "right" not in database.address
        database.close()


def test_a_server_that_goes_away_meanwhile_is_an_error(opening: Opening, postgres: str) -> None:
    database: Any = opening("postgresql", "CREATE TABLE t (id INT PRIMARY KEY)")
    table = described(database, "t")
    ((process,),) = database._read("SELECT pg_backend_pid()")
    with pytest.raises(SourceError), database.snapshot():  # noqa: PT012
        with postgres_server.connect(postgres) as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", (process,))
        count_rows(database, table)
    with pytest.raises(SourceError):
        count_rows(database, table)


def test_a_table_of_mariadb_with_versions_is_seen_as_it_is_now(opening: Opening) -> None:
    database = opening(
        "mysql",
        "CREATE TABLE birds (id INT PRIMARY KEY, name VARCHAR(20)) WITH SYSTEM VERSIONING",
        "INSERT INTO birds VALUES (1, 'Heron'), (2, 'Stork')",
        "UPDATE birds SET name = 'Crane' WHERE id = 2",
    )
    table = described(database, "birds")
    assert pages(database, table, 5) == [(1, 1, "Heron"), (2, 2, "Crane")]
