"""CAST and `::`, to the types that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import bounds
from .coercion import cast
from .nodes import NodeReader
from .values import Expression, Type

if TYPE_CHECKING:
    from sqlglot import exp

    from .expressions import ExpressionReader


_SPELLINGS: dict[Type, tuple[str, ...]] = {
    "text": ("TEXT", "VARCHAR", "CHAR", "NCHAR", "NVARCHAR", "BPCHAR", "NAME"),
    "integer": ("INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT"),
    "real": ("FLOAT", "DOUBLE", "DECIMAL", "BIGDECIMAL"),
    "boolean": ("BOOLEAN",),
    "date": ("DATE",),
    "time": ("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ", "TIMESTAMPNTZ", "DATETIME"),
    "json": ("JSON", "JSONB"),
}
_TYPES = {spelling: kind for kind, spellings in _SPELLINGS.items() for spelling in spellings}
_REMEDY = "the types are text, integer, real, boolean, date and timestamp"


def _read_cast(read: ExpressionReader, node: exp.Cast) -> Expression:
    read.allow_only(node, "this", "to", "safe", "_type")
    target: Any = node.args.get("to")
    kind = _read_type(read, target, node)
    # TIMESTAMP(3) WITH TIME ZONE, and whatever else a type may say
    for key, given in target.args.items():
        if given and key not in ("this", "nested", "expressions"):
            read.refuse(f"a type … {key.upper()} is not allowed", node, _REMEDY)
    value = read.value(node.this)
    if kind == "json":
        if value.type != "json":
            read.refuse("only JSON can be cast to JSON", node, "metadata ->> 'page'")
        return value
    return cast(value, kind)


def _read_type(read: ExpressionReader, target: Any, node: Any) -> Type:
    """The type that is named; sizes such as VARCHAR(20) change nothing."""
    from sqlglot import exp

    is_type = isinstance(target, exp.DataType)
    name = target.this.name if is_type and hasattr(target.this, "name") else ""
    kind = _TYPES.get(name)
    if kind is not None and all(map(_is_size, target.expressions)):
        return kind
    # A type that the parser does not know is in `kind`, as it was written.
    written = (target.args.get("kind") if is_type else None) or target
    if not isinstance(written, str):
        written = getattr(written, "name", "") or name
    written = str(written)[:40]
    positions = (token.start for token in read.tokens if written and token.text == written)
    position = next(positions, None)
    if position is None:
        position = read.position(node)
    return bounds.refuse(f"the type {written!r} is not allowed", read.sql, position, _REMEDY)


def _is_size(part: Any) -> bool:
    from sqlglot import exp

    return (
        isinstance(part, exp.DataTypeParam)
        and isinstance(part.this, exp.Literal)
        and not part.this.is_string
    )


READERS: dict[str, NodeReader] = {"Cast": _read_cast, "TryCast": _read_cast}
