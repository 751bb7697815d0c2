"""Connections to one SQLite file: a reader for each thread, one writer with group commit, errors in
our words."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any, Generic, TypeVar
from weakref import finalize

import apsw
import msgspec

from ...errors import (
    CorruptStoreError,
    InvalidInputError,
    ReadOnlyStoreError,
    RemloomError,
    SchemaVersionError,
    StoreBusyError,
    StoreClosedError,
    StoreError,
    StoreFullError,
    WrongKeyError,
    unencodable,
)
from ..folders import alone_in
from . import maintenance
from .commit_mark import Commit, Mark
from .lost_writes import admit
from .sealing import make_private, seal, unlock
from .write_ahead_log import log_of

__all__ = ["Database", "TransactionDatabase", "migrations", "translate"]

_T = TypeVar("_T")
# MB for each thread's reader after the first; the first and the writer share the rest
_READER_CACHE = 16
_CHECKPOINT = 20_000  # WAL pages between checkpoints: fewer, larger ones write a third faster
# seconds without a write after which space and memory are given back, and the log is emptied
_IDLE = 2.0
_SPARE = 64  # free pages that a file keeps for what is written next
_STEP = 1_000  # free pages given back in one transaction
_GROUP = 64  # writes committed together at most
_COUNT = "UPDATE sequence SET commits = commits + 1, committed = ?"
# of a copy, which lags from here on
_ANOTHER = "UPDATE sequence SET line = random() & 0x7fffffffffffffff"
_COUNTED = "SELECT line, commits, committed, rid FROM sequence"  # half the cost of RETURNING them


def migrations() -> list[tuple[int, str]]:
    """Every migration as (version, script), in order. The files are `migrations/NNNN_name.sql`."""
    folder = resources.files(__package__) / "migrations"
    found = ((int(file.name[:4]), file) for file in folder.iterdir() if file.name.endswith(".sql"))
    return [
        (version, file.read_text(encoding="utf-8"))
        for version, file in sorted(found, key=lambda pair: pair[0])
    ]


class Database:
    """One tenant's file.

    Args:
        path: the file; its folder exists.
        key: data key in hex; empty for an unencrypted file.
        synchronous: "full" or "normal".
        cache_mb: page cache; the first reader takes up to all of it, the writer, while it writes,
            up to half as much.
        busy_timeout: seconds to wait for another process.
        create: make the file when it is not there.
        prepare: called with every new connection, to register functions.
        accept: open it though acknowledged writes are lost, and go on from what is there.

    Attributes:
        read_only: the file is there, but it or its folder cannot be written: it can be looked at.

    Raises:
        CorruptStoreError: a page is damaged, or acknowledged writes are lost; and what else
            `translate` makes of SQLite's errors.
    """

    def __init__(
        self,
        path: Path,
        key: str,
        *,
        synchronous: str = "full",
        cache_mb: int = 256,
        busy_timeout: float = 30.0,
        create: bool = True,
        prepare: Callable[[apsw.Connection], None] = lambda _: None,
        accept: bool = False,
    ) -> None:
        self.path = path
        self.read_only = path.exists() and not (
            os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
        )
        self._key = key
        self._synchronous = synchronous
        # else a loss of power may take what was acknowledged
        self._strict = synchronous != "normal"
        self._cache_mb = cache_mb
        self._busy_timeout = busy_timeout
        self._prepare = prepare
        self._local = threading.local()
        self._idle: list[apsw.Cursor] = []  # readers of threads that have ended
        self._open: list[apsw.Connection] = []
        self._lock = threading.Lock()  # guards _open and _closed
        self._closed = False
        self._writing = threading.Lock()
        self._runs = 0  # the thread that commits
        self._queue: deque[_Write[Any]] = deque()
        # monotonic seconds; 0: the writer's cache is empty
        self._wrote = 0.0
        self._create = create
        # device and number of the file, once it is open
        self._file: tuple[int, int] | None = None
        self._gone = False  # somebody deleted the file, or moved it
        self._watched = False  # `tidy` will be called
        self._mark = Mark(path)
        # all are, but a file of an earlier version without a key
        self._sealed = True
        self._admitted = False
        if create and not self.read_only:
            make_private(path)
        try:
            self._writer = self._first(accept=accept)
            with translate(self.path):
                self._migrate()
            self._present()
        except BaseException:
            self.close()
            raise
        # left by a process that was killed, or in use by another
        if _length(log_of(self.path)):
            self._watch()

    def _first(self, *, accept: bool) -> apsw.Connection:
        """The writer's connection to a file that is all there, and is sealed if it can be."""
        try:
            return self._enter(accept=accept)
        except (WrongKeyError, CorruptStoreError, ReadOnlyStoreError):
            self._leave()
            if self._key:
                raise
        # It may be a file of an earlier version, of which SQLite says this and that while another
        # process replaces it. One at a time looks on, as what it finds plain it may replace too:
        # who had that open then would write a log beside a file that knows nothing of it.
        with alone_in(self.path.parent, self._busy_timeout):
            with suppress(WrongKeyError):
                return self._enter(accept=accept)  # another process has sealed it meanwhile
            self._leave()
            self._sealed = False
            try:
                plain = self._enter(accept=accept)
            except WrongKeyError:
                raise damaged(self.path, "it is no database") from None
            if self.read_only:
                return plain
            self._leave()
            self._admitted = False
            with translate(self.path):
                self._sealed = seal(self.path)  # if nobody has it open
            return self._enter(accept=accept or not self._sealed)

    def _enter(self, *, accept: bool) -> apsw.Connection:
        writer = self.connect(self._cache_mb // 2)
        with translate(self.path):
            if not accept:
                admit(writer, self._mark, self.path, log=not self.read_only and self._strict)
            if not self.read_only:
                writer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            self._admitted = True
        return writer

    def _leave(self) -> None:
        with self._lock:
            for connection in reversed(self._open):
                connection.close()
            self._open.clear()

    def connect(self, cache_mb: int, *, read_only: bool = False) -> apsw.Connection:
        """A further connection, closed with the database."""
        with self._lock, self._same(), translate(self.path):
            if self._closed:
                raise _is_closed()
            making = apsw.SQLITE_OPEN_CREATE if self._create else 0
            name, flags = (
                self._looking()
                if self.read_only
                else (str(self.path), apsw.SQLITE_OPEN_READWRITE | making)
            )
            connection = apsw.Connection(name, flags=flags, statementcachesize=256)
            self._open.append(connection)
            if self._sealed:
                unlock(connection, self._key)
            if not self._admitted:  # what is damaged stays as it is
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            # Else a statement is prepared again whenever a parameter changes, as one might choose a
            # partial index: that costs more than what a lookup does.
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            connection.set_busy_timeout(round(self._busy_timeout * 1000))
            if not self.read_only:
                # new; to say so of one that is there would be a write
                if not _length(self.path):
                    connection.pragma("auto_vacuum", "incremental")
                connection.pragma("journal_mode", "wal")
                connection.pragma("synchronous", self._synchronous)
            connection.pragma("cache_size", -1024 * cache_mb)
            connection.pragma("temp_store", "memory")  # no plaintext in temporary files
            connection.pragma("secure_delete", True)
            connection.pragma("wal_autocheckpoint", _CHECKPOINT)
            connection.pragma("recursive_triggers", True)
            if read_only:
                connection.pragma("query_only", True)
            self._prepare(connection)
            return connection

    def _looking(self) -> tuple[str, int]:
        """Name and flags to open the file with where nothing may be written. Without a
        shared-memory file beside it nobody has it open, and it can be taken for one that does not
        change, if no write waits to be moved into it."""
        log, shared = (self.path.with_name(self.path.name + end) for end in ("-wal", "-shm"))
        if not shared.exists() and log.exists() and log.stat().st_size:
            raise ReadOnlyStoreError(
                f"the last writes of {self.path} are in {log.name}, and cannot be read where nothing may be written",
                remedy="copy the folder to where you may write, and open it there",
            )
        still = "" if shared.exists() else "&immutable=1"
        return (
            f"{self.path.absolute().as_uri()}?mode=ro{still}",
            apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
        )

    @contextmanager
    def _same(self) -> Iterator[None]:
        """What is opened inside is the file that was opened first; and when it cannot be opened,
        that may be why."""
        try:
            yield
        finally:
            if self._file:
                self._present()

    def _present(self) -> None:
        """See that the file at this path is still the one that was opened. Where a tenant was
        deleted, and perhaps made anew, nothing that was meant for it may be written or read."""
        if self._closed:
            raise _is_closed()
        try:
            found = os.stat(self.path)
        except OSError:
            found = None
        if found and self._file is None:
            self._file = found.st_dev, found.st_ino
        if found is None or self._file != (found.st_dev, found.st_ino):
            raise StoreClosedError(
                f"{self.path} is no longer what was opened: the tenant was deleted, or its folder moved",
                remedy="close this memory; open it again where it is now",
            )

    def detect_deletion(self) -> None:
        """Notice that the file is gone, so that nothing more is read of it either: no thread keeps
        its reader."""
        try:
            self._present()
        except StoreClosedError:
            self._gone = True
            self._local = threading.local()

    @property
    def reader(self) -> apsw.Cursor:
        """This thread's read cursor; another thread's once this one has ended. Fetch everything
        before the next use."""
        try:
            return self._local.cursor
        except AttributeError:
            cursor = self._local.cursor = self._spare_reader()
            self._local.user = user = _User()
            finalize(user, self._idle.append, cursor).atexit = False
            return cursor

    def require(self) -> None:
        """Refuse to read what is closed or gone, once that was noticed.

        Raises:
            StoreClosedError: it is.
        """
        if self._gone:
            self._present()

    def _spare_reader(self) -> apsw.Cursor:
        self.require()
        with suppress(IndexError):
            if not self._closed:
                return self._idle.pop()
        first = len(self._open) == 1
        return self.connect(self._cache_mb if first else _READER_CACHE, read_only=True).cursor()

    @contextmanager
    def snapshot(self) -> Iterator[apsw.Cursor]:
        """A cursor whose reads all see one state of the file. Nests."""
        cursor = self.reader
        with translate(self.path):
            if cursor.connection.in_transaction:
                yield cursor
                return
            cursor.execute("BEGIN")
            try:
                yield cursor
            finally:
                cursor.execute("COMMIT")

    def write(self, work: Callable[[apsw.Cursor], _T]) -> _T:
        """Run `work` in a transaction that is on disk when this returns.

        Writes that wait for the same lock are committed together, each in a savepoint of its own:
        one that raises is rolled back alone.
        """
        if self.read_only:
            raise ReadOnlyStoreError(
                f"{self.path} was opened to look only: it cannot be written",
                remedy="check the folder's permissions",
            )
        if self._runs == threading.get_ident():
            raise _inside()
        ticket = _Write(work)
        self._queue.append(ticket)
        with self._writing:
            if not ticket.done:
                self._commit([self._queue.popleft() for _ in range(min(len(self._queue), _GROUP))])
        while not ticket.done:  # more than a group was waiting
            with self._writing:
                if not ticket.done:
                    self._commit(
                        [self._queue.popleft() for _ in range(min(len(self._queue), _GROUP))]
                    )
        return ticket.outcome()

    def tidy(self) -> bool:
        """What an idle file has done for it in the background: free pages go back to the disk, the
        writer's cache to the system, and the log is emptied. False when nothing is left to do."""
        if time.monotonic() - self._wrote < _IDLE:
            return True
        if not self._writing.acquire(blocking=False):
            return True
        self._watched = False
        try:
            if self._closed:
                return False
            self._writer.set_busy_timeout(0)  # who writes here must not wait for it
            more = self._give_back()
            if self._wrote:
                self._writer.pragma("shrink_memory")
                self._wrote = 0.0
            self._watched = not self._empty_log(0) or more
            return self._watched
        except (apsw.BusyError, apsw.LockedError):  # by another process
            self._watched = True
            return True
        except apsw.Error:
            return False  # the next one who reads or writes is told
        finally:
            if not self._closed:
                self._writer.set_busy_timeout(round(self._busy_timeout * 1000))
            self._writing.release()

    def _watch(self) -> None:
        """Have `tidy` called."""
        self._watched = True
        maintenance.watch(self)

    def rewrite(self) -> None:
        """Write every page anew. What was moved from page to page as trees were balanced leaves
        copies in the unused parts of pages, which secure deletion does not reach; and what was
        given back to the file leaves it."""
        with self._writing, translate(self.path):
            # made by an earlier version: from here on it gives space back
            if not self._writer.pragma("auto_vacuum"):
                self._writer.pragma("auto_vacuum", "incremental")
            self._writer.execute("VACUUM")

    @property
    def size(self) -> int:
        """Bytes of the file without its log."""
        with translate(self.path):
            pages = self.reader.execute(
                "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            ).get
        return int(pages)

    def checkpoint(self, wait: float | None = None) -> bool:
        """Move the write-ahead log into the file and empty it; False when it is still being read
        after `wait` seconds (default: as long as a write waits), or the disk is full: then it is
        tried again in the background."""
        with self._writing, translate(self.path):
            return not self._closed and self._empty_log(
                self._busy_timeout if wait is None else wait
            )

    def _empty_log(self, wait: float) -> bool:
        if not _length(log_of(self.path)):
            return True
        self._writer.set_busy_timeout(round(wait * 1000))
        try:
            self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except (apsw.BusyError, apsw.LockedError, apsw.FullError):
            self._watch()
            return False
        finally:
            self._writer.set_busy_timeout(round(self._busy_timeout * 1000))
        return True

    def _give_back(self) -> bool:
        """Take some free pages out of the file; they hold nothing, by `secure_delete`. True when
        there are more."""
        free = self._writer.pragma("freelist_count")
        if free <= _SPARE:
            return False
        self._writer.execute(f"PRAGMA incremental_vacuum({_STEP})").fetchall()
        left = self._writer.pragma("freelist_count")
        return bool(_SPARE < left < free)  # a file of an earlier version keeps them

    def backup(self, path: Path) -> None:
        """Copy the file page by page, as encrypted as it is, into a new one. Its tenant is there at
        the end as well."""
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        with translate(path), self._same():
            make_private(path)
            target = apsw.Connection(str(path), flags=flags)
            try:
                if self._sealed:
                    unlock(target, self._key)
                with target.backup("main", self.reader.connection, "main") as copy:
                    while not copy.done:
                        copy.step(2_000)
                target.execute(_ANOTHER)
                target.pragma("journal_mode", "wal")
            finally:
                target.close()

    def close(self) -> None:
        """Close every connection, of every thread; the last one out empties the write-ahead log."""
        with self._writing, self._lock:
            self._closed = True
            self._gone, self._local = True, threading.local()  # whoever reads next learns of it
            for connection in reversed(self._open):
                connection.close()
            self._open.clear()
            self._mark.close()

    def _commit(self, group: list[_Write[Any]]) -> None:
        cursor = None
        self._runs = threading.get_ident()
        try:
            with translate(self.path):
                cursor = self._writer.cursor()
                cursor.execute("BEGIN IMMEDIATE")
                self._present()
                for ticket in group:
                    if len(group) == 1:
                        ticket.result = ticket.work(cursor)
                        continue
                    cursor.execute("SAVEPOINT item")
                    try:
                        with translate(self.path):
                            ticket.result = ticket.work(cursor)
                    except Exception as error:
                        if not self._writer.in_transaction:
                            # SQLite gave up on the whole transaction (disk full, I/O error)
                            raise
                        ticket.error = error
                        cursor.execute("ROLLBACK TO item")
                    cursor.execute("RELEASE item")
                cursor.execute(_COUNT, (time.time_ns() // 1000,))
                commit = cursor.execute(_COUNTED).get
                cursor.execute("COMMIT")
                self._wrote = time.monotonic()
                if self._strict:
                    self._mark.write(Commit(*commit))
                if not self._watched:
                    self._watch()
        except BaseException as error:
            if isinstance(error, ReadOnlyStoreError):  # a file that is gone cannot be opened either
                try:
                    self._present()
                except StoreClosedError as closed:
                    error = closed
            for ticket in group:
                ticket.error = error
            if cursor is not None and self._writer.in_transaction:
                cursor.execute("ROLLBACK")
            if not isinstance(error, Exception):
                raise
        finally:
            self._runs = 0
            for ticket in group:
                ticket.done = True

    def _migrate(self) -> None:
        known = migrations()
        newest = known[-1][0]
        cursor = self._writer.cursor()
        found = cursor.execute("PRAGMA user_version").get
        if found > newest:
            raise SchemaVersionError(
                f"{self.path} has schema version {found}, this Remloom knows {newest}",
                remedy="upgrade remloom", found=found, expected=newest,
            )  # fmt: skip
        if found == newest:
            return
        if self.read_only:
            raise SchemaVersionError(
                f"{self.path} has schema version {found}, this Remloom knows {newest}, and it cannot be written",
                remedy="open it once where it can be written", found=found, expected=newest,
            )  # fmt: skip
        cursor.execute("BEGIN IMMEDIATE")
        try:
            # another process may have been faster
            found = cursor.execute("PRAGMA user_version").get
            for version, script in known:
                if version > found:
                    cursor.execute(script)
            cursor.execute(f"PRAGMA user_version = {newest}")
            cursor.execute("COMMIT")
        except BaseException:
            if self._writer.in_transaction:  # a full disk ends it too
                cursor.execute("ROLLBACK")
            raise


class TransactionDatabase(Database):
    """What a transaction that writes has done so far, for who reads in it."""

    def __init__(self, path: Path, cursor: apsw.Cursor) -> None:
        self.path = path
        self._cursor = cursor.connection.cursor()

    @property
    def reader(self) -> apsw.Cursor:
        return self._cursor

    @contextmanager
    def snapshot(self) -> Iterator[apsw.Cursor]:
        with translate(self.path):
            yield self._cursor

    def write(self, work: Callable[[apsw.Cursor], _T]) -> _T:
        raise _inside()


def _length(path: Path) -> int:
    """Bytes of a file; 0 when there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


class _User:
    """Goes with its thread, and tells so that the thread's reader is free."""


class _Write(Generic[_T]):
    """One write waiting for its commit."""

    __slots__ = ("done", "error", "result", "work")

    def __init__(self, work: Callable[[apsw.Cursor], _T]) -> None:
        self.work = work
        self.done = False
        self.error: BaseException | None = None
        self.result: _T | None = None

    def outcome(self) -> _T:
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]


def _is_closed() -> StoreClosedError:
    return StoreClosedError("the memory is closed", remedy="open it again")


def _inside() -> InvalidInputError:
    return InvalidInputError(
        "nothing can be written inside `update`", remedy="return what is to be written"
    )


class translate:
    """Turns SQLite's errors into ours. A plain class: it sits on hot paths."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if kind is not None and issubclass(kind, (apsw.Error, msgspec.DecodeError, UnicodeError)):
            raise translated(error, self.path) from error


_RESTORE = (
    "`remloom doctor` looks at all of it; keep a copy of it, and restore the last `remloom backup`"
)


def damaged(path: Path, what: object) -> CorruptStoreError:
    """Our error for a file that is not as it was written."""
    return CorruptStoreError(f"{path} is damaged: {what}", remedy=_RESTORE)


def translated(error: BaseException | None, path: Path) -> RemloomError:
    """Our error for one of SQLite's, with what to do about it."""
    match error:
        case UnicodeEncodeError():
            return unencodable(error)
        case apsw.NotADBError():
            return WrongKeyError(
                f"{path} does not open with this key, or is no Remloom database",
                remedy="check REMLOOM_KEY; if the key is right the file is damaged: restore a backup",
            )
        case apsw.CorruptError() | msgspec.DecodeError() | UnicodeDecodeError():
            return damaged(path, error)
        case apsw.FullError():
            return StoreFullError(
                f"no space left for {path}; nothing of this write was kept",
                remedy="free some space and retry",
            )
        case apsw.BusyError() | apsw.LockedError():
            return StoreBusyError(
                f"{path} is being written by another process",
                remedy="try again, or raise busy_timeout",
            )
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError():
            return ReadOnlyStoreError(
                f"{path} cannot be written: {error}", remedy="check the folder's permissions"
            )
        case apsw.ConnectionClosedError() | apsw.CursorClosedError():
            return StoreClosedError("the memory is closed", remedy="open it again")
        case apsw.IOError():
            return CorruptStoreError(f"{path} cannot be read or written: {error}", remedy=_RESTORE)
        case _:
            return StoreError(
                f"{path}: {error}", remedy="this is a bug in Remloom: please report it"
            )
