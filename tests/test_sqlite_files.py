"""What the embedded store does with bad files, wrong keys, full disks, other processes and sudden
death."""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import apsw.ext
import pytest

from remloom import Edge, Entity, Home, Memory, Moment, Query, Resource, Settings
from remloom.errors import (
    ConflictError,
    CorruptStoreError,
    InvalidInputError,
    ReadOnlyStoreError,
    RemloomError,
    SchemaVersionError,
    SettingsError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    TenantNotFoundError,
    WrongKeyError,
)
from remloom.predicates import Eq
from remloom.store.specs import EdgeOrder, EdgeSpec, NameSpec, SearchSpec, WalkSpec
from remloom.store.sqlite import SqliteStore
from remloom.store.sqlite.file.database import SqliteDatabase, migrations
from remloom.store.sqlite.file.sealing import unlock
from remloom.testing.conformance import put
from remloom.testing.disk import on_disk
from remloom.testing.embedder import WordEmbedder
from waiting import PATIENCE, until

KEY = "5a" * 32
SECRET = "the-secret-word-of-tenant-acme"


def memory(home: Path, **options: object) -> Memory:
    return Memory.open(home, **{"embedder": "none", **options})  # type: ignore[arg-type]


def fill(home: Path, **options: object) -> None:
    with memory(home, **options) as opened:
        opened.write(
            [
                Entity(name=f"{SECRET} {i}", aliases=(f"{SECRET}-alias-{i}",), summary=SECRET)
                for i in range(50)
            ]
        )
        opened.write(
            [
                Resource(name=f"doc {i}", content=f"{SECRET} " * 900, metadata={"x": SECRET})
                for i in range(5)
            ]
        )
        opened.write(
            [
                Edge(src=f"doc {i}", rel_type="mentions", dst=SECRET, properties={"why": SECRET})
                for i in range(5)
            ]
        )
        opened.admin.store.admin.optimize()


def plain_connection(path: Path) -> apsw.Connection:
    """To a file without a key of its own."""
    connection = apsw.Connection(str(path))
    unlock(connection, "")
    return connection


