"""What a store fetched as it is shown: the same values whichever store it was, and no more than
fits."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import msgspec

from ..errors import InvalidInputError
from . import times
from .values import Type

__all__ = ["MAX_FETCHED", "Budget", "Rows", "decoded", "out_of_range", "shown", "too_much"]

MAX_FETCHED = 64_000_000  # bytes of the rows of one SELECT
# columns, rows, whether there were more
Rows: TypeAlias = tuple[list[str], list[tuple[Any, ...]], bool]

_encode = msgspec.json.Encoder().encode


class Budget:
    """What the rows of one SELECT may take while they are fetched."""

    def __init__(self) -> None:
        self._left = MAX_FETCHED

    def spend(self, size: int) -> None:
        """Raises InvalidInputError when it was too much."""
        self._left -= size
        if self._left < 0:
            raise too_much()


def too_much() -> InvalidInputError:
    """The error for rows that do not fit."""
    return InvalidInputError(
        f"the rows are longer than {MAX_FETCHED // 1_000_000} million bytes",
        remedy="select fewer columns, a part of the text (left(content, 200)), or fewer rows (LIMIT)",
    )


def shown(value: Any, kind: Type) -> Any:
    """A value as the user is shown it.

    Raises:
        InvalidInputError: a number or time that is out of range.

    >>> shown(3.0, "number"), shown(0, "time"), shown(["a"], "json"), shown(1, "boolean")
    (3, '1970-01-01T00:00:00Z', '["a"]', True)
    """
    if value is None:
        return None
    match kind:
        case "text":
            return value
        case "integer":
            if isinstance(value, float) and not abs(value) < 2**53:
                raise out_of_range()
            return int(value)
        case "number" | "real":
            number = float(value)
            if not math.isfinite(number):
                raise out_of_range()
            return (
                int(number)
                if kind == "number" and number.is_integer() and abs(number) < 2**53
                else number
            )
        case "boolean":
            return bool(value)
        case "time" | "date":
            return times.shown(value, date=kind == "date")
        case "json" | "any":
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                return float(value)  # as every store gives it
            return _encode(value).decode() if isinstance(value, list | dict) else value
    return value


def decoded(text: str) -> Any:
    """A text, number or boolean of JSON as itself; a list or object stays the text that it is."""
    return text if text[:1] in ("[", "{") else msgspec.json.decode(text)


def out_of_range() -> InvalidInputError:
    """The error for a number that is none any more."""
    return InvalidInputError("a number is out of range", remedy="compute with smaller ones")
