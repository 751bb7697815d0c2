"""Classes for asyncio, made of those that wait: each method is called in a thread."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from functools import partial, wraps
from itertools import islice
from operator import attrgetter
from threading import Lock
from types import FunctionType
from typing import Any, Self, TypeVar

R = TypeVar("R")

# methods that are iterated, with the items that are waited for together; 1 where each is news
_AT_ONCE = {"Admin.records": 500, "Reader.stream": 1}
# by the class that each is derived from
_NOUNS: dict[str, type[Noun]] = {}


class InThreads(ABC):
    @abstractmethod
    def _opened(self) -> Any:
        """Give what the methods are of."""

    @abstractmethod
    async def _run(self, call: Callable[[], R]) -> R:
        """Call in a thread."""


class Noun(InThreads):
    """A noun of a memory (`memory.runs`, …) whose methods are awaited."""

    def __init__(self, memory: InThreads, find: Callable[[Any], Any]) -> None:
        self._memory = memory
        self._find = find

    def _opened(self) -> Any:
        return self._find(self._memory._opened())

    async def _run(self, call: Callable[[], R]) -> R:
        return await self._memory._run(call)


class AsyncClosing(InThreads):
    @abstractmethod
    async def close(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def asynchronous(name: str, kind: type, base: type[InThreads] = Noun) -> Any:
    """Make a class of another one's public methods and properties, with their signatures and words.

    Methods are awaited, or iterated with `async for`. Where the other gives a noun of a memory,
    this gives the noun for asyncio. How a memory is opened is left out.
    """
    members: dict[str, Any] = {
        "__doc__": f"`{kind.__name__}` for asyncio.",
        "__module__": f"{__package__}.nouns",
    }
    for owner in reversed(kind.__mro__):
        for each, member in vars(owner).items():
            if each.startswith("_"):
                continue
            if isinstance(member, property) and member.fget:
                members[each] = _property(member.fget)
            elif isinstance(member, staticmethod):
                members[each] = staticmethod(_unbound(member.__func__))
            elif isinstance(member, FunctionType):
                is_iterated = member.__qualname__ in _AT_ONCE
                members[each] = _iterated(member) if is_iterated else _awaited(member)
    made = type(name, (AsyncClosing, base) if "close" in members else (base,), members)
    if base is Noun:
        _NOUNS[kind.__name__] = made
    return made


def _awaited(method: FunctionType) -> Callable[..., Any]:
    noun = _NOUNS.get(method.__annotations__["return"])

    @wraps(method)
    async def call(self: InThreads, /, *args: Any, **kwargs: Any) -> Any:
        # found by its name, so that what wraps or overrides it counts here too
        own = getattr(self._opened(), method.__name__)
        value = await self._run(partial(own, *args, **kwargs))
        return noun(self, lambda _: value) if noun else value

    if noun:
        call.__annotations__ = {**method.__annotations__, "return": noun}
    return call


def _iterated(method: FunctionType) -> Callable[..., Any]:
    at_once = _AT_ONCE[method.__qualname__]

    @wraps(method)
    async def call(self: InThreads, /, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        own = getattr(self._opened(), method.__name__)
        iterator = await self._run(partial(own, *args, **kwargs))
        # of a caller that is cancelled, a thread may still read
        reading = Lock()

        def take() -> list[Any]:
            with reading:
                return list(islice(iterator, at_once))

        def end() -> None:
            close = getattr(iterator, "close", None)
            if close is not None:
                with reading:
                    close()

        try:
            while some := await self._run(take):
                for item in some:
                    yield item
        finally:
            # A caller that stops early leaves the reading connection to nobody else. The threads of
            # this memory may have ended by then.
            await asyncio.to_thread(end)

    return call


def _unbound(function: Callable[..., R]) -> Callable[..., Any]:
    @wraps(function)
    async def call(*args: Any, **kwargs: Any) -> R:
        return await asyncio.to_thread(function, *args, **kwargs)

    return call


def _property(read: Callable[[Any], Any]) -> property:
    """Make a property that gives a noun for asyncio, or what the other has."""
    noun = _NOUNS.get(read.__annotations__["return"])

    @wraps(read)
    def get(self: InThreads) -> Any:
        if noun:
            return noun(self, attrgetter(read.__name__))
        return read(self._opened())

    if noun:
        get.__annotations__ = {"return": noun}
    return property(get)
