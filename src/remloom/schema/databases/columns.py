"""Columns: the kinds that declared types come to, the values that a CHECK allows, plain values.

A value that is not of its column's kind stays as it is, so that the check of the row can say so:
the year 0, "infinity" and "NaN" as texts, a NULL within a list as None.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import msgspec
from msgspec import Struct

from ...model import Kind
from .contract import Column, Unreadable

if TYPE_CHECKING:
    from sqlglot import exp


_NAME = re.compile(r"[a-z_][a-z0-9_ ]*")
_QUOTED = re.compile(r"'((?:[^']|'')*)'")
_SCALE = re.compile(r"\(\s*\d+\s*,\s*(\d+)\s*\)")
_LENGTH = re.compile(r"\(\s*(\d+)\s*\)")
_LONGEST_KEY = 64  # bytes of a binary column that may be a key, as a UUID's 16 are
_TRUE = frozenset((1, "1", "t", "true", "y", "yes"))
_FALSE = frozenset((0, "0", "f", "false", "n", "no"))

Converter: TypeAlias = Callable[[Any], Any]


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


def make_column(
    name: str,
    declared: str,
    *,
    nullable: bool,
    is_key: bool,
    comment: str | None = None,
    allowed: Mapping[str, tuple[str, ...]] | None = None,
) -> Column:
    """Make a column of what its database declares; for `allowed` see `allowed_values`."""
    type_ = read_type(declared, is_key=is_key)
    values = type_.values or (allowed or {}).get(name.casefold(), ())
    return Column(
        name=name,
        kind="enum" if values else type_.kind,
        list=type_.list,
        declared=declared,
        nullable=nullable,
        values=values,
        comment=comment or "",
    )


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
    values = [_literal(value) for value in listed]
    if name is None or not values or None in values:
        return "", ()
    return name.name, tuple(value for value in values if value is not None)


def _literal(value: exp.Expr) -> str | None:
    """A text that may stand inside casts and character sets."""
    from sqlglot import exp

    while isinstance(value, exp.Cast | exp.Paren | exp.Introducer):
        value = value.expression if isinstance(value, exp.Introducer) else value.this
    return value.this if isinstance(value, exp.Literal) and value.is_string else None


# -- plain values ----------------------------------------------------------------------------------


def converter(kind: Kind | None, *, is_list: bool = False) -> Converter:
    """Return what makes values of a column of this kind plain; what is plain stays so."""
    if kind is None:
        return lambda value: None
    of_kind = _CONVERTERS[kind]
    if not is_list:
        return of_kind

    def convert(values: Any) -> Any:
        if isinstance(values, list | tuple | set):
            return list(map(of_kind, values))
        return plain(values)

    return convert


def plain(value: Any) -> Any:
    """Make a value plain whose kind is not known, with all that is in it.

    >>> from uuid import UUID
    >>> plain({"id": UUID(int=1), "ratio": float("nan"), "for": timedelta(hours=26)})
    {'id': '00000000-0000-0000-0000-000000000001', 'ratio': 'NaN', 'for': '26:00:00'}
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float | Decimal):
        return _number(value)
    if isinstance(value, datetime):
        return _in_utc(value)
    if isinstance(value, Mapping):
        return {str(key): plain(of_key) for key, of_key in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return value if isinstance(value, date) else _text(value)


def bind(value: Any, column: Column) -> Any:
    """Turn a plain value into what a driver takes; ValueError if its column has no such value."""
    if column.kind == "integer" and not isinstance(value, int):
        number = Decimal(str(value))
        if number != number.to_integral_value():
            raise ValueError(value)
        return int(number)
    if column.kind in ("float", "decimal") and isinstance(value, str):
        return Decimal(value)
    if column.kind == "string" and isinstance(value, str) and _is_binary(column.declared):
        return bytes.fromhex(value)
    if column.kind in ("string", "enum") and not isinstance(value, str):
        return str(value)
    if column.kind in ("date", "datetime") and isinstance(value, str):
        parsed = _CONVERTERS[column.kind](value)
        if not isinstance(parsed, date):
            raise ValueError(value)
        return parsed
    return value


@cache
def _is_binary(declared: str) -> bool:
    return read_type(declared).kind is None


def _number(value: float | Decimal) -> Any:
    exact = value if isinstance(value, Decimal) else Decimal(value)
    return value if exact.is_finite() else str(exact)


def _text(value: Any) -> Any:
    if isinstance(value, str | Unreadable) or value is None:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, list | tuple | set | Mapping):
        return msgspec.json.encode(plain(value), enc_hook=str).decode()
    return str(value)


def _duration(value: timedelta) -> str:
    sign = "-" if value < timedelta(0) else ""
    seconds, micros = divmod(abs(value) // timedelta(microseconds=1), 1_000_000)
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{micros:06}" if micros else text


def _integer(value: Any) -> Any:
    if type(value) is int or value is None:
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Decimal | float) and math.isfinite(value) and value == int(value):
        return int(value)
    return plain(value)


def _float(value: Any) -> Any:
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, Decimal) and value.is_finite():
        # beyond the largest float it stays what it is
        return number if math.isfinite(number := float(value)) else value
    return plain(value)


def _decimal(value: Any) -> Any:
    if isinstance(value, float):
        # the digits that stand for it, not those of its binary fraction
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, str):
        try:
            number = Decimal(value)
        except InvalidOperation:
            return value
        return _number(number)
    return plain(value)


def _boolean(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    known = value.lower() if isinstance(value, str) else value
    if isinstance(known, str | int | bytes):
        if known in _TRUE:
            return True
        if known in _FALSE:
            return False
    return plain(value)


def _date(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, str):
        parsed = _parsed(value)
        return parsed.date() if isinstance(parsed, datetime) else parsed
    return plain(value)


def _datetime(value: Any) -> Any:
    if isinstance(value, datetime):
        return _in_utc(value)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, str):
        return _parsed(value)
    return plain(value)


def _parsed(text: str) -> datetime | str | None:
    stripped = text.strip()
    if not stripped:
        return None
    try:
        return _in_utc(datetime.fromisoformat(stripped))
    except ValueError:
        return text


def _in_utc(value: datetime) -> datetime | str:
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        # its zone leads out of the calendar
        return value.isoformat()


def _json(value: Any) -> Any:
    if isinstance(value, str | bytes):
        try:
            return plain(msgspec.json.decode(value))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return _text(value)
    return plain(value)


_CONVERTERS: Mapping[str, Converter] = {
    "string": _text,
    "enum": _text,
    "integer": _integer,
    "float": _float,
    "decimal": _decimal,
    "boolean": _boolean,
    "date": _date,
    "datetime": _datetime,
    "json": _json,
}


def converters(columns: Sequence[Column]) -> list[Converter]:
    """Return what makes each value of a row plain."""
    return [converter(column.kind, is_list=column.list) for column in columns]
