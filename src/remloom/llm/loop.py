"""The event loop that model calls run in: one for the process, in a thread of its own."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol, TypeVar
from weakref import WeakSet

from ..errors import InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

__all__ = ["at_end", "run"]

_T = TypeVar("_T")
_lock = threading.Lock()
_stack = ExitStack()
_portal: BlockingPortal | None = None
_owner = 0  # the process that has the thread; its forks do not


class _Closing(Protocol):
    def close(self) -> None: ...


_open: WeakSet[_Closing] = WeakSet()


def at_end(closing: _Closing) -> None:
    """Have something closed before the loop ends, unless it is gone by then."""
    _open.add(closing)


def run(work: Callable[[], Awaitable[_T]]) -> _T:
    """Run `work` in the loop and wait for it, from any other thread. What interrupts the wait cancels the work."""
    future = _started().start_task_soon(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def _started() -> BlockingPortal:
    global _portal, _owner
    with _lock:
        if _portal is None:
            try:
                from anyio.from_thread import start_blocking_portal
            except ImportError as error:
                raise MissingExtraError("calling a language model", "llm") from error
            _portal = _stack.enter_context(start_blocking_portal(name="remloom-models"))
            _owner = os.getpid()
            atexit.register(_stop)
        if _owner != os.getpid():
            raise InvalidInputError(
                "a forked process cannot call models when its parent did before",
                remedy="start processes afresh (multiprocessing: the start method 'spawn')",
            )
        return _portal


def _stop() -> None:
    global _portal
    if _portal is not None and _owner == os.getpid():
        for closing in list(_open):
            closing.close()
        _portal.call(_portal.stop, True)  # cancels what is still under way
        _stack.close()
        _portal = None
