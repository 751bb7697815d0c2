"""Threads for calls: so many at once, in fair shares; others wait, or are refused."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from ..errors import BusyError, LimitError, TimeLimitError

Who: TypeAlias = tuple[str, str]  # a tenant and a key

MOST_TURNS = 10_000  # tenants and keys whose last turn is known


class QueuedCall(Struct, eq=False):
    """A call that waits or runs."""

    who: Who
    work: Callable[[], Any]
    future: Future[Any]
    # whether others wait for its turn to end; one that waits for a disk needs no turn
    has_turn: bool = True
    runs: bool = False


class FairQueue:
    """Calls of many, none of whom keeps the others waiting. It is used under a lock.

    A key has half of the places at most, and a tenant three quarters: what is left is for others.
    The same goes for calls that wait. Of those that wait, the tenant comes next whose last turn was
    the longest ago, with that of its keys: one that comes now and then comes before a busy one.

    A turn keeps others from beginning for as long as a call that computes takes: two of these in
    one interpreter take more than twice as long as one. A call that takes longer, or waits for
    something itself, keeps its place, and the next begins beside it; beside one that has no turn,
    at once.

    Args:
        places: calls that run at the same time.
        waiting: calls that wait for a place at most.
        turn: seconds for which a call that runs lets no other begin.
        clock: in seconds, never going back.
    """

    def __init__(
        self,
        places: int,
        waiting: int,
        *,
        turn: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._places, self._most = places, places + waiting
        self._turn, self._clock = turn, clock
        self._last: QueuedCall | None = None  # that has had a turn, while it runs
        self._turn_ends = 0.0
        self._taken, self._running = _Counts(), _Counts()
        # nobody without a call is in it
        self._waiting: dict[Who, deque[QueuedCall]] = {}
        # the number of the last turn of each tenant, and of each key
        self._turns: dict[tuple[str, ...], int] = {}
        self._turn_number = 0

    @property
    def taken(self) -> int:
        return self._taken.all

    @property
    def running(self) -> int:
        return self._running.all

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting)

    def is_full(self) -> bool:
        return self._taken.all >= self._most

    def has_share(self, who: Who, *, of_running: bool = False) -> bool:
        """Whether a tenant and key have as much as they may, of what is taken or of what runs."""
        if of_running:
            return self._running.is_share(who, self._places)
        return self._taken.is_share(who, self._most)

    def add(self, call: QueuedCall) -> None:
        self._taken.add(call.who, 1)
        self._waiting.setdefault(call.who, deque()).append(call)

    def next(self) -> QueuedCall | None:
        """Give the call whose turn it is, which runs from now on; None: no call may."""
        if self._running.all >= self._places or self._is_turn_of_last():
            return None
        may = (who for who in self._waiting if not self.has_share(who, of_running=True))
        who = min(may, key=self._last_turns, default=None)
        if who is None:
            return None
        call = self._waiting[who][0]
        self._take(call)
        call.runs = True
        self._running.add(who, 1)
        if call.has_turn:
            self._last, self._turn_ends = call, self._clock() + self._turn
        self._note_turn(who)
        return call

    def leave(self, call: QueuedCall) -> None:
        """Let a call go that has ended, or that nobody waits for any more."""
        self._taken.add(call.who, -1)
        if call is self._last:
            self._last = None
        if call.runs:
            self._running.add(call.who, -1)
        else:
            self._take(call)

    def waiting(self) -> list[QueuedCall]:
        return [call for calls in self._waiting.values() for call in calls]

    def _is_turn_of_last(self) -> bool:
        return self._last is not None and self._clock() < self._turn_ends

    def _last_turns(self, who: Who) -> tuple[int, int]:
        return self._turns.get(who[:1], 0), self._turns.get(who, 0)

    def _note_turn(self, who: Who) -> None:
        if len(self._turns) > MOST_TURNS:
            self._turns.clear()
        self._turn_number += 1
        self._turns[who[:1]] = self._turns[who] = self._turn_number

    def _take(self, call: QueuedCall) -> None:
        calls = self._waiting[call.who]
        calls.remove(call)
        if not calls:
            del self._waiting[call.who]


class _Counts:
    """How many calls there are, of all, of each tenant and of each key."""

    def __init__(self) -> None:
        self.all = 0
        self._by: Counter[tuple[str, ...]] = Counter()

    def add(self, who: Who, count: int) -> None:
        self.all += count
        for one in (who[:1], who):
            self._by[one] += count
            if not self._by[one]:
                del self._by[one]

    def is_share(self, who: Who, places: int) -> bool:
        """Whether this is all that a key, or its tenant, may have of so many places."""
        return self._by[who] >= max(1, places // 2) or self._by[who[:1]] >= max(1, places * 3 // 4)


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
        self._begun: SimpleQueue[QueuedCall | None] = SimpleQueue()

    @property
    def taken(self) -> int:
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
            raise self._own_share() if is_own else self._no_room()
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
                call.future.set_exception(self._no_room())
        for _ in self._threads:
            self._begun.put(None)
        deadline = time.monotonic() + PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _begin(self, who: Who, work: Callable[[], _T], has_turn: bool) -> Future[_T]:
        future: Future[_T] = Future()
        call = QueuedCall(who, partial(copy_context().run, work), future, has_turn)
        with self._lock:
            if self._queue.has_share(who):
                raise self._own_share()
            if self._is_closed or self._queue.is_full():
                raise self._no_room()
            self._queue.add(call)
        future.add_done_callback(partial(self._leave, call))
        self._start()
        return future

    def _start(self) -> None:
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

    def _leave(self, call: QueuedCall, _: Future[Any]) -> None:
        with self._lock:
            self._queue.leave(call)
        self._start()

    def _own_share(self) -> LimitError:
        return LimitError(
            f"too many {self._busy} for this key, or its tenant: the rest is left to others",
            remedy=f"wait for one of them to end, or try again in {self._retry_after} s",
            retry_after=self._retry_after,
        )

    def _no_room(self) -> BusyError:
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