def bytes_under(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


# -- keys and tenants ------------------------------------------------------------------------------


def test_an_encrypted_tenant_leaves_no_plaintext_on_disk_while_open_or_closed(
    tmp_path: Path,
) -> None:
    with memory(tmp_path, tenant="acme", key=KEY) as opened:
        opened.write([Entity(name=SECRET), Resource(name="d", content=SECRET * 500)])
        opened.fuzzy(SECRET)
        assert SECRET.encode() not in bytes_under(tmp_path)
    fill(tmp_path, tenant="acme", key=KEY)
    assert SECRET.encode() not in bytes_under(tmp_path)
    fill(tmp_path, tenant="open")
    assert SECRET.encode() in on_disk(tmp_path / "tenants" / "open")


def test_a_deleted_tenant_is_gone_from_the_disk(tmp_path: Path) -> None:
    fill(tmp_path, tenant="acme", key=KEY)
    Home(tmp_path).delete("acme")
    assert bytes_under(tmp_path) == b""
    assert Home(tmp_path).tenants() == []
    with pytest.raises(TenantNotFoundError):
        Home(tmp_path).delete("acme")


def test_forgetting_removes_the_bytes_too(tmp_path: Path) -> None:
    with memory(tmp_path) as opened:
        opened.write(
            [
                Resource(name="keep", content="keep this"),
                Resource(name="lose", uri="u", content=SECRET * 400),
            ]
        )
        opened.write([Entity(name=SECRET), Edge(src="lose", rel_type="r", dst=SECRET)])
        opened.search_text(SECRET)
        opened.fuzzy(SECRET)
        opened.admin.optimize()
        receipt = opened.forget("u", SECRET)
        assert receipt.verified
        assert receipt.records == 2
        assert SECRET.encode() not in on_disk(tmp_path)
        assert opened.admin.check() == []
    assert b"keep this" in on_disk(tmp_path)
    assert SECRET.encode() not in on_disk(tmp_path)


@pytest.mark.parametrize("key", [KEY, "a passphrase of words"])
def test_only_the_right_key_opens_a_tenant(tmp_path: Path, key: str) -> None:
    with memory(tmp_path, key=key) as opened:
        opened.write([Entity(name="x")])
    for wrong in ("1c" * 32, "another phrase", ""):
        with pytest.raises(WrongKeyError) as caught:
            memory(tmp_path, settings=Settings(home=str(tmp_path), key=wrong))
        assert "REMLOOM_KEY" in caught.value.remedy
    with memory(tmp_path, key=key) as opened:
        assert opened.lookup("x").records


def test_a_key_may_come_from_a_file_and_never_shows_in_settings(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY + "\n")
    (tmp_path / "key").chmod(0o600)
    with memory(tmp_path, key=f"file:{tmp_path / 'key'}") as opened:
        opened.write([Entity(name="x")])
        assert KEY not in repr(Settings(key=KEY))
    with memory(tmp_path, key=KEY) as opened:
        assert opened.lookup("x").records
    with pytest.raises(SettingsError, match="cannot be read"):
        memory(tmp_path, key="file:/nowhere/key")


def test_two_tenants_share_a_master_key_but_not_a_data_key(tmp_path: Path) -> None:
    for tenant in ("a", "b"):
        fill(tmp_path, tenant=tenant, key=KEY)
    (tmp_path / "tenants/a/memory.db").write_bytes((tmp_path / "tenants/b/memory.db").read_bytes())
    with pytest.raises(WrongKeyError):
        memory(tmp_path, tenant="a", key=KEY)


def test_tenants_see_nothing_of_each_other(tmp_path: Path) -> None:
    with memory(tmp_path, tenant="a") as a, memory(tmp_path, tenant="b") as b:
        a.write([Entity(name=SECRET), Resource(name="r", content=SECRET, embedding=[1.0, 0.0])])
        assert b.lookup(SECRET).records == []
        assert b.fuzzy(SECRET).records == []
        assert b.search_text(SECRET).records == []
        assert b.search(vector=[1.0, 0.0]).records == []
        assert b.sql("SELECT name FROM entities").rows == []
        assert [info.name for info in Home(tmp_path).tenants()] == ["a", "b"]


@pytest.mark.parametrize(
    "name",
    ["", "..", "../up", "a/b", "a\\b", ".hidden", "x" * 200, "con", "a b", "a\0b", "a.", "a\n"],
)
def test_a_tenant_name_cannot_leave_its_home(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match="tenant name"):
        memory(tmp_path, tenant=name)


def test_an_unknown_tenant_is_not_made_by_looking(tmp_path: Path) -> None:
    fill(tmp_path, tenant="acme")
    with pytest.raises(TenantNotFoundError, match="acmee") as caught:
        memory(tmp_path, tenant="acmee", create=False)
    assert caught.value.fields["nearest"] == ["acme"]
    assert not (tmp_path / "tenants" / "acmee").exists()


def test_a_tenant_is_created_once(tmp_path: Path) -> None:
    Home(tmp_path).create("acme")
    with pytest.raises(ConflictError):
        Home(tmp_path).create("acme")


# -- bad files -------------------------------------------------------------------------------------


def database_of(home: Path) -> Path:
    return home / "tenants" / "default" / "memory.db"


@pytest.mark.parametrize("key", ["", KEY])
def test_a_file_that_is_no_database_is_an_error_and_stays_as_it_is(
    tmp_path: Path, key: str
) -> None:
    fill(tmp_path, key=key)
    junk = random.Random(1).randbytes(50_000)
    database_of(tmp_path).write_bytes(junk)
    with pytest.raises((WrongKeyError, CorruptStoreError)) as caught:
        memory(tmp_path, key=key)
    assert caught.value.remedy
    assert database_of(tmp_path).read_bytes() == junk


@pytest.mark.parametrize("key", ["", KEY])
def test_a_damaged_page_is_found_and_never_answered_from_silently(tmp_path: Path, key: str) -> None:
    fill(tmp_path, key=key)
    path = database_of(tmp_path)
    whole = bytearray(path.read_bytes())
    damaged = 0
    for page in range(1, len(whole) // 4096):
        whole[page * 4096 + 100 : page * 4096 + 164] = os.urandom(64)
        damaged += 1
    path.write_bytes(whole)
    assert damaged > 10
    assert "damaged" in trouble(tmp_path, key) or "file:" in trouble(tmp_path, key)


@pytest.mark.parametrize("keep", [0.5, 0.9])
def test_a_truncated_file_is_an_error(tmp_path: Path, keep: float) -> None:
    fill(tmp_path, key=KEY)
    path = database_of(tmp_path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * keep)])
    assert trouble(tmp_path, KEY)


