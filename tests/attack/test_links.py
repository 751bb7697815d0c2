"""Links within a home: nothing behind one is changed, whatever is done with the home, and whenever
the link is put there."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace
from tried import Counted, Rounds

from remloom import Entity, Home, Memory
from remloom.errors import RemloomError
from remloom.settings import Settings
from remloom.store.sqlite.admin import _set_aside
from remloom.store.sqlite.file.commit_mark import Commit, CommitMark
from remloom.store.sqlite.file.database import SqliteDatabase
from remloom.store.sqlite.file.sealing import seal
from remloom.store.tenants.encryption import change_tenant_file
from remloom.tenancy.api_keys import ApiKeys

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links of POSIX")

KEY = "5a" * 32
# what a killed process leaves, or SQLite makes, and is not in a home that lies still
LEFT = (
    "tenants/acme/memory.db-wal",
    "tenants/acme/memory.db-shm",
    "tenants/acme/memory.db-journal",
    "tenants/acme/memory.db.sealing",
    "tenants/acme/tenant.json.1.tmp",
    "tenants/acme/kept",
    "tenants/fresh",
    "tenants/.staging/gone-1",
    "tenants/.staging/gone-1/tenant.json",
    "tenants/.staging/gone-1/memory.db",
    "tenants/.staging/gone-1/kept",
    "tenants/.staging/new-1",
    "tenants/.staging/new-1/memory.db",
)
KINDS = ("what was there", "a file", "a folder", "nothing", "itself")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two tenants, API keys, grants, and what killed processes left."""
    home = tmp_path_factory.mktemp("homes") / "home"
    for tenant in ("acme", "other"):
        with Memory.open(home, tenant=tenant, key=KEY, embedder="none") as memory:
            memory.write([Entity(name=f"of {tenant}")])
    Home(home, key=KEY).grant("acme", to="other")
    with ApiKeys(Settings.load(home=str(home), key=KEY)) as keys:
        keys.create("test", ("read",), tenant="acme")
    staging = home / "tenants" / ".staging"
    for name in ("gone-1", "new-1"):
        shutil.copytree(home / "tenants" / "acme", staging / name)
        os.utime(staging / name, (0, 0))
    return home


def places(home: Path) -> list[str]:
    """Everything in a home that a link may stand for, by its path within."""
    found = {str(path.relative_to(home)) for path in home.rglob("*")}
    return sorted(found | set(LEFT))


def content(folder: Path) -> dict[str, bytes | str | None]:
    """Every file of a folder with its bytes, every link with where it leads, every folder."""
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else (path.read_bytes() if path.is_file() else None)
        for path in folder.rglob("*")
    }


def elsewhere(home: Path, folder: Path) -> Path:
    """A folder outside, which has all that a home has, and a little more."""
    shutil.copytree(home, folder)
    (folder / "letter.txt").write_text("mine")
    (folder / "gone-2").mkdir()
    (folder / "gone-2" / "tenant.json").write_text("mine too")
    (folder / "tenant.json.9.tmp").write_text("mine as well")
    return folder


def put_link(place: Path, kind: str, outside: Path) -> None:
    """Put a link in the place of something."""
    target = {
        "what was there": outside / place.name,
        "a file": outside / "letter.txt",
        "a folder": outside,
        "nothing": outside / "nothing",
        "itself": place,
    }[kind]
    if place.is_dir() and not place.is_symlink():
        if kind == "what was there":
            shutil.copytree(place, target, dirs_exist_ok=True)
        shutil.rmtree(place)
    else:
        if kind == "what was there" and place.exists():
            shutil.copy(place, target)
        place.unlink(missing_ok=True)
    place.symlink_to(target)


def use(home: Path, aside: Path) -> Iterator[Callable[[], object]]:
    """Everything that is done with a home, one after the other; `aside` is a new folder."""
    all_of = Home(home, key=KEY)
    settings = Settings.load(home=str(home), key=KEY)

    def write(tenant: str, create: bool) -> None:
        with Memory.open(home, tenant=tenant, key=KEY, embedder="none", create=create) as memory:
            memory.write([Entity(name="new")])
            memory.admin.backup(aside / f"backup-{tenant}-{create}")
            memory.admin.optimize()

    def keys() -> None:
        with ApiKeys(settings) as opened:
            opened.create("new", ("read",), tenant="other")

    yield all_of.tenants
    yield lambda: write("acme", False)
    yield lambda: write("fresh", True)
    yield lambda: all_of.create("second")
    yield lambda: all_of.create("acme")
    yield lambda: all_of.adopt("acme")
    yield lambda: all_of.repair("acme")
    yield keys
    yield all_of.grants
    yield lambda: all_of.grant("acme", to="other", may=("lookup",))
    yield lambda: all_of.revoke("acme", to="other")
    yield lambda: all_of.copy(aside / "copied", tenant="acme")
    yield lambda: all_of.copy(home, tenant="other", to_tenant="third")
    yield lambda: all_of.delete("acme")
    yield lambda: all_of.delete("fresh")
    yield all_of.tenants


