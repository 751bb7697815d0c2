"""One SQLite file: a reader for each thread, and one writer with group commit."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from weakref import finalize

import apsw

from ...errors import (
    CorruptStoreError,
    ReadOnlyStoreError,
    StoreClosedError,
    WrongKeyError,
)
from ..folders import alone_in
from . import maintenance
from .commit_mark import Commit, Mark
from .connection import Connector, file_size
from .error_translation import closed_error, damaged, nested_write_error, translate
from .group_commit import PendingWrite, run_group
from .lost_writes import admit
from .schema import migrate
from .sealing import make_private, seal, unlock
from .write_ahead_log import log_of

__all__ = ["Database", "TransactionDatabase"]

_T = TypeVar("_T")
# MB for each thread's reader after the first; the first and the writer share the rest
_READER_CACHE = 16
# seconds without a write after which space and memory are given back, and the log is emptied
_IDLE = 2.0
_SPARE = 64  # free pages that a file keeps for what is written next
_STEP = 1_000  # free pages given back in one transaction
_GROUP = 64  # writes committed together at most
_COUNT = "UPDATE sequence SET commits = commits + 1, committed = ?"
# of a copy, which lags from here on
_ANOTHER = "UPDATE sequence SET line = random() & 0x7fffffffffffffff"
_COUNTED = "SELECT line, commits, committed, rid FROM sequence"  # half the cost of RETURNING them


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
        self._connector = Connector(
            path=path,
            key=key,
            synchronous=synchronous,
            busy_timeout=busy_timeout,
            create=create,
            read_only=self.read_only,
            prepare=prepare,
        )
        # else a loss of power may take what was acknowledged
        self._strict = synchronous != "normal"
        self._cache_mb = cache_mb
        self._busy_timeout = busy_timeout
        self._local = threading.local()
        self._idle: list[apsw.Cursor] = []  # readers of threads that have ended
        self._open: list[apsw.Connection] = []
        self._lock = threading.Lock()  # guards _open and _closed
        self._closed = False
        self._writing = threading.Lock()
        self._runs = 0  # the thread that commits
        self._queue: deque[PendingWrite[Any]] = deque()
        # monotonic seconds; 0: the writer's cache is empty
        self._wrote = 0.0
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
                migrate(self._writer, path, read_only=self.read_only)
            self._require_same_file()
        except BaseException:
            self.close()
            raise
        # left by a process that was killed, or in use by another
        if file_size(log_of(self.path)):
            self._watch()

    def _first(self, *, accept: bool) -> apsw.Connection:
        """Open the writer's connection, and seal the file if it is an older plain one."""
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
        """Open a further connection, which is closed with the database."""
        with self._lock, self._same(), translate(self.path):
            if self._closed:
                raise closed_error()
            connection = self._connector.open(
                cache_mb,
                sealed=self._sealed,
                checkpoints=self._admitted,  # what is damaged stays as it is
                query_only=read_only,
            )
            self._open.append(connection)
            return connection

    @contextmanager
    def _same(self) -> Iterator[None]:
        """Check that the file opened inside is the one that was opened first, also when opening it
        fails, as that may be why."""
        try:
            yield
        finally:
            if self._file:
                self._require_same_file()

    def _require_same_file(self) -> None:
        """Check that the file at this path is still the one that was opened.

        Where a tenant was deleted, and perhaps made anew, nothing of the old one may be written or
        read.
        """
        if self._closed:
            raise closed_error()
        try:
            status = os.stat(self.path)
        except OSError:
            status = None
        if status and self._file is None:
            self._file = status.st_dev, status.st_ino
        if status is None or self._file != (status.st_dev, status.st_ino):
            raise StoreClosedError(
                f"{self.path} is no longer what was opened: the tenant was deleted, or its folder "
                "moved",
                remedy="close this memory; open it again where it is now",
            )

    def detect_deletion(self) -> None:
        """Notice that the file is gone, so that nothing more is read of it either: no thread keeps
        its reader."""
        try:
            self._require_same_file()
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
            self._require_same_file()

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
            raise nested_write_error()
        ticket = PendingWrite(work)
        self._queue.append(ticket)
        while not ticket.done:  # once, unless more than a group was waiting
            with self._writing:
                if not ticket.done:
                    self._commit(self._next_group())
        return ticket.outcome()

    def _next_group(self) -> list[PendingWrite[Any]]:
        return [self._queue.popleft() for _ in range(min(len(self._queue), _GROUP))]

    def tidy(self) -> bool:
        """Do the background work of an idle file: return free pages to the disk and the writer's
        cache to the system, and empty the log. False when nothing is left to do."""
        if time.monotonic() - self._wrote < _IDLE:
            return True
        if not self._writing.acquire(blocking=False):
            return True
        self._watched = False
        try:
            if self._closed:
                return False
            self._writer.set_busy_timeout(0)  # who writes here must not wait for it
            more = self._free_pages()
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
            try:
                if not self._closed:
                    self._writer.set_busy_timeout(round(self._busy_timeout * 1000))
            finally:
                # whatever fails, nobody waits for a lock that is held by nobody
                self._writing.release()

    def _watch(self) -> None:
        """Have `tidy` called."""
        self._watched = True
        maintenance.watch(self)

    def rewrite(self) -> None:
        """Write every page anew.

        Rows that were moved between pages leave copies in the unused parts of pages, which secure
        deletion does not reach. Free pages are returned to the disk.
        """
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
        if not file_size(log_of(self.path)):
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

    def _free_pages(self) -> bool:
        """Remove some free pages from the file; returns whether there are more.

        They are zeroed already, by `secure_delete`.
        """
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

    def _commit(self, group: list[PendingWrite[Any]]) -> None:
        """Run a group of writes in one transaction; each learns what became of it."""
        cursor = None
        self._runs = threading.get_ident()
        try:
            with translate(self.path):
                cursor = self._writer.cursor()
                cursor.execute("BEGIN IMMEDIATE")
                self._require_same_file()
                run_group(cursor, group, self.path)
                cursor.execute(_COUNT, (time.time_ns() // 1000,))
                commit = cursor.execute(_COUNTED).get
                cursor.execute("COMMIT")
            self._committed(Commit(*commit))
        except BaseException as error:
            cause = self._cause(error)
            for write in group:
                write.error = cause
            if cursor is not None and self._writer.in_transaction:
                cursor.execute("ROLLBACK")
            if not isinstance(error, Exception):
                raise
        finally:
            self._runs = 0
            for write in group:
                write.done = True

    def _committed(self, commit: Commit) -> None:
        self._wrote = time.monotonic()
        if self._strict:
            self._mark.write(commit)
        if not self._watched:
            self._watch()

    def _cause(self, error: BaseException) -> BaseException:
        """Return why a transaction failed: a file that is gone cannot be opened either."""
        if isinstance(error, ReadOnlyStoreError):
            try:
                self._require_same_file()
            except StoreClosedError as closed:
                return closed
        return error


class TransactionDatabase(Database):
    """The database as a transaction that writes sees it, for reads inside it."""

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
        raise nested_write_error()


class _User:
    """Goes with its thread, and tells so that the thread's reader is free."""
