"""The bytes on disk: files as they are, and the pages of databases as they were before sealing.

For tests that look for traces of deleted data. The pages of a tenant without a key are
sealed under a key that everyone has, so that to search the files as they are would find nothing,
whatever they hold.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw

from ..store.sqlite.file.sealing import unlock

_LOG_HEADER, _FRAME_HEADER = 32, 24  # bytes


def on_disk(folder: Path, key: str = "") -> bytes:
    """Read the files below a folder: databases page by page, free pages too, and their logs.

    Args:
        folder: with one tenant or many, open or closed.
        key: the data key of sealed databases, in hex; empty for tenants without a key.

    Raises:
        apsw.NotADBError: a database is of another key.
    """
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.name.endswith(".db"):
            found += _pages(path, key)
        elif not path.name.endswith(".db-shm"):
            # which holds numbers alone, and locks that reading it would give up
            found.append(path.read_bytes())
    return b"\n".join(found)


def _pages(path: Path, key: str) -> list[bytes]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    with closing(connection):
        # closing must not move the frames of the log, which are to be looked at, into the
        # database
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        unlock(connection, key)
        # the first statement opens the log
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        size = connection.pragma("page_size")
        pages = [_read(connection, 0, at, size) for at in range(0, path.stat().st_size, size)]
        log = path.with_name(path.name + "-wal")
        end = log.stat().st_size if log.exists() else 0
        frames = range(_LOG_HEADER + _FRAME_HEADER, end, _FRAME_HEADER + size)
        return pages + [_read(connection, 1, at, size) for at in frames]


def _read(connection: apsw.Connection, which: int, at: int, size: int) -> bytes:
    try:
        data: bytes = connection.read("main", which, at, size)[1]
        return data
    except apsw.Error:
        # never written, or damaged
        return b""
