"""AsyncMemory: `Memory` for asyncio. Every call runs in a thread; there is no second
implementation.

Each method below is derived from its namesake on `Memory`: same name, same signature (type checkers
see it too), same docstring. What takes microseconds costs a thread's round trip here (about a tenth
of a millisecond), so a program that only does lookups is better served by `Memory` itself.

    async with AsyncMemory.open("~/notes", tenant="acme") as memory:
        answer = await memory.lookup("Sarah Chen")
        stats = await memory.admin.stats()

**Cancelling** a call stops the waiting, not the work: a write that has begun is finished in its
thread, wholly or not at all, and `close` waits for it. A call that has not begun never begins.
A `progress` callback is called from the worker's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, wraps
from itertools import islice
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from .dream.service import Dreams
from .errors import StoreClosedError
from .jobs.service import Jobs
from .memory.admin import Admin
from .memory.home import Home
from .memory.memory import Memory
from .profile.service import Profiles
from .reader.reader import Reader
from .runs.service import Runs
from .schema.service import Schemas

if TYPE_CHECKING:
    import os

    from .embed.contract import Embedder, TokenEncoder
    from .llm import LLM
    from .reader.lines.documents import DocumentStats
    from .settings import Settings
    from .store.contract import Store

__all__ = [
    "AsyncAdmin",
    "AsyncDreams",
    "AsyncHome",
    "AsyncJobs",
    "AsyncMemory",
    "AsyncProfiles",
    "AsyncReader",
    "AsyncRuns",
    "AsyncSchemas",
]


MAX_THREADS = 8  # calls of one AsyncMemory that run at the same time; more wait their turn
AT_ONCE = 500  # items that an iteration reads in one call of a thread

P = ParamSpec("P")
R = TypeVar("R")
Noun = TypeVar("Noun", covariant=True)


def _in_thread(
    method: Callable[Concatenate[Memory, P], R],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, R]]:
    """Make a coroutine method of `AsyncMemory` from a method of `Memory`."""

    @wraps(method)
    async def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> R:
        # found by its name, so that what wraps or overrides it counts here too
        own: Callable[..., R] = getattr(self._opened(), method.__name__)
        return await self._run(partial(own, *args, **kwargs))

    return call


def _noun_in_thread(
    method: Callable[Concatenate[Noun, P], R],
) -> Callable[Concatenate[_AsyncNoun[Noun], P], Coroutine[Any, Any, R]]:
    """Make a coroutine method of an asynchronous noun from a method of the noun."""

    @wraps(method)
    async def call(self: _AsyncNoun[Noun], /, *args: P.args, **kwargs: P.kwargs) -> R:
        own: Callable[..., R] = getattr(self._noun(), method.__name__)
        return await self._memory._run(partial(own, *args, **kwargs))

    return call


def _iterated_in_thread(
    method: Callable[Concatenate[Noun, P], Iterator[R]], at_once: int = AT_ONCE
) -> Callable[Concatenate[_AsyncNoun[Noun], P], AsyncIterator[R]]:
    """Make an asynchronous generator of a noun from a method that yields.

    Args:
        at_once: items that are waited for together; 1 where each is news.
    """

    @wraps(method)
    async def call(
        self: _AsyncNoun[Noun], /, *args: P.args, **kwargs: P.kwargs
    ) -> AsyncIterator[R]:
        run = self._memory._run
        iterator = await run(partial(method, self._noun(), *args, **kwargs))
        # of a caller that is cancelled, a thread may still read
        reading = Lock()

        def take() -> list[R]:
            with reading:
                return list(islice(iterator, at_once))

        def end() -> None:
            close = getattr(iterator, "close", None)
            if close is not None:
                with reading:
                    close()

        try:
            while some := await run(take):
                for item in some:
                    yield item
        finally:
            # A caller that stops early leaves the reading connection to nobody else. The threads of
            # this memory may have ended by then.
            await asyncio.to_thread(end)

    return call


def _home_in_thread(
    method: Callable[Concatenate[Home, P], R],
) -> Callable[Concatenate[AsyncHome, P], Coroutine[Any, Any, R]]:
    """Make a coroutine method of `AsyncHome` from a method of `Home`."""

    @wraps(method)
    async def call(self: AsyncHome, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self._home, *args, **kwargs)

    return call


def _reader_in_thread(
    method: Callable[Concatenate[Memory, P], Reader],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, AsyncReader]]:
    """Make a coroutine method of `AsyncMemory` that opens a reader for asyncio."""

    @wraps(method)
    async def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> AsyncReader:
        reader = await self._run(partial(method, self._opened(), *args, **kwargs))
        return AsyncReader(self, lambda _: reader)

    return call


def _unbound_in_thread(function: Callable[P, R]) -> staticmethod[P, Coroutine[Any, Any, R]]:
    """Make a coroutine function from a static method."""

    @wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(function, *args, **kwargs)

    return staticmethod(call)


def _opening(function: Callable[P, Memory]) -> staticmethod[P, AsyncMemory]:
    """Make `Memory.open` something to `async with` or to `await`."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> AsyncMemory:
        return AsyncMemory(partial(function, *args, **kwargs))

    return staticmethod(call)


