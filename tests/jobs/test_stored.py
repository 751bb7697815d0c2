"""The queue in the store: the contract, and what happens as its clock goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from uuid import uuid4

import pytest

from remloom.errors import ConflictError, InvalidInputError, LeaseLostError, NotFoundError
from remloom.jobs import JobSpec, Queue, StoredQueue
from remloom.store.contract import Store
from remloom.store.sqlite import SqliteStore
from remloom.testing.jobs import QueueConformance

NIGHT = "0 2 * * *"


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 22, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **span: float) -> None:
        self.now += timedelta(**span)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "memory.db")
    yield opened
    opened.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(store: Store, clock: Clock) -> StoredQueue:
    return StoredQueue(store, clock)


class TestStoredQueue(QueueConformance):
    @pytest.fixture
    def opening(self, tmp_path: Path) -> Iterator[Callable[[], Queue]]:
        stores: list[SqliteStore] = []

        def opening() -> Queue:
            stores.append(SqliteStore(tmp_path / "shared.db"))
            return StoredQueue(stores[-1])

        yield opening
        for store in stores:
            store.close()

    @pytest.fixture
    def queue(self, opening: Callable[[], Queue]) -> Queue:
        return opening()


def test_failed_attempts_are_ever_further_apart_and_the_fifth_parks_the_job(
    queue: StoredQueue, clock: Clock
) -> None:
    queue.add(JobSpec("dream", key="night"))
    pauses = []
    for _ in range(5):
        claimed = queue.claim("ann")
        assert claimed is not None
        failed = queue.fail(claimed, "the model is down")
        pauses.append((failed.not_before - clock.now).total_seconds())
        clock.forward(hours=2)
    assert pauses[:4] == [30, 60, 120, 240]
    assert queue.claim("ann") is None
    parked = queue.job("night")
    assert (parked.state, parked.error, parked.attempts) == ("parked", "the model is down", 5)
    assert queue.retry("night").state == "waiting"
    again = queue.claim("ann")
    assert again is not None
    assert again.attempts == 1


def test_a_scheduled_job_runs_once_each_night_however_many_nights_were_missed(
    queue: StoredQueue, clock: Clock
) -> None:
    added = queue.add(JobSpec("affinity", every=NIGHT, zone="Europe/Riga"))
    assert added.not_before.isoformat() == "2026-11-23T00:00:00+00:00"
    clock.forward(days=4)
    claimed = queue.claim("ann")
    assert claimed is not None
    clock.forward(minutes=5)
    assert queue.finish(claimed).not_before.isoformat() == "2026-11-27T00:00:00+00:00"
    assert queue.claim("ann") is None


def test_a_scheduled_job_that_keeps_failing_waits_for_its_next_night_and_says_why(
    queue: StoredQueue, clock: Clock
) -> None:
    queue.add(JobSpec("affinity", key="night", every=NIGHT))
    clock.forward(hours=1)
    for _ in range(5):
        claimed = queue.claim("ann")
        assert claimed is not None
        queue.fail(claimed, "the model is down")
        clock.forward(minutes=10)
    waiting = queue.job("night")
    assert (waiting.state, waiting.error, waiting.attempts) == ("waiting", "the model is down", 0)
    assert waiting.not_before == datetime(2026, 11, 23, 2, tzinfo=UTC)


def test_a_schedule_keeps_local_time_when_the_clocks_change(
    queue: StoredQueue, clock: Clock
) -> None:
    clock.now = datetime(2026, 10, 24, 12, tzinfo=UTC)
    queue.add(JobSpec("dream", key="night", every=NIGHT, zone="Europe/Riga"))
    times = []
    for _ in range(2):
        clock.now = queue.job("night").not_before
        claimed = queue.claim("ann")
        assert claimed is not None
        times.append(clock.now.isoformat())
        queue.finish(claimed)
    assert times == ["2026-10-24T23:00:00+00:00", "2026-10-26T00:00:00+00:00"]


def test_a_clock_that_is_behind_does_not_run_a_night_again(
    queue: StoredQueue, clock: Clock
) -> None:
    queue.add(JobSpec("dream", every=NIGHT))
    clock.forward(hours=1)
    claimed = queue.claim("ann")
    assert claimed is not None
    clock.forward(seconds=-10)
    assert queue.finish(claimed).not_before == datetime(2026, 11, 23, 2, tzinfo=UTC)


@pytest.mark.parametrize("store_name", ["sqlite", "postgres"])
def test_a_job_added_anew_as_soon_as_the_one_before_was_done_is_done(
    store_name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Whoever sees that a job is done takes it out and adds the next under its key, in the midst of
    its finishing."""
    from remloom.store.postgres import PostgresStore

    def opening() -> Store:
        if store_name == "sqlite":
            return SqliteStore(tmp_path / "race.db")
        return PostgresStore(request.getfixturevalue("postgres"), tenant)

    tenant, jobs, begun, over = f"jobs-{uuid4().hex}", 40, list[int](), threading.Event()
    mine, others = opening(), opening()
    queue, other = StoredQueue(mine), StoredQueue(others)

    def work() -> None:
        while not over.is_set():
            if (job := other.claim("ann")) is not None:
                begun.append(job.payload["n"])
                with suppress(LeaseLostError):
                    other.finish(job)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for n in range(jobs):
            queue.add(JobSpec("dream", {"n": n}, key="next"))
            while queue.job("next").state != "done":
                assert worker.is_alive()
            queue.remove("next")
    finally:
        over.set()
        worker.join()
        mine.close()
        others.close()
    assert begun == list(range(jobs))


