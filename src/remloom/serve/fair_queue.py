"""Whose turn it is: calls that wait and run, in shares by tenant and by key."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeAlias

from msgspec import Struct

__all__ = ["Call", "FairQueue", "Who"]

Who: TypeAlias = tuple[str, str]  # a tenant and a key


class Call(Struct, eq=False):
    """A call that waits or runs."""

    who: Who
    work: Callable[[], Any]
    future: Future[Any]
    runs: bool = False


class FairQueue:
    """Calls of many, none of whom keeps the others waiting. It is used under a lock.

    A key has half of the places at most, and a tenant three quarters: what is left is for others.
    The same goes for calls that wait. Of those that wait, tenants take turns, and the keys of one.

    Args:
        places: calls that run at the same time.
        waiting: calls that wait for a place at most.
    """

    def __init__(self, places: int, waiting: int) -> None:
        self._places, self._most = places, places + waiting
        self._taken, self._running = _Counts(), _Counts()
        # whose turn is next stands first; nobody without a call is in it
        self._waiting: dict[str, dict[str, deque[Call]]] = {}

    @property
    def taken(self) -> int:
        """How many calls run, or wait."""
        return self._taken.all

    @property
    def running(self) -> int:
        """How many calls run."""
        return self._running.all

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
        tenant, key = call.who
        self._waiting.setdefault(tenant, {}).setdefault(key, deque()).append(call)

    def next(self) -> Call | None:
        """Give the call whose turn it is, which runs from now on; None: no call may."""
        if self._running.all >= self._places:
            return None
        for tenant, keys in self._waiting.items():
            for key, calls in keys.items():
                if not self._running.is_share((tenant, key), self._places):
                    call = calls[0]
                    self._take(call)
                    # whoever has had a turn goes to the end
                    if key in keys:
                        keys[key] = keys.pop(key)
                    if tenant in self._waiting:
                        self._waiting[tenant] = self._waiting.pop(tenant)
                    call.runs = True
                    self._running.add(call.who, 1)
                    return call
        return None

    def leave(self, call: Call) -> None:
        """Let a call go that has ended, or that nobody waits for any more."""
        self._taken.add(call.who, -1)
        if call.runs:
            self._running.add(call.who, -1)
        else:
            self._take(call)

    def waiting(self) -> list[Call]:
        """List the calls that wait."""
        return [
            call for keys in self._waiting.values() for calls in keys.values() for call in calls
        ]

    def _take(self, call: Call) -> None:
        tenant, key = call.who
        keys = self._waiting[tenant]
        keys[key].remove(call)
        if not keys[key]:
            del keys[key]
        if not keys:
            del self._waiting[tenant]


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
