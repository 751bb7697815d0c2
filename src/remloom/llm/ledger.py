"""What a store keeps of calls of models: the ledger, with the tokens, cost and time of each call,
old ones added up by day; and replies while a run goes on, so that it does not pay twice when
resumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from ..errors import ConflictError
from ..kv import Entry, KeyRange, KeyValue, quoting_refs
from .contract import Reply, Request

# Namespaces of the entries. The key of a call is a UUIDv7, so that they sort by time; that of a
# reply is the run's id, a slash, and what `identify` says of its request.
KIND = "usage"
DAY = "usage.day"
REPLY = "reply"
_ADDED_AT_ONCE = 1_000  # calls added up at a time
_AT_ONCE = 5_000  # entries read at a time
_DELETED_AT_ONCE = 1_000  # replies deleted in one transaction


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
    """One call of a model, with every attempt of it. It has nothing of the prompt or the reply."""

    task: str
    model: str
    at: datetime  # when it began
    # until it ended: with the waits between attempts, without those for other requests
    seconds: float
    run: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None  # US dollars; None: the price is not known
    error: str = ""  # name of the error it ended with; empty: it went well

    @property
    def line(self) -> UsageLine:
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
        """Make the entry of the call."""
        from uuid_utils import uuid7

        return Entry(KIND, str(uuid7()), msgspec.json.encode(self))


class Day(Struct, frozen=True, kw_only=True):
    """The calls of a day, a task, a model and a run, once they are old: see `roll_up`."""

    task: str
    model: str
    run: str
    at: datetime  # when the last of them began
    line: UsageLine


Spent: TypeAlias = Usage | Day


class UsageReport(Struct, frozen=True, kw_only=True):
    """The ledger added up."""

    tasks: tuple[UsageLine, ...]  # most tokens first
    runs: tuple[UsageLine, ...]  # newest first; without the calls of no run
    total: UsageLine


def rows(kv: KeyValue, *, run: str | None = None, since: datetime | None = None) -> list[Spent]:
    """List the calls, of this run or that began since then, in the order in which they ended; old
    ones come first, a day's as one."""
    days = msgspec.json.Decoder(Day)
    calls = msgspec.json.Decoder(Usage)
    spent: list[Spent] = [days.decode(entry.value) for entry in _entries(kv, DAY)]
    spent += [calls.decode(entry.value) for entry in _entries(kv, KIND)]
    begin = since or datetime.min.replace(tzinfo=UTC)
    return [one for one in spent if one.at >= begin and run in (None, one.run)]


def report(spent: Sequence[Spent]) -> UsageReport:
    """Add up the calls by task, by run, and in all."""
    by_task: dict[str, list[Spent]] = {}
    by_run: dict[str, list[Spent]] = {}
    for one in spent:
        by_task.setdefault(one.task, []).append(one)
        by_run.setdefault(one.run, []).append(one)
    tasks = [_line(name, some) for name, some in by_task.items()]
    tasks.sort(key=lambda line: (-line.input_tokens - line.output_tokens, line.name))
    runs = sorted(by_run, key=lambda run: max(one.at for one in by_run[run]), reverse=True)
    return UsageReport(
        tasks=tuple(tasks),
        runs=tuple(_line(run, by_run[run]) for run in runs if run),
        total=_line("total", spent),
    )


def sum_lines(name: str, lines: Iterable[UsageLine]) -> UsageLine:
    """Add lines up to one."""
    from statistics import median

    parts = list(lines)
    times = [line.seconds for line in parts for _ in range(line.calls - line.failed)]
    return UsageLine(
        name=name,
        calls=sum(line.calls for line in parts),
        failed=sum(line.failed for line in parts),
        input_tokens=sum(line.input_tokens for line in parts),
        output_tokens=sum(line.output_tokens for line in parts),
        cost=sum(line.cost for line in parts),
        unpriced=sum(line.unpriced for line in parts),
        seconds=median(times) if times else 0.0,
    )


def _line(name: str, spent: Iterable[Spent]) -> UsageLine:
    return sum_lines(name, (one.line for one in spent))


def _entries(kv: KeyValue, namespace: str) -> Iterator[Entry]:
    after = ""
    while page := kv.list(namespace, KeyRange(after=after, limit=_AT_ONCE)):
        after = page[-1].key
        yield from page


class _Group(NamedTuple):
    day: date
    task: str
    model: str
    run: str

    @property
    def key(self) -> str:
        return "\n".join((self.day.isoformat(), self.task, self.model, self.run))


_Calls = list[tuple[Entry, Usage]]


def roll_up(kv: KeyValue, days: int) -> None:
    """Add up the calls of days that ended `days` ago, to one entry for each group of them. Each is
    deleted in the transaction that counts it."""
    first_kept = (datetime.now(UTC) - timedelta(days=days)).date()
    while groups := _oldest(kv, first_kept):
        for group, calls in groups.items():
            # another process is at it
            if not _added(kv, group, calls):
                return


def _oldest(kv: KeyValue, first_kept: date) -> dict[_Group, _Calls]:
    groups: dict[_Group, _Calls] = {}
    # keys sort by time, so the first call that is not old ends the old ones
    for entry in kv.list(KIND, KeyRange(limit=_ADDED_AT_ONCE)):
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


# -- kept replies --------------------------------------------------------------------------------


def identify(model: str, request: Request) -> str:
    """Hash a request to a model: the same for the same request, and for no other."""
    return sha256(msgspec.json.encode((model, request))).hexdigest()[:40]


def reply_entry(run: str, identity: str, reply: Reply, subjects: Sequence[str]) -> Entry:
    """Make the entry of a reply; forgetting one of the records it is about deletes it, and so does
    making one again without what is forgotten."""
    key = f"{run}/{identity}"
    return Entry(REPLY, key, msgspec.json.encode(reply), refs=quoting_refs(subjects))


def find_reply(kv: KeyValue, run: str, identity: str) -> Reply | None:
    """Get the reply that this run has been given before, if any."""
    entry = kv.get(REPLY, f"{run}/{identity}")
    return msgspec.json.decode(entry.value, type=Reply) if entry else None


def delete_replies(kv: KeyValue, run: str) -> None:
    """Delete every reply of a run that is over."""
    while page := kv.list(REPLY, KeyRange(prefix=f"{run}/", limit=_DELETED_AT_ONCE)):
        kv.put([], deleted=[(REPLY, entry.key) for entry in page])
