"""What PostgreSQL adds to the contract: its indexes, roles, tenants beside each other, migrations
and failures."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from postgres_server import connect, database
from remloom import Edge, Entity, Home, Memory, Resource
from remloom.errors import (
    ConflictError,
    InvalidInputError,
    RemloomError,
    SchemaVersionError,
    StoreBusyError,
    StoreClosedError,
    StoreError,
    TenantNotFoundError,
    VectorError,
)
from remloom.predicates import Eq, Gt, Query
from remloom.settings import Settings
from remloom.store.batch import Vector, VectorBatch
from remloom.store.definitions import Definitions
from remloom.store.postgres import PostgresStore, migrate
from remloom.store.postgres.migrations import newest
from remloom.store.postgres.select import compilers_of
from remloom.store.postgres.tenants import TABLES
from remloom.store.postgres.write.batch_writer import write
from remloom.store.rules.vector_validation import to_vector
from remloom.store.specs import EdgeOrder, EdgeSpec, NameSpec, SearchSpec, WalkSpec
from remloom.store.sqlite import SqliteStore
from remloom.testing.conformance import names, put, selected

Opening = Callable[..., PostgresStore]
NEWEST = newest()
T0 = datetime(2025, 1, 15, 10, tzinfo=UTC)


# -- indexes ---------------------------------------------------------------------------------------


def test_an_index_on_a_json_field_is_used_by_predicates(opening: Opening, postgres: str) -> None:
    store = opening()
    put(store, *(Entity(name=f"e{i}", properties={"team": f"t{i}", "age": i}) for i in range(20)))
    store.sql.create_index("entities", "properties.team")
    assert names(store.records.query("entities", Query().filter(Eq("properties.team", "t7")))) == [
        "e7"
    ]
    sql, values = (
        compilers_of(store._server, Definitions(store.kv))
        .of("entities")
        .compile(Eq("properties.team", "t7"))
    )
    with store._server.read() as cursor:
        cursor.execute(
            "SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL random_page_cost = 0"
        )
        statement = f"EXPLAIN SELECT FROM remloom.own_records r WHERE tenant_id = %s AND schema = 'entities' AND {sql}"
        plan = "\n".join(
            row[0] for row in cursor.execute(statement, (store._server.tenant, *values))
        )
    assert "user_" in plan


def test_a_long_value_in_an_indexed_field_is_written_and_found(opening: Opening) -> None:
    store = opening()
    store.sql.create_index("entities", "summary")
    long = " ".join(f"{random.Random(i).random()}" for i in range(2_000))
    put(store, Entity(name="long", summary=long), Entity(name="other", summary=long + "!"))
    assert names(store.records.query("entities", Query().filter(Eq("summary", long)))) == ["long"]


def test_numbers_and_texts_are_not_mixed_up(opening: Opening) -> None:
    store = opening()
    put(
        store,
        *(Entity(name=str(value), properties={"v": value}) for value in (5, 18.5, "20", "x", True)),
    )
    assert sorted(
        names(store.records.query("entities", Query().filter(Gt("properties.v", 4))))
    ) == [
        "18.5",
        "5",
    ]
    assert names(store.records.query("entities", Query().filter(Eq("properties.v", "20")))) == [
        "20"
    ]


def test_many_names_are_found_by_trigrams_as_few_are_by_comparison(opening: Opening) -> None:
    store, rng = opening(), random.Random(5)
    parts = ["".join(rng.choices("abcdefghijklmnoprstuvw", k=7)) for _ in range(120)]
    wanted = [f"{rng.choice(parts)} {rng.choice(parts)} {i}" for i in range(2_500)]
    put(store, *(Entity(name=name) for name in wanted))
    hits = 0
    for name in wanted[::100]:
        at = rng.randrange(3, len(name) - 3)
        typo = name[:at] + "z" + name[at + 1 :]
        hits += name in names(
            store.search.names(typo, NameSpec(type="entities", threshold=0.5, limit=5))
        )
    assert hits >= 24  # of 25


@pytest.mark.usefixtures("hnsw")
def test_vectors_in_the_hnsw_index_keep_recall_with_and_without_a_filter(opening: Opening) -> None:
    store, rng = opening(tail=200), np.random.default_rng(3)
    centres = rng.normal(size=(8, 16))
    rows = centres[rng.integers(8, size=1_500)] + 0.4 * rng.normal(size=(1_500, 16))
    put(
        store,
        *(
            Resource(name=f"n{i}", content=f"{i}", category=f"c{i % 100}", embedding=row)
            for i, row in enumerate(rows)
        ),
    )
    store.admin.optimize()
    assert store.admin.stats().vectors.exact_share == 0.0
    put(store, Resource(name="fresh", content="fresh", embedding=rows[3] + 0.001))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert names(
        store.search.vector(rows[3].tolist(), SearchSpec(schema="resources", limit=2))
    ) == [
        "n3",
        "fresh",
    ]
    for where, step in ((None, 1), (Eq("category", "c7"), 100)):
        hits = 0
        for query in unit[:10]:
            order = [i for i in np.argsort(-(unit @ query)) if step == 1 or i % 100 == 7][:10]
            found = names(
                store.search.vector(
                    query.tolist(), SearchSpec(schema="resources", where=where, limit=10)
                )
            )
            hits += len({f"n{i}" for i in order} & set(found))
        assert hits >= 97


@pytest.mark.usefixtures("hnsw")
def test_a_search_notices_what_another_process_did_to_the_vectors(opening: Opening) -> None:
    one, rng = opening(tail=50), np.random.default_rng(4)
    other, rows = opening(one._server.tenant, tail=50), rng.normal(size=(140, 8))

    def nearest(row: Any) -> list[str]:
        return names(one.search.vector(row.tolist(), SearchSpec(schema="resources", limit=1)))

    put(
        one,
        *(
            Resource(id=f"n{i}", name=f"n{i}", content=f"{i}", embedding=row)
            for i, row in enumerate(rows[:40])
        ),
    )
    assert nearest(rows[7]) == ["n7"]
    put(
        other,
        *(
            Resource(id=f"n{i}", name=f"n{i}", content=f"{i}", embedding=rows[i])
            for i in range(40, 140)
        ),
    )
    other.admin.optimize()  # into the index
    assert nearest(rows[7]) == ["n7"]
    assert nearest(rows[99]) == ["n99"]
    fewer = {
        f"n{i}": (Vector(0, 1, to_vector(row[:4].tolist(), what="x")[0]),)
        for i, row in enumerate(rows)
    }
    other.vectors.put(VectorBatch(fewer, model="next", dims=4, current=False))
    other.vectors.adopt("next")
    assert nearest(rows[99][:4]) == ["n99"]
    with pytest.raises(VectorError, match="this memory's vectors 4"):
        nearest(rows[99])


@pytest.mark.parametrize("aliases", [True, False])
@pytest.mark.parametrize("direction", ["out", "in", "both"])
def test_walks_are_those_of_the_embedded_store(
    opening: Opening, tmp_path: Path, direction: Any, aliases: bool
) -> None:
    rng = random.Random(direction)
    edges = [
        Edge(
            src=f"n{int(rng.paretovariate(0.8)) % 60}", rel_type=rng.choice("xyz"), dst=f"n{rng.randrange(60)}",
            weight=rng.random(), created_at=T0 + timedelta(minutes=i),
            valid_to=T0 + timedelta(minutes=i + 5) if i % 7 == 0 else None,
        )
        for i in range(400)
    ]  # fmt: skip
    people = [Entity(name=f"n{i}", aliases=(f"n{i + 30}",) if aliases else ()) for i in range(4)]
    embedded, store = SqliteStore(tmp_path / "memory.db"), opening()
    for each in (embedded, store):
        put(each, *people, *edges)
    for start in range(12):
        for order in (EdgeOrder(), EdgeOrder("weight", "asc"), EdgeOrder("created_at", "asc")):
            for options in (
                {"limit": 9},
                {"limit": 0},
                {"rel_types": ["x", "y"]},
                {"breadth": None},
                {"as_of": T0 + timedelta(hours=3)},
            ):
                arguments = {
                    "rel_types": None,
                    "breadth": 3,
                    "depth": 3,
                    "direction": direction,
                    "order": order,
                } | options
                expected, found = (
                    each.graph.walk(WalkSpec([f"n{start}"], **arguments))
                    for each in (embedded, store)
                )  # type: ignore[arg-type]
                assert found == expected
        degrees = [
            each.graph.count([f"n{start}", "n1"], direction=direction) for each in (embedded, store)
        ]
        assert degrees[0] == degrees[1]
    embedded.close()


def test_text_scores_are_those_of_the_embedded_store(opening: Opening, tmp_path: Path) -> None:
    rng = random.Random(9)
    words = ["".join(rng.choices("abcdefghijk", k=5)) for _ in range(80)]
    texts = [" ".join(rng.choices(words, k=rng.randint(3, 60))) for _ in range(700)]
    embedded, store = SqliteStore(tmp_path / "memory.db"), opening()
    resources = [Resource(id=f"r{i}", name=f"r{i}", content=text) for i, text in enumerate(texts)]
    for each in (embedded, store):
        # runs that merge
        for start, end in (
            (0, 300),
            *((i, i + 1) for i in range(300, 320)),
            (320, 330),
            (330, 700),
        ):
            put(each, *resources[start:end])
        each.delete([f"r{i}" for i in range(0, 700, 9)])
    for _ in range(20):
        query = " ".join(rng.choices(words, k=3))
        one, other = (each.search.text(query, SearchSpec(limit=10)) for each in (embedded, store))
        assert [match.score for match in other] == pytest.approx(
            [match.score for match in one], rel=1e-3
        )
    assert store.admin.check() == []
    embedded.close()


# -- tenants ---------------------------------------------------------------------------------------


def test_every_unique_constraint_and_foreign_key_begins_with_the_tenant(
    opening: Opening, postgres: str
) -> None:
    opening()
    with connect(postgres) as connection:
        rows = connection.execute(
            "SELECT c.conrelid::regclass::text, a.attname, b.attname FROM pg_constraint c"
            " JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]"
            " LEFT JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = c.confkey[1]"
            " WHERE c.connamespace = 'remloom'::regnamespace AND c.contype IN ('p', 'u', 'f', 'x')"
        ).fetchall()
        unique = connection.execute(
            "SELECT t.oid::regclass::text, a.attname FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid"
            " LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = i.indkey[0]"
            " WHERE t.relnamespace = 'remloom'::regnamespace AND i.indisunique"
        ).fetchall()
    version = "remloom.alembic_version"  # one row, of no tenant
    tables = {f"remloom.{name}" for name in TABLES}
    assert {table for table, _, _ in rows} == {table for table, _ in unique} == {*tables, version}
    assert {column for table, *both in rows if table != version for column in both} == {
        "tenant_id",
        None,
    }
    assert {column for table, column in unique if table != version} == {"tenant_id"}


def test_statements_run_as_a_role_that_owns_nothing_and_row_security_is_forced(
    opening: Opening, postgres: str
) -> None:
    store = opening()
    with store._server.read() as cursor:
        assert cursor.execute("SELECT current_user").fetchone() == ("remloom_tenant",)
    with connect(postgres) as connection:
        assert connection.execute(
            "SELECT count(*) FROM pg_class WHERE relowner = 'remloom_tenant'::regrole"
        ).fetchone() == (0,)
        assert (
            connection.execute(
                "SELECT rolsuper, rolbypassrls, rolcanlogin FROM pg_roles WHERE rolname LIKE 'remloom\\_%'"
            ).fetchall()
            == [(False, False, False)] * 3
        )
        loose = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'remloom'::regnamespace AND relkind = 'r'"
            " AND NOT (relrowsecurity AND relforcerowsecurity) ORDER BY 1"
        ).fetchall()
    # The names of tenants its owner may list; the secret only the owner's functions read.
    assert loose == [("alembic_version",), ("secret",), ("tenants",)]


def test_no_statement_of_one_tenant_shows_a_row_of_another(opening: Opening) -> None:
    stores = {mark: opening() for mark in ("MARKA", "MARKB")}
    for mark, store in stores.items():
        put(
            store,
            *(Entity(name=f"{mark} {i}", aliases=(f"alias {i} {mark}",), summary=f"shared {mark}") for i in range(5)),
            *(Resource(id=f"same{i}", name="same name", content=f"word {mark}", embedding=[1, i]) for i in range(5)),
            Edge(src="shared", rel_type=f"rel{mark}", dst=f"{mark} 1", properties={"secret": mark}),
        )  # fmt: skip
    rng = random.Random(11)
    store, other = stores["MARKA"], "MARKB"
    asks: list[Callable[[], Any]] = [
        lambda: store.records.lookup(["shared", "same-name", "markb-1", "marka-2"]),
        lambda: store.search.names(
            rng.choice(["markb 1", "alias 3 markb", "shared"]), NameSpec(threshold=0.1, limit=50)
        ),
        lambda: store.search.text("shared word markb", SearchSpec(limit=50)),
        lambda: store.search.vector([1, 0], SearchSpec(schema="resources", limit=50)),
        lambda: store.records.query("entities", Query().limit(rng.randint(1, 50))),
        lambda: store.records.get(None, f"same{rng.randrange(5)}"),
        lambda: store.graph.walk(
            WalkSpec(["shared"], direction="both", depth=3, order=EdgeOrder())
        ),
        lambda: store.graph.edges(EdgeSpec(["shared"], direction="both")),
        lambda: [
            list(store.records.all()),
            list(store.graph.all_edges()),
            store.admin.stats(),
            store.graph.edge_types(),
            store.records.complete("mark", 50),
        ],
        lambda: selected(
            store, f"SELECT * FROM {rng.choice(['entities', 'resources'])}", limit=100
        ),
        lambda: selected(
            store, "SELECT name, graph_paths, key FROM entities WHERE name LIKE '%MARK%'", limit=100
        ),
    ]
    for _ in range(120):
        assert other not in repr(rng.choice(asks)())
    stores[other].delete([f"same{i}" for i in range(5)])
    assert store.records.get(None, "same1") is not None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT set_config('remloom.tenant', 'other', false) FROM resources",
        "SELECT name FROM resources; SET ROLE postgres",
        "SELECT pg_read_file('/etc/passwd') FROM resources",
        "SELECT remloom.get('other', 'x') FROM resources",
        "WITH x AS (DELETE FROM remloom.records RETURNING *) SELECT * FROM x",
        "SELECT name FROM remloom.records",
        "SELECT * FROM pg_catalog.pg_authid",
        "SELECT current_setting('remloom.tenant') FROM resources",
        "SELECT pg_sleep(100) FROM resources",
        "SELECT name INTO stolen FROM resources",
        "SELECT name FROM resources FOR UPDATE",
        "SELECT lo_import('/etc/passwd') FROM resources",
        "SELECT query_to_xml('select 1', true, true, '') FROM resources",
    ],
)
def test_sql_cannot_leave_its_tenant(postgres: str, sql: str) -> None:
    with Memory.open(postgres, tenant=f"t{uuid4().hex}", embedder="none") as memory:
        memory.write([Resource(name="r", content="r")])
        with pytest.raises(InvalidInputError):
            memory.sql(sql)


FORGED = (
    "SELECT set_config('remloom.tenant', %(other)s, true) || name FROM remloom.records",
    "SELECT set_config('remloom.reader', 'x ' || %(other)s, true) || name FROM remloom.records",
    "SELECT (SELECT max(content) FROM remloom.records) FROM (SELECT set_config('remloom.tenant', %(other)s, true)) x",
    "SELECT set_config('role', 'none', false) FROM remloom.records",
    "SELECT set_config('role', 'remloom_tenant', true) FROM remloom.records",
    "SELECT set_config('session_authorization', 'postgres', true) FROM remloom.records",
    "SELECT remloom.enter(%(other)s)",
    "SELECT remloom.answer('SELECT 1::text', '{}', 9)",
    "SELECT remloom.signature(%(other)s)",
    "SELECT secret FROM remloom.secret",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT content FROM remloom.own_records",
    "SELECT usesysid::text FROM pg_catalog.pg_shadow",
    "WITH x AS (DELETE FROM remloom.records RETURNING content) SELECT content FROM x",
    "INSERT INTO remloom.rels VALUES (%(other)s, 'x', 1) RETURNING rel",
    "SELECT name FROM remloom.records; SELECT content FROM remloom.records",
    "SET ROLE remloom_tenant",
    "COPY remloom.records TO STDOUT",
    "SELECT content FROM remloom.records WHERE tenant_id = %(other)s",
    "SELECT content FROM remloom.read_records WHERE tenant_id = %(other)s OR true",
    "SELECT tenant_id FROM remloom.tenants",
    "SELECT name FROM remloom.names",
)


@pytest.mark.parametrize("forged", FORGED)
def test_even_past_the_compiler_sql_reads_its_tenant_only_and_writes_nothing(
    opening: Opening, forged: str
) -> None:
    mine, other = opening(), opening()
    put(mine, Resource(name="mine", content="of mine"))
    put(other, Resource(name="secret name", content="secret content"))
    sql = forged.replace("%(other)s", f"'{other._server.tenant}'")
    try:
        rows = mine.sql.run("SELECT * FROM remloom.answer(%s, %s, %s)", (sql, [], 1_000_000), 5.0)
    except RemloomError:
        rows = []
    assert "secret" not in repr(rows)
    assert selected(mine, "SELECT name, content FROM resources", limit=9).rows == [
        ("mine", "of mine")
    ]
    assert selected(other, "SELECT name FROM resources", limit=9).rows == [("secret name",)]
    assert [record.name for record in mine.records.all()] == ["mine"]


def test_a_select_runs_as_a_role_that_may_only_read(opening: Opening) -> None:
    store = opening()
    put(store, Resource(name="one", content="x"))
    sql = "SELECT current_user::text FROM remloom.records"
    assert store.sql.run("SELECT * FROM remloom.answer(%s, %s, %s)", (sql, [], 99), 5.0) == [
        b"remloom_reader"
    ]


def test_tenants_are_made_listed_and_deleted_with_every_row(postgres: str) -> None:
    name = f"acme{uuid4().hex}"
    Home(postgres).create(name)
    with pytest.raises(ConflictError):
        Home(postgres).create(name)
    with Memory.open(postgres, tenant=name, embedder="none") as memory:
        memory.write(
            [
                Entity(name="Sarah"),
                Resource(name="r", content="words"),
                Edge(src="Sarah", rel_type="r", dst="x"),
            ]
        )
    assert name in [info.name for info in Home(postgres).tenants()]
    Home(postgres).delete(name)
    with pytest.raises(TenantNotFoundError):
        Home(postgres).delete(name)
    with pytest.raises(TenantNotFoundError, match="there is no tenant"):
        Memory.open(postgres, tenant=name, embedder="none", create=False)
    with connect(postgres) as connection:
        for table in TABLES:
            assert connection.execute(
                f"SELECT count(*) FROM remloom.{table} WHERE tenant_id = %s", (name,)
            ).fetchone() == (0,)


def test_only_the_url_differs_from_a_memory_in_a_folder(postgres: str, tmp_path: Path) -> None:
    answers = []
    for home in (tmp_path, postgres):
        with Memory.open(home, tenant=f"t{uuid4().hex}", embedder="none") as memory:
            memory.read_text(
                "Sarah Chen proposed a new pricing model to Acme Corp.", uri="notes.md"
            )
            memory.write(
                [
                    Entity(name="Sarah Chen", type="person", aliases=("S. Chen",)),
                    Edge(src="Sarah Chen", rel_type="manages", dst="Bob"),
                ]
            )
            answers.append([
                [hit.name for hit in memory.lookup("s. chen").records],
                [(hit.name, hit.score) for hit in memory.fuzzy("Sara Chen").records],
                [hit.content for hit in memory.search_text("pricing").records],
                [node["name"] for node in memory.query('TRAVERSE manages WITH LOOKUP "sarah chen"').nodes],
                memory.sql("SELECT type, count(*) AS n FROM entities GROUP BY type ORDER BY n DESC, type").rows,
                memory.forget("notes.md").verified, memory.admin.check(),
            ])  # fmt: skip
    assert answers[0] == answers[1]


def test_an_export_of_one_store_is_the_same_in_the_other(postgres: str, tmp_path: Path) -> None:
    tenant = f"t{uuid4().hex}"
    long = "".join(random.Random(1).choices("abcdefghij klmnop", k=5_000)).strip()
    with Memory.open(tmp_path / "a", embedder="none") as first:
        first.write([
            Entity(name=long, type="odd"), Edge(src=long, rel_type="is", dst="Bob", properties={"since": 1}),
            Resource(name="r", content="words of a chunk", embedding=[0.5, 0.5], metadata={"n": [1, 2.5, None]}),
        ])  # fmt: skip
        first.admin.export(tmp_path / "one.jsonl")
    with Memory.open(postgres, tenant=tenant, embedder="none") as second:
        second.admin.import_(tmp_path / "one.jsonl")
        assert second.admin.import_(tmp_path / "one.jsonl").created == 0
        second.admin.export(tmp_path / "two.jsonl")
        assert second.admin.check() == []
    with Memory.open(tmp_path / "b", embedder="none") as third:
        third.admin.import_(tmp_path / "two.jsonl")
        third.admin.export(tmp_path / "three.jsonl")
    lines = [
        sorted((tmp_path / f"{n}.jsonl").read_text().splitlines()[1:]) for n in ("one", "three")
    ]
    assert lines[0] == lines[1]


def test_what_a_database_cannot_do_is_said(postgres: str, tmp_path: Path) -> None:
    with Memory.open(postgres, tenant=f"t{uuid4().hex}", embedder="none") as memory:
        with pytest.raises(InvalidInputError, match="no file of its own"):
            memory.admin.backup(tmp_path / "copy")
        with pytest.raises(InvalidInputError, match="NUL"):
            memory.write([Entity(name="bystander"), Resource(name="r", content="a\0b")])
        with pytest.raises(InvalidInputError, match="NUL"):
            memory.write([Entity(name="bystander"), Entity(name="e", properties={"x": "a\0b"})])
        assert memory.lookup("bystander").records == []
        assert memory.admin.stats().encrypted is False
    with pytest.raises(InvalidInputError, match="does not encrypt"):
        Memory.open(postgres, key="ab" * 32, embedder="none")
    with pytest.raises(InvalidInputError, match="neither"):
        Memory.open("mysql://localhost/x", embedder="none")


def test_a_password_in_the_url_is_not_shown() -> None:
    settings = Settings.load(home="postgresql://me:hush@db.example.com:5432/x")
    assert settings.home.count("hush") == 1
    assert "hush" not in repr(settings)
    assert settings.shown_home == "postgresql://me:***@db.example.com:5432/x"


# -- the schema ------------------------------------------------------------------------------------


@pytest.fixture
def fresh(postgres: str) -> Iterator[str]:
    """An empty database."""
    with database(postgres) as url:
        yield url


def test_ten_that_start_together_migrate_once(fresh: str) -> None:
    before: list[int] = []
    threads = [
        threading.Thread(target=lambda: before.append(migrate(fresh, 30.0).before))
        for _ in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(before) == [0] + [NEWEST] * 9


def test_a_database_without_the_schema_a_newer_and_an_older_one_are_told_apart(fresh: str) -> None:
    with pytest.raises(SchemaVersionError, match="no memories yet") as caught:
        PostgresStore(fresh, "acme", create=False)
    assert "remloom migrate" in caught.value.remedy
    PostgresStore(fresh, "acme").close()
    with connect(fresh) as connection:
        connection.execute("UPDATE remloom.alembic_version SET version_num = '0099'")
    with pytest.raises(SchemaVersionError, match="schema version 99") as caught:
        PostgresStore(fresh, "acme")
    assert caught.value.fields == {"found": 99, "expected": NEWEST}


def test_who_may_not_migrate_is_told_who_may(fresh: str) -> None:
    login = f"visitor_{uuid4().hex[:8]}"
    with connect(fresh) as connection:
        connection.execute(f"CREATE ROLE {login} LOGIN")
    try:
        with pytest.raises(StoreError) as caught:
            PostgresStore(
                f"{fresh}&user={login}"
                if "user=" not in fresh
                else fresh.replace("user=postgres", f"user={login}"),
                "acme",
            )
        assert "may create" in caught.value.remedy
    finally:
        with connect(fresh) as connection:
            connection.execute(f"DROP ROLE {login}")


def test_a_user_who_was_granted_the_role_needs_no_more(fresh: str) -> None:
    PostgresStore(fresh, "acme").close()
    login = f"app_{uuid4().hex[:8]}"
    with connect(fresh) as connection:
        connection.execute(
            f"CREATE ROLE {login} LOGIN; GRANT remloom_tenant TO {login}; GRANT USAGE ON SCHEMA remloom TO {login}"
        )
    url = (
        fresh.replace("user=postgres", f"user={login}")
        if "user=postgres" in fresh
        else f"{fresh}&user={login}"
    )
    store = PostgresStore(url, "acme")
    put(store, Entity(name="Sarah"), Resource(name="r", content="words"))
    assert names(store.search.names("sara", NameSpec(threshold=0.5, limit=5))) == ["Sarah"]
    store.close()
    with connect(url) as visitor:
        # of no tenant, no row
        assert visitor.execute("SELECT * FROM remloom.records").fetchall() == []
    with connect(fresh) as connection:
        connection.execute(f"DROP OWNED BY {login}; DROP ROLE {login}")


# -- failures --------------------------------------------------------------------------------------


def test_a_server_that_does_not_answer_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not answer") as caught:
        PostgresStore(f"postgresql://me:hush@/x?host={tmp_path}", "acme", timeout=2)
    assert "check that the server runs" in caught.value.remedy
    assert "hush" not in str(caught.value)


def test_a_write_whose_connection_is_killed_leaves_nothing_and_the_next_one_works(
    opening: Opening, postgres: str
) -> None:
    store = opening()
    put(store, Entity(name="before"))

    def killed(writing: Any) -> None:
        writing.cursor.execute(
            "INSERT INTO remloom.rels VALUES (%s, 'half', 1)", (store._server.tenant,)
        )
        with connect(postgres) as other:
            other.execute(
                "SELECT pg_terminate_backend(%s)", (writing.cursor.connection.info.backend_pid,)
            )
        writing.cursor.execute("SELECT 1")

    with pytest.raises(StoreError):
        write(store._server, killed)
    assert store.graph.edge_types() == []
    put(store, Entity(name="after"))
    assert [names(found) for found in store.records.lookup(["before", "after"]).values()] == [
        ["before"],
        ["after"],
    ]


def test_a_read_outlives_connections_that_died_in_the_pool(opening: Opening, postgres: str) -> None:
    store = opening()
    put(store, Entity(name="Sarah"))
    with connect(postgres) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'remloom' AND datname = current_database()"
        )
    assert names(store.records.lookup(["sarah"])["sarah"]) == ["Sarah"]


def test_a_write_that_the_server_rolled_back_for_anothers_sake_is_done_again(
    opening: Opening,
) -> None:
    store, tries = opening(), []

    def unlucky(writing: Any) -> str:
        tries.append(1)
        writing.cursor.execute(
            "INSERT INTO remloom.rels VALUES (%s, 'once', 1)", (store._server.tenant,)
        )
        if len(tries) < 3:
            writing.cursor.execute("DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$")
        return "done"

    assert write(store._server, unlucky) == "done"
    assert (len(tries), store.graph.edge_types()) == (3, ["once"])


def test_a_writer_that_waits_too_long_is_told_who_is_in_the_way(postgres: str) -> None:
    store = PostgresStore(postgres, f"t{uuid4().hex}", timeout=2.0)
    with connect(postgres) as other:
        other.execute("BEGIN")
        other.execute(
            "SELECT FROM remloom.tenants WHERE tenant_id = %s FOR UPDATE", (store._server.tenant,)
        )
        with pytest.raises(StoreBusyError, match="another writer"):
            put(store, Entity(name="late"))
    store.close()


def test_a_statement_that_takes_too_long_is_stopped(opening: Opening) -> None:
    store = opening()
    put(store, *(Entity(name=f"e{i}") for i in range(300)))
    slow = "SELECT count(*)::text FROM remloom.records WHERE pg_sleep(0.01) IS NOT NULL"
    with pytest.raises(StoreBusyError, match="longer than"):
        store.sql.run("SELECT * FROM remloom.answer(%s, %s, %s)", (slow, [], 99), 0.1)
    assert selected(store, "SELECT count(*) FROM entities", limit=1).rows == [(300,)]


def test_when_every_connection_is_taken_the_limit_is_named(postgres: str) -> None:
    store = PostgresStore(postgres, f"t{uuid4().hex}", pool_size=1, timeout=2.0)
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            store.admin.stats()
        except BaseException as error:
            failed.append(error)

    with store.snapshot():
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    store.close()
    assert isinstance(failed[0], StoreBusyError)
    assert "pool_size" in failed[0].remedy
    with pytest.raises(StoreClosedError):
        store.admin.stats()


def test_nothing_is_written_inside_a_snapshot(opening: Opening) -> None:
    store = opening()
    with store.snapshot(), pytest.raises(InvalidInputError, match="snapshot"):
        put(store, Entity(name="x"))


def test_a_snapshot_of_one_tenant_is_none_of_another(opening: Opening) -> None:
    one, other = opening(), opening()
    put(other, Entity(name="theirs"))
    with one.snapshot():
        assert names(other.records.lookup(["theirs"])["theirs"]) == ["theirs"]
        put(other, Entity(name="more"))
        assert one.records.lookup(["theirs"])["theirs"] == []


def test_a_snapshot_sees_one_state_while_others_write(opening: Opening) -> None:
    store = opening()
    put(store, Entity(name="before"))
    other = opening(store._server.tenant)
    with store.snapshot():
        assert store.admin.stats().records["entities"] == 1
        writer = threading.Thread(target=put, args=(other, Entity(name="meanwhile")))
        writer.start()
        writer.join()
        assert store.records.lookup(["meanwhile"])["meanwhile"] == []
    assert names(store.records.lookup(["meanwhile"])["meanwhile"]) == ["meanwhile"]


def test_a_damaged_index_is_told_by_check(opening: Opening, postgres: str) -> None:
    store = opening()
    put(store, Resource(name="r", content="some words"), Edge(src="a", rel_type="r", dst="b"))
    with connect(postgres) as connection:
        connection.execute(
            "DELETE FROM remloom.postings WHERE tenant_id = %s", (store._server.tenant,)
        )
        connection.execute(
            "UPDATE remloom.degrees SET edges = 5 WHERE tenant_id = %s AND key = 'a'",
            (store._server.tenant,),
        )
    assert store.admin.check() == [
        "the edges at 'a' are counted wrongly",
        "terms: 1 of 1 are not in the index",
    ]


def test_migrate_and_its_url_from_the_command_line(fresh: str) -> None:
    import subprocess
    import sys

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "remloom", *arguments], capture_output=True, text=True
        )
        return done.stdout + done.stderr

    assert f"has schema version {NEWEST}, it had none" in run("migrate", "--home", fresh)
    assert "brought up to date when they are opened" in run("migrate", "--home", "folder")