def trouble(home: Path, key: str) -> str:
    """What opening and checking a memory says is wrong."""
    try:
        with memory(home, key=key) as opened:
            return "\n".join(opened.admin.check())
    except StoreError as error:
        return str(error)


def test_a_damaged_snapshot_is_rebuilt_from_the_database(tmp_path: Path) -> None:
    fill(tmp_path)
    connection = plain_connection(database_of(tmp_path))
    assert connection.execute("SELECT count(*) FROM snapshots").get >= 2
    connection.execute("UPDATE snapshots SET data = zeroblob(length(data))")
    connection.close()
    with memory(tmp_path) as opened:
        assert opened.fuzzy(f"{SECRET} 7").records[0].name == f"{SECRET} 7"
        assert len(opened.search_text(SECRET).records) == 10
        assert opened.admin.check() == []


def test_a_newer_schema_is_refused_with_both_versions(tmp_path: Path) -> None:
    fill(tmp_path)
    connection = plain_connection(database_of(tmp_path))
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(SchemaVersionError) as caught:
        memory(tmp_path)
    assert caught.value.fields == {"found": 999, "expected": migrations()[-1][0]}


def test_migrations_are_numbered_one_after_the_other() -> None:
    numbers = [number for number, _ in migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_failed_migration_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path)
    newest = migrations()[-1][0]
    broken = [*migrations(), (newest + 1, "CREATE TABLE half (x); SELECT no_such_function();")]
    monkeypatch.setattr("remloom.store.sqlite.file.database.migrations", lambda: broken)
    with pytest.raises(Exception, match="no_such_function"):
        memory(tmp_path)
    monkeypatch.undo()
    with memory(tmp_path) as opened:
        assert opened.admin.check() == []
    connection = plain_connection(database_of(tmp_path))
    assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").get == 0
    connection.close()


def test_a_home_that_is_a_file_or_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises((ReadOnlyStoreError, ConflictError)):
        memory(tmp_path / "file")
    with pytest.raises(ReadOnlyStoreError):
        memory(Path("/proc/remloom"))


# What a visitor does who may look at a tenant and not write. Root may write anywhere, so it becomes
# somebody else, once everything is imported: Python itself may be where only root can read.
VISIT = """
import json, os, sys, tempfile
from remloom.memory import Memory
from remloom.model import Entity, Resource
from remloom.testing.embedder import WordEmbedder
from remloom.testing.models import ScriptedModel

STEP = {"reasoning": "", "staged_plan": [], "memo": "", "confidence": 1, "answer": "",
    "statement": "LOOKUP 'Sarah Chen'"}
MODEL = ScriptedModel([STEP, {**STEP, "statement": "", "answer": "She manages [1]."}] * 2)

def look(memory):
    seen["lookup"] = [hit.name for hit in memory.lookup("Sarah Chen").records]
    seen["fuzzy"] = [hit.name for hit in memory.fuzzy("sara chen").records]
    seen["search"] = [hit.name for hit in memory.search("berth", limit=1).records]
    seen["words"] = [hit.name for hit in memory.search_text("berth").records]
    seen["walk"] = [node["name"] for node in memory.traverse("Sarah Chen").nodes]
    seen["ask"] = memory.ask("Who is Sarah?").answer
    seen["check"] = memory.admin.check()
    memory.admin.optimize()

seen = {}
opened = {"key": sys.argv[2], "embedder": WordEmbedder(), "llm": MODEL}
with tempfile.TemporaryDirectory() as home, Memory.open(home, **opened) as memory:
    memory.write([Entity(name="Sarah Chen"), Resource(name="y", content="z")])
    look(memory)
if os.geteuid() == 0:
    os.setuid(65534)
seen = {}
try:
    with Memory.open(sys.argv[1], **opened) as memory:
        look(memory)
        memory.write([Entity(name="y")])
except Exception as error:
    seen["error"] = [type(error).__name__, str(error)]
print(json.dumps(seen))
"""


