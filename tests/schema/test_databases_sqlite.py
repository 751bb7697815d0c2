"""SQLite, read as a database that is there."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from fake_database import count_rows

from remloom.errors import InvalidInputError, SourceError, UnknownNameError
from remloom.schema.databases.contract import Column, Database, ForeignKey, Table
from remloom.schema.databases.opening import open_database

Opening = Callable[[str], Database]


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[Opening]:
    """Opens a database made by a script."""
    opened: list[Database] = []

    def opening(script: str) -> Database:
        path = tmp_path / f"{len(opened)}.db"
        with sqlite3.connect(path) as connection:
            connection.executescript(script)
        connection.close()
        opened.append(open_database(f"sqlite:///{path}"))
        return opened[-1]

    yield opening
    for database in opened:
        database.close()


def column(table: Table, name: str) -> Column:
    return next(column for column in table.columns if column.name == name)


def pages(database: Database, table: Table, columns: list[str], size: int) -> list[tuple[Any, ...]]:
    """All rows, page by page."""
    rows: list[tuple[Any, ...]] = []
    after: tuple[Any, ...] | None = None
    while page := database.rows(table, columns, after=after, limit=size):
        rows += page
        key = [columns.index(name) for name in table.primary_key]
        after = tuple(page[-1][place] for place in key) if key else (len(rows),)
    return rows


def test_tables_are_described_with_their_keys_and_kinds(opening: Opening) -> None:
    database = opening(
        """
        CREATE TABLE "Customers" (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE,
            balance DECIMAL(10, 2), since DATE, photo BLOB,
            stage TEXT CHECK (stage IN ('new', 'won')), upper_name TEXT AS (upper(name)));
        CREATE TABLE "order" ("Order Id" TEXT PRIMARY KEY, customer REFERENCES customers,
            "the ""quoted"" one" INT);
        CREATE INDEX by_customer ON "order" (customer, "Order Id");
        CREATE VIEW rich AS SELECT name, balance FROM Customers WHERE balance > 9;
        """
    )
    customers, order, rich = database.tables()

    assert (customers.name, order.name, rich.name) == ("Customers", "order", "rich")
    kinds = {one.name: one.kind for one in customers.columns}
    assert kinds == {
        "id": "integer",
        "name": "string",
        "email": "string",
        "balance": "decimal",
        "since": "date",
        "photo": None,
        "stage": "enum",
        "upper_name": "string",
    }
    assert column(customers, "stage").values == ("new", "won")
    assert not column(customers, "name").nullable
    assert customers.primary_key == ("id",)
    assert customers.unique == (("email",),)
    assert order.foreign_keys == (
        ForeignKey(columns=("customer",), target="Customers", target_columns=("id",)),
    )
    assert ("customer", "Order Id") in order.indexed
    assert rich.is_view
    assert not rich.primary_key


def test_only_the_tables_named_are_described_and_others_are_an_error(opening: Opening) -> None:
    database = opening("CREATE TABLE a (x); CREATE TABLE b (x)")

    assert [table.name for table in database.tables(["b"])] == ["b"]
    with pytest.raises(UnknownNameError, match="'bb'"):
        database.tables(["bb"])


def test_rows_are_read_by_composite_keys_page_by_page(opening: Opening) -> None:
    database = opening("CREATE TABLE t (a TEXT, b INT, c REAL, PRIMARY KEY (a, b)) WITHOUT ROWID")
    (table,) = database.tables()
    assert pages(database, table, ["a"], 2) == []

    database = opening(
        "CREATE TABLE t (a TEXT, b INT, c REAL, PRIMARY KEY (a, b)) WITHOUT ROWID;"
        "INSERT INTO t VALUES ('x', 1, .5), ('x', 2, 1e999), ('X', 9, 1), ('y', 1, 0), ('ä', 3, 2)"
    )
    (table,) = database.tables()
    rows = pages(database, table, ["a", "b", "c"], 2)
    assert rows == [
        ("X", 9, 1.0),
        ("x", 1, 0.5),
        ("x", 2, "Infinity"),
        ("y", 1, 0.0),
        ("ä", 3, 2.0),
    ]
    assert count_rows(database, table) == 5


def test_tables_without_a_key_and_views_are_read_by_offset(opening: Opening) -> None:
    database = opening(
        "CREATE TABLE t (a INT); INSERT INTO t VALUES (3), (1), (2);"
        "CREATE VIEW v AS SELECT a * 2 AS twice FROM t"
    )
    table, view = database.tables()
    assert pages(database, table, ["a"], 2) == [(3,), (1,), (2,)]
    assert pages(database, view, ["twice"], 2) == [(6,), (2,), (4,)]
    assert column(view, "twice").kind == "integer"


def test_rows_whose_key_is_null_are_read_too(opening: Opening) -> None:
    database = opening(
        "CREATE TABLE t (k TEXT PRIMARY KEY); INSERT INTO t VALUES (NULL), ('a'), (NULL), ('b')"
    )
    (table,) = database.tables()
    assert table.primary_key == ()
    assert sorted(map(str, pages(database, table, ["k"], 1))) == [
        "('a',)",
        "('b',)",
        "(None,)",
        "(None,)",
    ]


def test_values_are_plain(opening: Opening) -> None:
    database = opening(
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY, price NUMERIC(9, 2), at TIMESTAMP, day DATE,
            is_on BOOLEAN, tags JSON, name TEXT, photo BLOB);
        INSERT INTO t VALUES (1, 9.99, '2024-02-29 10:30:00', '0000-00-00', 1, '{"a": [1, null]}',
            CAST(x'61ff62' AS TEXT), x'00');
        INSERT INTO t VALUES (2, 12, 'soon', '2024-02-29', 'f', 'not json', 7, NULL);
        """
    )
    (table,) = database.tables()
    names = [one.name for one in table.columns]
    first, second = database.rows(table, names, after=None, limit=9)
    at = datetime(2024, 2, 29, 10, 30, tzinfo=UTC)
    assert first == (1, Decimal("9.99"), at, "0000-00-00", True, {"a": [1, None]}, "a\ufffdb", None)
    assert second == (2, Decimal(12), "soon", date(2024, 2, 29), False, "not json", "7", None)


