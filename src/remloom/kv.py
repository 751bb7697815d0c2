"""The journal: what is kept durably beside the records.

Usage, runs and their receipts, parked items, checkpoints, kept replies, jobs and their leases live
in the tenant's own store, so that they are as sealed and encrypted as the records, and go with the
tenant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from .errors import InvalidInputError

__all__ = ["Journal", "JournalEntry"]


class JournalEntry(Struct, frozen=True):
    """One thing noted. (kind, id) is its key; ids sort as text.

    Raises:
        InvalidInputError: the kind or the id is empty, or has a NUL in it.
    """

    kind: str
    id: str
    data: bytes  # JSON
    # ids of records it speaks of: deleting one of them drops the entry
    subjects: tuple[str, ...] = ()
    version: int = 0  # as stored, counting from 1 at every write; what is given is not looked at

    def __post_init__(self) -> None:
        for part in (self.kind, self.id, *self.subjects):
            if not part or "\0" in part:
                raise InvalidInputError(
                    f"a journal entry cannot be called {self.kind!r} {self.id!r}",
                    remedy="give it a kind and an id, and its subjects theirs, without NUL characters",
                )


class Journal(Protocol):
    """Where entries are noted. A `store.contract.Store` is one.

    Writes are atomic and durable, and seen at once by every reader in every process.
    """

    def note(
        self,
        entries: Sequence[JournalEntry],
        *,
        struck: Sequence[tuple[str, str]] = (),
        expect: int | None = None,
    ) -> None:
        """Strike (kind, id) entries, then write these, in one transaction.

        With `expect`, there is exactly one entry, and everything is done only if its stored version
        is `expect` (0: there is none yet); else nothing is.

        Raises: ConflictError (of another version), InvalidInputError (`expect` without exactly one
            entry), and what `Store.write` raises of a full, busy or read-only store.
        """
        ...

    def journal(
        self,
        kind: str,
        *,
        prefix: str = "",
        after: str = "",
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[JournalEntry]:
        """Entries of one kind whose id starts with `prefix`, by id; the highest first when
        `newest_first`. `after` goes on behind that id, in the order asked for. One range of an
        index."""
        ...

    def journal_entry(self, kind: str, id: str) -> JournalEntry | None:
        """The entry, or None. One index probe."""
        ...
