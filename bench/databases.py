"""How fast are databases that are there read, and how much of them? python -m bench.databases

Rows by keyset, in pages of 2,000, beside one `SELECT` of the same rows by the bare driver in the
same run; and the profile of many tables, with the part of their rows that it reads. CPU seconds of
this process.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from remloom.schema.databases.contract import Database
from remloom.schema.databases.opening import open_database

from .measure import Results

PAGE = 2_000
_COLUMNS = (
    "id INT PRIMARY KEY, name VARCHAR(40), customer_id INT, total DECIMAL(10, 2), placed TIMESTAMP"
)


def fill(execute: Callable[[str], Any], rows: int, *, table: str = "orders") -> None:
    """Make a table of so many rows, by statements that every database takes."""
    execute(f"CREATE TABLE {table} ({_COLUMNS})")
    for start in range(0, rows, 1_000):
        values = ", ".join(
            f"({number}, 'Order {number}', {number % 997}, {number % 10_000}.5,"
            f" '2026-01-{number % 28 + 1:02} 10:00:00')"
            for number in range(start, min(start + 1_000, rows))
        )
        execute(f"INSERT INTO {table} VALUES {values}")


def read_all(database: Database) -> int:
    """Read all rows of the one table, page by page."""
    (table,) = database.tables(["orders"])
    names = [column.name for column in table.columns]
    table = replace(table, primary_key=("id",))
    read, after = 0, None
    while page := database.rows(table, names, after=after, limit=PAGE):
        read += len(page)
        after = (page[-1][0],)
    return read


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    """How many CPU seconds something takes, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


@contextmanager
def sources(rows: int, folder: Path) -> Iterator[dict[str, tuple[str, Callable[[], Any]]]]:
    """The databases that can be had here: their URLs, and what reads all rows without us."""
    with ExitStack() as stack:
        found: dict[str, tuple[str, Callable[[], Any]]] = {}
        path = folder / "orders.db"
        with sqlite3.connect(path) as connection:
            fill(connection.execute, rows)
        stack.callback(connection.close)
        found["sqlite"] = (str(path), lambda: connection.execute("SELECT * FROM orders").fetchall())
        import duckdb

        other = folder / "orders.duckdb"
        with duckdb.connect(str(other)) as making:
            making.execute(f"CREATE TABLE orders ({_COLUMNS})")
            making.execute(
                "INSERT INTO orders SELECT range, 'Order ' || range, range % 997,"
                f" range % 10000 + .5, '2026-01-01 10:00:00' FROM range({rows})"
            )
        found["duckdb"] = (str(other), lambda: _duckdb(other))
        sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
        import mariadb_server
        import postgres_server

        url = stack.enter_context(postgres_server.database(postgres_server.server(folder)))
        postgres = stack.enter_context(postgres_server.connect(url))
        fill(postgres.execute, rows)
        found["postgresql"] = (url, lambda: postgres.execute("SELECT * FROM orders").fetchall())
        server = stack.enter_context(mariadb_server.server(folder))
        url = stack.enter_context(mariadb_server.database(server))
        maria = stack.enter_context(mariadb_server.connect(url))
        fill(maria.query, rows)
        found["mysql"] = (url, lambda: _fetched(maria))
        yield found


def _duckdb(path: Path) -> list[Any]:
    import duckdb

    # as it is open already in this process
    config: Any = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    with duckdb.connect(str(path), read_only=True, config=config) as connection:
        return connection.execute("SELECT * FROM orders").fetchall()


def _fetched(connection: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM orders")
        return list(cursor.fetchall())


def measure_rows(results: Results, rows: int, folder: Path) -> None:
    """Rows by keyset per CPU second, beside the bare driver's."""
    with sources(rows, folder) as found:
        for name, (url, reference) in found.items():
            database = open_database(url)
            ours, read = cpu(partial(read_all, database))
            theirs, _ = cpu(reference)
            database.close()
            results.add(
                f"rows/{name}", rows=read, per_second=round(read / ours), bare=round(rows / theirs)
            )


def measure_profiles(results: Results, tables: int, rows: int, folder: Path) -> None:
    """The profiles of many tables: seconds, and the part of their rows that is read."""
    path = folder / "many.db"
    with sqlite3.connect(path) as connection:
        for number in range(tables):
            connection.execute(
                f"CREATE TABLE t{number} (id INTEGER PRIMARY KEY, name TEXT, parent_id INT,"
                " email TEXT, at TIMESTAMP, amount REAL)"
            )
            connection.execute(
                f"INSERT INTO t{number} WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL"
                f" SELECT i + 1 FROM s WHERE i < {rows}) SELECT i, 'Name ' || i, i % 1000,"
                " i || '@example.com', '2026-01-01 10:00:00', i * .5 FROM s"
            )
    connection.close()
    database = open_database(str(path))
    start = time.perf_counter()
    seconds, (read, total) = cpu(lambda: _profile(database))
    wall = time.perf_counter() - start
    database.close()
    results.add(
        "profiles",
        tables=tables,
        rows=total,
        cpu=round(seconds, 1),
        wall=round(wall, 1),
        read=read,
        share=round(read / total, 5),
    )


def _profile(database: Database) -> tuple[int, int]:
    read = total = 0
    for table in database.tables():
        profile = database.profile(table, 20_000)
        read += profile.sampled
        total += profile.rows or 0
    return read, total


def main() -> None:
    """Measure, and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="of each database")
    parser.add_argument("--tables", type=int, default=100, help="that are profiled")
    parser.add_argument("--table-rows", type=int, default=100_000, help="of each of them")
    given = parser.parse_args()
    results = Results("databases")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        measure_rows(results, given.rows, Path(folder))
        measure_profiles(results, given.tables, given.table_rows, Path(folder))


if __name__ == "__main__":
    main()
