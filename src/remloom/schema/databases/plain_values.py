"""Plain values, out of what the drivers of databases give.

Whatever is not of its column's kind stays as it is, so that the check of the row can say so: a
date that no calendar has (the year 0, "infinity") and what is a number and yet none ("NaN",
"Infinity") as their texts, a NULL within a list as None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, TypeAlias

import msgspec

from ...model import Kind
from .column_types import read_type
from .contract import Column, Unreadable

Converter: TypeAlias = Callable[[Any], Any]

_TRUE = frozenset((1, "1", "t", "true", "y", "yes"))
_FALSE = frozenset((0, "0", "f", "false", "n", "no"))


def converter(kind: Kind | None, *, is_list: bool = False) -> Converter:
    """Return what makes values of a column of this kind plain; what is plain stays so."""
    if kind is None:
        return _dropped
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
    """Turn a plain value of a column back into what a driver takes.

    Raises:
        ValueError: no value of this column is like it.
    """
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


def _dropped(value: Any) -> None:
    return None


def _number(value: float | Decimal) -> Any:
    """The number; the text of what is none."""
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
