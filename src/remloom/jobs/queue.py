"""A queue in the tenant's own journal: nothing to install or to run, and as encrypted as the tenant
is.

A job is one entry, changed only by compare-and-set, so of two workers one wins. When it is done,
that entry goes in the transaction that writes what is remembered of it: it is never there twice,
nor gone. Claiming reads every job that is yet to be done: fine for the hundreds a tenant has; for
many more, put a queue server behind the same contract.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from typing import Any

import msgspec
from msgspec.structs import replace

from ..errors import ConflictError, InvalidInputError, LeaseLostError, NotFoundError
from ..kv import Entry
from ..store.batch import Batch, Preconditions
from ..store.contract import Store
from .contract import LEASE, MAX_ATTEMPTS, Job, State
from .cron import next_time

__all__ = ["StoredQueue"]

LIVE = "job"  # kind of the entries that are waiting, running or parked
DONE = "job.done"
FIRST_PAUSE = 30.0  # seconds after the first failed attempt, then twice as long each time
LONGEST_PAUSE = 3600.0  # seconds
REMEMBERED = timedelta(days=30)  # that a job which is done is kept
TIDYING = timedelta(hours=6)  # between looks for those that are older


def _now() -> datetime:
    return datetime.now(UTC)


class StoredQueue:
    """The jobs of one tenant. See `contract.JobQueue` for what each method does.

    Args:
        clock: the present; every machine that works for a tenant must agree on it to within a
            lease.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime] = _now) -> None:
        self._store = store
        self._clock = clock
        self._tidied = datetime.min.replace(tzinfo=UTC)

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
        now = self._clock()
        due = _aware(not_before) if not_before is not None else now
        if every:
            due = next_time(every, zone, max(now, due))
        job = Job(
            id=key or f"{kind}-{token_hex(5)}", kind=kind, payload=_json(payload or {}), not_before=due, every=every,
            zone=zone, created_at=now,
        )  # fmt: skip
        while not self._write(job, {(LIVE, job.id): 0, (DONE, job.id): 0}):
            if stored := self._stored(job.id):
                return _same(stored, job)
        return job

    def _write(self, job: Job, notes: dict[tuple[str, str], int]) -> bool:
        """Write a job in the place where one of its state is, if the entries of it are of these
        versions."""
        kind = DONE if job.state == "done" else LIVE
        struck = tuple(place for place, version in notes.items() if version and place[0] != kind)
        try:
            self._store.write(
                Batch(
                    entries=(_entry(job, kind),),
                    deleted_entries=struck,
                    expected=Preconditions(entries=notes),
                )
            )
        except ConflictError:
            return False
        return True

    def claim(
        self, worker: str, *, kinds: Collection[str] | None = None, lease: float = LEASE
    ) -> Job | None:
        now = self._clock()
        until = now + _seconds(lease)
        self._forget_old(now)
        due = [
            (job, entry.version)
            for job, entry in self._live()
            if _due(job) <= now and job.state != "parked" and (kinds is None or job.kind in kinds)
        ]
        for job, version in sorted(due, key=lambda found: (_due(found[0]), found[0].id)):
            if job.state == "running" and job.attempts >= MAX_ATTEMPTS:
                self._swap(
                    self._failed(job, f"its worker ({job.worker}) died", again=True), version
                )
            else:
                claimed = replace(
                    job,
                    state="running",
                    worker=worker,
                    attempts=job.attempts + 1,
                    lease_until=until,
                )
                if self._swap(claimed, version):
                    return claimed
        return None

    def extend(self, job: Job, lease: float = LEASE) -> Job:
        return self._change(
            job, lambda job: replace(job, lease_until=self._clock() + _seconds(lease))
        )

    def finish(self, job: Job, result: Any = None) -> Job:
        now, told = self._clock(), _json(result)

        def done(job: Job) -> Job:
            job = replace(job, attempts=0, lease_until=None, error="", result=told, finished_at=now)
            return self._again(job) if job.every else replace(job, state="done")

        return self._change(job, done)

    def fail(self, job: Job, error: str, *, again: bool = True) -> Job:
        return self._change(job, lambda job: self._failed(job, error, again))

    def release(self, job: Job) -> Job:
        return self._change(
            job,
            lambda job: replace(job, state="waiting", attempts=job.attempts - 1, lease_until=None),
        )

    def jobs(self, state: State | None = None) -> list[Job]:
        live = sorted((job for job, _ in self._live()), key=lambda job: (job.not_before, job.id))
        done = [_job(entry) for entry in self._store.kv.list(DONE)]
        done.sort(key=lambda job: (job.finished_at or job.created_at, job.id))
        each = {job.id: job for job in (*live, *done)}  # one may have been put away in between
        return [job for job in each.values() if state is None or job.state == state]

    def job(self, id: str) -> Job:
        if (stored := self._stored(id)) is None:
            raise NotFoundError(
                f"there is no job {id!r}", remedy="`remloom jobs list` shows them all", id=id
            )
        return stored

    def _stored(self, id: str) -> Job | None:
        """A job; one that is done meanwhile is in the other place."""
        entry = self._store.kv.get(LIVE, id) or self._store.kv.get(DONE, id)
        return None if entry is None else _job(entry)

    def retry(self, id: str) -> Job:
        entry = self._store.kv.get(LIVE, id)
        job = self.job(id) if entry is None else _job(entry)
        if entry is None or job.state not in ("waiting", "parked"):
            raise ConflictError(
                f"job {id!r} is {job.state}", remedy="add it again under another key", id=id
            )
        waiting = replace(job, state="waiting", not_before=self._clock(), attempts=0, error="")
        if not self._swap(waiting, entry.version):
            raise ConflictError(
                f"job {id!r} has just been claimed", remedy="look at it again", id=id
            )
        return waiting

    def remove(self, id: str) -> None:
        self.job(id)
        self._store.kv.put([], deleted=[(LIVE, id), (DONE, id)])

    def _live(self) -> list[tuple[Job, Entry]]:
        return [(_job(entry), entry) for entry in self._store.kv.list(LIVE)]

    def _change(self, job: Job, change: Callable[[Job], Job]) -> Job:
        """Change a job that its worker still holds."""
        while True:
            entry = self._store.kv.get(LIVE, job.id)
            held = None if entry is None else _job(entry)
            if (
                entry is None
                or held is None
                or (held.state, held.worker, held.attempts) != ("running", job.worker, job.attempts)
            ):
                raise LeaseLostError(
                    f"job {job.id!r} is no longer that of {job.worker}: its lease ran out, or it was removed",
                    remedy="claim jobs with a longer lease", id=job.id,
                )  # fmt: skip
            changed = change(held)
            if self._swap(changed, entry.version):
                return changed

    def _swap(self, job: Job, version: int) -> bool:
        """Write a job, if it is still as it was read."""
        return self._write(job, {(LIVE, job.id): version})

    def _forget_old(self, now: datetime) -> None:
        """Strike what was done long ago."""
        if now - self._tidied < TIDYING:
            return
        self._tidied = now
        old = [
            job
            for job in map(_job, self._store.kv.list(DONE))
            if job.finished_at and now - job.finished_at > REMEMBERED
        ]
        if old:
            self._store.kv.put([], deleted=[(DONE, job.id) for job in old])

    def _failed(self, job: Job, error: str, again: bool) -> Job:
        job = replace(job, lease_until=None, error=error)
        if again and job.attempts < MAX_ATTEMPTS:
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (job.attempts - 1))
            return replace(job, state="waiting", not_before=self._clock() + _seconds(pause))
        return self._again(replace(job, attempts=0)) if job.every else replace(job, state="parked")

    def _again(self, job: Job) -> Job:
        """A job with a schedule, waiting for its next time."""
        # the latter, where the clock of another machine was ahead
        after = max(self._clock(), job.not_before)
        return replace(job, state="waiting", not_before=next_time(job.every, job.zone, after))


