"""Token vectors in PostgreSQL: a database from before, other tenants, and a process that is killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from postgres_server import connect
from remloom import Resource
from remloom.errors import SchemaVersionError
from remloom.model import Migrated
from remloom.store.batch import TokenVectorBatch
from remloom.store.postgres import PostgresStore, migrate, migrations
from remloom.testing.conformance import put

Opening = Callable[..., PostgresStore]


def make(store: PostgresStore, *ids: str) -> None:
    vectors = {id: f"of {id}!".encode() for id in ids}
    store.token_vectors.put(TokenVectorBatch(vectors, model="tokens", dims=1))


# takes back what versions 3 to 7 of the tables brought
OLD = """
    DROP TABLE remloom.token_models, remloom.token_vectors, remloom.token_failures;
    DROP AGGREGATE remloom.held (text, text), remloom.held (text, text, bigint), remloom.first_of (jsonb);
    DROP FUNCTION remloom.fits, remloom.held_step (bigint, text, text),
        remloom.held_step (bigint, text, text, bigint), remloom.first_of_step;
    DROP INDEX remloom.records_origin;
    DROP INDEX remloom.names_handle;
    ALTER TABLE remloom.names DROP COLUMN handle, ALTER COLUMN kin SET NOT NULL;
    UPDATE remloom.alembic_version SET version_num = '0002'
"""


def test_a_database_from_before_there_were_token_vectors_has_all_its_texts_wait(fresh: str) -> None:
    with closing(PostgresStore(fresh, "acme")) as store:
        put(store, Resource(id="old", content="an old text"))
    with connect(fresh) as connection:
        connection.execute(OLD)
    with pytest.raises(SchemaVersionError, match="schema version 2"):
        PostgresStore(fresh, "acme", create=False)
    assert migrate(fresh, 30.0) == Migrated(before=2, after=migrations.newest())
    with closing(PostgresStore(fresh, "acme", create=False)) as store:
        assert [text.text for text in store.token_vectors.pending("tokens", 9)] == ["an old text"]
        make(store, "old")
        assert store.token_vectors.of(["old"], model="tokens") == {"old": b"of old!"}
        assert store.delete(["old"]).remaining == ()
        assert store.admin.check() == []


def test_tenants_with_the_same_ids_have_token_vectors_of_their_own(opening: Opening) -> None:
    one, two = opening(), opening()
    for store in (one, two):
        put(store, Resource(id="a", content="text"), Resource(id="b", content="another"))
    make(one, "a")
    assert two.token_vectors.of(["a"], model="tokens") == {}
    assert (two.token_vectors.models(), two.token_vectors.queue_lengths("tokens")) == ([], (2, 0))
    make(two, "a", "b")
    one.token_vectors.drop()
    two.token_vectors.park("a", "why", model="other")
    assert len(two.token_vectors.of(["a", "b"], model="tokens")) == 2
    assert one.token_vectors.queue_lengths("other") == (2, 0)


def test_every_table_with_rows_of_tenants_shows_each_only_its_own(
    opening: Opening, postgres: str
) -> None:
    opening()
    with connect(postgres) as connection:
        unguarded = connection.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE c.relnamespace = 'remloom'::regnamespace AND c.relkind = 'r'"
            " AND a.attname = 'tenant_id' AND (NOT c.relrowsecurity OR NOT EXISTS"
            " (SELECT FROM pg_policies p WHERE p.schemaname = 'remloom'"
            " AND p.tablename = c.relname AND p.policyname = 'own'))"
        ).fetchall()
    assert unguarded == []


def test_a_tenant_that_is_deleted_takes_its_token_vectors_along(
    opening: Opening, postgres: str
) -> None:
    from remloom import Home

    store = opening("short-lived")
    put(store, Resource(id="a", content="text"), Resource(id="b", content="another"))
    make(store, "a")
    store.token_vectors.park("b", "why", model="tokens")
    store.close()
    Home(postgres).delete("short-lived")
    with connect(postgres) as connection:
        for table in ("token_vectors", "token_models", "token_failures"):
            left = connection.execute(
                f"SELECT count(*) FROM remloom.{table} WHERE tenant_id = 'short-lived'"
            ).fetchone()
            assert left == (0,)


def test_a_process_that_is_killed_while_it_puts_token_vectors_leaves_all_or_none(
    opening: Opening, postgres: str
) -> None:
    store = opening("killed")
    put(store, Resource(id="a", content="text"), Resource(id="b", content="another"))
    make(store, "a")
    killed = f"""
import os
from remloom.store.batch import TokenVectorBatch
from remloom.store.postgres import PostgresStore
from remloom.store.postgres.write.batch_writer import BatchWriter

BatchWriter.close = lambda _: os._exit(9)  # what it does last before it commits
store = PostgresStore({postgres!r}, "killed", create=False)
store.token_vectors.put(TokenVectorBatch({{"a": b"x", "b": b"y"}}, model="tokens", dims=1))
"""
    ended: Any = subprocess.run([sys.executable, "-c", killed], timeout=60, check=False)
    assert ended.returncode == 9
    assert store.token_vectors.of(["a", "b"], model="tokens") == {"a": b"of a!"}
    assert [text.id for text in store.token_vectors.pending("tokens", 9)] == ["b"]
    assert store.admin.check() == []


def test_damaged_token_vectors_are_told_and_wait_again_when_they_are_discarded(
    opening: Opening, postgres: str
) -> None:
    store = opening()
    put(store, *(Resource(id=id, content=f"text {id}") for id in "abc"))
    vectors = dict.fromkeys("abc", bytes(4))
    for model, dims in (("tokens", 2), ("wide", 4)):
        store.token_vectors.put(TokenVectorBatch(vectors, model=model, dims=dims))
    with connect(postgres) as connection:
        connection.execute(
            "UPDATE remloom.token_vectors SET data = '\\x010203' WHERE tenant_id = %s"
            " AND id <> 'b' AND model = 1",
            (store._server.tenant,),
        )
        connection.commit()
    assert [problem[:35] for problem in store.admin.check()] == [
        "the token vectors of record 'a' by ",
        "the token vectors of record 'c' by ",
    ]
    assert store.token_vectors.discard_damaged("wide") == 0
    assert store.token_vectors.discard_damaged("tokens", ids=["b", "c"]) == 1
    assert [text.id for text in store.token_vectors.pending("tokens", 9)] == ["c"]
    assert store.token_vectors.discard_damaged("tokens") == 1
    assert [text.id for text in store.token_vectors.pending("tokens", 9)] == ["a", "c"]
    assert store.admin.check() == []
