"""Fetched rows as the user sees them: the same values from whichever store, within a size limit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from sys import getsizeof
from typing import Any, NamedTuple

import msgspec

from ..errors import InvalidInputError
from . import times
from .values import Type

MAX_FETCHED = 32_000_000  # bytes of the rows of one SELECT
MAX_ROW = 8_000_000  # bytes of one of them: to put it together takes several times as many
MAX_HELD = 32_000_000  # bytes of text by which the rows of one SELECT are ordered, grouped, joined
_MAX_EXACT = 2**53  # whole numbers below it are exact as a float
_encode = msgspec.json.Encoder().encode


class ResultSet(NamedTuple):
    """What a SELECT returned."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    truncated: bool  # there were more rows than asked for


class FetchBudget:
    """The bytes that the rows of one SELECT may take while they are fetched."""

    def __init__(self) -> None:
        self._left = MAX_FETCHED

    def spend(self, row: Iterable[Any]) -> None:
        """Count the texts of a row. Raises InvalidInputError once they are too long."""
        texts = [cell for cell in row if isinstance(cell, str)]
        # a character has four bytes at most
        if sum(map(len, texts)) > MAX_ROW // 4 and sum(map(_bytes, texts)) > MAX_ROW:
            raise row_too_large()
        # as they are held: one character beyond the Latin ones makes all of a text wider
        self._left -= sum(map(getsizeof, texts))
        if self._left < 0:
            raise rows_too_large()


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def rows_too_large() -> InvalidInputError:
    """Make the error for rows beyond `MAX_FETCHED`."""
    return InvalidInputError(
        f"the rows are longer than {MAX_FETCHED // 1_000_000} million bytes",
        remedy="select fewer columns, a part of the text (left(content, 200)),"
        " or fewer rows (LIMIT)",
    )


def row_too_large() -> InvalidInputError:
    """Make the error for a row beyond `MAX_ROW`."""
    return InvalidInputError(
        f"a row is longer than {MAX_ROW // 1_000_000} million bytes",
        remedy="select fewer columns, or a part of the text: left(content, 200)",
    )


def too_much_held() -> InvalidInputError:
    """Make the error for texts beyond `MAX_HELD`."""
    return InvalidInputError(
        "rows are ordered, grouped or joined by more than"
        f" {MAX_HELD // 1_000_000} million bytes of text",
        remedy="take a part of the text, left(content, 200), or fewer rows (WHERE)",
    )


def number_out_of_range() -> InvalidInputError:
    """Make the error for a number that a store could not compute."""
    return InvalidInputError("a number is out of range", remedy="compute with smaller ones")


def display_value(value: Any, kind: Type) -> Any:
    """Convert a fetched value to what the user is shown.

    Raises:
        InvalidInputError: a number or time that is out of range.

    >>> display_value(3.0, "number"), display_value(0, "time"), display_value(["a"], "json")
    (3, '1970-01-01T00:00:00Z', '["a"]')
    """
    if value is None:
        return None
    match kind:
        case "integer":
            return _display_integer(value)
        case "number" | "real":
            return _display_number(float(value), whole_if_exact=kind == "number")
        case "boolean":
            return bool(value)
        case "time" | "date":
            return times.render_time(value, date_only=kind == "date")
        case "json" | "any":
            return _display_json(value)
    return value


def _display_integer(value: float) -> int:
    if isinstance(value, float) and not abs(value) < _MAX_EXACT:
        raise number_out_of_range()
    return int(value)


def _display_number(number: float, *, whole_if_exact: bool) -> int | float:
    if not math.isfinite(number):
        raise number_out_of_range()
    is_exact = number.is_integer() and abs(number) < _MAX_EXACT
    return int(number) if whole_if_exact and is_exact else number


def _display_json(value: Any) -> Any:
    # PostgreSQL keeps whole numbers of any length, SQLite none beyond 64 bits: both show a float.
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value)
    return _encode(value).decode() if isinstance(value, list | dict) else value


def decode_scalar(text: str) -> Any:
    """Decode a JSON text, number or boolean; a list or object stays the text that it is."""
    return text if text[:1] in ("[", "{") else msgspec.json.decode(text)
