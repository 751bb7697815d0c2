"""Methods of the clients, made of those of `Memory`: same names, signatures and words."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from .call import Call
from .connection import AsyncConnection, Connection
from .plans import Plan

P = ParamSpec("P")
R = TypeVar("R")
Owner = TypeVar("Owner")
C = TypeVar("C", Connection, AsyncConnection)

_PREFIXES: dict[str, str] = {
    "Memory": "",
    "Runs": "runs.",
    "Jobs": "jobs.",
    "Dreams": "dreams.",
    "Profiles": "profile.",
    "Schemas": "schemas.",
    "Admin": "admin.",
    "Reader": "reader.",
}


def _call_of(function: Callable[..., Any]) -> Call:
    owner, _, name = function.__qualname__.rpartition(".")
    return Call(method=_PREFIXES[owner] + name, function=function)


def sent(
    method: Callable[Concatenate[Owner, P], R],
) -> Callable[Concatenate[Over[Connection], P], R]:
    """Make a method of a client from one of `Memory` or its nouns."""
    call = _call_of(method)

    @wraps(method)
    def send(self: Over[Connection], /, *args: P.args, **kwargs: P.kwargs) -> R:
        value: R = self._connection.send(call, args, kwargs)
        return value

    return send


def awaited(
    method: Callable[Concatenate[Owner, P], R],
) -> Callable[Concatenate[Over[AsyncConnection], P], Coroutine[Any, Any, R]]:
    """Make a coroutine method of a client from one of `Memory` or its nouns."""
    call = _call_of(method)

    @wraps(method)
    async def send(self: Over[AsyncConnection], /, *args: P.args, **kwargs: P.kwargs) -> R:
        value: R = await self._connection.send(call, args, kwargs)
        return value

    return send


def planned(
    method: Callable[Concatenate[Owner, P], R], plan: Callable[..., Plan[R]]
) -> Callable[Concatenate[Over[Connection], P], R]:
    """Make a method of a client that carries out a plan, with the signature of `Memory`'s."""

    @wraps(method)
    def send(self: Over[Connection], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._connection.carry_out(plan(*args, **_sendable(kwargs)))

    return send


def planned_async(
    method: Callable[Concatenate[Owner, P], R], plan: Callable[..., Plan[R]]
) -> Callable[Concatenate[Over[AsyncConnection], P], Coroutine[Any, Any, R]]:
    """Make a coroutine method of a client that carries out a plan."""

    @wraps(method)
    async def send(self: Over[AsyncConnection], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._connection.carry_out(plan(*args, **_sendable(kwargs)))

    return send


def _sendable(arguments: dict[str, Any]) -> dict[str, Any]:
    """Leave out the progress of a plan: each of its requests is one step."""
    return {name: value for name, value in arguments.items() if name != "progress"}


class Over(Generic[C]):
    """What is done over a connection."""

    def __init__(self, connection: C) -> None:
        self._connection: C = connection
