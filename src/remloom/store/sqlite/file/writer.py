"""The one connection that writes, for any number of threads: writes that wait are committed
together."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import copy_context
from pathlib import Path
from typing import Any, Generic, TypeVar

import apsw

from ....errors import ReadOnlyStoreError, StoreClosedError
from .commit_mark import Commit, CommitMark
from .error_translation import nested_write_error, translate
from .opened_file import OpenedFile
from .upkeep import Upkeep

_T = TypeVar("_T")
_GROUP = 64  # writes committed together at most
_COUNT = "UPDATE sequence SET commits = commits + 1, committed = ?"
_COUNTED = "SELECT line, commits, committed, rid FROM sequence"  # half the cost of RETURNING them


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
                    self._commit(self._next_group())
        return ticket.outcome()

    def _next_group(self) -> list[PendingWrite[Any]]:
        return [self._queue.popleft() for _ in range(min(len(self._queue), _GROUP))]

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
        """Return what the write returned, or raise what it raised."""
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]


def run_group(cursor: apsw.Cursor, group: Sequence[PendingWrite[Any]], path: Path) -> None:
    """Run writes in an open transaction: one that raises is rolled back alone.

    Raises:
        whatever the only write of a group raises, or one that ended the whole transaction.
    """
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
