"""A deadline for models that may hang: what takes longer is left to itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from math import inf
from typing import NamedTuple, TypeVar

__all__ = ["Overdue", "begin", "within"]

_T = TypeVar("_T")

_MOST_LEFT = 8  # calls of one model that are left to themselves, before it is asked no further


class Overdue(Exception):
    """It took too long; the text says what did, and how long it had."""


class _Call(NamedTuple):
    thread: threading.Thread
    deadline: float  # monotonic time


_calls: dict[str, list[_Call]] = {}  # that have not come back, by whom they ask
_lock = threading.Lock()  # guards _calls


def within(seconds: float | None, what: str, work: Callable[[], _T]) -> _T:
    """Do some work and return what it returns, or raise what it raises.

    Args:
        seconds: that it may take; None: as long as it takes.
        what: is asked, for the message.

    Raises:
        Overdue: it takes longer, or has not come back from several who asked it before.
    """
    return work() if seconds is None else begin(seconds, what, work)()


def begin(seconds: float | None, what: str, work: Callable[[], _T]) -> Callable[[], _T]:
    """Begin some work beside the caller; what is returned waits for it, and then does as `within`,
    each time it is called. The seconds count from now."""
    left = _left(what)
    if left >= _MOST_LEFT:

        def refuse() -> _T:
            raise Overdue(f"{what} has not come back from {left} earlier calls")

        return refuse
    made: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            made.append(work())
        except BaseException as error:
            errors.append(error)

    # a thread of its own: no pool fills up with those that hang
    thread = threading.Thread(
        target=copy_context().run, args=(run,), name="remloom-deadline", daemon=True
    )
    deadline = inf if seconds is None else time.monotonic() + seconds
    thread.start()
    with _lock:
        _calls.setdefault(what, []).append(_Call(thread, deadline))

    def wait() -> _T:
        thread.join(None if seconds is None else max(0.0, deadline - time.monotonic()))
        if errors:
            raise errors[0]
        if made:
            return made[0]
        raise Overdue(f"{what} took longer than {seconds:g} seconds")

    return wait


def _left(what: str) -> int:
    """Count the calls that are past their deadline and have not come back."""
    now = time.monotonic()
    with _lock:
        calls = [call for call in _calls.pop(what, ()) if call.thread.is_alive()]
        if calls:
            _calls[what] = calls
    return sum(call.deadline <= now for call in calls)