@pytest.fixture
def exhibit() -> Iterator[Path]:
    """A home that its owner may read and not write. It is not in `tmp_path`, which is closed to
    others than root."""
    home = Path(tempfile.mkdtemp(prefix="remloom-exhibit-"))
    with Memory.open(home, key=KEY, embedder=WordEmbedder()) as memory:
        memory.write(
            [
                Entity(name="Sarah Chen"),
                Edge(src="Sarah Chen", rel_type="manages", dst="Bob Smith"),
                Resource(name="Pricing", content="They charge per berth."),
            ]
        )
        memory.embed_pending()
    yield home
    for path in [home, *home.rglob("*")]:
        path.chmod(0o700)
    shutil.rmtree(home)


def visit(home: Path) -> dict[str, Any]:
    for path in [home, *home.rglob("*")]:
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
        path.chmod(0o500 if path.is_dir() else 0o400)
    done = subprocess.run(
        [sys.executable, "-c", VISIT, str(home), KEY], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_a_memory_in_a_read_only_folder_can_be_looked_at_and_not_written(exhibit: Path) -> None:
    seen = visit(exhibit)
    assert seen["error"][0] == "ReadOnlyStoreError", seen
    assert seen["lookup"] == seen["fuzzy"] == ["Sarah Chen"]
    assert seen["search"] == seen["words"] == ["Pricing"]
    assert seen["walk"] == ["Sarah Chen", "Bob Smith"]
    assert seen["ask"] == "She manages [1]."
    assert seen["check"] == []
    assert "opened to look only" in seen["error"][1]


def test_writes_that_only_the_log_has_are_not_left_out_unseen_in_a_read_only_folder(
    exhibit: Path,
) -> None:
    with memory(exhibit, key=KEY) as opened:
        opened.write([Entity(name="Late")])
        folder, copy = database_of(exhibit).parent, exhibit / "tenants" / "copy"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*-shm"))
    shutil.rmtree(folder)
    copy.rename(folder)
    assert "copy the folder" in visit(exhibit)["error"][1]


def test_a_read_only_folder_that_another_process_writes_shows_its_writes(exhibit: Path) -> None:
    with memory(exhibit, key=KEY) as opened:
        opened.write([Entity(name="Late")])
        seen = visit(exhibit)
        assert seen.get("lookup") == ["Sarah Chen"], seen


def test_a_full_disk_fails_the_write_and_harms_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db", KEY)
    try:
        put(store, Entity(name="before"))
        writer = store._database._writer._connection
        writer.pragma("max_page_count", writer.pragma("page_count") + 4)
        with pytest.raises(StoreFullError, match="nothing of this write"):
            put(store, *(Resource(name=f"r{i}", content=f"{i} " * 500) for i in range(200)))
        assert store.records.lookup(["r0"])["r0"] == []
        writer.pragma("max_page_count", 1_000_000)
        put(store, Entity(name="after"))
        assert len(store.records.lookup(["after"])["after"]) == 1
        assert store.admin.check() == []
    finally:
        store.close()


def test_a_lock_held_elsewhere_ends_in_a_clear_error(tmp_path: Path) -> None:
    fill(tmp_path)
    blocker = plain_connection(database_of(tmp_path))
    blocker.execute("BEGIN IMMEDIATE")
    try:
        with memory(tmp_path, settings=Settings(home=str(tmp_path), busy_timeout=0.1)) as opened:
            assert opened.lookup("doc 1").records
            with pytest.raises(StoreBusyError):
                opened.write([Entity(name="z")])
    finally:
        blocker.close()


# -- backup, export, import ------------------------------------------------------------------------


def test_a_backup_stands_in_for_the_tenant(tmp_path: Path) -> None:
    fill(tmp_path, key=KEY)
    with memory(tmp_path, key=KEY) as opened:
        opened.admin.backup(tmp_path / "copy")
        with pytest.raises(ConflictError):
            opened.admin.backup(tmp_path / "copy")
    assert SECRET.encode() not in bytes_under(tmp_path / "copy")
    Home(tmp_path).delete("default")
    (tmp_path / "copy").rename(tmp_path / "tenants" / "default")
    with memory(tmp_path, key=KEY) as restored:
        assert restored.admin.check() == []
        assert len(restored.fuzzy(SECRET, limit=50).records) > 5


def test_a_backup_whose_process_was_killed_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path)
    made = tmp_path / "tenants" / "default" / "memory.db"
    with memory(tmp_path) as opened, monkeypatch.context() as patched:
        # nobody tidies up after a kill
        patched.setattr("remloom.store.tenants.home.shutil.rmtree", lambda *_, **__: None)
        patched.setattr(
            opened.admin.store.admin,
            "backup",
            lambda path: shutil.copy(made, path) and _interrupted(),
        )
        with pytest.raises(KeyboardInterrupt):
            opened.admin.backup(tmp_path / "copy" / "tenants" / "default")
    with pytest.raises(RemloomError):
        Memory.open(tmp_path / "copy", embedder="none", create=False)


