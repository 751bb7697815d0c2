"""Fields that objects among the arguments do not have: an error, not dropped in silence."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from msgspec import Struct
from msgspec.inspect import (
    CollectionType,
    DictType,
    StructType,
    Type,
    type_info,
)

from ..errors import UnknownNameError
from .type_parts import parts_of


def has_objects(takes: type[Struct]) -> bool:
    """Whether any argument is an object with known fields, or a list of them."""
    return bool(_with_objects(takes))


def refuse_unknown_fields(takes: type[Struct], given: Mapping[str, Any]) -> None:
    """Look through the objects among these arguments, as they came.

    Values of other types are passed over: they are refused where they are converted.

    Raises:
        UnknownNameError: a record, a message or the like has a field that there is not; names its
            place and the nearest.
    """
    for argument, kind in _with_objects(takes).items():
        if argument in given:
            _look_through(given[argument], kind, argument)


@lru_cache(maxsize=512)
def _with_objects(takes: type[Struct]) -> dict[str, Type]:
    """The arguments that are objects with known fields, or lists of them."""
    fields = cast(StructType, type_info(takes)).fields
    return {field.encode_name: field.type for field in fields if _has_known(field.type)}


def _has_known(kind: Type) -> bool:
    return any(
        isinstance(part, StructType)
        or (isinstance(part, CollectionType) and _has_known(part.item_type))
        or (isinstance(part, DictType) and _has_known(part.value_type))
        for part in parts_of(kind)
    )


def _look_through(value: Any, kind: Type, place: str) -> None:
    if isinstance(value, list):
        for part in parts_of(kind):
            if isinstance(part, CollectionType) and _has_known(part.item_type):
                for number, item in enumerate(value):
                    _look_through(item, part.item_type, f"{place}[{number}]")
    elif isinstance(value, dict):
        _look_through_object(value, kind, place)


def _look_through_object(value: dict[str, Any], kind: Type, place: str) -> None:
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
        raise UnknownNameError(f"field of {place}", name, sorted(fields))
    for name, one in inner.items():
        if name in value:
            _look_through(value[name], one, f"{place}.{name}")


@lru_cache(maxsize=512)
def _fields_of(shape: type[Struct]) -> tuple[frozenset[str], dict[str, Type]]:
    """The names of all fields, with the one of the tag, and those that hold objects again."""
    info = cast(StructType, type_info(shape))
    names = {field.encode_name for field in info.fields}
    return frozenset(names | ({info.tag_field} if info.tag_field else set())), _with_objects(shape)


def _is_tagged(value: dict[str, Any], shape: StructType) -> bool:
    """Whether an object says that it is of this shape; without a tag it need not."""
    return shape.tag_field is None or value.get(shape.tag_field, shape.tag) == shape.tag
