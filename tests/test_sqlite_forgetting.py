"""What the embedded store leaves on disk of what was deleted: nothing, whatever was stored or read
meanwhile."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw
import numpy as np
import pytest

from remloom import Edge, Entity, Resource
from remloom.errors import StoreBusyError, StoreClosedError
from remloom.store.batch import Batch
from remloom.store.changes import CHANGE, NAME
from remloom.store.contract import Reads
from remloom.store.copy import copy
from remloom.store.specs import EdgeSpec, NameSpec, SearchSpec
from remloom.store.sqlite import SqliteStore
from remloom.store.sqlite.file.database import SqliteDatabase
from remloom.store.sqlite.file.sealing import unlock
from remloom.store.sqlite.select.sql_functions import prepare
from remloom.testing.conformance import put
from remloom.testing.disk import on_disk
from waiting import until

SECRET = "quibbleworth"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "memory.db", busy_timeout=5.0)) as store:
        yield store


def rows(store: SqliteStore, table: str) -> int:
    return int(store._database.reader.execute(f"SELECT count(*) FROM {table}").get)


def test_a_forgotten_name_does_not_come_back_with_the_next_snapshot(
    store: SqliteStore, tmp_path: Path
) -> None:
    put(store, Entity(name="Ann"), Entity(name=f"Zed {SECRET}"), Entity(name="Ben"))
    assert store.search.names(SECRET, NameSpec(threshold=0.5, limit=1))
    store.admin.optimize()
    assert (
        store.delete([store.records.lookup([f"zed-{SECRET}"])[f"zed-{SECRET}"][0].id]).remaining
        == ()
    )
    store.admin.optimize()
    assert rows(store, "snapshots") == 1
    assert SECRET.encode() not in on_disk(tmp_path)


def test_a_name_changed_before_leaves_the_snapshot_that_knew_it(
    store: SqliteStore, tmp_path: Path
) -> None:
    (id,) = put(store, Resource(id="z", name=f"Zed {SECRET}", content="a note")).ids
    store.search.names(SECRET, NameSpec(threshold=0.5, limit=1))
    store.admin.optimize()
    put(store, Resource(id="z", name="Zed", content="a note"), Entity(id="other", name="Other"))
    # what it was is kept for AS OF, until that is taken away
    kept = tuple((kind, entry.key) for kind in (CHANGE, NAME) for entry in store.kv.list(kind))
    assert kept
    store.write(Batch(deleted_entries=kept))
    store.delete(["other"])
    assert SECRET.encode() not in on_disk(tmp_path)
    assert store.records.get(None, id) is not None


def test_the_vectors_of_the_dead_are_not_in_a_stored_graph(store: SqliteStore) -> None:
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(2_400, 24)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = put(
        store, *(Resource(name=f"r{n}", content=f"{n}", embedding=v) for n, v in enumerate(vectors))
    ).ids
    store.search.vector(vectors[0].tolist(), SearchSpec(schema="resources", limit=1))
    store.admin.optimize()
    saved = bytes(store._indexes.vectors()._graph.index.save())  # type: ignore[union-attr]
    width = np.frombuffer(saved[:8], np.uint32)[1]
    numbers = saved[8 + 5 * width : 8 + 6 * width]
    stored = "SELECT group_concat(hex(data), '') FROM (SELECT data FROM snapshots WHERE kind='vectors' ORDER BY part)"
    assert numbers.hex().upper() in store._database.reader.execute(stored).get
    store.delete([ids[5]])
    store.admin.optimize()
    assert numbers.hex().upper() not in store._database.reader.execute(stored).get
    found = store.search.vector(vectors[6].tolist(), SearchSpec(schema="resources", limit=1))
    assert found[0].record.id == ids[6]


def test_a_type_of_edge_goes_with_its_last_edge(store: SqliteStore, tmp_path: Path) -> None:
    put(
        store,
        Edge(src="A", rel_type=f"hates_{SECRET}", dst="B"),
        Edge(src="A", rel_type="knows", dst="C"),
    )
    put(store, Edge(src="A", rel_type=f"hates_{SECRET}", dst="C", weight=0.4))
    store.delete([store.records.lookup(["b"])["b"][0].id])
    assert store.graph.edge_types() == [f"hates_{SECRET}", "knows"]
    store.delete([store.records.lookup(["a"])["a"][0].id])
    assert store.graph.edge_types() == []
    assert SECRET.encode() not in on_disk(tmp_path)
    put(store, Edge(src="X", rel_type="likes", dst="Y"))
    assert [edge.rel_type for edge in store.graph.edges(EdgeSpec(["x"], direction="out"))] == [
        "likes"
    ]
    assert store.admin.check() == []


def test_what_a_reader_keeps_in_the_log_is_told_and_emptied_when_it_ends(
    store: SqliteStore, tmp_path: Path
) -> None:
    (id,) = put(store, Resource(name="r", content=f"about {SECRET} " * 50)).ids
    reader = store._database.connections.open(1, query_only=True)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM records").get == 1
    deletion = store.delete([id])
    assert (deletion.ids, deletion.remaining) == ((id,), ())
    assert "write-ahead log" in deletion.pending[0]
    assert SECRET.encode() in on_disk(tmp_path)
    assert any(
        line.startswith("log: it holds what was forgotten since 20") for line in store.admin.check()
    )
    reader.execute("COMMIT")
    until(lambda: SECRET.encode() not in on_disk(tmp_path))
    assert store.admin.check() == []


def test_the_next_process_empties_what_the_last_one_could_not(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path / "memory.db")
    with closing(SqliteStore(tmp_path / "memory.db")) as other:
        (id,) = put(first, Resource(name="r", content=f"about {SECRET} " * 50)).ids
        other._database.reader.execute("BEGIN")
        other._database.reader.execute("SELECT count(*) FROM records").get  # noqa: B018 - a state it holds
        assert first.delete([id]).pending
        first.close()
        assert SECRET.encode() in on_disk(tmp_path)
        other._database.reader.execute("COMMIT")
        assert other.admin.check() == [] or SECRET.encode() not in on_disk(tmp_path)
    with closing(SqliteStore(tmp_path / "memory.db")) as again:
        assert again.admin.check() == []
        assert again.kv.list("erasing") == []
    assert SECRET.encode() not in on_disk(tmp_path)


@pytest.mark.parametrize("erase", [True, False])
def test_burials_are_not_kept_for_ever(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, erase: bool
) -> None:
    monkeypatch.setattr("remloom.store.sqlite.write.write_session._PRUNED", 10)
    monkeypatch.setattr("remloom.store.sqlite.write.write_session._KEPT_TOMBSTONES", 20)
    for n in range(60):
        (id,) = put(store, Resource(id=f"r{n}", name=f"r{n}", content="text")).ids
        if erase:
            store.delete([id])
        else:
            put(store, Resource(id=f"r{n}", name=f"other {n}", content="changed"))
    assert rows(store, "dead") <= 30
    assert store.admin.check() == []


def test_an_index_that_is_behind_what_is_still_recorded_is_loaded_anew(tmp_path: Path) -> None:
    with (
        closing(SqliteStore(tmp_path / "memory.db")) as store,
        closing(SqliteStore(tmp_path / "memory.db")) as other,
    ):
        ids = put(
            store,
            *(Resource(id=f"r{n}", name=f"r{n}", content=f"word{n} common") for n in range(9)),
        ).ids
        assert len(other.search.text("common", SearchSpec(limit=99))) == 9
        store.delete(ids[:3])
        store._database.write(
            lambda cursor: cursor.execute(
                "DELETE FROM dead WHERE seq < (SELECT max(seq) FROM dead)"
            )
        )
        assert len(other.search.text("common", SearchSpec(limit=99))) == 6
        assert other.admin.check() == []


@pytest.mark.parametrize("rest", [0.0, 3600.0])
def test_a_large_file_is_written_anew_later(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: float
) -> None:
    monkeypatch.setattr("remloom.store.sqlite.write.erasure.SMALL", 0)
    monkeypatch.setattr("remloom.store.sqlite.write.erasure._DELAY", rest)
    put(store, *(Entity(name=f"{SECRET} {n:03}") for n in range(300)))
    put(store, *(Entity(name=f"{SECRET[:-1]} {n:03}") for n in range(300)))
    deletion = store.delete(
        [record.id for record in store.records.all() if record.name.startswith(SECRET)]
    )
    assert (deletion.pending, deletion.remaining) == ((), ())
    assert "unused parts of pages" in deletion.traces[0]
    if rest:
        assert [entry.key for entry in store.kv.list("erasing")] == ["pages"]
        store.admin.optimize()
    until(lambda: store.kv.list("erasing") == [])
    assert SECRET.encode() not in on_disk(tmp_path)
    assert store.admin.check() == []


@contextmanager
def others_writing(path: Path, seconds: float) -> Iterator[threading.Event]:
    """Another connection that writes for so long whenever it can, once the event is set."""
    begin, end = threading.Event(), threading.Event()

    def write() -> None:
        with closing(apsw.Connection(str(path))) as other:
            unlock(other, "")
            begin.wait()
            while not end.is_set():
                with suppress(apsw.BusyError):
                    other.execute("BEGIN IMMEDIATE")
                    end.wait(seconds)
                    other.execute("ROLLBACK")
                time.sleep(0.001)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield begin
    finally:
        begin.set()
        end.set()
        thread.join()


@pytest.mark.parametrize("small", [0, 2**30])
def test_what_was_deleted_gets_its_receipt_however_busy_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    monkeypatch.setattr("remloom.store.sqlite.write.erasure.SMALL", small)
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path, busy_timeout=0.2)) as store:
        ids = put(
            store, *(Resource(name=f"r{n}", content=f"{SECRET} {n} " * 50) for n in range(12))
        ).ids
        deleted: list[str] = []

        def work(_: Reads) -> Batch:
            # the other one goes on as soon as this transaction has ended
            begin.set()
            return Batch(deleted=(id,))

        with others_writing(path, 0.4) as begin:
            for id in ids:
                with suppress(StoreBusyError):
                    deleted += store.erase(work).ids
                assert (store.records.get(None, id) is None) == (id in deleted)
        assert deleted
        store.admin.optimize()
        until(lambda: store.kv.list("erasing") == [])
        store.delete(ids)
        store.admin.optimize()
        assert SECRET.encode() not in on_disk(tmp_path)
        assert store.admin.check() == []


def test_what_is_deleted_while_the_file_is_written_anew_is_erased_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remloom.store.sqlite.write.erasure.SMALL", 0)
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        ids = put(
            store, *(Resource(id=f"r{n}", name=f"r{n}", content="text") for n in range(3))
        ).ids
        store.delete(ids[:1])
        upkeep = store._database.upkeep
        rewrite = upkeep.rewrite

        def slow() -> None:
            rewrite()
            with closing(SqliteStore(path)) as other:
                assert other.delete(ids[1:2]).traces

        with monkeypatch.context() as patch:
            patch.setattr(upkeep, "rewrite", slow)
            store.admin.optimize()
        assert [entry.key for entry in store.kv.list("erasing")] == ["pages"]
        store.admin.optimize()
        assert store.kv.list("erasing") == []


def test_a_killed_deletion_leaves_word_of_what_is_to_be_erased(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        (id, _) = put(store, Resource(name="r", content=SECRET), Entity(name="other")).ids
    killed = (
        "import os; from pathlib import Path; from remloom.store.sqlite import SqliteStore;"
        f" store = SqliteStore(Path({str(path)!r})); store._erasures.begin = lambda: os._exit(9); store.delete([{id!r}])"
    )
    assert subprocess.run([sys.executable, "-c", killed], timeout=60).returncode == 9
    with closing(SqliteDatabase(path, "", prepare=prepare)) as database:
        assert (
            database.reader.execute("SELECT id FROM journal WHERE kind = 'erasing'").get == "pages"
        )
    with closing(SqliteStore(path)) as store:
        assert store.records.get(None, id) is None
        assert store.kv.list("erasing") == []
    assert SECRET.encode() not in on_disk(tmp_path)


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_background_goes_on_once_others_let_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remloom.store.sqlite.search.index_manager._TAIL", 5)
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path, busy_timeout=0.1)) as store:
        put(store, *(Entity(name=f"person {n}") for n in range(20)))
        with others_writing(path, 60.0) as begin:
            begin.set()
            time.sleep(0.1)
            assert store.search.names("person 3", NameSpec(threshold=0.5, limit=1))
            time.sleep(1.5)  # it is tried meanwhile
            assert rows(store, "snapshots") == 0
        until(lambda: rows(store, "snapshots"))
        assert rows(store, "snapshots") == 1


def test_a_memory_closes_however_busy_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remloom.store.sqlite.search.index_manager._TAIL", 5)
    path = tmp_path / "memory.db"
    store = SqliteStore(path, busy_timeout=0.1)
    put(store, *(Entity(name=f"person {n}") for n in range(20)))
    with others_writing(path, 60.0) as begin:
        begin.set()
        time.sleep(0.1)
        assert store.search.names("person 3", NameSpec(threshold=0.5, limit=1))
        store.close()
        with pytest.raises(StoreClosedError):
            store.records.get(None, "x")
    with closing(SqliteStore(path)) as store:
        assert store.admin.check() == []


def test_what_a_file_has_still_to_erase_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remloom.store.sqlite.write.erasure.SMALL", 0)
    with (
        closing(SqliteStore(tmp_path / "one.db")) as store,
        closing(SqliteStore(tmp_path / "two.db")) as other,
    ):
        (id, _) = put(store, Resource(name="r", content=SECRET), Entity(name="stays")).ids
        assert store.delete([id]).traces
        copy(store, other, origin="one")
        store.admin.optimize()
        assert other.kv.list("erasing") == []
        assert copy(store, other, origin="one").written == 0
