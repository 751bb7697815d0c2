"""What is still to be erased: pages in the write-ahead log from before something was deleted.

A log is emptied when nobody reads a state that is in it. Where somebody does, that it must be is noted in the journal,
in case this process ends before it is.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from ...errors import StoreBusyError
from ...journal import JournalEntry
from . import journal

if TYPE_CHECKING:
    from .database import Database

__all__ = ["Erasing"]

NOTE = ("erasing", "log")  # kind and id of the journal entry
_WAIT = 0.5  # seconds for readers to end, of a write that stands and whose caller waits


class Erasing:
    """The log of one database, as far as it holds what was erased."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._owed = journal.entry(database.reader, *NOTE) is not None
        self.again()

    @property
    def owed(self) -> bool:
        """Whether the log could not be emptied yet."""
        return self._owed

    def begin(self) -> tuple[str, ...]:
        """Empty the log after an erasure; returns what is left to do, in words."""
        if self._database.checkpoint(_WAIT):
            self._settled()
            return ()
        if not self._owed:
            at = msgspec.json.encode({"at": datetime.now(UTC)})
            self._database.write(lambda cursor: journal.apply(cursor, [JournalEntry(*NOTE, at)]))
            self._owed = True
        return (
            "the write-ahead log still holds it, for whoever reads an older state; it is emptied when they have done",
        )

    def again(self) -> None:
        """Empty the log if that is still to be done, and can be without waiting."""
        if self._owed and not self._database.read_only:
            with suppress(StoreBusyError):
                if self._database.checkpoint(0.0):
                    self._settled()

    def problems(self) -> list[str]:
        """What `check` says of it."""
        self.again()
        if not self._owed:
            return []
        note = journal.entry(self._database.reader, *NOTE)
        since = f" since {msgspec.json.decode(note.data)['at'][:16]}" if note else ""
        return [f"log: it holds what was forgotten{since}, as somebody has been reading an older state; let them end"]

    def _settled(self) -> None:
        if self._owed:
            self._database.write(lambda cursor: journal.apply(cursor, [], [NOTE]))
            self._owed = False
