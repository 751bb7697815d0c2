"""What an embedded store does for its file by itself: sealing, emptying the log, giving space back,
private files."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from remloom import Entity, Resource
from remloom.errors import CorruptStoreError
from remloom.store.specs import SearchSpec
from remloom.store.sqlite import SqliteStore
from remloom.store.sqlite.file.sealing import unlock
from remloom.testing.conformance import put
from remloom.testing.disk import on_disk
from waiting import PATIENCE, until

KEY = "5a" * 32


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@pytest.mark.parametrize("key", ["", KEY])
def test_an_idle_memory_empties_its_log(tmp_path: Path, key: str) -> None:
    log = tmp_path / "memory.db-wal"
    with closing(SqliteStore(tmp_path / "memory.db", key)) as store:
        put(store, *(Entity(name=f"thing {i}") for i in range(100)))
        assert size(log) > 0
        until(lambda: size(log) == 0)
        put(store, Entity(name="another"))
        assert size(log) > 0
        until(lambda: size(log) == 0)


def test_one_thread_looks_after_all_memories_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = [SqliteStore(tmp_path / f"{i}.db") for i in range(12)]
    for store in stores:
        put(store, Entity(name="x"))
    names = [thread.name for thread in threading.enumerate()]
    assert names.count("remloom-upkeep") == 1
    for store in stores:
        store.close()


@pytest.mark.parametrize("key", ["", KEY])
def test_what_is_forgotten_gives_its_space_back(tmp_path: Path, key: str) -> None:
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path, key)) as store:
        # letters that no compression makes small
        ids = put(
            store, *(Resource(name=f"r{i}", content=os.urandom(3_000).hex()) for i in range(500))
        ).ids
        put(store, Entity(name="kept"))
        store._database.upkeep.checkpoint()
        full = size(path)
        assert full > 1_500_000
        assert store.delete(ids).remaining == ()
        until(lambda: size(path) < 500_000)
        assert store.admin.check() == []
        assert store.records.lookup(["kept"])["kept"]
    assert size(path) < 500_000


def test_giving_space_back_does_not_keep_writers_waiting_for_another_process(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path, busy_timeout=10 * PATIENCE)) as store:
        ids = put(
            store, *(Resource(name=f"r{i}", content=os.urandom(3_000).hex()) for i in range(200))
        ).ids
        store.delete(ids, erase=False)
        with closing(apsw.Connection(str(path))) as other:
            unlock(other, "")
            other.execute("BEGIN IMMEDIATE")
            # It would wait for the other process for ever, were it to wait.
            store._database.upkeep.checkpoint(0.0)
            other.execute("ROLLBACK")
        # the writer's connection is in use in the background
        until(lambda: store._database.reader.connection.pragma("freelist_count") <= 64)
        put(store, Entity(name="another"))
        assert store.admin.check() == []


def test_upkeep_that_fails_keeps_nobody_waiting_for_its_lock(tmp_path: Path) -> None:
    class Busy:
        def set_busy_timeout(self, milliseconds: int) -> None:
            raise apsw.ThreadingViolationError("it is used in another thread")

    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        upkeep = store._database.upkeep
        connection, upkeep._connection, upkeep._wrote = upkeep._connection, Busy(), 0.0
        with suppress(apsw.ThreadingViolationError):
            upkeep.tidy()
        upkeep._connection = connection
        put(store, Entity(name="written"))
        assert not upkeep._lock.locked()


def test_a_file_made_before_gives_space_back_once_it_was_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    connection = apsw.Connection(str(path))
    unlock(connection, "")
    connection.pragma("journal_mode", "wal")
    connection.close()
    with closing(SqliteStore(path)) as store:
        upkeep = store._database.upkeep
        assert upkeep._connection.pragma("auto_vacuum") == 0
        put(store, Entity(name="x"))
        upkeep.rewrite()
        assert upkeep._connection.pragma("auto_vacuum") == 2


def test_free_pages_that_are_left_hold_nothing(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        ids = put(
            store, *(Resource(name=f"r{i}", content=f"marmalade {i} " * 100) for i in range(40))
        ).ids
        assert b"marmalade" in on_disk(tmp_path)
        store.delete(ids)
        assert b"marmalade" not in on_disk(tmp_path)


def test_every_file_of_a_tenant_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with closing(SqliteStore(tmp_path / "memory.db")) as store:
            put(store, Entity(name="x"))
            store.admin.backup(str(tmp_path / "copy.db"))
            found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert {
        "memory.db",
        "memory.db-wal",
        "memory.db-shm",
        "memory.db-mark",
        "copy.db",
    } <= found.keys()
    assert set(found.values()) == {0o600}


# -- files of earlier versions ---------------------------------------------------------------------


def plain(path: Path) -> None:
    """A file as versions before wrote it: its pages are not sealed."""
    with closing(SqliteStore(path)) as store:
        put(store, *(Entity(name=f"thing {i}", summary="s" * 400) for i in range(300)))
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
    unlock(source, "")
    source.execute("VACUUM INTO ?", (f"file:{path}.plain?key=",))
    source.close()
    for beside in ("", "-wal", "-shm", "-mark"):
        path.with_name(path.name + beside).unlink(missing_ok=True)
    path.with_name(path.name + ".plain").rename(path)
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.close()
    assert path.read_bytes()[:15] == b"SQLite format 3"


def whole(path: Path) -> bool:
    with closing(SqliteStore(path)) as store:
        return store.admin.check() == [] and all(
            store.records.lookup([f"thing-{i}"])[f"thing-{i}"] for i in range(300)
        )


def test_a_plain_file_is_sealed_when_it_is_opened_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    plain(path)
    assert whole(path)
    assert path.read_bytes()[:14] == b"Remloom sealed"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(file.name for file in tmp_path.iterdir() if "seal" in file.name) == []
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with suppress(CorruptStoreError):
        assert not whole(path)


def test_a_plain_file_that_another_has_open_is_read_and_written_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    plain(path)
    other = apsw.Connection(str(path))
    assert other.execute("SELECT count(*) FROM records").get == 300
    with closing(SqliteStore(path, busy_timeout=1.0)) as store:
        put(store, Entity(name="thing more"))
        assert other.execute("SELECT count(*) FROM records").get == 301
    other.close()
    assert whole(path)
    assert path.read_bytes()[:14] == b"Remloom sealed"


SEALING = """
import sys
from pathlib import Path
from remloom.store.sqlite import SqliteStore
print("began", flush=True)
SqliteStore(Path(sys.argv[1])).close()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_sealing_that_is_killed_leaves_one_or_the_other(tmp_path: Path) -> None:
    plain(tmp_path / "memory.db")
    for number in range(8):
        path = tmp_path / str(number) / "memory.db"
        path.parent.mkdir()
        shutil.copy(tmp_path / "memory.db", path)
        process = subprocess.Popen(
            [sys.executable, "-c", SEALING, str(path)], stdout=subprocess.PIPE
        )
        assert process.stdout
        process.stdout.readline()
        time.sleep(number * 0.004)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert whole(path)


