"""What is still to be erased once something was deleted: copies in unused parts of pages, and pages
in the log.

SQLite zeroes what is deleted, but not the copies that it leaves behind in the unused parts of pages
when it moves rows between them; these go when the file is written anew. A log is emptied when
nobody reads a state that is in it. That the file is to be written anew is noted in the transaction
that deletes, in case this process ends before it is done. Once that stands, its caller gets a
receipt: whatever cannot be done at once is done later.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from ...errors import StoreBusyError, StoreFullError
from ...kv import ALL_KEYS, Entry
from ..contract import ERASURES
from . import kv

if TYPE_CHECKING:
    import apsw

    from .database import Database

__all__ = ["Erasures"]

LOG, PAGES = "log", "pages"  # keys of entries
_HELD = "the write-ahead log still holds it, as somebody reads an older state; it is emptied then"
_TRACES = "unused parts of pages may hold copies of it; they go when the file is written anew, soon or by optimize()"
_WAIT = 0.5  # seconds for readers to end, of a write that stands and whose caller waits
SMALL = 4 * 1024 * 1024  # bytes of a file that is written anew at once: some 20 ms
LARGE = 256 * 1024 * 1024  # … in the background: about a second, in which nobody else writes
_LATER = (StoreBusyError, StoreFullError)  # it is tried again
_REST = 30.0  # seconds after an erasure until then: more may follow


class Erasures:
    """What one database still has to erase."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()  # one thread erases at a time
        with database.snapshot() as cursor:
            self._unfinished = {entry.key for entry in kv.list_entries(cursor, ERASURES, ALL_KEYS)}
        # monotonic time from which the file may be written anew
        self._due = 0.0
        self.retry()

    @property
    def unfinished(self) -> bool:
        """Whether something is still to be done."""
        return bool(self._unfinished)

    def record(self, cursor: apsw.Cursor) -> None:
        """Record what a deletion leaves behind, in its transaction. `begin` is called once that is
        committed."""
        kv.put(cursor, [_entry(PAGES)])

    def begin(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Erase what was deleted just now; returns what the log still holds, and where copies may
        lie, in words."""
        with self._lock:
            self._due = time.monotonic() + _REST
            self._unfinished.add(PAGES)
            traces = () if self._write_anew(SMALL) else (_TRACES,)
            return (() if self._empty_log(_WAIT) else (_HELD,)), traces

    def retry(self) -> None:
        """Do what is still to be done, as far as it can be without waiting or keeping others
        waiting for long."""
        if not self._unfinished or self._database.read_only:
            return
        with self._lock:
            if (
                PAGES in self._unfinished
                and time.monotonic() > self._due
                and self._write_anew(LARGE)
            ):
                self._unfinished.add(LOG)
            if LOG in self._unfinished:
                self._empty_log(0.0)

    def finish(self) -> None:
        """Write the file anew if that is still to be done, however long it takes.

        Raises:
            StoreBusyError, StoreFullError: it cannot be done now.
        """
        with self._lock:
            if PAGES in self._unfinished and not self._database.read_only:
                self._rewrite()
                self._empty_log(_WAIT)

    def problems(self) -> list[str]:
        """What `check` says of it."""
        self.retry()
        if LOG not in self._unfinished:
            return []
        note = self._noted(LOG)
        since = f" since {msgspec.json.decode(note.value)['at'][:16]}" if note else ""
        return [
            f"log: it holds what was forgotten{since}, as somebody has been reading an older state; let them end"
        ]

    def _write_anew(self, most: int) -> bool:
        """Write the file anew, if it has no more bytes than that."""
        if self._database.size <= most:
            with suppress(*_LATER):
                self._rewrite()
                return True
        return False

    def _rewrite(self) -> None:
        noted = self._noted(PAGES)
        self._database.rewrite()
        self._finished(PAGES, noted)

    def _empty_log(self, wait: float) -> bool:
        """Empty the log; what is noted says since when that could not be done."""
        noted = self._noted(LOG) if LOG in self._unfinished else None
        if emptied := self._database.checkpoint(wait):
            if LOG in self._unfinished:
                self._finished(LOG, noted)
        else:
            self._unfinished.add(LOG)
            if noted is None:
                with suppress(*_LATER):
                    self._database.write(lambda cursor: kv.put(cursor, [_entry(LOG)]))
        return emptied

    def _noted(self, what: str) -> Entry | None:
        with self._database.snapshot() as cursor:
            return kv.get(cursor, ERASURES, what)

    def _finished(self, what: str, noted: Entry | None) -> None:
        """It is done, but for what was deleted since this was noted."""

        def delete(cursor: apsw.Cursor) -> bool:
            entry = kv.get(cursor, ERASURES, what)
            if entry is not None and (noted is None or entry.value != noted.value):
                return False
            kv.put(cursor, [], [(ERASURES, what)])
            return True

        with suppress(*_LATER):
            if self._database.write(delete):
                self._unfinished.discard(what)


def _entry(what: str) -> Entry:
    return Entry(ERASURES, what, msgspec.json.encode({"at": datetime.now(UTC)}))
