"""What embedders and token encoders raise, told as one error, and those that hang."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

from ..deadline import NEVER, Deadline, Overdue, begin, within
from ..errors import EmbedderError, EmbedderTimeoutError, RemloomError
from .contract import Embedder, TokenEncoder

_T = TypeVar("_T")
_Model: TypeAlias = Embedder | TokenEncoder


def answered_by(model: _Model, work: Callable[[], _T], deadline: Deadline = NEVER) -> _T:
    """Return what a model answers; one of somebody else's may raise anything.

    Args:
        work: asks it.

    Raises:
        EmbedderTimeoutError: it does not answer by the deadline.
        EmbedderError: it failed. Our own errors stay as they are.
    """
    with _translated(model):
        return within(deadline, _uncached(model), work)


def ask(model: _Model, work: Callable[[], _T], deadline: Deadline = NEVER) -> Callable[[], _T]:
    """Begin to ask a model; what is returned waits for its answer, as `answered_by` does. Any
    thread may wait, and several may."""
    with _translated(model):
        wait = begin(deadline, _uncached(model), work)

    def answer() -> _T:
        with _translated(model):
            return wait()

    return answer


def _uncached(model: _Model) -> object:
    """The model behind a cache of questions: several memories may have it, each with its own."""
    from .queries import CachedQueries, CachedTokenQueries

    return model.model if isinstance(model, CachedQueries | CachedTokenQueries) else model


@contextmanager
def _translated(model: _Model) -> Iterator[None]:
    """Raise what a model raises as one error."""
    try:
        yield
    except (RemloomError, KeyboardInterrupt, SystemExit):
        raise
    except Overdue as overdue:
        raise _timeout(f"{model.name} {overdue}") from None
    # asyncio's CancelledError, too, is no Exception
    except BaseException as error:
        raise EmbedderError(f"{model.name} failed: {type(error).__name__}: {error}") from error


@contextmanager
def turn_of(lock: threading.Lock, model: _Model, deadline: Deadline) -> Iterator[None]:
    """Hold the lock of who asks a model.

    Raises:
        EmbedderTimeoutError: the caller that has it does not give it back by the deadline.
    """
    left = deadline.left
    if not lock.acquire(timeout=-1 if left is None else left):
        raise _timeout(f"{model.name} was busy for longer than {deadline.seconds:g} seconds")
    try:
        yield
    finally:
        lock.release()


def _timeout(message: str) -> EmbedderTimeoutError:
    remedy = "ask again later; the setting `embedder_timeout` says how long is waited"
    return EmbedderTimeoutError(message, remedy=remedy)
