"""A queue in the tenant's own store, as encrypted as the tenant is; and the times of schedules.

A job is one entry, changed only by compare-and-set, so of two workers one wins. Claiming reads
every job that is yet to be done: fine for the hundreds a tenant has; for many more, put a queue
server behind the same contract.

Schedules are read as Debian's cron reads them. A time that is skipped where clocks are put forward
is kept at the hour's end; where they are put back it comes once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta, tzinfo
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ..engine.arguments import check_aware
from ..errors import (
    ConflictError,
    InvalidInputError,
    LeaseLostError,
    MissingExtraError,
    NotFoundError,
)
from ..kv import Entry
from ..store.batch import Batch, Preconditions
from ..store.contract import Store
from .contract import LEASE, MAX_ATTEMPTS, Job, JobSpec, State

if TYPE_CHECKING:
    from cronsim import CronSim


LIVE = "job"  # namespace of the entries that are waiting, running or parked
DONE = "job.done"
FIRST_PAUSE = 30.0  # seconds after the first failed attempt, then twice as long each time
LONGEST_PAUSE = 3600.0  # seconds
RETENTION = timedelta(days=30)  # of a job that is done
CLEANUP_INTERVAL = timedelta(hours=6)


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
        self._cleaned_up_at = datetime.min.replace(tzinfo=UTC)

    def add(self, spec: JobSpec) -> Job:
        now = self._clock()
        if spec.not_before is not None:
            check_aware(spec.not_before)
        due = now if spec.not_before is None else spec.not_before
        if spec.every:
            due = next_time(spec.every, spec.zone, max(now, due))
        job = Job(
            id=spec.key or f"{spec.kind}-{token_hex(5)}",
            kind=spec.kind,
            payload=_as_json(spec.payload),
            not_before=due,
            every=spec.every,
            zone=spec.zone,
            created_at=now,
        )
        # Version 0 is that of an entry that is not there. A write that fails although no job is
        # stored met one that was removed in between, and is tried again.
        while not self._write(job, {(LIVE, job.id): 0, (DONE, job.id): 0}):
            stored = self._find(job.id)
            if stored is not None:
                return _check_same(stored, job)
        return job

    def _write(self, job: Job, versions: dict[tuple[str, str], int]) -> bool:
        """Write a job if its entries still have these versions; says whether it was written. An
        entry of it in the other namespace goes in the same transaction: a job is never stored
        twice."""
        namespace = DONE if job.state == "done" else LIVE
        moved = [key for key, version in versions.items() if version and key[0] != namespace]
        batch = Batch(
            entries=(Entry(namespace, job.id, msgspec.json.encode(job)),),
            deleted_entries=tuple(moved),
            expected=Preconditions(entries=versions),
        )
        try:
            self._store.write(batch)
        except ConflictError:
            return False
        return True

    def claim(
        self, worker: str, *, kinds: Collection[str] | None = None, lease: float = LEASE
    ) -> Job | None:
        now = self._clock()
        until = now + _lease_time(lease)
        self._delete_old(now)
        due = []
        for job, version in self._live():
            has_kind = kinds is None or job.kind in kinds
            if has_kind and job.state != "parked" and _due(job) <= now:
                due.append((job, version))
        due.sort(key=lambda item: (_due(item[0]), item[0].id))
        for job, version in due:
            if job.state == "running" and job.attempts >= MAX_ATTEMPTS:
                # its last attempt killed the worker, or outlasted its lease
                failed = self._after_failure(job, f"its worker ({job.worker}) died", again=True)
                self._swap(failed, version)
                continue
            attempts = job.attempts + 1
            claimed = replace(
                job, state="running", worker=worker, attempts=attempts, lease_until=until
            )
            # of several workers that claim it, one writes first
            if self._swap(claimed, version):
                return claimed
        return None

    def extend(self, job: Job, lease: float = LEASE) -> Job:
        until = self._clock() + _lease_time(lease)
        return self._change(job, lambda job: replace(job, lease_until=until))

    def finish(self, job: Job, result: Any = None) -> Job:
        now = self._clock()
        json_result = _as_json(result)

        def finished(job: Job) -> Job:
            job = replace(
                job, attempts=0, lease_until=None, error="", result=json_result, finished_at=now
            )
            return self._rescheduled(job) if job.every else replace(job, state="done")

        return self._change(job, finished)

    def fail(self, job: Job, error: str, *, again: bool = True) -> Job:
        return self._change(job, lambda job: self._after_failure(job, error, again))

    def release(self, job: Job) -> Job:
        def released(job: Job) -> Job:
            return replace(job, state="waiting", attempts=job.attempts - 1, lease_until=None)

        return self._change(job, released)

    def jobs(self, state: State | None = None) -> list[Job]:
        live = [job for job, _ in self._live()]
        live.sort(key=lambda job: (job.not_before, job.id))
        done = [_job(entry) for entry in self._store.kv.list(DONE)]
        done.sort(key=lambda job: (job.finished_at or job.created_at, job.id))
        # a job that was finished between the two lists is in both
        by_id = {job.id: job for job in (*live, *done)}
        return [job for job in by_id.values() if state is None or job.state == state]

    def job(self, id: str) -> Job:
        stored = self._find(id)
        if stored is None:
            raise NotFoundError(
                f"there is no job {id!r}", remedy="`remloom jobs list` shows them all", id=id
            )
        return stored

    def _find(self, id: str) -> Job | None:
        """Find a job; when it is done meanwhile, it is in the other namespace."""
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

    def _live(self) -> list[tuple[Job, int]]:
        return [(_job(entry), entry.version) for entry in self._store.kv.list(LIVE)]

    def _change(self, job: Job, change: Callable[[Job], Job]) -> Job:
        # A swap fails only when the entry changed in between, so each round sees a newer state and
        # either writes to it or finds the claim lost.
        while True:
            entry = self._store.kv.get(LIVE, job.id)
            current = None if entry is None else _job(entry)
            if entry is None or current is None or not _is_same_claim(current, job):
                raise LeaseLostError(
                    f"job {job.id!r} is no longer that of {job.worker}: its lease ran out, "
                    "or it was removed",
                    remedy="claim jobs with a longer lease",
                    id=job.id,
                )
            changed = change(current)
            if self._swap(changed, entry.version):
                return changed

    def _swap(self, job: Job, version: int) -> bool:
        return self._write(job, {(LIVE, job.id): version})

    def _delete_old(self, now: datetime) -> None:
        if now - self._cleaned_up_at < CLEANUP_INTERVAL:
            return
        self._cleaned_up_at = now
        old = []
        for entry in self._store.kv.list(DONE):
            finished_at = _job(entry).finished_at
            if finished_at and now - finished_at > RETENTION:
                old.append((DONE, entry.key))
        if old:
            self._store.kv.put([], deleted=old)

    def _after_failure(self, job: Job, error: str, again: bool) -> Job:
        job = replace(job, lease_until=None, error=error)
        if again and job.attempts < MAX_ATTEMPTS:
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (job.attempts - 1))
            due = self._clock() + timedelta(seconds=pause)
            return replace(job, state="waiting", not_before=due)
        # A schedule outlives its failures: one bad night does not end it.
        if job.every:
            return self._rescheduled(replace(job, attempts=0))
        return replace(job, state="parked")

    def _rescheduled(self, job: Job) -> Job:
        # The clock of the machine that set `not_before` may have been ahead of this one: counted
        # from this clock alone, the time that was just done would come up a second time.
        after = max(self._clock(), job.not_before)
        return replace(job, state="waiting", not_before=next_time(job.every, job.zone, after))


def _is_same_claim(current: Job, claimed: Job) -> bool:
    # A worker may claim the same job again after its own lease ran out; the count of attempts tells
    # the two claims apart.
    same_worker = current.worker == claimed.worker
    return current.state == "running" and same_worker and current.attempts == claimed.attempts


def _check_same(stored: Job, job: Job) -> Job:
    """Refuse a job under the key of one of another kind, payload or schedule."""
    # not `not_before`: what is added again "from now on" is still the same job
    names = ("kind", "payload", "every", "zone")
    if any(getattr(stored, name) != getattr(job, name) for name in names):
        raise ConflictError(
            f"there is another job {job.id!r}: {stored.kind} {stored.every}".rstrip(),
            remedy="remove that one first, or give this one another name",
            id=job.id,
        )
    return stored


def _due(job: Job) -> datetime:
    return job.lease_until if job.state == "running" and job.lease_until else job.not_before


def _job(entry: Entry) -> Job:
    return msgspec.json.decode(entry.value, type=Job)


def _lease_time(count: float) -> timedelta:
    if not count > 0:
        raise InvalidInputError(f"a lease is a number of seconds above 0, not {count!r}")
    return timedelta(seconds=count)


def _as_json(value: Any) -> Any:
    try:
        return msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"what a job is given and what it returns must be JSON: {error}"
        ) from error


# -- schedules -----------------------------------------------------------------------------------


def next_time(expression: str, zone: str, after: datetime) -> datetime:
    """Find the first time of a cron expression after another, in UTC.

    Raises:
        InvalidInputError: it is not such an expression, or has no time in fifty years; the zone is
            unknown.
        MissingExtraError: cronsim is not installed.

    >>> next_time("0 2 * * *", "Europe/Riga", datetime(2026, 7, 1, 12, tzinfo=UTC)).isoformat()
    '2026-07-01T23:00:00+00:00'
    """
    # cronsim looks fifty years ahead: 30 February never comes
    time = next(_times(expression, zone, after), None)
    if time is None:
        raise InvalidInputError(
            f"{expression!r} means no time at all", remedy='for example "0 2 * * *"'
        )
    return time.astimezone(UTC)


def in_words(expression: str) -> str:
    """Say in English what a cron expression means.

    >>> in_words("0 2 * * *")
    'At 02:00 every day'
    """
    return _times(expression, "UTC", datetime.now(UTC)).explain()


def _times(expression: str, zone: str, after: datetime) -> CronSim:
    try:
        from cronsim import CronSim, CronSimError
    except ImportError:
        raise MissingExtraError("a schedule", "jobs") from None
    try:
        return CronSim(expression, after.astimezone(_zone(zone)))
    except CronSimError as error:
        raise InvalidInputError(
            f"{expression!r} is not a cron expression: {str(error).lower()}",
            remedy="minute, hour, day, month, weekday; "
            'for example "0 2 * * *" for two o\'clock every night',
        ) from None


def _zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # "Europe" is a folder of zones: an OSError
        raise InvalidInputError(
            f"there is no time zone {name!r}", remedy="for example UTC or Europe/Riga"
        ) from None
