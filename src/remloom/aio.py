"""AsyncMemory: `Memory` for asyncio. Every call runs in a thread; there is no second
implementation.

Each method below is derived from its namesake on `Memory`: same name, same signature (type checkers
see it too), same docstring. What takes microseconds costs a thread's round trip here (about a tenth
of a millisecond), so a program that only does lookups is better served by `Memory` itself.

    async with AsyncMemory.open("~/notes", tenant="acme") as memory:
        answer = await memory.lookup("Sarah Chen")

**Cancelling** a call stops the waiting, not the work: a write that has begun is finished in its
  thread, wholly or
not at all, and `close` waits for it. A call that has not begun never begins. A `progress` callback
is called from the worker's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from .errors import StoreClosedError
from .memory import Memory

if TYPE_CHECKING:
    from .embed.contract import Embedder
    from .llm import LLM
    from .settings import Settings

__all__ = ["AsyncMemory"]

MAX_THREADS = 8  # calls of one AsyncMemory that run at the same time; more wait their turn

P = ParamSpec("P")
R = TypeVar("R")


def _in_thread(
    method: Callable[Concatenate[Memory, P], R],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, R]]:
    """A method of `Memory` as a coroutine method of `AsyncMemory`."""

    @wraps(method)
    async def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._run(partial(method, self._opened(), *args, **kwargs))

    return call


def _unbound_in_thread(function: Callable[P, R]) -> staticmethod[P, Coroutine[Any, Any, R]]:
    """A class method of `Memory`, which needs no opened memory, as a coroutine function."""

    @wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(function, *args, **kwargs)

    return staticmethod(call)


def _opening(function: Callable[P, Memory]) -> staticmethod[P, AsyncMemory]:
    """`Memory.open` as something to `async with` or to `await`."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> AsyncMemory:
        return AsyncMemory(partial(function, *args, **kwargs))

    return staticmethod(call)


class AsyncMemory:
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
    migrate = _unbound_in_thread(Memory.migrate)
    copy = _unbound_in_thread(Memory.copy)
    tenants = _unbound_in_thread(Memory.tenants)
    create_tenant = _unbound_in_thread(Memory.create_tenant)
    new_key = _unbound_in_thread(Memory.new_key)
    adopt_tenant = _unbound_in_thread(Memory.adopt_tenant)
    delete_tenant = _unbound_in_thread(Memory.delete_tenant)
    repair_tenant = _unbound_in_thread(Memory.repair_tenant)

    write = _in_thread(Memory.write)
    create_resource = _in_thread(Memory.create_resource)
    get_resource = _in_thread(Memory.get_resource)
    search_resources = _in_thread(Memory.search_resources)
    delete_resource = _in_thread(Memory.delete_resource)
    create_entity = _in_thread(Memory.create_entity)
    get_entity = _in_thread(Memory.get_entity)
    update_entity = _in_thread(Memory.update_entity)  # type: ignore[arg-type]  # its **changes could hold "self"
    search_entities = _in_thread(Memory.search_entities)
    create_edge = _in_thread(Memory.create_edge)
    delete_edge = _in_thread(Memory.delete_edge)
    get_edges = _in_thread(Memory.get_edges)
    create_moment = _in_thread(Memory.create_moment)
    get_moment = _in_thread(Memory.get_moment)
    get_moments_by_time = _in_thread(Memory.get_moments_by_time)
    get_moments_by_type = _in_thread(Memory.get_moments_by_type)
    query_resources = _in_thread(Memory.query_resources)
    query_entities = _in_thread(Memory.query_entities)
    query_moments = _in_thread(Memory.query_moments)
    create_index = _in_thread(Memory.create_index)

    lookup = _in_thread(Memory.lookup)
    fuzzy = _in_thread(Memory.fuzzy)
    search = _in_thread(Memory.search)
    search_text = _in_thread(Memory.search_text)
    traverse = _in_thread(Memory.traverse)
    sql = _in_thread(Memory.sql)
    query = _in_thread(Memory.query)
    rem_query = _in_thread(Memory.rem_query)
    complete = _in_thread(Memory.complete)

    ask = _in_thread(Memory.ask)
    ask_rem = _in_thread(Memory.ask_rem)  # type: ignore[arg-type]  # its **given could hold "self"
    recall = _in_thread(Memory.recall)
    context = _in_thread(Memory.context)

    read = _in_thread(Memory.read)
    read_text = _in_thread(Memory.read_text)
    read_chat = _in_thread(Memory.read_chat)
    embed_pending = _in_thread(Memory.embed_pending)
    reembed = _in_thread(Memory.reembed)

    add_job = _in_thread(Memory.add_job)
    jobs = _in_thread(Memory.jobs)
    retry_job = _in_thread(Memory.retry_job)
    remove_job = _in_thread(Memory.remove_job)
    work = _in_thread(Memory.work)

    learn = _in_thread(Memory.learn)
    dream = _in_thread(Memory.dream)
    moments = _in_thread(Memory.moments)
    affinity = _in_thread(Memory.affinity)
    consolidate = _in_thread(Memory.consolidate)
    metrics = _in_thread(Memory.metrics)
    runs = _in_thread(Memory.runs)
    made = _in_thread(Memory.made)
    rollback = _in_thread(Memory.rollback)
    parked = _in_thread(Memory.parked)

    show = _in_thread(Memory.show)
    forget = _in_thread(Memory.forget)
    history = _in_thread(Memory.history)
    usage = _in_thread(Memory.usage)
    stats = _in_thread(Memory.stats)
    check = _in_thread(Memory.check)
    settle = _in_thread(Memory.settle)
    export = _in_thread(Memory.export)
    import_ = _in_thread(Memory.import_)
    backup = _in_thread(Memory.backup)

    @property
    def tenant(self) -> str:
        """Whose memory this is."""
        return self._opened().tenant

    @property
    def settings(self) -> Settings:
        """The settings it was opened with."""
        return self._opened().settings

    @property
    def embedder(self) -> Embedder | None:
        """The embedder; None when there is none. Loaded here and now if it was not yet, which may
        take a second."""
        return self._opened().embedder

    @property
    def llm(self) -> LLM | None:
        """The language model; None when none is set. Its `ask` blocks: call it in a thread."""
        return self._opened().llm

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

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

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
