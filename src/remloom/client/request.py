"""A call of a method of `Memory` as a request: its arguments as the JSON that a server takes."""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from ..engine.arguments import check_kind, check_text, edge_type_names
from ..errors import InvalidInputError, NotFoundError, UnknownNameError, unencodable
from ..model import Edge, Entity, Moment, Record, Resource, Row
from ..operations import OPERATIONS, Operation, Route
from ..store.rules.validation import build

_OPERATIONS = {one.name: one for one in OPERATIONS}
# arguments that are written
_WRITTEN: dict[str, Any] = {
    "records": Record,
    "resource": Resource,
    "entity": Entity,
    "moment": Moment,
    "edge": Edge,
}
# keywords that mean something only in the process that holds the memory
_HERE = ("count_tokens",)
_CALLBACKS = ("progress", "on_turn", "told")


class HttpRequest(Struct, frozen=True, kw_only=True):
    """What is sent.

    Attributes:
        callback: what is to be called with the progress; None for nothing.
        stream: what an operation that carries one takes in, or what is called with each piece of
            what it gives out.
    """

    operation: Operation
    method: str
    path: str
    query: list[tuple[str, str]] = []
    body: bytes | None = None
    callback: Callable[..., None] | None = None
    stream: Any = None


def request_of(
    operation: Operation | str,
    fields: Mapping[str, Any],
    *,
    callback: Callable[..., None] | None = None,
    stream: Iterator[bytes] | Callable[[bytes], None] | None = None,
) -> HttpRequest:
    """Make the request of an operation, or of that with a name, from fields: values of JSON."""
    if isinstance(operation, str):
        operation = _OPERATIONS[operation]
    route = operation.route or Route("POST", "")
    rest = dict(fields)
    path = re.sub(r"\{(\w+)\}", lambda name: _path_part(name[1], rest.pop(name[1])), route.path)
    in_query = route.method in ("GET", "DELETE") or operation.carries == "in"
    return HttpRequest(
        operation=operation,
        method=route.method,
        path=path,
        query=_as_query(rest) if in_query else [],
        body=None if in_query else _encoded(rest),
        callback=callback,
        stream=stream,
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


def _as_query(fields: dict[str, Any]) -> list[tuple[str, str]]:
    """Give fields as pairs of a query; a list is one pair for each item."""
    pairs: list[tuple[str, str]] = []
    for name, value in fields.items():
        items = value if isinstance(value, list) else [value]
        pairs += [(name, _query_text(item)) for item in items if item is not None]
    return pairs


def _query_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class SentArguments:
    """The arguments of one call, parted into what is sent and what stays here.

    Attributes:
        fields: of the operation's `takes`, as JSON-ready values.
        callback: what is to be called with the progress; None for nothing.

    Raises:
        InvalidInputError: an argument means something only in the process that holds the memory, or
            cannot be written as JSON.
    """

    def __init__(self, operation: Operation, bound: inspect.BoundArguments) -> None:
        self.fields: dict[str, Any] = {}
        self.callback: Callable[..., None] | None = None
        self._operation = operation
        parameters = bound.signature.parameters
        for name, value in list(bound.arguments.items())[1:]:
            if parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                self._add_keywords(name, value)
            elif name == "options":
                self._add_options(value)
            elif name in _CALLBACKS:
                self.callback = value and _receiver(name, value)
            else:
                self._add(name, value, parameters[name].default)

    def _add(self, name: str, value: Any, default: Any = inspect.Parameter.empty) -> None:
        if name in self._operation.takes.__struct_fields__:
            # in a path or query everything would become text
            if name in _texts_of(self._operation.takes):
                check_text(value, name)
            self.fields[name] = _plain(_checked(name, value))
        elif value is not default:
            raise InvalidInputError(
                f"{name} cannot be given to a server",
                remedy="leave it out; it works where the memory is opened",
            )

    def _add_keywords(self, name: str, values: Mapping[str, Any]) -> None:
        if name in self._operation.takes.__struct_fields__:
            self.fields[name] = _plain(values)
            return
        for key, value in values.items():
            if key not in _HERE:
                known = self._operation.takes.__struct_fields__
                if key not in known:
                    raise UnknownNameError("option", key, known)
            self._add(key, value)

    def _add_options(self, options: Any) -> None:
        """Send of a value of options what is not as it is anyway; keywords go over it."""
        if options is None:
            return
        defaults = type(options)()
        for name in options.__struct_fields__:
            value = getattr(options, name)
            if value != getattr(defaults, name):
                self._add(name, value)


def _receiver(name: str, callback: Callable[..., Any]) -> Callable[..., None]:
    def receive(*values: Any) -> None:
        callback(*(_progress_value(name, one) for one in values))

    return receive


def _progress_value(name: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if name == "told":
        from ..reader.loop.events import ReadEvent

        return msgspec.convert(value, ReadEvent)
    if name == "on_turn":
        from ..ask.result import AskTurn

        return msgspec.convert(value, AskTurn)
    from ..dream.context import LearnProgress

    return msgspec.convert(value, LearnProgress)


@cache
def _texts_of(takes: type[Struct]) -> frozenset[str]:
    return frozenset(
        field.name
        for field in msgspec.structs.fields(takes)
        if getattr(field.type, "__origin__", field.type) is str
    )


def _checked(name: str, value: Any) -> Any:
    """Refuse what `Memory` refuses and JSON would not carry: a set would arrive as a list."""
    if name == "edge_types":
        return None if value is None else edge_type_names(value)
    kind = _WRITTEN.get(name)
    if kind is None:
        return value
    if kind is not Record:
        build([check_kind(value, kind)], tenant="", model="")
        return value
    if isinstance(value, Struct):
        build(value, tenant="", model="")  # type: ignore[arg-type]  # which refuses it
    items = list(value)
    # rows are checked where the definitions of their schemas are
    build([item for item in items if not isinstance(item, Row)], tenant="", model="")
    return items


def _plain(value: Any) -> Any:
    """Give a value as JSON has it: conditions and statements as their texts."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Struct):
        return _struct(value)
    if isinstance(value, Mapping):
        return {_text(str(name)): _plain(item) for name, item in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, Iterable):
        return [_plain(item) for item in value]
    raise InvalidInputError(
        f"a {type(value).__name__} cannot be sent to a server", remedy="give values of JSON"
    )


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise unencodable(error) from None
    return value


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise InvalidInputError(f"{value} is no number of JSON", remedy="give a finite number")
    return value


def _struct(value: Struct) -> Any:
    module = type(value).__module__
    if module == "remloom.predicates":
        from ..query.render import render_condition

        return render_condition(value)  # type: ignore[arg-type]
    if module == "remloom.query.statements":
        from ..query.render import render

        return render(value)  # type: ignore[arg-type]
    config = value.__struct_config__
    shown = {
        sent: _plain(item)
        for name, sent in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        if (item := getattr(value, name)) is not msgspec.UNSET
    }
    if config.tag_field is not None:
        shown[config.tag_field] = config.tag
    return shown
