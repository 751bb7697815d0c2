"""The ledger: every call of a model, with its tokens, cost and time, in the tenant's journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

import msgspec
from msgspec import Struct

from ..kv import Entry, KeyRange, KeyValue

__all__ = [
    "DAY",
    "KIND",
    "Day",
    "Spent",
    "Usage",
    "UsageLine",
    "UsageReport",
    "added",
    "report",
    "rows",
]

# of journal entry; the id of a call is a UUIDv7, so that they sort by time
KIND, DAY = "usage", "usage.day"
_AT_ONCE = 5_000  # entries read from the journal at a time


class UsageLine(Struct, frozen=True, kw_only=True):
    """Calls added up."""

    name: str = ""  # of the task or the run
    calls: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: float  # US dollars, of the calls whose price is known
    unpriced: int  # calls that succeeded and whose price is not known
    seconds: float  # median of the calls that succeeded


class Usage(Struct, frozen=True, kw_only=True):
    """One call of a model, every attempt of it included. Nothing of what was said is in it."""

    task: str
    model: str
    at: datetime  # when it began
    seconds: float  # until it ended, with waits between attempts, without those for a free place
    run: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None  # US dollars; None: the price is not known
    error: str = ""  # name of the error it ended with; empty: it went well

    @property
    def line(self) -> UsageLine:
        """The call as a line of a report."""
        return UsageLine(
            calls=1,
            failed=bool(self.error),
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost=self.cost or 0.0,
            unpriced=self.cost is None and not self.error,
            seconds=self.seconds,
        )

    def entry(self) -> Entry:
        """The call as it is noted."""
        from uuid_utils import uuid7

        return Entry(KIND, str(uuid7()), msgspec.json.encode(self))


class Day(Struct, frozen=True, kw_only=True):
    """The calls of a day, a task, a model and a run, once they are old: see `ledger_rollup`."""

    task: str
    model: str
    run: str
    at: datetime  # when the last of them began
    line: UsageLine


Spent: TypeAlias = Usage | Day


class UsageReport(Struct, frozen=True, kw_only=True):
    """The ledger added up: by task (most tokens first), by run (newest first; calls of no run
    apart), and in all."""

    tasks: tuple[UsageLine, ...]
    runs: tuple[UsageLine, ...]
    total: UsageLine


def rows(
    journal: KeyValue, *, run: str | None = None, since: datetime | None = None
) -> list[Spent]:
    """Every call, in the order in which they ended; those of one run, those that began since then.
    Old ones come first, a day's as one."""
    days = msgspec.json.Decoder(Day)
    calls = msgspec.json.Decoder(Usage)
    found: list[Spent] = [days.decode(entry.value) for entry in _entries(journal, DAY)]
    found += [calls.decode(entry.value) for entry in _entries(journal, KIND)]
    begin = since or datetime.min.replace(tzinfo=UTC)
    return [spent for spent in found if spent.at >= begin and run in (None, spent.run)]


def report(spent: Sequence[Spent]) -> UsageReport:
    """The calls added up."""
    tasks: dict[str, list[Spent]] = {}
    runs: dict[str, list[Spent]] = {}
    for some in spent:
        tasks.setdefault(some.task, []).append(some)
        runs.setdefault(some.run, []).append(some)
    lines = [_line(name, found) for name, found in tasks.items()]
    newest = sorted(runs.items(), key=lambda pair: max(some.at for some in pair[1]), reverse=True)
    return UsageReport(
        tasks=tuple(
            sorted(lines, key=lambda line: (-line.input_tokens - line.output_tokens, line.name))
        ),
        runs=tuple(_line(name, found) for name, found in newest if name),
        total=_line("total", spent),
    )


def added(name: str, lines: Iterable[UsageLine]) -> UsageLine:
    """Lines added up to one."""
    parts = list(lines)
    return UsageLine(
        name=name,
        calls=sum(line.calls for line in parts),
        failed=sum(line.failed for line in parts),
        input_tokens=sum(line.input_tokens for line in parts),
        output_tokens=sum(line.output_tokens for line in parts),
        cost=sum(line.cost for line in parts),
        unpriced=sum(line.unpriced for line in parts),
        seconds=_median([(line.seconds, line.calls - line.failed) for line in parts]),
    )


def _line(name: str, spent: Iterable[Spent]) -> UsageLine:
    return added(name, (some.line for some in spent))


def _median(times: Iterable[tuple[float, int]]) -> float:
    """Of times that occur so often; 0 when there are none."""
    ordered = sorted(times)
    count = sum(often for _, often in ordered)
    middle = []
    for place in ((count - 1) // 2, count // 2) if count else ():
        below = 0
        for seconds, often in ordered:
            below += often
            if place < below:
                middle.append(seconds)
                break
    return sum(middle) / len(middle) if middle else 0.0


def _entries(journal: KeyValue, kind: str) -> Iterator[Entry]:
    after = ""
    while page := journal.list(kind, KeyRange(after=after, limit=_AT_ONCE)):
        after = page[-1].key
        yield from page
