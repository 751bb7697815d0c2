"""What a write rests on, and what is told to those who came too late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import ChangedError, ConflictError, GoneError, InvalidInputError
from ..kv import JournalEntry
from .contract import Preconditions
from .encoding import micros

__all__ = ["changed", "compare", "conflict", "expected", "ids_of"]


def ids_of(expected: Preconditions) -> list[str]:
    """The records it is about."""
    return list(dict.fromkeys((*expected.there, *expected.records)))


def compare(expected: Preconditions, found: Mapping[str, int]) -> None:
    """Refuse if records are missing, or were updated at another time than expected; `found` has the
    times by id."""
    if missing := tuple(id for id in expected.there if id not in found):
        raise GoneError(
            "what this was to rest on was forgotten meanwhile",
            remedy="start it again: it goes on without",
            ids=missing,
        )
    for id, at in expected.records.items():
        if found.get(id) != micros(at):
            raise changed(f"the record {id}")


def changed(what: str) -> ChangedError:
    """Somebody else was quicker."""
    return ChangedError(f"{what} was changed meanwhile", remedy="try again")


def expected(entries: Sequence[JournalEntry]) -> JournalEntry:
    """The one entry whose version is expected.

    Raises:
        InvalidInputError: there is none, or there are several.
    """
    if len(entries) != 1:
        raise InvalidInputError(
            f"expect is about one entry, not {len(entries)}", remedy="note them one by one"
        )
    return entries[0]


def conflict(item: JournalEntry, found: int, expect: int) -> ConflictError:
    """Somebody else wrote the entry first."""
    return ConflictError(
        f"journal entry {item.kind} {item.id!r} has version {found}, not {expect}: another wrote it first",
        remedy="read it again, and decide anew", kind=item.kind, id=item.id, found=found, expected=expect,
    )  # fmt: skip
