"""Jobs: what is to be done later, by whoever has time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .dreams import Dreaming

if TYPE_CHECKING:
    from threading import Event

    from ..jobs import Job, StoredQueue
    from ..jobs.contract import State

__all__ = ["Working"]


class Working(Dreaming):
    """The queue of jobs, and working it off."""

    def add_job(
        self,
        kind: str,
        payload: Mapping[str, Any] | None = None,
        *,
        key: str = "",
        not_before: datetime | None = None,
        every: str = "",
        zone: str = "UTC",
    ) -> Job:
        """Have `work` call a method later, in this process or another. See docs/jobs.md.

        Args:
            kind: the method: read, learn, dream, moments, affinity, consolidate, embed_pending,
                reembed.
            payload: its arguments, JSON.
            key: adding the same job under the same key again changes nothing.
            not_before: default now, or the next time of `every`.
            every: a cron expression ("0 2 * * *"): the job is done again at each of its times.
            zone: the time zone of `every`.

        Raises:
            UnknownNameError: no such kind.
            InvalidInputError: arguments the method does not take, or that are no JSON; a wrong
                expression or zone.
            ConflictError: the key is that of another job.
        """
        from ..jobs.tasks import bound

        bound(self, kind, payload or {})
        return self._jobs.add(kind, payload, key=key, not_before=not_before, every=every, zone=zone)

    def jobs(self, state: State | None = None) -> list[Job]:
        """The jobs, or those in a state: what is to be done in the order of its time, then what was
        done."""
        return self._jobs.jobs(state)

    def retry_job(self, id: str) -> Job:
        """Let a waiting or parked job be done at once, its failures forgotten.

        Raises:
            NotFoundError: there is no such job.
            ConflictError: it is running or done.
        """
        return self._jobs.retry(id)

    def remove_job(self, id: str) -> None:
        """Take a job out of the queue, whatever its state.

        Raises:
            NotFoundError: there is no such job.
        """
        self._jobs.remove(id)

    def work(
        self,
        *,
        until_idle: bool = False,
        kinds: Collection[str] | None = None,
        lease: float = 60.0,
        told: Callable[[Job], None] | None = None,
        stop: Event | None = None,
    ) -> int:
        """Do the jobs that are due, one after another, until `stop` is set; returns how many were
        begun.

        Any number of workers may run, in any number of processes: a job is begun again only when
        its worker died.

        Args:
            until_idle: return when nothing is due.
            kinds: only these.
            lease: seconds after which the job of a dead worker is begun again.
            told: called with each job as it begins, and as it is afterwards.

        Raises:
            UnknownNameError: there is no such kind of job.
        """
        from ..jobs import Worker
        from ..jobs.tasks import bound, known, summary

        for kind in kinds or ():
            known(kind)

        def do(job: Job) -> Any:
            return summary(bound(self, job.kind, job.payload)())

        return Worker(self._jobs, do, told=told, kinds=kinds, lease=lease, stop=stop).work(
            until_idle=until_idle
        )

    @cached_property
    def _jobs(self) -> StoredQueue:
        from ..jobs import StoredQueue

        return StoredQueue(self._store)
