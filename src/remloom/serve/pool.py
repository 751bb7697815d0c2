"""Threads for calls: so many at once; others wait for their turn, or are told to come back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeAlias, TypeVar

from ..errors import BusyError, TimeLimitError

__all__ = ["Pool"]

PATIENCE = 5.0  # seconds to wait for threads that end

_T = TypeVar("_T")
_Call: TypeAlias = tuple[Future[_T], Callable[[], _T]]


class Pool:
    """Runs calls in threads, each of which is one place.

    A call that nobody waits for any more keeps its place until it ends, or never begins.

    Args:
        places: calls that run at the same time.
        waiting: calls that wait for a place at most.
        seconds: that a caller waits for the end of a call.
        busy: what too many of there are, as an error says it.
        retry_after: seconds after which one that finds no place may try again.
    """

    def __init__(
        self, places: int, *, waiting: int, seconds: float, busy: str, retry_after: int
    ) -> None:
        self._places, self._most = places, places + waiting
        self._seconds = seconds
        self._busy, self._retry_after = busy, retry_after
        self._lock = Lock()
        self._taken = 0
        self._threads: list[Thread] = []
        self._calls: SimpleQueue[_Call[Any] | None] = SimpleQueue()

    @property
    def taken(self) -> int:
        """How many calls run, or wait."""
        return self._taken

    async def run(self, name: str, work: Callable[[], _T]) -> _T:
        """Run a call, and wait for its end.

        Args:
            name: of the call, for the errors.

        Raises:
            BusyError: there is no place for it; it was not begun.
            TimeLimitError: it takes too long; what it has begun is finished all the same.
        """
        begun = self._begin(work)
        try:
            async with asyncio.timeout(self._seconds) as limit:
                return await asyncio.wrap_future(begun)
        except TimeoutError:
            if not limit.expired():
                raise
        if begun.cancel():
            raise self._no_place()
        raise TimeLimitError(
            f"{name} takes longer than {self._seconds:g} s",
            remedy="ask for less; what it had begun to write is finished all the same "
            "(the setting serve_timeout is the limit)",
        )

    def close(self) -> None:
        """End the threads, each after what it is doing; one that hangs is left behind."""
        for _ in self._threads:
            self._calls.put(None)
        deadline = time.monotonic() + PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _begin(self, work: Callable[[], _T]) -> Future[_T]:
        with self._lock:
            if self._taken >= self._most:
                raise self._no_place()
            self._taken += 1
            if len(self._threads) < min(self._taken, self._places):
                # a call that hangs does not keep the process from ending
                thread = Thread(target=self._work, name="remloom-call", daemon=True)
                self._threads.append(thread)
                thread.start()
        future: Future[_T] = Future()
        future.add_done_callback(self._leave)
        self._calls.put((future, partial(copy_context().run, work)))
        return future

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            _finish(*call)
            # nothing of it is kept while the thread waits for another
            del call

    def _leave(self, _: Future[Any]) -> None:
        with self._lock:
            self._taken -= 1

    def _no_place(self) -> BusyError:
        return BusyError(
            f"too many {self._busy}",
            remedy=f"try again in {self._retry_after} s",
            retry_after=self._retry_after,
        )


def _finish(future: Future[_T], work: Callable[[], _T]) -> None:
    """Do a call, unless nobody waits for it any more."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
