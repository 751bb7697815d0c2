"""DuckDB, and folders of CSV and Parquet, read as databases that are there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from fake_database import count_rows

from remloom import Memory
from remloom.errors import SettingsError, SourceError
from remloom.schema.databases.contract import Database, ForeignKey
from remloom.schema.databases.opening import open_database
from remloom.settings import Settings, source_password


@pytest.fixture
def opened() -> Iterator[list[Database]]:
    """What is closed at the end."""
    opened: list[Database] = []
    yield opened
    for database in opened:
        database.close()


def test_duckdb_is_described_and_read(tmp_path: Path, opened: list[Database]) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        for statement in (
            "CREATE TABLE a (id INT PRIMARY KEY, code VARCHAR UNIQUE, time TIMESTAMPTZ,"
            " mood ENUM('sad', 'ok'), tags VARCHAR[], s STRUCT(n INT), day DATE, photo BLOB,"
            " span INTERVAL, stage VARCHAR CHECK (stage IN ('new', 'won')))",
            "INSERT INTO a VALUES (1, 'x', '2024-01-01 10:00+02', 'ok', ['t'], {'n': 1},"
            " 'infinity', '\\x00'::BLOB, INTERVAL 90 MINUTE, 'won')",
            "CREATE SCHEMA sales",
            "CREATE TABLE sales.b (x INT, y INT, price DECIMAL(9, 2), PRIMARY KEY (x, y))",
            "INSERT INTO sales.b VALUES (1, 2, 1.5), (1, 1, NULL), (0, 9, 2)",
            "CREATE TABLE c (a_id INT REFERENCES a (id), ratio DOUBLE)",
            "INSERT INTO c VALUES (1, 'nan')",
            "CREATE VIEW v AS SELECT code FROM a",
            "COMMENT ON TABLE a IS 'All kinds'",
        ):
            connection.execute(statement)
    database = open_database(str(path))
    opened.append(database)
    tables = {table.name: table for table in database.tables()}
    assert set(tables) == {"a", "sales.b", "c", "v"}
    a, b, c = tables["a"], tables["sales.b"], tables["c"]
    assert (a.comment, a.rows, a.unique) == ("All kinds", 1, (("code",),))
    assert {column.name: column.values for column in a.columns if column.values} == {
        "mood": ("sad", "ok"),
        "stage": ("new", "won"),
    }
    assert c.foreign_keys == (ForeignKey(columns=("a_id",), target="a", target_columns=("id",)),)
    assert tables["v"].is_view
    names = [column.name for column in a.columns]
    assert database.rows(a, names, after=None, limit=9) == [
        (
            1, "x", datetime(2024, 1, 1, 8, tzinfo=UTC), "ok", ["t"], {"n": 1}, "infinity", None,
            "01:30:00", "won",
        )
    ]  # fmt: skip
    assert database.rows(b, ["x", "y", "price"], after=(0, 9), limit=9) == [
        (1, 1, None),
        (1, 2, Decimal("1.50")),
    ]
    assert database.rows(c, ["ratio"], after=None, limit=9) == [("NaN",)]
    assert database.count_contained("sales.b", ["x", "y"], [(1, 2), (1, 3)]) == 1


def test_a_large_table_of_duckdb_is_sampled(tmp_path: Path, opened: list[Database]) -> None:
    path = tmp_path / "large.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS id, 'x' AS x FROM range(300000)")
    database = open_database(f"duckdb:///{path}")
    opened.append(database)
    (table,) = database.tables()
    profile = database.profile(table, 20_000)
    assert (profile.sampled, profile.rows, profile.whole) == (2400, 300_000, False)
    assert max(profile.columns[0].values) > 290_000


def test_a_folder_of_files_is_a_database(tmp_path: Path, opened: list[Database]) -> None:
    (tmp_path / "customers.csv").write_text(
        "id,zip,name,since\n1,00501,Ann,2024-02-29\n2,10115,,\n"
    )
    (tmp_path / "notes.txt").write_text("not a table")
    (tmp_path / "it's.tsv").write_text("a\tb\n1\tx y\n")
    (tmp_path / "orders").mkdir()
    with duckdb.connect() as connection:
        for part in range(2):
            connection.execute(
                f"COPY (SELECT {part} + range AS id, {{'n': 1}} AS data FROM range(1000))"
                f" TO '{tmp_path}/orders/{part}.parquet' (FORMAT parquet)"
            )
    for url in (f"csv:///{tmp_path}", str(tmp_path)):
        database = open_database(url)
        opened.append(database)
        tables = {table.name: table for table in database.tables()}
        assert {name: table.rows for name, table in tables.items()} == {
            "customers": 2,
            "it's": 1,
            "orders": 2000,
        }
        customers = tables["customers"]
        assert [column.kind for column in customers.columns] == [
            "integer", "string", "string", "date",
        ]  # fmt: skip
        names = ["id", "zip", "name", "since"]
        assert database.rows(customers, names, after=(1,), limit=5) == [(2, "10115", None, None)]
        first = database.rows(customers, names, after=None, limit=1)
        assert first == [(1, "00501", "Ann", date(2024, 2, 29))]
        assert count_rows(database, tables["orders"]) == 2000
        assert database.profile(tables["orders"], 1000).sampled >= 1000
        assert database.rows(tables["orders"], ["data"], after=None, limit=1) == [({"n": 1},)]


def test_broken_and_missing_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no CSV or Parquet"):
        open_database(str(tmp_path))
    (tmp_path / "t.parquet").write_bytes(b"PAR1 is how it begins, and no more")
    with pytest.raises(SourceError, match=r"t\.parquet"):
        open_database(f"parquet:///{tmp_path}/t.parquet")
    (tmp_path / "x.duckdb").write_bytes(b"12345678DUCK" + b"\0" * 100)
    with pytest.raises(SourceError, match="duckdb"):
        open_database(str(tmp_path / "x.duckdb"))


def test_a_password_may_be_a_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "password"
    file.write_text("s3cret\n")
    file.chmod(0o600)
    monkeypatch.setenv("REMLOOM_SOURCE_MY_CRM", f"file:{file}")
    Settings.load(home=str(tmp_path))
    password = source_password("my-crm")
    assert password == f"file:{file}"
    with pytest.raises(SourceError) as caught:
        open_database("mysql://me@127.0.0.1:1/crm", password=password)
    assert "s3cret" not in str(caught.value)
    with pytest.raises(SettingsError, match="cannot be read"):
        open_database("mysql://me@127.0.0.1:1/crm", password=f"file:{tmp_path}/none")
    value: Any = source_password("other")
    assert value is None


def test_a_view_of_a_database_brings_no_file_of_this_machine_in(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the secret of the weir")
    with duckdb.connect(str(tmp_path / "stranger.duckdb")) as connection:
        connection.execute(f"CREATE VIEW a AS SELECT * FROM read_text('{tmp_path}/secret.txt')")
        connection.execute("CREATE TABLE b AS SELECT 1 AS id, 'Heron' AS name")
    database = open_database(f"duckdb:///{tmp_path / 'stranger.duckdb'}")
    try:
        view, table = database.tables()
        assert database.rows(table, ["name"], after=None, limit=9) == [("Heron",)]
        with pytest.raises(SourceError, match="disabled"):
            database.rows(view, ["content"], after=None, limit=9)
    finally:
        database.close()


def test_a_folder_of_files_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secrets.csv").write_text("id,name\n1,Secret\n")
    folder = tmp_path / "folder"
    (folder / "parts").mkdir(parents=True)
    (folder / "birds.csv").write_text("id,name\n1,Heron\n")
    (folder / "parts" / "one.csv").write_text("id,name\n1,Stork\n")
    (folder / "link.csv").symlink_to(tmp_path / "elsewhere" / "secrets.csv")
    (folder / "parts" / "link.csv").symlink_to(tmp_path / "elsewhere" / "secrets.csv")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    database = open_database(f"csv:///{folder}")
    try:
        assert [(table.name, table.rows) for table in database.tables() if table.columns] == [
            ("birds", 1),
            ("parts", 1),
        ]
    finally:
        database.close()


def test_what_of_a_folder_is_not_read_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "parts" / "deeper").mkdir(parents=True)
    (folder / "birds.csv").write_text("id,name\n1,Heron\n2,Stork\n")
    (folder / "Birds.tsv").write_text("id\tname\n1\tCrane\n")
    (folder / "broken.parquet").write_text("no Parquet")
    (folder / "notes.txt").write_text("no table")
    (folder / "parts" / "one.csv").write_text("id,name\n1,Ibis\n")
    (folder / "parts" / "deeper" / "two.csv").write_text("id,name\n2,Ibis\n")
    (folder / "mixed").mkdir()
    (folder / "mixed" / "old.csv").write_text("id,name\n2,Ibis\n")
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 1 AS id) TO '{folder / 'mixed' / 'new.parquet'}'")
    secret = tmp_path / "secret.csv"
    secret.write_text("id,name\n1,Secret\n")
    (folder / "link.csv").symlink_to(secret)
    (folder / "linked").symlink_to(tmp_path)
    (folder / "parts" / "link.csv").symlink_to(secret)
    (folder / "nothing.csv").symlink_to(tmp_path / "nothing.csv")
    url = f"csv:///{folder}"
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        plan = memory.schemas.discover(url, "files")
        # DuckDB does not tell names apart by their case
        assert {table.table for table in plan.tables} == {"Birds", "birds.csv", "mixed", "parts"}
        named = {each.table: each.reason for each in plan.left_out}
        assert set(named) == {
            "broken", "link.csv", "linked", "mixed/old.csv", "nothing.csv", "parts/deeper", "parts/link.csv",
        }  # fmt: skip
        assert "a link" in named["parts/link.csv"]
        memory.schemas.register_from_discovery(plan, url=url)
        report = memory.schemas.sync("files")
        assert (report.added, report.faults) == (5, {})
        # what has turned into a link since is named by the sync, and its rows stay
        (folder / "birds.csv").unlink()
        (folder / "birds.csv").symlink_to(secret)
        (folder / "parts" / "later.csv").symlink_to(secret)
        report = memory.schemas.sync("files")
        assert set(report.faults) == {"birds.csv", "parts/later.csv"}
        assert all("a link" in why for why in report.faults.values())
        assert memory.lookup("Stork").records
