"""Operations out of methods: their arguments, value and documentation are the method's own."""

from __future__ import annotations

import collections.abc
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Any, Literal, Union

import msgspec
from msgspec import Meta, Struct, defstruct

from ..memory.memory import Memory
from ..model import Edge, Record
from ..model.reports import WriteReport, WrittenIds
from ..tenancy.api_keys import Scope
from ..text.docstrings import head_of, typing_names
from .bounds import MOST_ITEMS, bounded, without_pattern
from .operation import Hints, Needs, Operation, Progress, Route

# types of what cannot come from outside: dropped from the unions that they are in
_OPAQUE = dict.fromkeys(
    (
        "DefinitionInput",
        "Embedder",
        "LearnProgress",
        "Plan",
        "RecallOptions",
        "Reranker",
        "Statement",
    ),
    Callable[..., None],
)
_LISTS = (
    list,
    collections.abc.Collection,
    collections.abc.Iterable,
    collections.abc.Iterator,
    collections.abc.Sequence,
)
_CALLBACKS = ("progress", "on_turn", "told", "stream")
# arguments of `Memory` that mean something in its own process only: a value of Python, a path or a
# model of the server
_NOT_TAKEN = ("count_tokens", "embedder", "options", "strategy", *_CALLBACKS)
# what a server lets a caller choose of it
_NARROWED: dict[str, Any] = {"rerank": Literal["none", "llm"] | None}


