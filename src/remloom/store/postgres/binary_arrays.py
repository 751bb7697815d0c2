"""Columns of rows on their way into a statement, as PostgreSQL's binary arrays: a batch is a dozen
of them.

psycopg dumps a list element by element through its type; a column knows the type of all its
elements, which makes it several times as quick. Vectors are float16 there (`halfvec`): they are
neither printed nor parsed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from struct import Struct, calcsize
from typing import Any, TypeVar

import numpy as np
from psycopg import Connection
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types import TypeInfo

_T = TypeVar("_T")

_PART = 250  # rows: their statement costs little next to them, and goes into a socket's buffer
_NULL = b"\xff\xff\xff\xff"
# dimensions, whether there are NULLs, type of the elements, how many, from which
_HEAD = Struct("!iiIii").pack
_LENGTH = Struct("!i").pack
# types of elements, by their number in PostgreSQL
_TEXT = 25
_BYTEA = 17
_FIXED = {"q": 20, "i": 23, "d": 701, "?": 16}  # by the format that `struct` knows them by


class ArrayColumn:
    """Values of one kind: t text, q bigint, i integer, d double precision, ? boolean, y bytea, h
    halfvec."""

    __slots__ = ("kind", "values")

    def __init__(self, kind: str, values: Iterable[Any]) -> None:
        self.kind = kind
        self.values = values if isinstance(values, Sequence) else list(values)


def columns(kinds: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> dict[str, ArrayColumn]:
    """The columns of rows by name. There must be a row.

    Args:
        kinds: the kind of each column, in the order in which the rows have them.
    """
    values = zip(*rows, strict=True)
    named = zip(kinds.items(), values, strict=True)
    return {name: ArrayColumn(kind, values) for (name, kind), values in named}


def parts(rows: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """The rows, as many at a time as are sent in one statement where several may be under way."""
    for start in range(0, len(rows), _PART):
        yield rows[start : start + _PART]


def register_columns(connection: Connection[Any]) -> None:
    connection.adapters.register_dumper(ArrayColumn, _ColumnDumper)


class _ColumnDumper(Dumper):
    format = Format.BINARY  # and no oid: each stands under a cast that says which array it is

    def dump(self, obj: ArrayColumn) -> bytes:
        values = obj.values
        nulls = None in values
        if obj.kind in _FIXED:
            oid = _FIXED[obj.kind]
            data = _fixed(obj.kind, values, nulls)
        elif obj.kind == "t":
            oid = _TEXT
            data = _sized([None if value is None else value.encode() for value in values], nulls)
        elif obj.kind == "y":
            oid = _BYTEA
            data = _sized(values, nulls)
        else:
            # An extension's type has another number in every database.
            oid = self._halfvec()
            data = _sized([value.binary() for value in values], nulls)
        return _HEAD(1, nulls, oid, len(values), 1) + data

    def _halfvec(self) -> int:
        types = self.connection.adapters.types if self.connection is not None else None
        info = types.get("halfvec") if types is not None else None
        if info is None:
            raise TypeError("the type halfvec is not registered with this connection")
        return info.oid


def _fixed(code: str, values: Sequence[Any], nulls: bool) -> bytes:
    size = calcsize("!" + code)
    if nulls:
        pack = Struct("!i" + code).pack
        return b"".join([_NULL if value is None else pack(size, value) for value in values])
    items = np.empty(len(values), [("size", ">i4"), ("value", ">" + code)])
    items["size"], items["value"] = size, values
    return items.tobytes()


def _sized(values: Sequence[Any], nulls: bool) -> bytes:
    """Values of any size, each with its own before it."""
    if nulls:
        return b"".join(
            [_NULL if value is None else _LENGTH(len(value)) + value for value in values]
        )
    # Sizes and values by turns, without a Python loop.
    both: list[Any] = [None] * (2 * len(values))
    both[0::2] = map(_LENGTH, map(len, values))
    both[1::2] = values
    return b"".join(both)


class Half:
    """A vector of float32 bytes that is to be stored as a `halfvec`."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def binary(self) -> bytes:
        """As PostgreSQL receives it."""
        values = np.frombuffer(self.data, np.float32).astype(">f2")
        return struct.pack(">HH", len(values), 0) + values.tobytes()


def floats(data: bytes) -> bytes:
    """The float32 bytes of what `halfvec_send` gives."""
    return np.frombuffer(data, ">f2", offset=4).astype(np.float32).tobytes()


def register_half(connection: Connection[Any], info: TypeInfo | None) -> None:
    """Teach a connection the type; does nothing where the extension is missing."""
    if info is None:
        return
    info.register(connection)
    dumper = type("HalfDumper", (_HalfDumper,), {"oid": info.oid})
    connection.adapters.register_dumper(Half, dumper)


class _HalfDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Half) -> bytes:
        return obj.binary()
