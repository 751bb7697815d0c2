"""One SQLite file: its schema, a reader for each thread, and one writer with group commit."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from weakref import finalize

import apsw

from ....errors import ReadOnlyStoreError, SchemaVersionError, StoreClosedError
from ...sql_files import numbered_scripts
from ...tenants.folders import OpenFolder
from .connections import FileConnections
from .error_translation import nested_write_error, translate
from .sealing import make_private, unlock
from .writer import GroupWriter, Upkeep

_T = TypeVar("_T")
# MB for each thread's reader after the first; the first and the writer share the rest
_READER_CACHE = 16
_PAGES = 2_000  # in one step, between which others may write
# of a copy, which goes its own way from here on
_NEW_LINE = "UPDATE sequence SET line = random() & 0x7fffffffffffffff"


class SqliteDatabase:
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
        connections: all that are open, readers and writer.
        upkeep: empties its log, and gives its free space back.

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
        self._cache_mb = cache_mb
        self._local = threading.local()
        self._idle: list[apsw.Cursor] = []  # readers of threads that have ended
        self._gone = False  # somebody deleted the file, or moved it
        self._writing = threading.Lock()
        self.connections = FileConnections(
            path,
            key,
            synchronous=synchronous,
            busy_timeout=busy_timeout,
            create=create,
            read_only=self.read_only,
            prepare=prepare,
        )
        self._file = self.connections.file
        if create and not self.read_only:
            # A folder that cannot be opened: SQLite says so.
            with suppress(OSError), OpenFolder.at(path.parent, links=False) as folder:
                make_private(folder, path.name)
        try:
            connection = self.connections.open_writer(cache_mb // 2, accept=accept)
            with translate(self.path):
                migrate(connection, path, read_only=self.read_only)
            self._file.require_same()
        except BaseException:
            self.close()
            raise
        self.upkeep = Upkeep(self._file, connection, self._writing, busy_timeout)
        mark = self.connections.mark if self.connections.flushes else None
        self._writer = GroupWriter(self._file, connection, self._writing, mark, self.upkeep)

    def detect_deletion(self) -> None:
        """Notice that the file is gone, so that nothing more is read of it either: no thread keeps
        its reader."""
        try:
            self._file.require_same()
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

    def fetch(self, sql: str, **values: Any) -> list[Any]:
        """Fetch the rows of one statement."""
        with translate(self.path):
            rows: list[Any] = self.reader.execute(sql, values).fetchall()
            return rows

    def require(self) -> None:
        """Raise StoreClosedError if it is closed, or was noticed to be gone."""
        if self._gone:
            self._file.require_same()

    def _spare_reader(self) -> apsw.Cursor:
        self.require()
        with suppress(IndexError):
            if not self._file.closed:
                return self._idle.pop()
        is_first = self.connections.count == 1
        cache_mb = self._cache_mb if is_first else _READER_CACHE
        return self.connections.open(cache_mb, query_only=True).cursor()

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
        return self._writer.run(work)

    @property
    def size(self) -> int:
        with translate(self.path):
            pages = self.reader.execute(
                "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            ).get
        return int(pages)

    def backup(self, path: Path) -> None:
        """Copy the file, as encrypted as it is, into a new one, if its tenant is still there at the
        end."""
        key = self._key if self.connections.sealed else None
        with self._file.opening():
            copy_pages(self.reader.connection, path, key)

    def close(self) -> None:
        """Close every connection, of every thread; the last one out empties the write-ahead log."""
        with self._writing:
            # From here on nothing is opened; and the next read learns of it.
            self._file.closed = True
            self._gone, self._local = True, threading.local()
            self.connections.close()
            self.connections.mark.close()


class TransactionDatabase(SqliteDatabase):
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
    """Goes with its thread, whose reader is free from then on."""


def copy_pages(source: apsw.Connection, path: Path, key: str | None) -> None:
    """Copy a database into a new file, both with this key in hex (see `unlock`), or plain
    (None)."""
    with suppress(OSError), OpenFolder.at(path.parent) as folder:
        make_private(folder, path.name)
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    with translate(path), closing(apsw.Connection(str(path), flags=flags)) as target:
        if key is not None:
            unlock(target, key)
        with target.backup("main", source, "main") as copy:
            while not copy.done:
                copy.step(_PAGES)
        target.execute(_NEW_LINE)
        target.pragma("journal_mode", "wal")


def migrations() -> list[tuple[int, str]]:
    """List every migration as (version, script), in order."""
    return numbered_scripts(Path(__file__).parents[1] / "migrations")


def migrate(writer: apsw.Connection, path: Path, *, read_only: bool) -> None:
    """Bring a file to the newest schema; SchemaVersionError if it is newer, or cannot be
    written."""
    known = migrations()
    newest = known[-1][0]
    cursor = writer.cursor()
    version = cursor.execute("PRAGMA user_version").get
    if version == newest:
        return
    seen = f"{path} has schema version {version}, this Remloom knows {newest}"
    if version > newest:
        raise SchemaVersionError(seen, remedy="upgrade remloom", found=version, expected=newest)
    if read_only:
        raise SchemaVersionError(
            f"{seen}, and it cannot be written",
            remedy="open it once where it can be written",
            found=version,
            expected=newest,
        )
    cursor.execute("BEGIN IMMEDIATE")
    try:
        # another process may have been faster
        version = cursor.execute("PRAGMA user_version").get
        for number, script in known:
            if number > version:
                cursor.execute(script)
        cursor.execute(f"PRAGMA user_version = {newest}")
        cursor.execute("COMMIT")
    except BaseException:
        if writer.in_transaction:  # a full disk ends it too
            cursor.execute("ROLLBACK")
        raise
