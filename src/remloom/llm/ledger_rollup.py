"""Adding up the ledger's old calls by day, so that it does not grow for ever."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

import msgspec

from ..errors import ConflictError
from ..kv import Entry, KeyRange, KeyValue
from .ledger import DAY, KIND, Day, Spent, Usage, sum_lines

_AT_ONCE = 1_000  # calls read at a time


class _Group(NamedTuple):
    """The key by which calls are added up."""

    day: date
    task: str
    model: str
    run: str

    @property
    def key(self) -> str:
        return "\n".join((self.day.isoformat(), self.task, self.model, self.run))


_Calls = list[tuple[Entry, Usage]]


def roll_up(kv: KeyValue, days: int) -> int:
    """Add up the calls of days that ended `days` ago, to one entry for each group of them.

    A call is deleted in the transaction that counts it: whatever happens, none is lost and none
    counted twice. Returns how many calls were added up.
    """
    first_kept = (datetime.now(UTC) - timedelta(days=days)).date()
    count = 0
    while groups := _oldest(kv, first_kept):
        for group, calls in groups.items():
            # another process is at it
            if not _added(kv, group, calls):
                return count
            count += len(calls)
    return count


def _oldest(kv: KeyValue, first_kept: date) -> dict[_Group, _Calls]:
    """The oldest calls from before a day, in groups."""
    groups: dict[_Group, _Calls] = {}
    # keys sort by time, so the first call that is not old ends the old ones
    for entry in kv.list(KIND, KeyRange(limit=_AT_ONCE)):
        usage = msgspec.json.decode(entry.value, type=Usage)
        day = usage.at.astimezone(UTC).date()
        if day >= first_kept:
            break
        group = _Group(day, usage.task, usage.model, usage.run)
        groups.setdefault(group, []).append((entry, usage))
    return groups


def _added(kv: KeyValue, group: _Group, calls: _Calls) -> bool:
    """Add calls to the entry of their group; False when it was changed meanwhile."""
    stored = kv.get(DAY, group.key)
    spent: list[Spent] = [usage for _, usage in calls]
    if stored:
        spent.insert(0, msgspec.json.decode(stored.value, type=Day))
    total = Day(
        task=group.task,
        model=group.model,
        run=group.run,
        at=max(one.at for one in spent),
        line=sum_lines("", (one.line for one in spent)),
    )
    try:
        kv.put(
            [Entry(DAY, group.key, msgspec.json.encode(total))],
            deleted=[(KIND, entry.key) for entry, _ in calls],
            expected_version=stored.version if stored else 0,
        )
    except ConflictError:
        return False
    return True
