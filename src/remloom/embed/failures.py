"""What embedders and token encoders raise, told as one error, and those that hang."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ..deadline import Overdue, begin, within
from ..errors import EmbedderError, EmbedderTimeoutError, RemloomError

__all__ = ["answered_by", "ask", "turn_of"]

_T = TypeVar("_T")


def answered_by(name: str, work: Callable[[], _T], seconds: float | None = None) -> _T:
    """Return what a model answers; one of somebody else's may raise anything.

    Args:
        name: the model's.
        seconds: that it may take; None: as long as it takes.

    Raises:
        EmbedderTimeoutError: it takes longer.
        EmbedderError: it failed. Our own errors stay as they are.
    """
    with _told(name):
        return within(seconds, name, work)


def ask(name: str, work: Callable[[], _T], seconds: float | None = None) -> Callable[[], _T]:
    """Begin to ask a model; what is returned waits for its answer, as `answered_by` does."""
    wait = begin(seconds, name, work)

    def answer() -> _T:
        with _told(name):
            return wait()

    return answer


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Raise what a model raises as one error."""
    try:
        yield
    except RemloomError:
        raise
    except Overdue as overdue:
        raise _timeout(str(overdue)) from None
    except Exception as error:
        raise EmbedderError(f"{name} failed: {type(error).__name__}: {error}") from error


@contextmanager
def turn_of(lock: threading.Lock, name: str, seconds: float | None) -> Iterator[None]:
    """Hold the lock of who asks a model.

    Raises:
        EmbedderTimeoutError: whoever has it does not give it back within `seconds`.
    """
    if not lock.acquire(timeout=-1 if seconds is None else seconds):
        raise _timeout(f"{name} was busy for longer than {seconds:g} seconds")
    try:
        yield
    finally:
        lock.release()


def _timeout(message: str) -> EmbedderTimeoutError:
    remedy = "ask again later; the setting `embedder_timeout` says how long is waited"
    return EmbedderTimeoutError(message, remedy=remedy)
