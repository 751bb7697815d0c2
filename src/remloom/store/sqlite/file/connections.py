"""The connections of this process to one file: the first is let in, the others follow it."""

from __future__ import annotations

import threading
from contextlib import suppress

import apsw

from ....errors import CorruptStoreError, ReadOnlyStoreError, WrongKeyError
from ...tenants.folders import alone_in
from .commit_mark import CommitMark, admit
from .connector import Connector
from .error_translation import closed_error, damaged, translate
from .opened_file import OpenedFile
from .sealing import seal


class FileConnections:
    """Every open connection to one file.

    Attributes:
        sealed: all files are, but one of an earlier version without a key.
    """

    def __init__(self, connector: Connector, file: OpenedFile, mark: CommitMark) -> None:
        self._connector = connector
        self._file = file
        self._mark = mark
        # guards _open
        self._lock = threading.Lock()
        self._open: list[apsw.Connection] = []
        self._admitted = False
        self.sealed = True

    @property
    def count(self) -> int:
        return len(self._open)

    def open(self, cache_mb: int, *, query_only: bool = False) -> apsw.Connection:
        """Open a further connection, which is closed with the others."""
        with self._lock, self._file.opening(), translate(self._file.path):
            if self._file.closed:
                raise closed_error()
            connection = self._connector.open(
                cache_mb,
                sealed=self.sealed,
                checkpoints=self._admitted,  # what is damaged stays as it is
                query_only=query_only,
            )
            self._open.append(connection)
            return connection

    def open_writer(self, cache_mb: int, *, accept: bool) -> apsw.Connection:
        """Open the first connection, and seal the file if it is an older plain one.

        Args:
            accept: open it though acknowledged writes are lost.
        """
        try:
            return self._admit(cache_mb, accept=accept)
        except (WrongKeyError, CorruptStoreError, ReadOnlyStoreError):
            self.close()
            if self._connector.key:
                raise
        # It may be a file of an earlier version, of which SQLite says this and that while another
        # process replaces it. One at a time looks on, as what it finds plain it may replace too:
        # who had that open then would write a log beside a file that knows nothing of it.
        with alone_in(self._file.path.parent, self._connector.busy_timeout):
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
        connector = self._connector
        writer = self.open(cache_mb)
        with translate(self._file.path):
            if not accept:
                log = not connector.read_only and connector.flushes
                admit(writer, self._mark, self._file.path, log=log)
            if not connector.read_only:
                writer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            self._admitted = True
        return writer

    def _open_plain(self, cache_mb: int, *, accept: bool) -> apsw.Connection:
        """Open a plain file to look, or seal it and open that."""
        self.sealed = False
        try:
            plain = self._admit(cache_mb, accept=accept)
        except WrongKeyError:
            raise damaged(self._file.path, "it is not a database") from None
        if self._connector.read_only:
            return plain
        self.close()
        self._admitted = False
        with translate(self._file.path):
            self.sealed = seal(self._file.path)  # if nobody has it open
        return self._admit(cache_mb, accept=accept or not self.sealed)
