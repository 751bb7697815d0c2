"""A method of `Memory` as a request."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from ..errors import NotFoundError, ServerError, unencodable
from ..operations import Operation, Route
from .values import Arguments

NOTHING: Mapping[str, Any] = MappingProxyType({})


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
    """How an operation is called over HTTP.

    Args:
        name: of the operation, or
        method: of `Memory` that it is: "recall", "profile.set"; with
        function: that method, for its signature.
    """

    def __init__(
        self, *, name: str = "", method: str = "", function: Callable[..., Any] | None = None
    ) -> None:
        self._name = name
        self._method = method
        self._function = function

    # found when it is first called: the table loads what `Memory` loads lazily
    @cached_property
    def operation(self) -> Operation:
        from ..operations import OPERATIONS

        wanted = self._name or self._method
        names = ("name" if self._name else "method", wanted)
        found = [one for one in OPERATIONS if getattr(one, names[0]) == wanted and one.route]
        if not found:
            raise ServerError(f"no server does {wanted}", remedy="call it where the memory is")
        return found[0]

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self._function or self.operation.does)

    def request(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], given: Mapping[str, Any] = NOTHING
    ) -> Request:
        """Make the request of a call.

        Args:
            given: fields of the operation that are no arguments of the method.

        Raises:
            TypeError: as the method itself would, for wrong arguments.
            InvalidInputError: an argument cannot be sent.
        """
        bound = self._signature.bind(None, *args, **kwargs)
        arguments = Arguments(self.operation, bound)
        return self.request_of({**given, **arguments.fields}, arguments.callback)

    def request_of(
        self, given: Mapping[str, Any], callback: Callable[..., None] | None = None
    ) -> Request:
        """Make the request of an operation from its fields, which are values of JSON."""
        route = self.operation.route or Route("POST", "")
        fields = dict(given)
        path = re.sub(
            r"\{(\w+)\}", lambda name: _path_part(name[1], fields.pop(name[1])), route.path
        )
        in_query = route.method in ("GET", "DELETE")
        return Request(
            method=route.method,
            path=path,
            query=as_query(fields) if in_query else [],
            body=None if in_query else _encoded(fields),
            writes=not self.operation.hints.read_only,
            is_long=self.operation.is_long,
            callback=callback,
        )


def _encoded(fields: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(fields)
    except UnicodeEncodeError as error:
        raise unencodable(error) from None


def _path_part(name: str, value: Any) -> str:
    """A value within a path; an empty one, or dots, would make another path."""
    text = str(value)
    if not text.strip("."):
        raise NotFoundError(f"nothing has the {name} {text!r}", **{name: text})
    return quote(text, safe="")


def as_query(fields: dict[str, Any]) -> list[tuple[str, str]]:
    """Give fields as pairs of a query; a list is one pair for each item."""
    pairs: list[tuple[str, str]] = []
    for name, value in fields.items():
        items = value if isinstance(value, list) else [value]
        pairs += [(name, _query_text(item)) for item in items if item is not None]
    return pairs


def _query_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