def _same(stored: Job, job: Job) -> Job:
    """The stored job, if the other is the same."""
    if any(
        getattr(stored, name) != getattr(job, name) for name in ("kind", "payload", "every", "zone")
    ):
        raise ConflictError(
            f"there is another job {job.id!r}: {stored.kind} {stored.every}".rstrip(),
            remedy="remove that one first, or give this one another name", id=job.id,
        )  # fmt: skip
    return stored


def _due(job: Job) -> datetime:
    return job.lease_until if job.state == "running" and job.lease_until else job.not_before


def _entry(job: Job, kind: str = LIVE) -> Entry:
    return Entry(kind, job.id, msgspec.json.encode(job))


def _job(entry: Entry) -> Job:
    return msgspec.json.decode(entry.value, type=Job)


def _seconds(count: float) -> timedelta:
    if not count > 0:
        raise InvalidInputError(f"a lease is a number of seconds above 0, not {count!r}")
    return timedelta(seconds=count)


def _aware(at: datetime) -> datetime:
    if not isinstance(at, datetime) or at.utcoffset() is None:
        raise InvalidInputError(
            f"{at!r} has no time zone", remedy="use an aware datetime, e.g. datetime.now(UTC)"
        )
    return at


def _json(value: Any) -> Any:
    """The value as it comes back from the journal."""
    try:
        return msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"what a job is given and what it returns must be JSON: {error}"
        ) from error