@pytest.mark.parametrize("how", ["export", "backup"])
def test_a_copy_that_was_stopped_half_way_is_not_left_to_be_taken_for_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    fill(tmp_path, key=KEY)
    with memory(tmp_path, key=KEY) as opened:
        with monkeypatch.context() as patched:
            patched.setattr(opened.admin.store.graph, "all_edges", _interrupted)
            patched.setattr("remloom.store.tenants.home.folders.write_new", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                getattr(opened.admin, how)(tmp_path / "copy")
        assert not (tmp_path / "copy").exists()
        getattr(opened.admin, how)(tmp_path / "copy")


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_database_without_its_key_is_neither_a_tenant_nor_the_place_for_a_new_one(
    tmp_path: Path,
) -> None:
    fill(tmp_path, key=KEY)
    (tmp_path / "tenants" / "default" / "tenant.json").unlink()
    for create in (True, False):
        with pytest.raises(StoreError, match=r"holds a database but no tenant\.json"):
            memory(tmp_path, key=KEY, create=create)


@pytest.mark.parametrize(
    ("kind", "rest", "told"),
    [
        ("entities", '{"name":"e"}', "has no id"),
        ("resources", '{"id":"e","name":"e","starts_at":"2020-01-01T00:00:00"}', "zone"),
        ("entities", '{"id":"e","name":"e"},"vectors":[[0,1,"zz","AAAA"]]', "damaged"),
        ("entities", '{"id":"e","name":"e"},"vectors":[[0,1,"00","AAAA"]]', "damaged"),
        ("entities", '{"id":"e","name":"e"},"vectors":[[0,1,"","AACAPw=="]]', "2 finite"),
        ("entities", '{"id":"e","name":"e"},"vectors":[[0,1,"","AADAfwAAwH8="]]', "2 finite"),
        ("", '{"src":"a","rel_type":"","dst":"b"}', "rel_type"),
        ("", '{"src":"a","rel_type":"knows","dst":"b","weight":99}', "between 0 and 1"),
    ],
)
def test_a_line_that_would_harm_the_memory_is_not_imported(
    tmp_path: Path, kind: str, rest: str, told: str
) -> None:
    line = (
        f'{{"line":"record","schema":"{kind}","record":{rest}}}'
        if kind
        else f'{{"line":"edge","edge":{rest}}}'
    )
    header = '{"line":"remloom","format":1,"model":"","dims":2}'
    with memory(tmp_path) as opened:
        with pytest.raises(InvalidInputError, match=f"line 2: .*{told}"):
            opened.admin.import_(io.BytesIO(f"{header}\n{line}\n".encode()))
        assert opened.admin.check() == []
        assert not any(opened.admin.stats().records.values())


def test_an_edge_is_imported_without_the_time_it_was_made(tmp_path: Path) -> None:
    lines = b'{"line":"remloom","format":1}\n{"line":"edge","edge":{"src":"Ann","rel_type":"knows","dst":"Bob"}}\n'
    lines += b'{"line":"end","records":0,"edges":1}\n'
    with memory(tmp_path) as opened:
        opened.admin.import_(io.BytesIO(lines))
        assert [edge.dst for edge in opened.get_edges("ann")] == ["bob"]


def test_what_is_exported_can_be_imported_and_exported_the_same(tmp_path: Path) -> None:
    with memory(tmp_path, tenant="a", key=KEY) as a:
        (parent,) = a.write([Resource(name="p", content="läuft " * 2000, embedding=[0.6, 0.8])])
        a.write([
            Resource(name="c", content="derived", parents=(parent,), generation=1),
            Entity(name="Sarah", aliases=("S",), properties={"n": 1}),
            Moment(name="m", starts_at=datetime(2025, 1, 1, tzinfo=UTC), resource_refs=(parent,)),
            Edge(src="S", rel_type="knows", dst="Nobody", weight=0.5, valid_to=datetime(2030, 1, 1, tzinfo=UTC)),
        ])  # fmt: skip
        a.admin.export(tmp_path / "a.jsonl")
        with pytest.raises(ConflictError):
            a.admin.export(tmp_path / "a.jsonl")
    with memory(tmp_path, tenant="b") as b:
        counts = b.admin.import_(tmp_path / "a.jsonl")
        assert counts.records == 5
        b.admin.export(tmp_path / "b.jsonl")
        assert b.admin.import_(tmp_path / "a.jsonl").unchanged == 4
        assert b.admin.store.records.children(parent)
        assert b.search(vector=[0.6, 0.8]).records[0].id == parent
        assert b.admin.check() == []
    first = (tmp_path / "a.jsonl").read_text().splitlines()[1:-1]
    assert (tmp_path / "b.jsonl").read_text().splitlines()[1:-1] == first


@pytest.mark.parametrize(
    "content",
    ["", "hello\n", '{"line":"remloom","format":99}\n', '{"line":"remloom","format":1}\n{"x":1}\n'],
)
def test_what_is_no_export_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.jsonl").write_text(content)
    with memory(tmp_path) as opened, pytest.raises(InvalidInputError, match="export"):
        opened.admin.import_(tmp_path / "x.jsonl")


# -- indexes and plans -----------------------------------------------------------------------------


def test_no_operation_of_the_contract_scans_a_table(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db")
    now = datetime.now(UTC)
    put(
        store,
        *(
            Entity(name=f"e{i}", type="t", aliases=(f"a{i}",), properties={"n": i})
            for i in range(200)
        ),
    )
    put(
        store,
        *(
            Resource(name=f"r{i}", uri=f"u{i}", content=f"word{i}", embedding=[1.0, i])
            for i in range(200)
        ),
    )
    put(
        store,
        *(Moment(name=f"m{i}", type="t", starts_at=now + timedelta(days=i)) for i in range(50)),
    )
    put(
        store,
        *(Edge(src=f"e{i}", rel_type="r", dst=f"e{i // 2}", created_at=now) for i in range(200)),
    )
    store.sql.create_index("entities", "properties.n")
    seen: set[str] = set()

    def see(_cursor: object, sql: str, _bindings: object) -> bool:
        seen.add(sql)
        return True

    # the first time loads the indexes, which reads everything once
    for ask in range(2):
        if ask:
            store._database.reader.connection.exec_trace = see
        store.records.get(None, "x")
        store.records.lookup(["e1", "a7"])
        store.records.complete("e1", 5)
        store.records.children("x")
        store.records.parents("x")
        store.search.names("e11", NameSpec(type="t", threshold=0.5, limit=5))
        store.search.vector([1.0, 2.0], SearchSpec(schema="resources", limit=3))
        store.search.text("word7", SearchSpec(schema="resources", limit=3))
        for direction in ("out", "in", "both"):
            store.graph.edges(EdgeSpec(["e1"], direction=direction, rel_types=["r"], limit=3))
            store.graph.edge_keys(EdgeSpec(["e1"], direction=direction, limit=3))
            store.graph.count_by_type(["e1"], direction=direction)
            store.graph.count(["e1"], direction=direction)
            store.graph.walk(
                WalkSpec(
                    ["e1"],
                    rel_types=["r"],
                    direction=direction,
                    depth=3,
                    breadth=2,
                    order=EdgeOrder(),
                    as_of=now,
                ),
            )
        store.records.moments_between(now, now + timedelta(days=2))
        store.records.query("entities", Query().filter(Eq("properties.n", 3)))
        store.vectors.pending(5)
        store.token_vectors.pending("tokens", 5)
        store.token_vectors.queue_lengths("tokens")
        store.token_vectors.of(["x"], model="tokens")
    connection = store._database.reader.connection
    connection.exec_trace = None
    scans = {}
    for sql in seen:
        if not sql.lstrip().startswith(("SELECT", "WITH")):
            continue
        values = [None] * apsw.ext.query_info(connection, sql).bindings_count
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
        bad = [
            line
            for line in plan
            if line.startswith("SCAN")
            and "VIRTUAL TABLE" not in line  # the values that are asked for, as JSON
            and not re.match(
                r"SCAN (p USING INDEX pending_next|sequence|models|m|CONSTANT|\(|rels|\d)", line
            )
        ]
        if bad:
            scans[sql] = bad
    store.close()
    assert len(seen) > 15
    assert scans == {}


def test_the_graph_moves_vectors_out_of_the_tail_in_the_background(tmp_path: Path) -> None:
    import numpy as np

    rng = np.random.default_rng(3)
    rows = rng.normal(size=(4, 32))[rng.integers(4, size=2_500)] + 0.2 * rng.normal(
        size=(2_500, 32)
    )
    with memory(tmp_path) as opened:
        ids = opened.write(
            [Resource(name=f"r{i}", content=str(i), embedding=row) for i, row in enumerate(rows)]
        )
        assert opened.search(vector=rows[2_499].tolist(), limit=1).records[0].id == ids[2_499]
        until(lambda: opened.admin.stats().vectors.exact_share == 0)
        opened.write([Resource(name="new", content="new", embedding=rows[0] + rows[1])])
        assert opened.search(vector=(rows[0] + rows[1]).tolist(), limit=1).records[0].name == "new"


# -- other processes -------------------------------------------------------------------------------

_WRITER = """
import sys
from remloom import Memory, Entity, Edge, Resource
home, name, count, key = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
with Memory.open(home, embedder="none", key=key or None) as memory:
    for i in range(count):
        memory.write([Entity(name=f"{name} {i}", aliases=(f"{name}-alias-{i}",)),
                      Edge(src=f"{name} {i}", rel_type="next", dst=f"{name} {i + 1}"),
                      Resource(name=f"{name} doc {i}", content=f"text {name} {i}", embedding=[1.0, float(i)])])
        print(i, flush=True)
"""


def start_writer(home: Path, name: str, count: int, key: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(home), name, str(count), key],
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.crash
def test_two_processes_write_one_tenant_and_lose_nothing(tmp_path: Path) -> None:
    with memory(tmp_path) as watcher:
        writers = [start_writer(tmp_path, name, 40) for name in ("one", "two")]
        for writer in writers:
            writer.communicate(timeout=PATIENCE)
            assert writer.returncode == 0
        for name in ("one", "two"):
            assert all(watcher.lookup(f"{name} {i}").records for i in range(40))
            assert watcher.fuzzy(f"{name} 39").records[0].name == f"{name} 39"
        assert watcher.admin.check() == []


@pytest.mark.crash
@pytest.mark.parametrize("seed", range(int(os.environ.get("REMLOOM_TEST_KILLS", "6"))))
def test_every_acknowledged_write_survives_kill_minus_nine(tmp_path: Path, seed: int) -> None:
    writer = start_writer(tmp_path, "w", 100_000, KEY)
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline())]
    time.sleep(random.Random(seed).random() * 0.5)
    writer.send_signal(signal.SIGKILL)
    acknowledged += [int(line) for line in writer.stdout.read().splitlines() if line.strip()]
    writer.wait()
    with memory(tmp_path, key=KEY, create=False) as opened:
        last = acknowledged[-1]
        for i in range(last + 1):
            assert len(opened.lookup(f"w {i}", f"w-alias-{i}", f"w doc {i}").records) == 2
        edges = opened.sql("SELECT count(*) FROM resources").rows[0][0]
        assert edges in (last + 1, last + 2)
        assert opened.admin.check() == []