def test_what_is_behind_a_link_in_a_home_keeps_every_byte(
    home: Path, tmp_path: Path, rounds: Rounds, counted: Counted
) -> None:
    cases = [(place, kind) for place in places(home) for kind in KINDS]
    step = max(1, len(cases) // rounds(16, len(cases)))
    calls = refused = 0
    for number, (place, kind) in enumerate(cases[::step]):
        work = tmp_path / str(number)
        shutil.copytree(home, work / "home", symlinks=True)
        os.utime(work / "home" / "tenants" / ".staging" / "new-1", (0, 0))
        outside = elsewhere(home, work / "outside")
        put_link(work / "home" / place, kind, outside)
        before = content(outside)
        (work / "aside").mkdir()
        for call in use(work / "home", work / "aside"):
            calls += 1
            try:
                call()
            except RemloomError:
                refused += 1
            assert content(outside) == before, f"{place} -> {kind}"
        shutil.rmtree(work)
    assert 0 < refused < calls
    counted("calls on homes with a link in the place of a file or folder", calls)


def behind(database: Path) -> dict[str, Callable[[], object]]:
    """What opens a file beside a database to write into it, or puts it there."""
    commit = Commit(1, 2, 3, 4)
    return {
        "mark": lambda: CommitMark(database).write(commit),
        "tenant file": lambda: change_tenant_file(
            database.parent, lambda now: replace(now, tenant="else")
        ),
        "database": lambda: SqliteDatabase(database, KEY, create=True),
        "new database": lambda: SqliteDatabase(database.with_name("new.db"), KEY, create=True),
        "seal": lambda: seal(database),
        "log set aside": lambda: _set_aside(database),
    }


@pytest.mark.parametrize("what", behind(Path()))
def test_nothing_beside_a_database_is_opened_through_a_link_above_it(
    home: Path, tmp_path: Path, what: str
) -> None:
    outside = tmp_path / "outside"
    shutil.copytree(home, outside)
    acme = outside / "tenants" / "acme"
    for name in ("memory.db-wal", "memory.db.sealing"):
        (acme / name).write_text("mine")
    before = content(outside)
    (tmp_path / "home").symlink_to(outside)
    with suppress(OSError, RemloomError, apsw.Error):
        behind(tmp_path / "home" / "tenants" / "acme" / "memory.db")[what]()
    assert content(outside) == before


@pytest.mark.parametrize("place", ["tenants", "tenants/acme", "tenants/.staging", "server"])
def test_a_link_put_in_the_way_meanwhile_leads_nowhere(
    home: Path, tmp_path: Path, place: str, rounds: Rounds, counted: Counted
) -> None:
    outside = tmp_path / "outside"
    (outside / "acme").mkdir(parents=True)
    for folder in (outside, outside / "acme", outside / "gone-3", outside / "tenants" / "server"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("memory.db", "memory.db-mark", "tenant.json", "tenant.json.1.tmp"):
            (folder / name).write_text("mine")
    before = content(outside)
    stop = threading.Event()
    work = tmp_path / "home"
    shutil.copytree(home, work)
    at, aside = work / place, tmp_path / "real"

    def swap() -> None:
        while not stop.is_set():
            with suppress(OSError):
                at.rename(aside)
                at.symlink_to(outside)
            with suppress(OSError):
                at.unlink()
            with suppress(OSError):
                aside.rename(at)

    swapping = threading.Thread(target=swap)
    swapping.start()
    calls = rounds(40, 2_000)
    done = 0
    try:
        for _ in range(calls):
            with suppress(RemloomError):
                Home(work, key=KEY).tenants()
            with suppress(RemloomError):
                Home(work, key=KEY).create("acme")
            with suppress(RemloomError):
                Home(work, key=KEY).delete("acme")
                done += 1
            assert content(outside) == before
    finally:
        stop.set()
        swapping.join()
    assert content(outside) == before
    counted("calls while a link is put in the way", 3 * calls)
