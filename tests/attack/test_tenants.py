"""Tenants that are made, opened and deleted by many at once, and by processes that die in the midst
of it."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tried import Counted, Rounds

from remloom import Edge, Entity, Home, Memory, Resource
from remloom.errors import (
    ConflictError,
    NotFoundError,
    RemloomError,
    StoreClosedError,
    StoreError,
    TenantNotFoundError,
)
from waiting import PATIENCE, until

KEY = "7c" * 32
SECRET = "the quince orchard of tenant"


def memory(home: str | Path, **options: object) -> Memory:
    return Memory.open(home, **{"embedder": "none", **options})  # type: ignore[arg-type]


def bytes_under(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


# -- deleted while it is open ----------------------------------------------------------------------

READ: dict[str, Callable[[Memory], object]] = {
    "lookup": lambda memory: memory.lookup("Ann"),
    "search": lambda memory: memory.search_text("orchard"),
    "fuzzy": lambda memory: memory.fuzzy("Ann"),
    "select": lambda memory: memory.sql("SELECT name FROM entities"),
    "edges": lambda memory: memory.get_edges("Ann"),
    "recall": lambda memory: memory.recall("orchard"),
    "stats": lambda memory: memory.admin.stats(),
    "jobs": lambda memory: memory.jobs.list(),
    "export": lambda memory: memory.admin.export(io.BytesIO()),
    "check": lambda memory: memory.admin.check(),
}
WRITE: dict[str, Callable[[Memory], object]] = {
    "write": lambda memory: memory.write([Entity(name="Eve")]),
    "read a text": lambda memory: memory.read_text("Eve was here.", uri="eve.md"),
    "forget": lambda memory: memory.forget("Ann"),
    "job": lambda memory: memory.jobs.add("consolidate"),
}


def is_closed(opened: Memory) -> bool:
    try:
        opened.lookup("Ann")
    except StoreClosedError:
        return True
    return False


@pytest.mark.parametrize("anew", [False, True], ids=["gone", "made anew"])
def test_whoever_has_a_tenant_open_that_is_deleted_gets_nothing_of_its_name(
    home: str, store: str, tmp_path: Path, anew: bool
) -> None:
    """Writes at once, reads within a second or two."""
    key = KEY if store == "sqlite" else None
    others = [memory(home, tenant="acme", key=key) for _ in range(2)]
    others[0].write(
        [
            Entity(name="Ann"),
            Resource(name="r", content=SECRET),
            Edge(src="Ann", rel_type="at", dst="r"),
        ]
    )
    Home(home).delete("acme")
    if anew:
        with memory(home, tenant="acme", key=key) as opened:
            opened.write([Entity(name="Ann", summary="Another life.")])
    for write in WRITE.values():
        # nothing is there to forget, where that is asked first
        with pytest.raises((StoreClosedError, NotFoundError)):
            write(others[0])
    until(lambda: is_closed(others[1]))
    for read in READ.values():
        with pytest.raises(StoreClosedError):
            read(others[1])
    if store == "sqlite":
        with pytest.raises(StoreClosedError):
            others[1].admin.backup(tmp_path / "backup")
        assert not (tmp_path / "backup").exists()
    for other in others:
        other.close()
    if anew:
        with memory(home, tenant="acme", key=key) as opened:
            assert [hit.content for hit in opened.lookup("Ann").records] == ["Another life."]
            assert opened.admin.stats().records == {"resources": 0, "entities": 1, "moments": 0}
            assert opened.jobs.list() == []
        Home(home).delete("acme")


# -- many make one ---------------------------------------------------------------------------------

_OPENERS = """
import sys, threading
from remloom import Entity, Memory
home, me, key = sys.argv[1:4]
print("ready", flush=True)
for line in sys.stdin:
    tenant = line.strip()
    try:
        with Memory.open(home, tenant=tenant, key=key or None, embedder="none") as memory:
            memory.write([Entity(name=f"{me} was here")])
        print("ok", flush=True)
    except Exception as error:
        print(f"{type(error).__name__}: {error}".replace("\\n", " "), flush=True)
