"""Whose turn it is: calls that wait and run, in shares by tenant and by key."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeAlias

from msgspec import Struct

Who: TypeAlias = tuple[str, str]  # a tenant and a key

MOST_TURNS = 10_000  # tenants and keys whose last turn is known


class Call(Struct, eq=False):
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
        self._last: Call | None = None  # that has had a turn, while it runs
        self._turn_ends = 0.0
        self._taken, self._running = _Counts(), _Counts()
        # nobody without a call is in it
        self._waiting: dict[Who, deque[Call]] = {}
        # the number of the last turn of each tenant, and of each key
        self._turns: dict[tuple[str, ...], int] = {}
        self._turn_number = 0

    @property
    def taken(self) -> int:
        """How many calls run, or wait."""
        return self._taken.all

    @property
    def running(self) -> int:
        """How many calls run."""
        return self._running.all

    @property
    def is_waiting(self) -> bool:
        """Whether calls wait."""
        return bool(self._waiting)

    def is_full(self) -> bool:
        """Whether no call of anybody is taken."""
        return self._taken.all >= self._most

    def has_share(self, who: Who, *, of_running: bool = False) -> bool:
        """Whether a tenant and key have as much as they may, of what is taken or of what runs."""
        if of_running:
            return self._running.is_share(who, self._places)
        return self._taken.is_share(who, self._most)

    def add(self, call: Call) -> None:
        """Take a call in."""
        self._taken.add(call.who, 1)
        self._waiting.setdefault(call.who, deque()).append(call)

    def next(self) -> Call | None:
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

    def leave(self, call: Call) -> None:
        """Let a call go that has ended, or that nobody waits for any more."""
        self._taken.add(call.who, -1)
        if call is self._last:
            self._last = None
        if call.runs:
            self._running.add(call.who, -1)
        else:
            self._take(call)

    def waiting(self) -> list[Call]:
        """List the calls that wait."""
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

    def _take(self, call: Call) -> None:
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
