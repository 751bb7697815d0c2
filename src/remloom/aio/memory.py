"""Memories and homes for asyncio: how they are opened and closed, and their threads."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, wraps
from typing import Any, ParamSpec, Self, TypeVar

from ..errors import StoreClosedError
from ..memory.home import Home
from ..memory.memory import Memory
from .nouns import HomeInThreads, MemoryInThreads

MAX_THREADS = 8  # calls of one AsyncMemory that run at the same time; more wait their turn

P = ParamSpec("P")
R = TypeVar("R")


def _opening(function: Callable[P, Memory]) -> staticmethod[P, AsyncMemory]:
    """Make `Memory.open` something to `async with` or to `await`."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> AsyncMemory:
        return AsyncMemory(partial(function, *args, **kwargs))

    return staticmethod(call)


class AsyncMemory(MemoryInThreads):
    """The same memory for asyncio: see the module, and `Memory` for what each method does.

    `AsyncMemory.open(...)` takes what `Memory.open` takes. Use it as `async with
    AsyncMemory.open(...) as memory`, or as `memory = await AsyncMemory.open(...)` and `await
    memory.close()` at the end.
    """

    def __init__(self, opener: Callable[[], Memory]) -> None:
        self._opener = opener
        self._memory: Memory | None = None
        self._closed = False
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="remloom-aio")

    open = _opening(Memory.open)

    async def close(self) -> None:
        """Wait for the calls that have begun, then close the memory. Closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        # goes on to its end even if this coroutine is cancelled
        await asyncio.to_thread(self._finish)

    def _finish(self) -> None:
        # calls that have begun end before the memory does
        self._threads.shutdown(wait=True)
        if self._memory is not None:
            self._memory.close()

    async def _start(self) -> Self:
        if self._memory is not None or self._closed:
            raise StoreClosedError(
                "this AsyncMemory was opened before", remedy="call `AsyncMemory.open(...)` again"
            )
        opening = self._threads.submit(copy_context().run, self._opener)
        try:
            self._memory = await asyncio.wrap_future(opening)
        except BaseException:
            self._closed = True
            self._threads.shutdown(wait=False)
            opening.add_done_callback(_close_unclaimed)
            raise
        return self

    def __await__(self) -> Generator[Any, None, Self]:
        return self._start().__await__()

    async def __aenter__(self) -> Self:
        return self if self._memory is not None else await self._start()

    def _opened(self) -> Memory:
        if self._closed:
            raise StoreClosedError(
                "this memory is closed", remedy="open it again with `AsyncMemory.open(...)`"
            )
        if self._memory is None:
            raise StoreClosedError(
                "this memory is not open yet",
                remedy="use `async with AsyncMemory.open(...)` or `await AsyncMemory.open(...)`",
            )
        return self._memory

    async def _run(self, call: Callable[[], R]) -> R:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, copy_context().run, call)


def _close_unclaimed(opening: Future[Memory]) -> None:
    """Close a memory whose opener was cancelled while it was being opened."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


class AsyncHome(HomeInThreads):
    """`Home` for asyncio."""

    def __init__(
        self, home_or_url: str | os.PathLike[str] | None = None, *, key: str | None = None
    ) -> None:
        self._home = Home(home_or_url, key=key)

    def _opened(self) -> Home:
        return self._home

    async def _run(self, call: Callable[[], R]) -> R:
        return await asyncio.to_thread(call)
