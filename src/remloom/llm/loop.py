"""The event loop that model calls run in: one for the process, in a thread of its own."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar
from weakref import WeakSet

from ..errors import InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

__all__ = ["GRACE", "at_end", "run", "start"]

GRACE = 2.0  # seconds that anything may take once the process ends; then it is left to that

_T = TypeVar("_T")
_lock = threading.Lock()
_portal: BlockingPortal | None = None
_owner = 0  # the process that has the thread; its forks do not
_ending = False


class _Closing(Protocol):
    def close(self) -> None: ...


_open: WeakSet[_Closing] = WeakSet()


def at_end(closing: _Closing) -> None:
    """Have something closed before the process ends, unless it is gone by then."""
    _open.add(closing)


def start(work: Callable[[], Awaitable[_T]]) -> Future[_T]:
    """Have `work` run in the loop, from any other thread. Cancelling the future cancels the work."""
    return _started().start_task_soon(work)


def run(work: Callable[[], Awaitable[_T]]) -> _T:
    """Run `work` in the loop and wait for it, from any other thread. What interrupts the wait cancels the work."""
    future = start(work)
    try:
        return future.result(GRACE if _ending else None)
    except BaseException:
        future.cancel()
        raise


def _started() -> BlockingPortal:
    global _portal, _owner
    with _lock:
        if _portal is None:
            try:
                import anyio
            except ImportError as error:
                raise MissingExtraError("calling a language model", "llm") from error
            ready: Future[BlockingPortal] = Future()
            threading.Thread(target=anyio.run, args=(_serve, ready), name="remloom-models", daemon=True).start()
            _portal, _owner = ready.result(), os.getpid()
            atexit.register(_stop)
        if _owner != os.getpid():
            raise InvalidInputError(
                "a forked process cannot call models when its parent did before",
                remedy="start processes afresh (multiprocessing: the start method 'spawn')",
            )
        return _portal


async def _serve(ready: Future[BlockingPortal]) -> None:
    from anyio.from_thread import BlockingPortal

    async with BlockingPortal() as portal:
        ready.set_result(portal)
        await portal.sleep_until_stopped()


def _stop() -> None:
    """Close what is open and cancel what is under way. Nothing here may keep the process from ending."""
    global _ending
    if _portal is None or _owner != os.getpid():
        return
    _ending = True
    for closing in list(_open):
        with suppress(Exception):
            closing.close()
    with suppress(Exception):
        _portal.start_task_soon(_portal.stop, True).result(GRACE)
