"""What entries add to the contract's tests: old tenants, index use, nothing left behind, other
processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from postgres_server import database
from remloom.kv import Entry
from remloom.model import Resource
from remloom.store.postgres import PostgresStore
from remloom.store.sqlite import SqliteStore
from remloom.store.sqlite.file.database import migrations
from remloom.store.sqlite.file.sealing import unlock
from remloom.testing.conformance import put
from remloom.testing.disk import on_disk
from waiting import PATIENCE


def test_a_memory_made_before_there_were_entries_is_brought_up_to_date_when_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = migrations()[:1]
    with monkeypatch.context() as past:
        past.setattr("remloom.store.sqlite.file.database.migrations", lambda: first)
        connection = apsw.Connection(str(tmp_path / "memory.db"))
        connection.execute(first[0][1])
        connection.execute("PRAGMA user_version = 1")
        connection.close()
    store = SqliteStore(tmp_path / "memory.db")
    put(store, Resource(name="r", content="text"))
    store.kv.put([Entry("run", "r", b"0")])
    assert store.admin.check() == []
    store.close()


def test_each_tenant_of_a_database_sees_its_own_entries(postgres: str) -> None:
    with database(postgres) as url:
        ours, theirs = PostgresStore(url, "ours"), PostgresStore(url, "theirs")
        ours.kv.put([Entry("run", "r", b"0", refs=("x",))])
        theirs.delete(["x"])
        assert theirs.kv.list("run") == []
        assert len(ours.kv.list("run")) == 1
        assert (ours.admin.check(), theirs.admin.check()) == ([], [])
        ours.close()
        theirs.close()


def test_a_page_of_entries_is_one_range_of_an_index(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "memory.db").close()
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    unlock(connection, "")
    for sql in (
        "SELECT data FROM journal WHERE kind='k' AND id>='a' AND id<='b' AND id>'a' ORDER BY id DESC LIMIT 5",
        "DELETE FROM journal WHERE entry IN (SELECT entry FROM journal_subjects WHERE subject='s')",
    ):
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
        assert all("SCAN" not in step and "TEMP B-TREE" not in step for step in plan), plan
    connection.close()


def test_no_byte_of_an_entry_outlives_the_record_it_speaks_of(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db")
    put(store, Resource(id="a", name="a", content="a"))
    store.kv.put([Entry("kept", "reply", b'"the heron at the weir"' * 500, refs=("a",))])
    store.delete(["a"])
    left = on_disk(tmp_path)
    store.close()
    assert b"heron" not in left


_TAKE = """
import sys
from pathlib import Path
from remloom.errors import ConflictError
from remloom.kv import Entry
from remloom.store.sqlite import SqliteStore

store = SqliteStore(Path(sys.argv[1]))
won = 0
for turn in range(40):
    try:
        store.kv.put([Entry("turn", f"{turn:02}", sys.argv[2].encode())], expected_version=0)
        won += 1
    except ConflictError:
        pass
store.close()
print(won)
"""


def test_of_two_processes_one_takes_each_turn(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    SqliteStore(path).close()
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", _TAKE, str(path), name], stdout=subprocess.PIPE, text=True
        )
        for name in ("a", "b")
    ]
    won = [int(worker.communicate(timeout=PATIENCE)[0]) for worker in workers]
    store = SqliteStore(path)
    taken = [entry.value for entry in store.kv.list("turn")]
    store.close()
    assert (len(taken), sum(won)) == (40, 40)
    assert [taken.count(b"a"), taken.count(b"b")] == won
