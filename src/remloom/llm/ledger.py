"""The ledger: every call of a model, with its tokens, cost and time, in the tenant's journal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from statistics import median

import msgspec
from msgspec import Struct

from ..journal import Journal, JournalEntry

__all__ = ["KIND", "Usage", "UsageLine", "UsageReport", "report", "rows"]

KIND = "usage"  # of journal entry; the id is a UUIDv7, so that they sort by time
_AT_ONCE = 5_000  # entries read from the journal at a time


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

    def entry(self) -> JournalEntry:
        """The call as it is noted."""
        from uuid_utils import uuid7

        return JournalEntry(KIND, str(uuid7()), msgspec.json.encode(self))


class UsageLine(Struct, frozen=True, kw_only=True):
    """Calls added up."""

    name: str  # of the task or the run
    calls: int
    failed: int
    input_tokens: int
    output_tokens: int
    cost: float  # US dollars, of the calls whose price is known
    unpriced: int  # calls that succeeded and whose price is not known
    seconds: float  # median of the calls that succeeded


class UsageReport(Struct, frozen=True, kw_only=True):
    """The ledger added up: by task (most tokens first), by run (newest first; calls of no run apart), and in all."""

    tasks: tuple[UsageLine, ...]
    runs: tuple[UsageLine, ...]
    total: UsageLine


def rows(journal: Journal, *, run: str | None = None, since: datetime | None = None) -> list[Usage]:
    """Every call, in the order in which they ended; those of one run, those that began since then."""
    decoder = msgspec.json.Decoder(Usage)
    found: list[Usage] = []
    after = ""
    while page := journal.journal(KIND, after=after, limit=_AT_ONCE):
        after = page[-1].id
        found += [decoder.decode(entry.data) for entry in page]
    begin = since or datetime.min.replace(tzinfo=UTC)
    return [usage for usage in found if usage.at >= begin and run in (None, usage.run)]


def report(usages: Sequence[Usage]) -> UsageReport:
    """The calls added up."""
    tasks: dict[str, list[Usage]] = {}
    runs: dict[str, list[Usage]] = {}
    for usage in usages:
        tasks.setdefault(usage.task, []).append(usage)
        runs.setdefault(usage.run, []).append(usage)
    lines = [_line(name, some) for name, some in tasks.items()]
    newest = sorted(runs.items(), key=lambda pair: max(usage.at for usage in pair[1]), reverse=True)
    return UsageReport(
        tasks=tuple(sorted(lines, key=lambda line: (-line.input_tokens - line.output_tokens, line.name))),
        runs=tuple(_line(name, some) for name, some in newest if name),
        total=_line("total", usages),
    )


def _line(name: str, usages: Iterable[Usage]) -> UsageLine:
    done = list(usages)
    good = [usage for usage in done if not usage.error]
    return UsageLine(
        name=name,
        calls=len(done),
        failed=len(done) - len(good),
        input_tokens=sum(usage.input_tokens for usage in done),
        output_tokens=sum(usage.output_tokens for usage in done),
        cost=sum(usage.cost or 0.0 for usage in done),
        unpriced=sum(usage.cost is None and usage.output_tokens > 0 for usage in done),
        seconds=median(usage.seconds for usage in good) if good else 0.0,
    )
