"""Writes that are committed together, each in a savepoint of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import apsw

from .error_translation import translate

_T = TypeVar("_T")


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
