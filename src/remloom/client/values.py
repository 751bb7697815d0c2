"""Arguments of `Memory`'s methods as the JSON that a server takes."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from ..engine.arguments import check_kind, check_text, edge_type_names
from ..errors import InvalidInputError, UnknownNameError, unencodable
from ..model import Edge, Entity, Moment, Record, Resource, Row
from ..operations import Operation
from ..store.rules.validation import build

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


class Arguments:
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
    """Make what takes progress as JSON has it, and gives it as `Memory` does."""

    def receive(*given: Any) -> None:
        callback(*(_progress_value(name, one) for one in given))

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
    from ..dream.progress import Progress

    return msgspec.convert(value, Progress)


@cache
def _texts_of(takes: type[Struct]) -> frozenset[str]:
    """The fields that are text, and nothing else."""
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
