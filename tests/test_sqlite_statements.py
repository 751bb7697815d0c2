"""Every named statement of the embedded store runs, and by an index unless it says otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator

import apsw.ext
import pytest

from remloom.store.sql_files import NamedStatement
from remloom.store.sqlite import SqliteStore
from remloom.store.sqlite.rows import SQL

# what grows with the memory; the other tables have a row for a model, an edge type, a snapshot …
LARGE = {"records", "labels", "names", "edges", "vectors", "parents", "degrees", "journal"}
LARGE |= {"token_vectors"}
PIECES = {
    "by": "e.created AS by",
    "end": "in",
    "filter": "",
    "in_force": "(e.valid_to IS NULL OR e.valid_to > :at)",
    "limit": "10",
    "lists": "json_group_array(by)",
    "other": "src",
    "own": "dst",
    "order": "by DESC",
    "way": "DESC",
}
_TABLE = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE) (\w+)(?: (?:AS )?(\w+))?")


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    store = SqliteStore(tmp_path_factory.mktemp("statements") / "memory.db")
    # its own: the writer's is used in the background too
    yield store._database.connections.open(8)
    store.close()


def filled(statement: NamedStatement) -> str:
    """The statement with a piece of SQL in each slot."""
    pieces = {slot: PIECES[slot] for slot in statement.slots}
    if statement.name.startswith("allowed"):
        pieces["filter"] = "length(r.body) > 9"
    if statement.name == "entries":
        pieces["order"] = "ASC"
    return SQL.fill(statement.name, **pieces)


def scanned(sql: str, plan: list[str]) -> list[str]:
    """The large tables that a plan reads from end to end."""
    tables = {alias or table: table for table, alias in _TABLE.findall(sql)}
    # that index has only the labels of records which have several
    scans = [line for line in plan if line.startswith("SCAN ") and "names_aliased" not in line]
    names = [line.split()[1] for line in scans]
    return [name for name in names if tables.get(name, name) in LARGE]


@pytest.mark.parametrize("statement", list(SQL), ids=lambda statement: statement.name)
def test_a_statement_goes_by_an_index_unless_it_says_that_it_scans(
    connection: apsw.Connection, statement: NamedStatement
) -> None:
    sql = filled(statement)
    values = [None] * apsw.ext.query_info(connection, sql).bindings_count
    plan = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    print(f"-- {statement.name}: {statement.description}\n{sql}\n", *plan, sep="\n")
    declared = statement.description.endswith("Full scan.")
    assert bool(scanned(sql, plan)) == declared, plan


def test_no_two_statements_describe_themselves_alike() -> None:
    descriptions = [statement.description for statement in SQL]
    assert len(set(descriptions)) == len(descriptions)
