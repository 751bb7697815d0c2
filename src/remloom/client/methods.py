"""Methods of the clients, made of those of `Memory`: same names, signatures and words."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import wraps
from types import FunctionType, MappingProxyType
from typing import Any

from ..model.reports import WriteReport
from ..operations import OPERATIONS, Operation
from .plans import PAGES, PLANS, Plan
from .request import SentArguments, request_of

_OPERATIONS = {one.method: one for one in OPERATIONS if one.needs == "memory"}
# both classes, by the class that they are derived from
_NOUNS: dict[str, tuple[type[Over], type[Over]]] = {}


class Over:
    """Base of what is done over a connection."""

    # arguments, and fields of operations, of every call that takes them
    _defaults: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, connection: Any) -> None:
        self._connection = connection


def over_a_connection(name: str, kind: type, noun: str = "") -> tuple[Any, Any]:
    """Make the classes of both clients of another one's methods that a server does.

    These are the methods that have an operation in the table, or a plan.

    Args:
        name: of the one that waits; that for asyncio has "Async" before it.
        noun: how `Memory` calls it.
    """
    waiting, awaited = _members(kind), _members(kind)
    for owner in reversed(kind.__mro__):
        for each, member in vars(owner).items():
            method = f"{noun}.{each}" if noun else each
            if isinstance(member, property):
                if member.fget and (nouns := _nouns(member.fget)):
                    waiting[each], awaited[each] = nouns
            elif method in PAGES:
                waiting[each], awaited[each] = _paged(member, PAGES[method])
            elif isinstance(member, FunctionType) and (plan := _plan_of(method, member)):
                waiting[each], awaited[each] = _carried_out(member, plan)
    made = type(name, (Over,), waiting), type(f"Async{name}", (Over,), awaited)
    _NOUNS[kind.__name__] = made
    return made


def _members(kind: type) -> dict[str, Any]:
    return {"__doc__": f"`{kind.__name__}` over a server.", "__module__": f"{__package__}.nouns"}


def _plan_of(name: str, method: FunctionType) -> Callable[..., Plan[Any]] | None:
    """Give what carries a method out, called with the object and its arguments; None if nothing."""
    if name in PLANS:
        return lambda _, *args, **kwargs: PLANS[name](*args, **kwargs)
    operation = _OPERATIONS.get(name)
    return None if operation is None else _single(operation, inspect.signature(method))


def _single(operation: Operation, signature: inspect.Signature) -> Callable[..., Plan[Any]]:
    def plan(over: Over, *args: Any, **kwargs: Any) -> Plan[Any]:
        defaults = {
            one: over._defaults[one] for one in over._defaults if one in signature.parameters
        }
        arguments = SentArguments(operation, signature.bind(over, *args, **{**defaults, **kwargs}))
        taken = operation.takes.__struct_fields__
        fields = {
            one: over._defaults[one] for one in over._defaults if one in taken
        } | arguments.fields
        reply = yield request_of(operation, fields, callback=arguments.callback)
        return reply.written if isinstance(reply, WriteReport) else reply

    return plan


def _carried_out(
    method: FunctionType, plan: Callable[..., Plan[Any]]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    @wraps(method)
    def send(self: Over, /, *args: Any, **kwargs: Any) -> Any:
        return self._connection.carry_out(plan(self, *args, **kwargs))

    @wraps(method)
    async def send_async(self: Over, /, *args: Any, **kwargs: Any) -> Any:
        return await self._connection.carry_out(plan(self, *args, **kwargs))

    return send, send_async


def _paged(
    method: FunctionType, plan: Callable[..., Plan[Any]]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Iterate over records, whose pages are asked for as needed."""

    @wraps(method)
    def send(self: Over, /, *args: Any, **kwargs: Any) -> Iterator[Any]:
        cursor = ""
        while True:
            page = self._connection.carry_out(plan(cursor, *args, **kwargs))
            yield from page.records
            cursor = page.cursor
            if not cursor:
                return

    @wraps(method)
    async def send_async(self: Over, /, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        cursor = ""
        while True:
            page = await self._connection.carry_out(plan(cursor, *args, **kwargs))
            for record in page.records:
                yield record
            cursor = page.cursor
            if not cursor:
                return

    return send, send_async


def _nouns(read: Callable[[Any], Any]) -> tuple[property, property] | None:
    made = _NOUNS.get(read.__annotations__["return"])
    return made and (_property(read, made[0]), _property(read, made[1]))


def _property(read: Callable[[Any], Any], noun: type[Over]) -> property:
    @wraps(read)
    def get(self: Over) -> Any:
        return noun(self._connection)

    get.__annotations__ = {"return": noun}
    return property(get)
