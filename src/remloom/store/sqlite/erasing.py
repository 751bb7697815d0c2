"""What is still to be erased once something was deleted: copies in unused parts of pages, and pages in the log.

SQLite zeroes what is deleted, but not the copies that it leaves behind in the unused parts of pages when it moves rows
between them; these go when the file is written anew. A log is emptied when nobody reads a state that is in it. What
cannot be done at once is noted in the journal, in case this process ends before it is.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from ...errors import StoreBusyError, StoreFullError
from ...journal import JournalEntry
from . import journal

if TYPE_CHECKING:
    from .database import Database

__all__ = ["Erasing"]

KIND = "erasing"  # of journal entry
LOG, PAGES = "log", "pages"  # their ids
_HELD = "the write-ahead log still holds it, as somebody reads an older state; it is emptied then"
_TRACES = "unused parts of pages may hold copies of it; they go when the file is written anew, soon or by settle()"
_WAIT = 0.5  # seconds for readers to end, of a write that stands and whose caller waits
SMALL = 4 * 1024 * 1024  # bytes of a file that is written anew at once: some 20 ms
LARGE = 256 * 1024 * 1024  # … in the background: about a second, in which nobody else writes
_REST = 30.0  # seconds after an erasure until then: more may follow


class Erasing:
    """What one database still has to erase."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.snapshot() as cursor:
            self._owed = {entry.id for entry in journal.listed(cursor, KIND, "", "", None, False)}
        self._due = 0.0  # monotonic time from which the file may be written anew
        self.again()

    @property
    def owed(self) -> bool:
        """Whether something is still to be done."""
        return bool(self._owed)

    def begin(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Erase what was deleted just now; returns what the log still holds, and where copies may lie, in words."""
        self._due = time.monotonic() + _REST
        traces = [] if self._write_anew(SMALL) else [_TRACES]
        if not traces:
            self._settled(PAGES)
        else:
            self._owe(PAGES)
        if self._database.checkpoint(_WAIT):
            self._settled(LOG)
            return (), tuple(traces)
        self._owe(LOG)
        return (_HELD,), tuple(traces)

    def again(self) -> None:
        """Do what is still to be done, as far as it can be without waiting or keeping others waiting for long."""
        if self._owed and not self._database.read_only:
            with suppress(StoreBusyError):
                if PAGES in self._owed and time.monotonic() > self._due and self._write_anew(LARGE):
                    self._settled(PAGES)
                    self._owe(LOG)
                if LOG in self._owed and self._database.checkpoint(0.0):
                    self._settled(LOG)

    def settle(self) -> None:
        """Write the file anew if that is still to be done, however long it takes."""
        if PAGES in self._owed and not self._database.read_only:
            self._database.rewrite()
            self._settled(PAGES)
            if not self._database.checkpoint(_WAIT):
                self._owe(LOG)

    def problems(self) -> list[str]:
        """What `check` says of it."""
        self.again()
        if LOG not in self._owed:
            return []
        with self._database.snapshot() as cursor:
            note = journal.entry(cursor, KIND, LOG)
        since = f" since {msgspec.json.decode(note.data)['at'][:16]}" if note else ""
        return [f"log: it holds what was forgotten{since}, as somebody has been reading an older state; let them end"]

    def _write_anew(self, most: int) -> bool:
        """Write the file anew, if it has no more bytes than that."""
        if self._database.size <= most:
            with suppress(StoreBusyError, StoreFullError):
                self._database.rewrite()
                return True
        return False

    def _owe(self, what: str) -> None:
        if what not in self._owed:
            note = JournalEntry(KIND, what, msgspec.json.encode({"at": datetime.now(UTC)}))
            self._database.write(lambda cursor: journal.apply(cursor, [note]))
            self._owed.add(what)

    def _settled(self, what: str) -> None:
        if what in self._owed:
            self._database.write(lambda cursor: journal.apply(cursor, [], [(KIND, what)]))
            self._owed.discard(what)
