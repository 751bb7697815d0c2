"""A method of `Memory` as a request, and its reply as the value."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from ..errors import ServerError
from ..operations import Operation, Route
from .failures import raise_problem
from .values import Arguments

__all__ = ["Call", "Request"]

_NO_CONTENT = 204


class Request(Struct, frozen=True, kw_only=True):
    """What is sent."""

    method: str
    path: str
    query: list[tuple[str, str]] = []
    body: bytes | None = None
    # reading may be sent twice; what writes is known again by its key
    writes: bool
    is_long: bool
    callback: Callable[..., None] | None = None


class Call:
    """How one method is called over HTTP.

    Args:
        method: as the table of operations has it: "recall", "profile.set".
        function: the method, for its signature.
    """

    def __init__(self, method: str, function: Callable[..., Any]) -> None:
        self._method = method
        self._function = function

    # found when it is first called: the table loads what `Memory` loads lazily
    @cached_property
    def operation(self) -> Operation:
        from ..operations import OPERATIONS

        return next(one for one in OPERATIONS if one.method == self._method)

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self._function)

    @cached_property
    def _route(self) -> Route:
        if self.operation.route is None:
            raise ServerError(f"{self._method} has no route", remedy="it is reached by MCP alone")
        return self.operation.route

    def request(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Request:
        """Make the request of a call.

        Raises:
            TypeError: as the method itself would, for wrong arguments.
            InvalidInputError: an argument cannot be sent.
        """
        operation, route = self.operation, self._route
        arguments = Arguments(operation, self._signature.bind(None, *args, **kwargs))
        fields = arguments.fields
        path = re.sub(
            r"\{(\w+)\}",
            lambda name: quote(str(fields.pop(name[1])), safe=""),
            route.path,
        )
        in_query = route.method in ("GET", "DELETE")
        return Request(
            method=route.method,
            path=path,
            query=_query(fields) if in_query else [],
            body=None if in_query else msgspec.json.encode(fields),
            writes=not operation.hints.read_only,
            is_long=operation.is_long,
            callback=arguments.callback,
        )

    def value(self, status: int, body: bytes) -> Any:
        """Read the value out of a reply.

        Raises:
            RemloomError: what was raised in the server.
        """
        if status >= 400:
            raise_problem(status, body)
        if status == _NO_CONTENT or not body:
            return None
        try:
            return msgspec.json.decode(body, type=self.operation.gives or Any)
        except msgspec.DecodeError as error:
            raise ServerError(
                f"the reply to {self.operation.name} cannot be read: {error}",
                remedy="is the server's version the client's?",
            ) from error


def _query(fields: dict[str, Any]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for name, value in fields.items():
        items = value if isinstance(value, list) else [value]
        pairs += [(name, _query_text(item)) for item in items if item is not None]
    return pairs


def _query_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
