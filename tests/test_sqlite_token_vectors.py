"""Token vectors in the embedded store: what is on disk of them, and when nobody expects it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import apsw
import pytest

from remloom import Memory, Resource
from remloom.store.batch import TokenVectorBatch
from remloom.store.copy import copy
from remloom.store.sqlite import SqliteStore
from remloom.store.sqlite.file.database import migrations
from remloom.testing.conformance import put
from remloom.testing.disk import on_disk

# Longer than a page, so that parts of it are on pages of their own.
SECRET = Random(1).randbytes(12_800)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        yield store


def fill(store: SqliteStore, count: int = 40) -> None:
    """Write texts that all have token vectors, the secret ones in their midst."""
    put(store, *(Resource(id=f"r{n}", content=f"text {n}") for n in range(count)))
    others = {f"r{n}": Random(n + 2).randbytes(640) for n in range(count)}
    make(store, others | {f"r{count // 2}": SECRET})


def make(store: SqliteStore, vectors: dict[str, bytes]) -> None:
    store.token_vectors.put(TokenVectorBatch(vectors, model="tokens", dims=64))


def damage(store: SqliteStore, *ids: str) -> None:
    """Leave a byte of the token vectors of records."""

    def cut(cursor: apsw.Cursor) -> None:
        for id in ids:
            cursor.execute(
                "UPDATE token_vectors SET data = x'00' WHERE model = 1"
                " AND rid = (SELECT rid FROM records WHERE id = ?)",
                (id,),
            )

    store._database.write(cut)


def traces(folder: Path) -> int:
    """How many of the tokens of the secret text are found in the files."""
    found = on_disk(folder)
    return sum(SECRET[start : start + 64] in found for start in range(0, len(SECRET), 64))


def test_nothing_of_the_token_vectors_of_what_is_forgotten_is_on_disk(
    store: SqliteStore, tmp_path: Path
) -> None:
    fill(store)
    assert traces(tmp_path) > 180
    deletion = store.delete(["r20"])
    assert (deletion.remaining, deletion.pending, deletion.traces) == ((), (), ())
    assert traces(tmp_path) == 0
    assert len(store.token_vectors.of([f"r{n}" for n in range(40)], model="tokens")) == 39


def test_nothing_of_the_token_vectors_of_a_changed_text_outlives_the_next_erasure(
    store: SqliteStore, tmp_path: Path
) -> None:
    fill(store)
    put(store, Resource(id="r20", content="another text"))
    store.delete(["r7"])
    assert traces(tmp_path) == 0


def test_a_process_that_is_killed_while_it_puts_token_vectors_leaves_all_or_none(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        fill(store)
    killed = f"""
import os
from pathlib import Path
from remloom import Resource
from remloom.store.batch import TokenVectorBatch
from remloom.store.sqlite import SqliteStore
from remloom.store.sqlite.search import vectors
from remloom.testing.conformance import put

class Deadly(dict):
    looked = 0
    def items(self):
        self.looked += 1
        yield "r3", b"1" * 64
        if self.looked > 1:  # the first look is that of the check
            os._exit(9)

