"""`schedule`: what is done again and again, and the worker that does it."""

from __future__ import annotations

import signal
from threading import Event
from typing import TYPE_CHECKING

import click
import msgspec

from ...errors import NotFoundError
from .app import Call, command, program
from .jobs import moment, payload, told
from .terminal import echo

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ...jobs import Job

__all__: list[str] = []


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
        job = memory.jobs.add(kind, payload(arguments), key=name or kind, every=every, zone=zone)
    call.show(
        msgspec.to_builtins(job), lambda: f"{job.id}: {_when(job)}, next {moment(job.not_before)}"
    )


@command("list", to=schedule)
def list_schedule(call: Call) -> None:
    """List what is scheduled, and what came of it."""
    with call.open() as memory:
        found = [job for job in memory.jobs.list() if job.every]

    def view() -> RenderableType:
        from .jobs import outcome, work
        from .tables import draw_table

        if not found:
            return 'nothing is scheduled: remloom schedule add "0 2 * * *" affinity'
        rows = [
            (job.id, work(job), _when(job), moment(job.not_before), outcome(job)) for job in found
        ]
        return draw_table(("name", "does", "when", "next", "last outcome"), rows)

    call.show(msgspec.to_builtins(found), view)


@command("remove", to=schedule)
@click.argument("name")
def remove(call: Call, name: str) -> None:
    """Take something off the schedule."""
    with call.open() as memory:
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
        # interrupt the job; else the worker sees `stop`
        if busy:
            raise SystemExit(0)

    def tell(job: Job) -> None:
        nonlocal busy
        busy = job.state == "running" and not job.error
        if not call.json:
            echo(told(job))

    signal.signal(signal.SIGTERM, terminate)
    with call.open() as memory:
        count = memory.jobs.work(
            until_idle=once, kinds=kinds or None, lease=lease, on_job=tell, stop=stop
        )
    call.show(
        {"jobs": count},
        lambda: f"did {count} {'job' if count == 1 else 'jobs'}" if count else "nothing was due",
    )


def _when(job: Job) -> str:
    from ...jobs.cron import in_words

    return f"{in_words(job.every)} ({job.zone})"
