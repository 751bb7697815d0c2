"""What a file needs besides reads and writes: its log emptied, its free space given back."""

from __future__ import annotations

import os
import threading
import time
from typing import Protocol
from weakref import WeakSet

import apsw

from .connector import file_size
from .error_translation import translate
from .opened_file import OpenedFile
from .write_ahead_log import log_of

# seconds without a write after which space and memory are given back, and the log is emptied
_IDLE = 2.0
_SPARE = 64  # free pages that a file keeps for what is written next
_STEP = 1_000  # free pages given back in one transaction
_EVERY = 0.5  # seconds between looks
_PATIENCE = 20  # looks at nothing before the thread ends


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
        watch(self)

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
            return False  # the next one who reads or writes is told
        finally:
            try:
                if not self._file.closed:
                    self._reset_busy_timeout()
            finally:
                # whatever fails, nobody waits for a lock that is held by nobody
                self._lock.release()

    def rewrite(self) -> None:
        """Write every page again.

        Rows that were moved between pages leave copies in the unused parts of pages, which secure
        deletion does not reach. Free pages are returned to the disk.
        """
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
        """Remove some free pages from the file; returns whether there are more.

        They are zeroed already, by `secure_delete`.
        """
        free = self._connection.pragma("freelist_count")
        if free <= _SPARE:
            return False
        self._connection.execute(f"PRAGMA incremental_vacuum({_STEP})").fetchall()
        left = self._connection.pragma("freelist_count")
        return bool(_SPARE < left < free)  # a file of an earlier version keeps them


class HasUpkeep(Protocol):
    """Something that has work to do when it is idle."""

    def tidy(self) -> bool:
        """Do some of it; False when there is none left. Raises nothing."""
        ...


class _UpkeepThread:
    """Does the upkeep of files while nobody uses them, one thread for the whole process.

    It keeps what it works on no longer than that, so that a database that is dropped can go.
    """

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            # where the thread is not, and the lock may be held
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._kept: WeakSet[HasUpkeep] = WeakSet()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._pause = threading.Event()

    def watch(self, kept: HasUpkeep) -> None:
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
watch = _upkeep.watch  # have `tidy` called twice a second until it has nothing left to do