class _AsyncNoun(Generic[Noun]):
    """A noun of a memory (`memory.runs`, …) whose methods are awaited.

    Args:
        find: gives the noun of the opened memory.
    """

    def __init__(self, memory: AsyncMemory, find: Callable[[Memory], Noun]) -> None:
        self._memory = memory
        self._find = find

    def _noun(self) -> Noun:
        return self._find(self._memory._opened())


class AsyncRuns(_AsyncNoun[Runs]):
    """`Runs` for asyncio."""

    list = _noun_in_thread(Runs.list)
    records = _noun_in_thread(Runs.records)
    rollback = _noun_in_thread(Runs.rollback)
    failed = _noun_in_thread(Runs.failed)


class AsyncJobs(_AsyncNoun[Jobs]):
    """`Jobs` for asyncio."""

    add = _noun_in_thread(Jobs.add)
    list = _noun_in_thread(Jobs.list)
    get = _noun_in_thread(Jobs.get)
    retry = _noun_in_thread(Jobs.retry)
    remove = _noun_in_thread(Jobs.remove)
    work = _noun_in_thread(Jobs.work)


class AsyncDreams(_AsyncNoun[Dreams]):
    """`Dreams` for asyncio."""

    moments = _noun_in_thread(Dreams.moments)
    affinity = _noun_in_thread(Dreams.affinity)
    consolidate = _noun_in_thread(Dreams.consolidate)
    metrics = _noun_in_thread(Dreams.metrics)


class AsyncProfiles(_AsyncNoun[Profiles]):
    """`Profiles` for asyncio."""

    show = _noun_in_thread(Profiles.show)
    beliefs = _noun_in_thread(Profiles.beliefs)
    get = _noun_in_thread(Profiles.get)
    history = _noun_in_thread(Profiles.history)
    context = _noun_in_thread(Profiles.context)
    get_remme_context = _noun_in_thread(Profiles.get_remme_context)
    subjects = _noun_in_thread(Profiles.subjects)
    slots = _noun_in_thread(Profiles.slots)
    why = _noun_in_thread(Profiles.why)
    changes = _noun_in_thread(Profiles.changes)
    set = _noun_in_thread(Profiles.set)
    confirm = _noun_in_thread(Profiles.confirm)
    reject = _noun_in_thread(Profiles.reject)
    correct = _noun_in_thread(Profiles.correct)
    retire = _noun_in_thread(Profiles.retire)
    pin = _noun_in_thread(Profiles.pin)
    hide = _noun_in_thread(Profiles.hide)
    forget = _noun_in_thread(Profiles.forget)
    observe = _noun_in_thread(Profiles.observe)
    bootstrap = _noun_in_thread(Profiles.bootstrap)
    staged = _noun_in_thread(Profiles.staged)
    normalise = _noun_in_thread(Profiles.normalise)


