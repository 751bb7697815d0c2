"""The contract of a job queue as tests. A queue's test module inherits `QueueConformance` and
supplies one fixture.

    class TestStoredQueue(QueueConformance):
        @pytest.fixture
        def opening(self, tmp_path):
            store = SqliteStore(tmp_path / "memory.db")
            yield lambda: StoredQueue(store)
            store.close()

`opening()` gives the same queue each time it is called, as another worker would have it. The suite
runs in real time with short leases.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ..errors import ConflictError, InvalidInputError, LeaseLostError
from ..jobs.contract import MAX_ATTEMPTS, Job, JobSpec, Queue

SHORT = 0.1  # seconds of a lease that is to run out


class QueueConformance:
    """What every queue must do. It is empty at the start of each test."""

    @pytest.fixture
    def opening(self) -> Callable[[], Queue]:
        raise NotImplementedError("return a function that opens the queue under test")

    @pytest.fixture
    def queue(self, opening: Callable[[], Queue]) -> Queue:
        return opening()

    def test_a_job_is_claimed_by_one_worker_and_finished(
        self, opening: Callable[[], Queue]
    ) -> None:
        queue = opening()
        other = opening()
        added = queue.add(JobSpec("read", {"source": "notes/", "recursive": True}))
        claimed = _claim(other, "ann")
        assert (claimed.id, claimed.kind, claimed.payload) == (
            added.id,
            "read",
            {"source": "notes/", "recursive": True},
        )
        assert (claimed.state, claimed.worker, claimed.attempts) == ("running", "ann", 1)
        assert queue.claim("bob") is None
        finished = other.finish(claimed, {"resources": 3})
        assert (finished.state, finished.result) == ("done", {"resources": 3})
        assert queue.claim("bob") is None

    def test_an_empty_queue_has_nothing_to_claim(self, queue: Queue) -> None:
        assert queue.claim("ann") is None

    def test_what_has_been_due_the_longest_comes_first(self, queue: Queue) -> None:
        now = datetime.now(UTC)
        for hours in (1, 3, 2):
            queue.add(JobSpec("dream", key=str(hours), not_before=now - timedelta(hours=hours)))
        claimed = [queue.claim("ann") for _ in range(3)]
        assert [job.id for job in claimed if job is not None] == ["3", "2", "1"]

    def test_a_job_waits_for_its_time(self, queue: Queue) -> None:
        queue.add(JobSpec("dream", not_before=datetime.now(UTC) + timedelta(hours=1)))
        assert queue.claim("ann") is None

    def test_a_worker_can_choose_the_kinds_it_does(self, queue: Queue) -> None:
        queue.add(JobSpec("dream"))
        assert queue.claim("ann", kinds=["read"]) is None
        assert queue.claim("ann", kinds=["read", "dream"]) is not None

    def test_a_key_makes_adding_the_same_job_twice_one_job(self, queue: Queue) -> None:
        # three times: while it waits, and once it is done
        first = queue.add(JobSpec("read", {"source": "a"}, key="a"))
        assert queue.add(JobSpec("read", {"source": "a"}, key="a")).id == first.id == "a"
        claimed = _claim(queue, "ann")
        assert queue.claim("bob") is None
        queue.finish(claimed)
        assert queue.add(JobSpec("read", {"source": "a"}, key="a")).state == "done"
        assert queue.claim("ann") is None

    def test_a_key_that_stands_for_another_job_is_refused(self, queue: Queue) -> None:
        queue.add(JobSpec("read", {"source": "a"}, key="a"))
        with pytest.raises(ConflictError):
            queue.add(JobSpec("read", {"source": "b"}, key="a"))

    def test_a_payload_that_is_no_json_is_refused(self, queue: Queue) -> None:
        with pytest.raises(InvalidInputError):
            queue.add(JobSpec("read", {"source": object()}))
        assert queue.claim("ann") is None

    def test_a_time_without_zone_is_refused(self, queue: Queue) -> None:
        with pytest.raises(InvalidInputError, match="zone"):
            queue.add(JobSpec("read", not_before=datetime(2026, 1, 1)))  # noqa: DTZ001

    def test_when_a_lease_runs_out_another_worker_goes_on_and_the_first_is_told(
        self, queue: Queue
    ) -> None:
        queue.add(JobSpec("dream"))
        lost = _claim(queue, "ann", lease=SHORT)
        time.sleep(2 * SHORT)
        taken = _claim(queue, "bob")
        assert (taken.id, taken.worker, taken.attempts) == (lost.id, "bob", 2)
        for late in (
            queue.extend,
            queue.finish,
            queue.release,
            lambda job: queue.fail(job, "too late"),
        ):
            with pytest.raises(LeaseLostError):
                late(lost)
        assert queue.finish(taken).state == "done"

    def test_an_extended_lease_keeps_others_away(self, queue: Queue) -> None:
        queue.add(JobSpec("dream"))
        claimed = _claim(queue, "ann", lease=SHORT)
        queue.extend(claimed, 60)
        time.sleep(2 * SHORT)
        assert queue.claim("bob") is None
        queue.finish(claimed)

    def test_a_failed_job_waits_before_it_is_tried_again(self, queue: Queue) -> None:
        queue.add(JobSpec("dream"))
        claimed = _claim(queue, "ann")
        failed = queue.fail(claimed, "the model is down")
        assert (failed.state, failed.error) == ("waiting", "the model is down")
        assert failed.not_before > datetime.now(UTC) + timedelta(seconds=5)
        assert queue.claim("ann") is None

    def test_a_job_that_would_fail_again_is_parked_at_once(self, queue: Queue) -> None:
        queue.add(JobSpec("dream"))
        claimed = _claim(queue, "ann")
        assert queue.fail(claimed, "no such folder", again=False).state == "parked"
        assert queue.claim("ann") is None

    def test_a_job_whose_workers_all_died_is_not_tried_for_ever(self, queue: Queue) -> None:
        queue.add(JobSpec("dream"))
        for attempt in range(MAX_ATTEMPTS):
            claimed = _claim(queue, "ann", lease=SHORT)
            assert claimed.attempts == attempt + 1
            time.sleep(1.5 * SHORT)
        assert queue.claim("ann") is None

    def test_a_released_job_can_be_claimed_at_once_and_nothing_is_counted(
        self, queue: Queue
    ) -> None:
        queue.add(JobSpec("dream"))
        claimed = _claim(queue, "ann")
        queue.release(claimed)
        again = _claim(queue, "bob")
        assert again.attempts == 1

    def test_a_job_with_a_schedule_comes_back_once_for_all_the_times_that_were_missed(
        self, queue: Queue
    ) -> None:
        long_ago = datetime.now(UTC) - timedelta(days=3)
        job = queue.add(JobSpec("affinity", every="0 2 * * *"))
        assert timedelta(0) < job.not_before - datetime.now(UTC) <= timedelta(days=1)
        assert queue.claim("ann") is None
        assert (
            queue.add(
                JobSpec("affinity", key="soon", every="* * * * * *", not_before=long_ago)
            ).not_before
            > long_ago
        )
        # every second of the schedule since three days is one job, not a quarter of a million
        time.sleep(1.1)
        claimed = _claim(queue, "ann")
        before = datetime.now(UTC)
        finished = queue.finish(claimed, "done")
        assert (finished.state, finished.result, finished.attempts) == ("waiting", "done", 0)
        assert finished.not_before > before

    def test_many_workers_at_once_do_each_job_once(self, opening: Callable[[], Queue]) -> None:
        queue = opening()
        ids = {queue.add(JobSpec("dream", {"number": number})).id for number in range(30)}

        def work(name: str) -> list[Job]:
            own, done = opening(), []
            while (job := own.claim(name)) is not None:
                done.append(own.finish(job))
            return done

        with ThreadPoolExecutor(4) as threads:
            done = [job for jobs in threads.map(work, "abcd") for job in jobs]
        assert sorted(job.id for job in done) == sorted(ids)


def _claim(queue: Queue, worker: str, **options: Any) -> Job:
    job = queue.claim(worker, **options)
    assert job is not None
    return job
