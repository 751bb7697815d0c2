"""A worker: claims jobs one after another, and holds each while it is done."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from ..errors import (
    EmbedderError,
    InvalidInputError,
    LeaseLostError,
    MissingExtraError,
    ModelError,
    ModelNotConfiguredError,
    RemloomError,
    StoreError,
)
from .contract import LEASE, Job, Queue

POLL = 5.0  # seconds
# errors that come again however often a job is tried
PERMANENT_ERRORS = (InvalidInputError, MissingExtraError, ModelNotConfiguredError)


# within a word it is an apostrophe
_QUOTED = re.compile(r"""(?<!\w)'(?:[^'\\]|\\.)+'(?!\w)|"(?:[^"\\]|\\.)+"|“[^”]+”""", re.DOTALL)
_LEFT_OUT = "'…'"


class Worker:
    """Does the jobs of a queue in the calling thread; run as many as you like, in one process or
    several.

    A job that raises is tried again later (see `Queue.fail`), or parked at once when it would only
    fail again. One that is interrupted goes back into the queue, and the interruption goes on.

    Args:
        do: does a job and returns its result, which the queue stores.
        on_job: called with each job as it begins, and as it is afterwards.
        kinds: to do; None: all.
        lease: seconds after which another worker takes over when this one has died.
        poll: seconds between two looks into an empty queue.
        stop: once set, no job is begun any more, and `work` returns.
    """

    def __init__(
        self,
        queue: Queue,
        do: Callable[[Job], Any],
        *,
        on_job: Callable[[Job], None] | None = None,
        kinds: Collection[str] | None = None,
        lease: float = LEASE,
        poll: float = POLL,
        stop: threading.Event | None = None,
    ) -> None:
        self.name = f"{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}"
        self._queue = queue
        self._do = do
        self._on_job = on_job or (lambda job: None)
        self._kinds = kinds
        self._lease = lease
        self._poll = poll
        self._stop = stop or threading.Event()

    def work(self, *, until_idle: bool = False) -> int:
        """Do what is due until `stop` is set, or `until_idle`: until nothing is. Returns how many
        jobs were begun."""
        count = 0
        while not self._stop.is_set():
            job = self._queue.claim(self.name, kinds=self._kinds, lease=self._lease)
            if job is not None:
                count += 1
                self._on_job(self._do_one(job))
            elif until_idle:
                break
            else:
                self._stop.wait(self._poll)
        return count

    def _do_one(self, job: Job) -> Job:
        try:
            try:
                self._on_job(job)
                # `on_job` may have set it, or a signal that came since the claim
                if self._stop.is_set():
                    return self._queue.release(job)
                with self._extending_lease(job):
                    result = self._do(job)
            except Exception as error:
                return self._queue.fail(
                    job, reason_of(error, job), again=not isinstance(error, PERMANENT_ERRORS)
                )
            except BaseException:
                # interrupted: not the job's fault, so it is given back and the interruption goes on
                with suppress(LeaseLostError):
                    self._queue.release(job)
                raise
            return self._queue.finish(job, result)
        except LeaseLostError as error:
            # Another worker has it now, and will report what became of it.
            return replace(job, error=str(error))

    @contextmanager
    def _extending_lease(self, job: Job) -> Iterator[None]:
        """Extend the lease of a job while the block runs, so that no job needs to know of
        leases."""
        over = threading.Event()

        def extend() -> None:
            # thrice in a lease: one extension may be lost
            while not over.wait(self._lease / 3):
                try:
                    self._queue.extend(job, self._lease)
                except LeaseLostError:
                    return
                except StoreError:
                    # e.g. the database is busy; the next round comes before the lease runs out
                    continue

        thread = threading.Thread(target=extend, name=f"remloom-lease-{job.id}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def reason_of(error: Exception, job: Job) -> str:
    """Say why a job failed, for those who look at it later, when a document may be forgotten.

    What is in quotes stays only if the job itself says it: else it may be of a document, as
    may whatever an endpoint answers or another library says.
    """
    if not isinstance(error, RemloomError):
        return f"something unexpected happened: {type(error).__name__}"
    message = error.message
    if isinstance(error, ModelError | EmbedderError):
        # after it come the words of an endpoint, or of a model
        message = message.partition(": ")[0]
    known = _texts(job.payload) | {job.kind, job.id}
    shown = _QUOTED.sub(lambda found: found[0] if found[0][1:-1] in known else _LEFT_OUT, message)
    return f"{shown}\n  remedy: {error.remedy}" if error.remedy else shown


def _texts(value: Any) -> set[str]:
    """All texts of a payload, and the names of its fields."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return set(value).union(*map(_texts, value.values()))
    if isinstance(value, list):
        return set().union(*map(_texts, value))
    return {msgspec.json.encode(value).decode()}
