"""The types of an operation's arguments: in words, as examples, their choices and their fields."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
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
    ListType,
    LiteralType,
    Metadata,
    NoneType,
    StructType,
    TupleType,
    Type,
    UnionType,
    type_info,
)

from ..errors import UnknownNameError


def parts_of(kind: Type) -> Iterator[Type]:
    """Give the types of a union, or the one type; bounds are left out."""
    if isinstance(kind, Metadata):
        yield from parts_of(kind.type)
    elif isinstance(kind, UnionType):
        for one in kind.types:
            yield from parts_of(one)
    else:
        yield kind


# one, many, and an example
_SCALARS: dict[type[Type], tuple[str, str, Any]] = {
    BytesType: ("a string of base64", "strings of base64", "Tm90ZXM="),
    BoolType: ("true or false", "true or false", True),
    DateTimeType: ("a time with its zone", "times with their zones", "2025-05-01T09:30:00Z"),
}
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
    words, value = _describe(field.type)
    shown = f"?{argument}={_in_query(value)}" if query else _json({argument: value})
    return f"{argument} is {words}: {shown}"


def list_arguments(takes: type[Struct]) -> set[str]:
    """Name the arguments that are lists."""
    return {
        name
        for name, field in _fields(takes).items()
        if any(isinstance(part, CollectionType) for part in parts_of(field.type))
    }


def example_of(takes: type[Struct]) -> str:
    fields = _fields(takes)
    needed = [field for field in fields.values() if field.required] or [*fields.values()][:1]
    return _json({field.encode_name: _describe(field.type)[1] for field in needed})


def _fields(takes: type[Struct]) -> dict[str, Field]:
    info = cast("StructType", type_info(takes))
    return {field.encode_name: field for field in info.fields}


def _plain(kind: Type) -> Type:
    """The type without bounds; of several the first that is not null."""
    if isinstance(kind, Metadata):
        return _plain(kind.type)
    if isinstance(kind, UnionType):
        some = [one for one in kind.types if not isinstance(one, NoneType)]
        return _plain(some[0]) if some else kind
    return kind


def _describe(kind: Type, *, many: bool = False) -> tuple[str, Any]:
    """Say in words what a type is, and give an example."""
    plain = _plain(kind)
    if isinstance(plain, CollectionType):
        inner, item = _describe(plain.item_type, many=True)
        return f"{'lists' if many else 'a list'} of {inner}", [item]
    if isinstance(plain, TupleType):
        parts = [_describe(one) for one in plain.item_types]
        inner = ", ".join(words for words, _ in parts)
        return f"{'lists' if many else 'a list'} of {inner}", [example for _, example in parts]
    if isinstance(plain, IntType | FloatType):
        return _describe_number(plain, many=many)
    if isinstance(plain, LiteralType | EnumType):
        choices = list(_choices(plain))
        return f"one of {', '.join(choices[:_CHOICES])}", choices[0]
    if isinstance(plain, StructType):
        needed = {field.encode_name: field.type for field in plain.fields if field.required}
        words = f"{'objects' if many else 'an object'} with {', '.join(needed)}"
        tag = {plain.tag_field: plain.tag} if plain.tag_field else {}
        example = {**tag, **{name: _describe(one)[1] for name, one in needed.items()}}
        return words if needed else words.removesuffix(" with "), example
    if isinstance(plain, DictType):
        item = None if isinstance(plain.value_type, AnyType) else _describe(plain.value_type)[1]
        return "objects" if many else "an object", {} if item is None else {"…": item}
    one, several, example = _SCALARS.get(type(plain), ("a string", "strings", "…"))
    return several if many else one, example


def _describe_number(kind: IntType | FloatType, *, many: bool) -> tuple[str, int | float]:
    one, several, usual = ("a number", "numbers", 0.5)
    if isinstance(kind, IntType):
        one, several, usual = ("an integer", "integers", 10)
    example = max(kind.ge or 0, usual if kind.le is None else min(usual, kind.le))
    return several if many else f"{one}{_bounds(kind)}", example


def _bounds(kind: IntType | FloatType) -> str:
    least = f" from {kind.ge}" if kind.ge is not None else ""
    if kind.gt is not None:
        least = f" above {kind.gt:g}"
    most = f" up to {kind.le}" if kind.le is not None else ""
    return least + most


def _choices(kind: LiteralType | EnumType) -> Iterable[str]:
    if isinstance(kind, LiteralType):
        return map(str, kind.values)
    return (str(member.value) for member in kind.cls)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _in_query(value: Any) -> str:
    one = value[0] if isinstance(value, list) else value
    return one if isinstance(one, str) else _json(one)


_STEP = re.compile(r"\w+|\[[^\]]*\]")


def choices_at(takes: type[Struct], path: str) -> list[str]:
    """List what a value may be: of a literal, an enum, or what tells structs of a union apart.

    Args:
        path: as msgspec gives it: "direction", "records[0].schema".
    """
    *steps, last = _STEP.findall(path)
    found = [type_info(takes)]
    for step in steps:
        found = [inner for kind in found for inner in _inside(kind, step)]
    return [choice for kind in found for choice in _choices_at(kind, last)]


def _inside(kind: Type, step: str) -> Iterator[Type]:
    for part in parts_of(kind):
        if isinstance(part, ListType) and step.startswith("["):
            yield part.item_type
        elif isinstance(part, DictType) and step.startswith("["):
            yield part.value_type
        elif isinstance(part, StructType):
            yield from (field.type for field in part.fields if field.encode_name == step)


def _choices_at(kind: Type, step: str) -> Iterator[str]:
    for part in parts_of(kind):
        if isinstance(part, StructType) and part.tag_field == step:
            yield str(part.tag)
    for inner in _inside(kind, step):
        for part in parts_of(inner):
            if isinstance(part, LiteralType):
                yield from map(str, part.values)
            elif isinstance(part, EnumType):
                yield from (str(member.value) for member in part.cls)


def has_objects(takes: type[Struct]) -> bool:
    """Whether any argument is an object with known fields, or a list of them."""
    return bool(_with_objects(takes))


def refuse_unknown_fields(takes: type[Struct], arguments: Mapping[str, Any]) -> None:
    """Look through the objects among these arguments, as they came.

    Values of other types are passed over: they are refused where they are converted.

    Raises:
        UnknownNameError: a record, a message or the like has a field that there is not; names its
            place and the nearest.
    """
    for argument, kind in _with_objects(takes).items():
        if argument in arguments:
            _look_through(arguments[argument], kind, argument)


@lru_cache(maxsize=512)
def _with_objects(takes: type[Struct]) -> dict[str, Type]:
    fields = cast("StructType", type_info(takes)).fields
    return {field.encode_name: field.type for field in fields if _has_known(field.type)}


def _has_known(kind: Type) -> bool:
    return any(
        isinstance(part, StructType)
        or (isinstance(part, CollectionType) and _has_known(part.item_type))
        or (isinstance(part, DictType) and _has_known(part.value_type))
        for part in parts_of(kind)
    )


def _look_through(value: Any, kind: Type, path: str) -> None:
    if isinstance(value, list):
        for part in parts_of(kind):
            if isinstance(part, CollectionType) and _has_known(part.item_type):
                for number, item in enumerate(value):
                    _look_through(item, part.item_type, f"{path}[{number}]")
    elif isinstance(value, dict):
        _look_through_object(value, kind, path)


def _look_through_object(value: dict[str, Any], kind: Type, path: str) -> None:
    parts = list(parts_of(kind))
    if any(isinstance(part, DictType) for part in parts):
        return
    shape = next(
        (part for part in parts if isinstance(part, StructType) and _is_tagged(value, part)), None
    )
    if shape is None:
        return
    fields, inner = _fields_of(shape.cls)
    if not value.keys() <= fields:
        name = next(name for name in value if name not in fields)
        raise UnknownNameError(f"field of {path}", name, sorted(fields))
    for name, one in inner.items():
        if name in value:
            _look_through(value[name], one, f"{path}.{name}")


@lru_cache(maxsize=512)
def _fields_of(shape: type[Struct]) -> tuple[frozenset[str], dict[str, Type]]:
    """The names of all fields, with the one of the tag, and those that hold objects again."""
    info = cast("StructType", type_info(shape))
    names = {field.encode_name for field in info.fields}
    return frozenset(names | ({info.tag_field} if info.tag_field else set())), _with_objects(shape)


def _is_tagged(value: dict[str, Any], shape: StructType) -> bool:
    """Whether an object says that it is of this shape; without a tag it need not."""
    return shape.tag_field is None or value.get(shape.tag_field, shape.tag) == shape.tag
