"""`jobs` and `schedule`: work for later, and the worker that does it."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from ....errors import InvalidInputError, NotFoundError
from ..frame.call import Invocation
from ..frame.command import Report
from ..frame.terminal import echo
from ..frame.text_formats import format_time, plural

if TYPE_CHECKING:
    from ....jobs import Job
    from ....memory import Memory


def add(
    memory: Memory,
    kind: str,
    arguments: tuple[str, ...],
    *,
    key: str = "",
    at: datetime | None = None,
) -> Job:
    """Have a method called by a worker, once.

    KIND is the method: read, learn, dream, moments, affinity, consolidate, refresh, observe,
    normalise, embed_pending, reembed, optimize, sweep, sync or discover. For example:
    remloom jobs add read source=notes/

    Args:
        key: adding the same job under the same key again changes nothing.
        at: not before this time, such as 2026-01-15T02:00.
    """
    return memory.jobs.add(kind, _payload(arguments), key=key, not_before=at)


def remove(memory: Memory, id: str) -> Report:
    """Take a job out, whatever its state."""
    memory.jobs.remove(id)
    return Report({"removed": id}, f"removed {id}")


def schedule(
    memory: Memory,
    every: str,
    kind: str,
    arguments: tuple[str, ...],
    *,
    name: str = "",
    zone: str = "UTC",
) -> Report:
    """Have a method called at set times.

    KIND is as for `remloom jobs add`. CRON is minute, hour, day, month, weekday. For example:
    remloom schedule add "0 2 * * *" affinity

    Args:
        name: what to call it. [default: the kind]
        zone: time zone of the expression, such as Europe/Riga.
    """
    from ..views.lists import schedule_line

    # the name is the key, so that scheduling the same again changes nothing
    payload = _payload(arguments)
    job = memory.jobs.add(kind, payload, key=name or kind, every=every, zone=zone)
    return Report(job, f"{job.id}: {schedule_line(job)}, next {format_time(job.not_before)}")


def scheduled(memory: Memory) -> list[Job]:
    """List what is scheduled, and what came of it."""
    return [job for job in memory.jobs.list() if job.every]


def unschedule(memory: Memory, name: str) -> Report:
    """Take something off the schedule."""
    # other jobs are not to be removed by this command, even when an id is given
    names = [job.id for job in scheduled(memory)]
    if name not in names:
        raise NotFoundError(
            f"nothing is scheduled as {name!r}",
            remedy=f"there is {', '.join(names) or 'nothing'}",
        )
    return remove(memory, name)


def work(call: Invocation, memory: Memory, *, kinds: Sequence[str] = (), **options: Any) -> Report:
    """Do the jobs that are due, scheduled or not.

    Any number of workers may run at the same time. A job that is interrupted goes back into the
    queue.

    Args:
        kinds: only jobs of this kind; repeat it for several.
    """
    from ..views.lists import job_line

    stop, busy = Event(), False

    def terminate(number: int, frame: object) -> None:
        stop.set()
        # A job in hand is interrupted, and given back; between jobs the worker sees `stop`.
        if busy:
            raise SystemExit(0)

    def report_job(job: Job) -> None:
        nonlocal busy
        busy = job.state == "running" and not job.error
        if not call.json:
            echo(job_line(job))

    signal.signal(signal.SIGTERM, terminate)
    count = memory.jobs.work(kinds=kinds or None, on_job=report_job, stop=stop, **options)
    return Report({"jobs": count}, f"did {plural(count, 'job')}" if count else "nothing was due")


def _payload(arguments: tuple[str, ...]) -> dict[str, Any]:
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
