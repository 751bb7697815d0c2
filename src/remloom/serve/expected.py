"""What an operation expects for an argument, in words and as an example."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast

from msgspec import Struct
from msgspec.inspect import (
    AnyType,
    BoolType,
    BytesType,
    CollectionType,
    DateTimeType,
    DictType,
    EnumType,
    Field,
    FloatType,
    IntType,
    LiteralType,
    Metadata,
    NoneType,
    StructType,
    TupleType,
    Type,
    UnionType,
    type_info,
)

_TIME = "2025-05-01T09:30:00Z"
_BASE64 = "Tm90ZXM="
_CHOICES = 12  # that are listed


def remedy_for(takes: type[Struct], argument: str, *, query: bool = False) -> str:
    """Say what an argument is to be, with an example; of no argument, what all of them are.

    >>> class Takes(Struct):
    ...     labels: list[str]
    ...     limit: int = 10
    >>> remedy_for(Takes, "labels")
    'labels is a list of strings: {"labels": ["…"]}'
    >>> remedy_for(Takes, "limit", query=True)
    'limit is an integer: ?limit=10'
    >>> remedy_for(Takes, "")
    'give a JSON object: {"labels": ["…"]}'
    """
    field = _fields(takes).get(argument)
    if field is None:
        return f"give a JSON object: {example_of(takes)}"
    value = _example(field.type)
    shown = f"?{argument}={_in_query(value)}" if query else _json({argument: value})
    return f"{argument} is {_words(field.type)}: {shown}"


def example_of(takes: type[Struct]) -> str:
    """Write the least that an operation takes, as JSON."""
    fields = _fields(takes)
    needed = [field for field in fields.values() if field.required] or [*fields.values()][:1]
    return _json({field.encode_name: _example(field.type) for field in needed})


def _fields(takes: type[Struct]) -> dict[str, Field]:
    info = cast(StructType, type_info(takes))
    return {field.encode_name: field for field in info.fields}


def _plain(kind: Type) -> Type:
    """The type without bounds; of several the first that is not null."""
    if isinstance(kind, Metadata):
        return _plain(kind.type)
    if isinstance(kind, UnionType):
        some = [one for one in kind.types if not isinstance(one, NoneType)]
        return _plain(some[0]) if some else kind
    return kind


def _words(kind: Type, *, many: bool = False) -> str:
    plain = _plain(kind)
    if isinstance(plain, CollectionType):
        inner = _words(plain.item_type, many=True)
        return f"{'lists' if many else 'a list'} of {inner}"
    if isinstance(plain, IntType | FloatType):
        noun, article = ("integer", "an") if isinstance(plain, IntType) else ("number", "a")
        return f"{noun}s" if many else f"{article} {noun}{_bounds(plain)}"
    if isinstance(plain, TupleType):
        inner = ", ".join(_words(one) for one in plain.item_types)
        return f"{'lists' if many else 'a list'} of {inner}"
    if isinstance(plain, BytesType):
        return "strings of base64" if many else "a string of base64"
    if isinstance(plain, BoolType):
        return "true or false"
    if isinstance(plain, DateTimeType):
        return "times with their zones" if many else "a time with its zone"
    if isinstance(plain, LiteralType | EnumType):
        return f"one of {', '.join(list(_choices(plain))[:_CHOICES])}"
    if isinstance(plain, StructType):
        needed = ", ".join(field.encode_name for field in plain.fields if field.required)
        noun = "objects" if many else "an object"
        return f"{noun} with {needed}" if needed else noun
    if isinstance(plain, DictType):
        return "objects" if many else "an object"
    return "strings" if many else "a string"


def _bounds(kind: IntType | FloatType) -> str:
    least = f" from {kind.ge}" if kind.ge is not None else ""
    if kind.gt is not None:
        least = f" above {kind.gt:g}"
    most = f" up to {kind.le}" if kind.le is not None else ""
    return least + most


def _example(kind: Type) -> Any:
    plain = _plain(kind)
    if isinstance(plain, CollectionType):
        return [_example(plain.item_type)]
    if isinstance(plain, TupleType):
        return [_example(one) for one in plain.item_types]
    if isinstance(plain, BytesType):
        return _BASE64
    if isinstance(plain, IntType):
        return max(plain.ge or 0, min(10, plain.le if plain.le is not None else 10))
    if isinstance(plain, FloatType):
        return max(plain.ge or 0, min(0.5, plain.le if plain.le is not None else 0.5))
    if isinstance(plain, BoolType):
        return True
    if isinstance(plain, DateTimeType):
        return _TIME
    if isinstance(plain, LiteralType | EnumType):
        return next(iter(_choices(plain)))
    if isinstance(plain, StructType):
        needed = [field for field in plain.fields if field.required]
        tag = {plain.tag_field: plain.tag} if plain.tag_field else {}
        return {**tag, **{field.encode_name: _example(field.type) for field in needed}}
    if isinstance(plain, DictType):
        return {} if isinstance(plain.value_type, AnyType) else {"…": _example(plain.value_type)}
    return "…"


def _choices(kind: LiteralType | EnumType) -> Iterable[str]:
    if isinstance(kind, LiteralType):
        return map(str, kind.values)
    return (str(member.value) for member in kind.cls)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _in_query(value: Any) -> str:
    one = value[0] if isinstance(value, list) else value
    return one if isinstance(one, str) else _json(one)