def test_four_processes_that_open_a_plain_file_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    plain(path)
    writing = (
        "import sys; from pathlib import Path; from remloom import Entity;"
        "from remloom.store.sqlite import SqliteStore;"
        "from remloom.testing.conformance import put; store = SqliteStore(Path(sys.argv[1]));"
        "put(store, Entity(name='by ' + sys.argv[2])); store.close()"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", writing, str(path), str(i)]) for i in range(4)
    ]
    assert [process.wait() for process in processes] == [0] * 4
    with closing(SqliteStore(path)) as store:
        assert all(store.records.lookup([f"by-{i}"])[f"by-{i}"] for i in range(4))
    assert whole(path)


# -- rows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    ["body = substr(body, 1, 20)", "body = CAST(x'ff' || body AS TEXT)", "content = x'28b52ffd00'"],
)
def test_a_row_that_cannot_be_decoded_is_damage(tmp_path: Path, change: str) -> None:
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        put(store, Resource(id="a", name="long", content="word " * 2_000))
    connection = apsw.Connection(str(path))
    unlock(connection, "")
    for (index,) in connection.execute(
        "SELECT name FROM sqlite_schema WHERE sql LIKE '%INDEX%->>%'"
    ).fetchall():
        connection.execute(f"DROP INDEX {index}")
    connection.execute(f"UPDATE records SET {change}")
    connection.close()
    with closing(SqliteStore(path)) as store:
        for ask in (
            lambda: store.records.get(None, "a"),
            lambda: store.records.lookup(["long"]),
            lambda: list(store.records.all()),
            lambda: store.search.text("word", SearchSpec(limit=1)),
        ):
            with pytest.raises(CorruptStoreError) as caught:
                ask()
            assert "remloom doctor" in caught.value.remedy
