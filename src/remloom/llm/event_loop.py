"""The event loop that model calls run in: one for the process, in a thread of its own."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from weakref import WeakSet

from ..errors import InvalidInputError

GRACE = 2.0  # seconds that anything may take once the process ends; then it is left to itself

_T = TypeVar("_T")
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_owner = 0  # the process that has the thread; its forks do not
_ending = False


_open: WeakSet[Any] = WeakSet()


def at_end(closing: Any) -> None:
    """Have the `close` of something called before the process ends, unless it is gone by then."""
    _open.add(closing)


def start(
    work: Callable[[], Coroutine[Any, Any, None]], over: Callable[[BaseException | None], None]
) -> Callable[[], object]:
    """Start `work` in the loop, from any other thread; returns what cancels it.

    `over` is called there when it has ended, with its error or None.
    """
    loop = _started()
    tasks: list[asyncio.Task[None]] = []

    def ended(task: asyncio.Task[None]) -> None:
        over(asyncio.CancelledError() if task.cancelled() else task.exception())

    def begin() -> None:
        tasks.append(loop.create_task(work()))
        tasks[0].add_done_callback(ended)

    def cancel() -> None:
        tasks[0].cancel()

    loop.call_soon_threadsafe(begin)
    return partial(loop.call_soon_threadsafe, cancel)


def run(work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Run `work` in the loop and wait for it, from any other thread.

    What interrupts the wait cancels the work.
    """
    future = asyncio.run_coroutine_threadsafe(work(), _started())
    try:
        return future.result(GRACE if _ending else None)
    except BaseException:
        future.cancel()
        raise


def _started() -> asyncio.AbstractEventLoop:
    global _loop, _owner
    with _lock:
        if _loop is None:
            ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
            thread = threading.Thread(
                target=lambda: asyncio.run(_serve(ready)),
                name="remloom-models",
                daemon=True,
            )
            thread.start()
            _loop, ending = ready.result()
            _owner = os.getpid()
            atexit.register(_stop, _loop, ending, thread)
        # A fork has the variables of its parent, but not the thread.
        if _owner != os.getpid():
            raise InvalidInputError(
                "a forked process cannot call models when its parent did before",
                remedy="start processes afresh (multiprocessing: the start method 'spawn')",
            )
        return _loop


async def _serve(ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    ending = asyncio.Event()
    ready.set_result((asyncio.get_running_loop(), ending))
    await ending.wait()


def _stop(loop: asyncio.AbstractEventLoop, ending: asyncio.Event, thread: threading.Thread) -> None:
    """Close what is open and cancel what is in flight; nothing here may keep the process alive."""
    global _ending
    if _owner != os.getpid():
        return
    _ending = True
    for closing in list(_open):
        with suppress(Exception):
            closing.close()
    with suppress(Exception):
        loop.call_soon_threadsafe(ending.set)
        thread.join(GRACE)