def test_a_small_table_is_profiled_whole(opening: Opening) -> None:
    database = opening(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, city TEXT, note JSON);"
        "INSERT INTO t VALUES (1, 'Oslo', '[1]'), (2, 'Rome', '[1]'), (3, 'Oslo', NULL), (4, NULL, '{}')"
    )
    (table,) = database.tables()
    profile = database.profile(table, 1000)
    assert (profile.rows, profile.sampled, profile.whole) == (4, 4, True)
    ids, city, note = profile.columns
    assert (min(ids.values), max(ids.values), ids.distinct) == (1, 4, 4)
    assert (city.nulls, city.distinct, set(city.values), city.longest) == (
        1,
        2,
        {"Oslo", "Rome"},
        4,
    )
    assert (note.nulls, note.distinct) == (1, 2)


def test_a_large_table_is_sampled_all_over_and_hardly_read(opening: Opening) -> None:
    database = opening(
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY, n INT);
        WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 120000)
        INSERT INTO t SELECT i * 7, i FROM s;
        """
    )
    (table,) = database.tables()
    assert table.rows is not None
    assert 100_000 < table.rows < 140_000
    profile = database.profile(table, 20_000)
    assert 800 <= profile.sampled <= 1100
    assert not profile.whole
    assert min(profile.columns[1].values) < 2000
    assert max(profile.columns[1].values) > 118_000


def test_values_are_looked_up_by_index_and_large_tables_are_not_scanned(opening: Opening) -> None:
    database = opening(
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY, n INT, code TEXT, UNIQUE (code, n));
        WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 120000)
        INSERT INTO t SELECT i, i % 10, 'c' || i FROM s;
        """
    )
    database.tables()
    assert database.count_contained("t", ["id"], [(i,) for i in range(-600, 600)]) == 599
    assert database.count_contained("t", ["id"], [("7",), ("x",), (None,), (2**70,)]) == 1
    assert database.count_contained("t", ["n", "code"], [(1, "c1"), (2, "c2"), (2, "c3")]) == 2
    assert database.count_contained("t", ["code"], [("c5",), ("C5",)]) == 1
    assert database.count_contained("t", ["n"], [(1,), (99,)]) is None


def test_a_file_that_is_not_there_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    for url in (f"sqlite:///{tmp_path}/no.db", str(tmp_path / "no.db")):
        with pytest.raises(SourceError, match="there is no"):
            open_database(url)
    assert not list(tmp_path.iterdir())


def test_what_is_no_database_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("not a database, although it says so and is long enough" * 100)
    for url in (f"sqlite:///{path}", str(path)):
        with pytest.raises(SourceError, match="database"):
            open_database(url)
    with pytest.raises(InvalidInputError, match="ftp://"):
        open_database("ftp://host/x.db")


def test_a_database_is_never_written(opening: Opening) -> None:
    database: Any = opening("CREATE TABLE t (a)")
    with pytest.raises(SourceError, match="attempt to write"):
        database._read("INSERT INTO t VALUES (1)")


def test_a_snapshot_does_not_see_what_is_written_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "live.db"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.executescript("PRAGMA journal_mode = wal; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    database = open_database(str(path))
    (table,) = database.tables()
    with database.snapshot():
        writer.execute("INSERT INTO t VALUES (2)")
        assert count_rows(database, table) == 1
    assert count_rows(database, table) == 2
    database.close()
    writer.close()


def test_a_table_of_2000_columns_is_read(opening: Opening) -> None:
    many = ", ".join(f"c{n} INT" for n in range(2000))
    values = ", ".join(map(str, range(2000)))
    database = opening(f"CREATE TABLE wide ({many}); INSERT INTO wide VALUES ({values})")
    (table,) = database.tables()
    assert len(database.profile(table, 20_000).columns) == 2000
    names = [one.name for one in table.columns]
    assert database.rows(table, names, after=None, limit=1) == [tuple(range(2000))]


def test_a_damaged_database_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "broken.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE t (a TEXT);"
            "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 5000)"
            "INSERT INTO t SELECT 'some text ' || i FROM s"
        )
    connection.close()
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    path.write_bytes(data)
    database = open_database(str(path))
    with pytest.raises(SourceError, match="malformed"):
        database.tables()
    database.close()
