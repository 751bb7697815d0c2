"""Readers of long documents that a server has, for both clients.

Each call opens the documents at the server and lets go of them again: there is nothing to close.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from inspect import signature
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from ..reader.loop.events import Told
from ..reader.reader import Reader
from .call import Call
from .connection import AsyncConnection, Connection
from .methods import Over, awaited, sent

P = ParamSpec("P")
R = TypeVar("R")


def _read(
    method: Callable[Concatenate[Reader, P], R],
) -> Callable[Concatenate[ClientReader, P], R]:
    """Make a method that is about the documents of a reader."""
    call = Call(method=f"reader.{method.__name__}", function=method)
    takes_told = "told" in signature(method).parameters

    @wraps(method)
    def send(self: ClientReader, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if takes_told:
            kwargs.setdefault("told", self.told)
        request = call.request(args, kwargs, {"documents": self.names})
        value: R = self._connection.ask(call, request)
        return value

    return send


def _read_async(
    method: Callable[Concatenate[Reader, P], R],
) -> Callable[Concatenate[AsyncClientReader, P], Coroutine[Any, Any, R]]:
    """Make a coroutine method that is about the documents of a reader."""
    call = Call(method=f"reader.{method.__name__}", function=method)
    takes_told = "told" in signature(method).parameters

    @wraps(method)
    async def send(self: AsyncClientReader, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if takes_told:
            kwargs.setdefault("told", self.told)
        request = call.request(args, kwargs, {"documents": self.names})
        value: R = await self._connection.ask(call, request)
        return value

    return send


class ClientReader(Over[Connection]):
    """Documents that a server has, to look through, search and ask.

    Args:
        names: their uris, titles or labels.
        told: called with each event of `ask` as it happens.
    """

    def __init__(self, connection: Connection, names: list[str], told: Told | None = None) -> None:
        super().__init__(connection)
        self.names = names
        self.told = told

    outline = _read(Reader.outline)
    search = _read(Reader.search)
    find = _read(Reader.find)
    lines = _read(Reader.lines)
    sql = _read(Reader.sql)
    schema = _read(Reader.schema)
    ask = _read(Reader.ask)
    keep = _read(Reader.keep)
    sessions = sent(Reader.sessions)
    session = sent(Reader.session)
    delete_session = sent(Reader.delete_session)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End reading; the server holds nothing open."""


class AsyncClientReader(Over[AsyncConnection]):
    """`ClientReader` for asyncio."""

    def __init__(
        self, connection: AsyncConnection, names: list[str], told: Told | None = None
    ) -> None:
        super().__init__(connection)
        self.names = names
        self.told = told

    outline = _read_async(Reader.outline)
    search = _read_async(Reader.search)
    find = _read_async(Reader.find)
    lines = _read_async(Reader.lines)
    sql = _read_async(Reader.sql)
    schema = _read_async(Reader.schema)
    ask = _read_async(Reader.ask)
    keep = _read_async(Reader.keep)
    sessions = awaited(Reader.sessions)
    session = awaited(Reader.session)
    delete_session = awaited(Reader.delete_session)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End reading; the server holds nothing open."""