"""


@pytest.mark.crash
def test_a_new_tenant_opened_by_four_processes_at_once_is_one_tenant(
    home: str, store: str, rounds: Rounds, counted: Counted
) -> None:
    key = KEY if store == "sqlite" else ""
    times, names = rounds(10, 200), [f"process {number}" for number in range(4)]
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", _OPENERS, home, name, key],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    try:
        for opener in openers:
            assert opener.stdout is not None
            opener.stdout.readline()
        for number in range(times):
            for opener in openers:
                assert opener.stdin is not None
                opener.stdin.write(f"t{number}\n")
                opener.stdin.flush()
            said = [opener.stdout.readline().strip() for opener in openers if opener.stdout]
            assert said == ["ok"] * 4
            with memory(home, tenant=f"t{number}", key=key or None, create=False) as opened:
                assert [bool(opened.lookup(f"{name} was here").records) for name in names] == [
                    True
                ] * 4
    finally:
        for opener in openers:
            opener.communicate(timeout=PATIENCE)
    counted(f"new tenants opened by four processes at once, {store}", times)


def test_a_new_tenant_opened_by_eight_threads_at_once_is_one_tenant(
    home: str, store: str, rounds: Rounds, counted: Counted
) -> None:
    key, times = KEY if store == "sqlite" else None, rounds(10, 200)
    for number in range(times):
        wrong: list[str] = []
        together = threading.Barrier(8)

        def one(
            me: int, tenant: str, wrong: list[str] = wrong, together: threading.Barrier = together
        ) -> None:
            together.wait()
            try:
                with memory(home, tenant=tenant, key=key) as opened:
                    opened.write([Entity(name=f"thread {me}")])
            except Exception as error:
                wrong.append(f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=one, args=(me, f"t{number}")) for me in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        with memory(home, tenant=f"t{number}", key=key, create=False) as opened:
            assert len(opened.lookup(*(f"thread {me}" for me in range(8))).records) == 8
    counted(f"new tenants opened by eight threads at once, {store}", times)


def test_of_many_who_create_a_tenant_one_does(home: str, store: str, rounds: Rounds) -> None:
    for number in range(rounds(5, 50)):
        outcomes: list[str] = []
        together = threading.Barrier(8)

        def one(
            tenant: str, outcomes: list[str] = outcomes, together: threading.Barrier = together
        ) -> None:
            together.wait()
            try:
                Home(home, key=KEY if store == "sqlite" else None).create(tenant)
                outcomes.append("made")
            except ConflictError:
                outcomes.append("there")

        threads = [threading.Thread(target=one, args=(f"t{number}",)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["made"] + ["there"] * 7


# -- opening, writing and deleting at once ---------------------------------------------------------


def test_a_tenant_deleted_and_made_anew_while_others_open_it_always_opens(
    home: str, store: str, rounds: Rounds, counted: Counted
) -> None:
    """Whoever writes is told that it is written, or gets one of two errors; and the tenant can be
    used afterwards."""
    key, times = KEY if store == "sqlite" else None, rounds(15, 300)
    stop, wrong = threading.Event(), []

    def use(me: int) -> None:
        while not stop.is_set():
            try:
                with memory(home, tenant="acme", key=key) as opened:
                    for number in range(3):
                        opened.write([Entity(name=f"{me} {number}")])
            except (StoreClosedError, TenantNotFoundError):
                pass
            except RemloomError as error:
                wrong.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=use, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    deleted = 0
    try:
        while deleted < times and not wrong:
            try:
                Home(home).delete("acme")
                deleted += 1
            except TenantNotFoundError:
                pass
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    with memory(home, tenant="acme", key=key) as opened:
        opened.write([Entity(name="after")])
        assert opened.admin.check() == []
    Home(home).delete("acme")
    assert Home(home).tenants() == []
    counted(f"deletions while four threads open and write the tenant, {store}", times)


# -- processes that die in the midst of it ---------------------------------------------------------

# Counts every call that changes the file system, and dies before one of them.
_DYING = """
import os, signal, sys
from pathlib import Path
home, work, key, last = sys.argv[1:5]
from remloom import Home, Memory
from remloom.store import sqlite
from remloom.store.tenants import encryption
from remloom.store.tenants.encryption import ScryptCost
if work == "raise":
    encryption.COST = ScryptCost(2**5, 8, 1)
calls = 0
def dying(name, function):
    def call(*args, **options):
        global calls
        calls += 1
        if calls == int(last):
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **options)
    return call
for name in ("mkdir", "rename", "replace", "unlink", "rmdir", "truncate", "write", "fsync", "link"):
    setattr(os, name, dying(name, getattr(os, name)))
if work == "delete":
    Home(home).delete("acme")
elif work == "create":
    Home(home, key=key or None).create("acme")
elif work == "raise":
    Memory.open(home, tenant="acme", key=key, embedder="none").close()
elif work == "adopt":
    Home(home, key=key or None).adopt("acme")
