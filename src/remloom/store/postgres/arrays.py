"""Columns of rows on their way into a statement, as PostgreSQL's binary arrays: a batch is a dozen of them.

psycopg dumps a list element by element through its type; a column knows the type of all its elements, which makes it
several times as quick.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Any

from psycopg.adapt import Dumper
from psycopg.pq import Format

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["Column", "columns", "register_columns"]

_NULL = b"\xff\xff\xff\xff"
_HEAD = Struct("!iiIii").pack  # dimensions, whether there are NULLs, type of the elements, how many, from which
_LENGTH = Struct("!i").pack
_FIXED = {"q": (20, Struct("!iq").pack, 8), "i": (23, Struct("!ii").pack, 4), "d": (701, Struct("!id").pack, 8),
          "b": (16, Struct("!i?").pack, 1)}  # fmt: skip


class Column:
    """Values of one kind: t text, q bigint, i integer, d double precision, b boolean, y bytea, h halfvec."""

    __slots__ = ("kind", "values")

    def __init__(self, kind: str, values: Iterable[Any]) -> None:
        self.kind = kind
        self.values = values if isinstance(values, Sequence) else list(values)


def columns(kinds: str, rows: Iterable[Sequence[Any]]) -> list[Column]:
    """The columns of rows, whose kinds are given letter by letter. There must be a row."""
    return [Column(kind, values) for kind, values in zip(kinds, zip(*rows, strict=True), strict=True)]


def register_columns(connection: Connection[Any]) -> None:
    """Teach a connection to send columns."""
    connection.adapters.register_dumper(Column, _ColumnDumper)


class _ColumnDumper(Dumper):
    format = Format.BINARY  # and no oid: each stands under a cast that says which array it is

    def dump(self, obj: Column) -> bytes:
        values, texts = obj.values, list[bytes | None]()
        if obj.kind in _FIXED:
            oid, pack, size = _FIXED[obj.kind]
            parts = [_NULL if value is None else pack(size, value) for value in values]
        else:
            if obj.kind == "t":
                oid, texts = 25, [None if value is None else value.encode() for value in values]
            elif obj.kind == "y":
                oid, texts = 17, list(values)
            else:
                oid, texts = self._halfvec(), [value.binary() for value in values]
            parts = [_NULL if text is None else _LENGTH(len(text)) + text for text in texts]
        return _HEAD(1, int(_NULL in parts), oid, len(parts), 1) + b"".join(parts)

    def _halfvec(self) -> int:
        found = self.connection.adapters.types.get("halfvec") if self.connection is not None else None
        if found is None:
            raise TypeError("this connection has not been told of halfvec")
        return found.oid