class AsyncSchemas(_AsyncNoun[Schemas]):
    """`Schemas` for asyncio."""

    register = _noun_in_thread(Schemas.register)
    list = _noun_in_thread(Schemas.list)
    get = _noun_in_thread(Schemas.get)
    drop = _noun_in_thread(Schemas.drop)
    migrate = _noun_in_thread(Schemas.migrate)
    create_row = _noun_in_thread(Schemas.create_row)
    get_row = _noun_in_thread(Schemas.get_row)
    query_rows = _noun_in_thread(Schemas.query_rows)
    taxonomy = _noun_in_thread(Schemas.taxonomy)
    set_taxonomy = _noun_in_thread(Schemas.set_taxonomy)
    discover = _noun_in_thread(Schemas.discover)
    rediscover = _noun_in_thread(Schemas.rediscover)
    register_from_discovery = _noun_in_thread(Schemas.register_from_discovery)
    sources = _noun_in_thread(Schemas.sources)
    sync = _noun_in_thread(Schemas.sync)
    drift = _noun_in_thread(Schemas.drift)


class AsyncAdmin(_AsyncNoun[Admin]):
    """`Admin` for asyncio. Its properties are read here and now, not in a thread.

    `records` is iterated: `async for record in memory.admin.records("entities")`.
    """

    stats = _noun_in_thread(Admin.stats)
    records = _iterated_in_thread(Admin.records)
    describe = _noun_in_thread(Admin.describe)
    complete = _noun_in_thread(Admin.complete)
    delete_edge = _noun_in_thread(Admin.delete_edge)
    set_expiry = _noun_in_thread(Admin.set_expiry)
    sweep = _noun_in_thread(Admin.sweep)
    check = _noun_in_thread(Admin.check)
    optimize = _noun_in_thread(Admin.optimize)
    reembed = _noun_in_thread(Admin.reembed)
    usage = _noun_in_thread(Admin.usage)
    audit = _noun_in_thread(Admin.audit)
    export = _noun_in_thread(Admin.export)
    import_ = _noun_in_thread(Admin.import_)
    backup = _noun_in_thread(Admin.backup)

    @property
    def tenant(self) -> str:
        """The tenant's name."""
        return self._noun().tenant

    @property
    def settings(self) -> Settings:
        """The settings the memory was opened with."""
        return self._noun().settings

    @property
    def embedder(self) -> Embedder | None:
        """The embedder; None when there is none. Loading it may take a second."""
        return self._noun().embedder

    @property
    def token_encoder(self) -> TokenEncoder | None:
        """The token encoder; None when there is none."""
        return self._noun().token_encoder

    @property
    def llm(self) -> LLM | None:
        """The language model; None when none is set. Its `ask` blocks: call it in a thread."""
        return self._noun().llm

    @property
    def store(self) -> Store:
        """The store underneath. Its methods block: call them in a thread."""
        return self._noun().store


class AsyncReader(_AsyncNoun[Reader]):
    """`Reader` for asyncio: `async with await memory.reader("report.pdf") as reader`."""

    open = _noun_in_thread(Reader.open)
    open_text = _noun_in_thread(Reader.open_text)
    open_rows = _noun_in_thread(Reader.open_rows)
    outline = _noun_in_thread(Reader.outline)
    search = _noun_in_thread(Reader.search)
    find = _noun_in_thread(Reader.find)
    lines = _noun_in_thread(Reader.lines)
    sql = _noun_in_thread(Reader.sql)
    schema = _noun_in_thread(Reader.schema)
    coverage = _noun_in_thread(Reader.coverage)
    ranges_read = _noun_in_thread(Reader.ranges_read)
    stats = _noun_in_thread(Reader.stats)
    ask = _noun_in_thread(Reader.ask)
    stream = _iterated_in_thread(Reader.stream, at_once=1)
    keep = _noun_in_thread(Reader.keep)
    sessions = _noun_in_thread(Reader.sessions)
    session = _noun_in_thread(Reader.session)
    delete_session = _noun_in_thread(Reader.delete_session)
    close = _noun_in_thread(Reader.close)

    @property
    def documents(self) -> list[DocumentStats]:
        """The documents that are open, in numbers. Read here and now, not in a thread."""
        return self._noun().documents

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


