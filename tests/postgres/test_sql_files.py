"""Every statement of the PostgreSQL store can be printed, explained, and goes by its indexes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from psycopg.pq import ExecStatus

import postgres_server
from remloom import Edge, Entity, Resource
from remloom.kv import Entry
from remloom.model import Direction
from remloom.store import postgres as package
from remloom.store.batch import TokenVectorBatch
from remloom.store.postgres import PostgresStore
from remloom.store.postgres.database import PostgresDatabase
from remloom.store.postgres.edge_queries import _COUNTED_FAMILY, _FAMILY, walk_words
from remloom.store.postgres.rows import SQL
from remloom.store.specs import EdgeOrder
from remloom.store.sql_files import NamedStatement
from remloom.testing.conformance import put

pytestmark = pytest.mark.usefixtures("hnsw")

DIMS = 16
OF_TYPE = " AND r.type = %(type)s"
NEWEST = EdgeOrder("created_at", "desc")
# what stands in the slots, where a statement has no words of its own
WORDS = {
    "family": _FAMILY,
    "own": "src",
    "other": "dst",
    "types": "",
    "order": "created DESC",
    "dims": str(DIMS),
    "count": "9",
    "few": "50",
    "condition": OF_TYPE,
    "way": "DESC",
    "statement": "SELECT n.key FROM remloom.names n WHERE n.tenant_id = t.tenant AND n.key = %(key)s",
    "value": "(r.body -> 'kind')",
    "table": "names",
    "names": "remloom.names n",
}
OWN_WORDS = {
    "count_edges": {"family": _COUNTED_FAMILY},
    "degrees": {"family": _COUNTED_FAMILY},
    "query_records": {"condition": "r.schema = 'resources' AND r.type = %s", "order": "r.seq"},
    "query_some_records": {"condition": "r.schema = 'resources' AND r.type = %s", "order": "r.seq"},
    "texts_by_number": {"condition": " AND r.type = %s"},
    "remaining_ids": {"column": "id"},
    "walk": walk_words(NEWEST, "out", typed=False, aliased=False),
    "walk_aliased": walk_words(NEWEST, "out", typed=False, aliased=True),
}
# statements that no server explains
UNEXPLAINED = {
    "create_hnsw_index": "it makes an index",
    "create_field_index": "it makes an index",
    "distributed_tables": "it needs Citus",
    "distribute_table": "it needs Citus",
}
# Where a statement reads every row that a tenant has in a table, and that is what it is for.
WHOLE_TABLES = {
    "all_edges": {"edges"},
    "all_whole_keys": {"names"},
    "all_records": {"records"},
    "all_thin": {"records"},
    "all_postings": {"postings"},
    "all_name_pages": {"name_pages"},
    "numbered_texts": {"records"},
    "tenant_bytes": {"records"},
    "delete_rows_of_tenant": {"names"},
    "delete_all_name_pages": {"name_pages"},
    "delete_vectors_of_others": {"vectors"},
    "enqueue_unembedded": {"records"},
    "empty_queue": {"pending"},
    "unpark": {"pending"},
    "count_pending": {"pending"},
    "count_records": {"records"},
    "count_texts_to_embed": {"records"},
    "count_keys": {"names"},
    "count_entries_of_namespaces": {"journal"},
    "record_size": {"records"},
    # what verifies the indexes looks at every row
    "names_of_wrong_edges": {"names"},
    "edges_from_nothing": {"edges"},
    "edges_to_nothing": {"edges"},
    "edges_without_type": {"edges"},
    "miscounted_keys": {"edges", "degrees"},
    "expiry_not_indexed": {"records"},
    "records_without_name": {"records"},
    "names_without_record": {"names"},
    "vectors_without_record": {"vectors"},
    "pending_without_record": {"pending"},
    "thin_without_edge": {"records"},
    "vectors_without_model": {"vectors"},
    "damaged_token_vectors": {"token_vectors"},
    "entries_without_subject": {"journal"},
    "shared_text_numbers": {"records"},
    "token_vectors_without_text": {"token_vectors"},
    "token_vectors_without_model": {"token_vectors"},
    "texts_passed_over": {"records", "token_vectors"},
}
# tables that have a few rows for each tenant
SMALL = {"tenants", "models", "rels", "runs", "name_runs", "pg_class", "secret"}
SMALL |= {"token_models", "token_failures"}
# indexes that have few rows of a table, whatever is asked of them
PARTIAL = {"names_kin", "names_kin_id", "pending_next"}


@pytest.fixture(scope="module")
def own_database(postgres: str) -> Iterator[str]:
    """The rows of other tests would change the plans."""
    with postgres_server.database(postgres) as url:
        yield url


@pytest.fixture(scope="module")
def store(own_database: str) -> Iterator[PostgresStore]:
    """A tenant with some of everything, and an HNSW index."""
    rng = np.random.default_rng(1)
    store = PostgresStore(own_database, f"t{uuid4().hex}", tail=10)
    put(store, *(_entity(number) for number in range(3_000)))
    put(store, *(_edge(number) for number in range(3_000)))
    put(store, *(_resource(number, rng.normal(size=DIMS)) for number in range(300)))
    store.kv.put([Entry("kind", f"k{number}", b"{}", (f"r{number}",)) for number in range(300)])
    vectors = {f"r{number}": b"\1" * 16 for number in range(200)}
    store.token_vectors.put(TokenVectorBatch(vectors, model="tokens", dims=4))
    store.admin.optimize()
    with postgres_server.connect(own_database) as connection:
        connection.execute("VACUUM ANALYZE")
    yield store
    store.close()


def _entity(number: int) -> Entity:
    return Entity(name=f"Name {number}", aliases=(f"N{number}",) if number % 9 == 0 else ())


def _edge(number: int) -> Edge:
    ends = {"src": f"Name {number}", "dst": f"Name {number // 3}"}
    if number % 50 == 0:
        return Edge(**ends, rel_type="r", valid_to=datetime(2020, 1, 1, tzinfo=UTC))
    return Edge(**ends, rel_type="r")


def _resource(number: int, embedding: Any) -> Resource:
    return Resource(
        id=f"r{number}",
        name=f"r{number}",
        content=" ".join(f"word{number * word}" for word in range(200)),
        uri=f"u{number % 50}",
        metadata={"message_ids": [f"m{number}"]},
        parents=(f"r{number - 1}",) if number else (),
        embedding=embedding,
    )


@pytest.fixture(scope="module")
def database(own_database: str) -> Iterator[PostgresDatabase]:
    server = PostgresDatabase.at(own_database, 2, 30.0)
    yield server
    server.release()


@pytest.mark.parametrize("statement", list(SQL), ids=lambda statement: statement.name)
def test_a_statement_goes_by_its_indexes(
    store: PostgresStore, database: PostgresDatabase, statement: NamedStatement
) -> None:
    print(f"{statement.name}: {statement.description}\n{statement.sql}")
    if statement.name in UNEXPLAINED:
        return
    with database.of(store._server.tenant).read() as cursor:
        if cursor.connection.info.server_version < 160_000:
            pytest.skip("PostgreSQL 16 explains what has parameters")
        whole = set(_whole_tables(_plan(cursor, _text(statement))))
    assert whole - SMALL <= WHOLE_TABLES.get(statement.name, set())


def test_every_select_answers_with_columns(database: PostgresDatabase) -> None:
    """A row without any is false, as if there were none."""
    selects = [statement for statement in SQL if statement.sql.lstrip().startswith("SELECT")]
    with database.connect() as connection:
        for statement in selects:
            if statement.name in UNEXPLAINED:
                continue
            server = connection.pgconn
            assert server.prepare(b"", _text(statement).encode()).status == ExecStatus.COMMAND_OK
            assert server.describe_prepared(b"").nfields > 0, statement.name
    assert len(selects) > 50


@pytest.mark.parametrize("aliased", [False, True], ids=["", "aliased"])
@pytest.mark.parametrize("direction", ["out", "both"])
@pytest.mark.parametrize(("order", "typed"), [
    (EdgeOrder("weight", "asc"), True),
    (EdgeOrder("valid_to", "desc"), False),
    (EdgeOrder("dst", "asc"), True),
], ids=["weight", "valid_to", "dst"])  # fmt: skip
def test_a_walk_in_any_order_goes_by_the_indexes_of_edges(
    store: PostgresStore,
    database: PostgresDatabase,
    order: EdgeOrder,
    typed: bool,
    direction: Direction,
    aliased: bool,
) -> None:
    name = "walk_aliased" if aliased else "walk"
    (statement,) = (statement for statement in SQL if statement.name == name)
    words = walk_words(order, direction, typed=typed, aliased=aliased)
    with database.of(store._server.tenant).read() as cursor:
        if cursor.connection.info.server_version < 160_000:
            pytest.skip("PostgreSQL 16 explains what has parameters")
        whole = set(_whole_tables(_plan(cursor, _text(statement, words))))
    assert whole <= SMALL


def test_what_is_declared_of_statements_is_about_statements_there_are() -> None:
    names = {statement.name for statement in SQL}
    assert {*UNEXPLAINED, *WHOLE_TABLES, *OWN_WORDS} <= names


def test_every_statement_is_used_and_every_use_has_its_statement() -> None:
    folder = Path(package.__file__).parent
    files = [*folder.rglob("*.py"), *folder.parent.glob("st*.py")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in files)
    used = set(re.findall(r"(?:SQL|statements)\.([a-z]\w+)", code)) - {"fill"}
    names = {statement.name for statement in SQL}
    assert used <= names
    mentioned = set(re.findall(r'"(\w+)"', code))
    built = {f"nearest_{kind}_filtered" for kind in ("indexed", "exact")}
    assert names - used - mentioned - built == set()


def _text(statement: NamedStatement, words: dict[str, str] | None = None) -> str:
    """The statement as the server would have it prepared."""
    given = WORDS | OWN_WORDS.get(statement.name, {}) | (words or {})
    sql = SQL.fill(statement.name, **{slot: given[slot] for slot in statement.slots})
    if re.search(r"\bt\.tenant\b", sql) and statement.name != "entered":
        sql = SQL.fill("entered", statement=sql)
    numbers: dict[str, int] = {}

    def numbered(match: re.Match[str]) -> str:
        name = match[1] or f"{len(numbers)}"
        return f"${numbers.setdefault(name, len(numbers) + 1)}"

    return re.sub(r"%(?:\((\w+)\))?[sb]", numbered, sql).replace("%%", "%")


def _plan(cursor: Any, sql: str) -> dict[str, Any]:
    explained = f"EXPLAIN (GENERIC_PLAN, COSTS OFF, FORMAT JSON) {sql}"
    ((answer,),) = cursor.connection.execute(explained.encode()).fetchall()
    plan: dict[str, Any] = json.loads(answer)[0]["Plan"]
    return plan


def _whole_tables(node: dict[str, Any], table: str = "") -> Iterator[str]:
    """The tables of which a plan reads every row, or every row of the tenant."""
    table = node.get("Relation Name", table)
    if node["Node Type"] == "Seq Scan":
        yield table
    # An index of distances is read in its order, without a condition.
    elif "Index" in node["Node Type"] and "Order By" not in node:
        narrowed = _without_tenant(node.get("Index Cond", ""))
        if not narrowed and node["Index Name"] not in PARTIAL:
            yield table
    for part in node.get("Plans", ()):
        yield from _whole_tables(part, table)


def _without_tenant(condition: str) -> str:
    """A condition but for the one on the tenant, of whom alone an index has all there is."""
    start = condition.find("(tenant_id = ")
    if start < 0:
        return condition
    depth = 0
    for end in range(start, len(condition)):
        depth += {"(": 1, ")": -1}.get(condition[end], 0)
        if not depth:
            return f"{condition[:start]}{condition[end + 1 :]}".strip("() ")
    raise AssertionError(condition)
