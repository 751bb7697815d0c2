"""`jobs`: what waits to be done, is being done, and was done."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ...errors import InvalidInputError
from .app import Call, command, program
from .times import Time

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ...jobs import Job

__all__ = ["moment", "outcome", "payload", "told", "work"]

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
        found = memory.jobs.list(state)
    call.show(msgspec.to_builtins(found), lambda: _drawn(found) if found else "no jobs")


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

    KIND is the method: read, learn, dream, moments, affinity, consolidate, embed_pending or
    reembed. For example: remloom jobs add read source=notes/
    """
    with call.open(create=True) as memory:
        job = memory.jobs.add(kind, payload(arguments), key=key, not_before=at)
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


def payload(arguments: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE words as arguments: a value is JSON where it can be, else text. A path is made
    absolute, since a worker may run elsewhere."""
    found: dict[str, Any] = {}
    for word in arguments:
        name, equals, text = word.partition("=")
        if not equals or not name.isidentifier():
            raise InvalidInputError(
                f"{word!r} is no argument", remedy="write name=value, for example source=notes/"
            )
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = (
                str(Path(text).absolute()) if name == "source" and Path(text).exists() else text
            )
    return found


def _drawn(found: list[Job]) -> RenderableType:
    """Jobs as a table."""
    from .tables import draw_table

    rows = [(job.id, work(job), job.state, moment(job.not_before), outcome(job)) for job in found]
    return draw_table(("job", "does", "state", "not before", "last outcome"), rows)


def told(job: Job) -> str:
    """One line about a job that a worker has begun, or that has just ended."""
    error = "; ".join(part.strip() for part in job.error.splitlines())
    if job.state == "running":
        return f"{job.id}: {error or work(job)}"
    if job.state == "parked":
        return f"{job.id}: parked: {error}"
    if error:
        return f"{job.id}: failed, again from {moment(job.not_before)}: {error}"
    return f"{job.id}: {outcome(job)}"


def moment(at: datetime) -> str:
    """A time as it is shown: in UTC, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def work(job: Job) -> str:
    """What a job does: its kind and arguments."""
    given = " ".join(f"{name}={_value(value)}" for name, value in job.payload.items())
    return f"{job.kind} {given}".rstrip()


def outcome(job: Job) -> str:
    """What came of a job last."""
    if job.error:
        return f"failed: {job.error.splitlines()[0]}"
    if job.finished_at is None:
        return ""
    told = ", ".join(
        f"{value:,} {name.replace('_', ' ')}" for name, value in _counts(job.result)[:SHOWN]
    )
    return f"done {moment(job.finished_at)}{f': {told}' if told else ''}"


def _counts(result: Any) -> list[tuple[str, int]]:
    """What a result counts; of a run, what it found and wrote."""
    if not isinstance(result, dict):
        return []
    run = result.get("run")
    if isinstance(run, dict):
        return [*_counts(run.get("counts")), *_counts(run.get("receipt"))]
    return [
        (name, value)
        for name, value in result.items()
        if isinstance(value, int) and value and value is not True
    ]


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
