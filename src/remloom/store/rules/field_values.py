"""Values of the fields of rows: what each kind takes, how it is stored, and how it is read.

Stored values sort as what they stand for: times are UTC with six digits of a second, dates ISO.
Decimals are texts, so that no digit is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta
from msgspec.structs import replace

from ...errors import InvalidInputError
from ...model import Field, Row, SchemaDefinition
from .json_values import check_json

_LARGEST = 1.7976931348623157e308  # float
_DIGITS = 400  # before and after the point of a decimal

_TYPES: dict[str, Any] = {
    "string": str,
    # whole numbers that every store can compare
    "integer": Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)],
    # the bounds refuse what is not a number, and infinity
    "float": Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)],
    "decimal": Decimal,
    "boolean": bool,
    "date": date,
    "datetime": Annotated[datetime, Meta(tz=True)],
    "json": Any,
}
_EXPECTED = {
    "string": "text",
    "integer": "a whole number of 64 bits",
    "float": "a finite number",
    "decimal": "a decimal number",
    "boolean": "true or false",
    "date": "a date (2026-03-01)",
    "datetime": "a time with a time zone (2026-03-01T09:00:00Z)",
    "json": "JSON",
}
_SHOWN = 60  # characters of a value in an error


def value_type(field: Field) -> Any:
    """Return the type that a value of the field has, as msgspec converts to it."""
    kind: Any = Literal[field.values] if field.kind == "enum" else _TYPES[field.kind]
    return list[kind] if field.list else kind


def is_stored_unchanged(field: Field) -> bool:
    return field.kind not in _STORE


def to_stored(value: Any, field: Field) -> Any:
    """Return a value of the field as it is stored. Raises InvalidInputError, which says what it
    takes."""
    try:
        return storing(field)(msgspec.convert(value, value_type(field)))
    except InvalidInputError:
        raise
    except (ValueError, OverflowError):
        raise _refused(value, field) from None


def storing(field: Field) -> Callable[[Any], Any]:
    """Return what makes the stored value of one that has the type of the field; it raises
    ValueError or OverflowError of what no store can keep."""
    store = _check_json if field.kind == "json" else _STORE.get(field.kind, _keep)
    return partial(_each, store) if field.list else store


def from_stored(value: Any, field: Field) -> Any:
    """Return a stored value of the field as it was written; what cannot be one as it is."""
    if field.list and isinstance(value, list):
        return [_as_written(item, field) for item in value]
    return _as_written(value, field)


def convert_value(value: Any, field: Field) -> Any:
    """Return the stored value that a value of another kind becomes in this field.

    >>> convert_value("12", Field(kind="integer")), convert_value(12, Field.parse("list[string]"))
    (12, ['12'])

    Raises:
        InvalidInputError: it cannot become one.
    """
    if field.list:
        items = value if isinstance(value, list) else [value]
        return [_converted(item, field) for item in items]
    if isinstance(value, list) and field.kind not in ("json", "string"):
        if len(value) != 1:
            raise _refused(value, field)
        (value,) = value
    return _converted(value, field)


def _converted(value: Any, field: Field) -> Any:
    single = msgspec.structs.replace(field, list=False)
    if field.kind == "json":
        return value
    if field.kind in ("string", "enum"):
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        return to_stored(text, single)
    if field.kind == "date" and isinstance(value, str):
        return to_stored(value[:10], single)
    if field.kind == "datetime" and isinstance(value, str) and len(value) == 10:
        value = f"{value}T00:00:00Z"
    if field.kind in ("integer", "float") and isinstance(value, str):
        value = _number(value, field)
    if field.kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)
    if field.kind == "boolean" and not isinstance(value, bool):
        value = {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower(), value)
    return to_stored(value, single)


def _number(text: str, field: Field) -> Any:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise _refused(text, field) from None
    if number.is_finite() and abs(number.adjusted()) > _DIGITS:
        raise _refused(text, field)
    # what is not whole is refused as such
    return int(number) if number.is_finite() and number == number.to_integral() else float(number)


# -- one value -------------------------------------------------------------------------------------


def _stored_decimal(value: Decimal) -> str:
    if not value.is_finite() or abs(value.adjusted()) > _DIGITS:
        raise ValueError
    # statements compare it as a float: one that is out of its range would fail all of them
    if value and (math.isinf(number := float(value)) or number == 0):
        raise ValueError
    text = str(value)
    return format(value, "f") if "E" in text else text


def _stored_time(value: datetime) -> str:
    at = value if value.tzinfo is UTC else value.astimezone(UTC)
    # a quarter of the time of `isoformat`; it leaves out a fraction that is 0
    text: str = msgspec.to_builtins(at)
    return text if at.microsecond else f"{text[:-1]}.000000Z"


def _check_json(value: Any) -> Any:
    check_json(value, "it")
    return value


def _keep(value: Any) -> Any:
    return value


def _each(store: Callable[[Any], Any], values: list[Any]) -> list[Any]:
    return [store(value) for value in values]


_STORE: dict[str, Callable[[Any], Any]] = {
    "decimal": _stored_decimal,
    "date": date.isoformat,
    "datetime": _stored_time,
}
_GIVE: dict[str, Callable[[str], Any]] = {
    "decimal": Decimal,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}


def _as_written(value: Any, field: Field) -> Any:
    give = _GIVE.get(field.kind)
    if give is None or not isinstance(value, str):
        return value
    try:
        return give(value)
    except (ValueError, InvalidOperation):
        return value


def _refused(value: Any, field: Field) -> InvalidInputError:
    is_enum = field.kind == "enum"
    expected = f"one of {', '.join(field.values)}" if is_enum else _EXPECTED[field.kind]
    if field.list:
        expected = f"a list, each {expected}"
    # personal data stays out of errors, which are logged
    is_shown = not field.personal and (value is None or isinstance(value, str | int | float))
    shown = repr(value)[:_SHOWN] if is_shown else f"of type {type(value).__name__}"
    if isinstance(value, float) and not math.isfinite(value):
        shown = str(value)
    return InvalidInputError(f"must be {expected}, not {shown}")


def read_row(row: Row, definition: SchemaDefinition) -> Row:
    """Return a stored row with its fields as they were written.

    One of an earlier version has the fields of today: those that have other names now under these,
    without those that are gone, and with the defaults of those that came.
    """
    fields, searched = row.fields, row.searched
    if row.version < definition.version and definition.rows_since < definition.version:
        fields = current_fields(fields, definition)
        names = (definition.renamed.get(name, name) for name in searched)
        searched = tuple(name for name in names if name in fields)
    converted = {
        name: from_stored(fields[name], field)
        for name, field in definition.base_fields.items()
        if name in fields and not is_stored_unchanged(field)
    }
    if converted:
        fields = {**fields, **converted}
    return row if fields is row.fields else replace(row, fields=fields, searched=searched)


def current_fields(stored: dict[str, Any], definition: SchemaDefinition) -> dict[str, Any]:
    """Return the stored fields of an earlier version as the definition would have stored them.

    A value that cannot be of the kind of its field today comes as it is.
    """
    fields = {}
    for name, value in stored.items():
        name_now = definition.renamed.get(name, name)
        field = definition.base_fields.get(name_now)
        if field is not None:
            try:
                fields[name_now] = convert_value(value, field)
            except InvalidInputError:
                fields[name_now] = value
    for name, field in definition.base_fields.items():
        if name not in fields and field.default is not UNSET and field.default is not None:
            fields[name] = to_stored(field.default, field)
    return fields


def stored_row(row: Row, definition: SchemaDefinition) -> Row:
    """Return a row that was read as it is stored: what `read_row` gave back, taken back.

    A value that cannot be of the kind of its field is stored as it is, as it was before.
    """
    fields = {**row.fields}
    for name, field in definition.base_fields.items():
        if name in fields and not is_stored_unchanged(field):
            with suppress(InvalidInputError):
                fields[name] = to_stored(fields[name], field)
    return replace(row, fields=fields)
