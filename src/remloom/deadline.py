"""A deadline for models that may hang: what takes longer is left to itself."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from math import inf
from typing import NamedTuple, NoReturn, TypeVar

_T = TypeVar("_T")

_MOST_LEFT = 8  # calls of one model that are left to themselves, before it gets no more


class Overdue(Exception):
    """It took too long; the text says how, to follow the name of what did."""


class Deadline(NamedTuple):
    """The time by which models are to have answered, however many are asked, and how often."""

    seconds: float | None = None  # that they have of it; None: as long as they take
    at: float = inf  # monotonic time

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """So many seconds from now; None: never."""
        return NEVER if seconds is None else cls(seconds, time.monotonic() + seconds)

    @property
    def left(self) -> float | None:
        """Seconds from now, 0 when it has passed; None: no end of them."""
        return None if self.seconds is None else max(0.0, self.at - time.monotonic())


NEVER = Deadline()

# The calls that have not come back: which model, and by when. Put and taken by single steps, they
# need no lock.
_calls: dict[threading.Thread, tuple[object, Deadline]] = {}


if hasattr(os, "register_at_fork"):
    # where the threads are not
    os.register_at_fork(after_in_child=_calls.clear)


def within(deadline: Deadline, model: object, work: Callable[[], _T]) -> _T:
    """Do some work of a model and return what it returns, or raise what it raises. Raises Overdue:
    it takes longer, or the model has not come back from several earlier calls."""
    return work() if deadline.seconds is None else begin(deadline, model, work)()


def begin(deadline: Deadline, model: object, work: Callable[[], _T]) -> Callable[[], _T]:
    """Begin some work beside the caller; what is returned waits for it, and then does as `within`,
    each time it is called, by any thread."""
    left = _count_left(model)
    if left >= _MOST_LEFT:
        return _refusing(f"has not come back from {left} earlier calls")
    if deadline.left == 0:
        return _refusing(f"was not asked: the {deadline.seconds:g} seconds were over")
    made: list[_T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            made.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            _calls.pop(thread, None)

    # a thread of its own: no pool fills up with those that hang
    thread = threading.Thread(
        target=copy_context().run, args=(run,), name="remloom-deadline", daemon=True
    )
    _calls[thread] = model, deadline
    try:
        thread.start()
    except RuntimeError:  # there are too many threads
        del _calls[thread]
        raise

    def wait() -> _T:
        thread.join(deadline.left)
        if errors:
            raise errors[0]
        if made:
            return made[0]
        raise Overdue(f"took longer than {deadline.seconds:g} seconds")

    return wait


def _refusing(message: str) -> Callable[[], NoReturn]:
    def refuse() -> NoReturn:
        raise Overdue(message)

    return refuse


def _count_left(model: object) -> int:
    """Count the calls that are past their deadline and have not come back."""
    return sum(
        called is model and deadline.left == 0 and thread.is_alive()
        for thread, (called, deadline) in _calls.copy().items()
    )
