"""Lists of jobs, runs, grants, keys and the like, a line each, and what a model was used for."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Group, RenderableType
from rich.text import Text

from ..frame.text_formats import byte_size, format_time, short_id
from .runs import counted
from .tables import draw_list, draw_table

if TYPE_CHECKING:
    from ....jobs import Job
    from ....llm import UsageLine, UsageReport
    from ....model import TenantInfo
    from ....tenancy.audit import AuditEntry

_MOST_COUNTS = 6  # numbers of a result; --json has them all


def job_line(job: Job) -> str:
    error = "; ".join(part.strip() for part in job.error.splitlines())
    if job.state == "running":
        # a running job with an error lost its lease; another worker has it
        return f"{job.id}: {error or format_call(job)}"
    if job.state == "parked":
        return f"{job.id}: parked: {error}"
    if error:
        return f"{job.id}: failed, again from {format_time(job.not_before)}: {error}"
    return f"{job.id}: {outcome(job)}"


def format_call(job: Job) -> str:
    arguments = " ".join(f"{name}={_value(value)}" for name, value in job.payload.items())
    return f"{job.kind} {arguments}".rstrip()


def outcome(job: Job) -> str:
    if job.error:
        return f"failed: {job.error.splitlines()[0]}"
    if job.finished_at is None:
        return ""
    done = f"done {format_time(job.finished_at)}"
    counts = counted(dict(_counts(job.result)[:_MOST_COUNTS]))
    return f"{done}: {counts}" if counts else done


def _counts(result: Any) -> list[tuple[str, int]]:
    """List the counts in a result; of a run, those of its work and of its receipt."""
    if not isinstance(result, dict):
        return []
    run = result.get("run")
    if isinstance(run, dict):
        return [*_counts(run.get("counts")), *_counts(run.get("receipt"))]
    # `bool` is an `int`, but a flag is not a count
    numbers = [(name, value) for name, value in result.items() if type(value) is int]
    return [(name, value) for name, value in numbers if value]


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def schedule_line(job: Job) -> str:
    """Spell the schedule of a job: `At 02:00 every day (UTC)`."""
    from ....jobs.queue import in_words

    return f"{in_words(job.every)} ({job.zone})"


SHOWN = 3  # records of a call; --json has more


def _records(entry: AuditEntry) -> str:
    more = len(entry.records) - SHOWN
    return "\n".join([*entry.records[:SHOWN], *([f"and {more} more"] if more > 0 else [])])


def _encrypted(tenant: TenantInfo) -> str:
    # of a damaged tenant it cannot be known
    if tenant.damaged:
        return "damaged"
    return "yes" if tenant.encrypted else "no"


draw_jobs = partial(
    draw_list,
    columns={
        "job": "id",
        "does": format_call,
        "state": "state",
        "not before": "not_before",
        "last outcome": outcome,
    },
    none="no jobs",
)
draw_schedule = partial(
    draw_list,
    columns={
        "name": "id",
        "does": format_call,
        "when": schedule_line,
        "next": "not_before",
        "last outcome": outcome,
    },
    none='nothing is scheduled: remloom schedule add "0 2 * * *" affinity',
)
draw_runs = partial(
    draw_list,
    columns={
        "run": lambda run: short_id(run.id),
        "kind": "kind",
        "state": "state",
        "began": lambda run: f"{run.started_at:%Y-%m-%d %H:%M}",
        "did": lambda run: counted(run.counts),
        "wrote": lambda run: counted(run.receipt),
    },
    none="nothing ran yet",
)
draw_grants = partial(
    draw_list,
    columns={
        "id": "id",
        "to": "to",
        "may": "may",
        "schemas": "schemas",
        "where": "where",
        "ends": "until",
    },
    none="no grants",
)
draw_received = partial(
    draw_list,
    columns={
        "tenant": "tenant",
        "may": lambda grant: grant.may or grant.unreadable,
        "schemas": "schemas",
        "ends": "until",
    },
    none="no grants",
)
draw_keys = partial(
    draw_list,
    columns={
        "id": "id",
        "name": "name",
        "tenant": lambda key: key.tenant or "(all)",
        "scopes": "scopes",
        "made": "created_at",
        "ends": "expires_at",
        "last used": lambda key: key.last_used_at or "never",
    },
    none="no API keys",
)
draw_audit = partial(
    draw_list,
    columns={
        "at": "at",
        "key": "key_id",
        "operation": "operation",
        "outcome": "outcome",
        "took": lambda entry: f"{entry.ms:.1f} ms",
        "records": _records,
    },
    right=("took",),
    none="no calls",
)
draw_tenants = partial(
    draw_list,
    columns={
        "tenant": "name",
        "encrypted": _encrypted,
        "on disk": lambda tenant: byte_size(tenant.bytes),
    },
    right=("on disk",),
)
draw_candidates = partial(
    draw_list,
    columns={"extra": "extra", "kind": "kind", "values": "values", "evidence": "pieces"},
    right=("evidence",),
    none="no extra has three independent pieces of evidence yet",
)
draw_learned = partial(
    draw_list,
    columns={"what": "kind", "of": "name", "before": "prior", "now": "now", "answers": "count"},
    right=("before", "now", "answers"),
    none="nothing yet: confirm, correct or reject what is believed",
)
draw_sessions = partial(
    draw_list,
    columns={
        "session": "name",
        "answered": lambda session: len(session.asked),
        "open": lambda session: session.open.question if session.open else "",
    },
    right=("answered",),
    none="no session is kept: `--session NAME` keeps one",
)


RUNS = 10  # shown; --json has them all


def draw_usage(used: UsageReport) -> RenderableType:
    if not used.total.calls:
        return Text("The language model was not called.")
    parts: list[RenderableType] = [_table("task", [*used.tasks, used.total])]
    if used.runs:
        parts += [Text(), _table("run", used.runs[:RUNS])]
    if len(used.runs) > RUNS:
        parts.append(Text(f"{len(used.runs) - RUNS} earlier runs are not shown.", "dim"))
    if used.total.unpriced:
        parts += [
            Text(),
            Text("?: the price of the model is not known, so the cost lacks these calls.", "dim"),
        ]
    return Group(*parts)


def _table(name: str, lines: list[UsageLine] | tuple[UsageLine, ...]) -> RenderableType:
    if name == "run":
        lines = [msgspec.structs.replace(line, name=short_id(line.name)) for line in lines]
    columns = [name, "calls", "failed", "tokens in", "tokens out", "cost", "median"]
    return draw_table(columns, [_row(line) for line in lines], right=columns[1:])


def _row(line: UsageLine) -> list[str]:
    cost = f"${line.cost:,.4f}"
    # calls of a model without a known price are in no sum
    if line.unpriced:
        cost = f"{cost} + ?" if line.cost else "?"
    counts = (line.calls, line.failed, line.input_tokens, line.output_tokens)
    # the time of calls that succeeded; without any there is none
    median = f"{line.seconds:.2f} s" if line.calls > line.failed else ""
    return [line.name, *(f"{count:,}" for count in counts), cost, median]
