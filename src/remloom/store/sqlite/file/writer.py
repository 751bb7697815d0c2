"""The one connection that writes, for any number of threads: writes that wait are committed
together; while it is idle, the log is emptied and free space given back."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import copy_context
from pathlib import Path
from typing import Any, Generic, TypeVar
from weakref import WeakSet

import apsw

from ....errors import ReadOnlyStoreError, StoreClosedError
from .commit_mark import Commit, CommitMark, log_of
from .connections import OpenedFile, file_size
from .error_translation import nested_write_error, translate

_T = TypeVar("_T")
_GROUP = 64  # writes committed together at most
_COUNT = "UPDATE sequence SET commits = commits + 1, committed = ?"
_COUNTED = "SELECT line, commits, committed, rid FROM sequence"  # half the cost of RETURNING them
# seconds without a write after which space and memory are given back, and the log is emptied
_IDLE = 2.0
_SPARE = 64  # free pages that a file keeps for what is written next
_STEP = 1_000  # free pages given back in one transaction
_EVERY = 0.5  # seconds between looks
_PATIENCE = 20  # looks at nothing before the thread ends


class GroupWriter:
    """Runs writes in transactions, a group at a time.

    Args:
        connection: of which nothing is done without `lock`, which `upkeep` shares.
        mark: where each commit is recorded; None: nowhere.
    """

    def __init__(
        self,
        file: OpenedFile,
        connection: apsw.Connection,
        lock: threading.Lock,
        mark: CommitMark | None,
        upkeep: Upkeep,
    ) -> None:
        self._file = file
        self._connection = connection
        self._lock = lock
        self._mark = mark
        self._upkeep = upkeep
        self._thread = 0  # the one that commits
        self._queue: deque[PendingWrite[Any]] = deque()

    def run(self, work: Callable[[apsw.Cursor], _T]) -> _T:
        """Run `work` in a transaction that is on disk when this returns. See `Database.write`."""
        if self._thread == threading.get_ident():
            raise nested_write_error()
        # whichever thread commits it, it is done as its caller's
        context = copy_context()
        ticket = PendingWrite(lambda cursor: context.run(work, cursor))
        self._queue.append(ticket)
        while not ticket.done:  # once, unless more than a group was waiting
            with self._lock:
                if not ticket.done:
                    size = min(len(self._queue), _GROUP)
                    self._commit([self._queue.popleft() for _ in range(size)])
        return ticket.outcome()

    def _commit(self, group: list[PendingWrite[Any]]) -> None:
        """Run a group of writes in one transaction; each learns what became of it."""
        cursor = None
        self._thread = threading.get_ident()
        try:
            with translate(self._file.path):
                cursor = self._connection.cursor()
                cursor.execute("BEGIN IMMEDIATE")
                self._file.require_same()
                run_group(cursor, group, self._file.path)
                cursor.execute(_COUNT, (time.time_ns() // 1000,))
                commit = cursor.execute(_COUNTED).get
                cursor.execute("COMMIT")
            if self._mark is not None:
                self._mark.write(Commit(*commit))
            self._upkeep.note_write()
        except BaseException as error:
            cause = self._cause(error)
            for write in group:
                write.error = cause
            if cursor is not None and self._connection.in_transaction:
                cursor.execute("ROLLBACK")
            if not isinstance(error, Exception):
                raise
        finally:
            self._thread = 0
            for write in group:
                write.done = True

    def _cause(self, error: BaseException) -> BaseException:
        """Return why a transaction failed: a file that is gone cannot be opened either."""
        if isinstance(error, ReadOnlyStoreError):
            try:
                self._file.require_same()
            except StoreClosedError as closed:
                return closed
        return error


class PendingWrite(Generic[_T]):
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


def run_group(cursor: apsw.Cursor, group: Sequence[PendingWrite[Any]], path: Path) -> None:
    """Run writes in an open transaction: one that raises is rolled back alone, unless it is the
    only one, or ended the whole transaction."""
    if len(group) == 1:
        (only,) = group
        only.result = only.work(cursor)
        return
    for write in group:
        cursor.execute("SAVEPOINT item")
        try:
            with translate(path):
                write.result = write.work(cursor)
        except Exception as error:
            # SQLite gives up on the whole transaction when the disk is full, or cannot be read.
            if not cursor.connection.in_transaction:
                raise
            write.error = error
            cursor.execute("ROLLBACK TO item")
        cursor.execute("RELEASE item")


# -- upkeep ----------------------------------------------------------------------------------------


class Upkeep:
    """Keeps one file small, by the connection that writes.

    Args:
        connection: of which nothing is done without `lock`, which the writer shares.
        busy_timeout: seconds that a write waits for another process.
    """

    def __init__(
        self,
        file: OpenedFile,
        connection: apsw.Connection,
        lock: threading.Lock,
        busy_timeout: float,
    ) -> None:
        self._file = file
        self._log = log_of(file.path)
        self._connection = connection
        self._lock = lock
        self._busy_timeout = busy_timeout
        # monotonic seconds; 0: the connection's cache is empty
        self._wrote = 0.0
        self._watched = False  # `tidy` will be called
        # left by a process that was killed, or in use by another
        if file_size(self._log):
            self._watch()

    def note_write(self) -> None:
        """Take note of a commit, after which there is something to do once it is quiet."""
        self._wrote = time.monotonic()
        if not self._watched:
            self._watch()

    def _watch(self) -> None:
        self._watched = True
        _upkeep.watch(self)

    def tidy(self) -> bool:
        """Do the background work of an idle file: return free pages to the disk and the writer's
        cache to the system, and empty the log. False when nothing is left to do."""
        if time.monotonic() - self._wrote < _IDLE:
            return True
        if not self._lock.acquire(blocking=False):
            return True
        self._watched = False
        try:
            if self._file.closed:
                return False
            self._connection.set_busy_timeout(0)  # who writes here must not wait for it
            more = self._free_pages()
            if self._wrote:
                self._connection.pragma("shrink_memory")
                self._wrote = 0.0
            self._watched = not self._empty_log(0) or more
            return self._watched
        except (apsw.BusyError, apsw.LockedError):  # by another process
            self._watched = True
            return True
        except apsw.Error:
            return False  # the next read or write reports it
        finally:
            try:
                if not self._file.closed:
                    self._reset_busy_timeout()
            finally:
                # whatever fails, nobody waits for a lock that is held by nobody
                self._lock.release()

    def rewrite(self) -> None:
        """Write every page again, and return free ones to the disk: rows that were moved leave
        copies in the unused parts of pages, which secure deletion does not reach."""
        with self._lock, translate(self._file.path):
            # made by an earlier version: from here on it gives space back
            if not self._connection.pragma("auto_vacuum"):
                self._connection.pragma("auto_vacuum", "incremental")
            self._connection.execute("VACUUM")

    def checkpoint(self, wait: float | None = None) -> bool:
        """Move the write-ahead log into the file and empty it; False when it is still being read
        after `wait` seconds (default: as long as a write waits), or the disk is full: then it is
        tried again in the background."""
        if wait is None:
            wait = self._busy_timeout
        with self._lock, translate(self._file.path):
            return not self._file.closed and self._empty_log(wait)

    def _empty_log(self, wait: float) -> bool:
        if not file_size(self._log):
            return True
        self._connection.set_busy_timeout(round(wait * 1000))
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except (apsw.BusyError, apsw.LockedError, apsw.FullError):
            self._watch()
            return False
        finally:
            self._reset_busy_timeout()
        return True

    def _reset_busy_timeout(self) -> None:
        self._connection.set_busy_timeout(round(self._busy_timeout * 1000))

    def _free_pages(self) -> bool:
        """Remove some free pages, zeroed by `secure_delete`; returns whether there are more."""
        free = self._connection.pragma("freelist_count")
        if free <= _SPARE:
            return False
        self._connection.execute(f"PRAGMA incremental_vacuum({_STEP})").fetchall()
        left = self._connection.pragma("freelist_count")
        return bool(_SPARE < left < free)  # a file of an earlier version keeps them


class _UpkeepThread:
    """Does the upkeep of files while nobody uses them, one thread for the whole process. It holds
    none of them in between, so that a database that is dropped can go."""

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            # where the thread is not, and the lock may be held
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._kept: WeakSet[Upkeep] = WeakSet()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._pause = threading.Event()

    def watch(self, kept: Upkeep) -> None:
        """Have `tidy` called twice a second until it has nothing left to do."""
        with self._lock:
            self._kept.add(kept)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="remloom-upkeep", daemon=True
                )
                self._thread.start()

    def _run(self) -> None:
        unused = 0
        while True:
            self._pause.wait(_EVERY)
            with self._lock:
                some = list(self._kept)
                unused = 0 if some else unused + 1
                if unused > _PATIENCE:
                    self._thread = None
                    return
            while some:
                kept = some.pop()
                with self._lock:
                    self._kept.discard(kept)  # what is written from here on asks again
                if kept.tidy():
                    with self._lock:
                        self._kept.add(kept)
                del kept


_upkeep = _UpkeepThread()
