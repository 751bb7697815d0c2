"""What goes wrong with a server is told with its remedy, and nothing is lost, half written or shown
to another."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from uuid import uuid4

import pytest
from psycopg.conninfo import conninfo_to_dict

from postgres_server import connect
from remloom import Edge, Entity, Home, Memory, Resource
from remloom.errors import RemloomError, SchemaVersionError, StoreBusyError, StoreError
from remloom.model import Migrated
from remloom.predicates import Eq, Matches, Not, Or, Predicate, Query
from remloom.store.postgres import PostgresStore, database, migrate, migrations
from remloom.store.postgres.migrations import newest
from remloom.store.postgres.write.batch_writer import write
from remloom.store.specs import SearchSpec
from remloom.testing.conformance import put
from waiting import PATIENCE

Opening = Callable[..., PostgresStore]


def changed(url: str, **parts: str) -> str:
    """The URL with other parts."""
    known = {key: value for key, value in conninfo_to_dict(url).items() if value} | parts
    return "postgresql:///?" + "&".join(f"{key}={value}" for key, value in known.items())


# -- opening ---------------------------------------------------------------------------------------


def test_a_server_that_is_down_is_named_with_what_to_check(tmp_path: Any) -> None:
    with pytest.raises(StoreError, match="does not answer") as caught:
        PostgresStore(f"postgresql:///x?host={tmp_path}", "acme", timeout=2.0)
    assert "check that the server runs" in caught.value.remedy


def test_a_missing_extension_is_named(fresh: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(migrations._EXTENSIONS, "no_such_extension", "1.0")
    with pytest.raises(StoreError, match="lacks the extension no_such_extension") as caught:
        migrate(fresh, 5.0)
    assert "on the server" in caught.value.remedy
    with pytest.raises(SchemaVersionError, match="no memories yet"):  # nothing was half made
        PostgresStore(fresh, "acme", create=False)


def test_an_extension_that_is_too_old_is_named(fresh: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(migrations._EXTENSIONS, "vector", "99.0")
    with pytest.raises(StoreError, match=r"needs 99\.0"):
        migrate(fresh, 5.0)


def test_an_older_schema_is_refused_without_leave_to_migrate_and_brought_up_to_date_with_it(
    fresh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    PostgresStore(fresh, "acme").close()
    was = newest()
    with monkeypatch.context() as later:
        later.setattr(migrations, "newest", lambda: was + 1)
        later.setattr(migrations, "_upgrade", _next)
        with pytest.raises(
            SchemaVersionError, match=f"schema version {was}, this Remloom needs {was + 1}"
        ) as caught:
            PostgresStore(fresh, "acme", create=False)
        assert "remloom migrate" in caught.value.remedy
        assert migrate(fresh, 30.0) == Migrated(before=was, after=was + 1)
        PostgresStore(fresh, "acme", create=False).close()
    with pytest.raises(SchemaVersionError, match="upgrade remloom"):
        PostgresStore(fresh, "acme")


def _next(connection: Any) -> None:
    connection.execute(
        "UPDATE remloom.alembic_version SET version_num = lpad((version_num::int + 1)::text, 4, '0')"
    )


def test_a_schema_from_before_there_were_releases_is_refused(fresh: str) -> None:
    with connect(fresh) as connection:
        connection.execute("CREATE SCHEMA remloom; CREATE TABLE remloom.tenants (tenant_id text)")
    with pytest.raises(SchemaVersionError, match=r"from before 0\.1") as caught:
        PostgresStore(fresh, "acme")
    assert "import them" in caught.value.remedy


def test_a_server_without_citus_says_so(fresh: str) -> None:
    with connect(fresh) as connection:
        if connection.execute(
            "SELECT 1 FROM pg_available_extensions WHERE name = 'citus'"
        ).fetchone():
            pytest.skip("this server has Citus")
    with pytest.raises(StoreError, match="lacks the extension citus") as caught:
        Home(fresh).migrate(citus=True)
    assert "shared_preload_libraries" in caught.value.remedy
    assert Home(fresh).migrate() == Migrated(
        before=newest(), after=newest()
    )  # the schema is there nevertheless


def test_a_server_that_offers_citus_is_asked_for_it(fresh: str) -> None:
    with connect(fresh) as connection:
        if connection.execute(
            "SELECT 1 FROM pg_available_extensions WHERE name = 'citus'"
        ).fetchone():
            pytest.skip("this server has Citus")
        # It says that it has what it has not: making the extension is what fails then.
        connection.execute(
            "CREATE SCHEMA shadow; CREATE VIEW shadow.pg_available_extensions AS"
            " SELECT name, default_version FROM pg_catalog.pg_available_extensions"
            " UNION ALL SELECT 'citus', '13.2'"
        )
        connection.execute(
            f'ALTER DATABASE "{connection.info.dbname}" SET search_path = shadow, pg_catalog, public'
        )
    with pytest.raises(StoreError, match='extension "citus" is not available') as caught:
        Home(fresh).migrate(citus=True)
    assert "at the coordinator" in caught.value.remedy


# -- while it runs ---------------------------------------------------------------------------------


def test_a_server_that_has_no_connection_left_is_told_from_one_that_is_down(fresh: str) -> None:
    PostgresStore(fresh, "acme").close()
    login = f"app_{uuid4().hex[:8]}"
    with connect(fresh) as connection:
        connection.execute(
            f"CREATE ROLE {login} LOGIN CONNECTION LIMIT 1; GRANT remloom_tenant TO {login};"
            f" GRANT USAGE ON SCHEMA remloom TO {login}"
        )
    url = changed(fresh, user=login)
    try:
        with connect(url), pytest.raises(StoreBusyError, match="no connection was free") as caught:
            PostgresStore(url, "acme", timeout=2.0)
        assert "max_connections" in caught.value.remedy
    finally:
        with connect(fresh) as connection:
            connection.execute(
                f"REVOKE ALL ON SCHEMA remloom FROM {login}; REVOKE remloom_tenant FROM {login}; DROP ROLE {login}"
            )


def test_two_writers_that_wait_for_each_other_both_get_through(opening: Opening) -> None:
    one, other = opening(), opening()
    barrier, tries = threading.Barrier(2), []

    def crossing(first: PostgresStore, second: PostgresStore) -> Callable[[], None]:
        """Takes two locks, each thread in another order: PostgreSQL must roll one of them back."""
        lock = "SELECT pg_advisory_xact_lock(hashtext(%s))"

        def work(writing: Any) -> None:
            writing.cursor.execute(lock, (first._server.tenant,))
            tries.append(first._server.tenant)
            if len(tries) <= 2:
                barrier.wait(PATIENCE)
            writing.cursor.execute(lock, (second._server.tenant,))
            writing.cursor.execute(
                "INSERT INTO remloom.rels VALUES (%s, 'through', 1)", (first._server.tenant,)
            )

        return lambda: write(first._server, work)

    threads = [threading.Thread(target=crossing(*pair)) for pair in ((one, other), (other, one))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tries) == 3  # one was rolled back, and done again
    assert [store.graph.edge_types() for store in (one, other)] == [["through"], ["through"]]


def test_a_busy_pool_tells_a_reader_too(postgres: str) -> None:
    store = PostgresStore(postgres, f"t{uuid4().hex}", pool_size=1, timeout=2.0)
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            store.records.lookup(["x"])
        except BaseException as error:
            failed.append(error)

    with store.snapshot():
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    store.close()
    assert isinstance(failed[0], StoreBusyError)


# -- tenants ---------------------------------------------------------------------------------------


ESCAPES = [
    "SELECT name FROM entities; SET ROLE postgres",
    "SELECT set_config('remloom.tenant', '{other}', true) FROM entities",
    "SELECT set_config('role', 'none', true), name FROM entities",
    "SELECT pg_read_file('/etc/passwd') FROM entities",
    "SELECT lo_import('/etc/passwd') FROM entities",
    "SELECT * FROM remloom.records",
    "SELECT name FROM entities WHERE name IN (SELECT body::text FROM remloom.own_records)",
    "WITH gone AS (DELETE FROM entities RETURNING *) SELECT * FROM gone",
    "SELECT remloom.enter('{other}'), name FROM entities",
    "SELECT name FROM entities /* ; */ UNION SELECT tenant_id FROM remloom.tenants",
    "SELECT current_setting('remloom.tenant') FROM entities",
    "SELECT query_to_xml('select * from remloom.records', true, true, '') FROM entities",
    "SELECT name FROM entities WHERE name = '' OR 1=1 -- '",
]


@pytest.mark.parametrize("text", ESCAPES)
def test_a_statement_cannot_leave_its_tenant(postgres: str, text: str) -> None:
    tenants = [f"t{uuid4().hex}" for _ in range(2)]
    for tenant in tenants:
        with Memory.open(postgres, tenant=tenant, embedder="none") as memory:
            memory.write([Entity(name=f"secret of {tenant}")])
    with Memory.open(postgres, tenant=tenants[0], embedder="none") as memory:
        try:
            shown = str(memory.sql(text.format(other=tenants[1])).rows)
        except RemloomError as error:
            shown = str(error).replace(text.format(other=tenants[1]), "")
        assert f"secret of {tenants[1]}" not in shown
        assert "root:" not in shown
        assert [hit.name for hit in memory.lookup(f"secret of {tenants[0]}").records] == [
            f"secret of {tenants[0]}"
        ]


def test_random_statements_of_one_tenant_never_show_the_mark_of_another(postgres: str) -> None:
    rng = random.Random(20)
    words = ["alpha", "beta", "gamma", "delta", "price", "team"]
    marks = ("QZMARKONE", "QZMARKTWO")
    memories = [Memory.open(postgres, tenant=f"t{uuid4().hex}", embedder="none") for _ in marks]
    for memory, mark in zip(memories, marks, strict=True):
        memory.write([
            *(Entity(name=f"{a} {b}", type=mark, summary=f"{mark} {a}", properties={"mark": mark}) for a in words
              for b in words),
            *(Resource(name=f"note {a}", content=f"{mark} {a} {a}", category=mark, embedding=_vector(n))
              for n, a in enumerate(words)),
            *(Edge(src=f"{a} {b}", rel_type="knows", dst=f"{b} {a}", properties={"mark": mark}) for a in words
              for b in words if a != b),
        ])  # fmt: skip

    ways = ["out", "in", "both"]

    def statement() -> str:
        one, other = rng.choice(words), rng.choice(words)
        column = rng.choice(["name", "summary", "type", "properties", "key", "graph_paths", "*"])
        where = rng.choice(
            [
                "",
                f" WHERE name LIKE '%{one}%'",
                f" WHERE type <> '{other}'",
                " WHERE properties->>'mark' > ''",
            ]
        )
        return rng.choice([
            f'LOOKUP "{one} {other}", "note {one}"',
            f'FUZZY "{one[:-1]} {other}" THRESHOLD 0.{rng.randint(1, 9)} LIMIT 20',
            f"SELECT {column} FROM entities{where} LIMIT 50",
            "SELECT category, content FROM resources ORDER BY name",
            f'TRAVERSE * WITH LOOKUP "{one} {other}" DEPTH {rng.randint(0, 4)} DIRECTION {rng.choice(ways)}',
            f'TRAVERSE WITH FUZZY "{one}" DEPTH 2 BREADTH ALL LIMIT 50',
        ])  # fmt: skip

    for _ in range(150):
        at = rng.randrange(2)
        text = statement()
        shown = str(memories[at].query(text).as_dict())
        assert marks[1 - at] not in shown, text
    for at, memory in enumerate(memories):
        for n in range(len(words)):
            assert marks[1 - at] not in str(memory.search(vector=_vector(n), limit=50).as_dict())
        assert marks[1 - at] not in str(memory.search_text(marks[1 - at]).as_dict())
        memory.close()


def _vector(number: int) -> list[float]:
    return [1.0 if place == number else 0.1 for place in range(8)]


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a snapshot"])
@pytest.mark.parametrize("way", ["text", "vector", "query"])
def test_a_filter_whose_regular_expression_takes_too_long_is_stopped(
    opening: Opening, monkeypatch: pytest.MonkeyPatch, way: str, inside: bool
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.5)
    store = opening()
    put(
        store,
        *(
            Resource(name=f"r{n}", content=f"word {'a' * 300_000}{n}", embedding=(1.0, 0.0))
            for n in range(4)
        ),
    )
    # looks to the end from every place
    square = Or((Eq("name", "r9"), Not(Not(Matches("content", "(?=a*z)q")))))
    asked: dict[str, Callable[[Predicate], list[Any]]] = {
        "text": lambda where: store.search.text(
            "word", SearchSpec(schema="resources", where=where, limit=5)
        ),
        "vector": lambda where: store.search.vector(
            [1.0, 0.0], SearchSpec(schema="resources", where=where, limit=5)
        ),
        "query": lambda where: store.records.query("resources", Query(where)),
    }
    with store.snapshot() if inside else nullcontext():
        with pytest.raises(StoreBusyError, match="regular expression"):
            asked[way](square)
        # and what is asked next is answered
        assert len(asked[way](Matches("content", "a[13]$"))) == 2
