"""Jobs as lines of text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..frame.text_formats import format_time
from .run_counts import counted

if TYPE_CHECKING:
    from ....jobs import Job

SHOWN = 6  # numbers of a result; --json has them all


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


def schedule_line(job: Job) -> str:
    """Spell the schedule of a job: `At 02:00 every day (UTC)`."""
    from ....jobs.queue import in_words

    return f"{in_words(job.every)} ({job.zone})"
