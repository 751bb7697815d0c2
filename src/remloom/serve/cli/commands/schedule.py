"""`schedule`: recurring jobs, and the worker that does all jobs."""

from __future__ import annotations

import signal
from threading import Event
from typing import TYPE_CHECKING

import click
import msgspec

from ....errors import NotFoundError
from ..app import Call, command, program
from ..frame.terminal import echo
from ..frame.text_formats import plural
from .jobs import format_call, format_time, job_line, outcome, parse_payload

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....jobs import Job


@program.group("schedule")
def schedule() -> None:
    """Do things at set times: add and list them, and run the worker that does them."""


@command("add", to=schedule)
@click.argument("every", metavar="CRON")
@click.argument("kind")
@click.argument("arguments", metavar="[NAME=VALUE]...", nargs=-1)
@click.option("--name", default="", help="What to call it. [default: the kind]")
@click.option("--zone", default="UTC", help="Time zone of the expression, such as Europe/Riga.")
def add(
    call: Call, every: str, kind: str, arguments: tuple[str, ...], name: str, zone: str
) -> None:
    """Have a method called at set times.

    KIND is as for `remloom jobs add`. CRON is minute, hour, day, month, weekday. For example:
    remloom schedule add "0 2 * * *" affinity
    """
    with call.open(create=True) as memory:
        # the name is the key, so that scheduling the same again changes nothing
        payload = parse_payload(arguments)
        job = memory.jobs.add(kind, payload, key=name or kind, every=every, zone=zone)
    line = f"{job.id}: {_schedule(job)}, next {format_time(job.not_before)}"
    call.show(msgspec.to_builtins(job), lambda: line)


@command("list", to=schedule)
def list_schedule(call: Call) -> None:
    """List what is scheduled, and what came of it."""
    with call.open() as memory:
        scheduled = [job for job in memory.jobs.list() if job.every]

    def view() -> RenderableType:
        from ..views.tables import draw_table

        if not scheduled:
            return 'nothing is scheduled: remloom schedule add "0 2 * * *" affinity'
        rows = [
            (job.id, format_call(job), _schedule(job), format_time(job.not_before), outcome(job))
            for job in scheduled
        ]
        return draw_table(("name", "does", "when", "next", "last outcome"), rows)

    call.show(msgspec.to_builtins(scheduled), view)


@command("remove", to=schedule)
@click.argument("name")
def remove(call: Call, name: str) -> None:
    """Take something off the schedule."""
    with call.open() as memory:
        # other jobs are not to be removed by this command, even when an id is given
        names = [job.id for job in memory.jobs.list() if job.every]
        if name not in names:
            raise NotFoundError(
                f"nothing is scheduled as {name!r}",
                remedy=f"there is {', '.join(names) or 'nothing'}",
            )
        memory.jobs.remove(name)
    call.show({"removed": name}, lambda: f"removed {name}")


@command("run", to=schedule)
@click.option(
    "--once",
    is_flag=True,
    help="Do what is due, then end; else go on until interrupted or terminated.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    help="Only jobs of this kind; repeat it for several.",
)
@click.option(
    "--lease",
    default=60.0,
    metavar="SECONDS",
    help="After which another worker takes over a dead one's job.",
)
def run(call: Call, once: bool, kinds: tuple[str, ...], lease: float) -> None:
    """Do the jobs that are due, scheduled or not.

    Any number of workers may run at the same time. A job that is interrupted goes back into the
    queue.
    """
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
    with call.open() as memory:
        count = memory.jobs.work(
            until_idle=once, kinds=kinds or None, lease=lease, on_job=report_job, stop=stop
        )
    line = f"did {plural(count, 'job')}" if count else "nothing was due"
    call.show({"jobs": count}, lambda: line)


def _schedule(job: Job) -> str:
    """Spell the schedule of a job: `At 02:00 every day (UTC)`."""
    from ....jobs.cron import in_words

    return f"{in_words(job.every)} ({job.zone})"
