"""`jobs`: list, add, retry and remove jobs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ....errors import InvalidInputError
from ..app import Call, command, program
from ..frame.times import Time
from ..views.run_counts import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....jobs import Job


STATES = ("waiting", "running", "parked", "done")
SHOWN = 6  # numbers of a result; --json has them all


@program.group("jobs")
def jobs() -> None:
    """Work for later: list it, add to it, retry or remove it."""


@command("list", to=jobs)
@click.option("--state", type=click.Choice(STATES), help="Only these.")
def list_jobs(call: Call, state: Any) -> None:
    """List the jobs: what is to be done by its time, then what was done."""
    with call.open() as memory:
        jobs = memory.jobs.list(state)
    call.show(msgspec.to_builtins(jobs), lambda: _jobs_table(jobs) if jobs else "no jobs")


@command("add", to=jobs)
@click.argument("kind")
@click.argument("arguments", metavar="[NAME=VALUE]...", nargs=-1)
@click.option(
    "--key",
    default="",
    metavar="NAME",
    help="Adding the same job under the same key again changes nothing.",
)
@click.option(
    "--at", type=Time(), metavar="TIME", help="Not before this time, such as 2026-01-15T02:00."
)
def add(call: Call, kind: str, arguments: tuple[str, ...], key: str, at: datetime | None) -> None:
    """Have a method called by a worker, once.

    KIND is the method: read, learn, dream, moments, affinity, consolidate, embed_pending,
    reembed or sweep. For example: remloom jobs add read source=notes/
    """
    with call.open(create=True) as memory:
        job = memory.jobs.add(kind, parse_payload(arguments), key=key, not_before=at)
    call.show(
        msgspec.to_builtins(job),
        lambda: f"added {job.kind} as {job.id}; `remloom schedule run` does it",
    )


@command("retry", to=jobs)
@click.argument("id")
def retry(call: Call, id: str) -> None:
    """Let a waiting or parked job be done at once."""
    with call.open() as memory:
        job = memory.jobs.retry(id)
    call.show(msgspec.to_builtins(job), lambda: f"{job.kind} {job.id} is due now")


@command("remove", to=jobs)
@click.argument("id")
def remove(call: Call, id: str) -> None:
    """Take a job out, whatever its state."""
    with call.open() as memory:
        memory.jobs.remove(id)
    call.show({"removed": id}, lambda: f"removed {id}")


def parse_payload(arguments: tuple[str, ...]) -> dict[str, Any]:
    """Parse NAME=VALUE words as arguments: a value is JSON where it can be, else text.

    Raises:
        InvalidInputError: a word is not of this form.
    """
    payload: dict[str, Any] = {}
    for word in arguments:
        name, equals, text = word.partition("=")
        if not equals or not name.isidentifier():
            raise InvalidInputError(
                f"{word!r} is not an argument", remedy="write name=value, for example source=notes/"
            )
        try:
            payload[name] = json.loads(text)
        except ValueError:
            payload[name] = text
            # a worker may run in another folder
            if name == "source" and Path(text).exists():
                payload[name] = str(Path(text).absolute())
    return payload


def _jobs_table(jobs: list[Job]) -> RenderableType:
    from ..views.tables import draw_table

    rows = [
        (job.id, format_call(job), job.state, format_time(job.not_before), outcome(job))
        for job in jobs
    ]
    return draw_table(("job", "does", "state", "not before", "last outcome"), rows)


def job_line(job: Job) -> str:
    """Report in one line on a job that a worker has begun, or that has just ended."""
    error = "; ".join(part.strip() for part in job.error.splitlines())
    if job.state == "running":
        # a running job with an error lost its lease; another worker has it
        return f"{job.id}: {error or format_call(job)}"
    if job.state == "parked":
        return f"{job.id}: parked: {error}"
    if error:
        return f"{job.id}: failed, again from {format_time(job.not_before)}: {error}"
    return f"{job.id}: {outcome(job)}"


def format_time(at: datetime) -> str:
    """Format a time in UTC, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def format_call(job: Job) -> str:
    """Format the call that a job makes: its kind and arguments."""
    given = " ".join(f"{name}={_value(value)}" for name, value in job.payload.items())
    return f"{job.kind} {given}".rstrip()


def outcome(job: Job) -> str:
    """Report the outcome of a job's last attempt, or nothing before the first."""
    if job.error:
        return f"failed: {job.error.splitlines()[0]}"
    if job.finished_at is None:
        return ""
    done = f"done {format_time(job.finished_at)}"
    counts = counted(dict(_counts(job.result)[:SHOWN]))
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
