"""Opens one connection to a database file, and sets it up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
from msgspec import Struct

from ....errors import ReadOnlyStoreError
from ...tenants.folders import translate_errors
from ...tenants.open_folder import OpenFolder
from .error_translation import closed_error
from .sealing import unlock

_CHECKPOINT = 20_000  # WAL pages between checkpoints: fewer, larger ones write a third faster


class Connector(Struct, frozen=True):
    """How connections to one file are opened.

    Attributes:
        key: data key in hex; empty for an unencrypted file.
        synchronous: "full" or "normal".
        busy_timeout: seconds to wait for another process.
        create: make the file when it is not there.
        read_only: it is where nothing may be written.
        prepare: called with every new connection, to register functions.
    """

    path: Path
    key: str
    synchronous: str
    busy_timeout: float
    create: bool
    read_only: bool
    prepare: Callable[[apsw.Connection], None]

    @property
    def flushes(self) -> bool:
        """Each commit is on disk; else a loss of power may take what was acknowledged."""
        return self.synchronous != "normal"

    def open(
        self, cache_mb: int, *, sealed: bool, checkpoints: bool, query_only: bool
    ) -> apsw.Connection:
        """Open a connection.

        Args:
            cache_mb: page cache.
            sealed: the file is encrypted or checksummed, as all are but plain ones of an earlier
                version.
            checkpoints: the write-ahead log may be moved into the file when it is closed.
            query_only: it is for reading.
        """
        name, flags = self._location()
        connection = apsw.Connection(name, flags=flags, statementcachesize=256)
        try:
            if sealed:
                unlock(connection, self.key)
            if not checkpoints:
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._configure(connection, cache_mb)
            if query_only:
                connection.pragma("query_only", True)
            self.prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _configure(self, connection: apsw.Connection, cache_mb: int) -> None:
        # Else a statement is prepared again whenever a parameter changes, as one might choose a
        # partial index: that costs more than what a lookup does.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.set_busy_timeout(round(self.busy_timeout * 1000))
        if not self.read_only:
            # Only of a new file: to say so of one that is there would be a write.
            if not file_size(self.path):
                connection.pragma("auto_vacuum", "incremental")
            # This opens the log beside the file, by its path and through links above it.
            before = self._identity()
            connection.pragma("journal_mode", "wal")
            if self._identity() != before:
                raise closed_error()
            connection.pragma("synchronous", self.synchronous)
        connection.pragma("cache_size", -1024 * cache_mb)
        connection.pragma("temp_store", "memory")  # no plaintext in temporary files
        connection.pragma("secure_delete", True)
        connection.pragma("wal_autocheckpoint", _CHECKPOINT)
        connection.pragma("recursive_triggers", True)

    @translate_errors("the database cannot be opened")
    def _identity(self) -> tuple[int, int]:
        """Device and number of the file, which is not behind a link."""
        with OpenFolder.without_links(self.path.parent) as folder:
            status = folder.status(self.path.name)
        return status.st_dev, status.st_ino

    def _location(self) -> tuple[str, int]:
        """Return the name and the flags to open the file with."""
        if self.read_only:
            return self._location_to_look()
        # Neither the file nor a folder above it may be a link: see `HomeFolder`.
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
        if self.create:
            flags |= apsw.SQLITE_OPEN_CREATE
        return str(self.path), flags

    def _location_to_look(self) -> tuple[str, int]:
        """Return them for a file that cannot be written. Without a shared-memory file beside it
        nobody has it open, and it can be taken for one that does not change, if no write waits to
        be moved into it."""
        log = self.path.with_name(f"{self.path.name}-wal")
        shared = self.path.with_name(f"{self.path.name}-shm")
        if not shared.exists() and log.exists() and log.stat().st_size:
            raise ReadOnlyStoreError(
                f"the last writes of {self.path} are in {log.name}, and cannot be read where "
                "nothing may be written",
                remedy="copy the folder to where you may write, and open it there",
            )
        immutable = "" if shared.exists() else "&immutable=1"
        name = f"{self.path.absolute().as_uri()}?mode=ro{immutable}"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW
        return name, flags


def file_size(path: Path) -> int:
    """Return the bytes of a file; 0 when there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