store = SqliteStore(Path({str(path)!r}))
put(store, Resource(id="new", content="a text"))
store.token_vectors.put(TokenVectorBatch(Deadly(), model="tokens", dims=64))
"""
    assert subprocess.run([sys.executable, "-c", killed], timeout=60).returncode == 9
    with closing(SqliteStore(path)) as store:
        assert store.token_vectors.of(["r3"], model="tokens") == {"r3": Random(5).randbytes(640)}
        assert [text.id for text in store.token_vectors.pending("tokens", 9)] == ["new"]
        assert store.admin.check() == []


def test_a_memory_from_before_there_were_token_vectors_has_all_its_texts_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as past:
        older = [step for step in migrations() if step[0] < 9]
        past.setattr("remloom.store.sqlite.file.database.migrations", lambda: older)
        Memory.open(tmp_path, embedder="none").close()
        (path,) = tmp_path.rglob("memory.db")
        with closing(SqliteStore(path)) as store:
            insert = "INSERT INTO records (rid, id, schema, created, updated, doc, body)"
            body = '{"name": "old", "content": "an old text"}'
            values = f"VALUES (1, 'old', 'resources', 0, 0, 1, '{body}')"
            store._database.write(
                lambda cursor: cursor.execute(
                    f"{insert} {values}; UPDATE sequence SET rid=1, doc=1"
                )
            )
    with Memory.open(tmp_path, embedder="none") as memory:
        tokens = memory.admin.store.token_vectors
        assert [(text.text, text.version) for text in tokens.pending("m", 9)] == [
            ("an old text", 1)
        ]
        tokens.put(TokenVectorBatch({"old": b"12"}, model="m", dims=2))
        assert (tokens.queue_lengths("m"), tokens.of(["old"], model="m")) == (
            (0, 0),
            {"old": b"12"},
        )


def test_a_copy_has_the_token_vectors_that_were_made(store: SqliteStore, tmp_path: Path) -> None:
    fill(store)
    put(store, Resource(id="waits", content="no vectors yet"))
    (tmp_path / "copy").mkdir()
    with closing(SqliteStore(tmp_path / "copy" / "memory.db")) as target:
        copy(store, target, origin="here")
        ids = [f"r{n}" for n in range(40)]
        found = target.token_vectors.of(ids, model="tokens")
        assert found == store.token_vectors.of(ids, model="tokens")
        assert found["r20"] == SECRET
        assert [text.id for text in target.token_vectors.pending("tokens", 9)] == ["waits"]
        assert target.admin.check() == []


def test_damaged_token_vectors_wait_again_when_they_are_discarded(store: SqliteStore) -> None:
    fill(store, 9)
    damage(store, "r2", "r5")
    store.token_vectors.put(TokenVectorBatch({"r2": bytes(6)}, model="wide", dims=6))
    assert store.token_vectors.discard_damaged("wide") == 0
    assert store.token_vectors.discard_damaged("tokens", ids=["r5", "r6"]) == 1
    assert [text.id for text in store.token_vectors.pending("tokens", 9)] == ["r5"]
    assert store.token_vectors.discard_damaged("tokens") == 1
    assert [text.id for text in store.token_vectors.pending("tokens", 9)] == ["r2", "r5"]
    assert store.admin.check() == []
    make(store, {"r2": bytes(64), "r5": b""})
    assert store.token_vectors.queue_lengths("tokens") == (0, 0)


def test_a_copy_leaves_damaged_token_vectors_behind(store: SqliteStore, tmp_path: Path) -> None:
    fill(store, 9)
    damage(store, "r2")
    (tmp_path / "copy").mkdir()
    with closing(SqliteStore(tmp_path / "copy" / "memory.db")) as target:
        copy(store, target, origin="here")
        assert [text.id for text in target.token_vectors.pending("tokens", 9)] == ["r2"]
        assert target.admin.check() == []


def test_the_queue_is_read_without_looking_at_what_is_done(store: SqliteStore) -> None:
    fill(store, 400)
    put(store, Resource(id="waits", content="no vectors yet"))
    connection = store._database.reader.connection
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    # called once in a hundred steps of SQLite's virtual machine
    connection.set_progress_handler(count, 100)
    assert [text.id for text in store.token_vectors.pending("tokens", 32)] == ["waits"]
    assert store.token_vectors.queue_lengths("tokens") == (1, 0)
    connection.set_progress_handler(None)
    assert steps < 10


def test_damage_to_token_vectors_is_told(store: SqliteStore) -> None:
    fill(store)

    def harm(cursor: object) -> None:
        cursor.execute("UPDATE token_vectors SET data = x'00' WHERE rid = 3")  # type: ignore[attr-defined]
        cursor.execute("DELETE FROM token_vectors WHERE rid = 5")  # type: ignore[attr-defined]
        cursor.execute("INSERT INTO token_vectors VALUES (999, 1, x'')")  # type: ignore[attr-defined]

    store._database.write(harm)
    assert store.admin.check() == [
        "the token vectors of record 999 belong to no text",
        "the token vectors of record 'r2' by tokens are damaged (1 bytes): "
        "`remloom reembed` makes them anew",
        "record 'r4' would not get its token vectors of tokens",
    ]
