"""The system refuses files: too many are open, one may not grow, the disk is full, failing, read-only,
or a quota is used up. It is said by an error of ours, and the next call goes as before."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
from tried import Counted, Rounds

import remloom
from remloom import Entity, Home, Memory, Resource
from remloom.errors import (
    CorruptStoreError,
    ReadOnlyStoreError,
    RemloomError,
    StoreBusyError,
    StoreError,
    StoreFullError,
)
from remloom.store.sqlite.file.error_translation import translated

resource = pytest.importorskip("resource")

KEY = "5a" * 32
ERRORS: dict[int, type[RemloomError]] = {
    errno.EMFILE: StoreBusyError,
    errno.ENFILE: StoreBusyError,
    errno.EFBIG: StoreFullError,
    errno.ENOSPC: StoreFullError,
    errno.EDQUOT: StoreFullError,
    errno.EIO: StoreError,
    errno.EROFS: ReadOnlyStoreError,
}
PROGRAM = (sys.prefix, sys.base_prefix, os.devnull, str(Path(remloom.__file__).parent))
CALLS = ("open", "write", "fsync", "mkdir", "rename", "replace", "listdir")


def note(number: int) -> list[Any]:
    return [Entity(name=f"Ann {number}"), Resource(name=f"r{number}", content="plum " * 200)]


def work(home: Path, folder: Path) -> dict[str, Callable[[], object]]:
    """What touches files, by name; `folder` is new."""
    all_of = Home(home, key=KEY)

    def with_memory(does: Callable[[Memory], object]) -> Callable[[], object]:
        def opened() -> object:
            with Memory.open(home, tenant="acme", key=KEY, embedder="none") as memory:
                return does(memory)

        return opened

    exported = folder / "before.jsonl"
    with_memory(lambda memory: memory.admin.export(exported))()
    return {
        "open": with_memory(lambda memory: memory.lookup("Ann 0")),
        "write": with_memory(lambda memory: memory.write(note(1))),
        "read": with_memory(lambda memory: memory.read_text("Plums are ripe.", uri="a.md")),
        "forget": with_memory(lambda memory: memory.forget("Ann 1")),
        "optimize": with_memory(lambda memory: memory.admin.optimize()),
        "check": with_memory(lambda memory: memory.admin.check()),
        "export": with_memory(lambda memory: memory.admin.export(folder / "export.jsonl")),
        "export to a stream": with_memory(lambda memory: memory.admin.export(io.BytesIO())),
        "import": with_memory(lambda memory: memory.admin.import_(exported)),
        "backup": with_memory(lambda memory: memory.admin.backup(folder / "backup")),
        "profile export": with_memory(lambda memory: memory.profile.export(folder / "p.json")),
        "tenants": all_of.tenants,
        "create": lambda: all_of.create("new"),
        "copy": lambda: all_of.copy(folder / "copied", tenant="acme"),
        "repair": lambda: all_of.repair("acme"),
        "adopt": lambda: all_of.adopt("acme"),
        "new key": lambda: Home.new_key(folder / "key"),
        "grants": all_of.grants,
        "grant": lambda: all_of.grant("acme", to="other"),
        "delete": lambda: all_of.delete("new"),
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for tenant in ("acme", "other"):
        with Memory.open(home, tenant=tenant, key=KEY, embedder="none") as memory:
            memory.write(note(0))
    return home


@contextmanager
def refusing(monkeypatch: pytest.MonkeyPatch, name: str, number: int, at: int) -> Iterator[None]:
    """Let the call of the system with this name fail from the `at`th on, where it is about what a
    user keeps: a descriptor, or a path that is not of the program itself."""
    calls = 0
    real = getattr(os, name)

    def call(*given: Any, **options: Any) -> Any:
        nonlocal calls
        own = not isinstance(given[0], int) and str(given[0]).startswith(PROGRAM)
        calls += not own
        if calls >= at and not own:
            raise OSError(number, os.strerror(number))
        return real(*given, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, name, call)
        yield


@pytest.mark.parametrize("number", ERRORS, ids=errno.errorcode.get)
def test_what_the_system_refuses_is_said_by_an_error_of_ours(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, rounds: Rounds, counted: Counted
) -> None:  # fmt: skip
    refused = tried = 0
    wrong: list[str] = []
    for call in CALLS[: rounds(3, len(CALLS))]:
        for at in range(1, rounds(2, 9)):
            folder = tmp_path / f"{call}-{at}"
            folder.mkdir()
            for name, does in work(home, folder).items():
                tried += 1
                try:
                    with refusing(monkeypatch, call, number, at):
                        does()
                except RemloomError as error:
                    if os.strerror(number)[:13].lower() in str(error).lower():
                        refused += 1
                        if not isinstance(error, ERRORS[number]):
                            wrong.append(f"{name}, {call} {at}: {error!r}")
                except OSError as error:
                    wrong.append(f"{name}, {call} {at}: {error!r}")
            for tenant in ("acme", "other"):
                with Memory.open(home, tenant=tenant, key=KEY, embedder="none") as memory:
                    assert memory.lookup("Ann 0").records
                    assert memory.admin.check() == []
    assert not wrong, "\n".join(wrong)
    assert refused
    counted("calls of the system that were refused", tried)


@contextmanager
def limited(kind: int, most: int) -> Iterator[None]:
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


@contextmanager
def few_files(spare: int) -> Iterator[None]:
    """Let this process open no more than so many files."""
    taken: list[int] = []
    with limited(resource.RLIMIT_NOFILE, 256):
        try:
            with suppress(OSError):
                while True:
                    taken.append(os.open(os.devnull, os.O_RDONLY))
            for _ in range(spare):
                os.close(taken.pop())
            yield
        finally:
            for descriptor in taken:
                os.close(descriptor)


def test_without_a_file_to_be_opened_each_call_says_so(home: Path, tmp_path: Path) -> None:
    kinds = set()
    # what is imported where it is used is there before
    (tmp_path / "first").mkdir()
    for does in work(home, tmp_path / "first").values():
        does()
    for spare in range(0, 12, 2):
        folder = tmp_path / f"spare-{spare}"
        folder.mkdir()
        for name, does in work(home, folder).items():
            error: BaseException | None = None
            with few_files(spare):
                try:
                    does()
                except Exception as raised:
                    error = raised
            assert error is None or isinstance(error, RemloomError), f"{name}, {spare}: {error!r}"
            kinds.add(type(error))
    assert {StoreBusyError, type(None)} <= kinds
    assert CorruptStoreError not in kinds
    with Memory.open(home, tenant="acme", key=KEY, embedder="none") as memory:
        assert memory.admin.check() == []


@pytest.mark.parametrize("room", [0, 1_000_000])
def test_a_limit_of_files_is_blamed_only_by_what_has_come_to_it(tmp_path: Path, room: int) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(bytes(5_000_000))
    error = apsw.IOError("disk I/O error")
    error.extendedresult = apsw.SQLITE_IOERR_WRITE
    with limited(resource.RLIMIT_FSIZE, 5_000_000 + room):
        said = translated(error, path)
    assert isinstance(said, StoreError)
    assert isinstance(said, StoreFullError) is (room == 0)
    assert ("ulimit" in said.remedy) is (room == 0)


def test_a_file_that_may_not_grow_is_not_called_damaged(home: Path, tmp_path: Path) -> None:
    with Memory.open(home, tenant="acme", key=KEY, embedder="none") as memory:
        size = max(path.stat().st_size for path in home.rglob("*") if path.is_file())
        many = [Resource(name=f"r{n}", content=os.urandom(2_000).hex()) for n in range(200)]
        with (
            limited(resource.RLIMIT_FSIZE, size),
            pytest.raises(StoreFullError, match=r"a file may have [\d,]+ bytes"),
        ):
            memory.write(many)
        with (
            limited(resource.RLIMIT_FSIZE, 100),
            pytest.raises(StoreFullError, match="cannot be written: File too large"),
        ):
            memory.admin.export(tmp_path / "export.jsonl")
        assert not (tmp_path / "export.jsonl").exists()
        memory.write(many)
        assert memory.admin.check() == []
