"""Is everything there that was acknowledged? Asked before a file is first read, as SQLite itself
does not."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import apsw

from ....errors import CorruptStoreError
from .commit_mark import Commit, Mark
from .write_ahead_log import behind

_LAST = "SELECT line, commits, committed, rid FROM sequence"


def admit(connection: apsw.Connection, mark: Mark, path: Path, *, log: bool) -> None:
    """Refuse a file that has lost acknowledged writes.

    Args:
        connection: the first of this process to the file.
        log: look behind the end of the log too, which only one who may write can.

    Raises:
        CorruptStoreError: they are gone. Fields: `writes` (how many; at least so many when `until`
            is None), `since` and `until` (when the last one that is there and the last one that is
            gone were made).
    """
    # before the file, which another process may be writing
    marked = mark.read()
    last = _last(connection)
    if marked is not None and last is None:
        raise _lost(path, marked.number, None, marked)
    if marked is not None and last is not None and marked.line == last.line:
        if marked.number > last.number:
            raise _lost(path, marked.number - last.number, last, marked)
        if marked.number == last.number:
            return
    if log and (writes := _unseen(connection, path)):
        raise _lost(path, writes, _last(connection), None)


def _unseen(connection: apsw.Connection, path: Path) -> int:
    """Acknowledged writes that are in the log, behind damage."""
    size = connection.pragma("page_size")
    while True:
        version = connection.pragma("data_version")
        seen, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        if seen < 0 or not behind(path, size, seen):
            return 0
        connection.execute("BEGIN IMMEDIATE")  # or was that another process, writing?
        try:
            if connection.pragma("data_version") == version:
                return behind(path, size, seen)
        finally:
            connection.execute("ROLLBACK")


def _last(connection: apsw.Connection) -> Commit | None:
    """The last write that the file has; None when it is new, or of a version that did not count."""
    try:
        row = connection.execute(_LAST).get
    except apsw.SQLError:
        return None
    return None if row is None else Commit(*row)


def _lost(path: Path, writes: int, last: Commit | None, marked: Commit | None) -> CorruptStoreError:
    since = _when(last.at) if last is not None and last.at else None
    until = _when(marked.at) if marked is not None else None
    many = f"{'' if marked else 'at least '}{writes} acknowledged write{'s' if writes > 1 else ''}"
    what = [f"{path} has lost {many}"]
    if since is not None:
        what.append(f"everything after {_shown(since)}")
    if until is not None:
        what.append(f"up to {_shown(until)}")
    if marked is not None and last is not None:
        what.append(
            f"with {marked.record_no - last.record_no} records that were new or written again"
        )
    return CorruptStoreError(
        ", ".join(what),
        remedy="`remloom doctor --repair` keeps its log aside and goes on with what is whole; or "
        "restore a backup",
        writes=writes,
        since=since,
        until=until,
    )


def _when(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1e6, UTC)


def _shown(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S UTC")