@pytest.mark.parametrize(
    ("every", "zone", "told"),
    [
        ("every night", "UTC", "not a cron expression"),
        ("61 * * * *", "UTC", "bad minute"),
        ("0 0 30 2 *", "UTC", "bad day"),
        (NIGHT, "Europe/Rigga", "no time zone"),
        (NIGHT, "../../etc/passwd", "no time zone"),
        (NIGHT, "Europe", "no time zone"),
    ],
)
def test_a_wrong_schedule_is_refused_with_a_right_example(
    queue: StoredQueue, every: str, zone: str, told: str
) -> None:
    with pytest.raises(InvalidInputError, match=told) as refused:
        queue.add(JobSpec("dream", every=every, zone=zone))
    assert "for example" in refused.value.remedy
    assert queue.jobs() == []


def test_a_time_that_utc_does_not_have_is_refused(queue: StoredQueue) -> None:
    late = datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-23)))
    with pytest.raises(InvalidInputError, match="out of range"):
        queue.add(JobSpec("sweep", not_before=late))
    assert queue.jobs() == []


def test_jobs_can_be_looked_at_and_removed(queue: StoredQueue) -> None:
    queue.add(JobSpec("dream", key="night", every=NIGHT))
    queue.add(JobSpec("read", {"source": "a"}, key="a"))
    assert [job.id for job in queue.jobs()] == ["a", "night"]
    claimed = queue.claim("ann")
    assert claimed is not None
    queue.finish(claimed)
    assert [job.id for job in queue.jobs("done")] == ["a"]
    queue.remove("night")
    queue.remove("a")
    assert queue.jobs() == []
    for gone in (queue.job, queue.retry, queue.remove):
        with pytest.raises(NotFoundError):
            gone("a")


def test_a_running_or_done_job_cannot_be_retried(queue: StoredQueue) -> None:
    queue.add(JobSpec("dream", key="a"))
    claimed = queue.claim("ann")
    assert claimed is not None
    with pytest.raises(ConflictError, match="running"):
        queue.retry("a")
    queue.finish(claimed)
    with pytest.raises(ConflictError, match="done"):
        queue.retry("a")


class TestStoredQueueInPostgres(QueueConformance):
    @pytest.fixture
    def opening(self, postgres: str) -> Iterator[Callable[[], Queue]]:
        from remloom.store.postgres import PostgresStore

        tenant, stores = f"jobs-{uuid4().hex}", list[PostgresStore]()

        def opening() -> Queue:
            stores.append(PostgresStore(postgres, tenant))
            return StoredQueue(stores[-1])

        yield opening
        for store in stores:
            store.close()

    @pytest.fixture
    def queue(self, opening: Callable[[], Queue]) -> Queue:
        return opening()


def test_a_job_that_is_done_is_forgotten_after_thirty_days(
    queue: StoredQueue, clock: Clock
) -> None:
    queue.add(JobSpec("dream", key="once"))
    queue.add(JobSpec("read", every=NIGHT, key="nightly"))
    claimed = queue.claim("ann")
    assert claimed is not None
    queue.finish(claimed)
    clock.forward(days=29)
    nightly = queue.claim("ann")
    assert nightly is not None
    queue.finish(nightly)
    assert queue.add(JobSpec("dream", key="once")).state == "done"
    clock.forward(days=2)
    queue.claim("ann")
    assert {job.id for job in queue.jobs()} == {"nightly"}
    assert queue.add(JobSpec("dream", key="once")).state == "waiting"
