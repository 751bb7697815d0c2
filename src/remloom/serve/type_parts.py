"""The types that a value may have, of those that an operation takes."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.inspect import Metadata, Type, UnionType


def parts_of(kind: Type) -> Iterator[Type]:
    """Give the types of a union, or the one type; bounds are left out."""
    if isinstance(kind, Metadata):
        yield from parts_of(kind.type)
    elif isinstance(kind, UnionType):
        for one in kind.types:
            yield from parts_of(one)
    else:
        yield kind