os.fsync, os.write = (lambda *_: None), (lambda _, data: len(data))
sys.stdout.write(str(calls))
"""


def dying(home: Path, work: str, key: str, last: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _DYING, str(home), work, key, str(last)],
        capture_output=True,
        text=True,
        check=False,
    )


def filled(home: Path, tenant: str, key: str) -> None:
    with memory(home, tenant=tenant, key=key or None) as opened:
        opened.write([Entity(name=SECRET, summary=SECRET)])


def steps(home: Path, work: str, key: str, rounds: Rounds) -> list[int]:
    """The calls before which to die: all, or in the short form some."""
    done = dying(home, work, key, 0)
    assert done.returncode == 0, done.stderr
    calls = int(done.stdout)
    assert calls >= 3
    wanted = min(calls, rounds(6, calls))
    return sorted({1 + number * (calls - 1) // max(1, wanted - 1) for number in range(wanted)})


@pytest.mark.crash
@pytest.mark.parametrize("key", ["", KEY])
def test_a_deletion_killed_at_any_step_is_finished_by_the_next_start(
    tmp_path: Path, key: str, rounds: Rounds, counted: Counted
) -> None:
    filled(tmp_path, "acme", key)
    tried = steps(tmp_path, "delete", key, rounds)
    for last in tried:
        filled(tmp_path, "acme", key)
        assert dying(tmp_path, "delete", key, last).returncode == -signal.SIGKILL
        left = [info.name for info in Home(tmp_path).tenants()]
        # it was killed before it began: the tenant is whole
        if left:
            with memory(tmp_path, tenant="acme", key=key or None, create=False) as opened:
                assert opened.lookup(SECRET).records
                assert opened.admin.check() == []
            Home(tmp_path).delete("acme")
        assert bytes_under(tmp_path) == b""
        with memory(tmp_path, tenant="acme", key=key or None) as opened:
            assert opened.lookup(SECRET).records == []
        Home(tmp_path).delete("acme")
    counted("kills of a deletion", len(tried))


@pytest.mark.crash
@pytest.mark.parametrize("key", ["", KEY])
def test_a_creation_killed_at_any_step_is_in_nobodys_way(
    tmp_path: Path, key: str, rounds: Rounds, counted: Counted
) -> None:
    tried = steps(tmp_path / "first", "create", key, rounds)
    for last in tried:
        home = tmp_path / str(last)
        assert dying(home, "create", key, last).returncode == -signal.SIGKILL
        filled(home, "acme", key)
        with memory(home, tenant="acme", key=key or None, create=False) as opened:
            assert opened.lookup(SECRET).records
            assert opened.admin.check() == []
        for staged in (home / "tenants" / ".staging").iterdir():
            os.utime(staged, (1, 1))
        Home(home).tenants()
        assert list((home / "tenants" / ".staging").iterdir()) == []
    counted("kills of a creation", len(tried))


@pytest.mark.crash
@pytest.mark.parametrize("work", ["raise", "adopt"])
def test_a_tenant_file_being_rewritten_by_a_killed_process_still_opens_the_tenant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str, rounds: Rounds, counted: Counted
) -> None:
    from remloom.store.tenants import encryption
    from remloom.store.tenants.encryption import ScryptCost

    monkeypatch.setattr(encryption, "COST", ScryptCost(2**4, 8, 1))
    key, made = "seven quinces in a bowl", "acme" if work == "raise" else "other"
    filled(tmp_path, made, key)
    folder = tmp_path / "tenants" / "acme"
    if work == "adopt":
        folder.with_name("other").rename(folder)
    before = (folder / "tenant.json").read_bytes()
    tried = steps(tmp_path, work, key, rounds)
    assert (folder / "tenant.json").read_bytes() != before
    for last in tried:
        (folder / "tenant.json").write_bytes(before)
        assert dying(tmp_path, work, key, last).returncode == -signal.SIGKILL
        if work == "adopt":
            Home(tmp_path, key=key).adopt("acme")
        with memory(tmp_path, tenant="acme", key=key, create=False) as opened:
            assert opened.lookup(SECRET).records
    counted("kills while a tenant's key is wrapped anew", len(tried))


# -- what is in the way ----------------------------------------------------------------------------


def test_what_an_earlier_attempt_left_blocks_nobody(tmp_path: Path) -> None:
    folder = tmp_path / "tenants" / "acme"
    folder.mkdir(parents=True)
    for number in (1, os.getpid()):
        (folder / f"tenant.json.{number}.tmp").write_text("{")
    filled(tmp_path, "acme", KEY)
    assert [info.name for info in Home(tmp_path).tenants()] == ["acme"]


@pytest.mark.parametrize("key", ["", KEY])
def test_a_short_write_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data)[:7]))
    filled(tmp_path, "acme", key)
    monkeypatch.undo()
    file = json.loads((tmp_path / "tenants" / "acme" / "tenant.json").read_text())
    assert file["tenant"] == "acme"
    with memory(tmp_path, tenant="acme", key=key or None, create=False) as opened:
        assert opened.lookup(SECRET).records


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
@pytest.mark.parametrize(
    "linked", ["", "memory.db", "tenant.json", "memory.db-wal", "memory.db-shm", "memory.db-mark"]
)
@pytest.mark.parametrize("dangling", [False, True])
def test_nothing_is_written_through_a_link(tmp_path: Path, linked: str, dangling: bool) -> None:
    filled(tmp_path, "victim", KEY)
    victim = tmp_path / "tenants" / "victim"
    link = tmp_path / "tenants" / "acme"
    if linked:
        link.mkdir()
        link = link / linked
    link.symlink_to((victim / linked) if not dangling else tmp_path / "nowhere")
    before = bytes_under(victim)
    for attempt in (
        lambda: Home(tmp_path).delete("acme"),
        lambda: Home(tmp_path, key=KEY).create("acme"),
        lambda: Home(tmp_path, key=KEY).adopt("acme"),
        lambda: memory(tmp_path, tenant="acme", key=KEY),
        lambda: memory(tmp_path, tenant="acme", key=KEY, create=False),
    ):
        with pytest.raises(StoreError, match="is a link"):
            attempt()
    assert bytes_under(victim) == before
    assert not (tmp_path / "nowhere").exists()
    with memory(tmp_path, tenant="victim", key=KEY) as opened:
        assert opened.lookup(SECRET).records
