"""The connections of this process to one file: the first is let in, the others follow it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from ....errors import CorruptStoreError, ReadOnlyStoreError, StoreClosedError, WrongKeyError
from ...tenants.folders import OpenFolder, alone_in, translate_errors
from .commit_mark import CommitMark, admit, log_of
from .error_translation import closed_error, damaged, translate
from .sealing import seal, unlock

_CHECKPOINT = 20_000  # WAL pages between checkpoints: fewer, larger ones write a third faster


class OpenedFile:
    """One database file, by what it is and not by where it is: of one that was deleted, and perhaps
    made again, nothing may be written or read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.closed = False
        # device and number of the file, once it is open
        self._identity: tuple[int, int] | None = None

    def require_same(self) -> None:
        """Raise StoreClosedError if it is closed, or the file at the path is another than at
        first."""
        if self.closed:
            raise closed_error()
        try:
            status = os.stat(self.path)
        except OSError:
            status = None
        identity = (status.st_dev, status.st_ino) if status else None
        if self._identity is None:
            self._identity = identity
        if identity is None or identity != self._identity:
            raise StoreClosedError(
                f"{self.path} is no longer what was opened: the tenant was deleted, or its folder "
                "moved",
                remedy="close this memory; open it again where it is now",
            )

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Check that what is opened inside is the same file, also where that is why opening
        fails."""
        try:
            yield
        finally:
            if self._identity:
                self.require_same()


class FileConnections:
    """Every open connection to one file.

    Args:
        read_only: it is where nothing may be written; for the others see `SqliteDatabase`.

    Attributes:
        sealed: all files are encrypted or checksummed, but one of an earlier version without a key.
        flushes: each commit is on disk; else a loss of power may take what was acknowledged.
    """

    def __init__(
        self,
        path: Path,
        key: str,
        *,
        synchronous: str,
        busy_timeout: float,
        create: bool,
        read_only: bool,
        prepare: Callable[[apsw.Connection], None],
    ) -> None:
        self.file = OpenedFile(path)
        self.mark = CommitMark(path)
        self.sealed = True
        self.flushes = synchronous != "normal"
        self._path = path
        self._key = key
        self._synchronous = synchronous
        self._busy_timeout = busy_timeout
        self._create = create
        self._read_only = read_only
        self._prepare = prepare
        # guards _open
        self._lock = threading.Lock()
        self._open: list[apsw.Connection] = []
        self._admitted = False

    @property
    def count(self) -> int:
        return len(self._open)

    def open(self, cache_mb: int, *, query_only: bool = False) -> apsw.Connection:
        """Open a further connection, which is closed with the others."""
        with self._lock, self.file.opening(), translate(self._path):
            if self.file.closed:
                raise closed_error()
            name, flags = self._location()
            connection = apsw.Connection(name, flags=flags, statementcachesize=256)
            try:
                if self.sealed:
                    unlock(connection, self._key)
                if not self._admitted:  # what is damaged stays as it is
                    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                self._configure(connection, cache_mb)
                if query_only:
                    connection.pragma("query_only", True)
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._open.append(connection)
            return connection

    def open_writer(self, cache_mb: int, *, accept: bool) -> apsw.Connection:
        """Open the first connection, and seal the file if it is an older plain one; with `accept`
        also if acknowledged writes are lost."""
        try:
            return self._admit(cache_mb, accept=accept)
        except (WrongKeyError, CorruptStoreError, ReadOnlyStoreError):
            self.close()
            if self._key:
                raise
        # It may be a file of an earlier version: SQLite reports varying errors while another
        # process replaces it. One at a time looks on, as what it finds plain it may replace too:
        # who had that open then would write a log for a file that knows nothing of it.
        with alone_in(self._path.parent, self._busy_timeout):
            with suppress(WrongKeyError):
                # another process has sealed it meanwhile
                return self._admit(cache_mb, accept=accept)
            self.close()
            return self._open_plain(cache_mb, accept=accept)

    def close(self) -> None:
        """Close those that are open; the last one out empties the write-ahead log."""
        with self._lock:
            for connection in reversed(self._open):
                connection.close()
            self._open.clear()

    def _admit(self, cache_mb: int, *, accept: bool) -> apsw.Connection:
        """Open the writer's connection, unless acknowledged writes are lost."""
        writer = self.open(cache_mb)
        with translate(self._path):
            if not accept:
                admit(writer, self.mark, self._path, log=not self._read_only and self.flushes)
            if not self._read_only:
                writer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            self._admitted = True
        return writer

    def _open_plain(self, cache_mb: int, *, accept: bool) -> apsw.Connection:
        """Open a plain file to look, or seal it and open that."""
        self.sealed = False
        try:
            plain = self._admit(cache_mb, accept=accept)
        except WrongKeyError:
            raise damaged(self._path, "it is not a database") from None
        if self._read_only:
            return plain
        self.close()
        self._admitted = False
        with translate(self._path):
            self.sealed = seal(self._path)  # if nobody has it open
        return self._admit(cache_mb, accept=accept or not self.sealed)

    def _configure(self, connection: apsw.Connection, cache_mb: int) -> None:
        # Else a statement is prepared again whenever a parameter changes, as one might choose a
        # partial index: that costs more than what a lookup does.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.set_busy_timeout(round(self._busy_timeout * 1000))
        if not self._read_only:
            # Only of a new file: of one that is there it would be a write.
            if not file_size(self._path):
                connection.pragma("auto_vacuum", "incremental")
            # This opens the log by its path and through links above it.
            before = self._identity()
            connection.pragma("journal_mode", "wal")
            if self._identity() != before:
                raise closed_error()
            connection.pragma("synchronous", self._synchronous)
        connection.pragma("cache_size", -1024 * cache_mb)
        connection.pragma("temp_store", "memory")  # no plaintext in temporary files
        connection.pragma("secure_delete", True)
        connection.pragma("wal_autocheckpoint", _CHECKPOINT)
        connection.pragma("recursive_triggers", True)

    @translate_errors("the database cannot be opened")
    def _identity(self) -> tuple[int, int]:
        """Device and number of the file, which is not behind a link."""
        with OpenFolder.at(self._path.parent, links=False) as folder:
            status = folder.status(self._path.name)
        return status.st_dev, status.st_ino

    def _location(self) -> tuple[str, int]:
        if self._read_only:
            return self._location_to_look()
        # Neither the file nor a folder above it may be a link: see `HomeFolder`.
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
        if self._create:
            flags |= apsw.SQLITE_OPEN_CREATE
        return str(self._path), flags

    def _location_to_look(self) -> tuple[str, int]:
        """Return them for a file that cannot be written. Without a shared-memory file nobody has it
        open, and it does not change, if no write waits to be moved into it."""
        log = log_of(self._path)
        shared = self._path.with_name(f"{self._path.name}-shm")
        if not shared.exists() and file_size(log):
            raise ReadOnlyStoreError(
                f"the last writes of {self._path} are in {log.name}, and cannot be read where "
                "nothing may be written",
                remedy="copy the folder to where you may write, and open it there",
            )
        immutable = "" if shared.exists() else "&immutable=1"
        name = f"{self._path.absolute().as_uri()}?mode=ro{immutable}"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW
        return name, flags


def file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