class OfMemory:
    """Base of what does operations that are no methods of `Memory`, by its own methods."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory


def derive(
    name: str,
    route: str,
    scope: Scope,
    *,
    of: type = Memory,
    noun: str = "",
    method: str = "",
    destructive: bool = False,
    idempotent: bool = False,
    skip: tuple[str, ...] = (),
    needs: Needs = "memory",
    **more: Any,
) -> Operation:
    """Make the operation of a method of `Memory`, or of one of its nouns.

    Args:
        route: "POST /v1/recall".
        of, noun: the class of the method, and how `Memory` calls the noun: `Runs`, "runs"; or an
            `OfMemory`.
        method: its name there; default the operation's, without the noun before it.
        skip: arguments that are not taken.
        more: further fields of the operation.
    """
    attribute = method or name.removeprefix(f"{noun}_")
    function = getattr(of, attribute)
    signature = inspect.signature(function)
    hints = _hints_of(function)
    positional = _rest_of(signature, inspect.Parameter.VAR_POSITIONAL)
    open_ended = _rest_of(signature, inspect.Parameter.VAR_KEYWORD)
    callback = next((one for one in _CALLBACKS if one in signature.parameters), "")
    keywords = _is_open(hints.get(open_ended))

    def does(memory: Any, values: Any, progress: Progress | None) -> Any:
        arguments = {
            field: value for field, value in _fields_of(values) if value is not msgspec.UNSET
        }
        items = arguments.pop(positional, ())
        if keywords:
            arguments.update(arguments.pop(open_ended, {}))
        if callback and progress is not None:
            arguments[callback] = progress
        if issubclass(of, OfMemory):
            owner: Any = of(memory)
        else:
            owner = getattr(memory, noun) if noun else memory
        value = getattr(owner, attribute)(*items, **arguments)
        return WriteReport.of(value) if isinstance(value, WrittenIds) else value

    reads = scope == "read"
    is_its_own = issubclass(of, OfMemory) or needs == "federation"
    return Operation(
        name=name,
        takes=_takes(name, signature, hints, skip),
        gives=_returned(hints["return"]),
        does=does,
        scope=scope,
        hints=Hints(
            read_only=reads, destructive=destructive, idempotent=reads or idempotent or destructive
        ),
        description=describe(function),
        route=Route.parse(route),
        needs=needs,
        method="" if is_its_own else f"{noun}.{attribute}" if noun else attribute,
        documented=function,
        **more,
    )


def describe(function: Callable[..., Any]) -> str:
    """Give what a docstring says before its sections, without what is for readers of the code.

    >>> describe(Memory.delete_resource)
    'Forget one resource and what was derived from it.'
    """
    return head_of(inspect.getdoc(function) or "")


def _returned(hint: Any) -> Any:
    """Give the type of a returned value; what is iterated over is a list outside."""
    if typing.get_origin(hint) is collections.abc.Iterator:
        return list[typing.get_args(hint)[0]]  # type: ignore[misc]
    if hint is WrittenIds:
        return WriteReport
    return None if hint is type(None) else hint


def _takes(
    name: str, signature: inspect.Signature, hints: dict[str, Any], skip: tuple[str, ...]
) -> type[Struct]:
    fields: list[tuple[str, Any, Any]] = []
    for parameter in list(signature.parameters.values())[1:]:
        hint = hints[parameter.name]
        if parameter.name in (*_NOT_TAKEN, *skip):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            fields.append(
                (parameter.name, _items(hint, parameter.name, least=1), msgspec.NODEFAULT)
            )
        elif parameter.kind is parameter.VAR_KEYWORD and _is_open(hint):
            fields.append((parameter.name, dict[str, Any], {}))
        elif parameter.kind is parameter.VAR_KEYWORD:
            fields += _options(typing.get_args(hint)[0], skip)
        else:
            required = parameter.default is parameter.empty
            default = msgspec.NODEFAULT if required else _plain(parameter.default)
            fields.append((parameter.name, _wire(hint, parameter.name), default))
    # required ones first, as the documentation lists them
    fields.sort(key=lambda field: field[2] is not msgspec.NODEFAULT)
    title = "".join(part.title() for part in name.split("_"))
    return make_struct(f"{title}Takes", fields)


def make_struct(name: str, fields: Iterable[tuple[str, Any, Any]]) -> type[Struct]:
    """Make a struct that takes keywords, and refuses what it does not know."""
    return defstruct(name, fields, kw_only=True, frozen=True, forbid_unknown_fields=True)


def _options(keywords: Any, skip: tuple[str, ...]) -> list[tuple[str, Any, Any]]:
    hints = _hints_of(keywords)
    return [
        (name, _wire(hint, name) | msgspec.UnsetType, msgspec.UNSET)
        for name, hint in hints.items()
        if name not in (*_NOT_TAKEN, *skip)
    ]


def _hints_of(annotated: Any) -> dict[str, Any]:
    """Give the types of a function's parameters and value, or of a TypedDict's keys."""
    texts = [getattr(one, "__forward_arg__", one) for one in annotated.__annotations__.values()]
    names = typing_names(annotated.__module__, texts) | _OPAQUE
    imported = vars(sys.modules[annotated.__module__])
    others = {name: value for name, value in names.items() if name not in imported}
    return typing.get_type_hints(annotated, localns=others, include_extras=True)


def _wire(hint: Any, name: str = "") -> Any:
    """Give the type that stands for a hint outside: lists, texts of conditions, no callables."""
    if name in _NARROWED:
        return _NARROWED[name]
    if hint is type(None) or hint is None:
        return None
    if _is_condition(hint):
        return bounded(name, str)
    origin = typing.get_origin(hint)
    if origin is Annotated:
        # its own bounds, instead of those that its name has
        base, *bounds = typing.get_args(hint)
        wired = _wire(base, name)
        plain = typing.get_args(wired)[0] if typing.get_origin(wired) is Annotated else wired
        return Annotated[(plain, *bounds)]
    if origin in (Union, types.UnionType):
        return _union(typing.get_args(hint), name)
    if origin in _LISTS:
        return _items(typing.get_args(hint)[0], name)
    if origin is collections.abc.Mapping or hint is collections.abc.Mapping:
        key, value = typing.get_args(hint) or (str, Any)
        return dict[key, _wire(value)]  # type: ignore[misc, valid-type]
    return bounded(name, hint)


def _union(parts: tuple[Any, ...], name: str) -> Any:
    if set(parts) == {*typing.get_args(Record), Edge} or any(_is_condition(part) for part in parts):
        kept = [part for part in parts if not _is_condition(part)] or [str]
    else:
        kept = [part for part in parts if typing.get_origin(part) is not collections.abc.Callable]
    # of a struct and the object of its fields, the struct tells more
    structs = [part for part in kept if isinstance(part, type) and issubclass(part, Struct)]
    if structs:
        kept = [part for part in kept if typing.get_origin(part) is not collections.abc.Mapping]
    wired = [_wire(part, name) for part in kept]
    if any(_holds_others(part) for part in wired):
        wired = [without_pattern(part) for part in wired]
    return Union[tuple(wired)]  # noqa: UP007  # of a computed tuple


def _holds_others(hint: Any) -> bool:
    base = typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint
    return typing.get_origin(base) in (list, dict)


def _items(hint: Any, name: str, least: int = 0) -> Any:
    return Annotated[list[_wire(hint, name)], Meta(min_length=least, max_length=MOST_ITEMS)]  # type: ignore[misc]


def _is_condition(hint: Any) -> bool:
    return getattr(hint, "__module__", "") == "remloom.predicates"


def _is_open(hint: Any) -> bool:
    """Whether keywords may have any name."""
    return hint is Any


def _rest_of(signature: inspect.Signature, kind: Any) -> str:
    return next((one.name for one in signature.parameters.values() if one.kind is kind), "")


def _plain(default: Any) -> Any:
    if not isinstance(default, tuple):
        return default
    return msgspec.field(default_factory=partial(list, default)) if default else []


def _fields_of(values: Struct) -> list[tuple[str, Any]]:
    return [(name, getattr(values, name)) for name in values.__struct_fields__]