class AsyncHome:
    """`Home` for asyncio."""

    def __init__(
        self, home_or_url: str | os.PathLike[str] | None = None, *, key: str | None = None
    ) -> None:
        self._home = Home(home_or_url, key=key)

    tenants = _home_in_thread(Home.tenants)
    create = _home_in_thread(Home.create)
    delete = _home_in_thread(Home.delete)
    adopt = _home_in_thread(Home.adopt)
    repair = _home_in_thread(Home.repair)
    migrate = _home_in_thread(Home.migrate)
    copy = _home_in_thread(Home.copy)
    grant = _home_in_thread(Home.grant)
    grants = _home_in_thread(Home.grants)
    revoke = _home_in_thread(Home.revoke)
    new_key = _unbound_in_thread(Home.new_key)


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

    write = _in_thread(Memory.write)
    create_resource = _in_thread(Memory.create_resource)
    create_entity = _in_thread(Memory.create_entity)
    create_moment = _in_thread(Memory.create_moment)
    create_edge = _in_thread(Memory.create_edge)
    update_entity = _in_thread(Memory.update_entity)  # type: ignore[arg-type]  # its **changes could hold "self"
    delete_resource = _in_thread(Memory.delete_resource)
    forget = _in_thread(Memory.forget)

    get_resource = _in_thread(Memory.get_resource)
    get_entity = _in_thread(Memory.get_entity)
    get_moment = _in_thread(Memory.get_moment)
    get_edges = _in_thread(Memory.get_edges)
    get_moments_by_time = _in_thread(Memory.get_moments_by_time)
    get_moments_by_type = _in_thread(Memory.get_moments_by_type)
    query_resources = _in_thread(Memory.query_resources)
    query_entities = _in_thread(Memory.query_entities)
    query_moments = _in_thread(Memory.query_moments)
    create_index = _in_thread(Memory.create_index)
    history = _in_thread(Memory.history)

    query = _in_thread(Memory.query)
    rem_query = _in_thread(Memory.rem_query)
    lookup = _in_thread(Memory.lookup)
    fuzzy = _in_thread(Memory.fuzzy)
    search = _in_thread(Memory.search)
    search_text = _in_thread(Memory.search_text)
    search_resources = _in_thread(Memory.search_resources)
    search_entities = _in_thread(Memory.search_entities)
    traverse = _in_thread(Memory.traverse)
    sql = _in_thread(Memory.sql)
    ask = _in_thread(Memory.ask)

    recall = _in_thread(Memory.recall)
    context = _in_thread(Memory.context)

    read = _in_thread(Memory.read)
    read_text = _in_thread(Memory.read_text)
    read_chat = _in_thread(Memory.read_chat)
    reader = _reader_in_thread(Memory.reader)
    embed_pending = _in_thread(Memory.embed_pending)

    learn = _in_thread(Memory.learn)
    dream = _in_thread(Memory.dream)

    @property
    def runs(self) -> AsyncRuns:
        """What learning, dreaming and its chores did: `list`, `records`, `rollback`, `failed`."""
        return AsyncRuns(self, lambda memory: memory.runs)

    @property
    def jobs(self) -> AsyncJobs:
        """Work for later: `add`, `list`, `retry`, `remove`, `work`."""
        return AsyncJobs(self, lambda memory: memory.jobs)

    @property
    def dreams(self) -> AsyncDreams:
        """Dreaming besides `learn` and `dream`: `moments`, `affinity`, `consolidate`, `metrics`."""
        return AsyncDreams(self, lambda memory: memory.dreams)

    @property
    def profile(self) -> AsyncProfiles:
        """What is known of the user and others: `show`, `why`, `set`, `observe`, …"""
        return AsyncProfiles(self, lambda memory: memory.profile)

    @property
    def schemas(self) -> AsyncSchemas:
        """Schemas of one's own and their rows."""
        return AsyncSchemas(self, lambda memory: memory.schemas)

    @property
    def admin(self) -> AsyncAdmin:
        """Chores: `stats`, `check`, `export`, `backup`, `sweep`, `usage`, …; and the settings."""
        return AsyncAdmin(self, lambda memory: memory.admin)

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
