"""Schemas and databases by command."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from remloom.serve.cli.app import program

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("REMLOOM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *arguments: runner.invoke(program, list(arguments))


@pytest.fixture
def crm(tmp_path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(tmp_path / "crm.db")
    connection.executescript("""
        CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE orders (
            id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers, total REAL);
        INSERT INTO customers VALUES (12345, 'Acme Corporation'), (12346, 'Globex');
        INSERT INTO orders VALUES (1, 12345, 99.9), (2, 12345, 5), (3, 12346, 7);
    """)
    return connection


def _json(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_database_is_discovered_registered_followed_and_asked(
    run: Run, crm: sqlite3.Connection
) -> None:
    discovered = run("discover", "crm.db", "-o", "crm.toml")
    assert "orders.customer_id" in discovered.stdout
    assert not Path("home").exists()
    assert run("discover", "crm.db", "-o", "crm.toml").exit_code != 0
    assert "registered customers, version 1" in run("register", "crm.toml").stdout
    assert _json(run("sync", "crm", "--dry-run", "--json"))["dry_run"] is True
    assert run("sync", "crm").exit_code == 0
    walked = _json(
        run("query", "TRAVERSE belongs_to WITH LOOKUP customer-12345 DIRECTION in", "--json")
    )
    assert {node["name"] for node in walked["nodes"]} == {"Acme Corporation", "order-1", "order-2"}
    assert run("drift", "crm").exit_code == 0
    crm.execute("ALTER TABLE customers ADD COLUMN vat TEXT")
    crm.execute("DELETE FROM orders WHERE id = 3")
    crm.commit()
    drifted = run("drift", "crm")
    assert (drifted.exit_code, drifted.stdout) == (3, "customers.vat: column added, TEXT\n")
    assert run("drift", "crm", "--accept").exit_code == 0
    report = _json(run("sync", "crm", "--json"))
    assert sum(table.get("deleted", 0) for table in report["tables"]) == 1
    assert run("forget", "customer-12345", "--yes").exit_code == 0
    run("sync", "crm")
    assert _json(run("lookup", "customer-12345", "--json"))["records"] == []


def test_a_schema_of_a_file_is_registered_shown_and_dropped(run: Run) -> None:
    Path("calls.toml").write_text('schema_name = "calls"\n[fields]\noutcome = "string"\n')
    assert run("register", "calls.toml").stdout == "registered calls, version 1\n"
    assert run("register", "calls.toml").stdout == "unchanged calls, version 1\n"
    assert [one["schema_name"] for one in _json(run("schemas", "--json"))] == ["calls"]
    assert "outcome" in run("schemas", "calls").stdout
    Path("calls.toml").write_text('schema_name = "calls"\n[fields]\nresult = "string"\n')
    assert run("register", "calls.toml").exit_code == 4
    assert "version 2" in run("register", "calls.toml", "--mapping", "outcome=result").stdout
    assert "are of version 2" in run("schema", "migrate", "calls").stdout
    assert run("schema", "drop", "calls").stdout == "dropped calls, forgot 0 rows\n"
    assert run("schemas").stdout == "no schemas\n"


def test_wrong_input_is_told(run: Run, crm: sqlite3.Connection) -> None:
    Path("calls.toml").write_text('schema_name = "calls"\n[fields]\noutcome = "strong"\n')
    for arguments in (
        ["register", "calls.toml"],
        ["register", "nothing.toml"],
        ["discover", "nothing.db"],
        ["sync", "crm"],
        ["schemas", "calls"],
    ):
        assert run(*arguments).exit_code != 0, arguments


def test_a_plan_says_what_is_asked_of_which_column_and_what_holds_if_nobody_answers(
    run: Run, crm: sqlite3.Connection
) -> None:
    crm.execute("CREATE TABLE visitors (id INTEGER PRIMARY KEY, email TEXT UNIQUE)")
    crm.execute("INSERT INTO visitors VALUES (1, 'ada@example.com'), (2, 'bo@example.com')")
    crm.commit()
    told = " ".join(run("discover", "crm.db").stdout.split())
    assert "? visitors.email: Shall rows be found by their email? Proposed: yes" in told


def test_edges_between_tables_of_one_plan_are_not_told_as_leading_nowhere(run: Run) -> None:
    with sqlite3.connect("crm.db") as connection:
        connection.executescript("""
            CREATE TABLE accounts (id INTEGER PRIMARY KEY, owner_id INTEGER REFERENCES users);
            CREATE TABLE users (id INTEGER PRIMARY KEY, full_name TEXT);
        """)
    connection.close()
    run("discover", "crm.db", "-o", "crm.toml")
    registered = run("register", "crm.toml")
    assert registered.stdout.splitlines() == [
        "registered accounts, version 1",
        "registered users, version 1",
    ]


def test_a_row_is_shown_with_its_fields_and_keys_as_they_are(
    run: Run, crm: sqlite3.Connection
) -> None:
    run("discover", "crm.db", "-o", "crm.toml")
    run("register", "crm.toml")
    run("sync", "crm")
    shown = run("lookup", "order-1").stdout
    assert "order_id: 1, customer_id: 12345, total: 99.9" in shown
    assert "12345" in run("show", "order-1").stdout


def test_values_that_rows_are_kept_without_are_told_of_table_by_table(run: Run) -> None:
    with sqlite3.connect("crm.db") as connection:
        connection.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, born DATE)")
        connection.executemany(
            "INSERT INTO people VALUES (?, ?, '1815-12-10')", [(n, f"Ada {n}") for n in range(30)]
        )
    run("discover", "crm.db", "-o", "crm.toml")
    run("register", "crm.toml")
    told = run("sync", "crm", "--dry-run").stdout
    assert "left out" in told
    assert "without a value" not in told
    connection.execute("UPDATE people SET born = '1815-13-41' WHERE id >= 5")
    connection.commit()
    connection.close()
    for _ in range(2):
        lines = run("sync", "crm").stdout.splitlines()
        named = [line for line in lines if line.startswith("- people person-")]
        assert named[0].startswith("- people person-5, without a value: born ")
        assert f"and {25 - len(named)} more" in lines
        report = _json(run("sync", "crm", "--json"))
        assert report["totals"]["left_out"] == report["tables"][0]["left_out"] == 25
        assert report["tables"][0]["left_out_values"][0]["row"] == "person-5"
