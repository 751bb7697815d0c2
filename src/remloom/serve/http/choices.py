"""The choices that a value has, by its place in what an operation takes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.inspect import (
    DictType,
    EnumType,
    ListType,
    LiteralType,
    StructType,
    Type,
    type_info,
)

from ..type_parts import parts_of

_STEP = re.compile(r"\w+|\[[^\]]*\]")


def choices_at(takes: type[Struct], place: str) -> list[str]:
    """List what a value may be: of a literal, an enum, or what tells structs of a union apart.

    Args:
        place: as msgspec gives it: "direction", "records[0].schema".
    """
    *steps, last = _STEP.findall(place)
    found = [type_info(takes)]
    for step in steps:
        found = [inner for kind in found for inner in _inside(kind, step)]
    return [choice for kind in found for choice in _choices(kind, last)]


def _inside(kind: Type, step: str) -> Iterator[Type]:
    """Give the types of what stands at one step below a value."""
    for part in parts_of(kind):
        if isinstance(part, ListType) and step.startswith("["):
            yield part.item_type
        elif isinstance(part, DictType) and step.startswith("["):
            yield part.value_type
        elif isinstance(part, StructType):
            yield from (field.type for field in part.fields if field.encode_name == step)


def _choices(kind: Type, step: str) -> Iterator[str]:
    for part in parts_of(kind):
        if isinstance(part, StructType) and part.tag_field == step:
            yield str(part.tag)
    for inner in _inside(kind, step):
        for part in parts_of(inner):
            if isinstance(part, LiteralType):
                yield from map(str, part.values)
            elif isinstance(part, EnumType):
                yield from (str(member.value) for member in part.cls)
