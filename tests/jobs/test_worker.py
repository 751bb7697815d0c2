"""Workers: what they do with a job that works, fails, is interrupted, or outlives them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from remloom.errors import InvalidInputError, StoreError
from remloom.jobs import Job, JobSpec, StoredQueue, Worker
from remloom.store.sqlite import SqliteStore
from waiting import PATIENCE, until

# A worker process: each job appends its number and who did it to a log, and takes as long as its
# payload says.
PROCESS = """
import json, os, sys, time
from pathlib import Path
from remloom.jobs import StoredQueue, Worker
from remloom.store.sqlite import SqliteStore

def do(job):
    with open(sys.argv[2], "a") as log:
        log.write(json.dumps([job.payload["number"], os.getpid()]) + "\\n")
    time.sleep(job.payload["seconds"])

store = SqliteStore(Path(sys.argv[1]))
Worker(StoredQueue(store), do, lease=float(sys.argv[3]), poll=0.05).work(until_idle=True)
store.close()
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def queue(database: Path) -> Iterator[StoredQueue]:
    store = SqliteStore(database)
    yield StoredQueue(store)
    store.close()


def begun(log: Path) -> list[list[int]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def test_a_worker_does_what_is_due_and_keeps_what_came_of_it(queue: StoredQueue) -> None:
    queue.add(JobSpec("dream", {"number": 2}, key="a"))
    queue.add(JobSpec("dream", {"number": 3}, key="b"))
    told: list[tuple[str, str]] = []
    worker = Worker(
        queue,
        lambda job: job.payload["number"] ** 2,
        on_job=lambda job: told.append((job.id, job.state)),
    )
    assert worker.work(until_idle=True) == 2
    assert [(job.id, job.result) for job in queue.jobs("done")] == [("a", 4), ("b", 9)]
    assert told == [("a", "running"), ("a", "done"), ("b", "running"), ("b", "done")]


def test_a_job_that_raises_is_tried_again_and_one_whose_input_is_wrong_is_parked(
    queue: StoredQueue,
) -> None:
    queue.add(JobSpec("dream", key="outage"))
    queue.add(JobSpec("dream", key="wrong"))

    def do(job: Job) -> None:
        raise (
            InvalidInputError("no such folder")
            if job.id == "wrong"
            else StoreError("the server is down")
        )

    Worker(queue, do).work(until_idle=True)
    assert {job.id: (job.state, job.error) for job in queue.jobs()} == {
        "outage": ("waiting", "the server is down"),
        "wrong": ("parked", "no such folder"),
    }


def test_a_job_longer_than_its_lease_stays_with_its_worker(queue: StoredQueue) -> None:
    queue.add(JobSpec("dream", key="long"))
    worker = Worker(queue, lambda job: time.sleep(3), lease=2)
    thread = threading.Thread(target=worker.work, kwargs={"until_idle": True})
    thread.start()
    until(lambda: queue.job("long").state == "running")
    while thread.is_alive():
        assert queue.claim("another") is None
        time.sleep(0.01)
    assert (queue.job("long").state, queue.job("long").attempts) == ("done", 0)


def test_an_interrupted_job_goes_back_into_the_queue(queue: StoredQueue) -> None:
    queue.add(JobSpec("dream", key="a"))

    def interrupted(job: Job) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Worker(queue, interrupted).work(until_idle=True)
    job = queue.job("a")
    assert (job.state, job.attempts) == ("waiting", 0)


def test_a_job_that_was_removed_meanwhile_is_told_as_lost(queue: StoredQueue) -> None:
    queue.add(JobSpec("dream", key="a"))
    told: list[Job] = []
    Worker(queue, lambda job: queue.remove("a"), on_job=told.append).work(until_idle=True)
    assert "no longer that of" in told[-1].error
    assert queue.jobs() == []


def test_a_worker_stops_when_it_is_told_to(queue: StoredQueue) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=Worker(queue, lambda job: stop.set(), poll=30, stop=stop).work)
    queue.add(JobSpec("dream", key="last"))
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert queue.job("last").state == "done"


@pytest.mark.crash
def test_when_a_worker_is_killed_another_goes_on_with_its_job(
    queue: StoredQueue, database: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    queue.add(JobSpec("dream", {"number": 1, "seconds": 60}, key="a"))
    command = [sys.executable, "-c", PROCESS, str(database), str(log), "0.6"]
    victim = subprocess.Popen(command)
    try:
        until(lambda: len(begun(log)) == 1)
    finally:
        os.kill(victim.pid, signal.SIGKILL)
        victim.wait()
    assert queue.job("a").state == "running"
    done: list[str] = []
    heir = Worker(queue, lambda job: done.append(job.id), lease=0.6, poll=0.05)
    until(lambda: heir.work(until_idle=True))
    assert done == ["a"]
    assert queue.job("a").state == "done"


@pytest.mark.crash
def test_workers_in_several_processes_never_do_a_job_twice(
    queue: StoredQueue, database: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    for number in range(20):
        queue.add(JobSpec("dream", {"number": number, "seconds": 0.01}))
    command = [sys.executable, "-c", PROCESS, str(database), str(log), "30"]
    workers = [subprocess.Popen(command) for _ in range(3)]
    assert [worker.wait(PATIENCE) for worker in workers] == [0, 0, 0]
    assert sorted(number for number, _ in begun(log)) == list(range(20))
    assert len(queue.jobs("done")) == 20
