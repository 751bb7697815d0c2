"""Types of columns: kinds, from what databases declare, and the values that a CHECK allows."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from ...model import Kind

if TYPE_CHECKING:
    from sqlglot import exp

_NAME = re.compile(r"[a-z_][a-z0-9_ ]*")
_QUOTED = re.compile(r"'((?:[^']|'')*)'")
_SCALE = re.compile(r"\(\s*\d+\s*,\s*(\d+)\s*\)")
_LENGTH = re.compile(r"\(\s*(\d+)\s*\)")
_LONGEST_KEY = 64  # bytes of a binary column that may be a key, as a UUID's 16 are


class DeclaredType(Struct, frozen=True):
    """What a declared type comes to; `kind` is None for what cannot be a field (a blob)."""

    kind: Kind | None
    list: bool = False
    values: tuple[str, ...] = ()


def read_type(declared: str, *, is_key: bool = False) -> DeclaredType:
    """Read a type in the words of a database.

    A type that is not known is text. Short binary columns of keys (`is_key`) are text too, in
    hexadecimal digits.

    >>> read_type("NUMERIC(10, 2)").kind, read_type("tinyint(1)").kind, read_type("BLOB").kind
    ('decimal', 'boolean', None)
    >>> read_type("integer[]")
    DeclaredType(kind='integer', list=True, values=())
    >>> read_type("ENUM('new','won''t')").values
    ('new', "won't")
    """
    text = declared.strip()
    if text.endswith("]"):
        of = read_type(text[: text.rindex("[")])
        # lists of lists, and of structures, are JSON
        if of.list or of.kind == "json":
            return DeclaredType("json")
        return DeclaredType(of.kind, list=of.kind is not None)
    lowered = text.lower()
    if lowered.startswith("enum"):
        values = tuple(value.replace("''", "'") for value in _QUOTED.findall(text))
        return DeclaredType("enum" if values else "string", values=values)
    if lowered.startswith(("tinyint(1)", "bit(1)")):
        return DeclaredType("boolean")
    name = _NAME.match(lowered)
    word = name[0].split()[0] if name and name[0].strip() else ""
    kind = _kinds().get(word, "string")
    if kind == "decimal" and word == "number" and (scale := _SCALE.search(text)):
        kind = "integer" if scale[1] == "0" else "decimal"
    if kind is None and is_key:
        length = _LENGTH.search(text)
        kind = "string" if not length or int(length[1]) <= _LONGEST_KEY else None
    return DeclaredType(kind)


@cache
def _kinds() -> Mapping[str, Kind | None]:
    text = files(__package__).joinpath("types.toml").read_text(encoding="utf-8")
    return {
        name: None if kind == "blob" else cast("Kind", kind)
        for kind, names in tomllib.loads(text).items()
        for name in names
    }


def allowed_values(sql: str, dialect: str) -> dict[str, tuple[str, ...]]:
    """Find the columns that a CHECK holds to a list of texts, by name in small letters.

    Args:
        sql: a CREATE TABLE, or the condition of a CHECK alone.
        dialect: "sqlite", "postgres", "mysql" or "duckdb".

    >>> allowed_values("status IN ('new', 'won')", "sqlite")
    {'status': ('new', 'won')}
    >>> allowed_values("a IN ('x') OR b > 3", "sqlite")
    {}
    """
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    is_table = sql.lstrip()[:6].upper() == "CREATE"
    try:
        tree = parse_one(sql if is_table else f"SELECT 1 WHERE {sql}", dialect=dialect)
    except (SqlglotError, RecursionError):
        # what cannot be read says nothing
        return {}
    if is_table:
        conditions = [node.this for node in tree.find_all(exp.CheckColumnConstraint, exp.Check)]
    else:
        conditions = [tree.args["where"].this]
    found: dict[str, tuple[str, ...]] = {}
    for condition in conditions:
        for part in _conjuncts(condition):
            column, values = _listed(part)
            if column and values:
                found[column.casefold()] = values
    return found


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    from sqlglot import exp

    inner = condition.unnest()
    if isinstance(inner, exp.And):
        yield from _conjuncts(inner.left)
        yield from _conjuncts(inner.right)
    else:
        yield inner


def _listed(condition: exp.Expr) -> tuple[str, tuple[str, ...]]:
    """The column and values of `a IN ('x', 'y')`, `a = ANY (ARRAY['x', 'y'])`, or of one such or
    `a IS NULL`."""
    from sqlglot import exp

    if isinstance(condition, exp.Or):
        sides = [condition.left.unnest(), condition.right.unnest()]
        lists = [side for side in sides if not isinstance(side, exp.Is)]
        return _listed(lists[0]) if len(lists) == 1 else ("", ())
    if isinstance(condition, exp.In):
        column, listed = condition.this, condition.expressions
    elif isinstance(condition, exp.EQ) and isinstance(condition.expression, exp.Any):
        array = condition.expression.find(exp.Array)
        column, listed = condition.this, array.expressions if array else []
    else:
        return "", ()
    name = column.find(exp.Column)
    values = [_text(value) for value in listed]
    if name is None or not values or None in values:
        return "", ()
    return name.name, tuple(value for value in values if value is not None)


def _text(value: exp.Expr) -> str | None:
    """A text that may stand inside casts and character sets."""
    from sqlglot import exp

    while isinstance(value, exp.Cast | exp.Paren | exp.Introducer):
        value = value.expression if isinstance(value, exp.Introducer) else value.this
    return value.this if isinstance(value, exp.Literal) and value.is_string else None
