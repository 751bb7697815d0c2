"""Threads for calls: so many at once, in fair shares; others wait, or are told to come back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from ..errors import BusyError, LimitError, TimeLimitError
from .fair_queue import Call, FairQueue, Who

PATIENCE = 5.0  # seconds to wait for threads that end

_T = TypeVar("_T")


class Pool:
    """Runs calls in threads, each of which is one place.

    Nobody has all of the places, and those who wait take turns: see `FairQueue`. A call that nobody
    waits for any more keeps its place until it ends, or never begins.

    Args:
        places: calls that run at the same time.
        waiting: calls that wait for a place at most.
        seconds: that a caller waits for the end of a call.
        busy: what too many of there are, as an error says it.
        retry_after: seconds after which one that finds no place may try again.
        turn: seconds for which a call that runs lets no other begin.
    """

    def __init__(
        self,
        places: int,
        *,
        waiting: int,
        seconds: float,
        busy: str,
        retry_after: int,
        turn: float = 0.0,
    ) -> None:
        self._seconds = seconds
        self._busy, self._retry_after = busy, retry_after
        self._lock = Lock()
        self._queue = FairQueue(places, waiting, turn=turn)
        self._turn = turn
        # the event loop that looks whether a turn has ended, while calls wait for that
        self._looking: asyncio.AbstractEventLoop | None = None
        self._threads: list[Thread] = []
        self._is_closed = False
        # those whose turn it is, for the threads, of which there is one for each; None ends one
        self._begun: SimpleQueue[Call | None] = SimpleQueue()

    @property
    def taken(self) -> int:
        """How many calls run, or wait."""
        return self._queue.taken

    async def run(
        self, name: str, who: Who, work: Callable[[], _T], *, has_turn: bool = True
    ) -> _T:
        """Run a call, and wait for its end.

        Args:
            name: of the call, for the errors.
            who: calls: a tenant and a key.
            has_turn: others wait for the end of its turn.

        Raises:
            BusyError: there is no place for it; it was not begun.
            LimitError: the tenant or the key has its share of them; it was not begun.
            TimeLimitError: it takes too long; what it has begun is finished all the same.
        """
        begun = self._begin(who, work, has_turn)
        self._look_later(asyncio.get_running_loop())
        try:
            async with asyncio.timeout(self._seconds) as limit:
                return await asyncio.wrap_future(begun)
        except TimeoutError:
            if not limit.expired():
                raise
        with self._lock:
            is_own = self._queue.has_share(who, of_running=True)
        if begun.cancel():
            raise self._own_share() if is_own else self._no_place()
        raise TimeLimitError(
            f"{name} takes longer than {self._seconds:g} s",
            remedy="ask for less; what it had begun to write is finished all the same "
            "(the setting serve_timeout is the limit)",
        )

    def close(self) -> None:
        """End the threads, each after what it is doing; one that hangs is left behind. What waits
        is refused."""
        with self._lock:
            self._is_closed = True
            waiting = self._queue.waiting()
        for call in waiting:
            if call.future.set_running_or_notify_cancel():
                call.future.set_exception(self._no_place())
        for _ in self._threads:
            self._begun.put(None)
        deadline = time.monotonic() + PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _begin(self, who: Who, work: Callable[[], _T], has_turn: bool) -> Future[_T]:
        future: Future[_T] = Future()
        call = Call(who, partial(copy_context().run, work), future, has_turn)
        with self._lock:
            if self._queue.has_share(who):
                raise self._own_share()
            if self._is_closed or self._queue.is_full():
                raise self._no_place()
            self._queue.add(call)
        future.add_done_callback(partial(self._leave, call))
        self._start()
        return future

    def _start(self) -> None:
        """Begin the calls whose turn it is."""
        with self._lock:
            # what waits is refused by `close`, and not begun
            while not self._is_closed and (call := self._queue.next()) is not None:
                if len(self._threads) < self._queue.running:
                    # a call that hangs does not keep the process from ending
                    thread = Thread(target=self._work, name="remloom-call", daemon=True)
                    self._threads.append(thread)
                    thread.start()
                self._begun.put(call)

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have the next call begin when the turn of one has ended that still runs."""
        if self._turn and self._looking is not loop and self._queue.is_waiting:
            self._looking = loop
            loop.call_later(self._turn, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._looking = None
        self._start()
        self._look_later(loop)

    def _work(self) -> None:
        while (call := self._begun.get()) is not None:
            _finish(call.future, call.work)
            # nothing of it is kept while the thread waits for another
            del call

    def _leave(self, call: Call, _: Future[Any]) -> None:
        with self._lock:
            self._queue.leave(call)
        self._start()

    def _own_share(self) -> LimitError:
        return LimitError(
            f"too many {self._busy} for this key, or its tenant: the rest is left to others",
            remedy=f"wait for one of them to end, or try again in {self._retry_after} s",
            retry_after=self._retry_after,
        )

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
        if not isinstance(error, Exception) or isinstance(error, StopIteration):
            # these would end the event loop, or never come to who waits
            ended = RuntimeError(f"a call ended with {type(error).__name__}")
            ended.__cause__ = error
            error = ended
        future.set_exception(error)
