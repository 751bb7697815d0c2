"""What a queue of jobs must do, for those who write one and those who use one.

A job is done **at least once**: a worker claims it under a lease and extends that while it works;
when the worker dies, the lease runs out and another claims the job. So whatever a job does must
stand being begun again.

`remloom.testing.jobs.QueueConformance` is the definition where prose is not enough.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

LEASE = 60.0  # seconds that a claim lasts unless it is extended
MAX_ATTEMPTS = 5  # then a job is parked

State: TypeAlias = Literal["waiting", "running", "parked", "done"]


class JobSpec(Struct, frozen=True):
    """A job to be added: what to do, and when. See `memory.jobs.add` for each field."""

    kind: str
    payload: Mapping[str, Any] = {}
    key: str = ""
    not_before: datetime | None = None
    every: str = ""
    zone: str = "UTC"


class Job(Struct, frozen=True, kw_only=True):
    """A piece of work, as it stands in the queue."""

    id: str  # the key it was added under, else a new one
    kind: str  # what to do: see `tasks.KINDS`
    payload: dict[str, Any] = {}  # the arguments, JSON
    state: State = "waiting"
    not_before: datetime  # when it may be claimed
    every: str = ""  # cron expression: once done, it waits for its next time
    zone: str = "UTC"  # in which `every` is read, an IANA name
    attempts: int = 0  # begun since it was added, last done, or retried
    worker: str = ""  # who has claimed it, or was the last to
    lease_until: datetime | None = None  # while running
    error: str = ""  # of the last attempt
    result: Any = None  # of the last time it was done, JSON
    created_at: datetime
    finished_at: datetime | None = None  # when it was last done


class Queue(Protocol):
    """Where jobs wait. Every method is atomic, durable, and safe from any thread and process."""

    def add(self, spec: JobSpec) -> Job:
        """Put a job in the queue, to be claimed from `not_before` on, or from the next time of
        `every`.

        With a `key`, adding the same job again, even after it was done, changes nothing and returns
        the stored one. What was done is remembered for 30 days at least.

        Raises: ConflictError (the key is that of a job of another kind, payload or schedule),
            InvalidInputError (a payload that is not JSON, a naive time, a wrong cron expression or
            zone).
        """
        ...

    def claim(
        self, worker: str, *, kinds: Collection[str] | None = None, lease: float = LEASE
    ) -> Job | None:
        """Take the job that has been due the longest, for `lease` seconds; None when none is due.

        Due is a waiting job whose time has come, and a running one whose lease has run out. No two
        callers get the same claim. A job whose lease ran out on its last attempt is parked instead.
        """
        ...

    def extend(self, job: Job, lease: float = LEASE) -> Job:
        """Hold a claimed job for `lease` seconds from now. Raises LeaseLostError when another has
        claimed it since."""
        ...

    def finish(self, job: Job, result: Any = None) -> Job:
        """The job is done; one with `every` waits for the first of its times that is yet to come:
        times that were missed are done once. Raises LeaseLostError."""
        ...

    def fail(self, job: Job, error: str, *, again: bool = True) -> Job:
        """An attempt failed: the job waits, twice as long after each attempt, and after
        `MAX_ATTEMPTS` of them, or without `again`, is parked; one with `every` waits for its next
        time instead. Raises LeaseLostError."""
        ...

    def release(self, job: Job) -> Job:
        """Give a claimed job back as if it had not been begun; another may claim it at once. Raises
        LeaseLostError."""
        ...


class JobQueue(Queue, Protocol):
    """A queue that one can look into."""

    def jobs(self, state: State | None = None) -> list[Job]:
        """The jobs, those to be done first in the order of their time, done ones last."""
        ...

    def job(self, id: str) -> Job:
        """One job. Raises NotFoundError."""
        ...

    def retry(self, id: str) -> Job:
        """Let a waiting or parked job be claimed at once, its attempts forgotten. Raises
        NotFoundError, ConflictError (it is running or done)."""
        ...

    def remove(self, id: str) -> None:
        """Take a job out, whatever its state; a worker at it notices when it is finished. Raises
        NotFoundError."""
        ...
