"""Folding: what the ledger says of old calls is added up by day, so that it does not grow for ever."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import msgspec

from ..errors import ConflictError
from ..kv import Entry, KeyRange, KeyValue
from .ledger import DAY, KIND, Day, Spent, Usage, added

__all__ = ["fold"]

_AT_ONCE = 1_000  # calls read from the journal at a time


def fold(journal: KeyValue, days: int) -> int:
    """Add up the calls of days that ended so many days ago, those of a day, a task, a model and a
    run to one entry; returns how many calls that were.

    A call goes in the transaction that counts it: whatever happens, none is lost and none counted
    twice.
    """
    first = (datetime.now(UTC) - timedelta(days=days)).date()
    folded = 0
    while old := _old(journal, first):
        for (day, *_), entries in old.items():
            if not _folded(journal, day, entries):
                return folded  # somebody else is at it
            folded += len(entries)
    return folded


def _old(
    journal: KeyValue, first: date
) -> dict[tuple[date, str, str, str], list[tuple[Entry, Usage]]]:
    """The oldest calls from before that day, by what they are folded by."""
    found: dict[tuple[date, str, str, str], list[tuple[Entry, Usage]]] = {}
    for entry in journal.list(KIND, KeyRange(limit=_AT_ONCE)):  # by time
        usage = msgspec.json.decode(entry.value, type=Usage)
        day = usage.at.astimezone(UTC).date()
        if day >= first:
            break
        found.setdefault((day, usage.task, usage.model, usage.run), []).append((entry, usage))
    return found


def _folded(journal: KeyValue, day: date, calls: list[tuple[Entry, Usage]]) -> bool:
    """Put calls of one kind into their day; False when somebody else changed it meanwhile."""
    usage = calls[0][1]
    id = "\n".join((day.isoformat(), usage.task, usage.model, usage.run))
    stored = journal.get(DAY, id)
    before = [msgspec.json.decode(stored.value, type=Day)] if stored else []
    spent: list[Spent] = [*before, *(call for _, call in calls)]
    whole = Day(
        task=usage.task,
        model=usage.model,
        run=usage.run,
        at=max(some.at for some in spent),
        line=added("", (some.line for some in spent)),
    )
    try:
        journal.put(
            [Entry(DAY, id, msgspec.json.encode(whole))],
            deleted=[(KIND, entry.key) for entry, _ in calls],
            expected_version=stored.version if stored else 0,
        )
    except ConflictError:
        return False
    return True
