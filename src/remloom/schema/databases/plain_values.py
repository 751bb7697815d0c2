"""Plain values, out of what the drivers of databases give.

What is a number and yet none (NaN, infinity) is None. Whatever is not of its column's kind stays as
it is, a date that no calendar has (the year 0, "infinity") too, so that whoever checks the row can
say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, TypeAlias

import msgspec

from .contract import Column
from .kinds import read_type

__all__ = ["Converter", "bind", "converters", "plain"]

Converter: TypeAlias = Callable[[Any], Any]

_TRUE = frozenset((1, "1", "t", "true", "y", "yes", b"\x01"))
_FALSE = frozenset((0, "0", "f", "false", "n", "no", b"\x00"))


def _converter(column: Column) -> Converter:
    """Return what makes values of a column plain."""
    if column.kind is None:
        return _dropped
    of_kind = _CONVERTERS[column.kind]
    if not column.list:
        return of_kind

    def convert(values: Any) -> Any:
        if isinstance(values, list | tuple | set):
            # a field has no place for "none" among its values
            return [made for made in map(of_kind, values) if made is not None]
        return plain(values)

    return convert


def plain(value: Any) -> Any:
    """Make a value plain whose kind is not known, with all that is in it.

    >>> from uuid import UUID
    >>> plain({"id": UUID(int=1), "ratio": float("nan"), "for": timedelta(hours=26)})
    {'id': '00000000-0000-0000-0000-000000000001', 'ratio': None, 'for': '26:00:00'}
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return value if value.is_finite() else None
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


def _text(value: Any) -> Any:
    if isinstance(value, str) or value is None:
        return value
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
    # MySQL's BIT
    return int.from_bytes(value, "big") if isinstance(value, bytes) else plain(value)


def _float(value: Any) -> Any:
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() else None
    return plain(value)


def _decimal(value: Any) -> Any:
    if isinstance(value, float):
        # the digits that stand for it, not those of its binary fraction
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        return value if value.is_finite() else None
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, str):
        try:
            number = Decimal(value)
        except InvalidOperation:
            return value
        return number if number.is_finite() else None
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


def _in_utc(value: datetime) -> datetime | None:
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        return None


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
    return [_converter(column) for column in columns]