# -- what a tenant's folder has lost ---------------------------------------------------------------


@pytest.mark.parametrize("key", ["", KEY])
@pytest.mark.parametrize("lost", ["gone", "empty"])
def test_a_database_that_was_lost_is_not_taken_for_a_new_one(
    tmp_path: Path, key: str, lost: str
) -> None:
    fill(tmp_path, key=key)
    file = tmp_path / "tenants" / "default" / "memory.db"
    file.write_bytes(b"")
    if lost == "gone":
        file.unlink()
    with pytest.raises(CorruptStoreError, match=lost):
        memory(tmp_path, key=key)
    Home(tmp_path).delete("default")
    memory(tmp_path, key=key).close()


def test_a_tenant_that_was_made_and_never_opened_can_be_opened(tmp_path: Path) -> None:
    Home(tmp_path, key=KEY).create("acme")
    for _ in range(2):
        with memory(tmp_path, tenant="acme", key=KEY, create=False) as opened:
            assert not any(opened.admin.stats().records.values())


def test_a_damaged_tenant_hides_no_other_and_can_be_deleted(tmp_path: Path) -> None:
    for tenant in ("acme", "broken"):
        fill(tmp_path, tenant=tenant, key=KEY)
    (tmp_path / "tenants" / "broken" / "tenant.json").write_text('{"x"')
    assert [(info.name, info.damaged) for info in Home(tmp_path).tenants()] == [
        ("acme", False),
        ("broken", True),
    ]
    with pytest.raises(CorruptStoreError):
        memory(tmp_path, tenant="broken", key=KEY)
    Home(tmp_path).delete("broken")
    assert [info.name for info in Home(tmp_path).tenants()] == ["acme"]


def test_a_disk_that_is_full_from_the_start_is_named_as_the_reason(tmp_path: Path) -> None:
    with pytest.raises(StoreFullError, match="no space left"):
        SqliteDatabase(
            tmp_path / "memory.db",
            "",
            prepare=lambda connection: connection.pragma("max_page_count", 2),
        )


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_an_export_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    fill(tmp_path, key=KEY)
    with memory(tmp_path, key=KEY) as opened:
        opened.admin.export(tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").stat().st_mode & 0o077 == 0


def test_a_key_that_cannot_be_fetched_is_an_error_that_says_where(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "binary").chmod(0o600)
    for key, told in (
        (f"file:{tmp_path}/none", "cannot be read"),
        (f"file:{tmp_path}/binary", "no text"),
    ):
        with pytest.raises(SettingsError, match=told):
            memory(tmp_path / "home", key=key)


def test_threads_that_come_and_go_leave_no_connections_open(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        put(store, Resource(id="a", name="a", content="text"))
        for _ in range(20):
            thread = threading.Thread(target=store.records.get, args=("resources", "a"))
            thread.start()
            thread.join()
        assert store._database.connections.count <= 4
        assert store.records.get("resources", "a") is not None
