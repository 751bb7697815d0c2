"""What a write rests on, and the errors for those who came too late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import ChangedError, ConflictError, GoneError, InvalidInputError
from ...kv import Entry
from ..batch import Preconditions
from ..encoding import micros


def record_ids(expected: Preconditions) -> list[str]:
    """List the records that the preconditions are about."""
    return list(dict.fromkeys((*expected.existing, *expected.records)))


def check_records(expected: Preconditions, updated: Mapping[str, int]) -> None:
    """Refuse if records are missing, or were updated at another time than expected.

    Args:
        updated: when each stored record was updated, by id, in microseconds since 1970.

    Raises:
        GoneError, ChangedError: so it is.
    """
    if missing := tuple(id for id in expected.existing if id not in updated):
        raise GoneError(
            "what this was to rest on was forgotten meanwhile",
            remedy="start it again: it goes on without",
            ids=missing,
        )
    for id, at in expected.records.items():
        if updated.get(id) != micros(at):
            raise changed(f"the record {id}")


def changed(what: str) -> ChangedError:
    """Make the error for what somebody else changed first."""
    return ChangedError(f"{what} was changed meanwhile", remedy="try again")


def only_entry(entries: Sequence[Entry]) -> Entry:
    """Return the one entry whose version is expected.

    Raises:
        InvalidInputError: there is none, or there are several.
    """
    if len(entries) != 1:
        raise InvalidInputError(
            f"an expected version is about one entry, not {len(entries)}",
            remedy="put them one by one",
        )
    return entries[0]


def version_conflict(entry: Entry, version: int, expected: int) -> ConflictError:
    """Make the error for an entry that somebody else wrote first."""
    return ConflictError(
        f"entry {entry.namespace} {entry.key!r} has version {version}, not {expected}: another "
        "wrote it first",
        remedy="read it again, and decide anew",
        kind=entry.namespace,
        id=entry.key,
        found=version,
        expected=expected,
    )
