"""A deadline for models that may hang: what takes longer is left to itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

__all__ = ["Overdue", "within"]

_T = TypeVar("_T")

_MOST_LEFT = 8  # calls of one model that are left to themselves, before it is asked no further

_left: dict[str, list[threading.Thread]] = {}  # that took too long, by whom they ask
_lock = threading.Lock()  # guards _left


class Overdue(Exception):
    """It took too long; the text says what did, and how long it had."""


def within(seconds: float | None, what: str, work: Callable[[], _T]) -> _T:
    """Do some work and return what it returns, or raise what it raises.

    Args:
        seconds: that it may take; None: as long as it takes.
        what: is asked, for the message.

    Raises:
        Overdue: it takes longer, or has not come back from several who asked it before.
    """
    if seconds is None:
        return work()
    _check_left(what)
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
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if made:
        return made[0]
    with _lock:
        _left.setdefault(what, []).append(thread)
    raise Overdue(f"{what} took longer than {seconds:g} seconds")


def _check_left(what: str) -> None:
    with _lock:
        left = [thread for thread in _left.pop(what, ()) if thread.is_alive()]
        if left:
            _left[what] = left
    if len(left) >= _MOST_LEFT:
        raise Overdue(f"{what} has not come back from {len(left)} earlier calls")
