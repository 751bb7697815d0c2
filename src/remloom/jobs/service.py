"""Jobs: calls to be made later, by any worker process."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..engine.engine import Engine

if TYPE_CHECKING:
    from threading import Event

    from . import Job, StoredQueue
    from .contract import State


# gives the method that does a kind of job
FindMethod = Callable[[str], Callable[..., Any]]

_LINKED = 10_000  # entities for which an idle worker looks through texts, a few seconds


class Jobs:
    """The queue of jobs, and working it off. Reached as `memory.jobs`. See docs/jobs.md."""

    def __init__(self, engine: Engine, find_method: FindMethod) -> None:
        self._engine = engine
        self._store = engine.store
        self._find_method = find_method

    @cached_property
    def _queue(self) -> StoredQueue:
        from . import StoredQueue

        return StoredQueue(self._store)

    def add(
        self,
        kind: str,
        payload: Mapping[str, Any] | None = None,
        *,
        key: str = "",
        not_before: datetime | None = None,
        every: str = "",
        zone: str = "UTC",
    ) -> Job:
        """Have `work` call a method later, in this process or another.

        Args:
            kind: the method: read, learn, dream, moments, affinity, consolidate, refresh, observe,
                normalise, embed_pending, reembed, optimize, sweep, sync, discover.
            payload: its arguments, JSON; a budget as `{"tokens": …, "calls": …, "cost": …}`.
            key: adding the same job under the same key again changes nothing.
            not_before: default now, or the next time of `every`.
            every: a cron expression ("0 2 * * *"): the job is done again at each of its times.
            zone: the time zone of `every`.

        Raises:
            UnknownNameError: there is no such kind.
            InvalidInputError: arguments the method does not take, or that are not JSON; a wrong
                expression or zone.
            ConflictError: the key is that of another job.
        """
        from . import JobSpec
        from .tasks import bind

        spec = JobSpec(kind, payload or {}, key, not_before, every, zone)
        # Refused now, where the caller sees it, rather than when a worker claims it.
        bind(self._find_method, spec.kind, spec.payload)
        return self._queue.add(spec)

    def list(self, state: State | None = None) -> builtins.list[Job]:
        """List the jobs, or those in one state: first what is to be done, by its time, then what
        was done."""
        return self._queue.jobs(state)

    def get(self, id: str) -> Job:
        """Return a job as it stands.

        Raises:
            NotFoundError: there is no such job.
        """
        return self._queue.job(id)

    def retry(self, id: str) -> Job:
        """Make a waiting or parked job due at once, and forget its failures.

        Raises:
            NotFoundError: there is no such job.
            ConflictError: it is running or done.
        """
        return self._queue.retry(id)

    def remove(self, id: str) -> None:
        """Take a job out of the queue, whatever its state.

        Raises:
            NotFoundError: there is no such job.
        """
        self._queue.remove(id)

    def work(
        self,
        *,
        until_idle: bool = False,
        kinds: Collection[str] | None = None,
        lease: float = 60.0,
        on_job: Callable[[Job], None] | None = None,
        stop: Event | None = None,
    ) -> int:
        """Do the jobs that are due, one after another, until `stop` is set.

        Any number of workers may run, in any number of processes: a job is begun again only when
        its worker died.

        Args:
            until_idle: return when nothing is due, after texts that were read before were linked
                to what was named later (unless only some `kinds` are done).
            kinds: only these.
            lease: seconds after which the job of a dead worker is begun again.
            on_job: called with each job as it begins, and as it is afterwards.

        Returns: how many jobs were begun.

        Raises:
            UnknownNameError: there is no such kind of job.
        """
        from . import Worker
        from .tasks import bind, check_kind, summarize

        for kind in kinds or ():
            check_kind(kind)

        def do(job: Job) -> Any:
            return summarize(job.kind, bind(self._find_method, job.kind, job.payload)())

        worker = Worker(self._queue, do, on_job=on_job, kinds=kinds, lease=lease, stop=stop)
        done = worker.work(until_idle=until_idle)
        if until_idle and not kinds and not (stop and stop.is_set()):
            self._engine.linker.try_run(_LINKED)
        return done
