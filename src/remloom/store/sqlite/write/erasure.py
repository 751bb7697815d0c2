"""Erases the copies of deleted rows: in unused parts of pages, and in the write-ahead log.

SQLite zeroes deleted rows, but not the copies that it leaves in the unused parts of pages when it
moves rows between them; these go when the file is rewritten. A log is emptied when nobody reads a
state that is in it. That the file is to be rewritten is recorded in the transaction that deletes,
in case this process ends before it is done. Once that is committed, its caller gets a receipt:
whatever cannot be erased at once is erased later.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from datetime import UTC, datetime

import apsw
import msgspec

from ....errors import StoreBusyError, StoreFullError
from ....kv import ALL_KEYS, Entry
from ...contract import ERASURES
from ..file.database import SqliteDatabase
from . import kv

# Keys of the entries that record what is to be erased.
LOG = "log"
PAGES = "pages"

_IN_LOG = "the write-ahead log still holds it, as somebody reads an older state; it is emptied then"
_TRACES = (
    "unused parts of pages may hold copies of it; they go when the file is written anew, soon or "
    "by optimize()"
)
_WAIT = 0.5  # seconds for readers to end, while the caller of a committed write waits
SMALL = 4 * 1024 * 1024  # bytes of a file that is rewritten at once: some 20 ms
# Bytes of a file that is rewritten in the background: about a second, in which nobody else writes.
LARGE = 256 * 1024 * 1024
_TRY_LATER = (StoreBusyError, StoreFullError)
_DELAY = 30.0  # seconds from a deletion until then, as more deletions may follow


class Erasures:
    """The copies that are still to be erased from one database."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._lock = threading.Lock()  # one thread erases at a time
        with database.snapshot() as cursor:
            self._unfinished = {entry.key for entry in kv.list_entries(cursor, ERASURES, ALL_KEYS)}
        # Monotonic time from which the file may be rewritten in the background.
        self._due = 0.0
        self.retry()

    @property
    def unfinished(self) -> bool:
        return bool(self._unfinished)

    def record(self, cursor: apsw.Cursor) -> None:
        """Record what a deletion leaves behind, in its transaction; `begin` follows its commit."""
        kv.put(cursor, [_new_entry(PAGES)])

    def begin(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Erase what was deleted just now; returns a line if the log still has it, and a line if
        unused parts of pages may."""
        with self._lock:
            self._due = time.monotonic() + _DELAY
            self._unfinished.add(PAGES)
            traces = () if self._rewrite_up_to(SMALL) else (_TRACES,)
            pending = () if self._empty_log(_WAIT) else (_IN_LOG,)
            return pending, traces

    def retry(self) -> None:
        """Erase what can be without waiting, and without making others wait for long."""
        if not self._unfinished or self._database.read_only:
            return
        with self._lock:
            is_due = PAGES in self._unfinished and time.monotonic() > self._due
            # The rewritten pages are in the log first.
            if is_due and self._rewrite_up_to(LARGE):
                self._unfinished.add(LOG)
            if LOG in self._unfinished:
                self._empty_log(0.0)

    def finish(self) -> None:
        """Rewrite the file if that is still to be done, however long it takes; StoreBusyError or
        StoreFullError if it cannot be done now."""
        with self._lock:
            if PAGES in self._unfinished and not self._database.read_only:
                self._rewrite()
                self._empty_log(_WAIT)

    def problems(self) -> list[str]:
        """List for `check` what could not be erased yet."""
        self.retry()
        if LOG not in self._unfinished:
            return []
        entry = self._entry(LOG)
        since = f" since {msgspec.json.decode(entry.value)['at'][:16]}" if entry else ""
        return [
            f"log: it holds what was forgotten{since}, as somebody has been reading an older state"
            "; let them end"
        ]

    def _rewrite_up_to(self, size: int) -> bool:
        """Rewrite the file, if it has no more bytes than that; returns whether that was done."""
        if self._database.size <= size:
            with suppress(*_TRY_LATER):
                self._rewrite()
                return True
        return False

    def _rewrite(self) -> None:
        entry = self._entry(PAGES)
        self._database.upkeep.rewrite()
        self._delete_entry(PAGES, entry)

    def _empty_log(self, wait: float) -> bool:
        """Empty the log; an entry records since when that was not possible."""
        entry = self._entry(LOG) if LOG in self._unfinished else None
        emptied = self._database.upkeep.checkpoint(wait)
        if emptied:
            if LOG in self._unfinished:
                self._delete_entry(LOG, entry)
        else:
            self._unfinished.add(LOG)
            if entry is None:
                with suppress(*_TRY_LATER):
                    self._database.write(lambda cursor: kv.put(cursor, [_new_entry(LOG)]))
        return emptied

    def _entry(self, key: str) -> Entry | None:
        with self._database.snapshot() as cursor:
            return kv.get(cursor, ERASURES, key)

    def _delete_entry(self, key: str, before: Entry | None) -> None:
        """Delete an entry whose work is done, as it was read before that work."""

        def delete(cursor: apsw.Cursor) -> bool:
            entry = kv.get(cursor, ERASURES, key)
            # Another deletion since then has work of its own to do.
            if entry is not None and (before is None or entry.value != before.value):
                return False
            kv.put(cursor, [], [(ERASURES, key)])
            return True

        with suppress(*_TRY_LATER):
            if self._database.write(delete):
                self._unfinished.discard(key)


def _new_entry(key: str) -> Entry:
    return Entry(ERASURES, key, msgspec.json.encode({"at": datetime.now(UTC)}))
