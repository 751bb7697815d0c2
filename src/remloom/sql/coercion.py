"""What types go together: a value as another type, two values compared, several of one type.

JSON values are compared with values of the type that they have; a text is never a number, nor a
number a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InvalidInputError
from . import times
from .values import Cast, Compare, Expression, Operator, Same, Type, Value

__all__ = [
    "arithmetic_type",
    "as_condition",
    "cast",
    "compared",
    "literal",
    "same",
    "told",
    "unified",
]

NUMBERS = ("integer", "number", "real")
_CLOCK = ("time", "date")
_MIRRORED: dict[Operator, Operator] = {
    "<": ">",
    ">": "<",
    "<=": ">=",
    ">=": "<=",
    "=": "=",
    "<>": "<>",
}
_CASTS: dict[Type, tuple[Type, ...]] = {  # what each type can be made
    "text": ("integer", "real", "time", "date"),
    "integer": ("text", "real", "boolean"),
    "number": ("text", "integer", "real"),
    "real": ("text", "integer", "number"),
    "boolean": ("text", "integer"),
    "time": ("text", "date"),
    "date": ("text", "time"),
    "json": ("text", "integer", "number", "real", "boolean", "time", "date"),
}


def told(value: Expression) -> str:
    """A value in words, for an error."""
    from .show import shown

    text = shown(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def cast(value: Expression, kind: Type) -> Expression:
    """The value as this type.

    Raises:
        InvalidInputError: no value of its type is of that.
    """
    if value.type == kind or kind == "any":
        return value
    if value.type == "null":
        return Value(None, kind)
    if isinstance(value, Value):
        return _cast_literal(value, kind)
    if value.type == "date" and kind == "time":
        return value
    if value.type in ("json", "text") and kind == "date":
        return Cast(cast(value, "time"), "date")
    if value.type == "json" and kind == "time":
        return Cast(Cast(value, "text"), "time")
    if value.type == "json" and kind in ("integer", "real"):
        return Cast(Cast(value, "number"), kind) if kind == "integer" else Cast(value, "number")
    if kind not in _CASTS.get(value.type, ()):
        raise InvalidInputError(
            f"{told(value)} is {_a(value.type)}, and cannot be made {_a(kind)}",
            remedy=_remedy(kind),
        )
    return Cast(value, kind)


def _cast_literal(value: Value, kind: Type) -> Expression:
    given = value.value
    match value.type, kind:
        case "text", "time" | "date":
            at = times.instant("what is compared with a time", given)
            return Value(at - at % 86_400_000_000 if kind == "date" else at, kind)
        case "date", "time":
            return Value(given, "time")
        case "time", "date":
            return Value(given - given % 86_400_000_000, "date")
        case "integer", "real" | "number":
            return Value(float(given), kind)
        case "real" | "number", "real" | "number":
            return Value(given, kind)
        case "integer", "boolean" if given in (0, 1):
            return Value(bool(given), "boolean")
    if kind not in _CASTS.get(value.type, ()):
        raise InvalidInputError(
            f"{told(value)} is {_a(value.type)}, and no {kind}", remedy=_remedy(kind)
        )
    return Cast(value, kind)


def compared(operator: Operator, left: Expression, right: Expression) -> Expression:
    """`left operator right`; unknown when one of them is NULL.

    Raises:
        InvalidInputError: their types do not compare.
    """
    if "null" in (left.type, right.type):
        return Value(None, "boolean")
    if right.type == "json" and left.type != "json":
        return compared(_MIRRORED[operator], right, left)
    if left.type == "json" and right.type not in _CLOCK:
        if right.type in ("json", "any"):
            raise InvalidInputError(
                f"{told(left)} and {told(right)} may each be of any type",
                remedy="say which: CAST(metadata->>'page' AS REAL) = CAST(properties->>'pages' AS REAL)",
            )
        if isinstance(right, Value):
            return Compare(operator, left, right)
        left = cast(left, "number" if right.type in NUMBERS else right.type)
    one, other = _two(left, right)
    return Compare(operator, one, other)


def same(left: Expression, right: Expression) -> Expression:
    """Whether both are equal or NULL."""
    if left.type == "json" and right.type not in ("json", "null"):
        left = cast(left, "real" if right.type in NUMBERS else right.type)
    if right.type == "json" and left.type not in ("json", "null"):
        right = cast(right, "real" if left.type in NUMBERS else left.type)
    one, other = _two(left, right)
    return Same(one, other)


def _two(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    if left.type in _CLOCK or right.type in _CLOCK:
        return _clock(left, right), _clock(right, left)
    if "boolean" in (left.type, right.type):
        return cast(left, "boolean"), cast(right, "boolean")
    one, other = unified([left, right])
    return one, other


def _clock(value: Expression, beside: Expression) -> Expression:
    """A value as a time, since it is compared with one."""
    if value.type in ("text", "json", *_CLOCK):
        if isinstance(value, Value) and value.type == "text":
            return Value(times.instant(told(beside), value.value), "time")
        return cast(value, "time")
    if value.type == "null":
        return Value(None, "time")
    raise InvalidInputError(
        f"{told(beside)} is a time, {told(value)} is none",
        remedy="write '2025-01-31', or compare unixepoch(starts_at)",
    )


def unified(values: Sequence[Expression]) -> list[Expression]:
    """The values as one type.

    Raises:
        InvalidInputError: there is none for all of them.
    """
    kinds = {value.type for value in values if value.type != "null"}
    if not kinds:
        kinds = {"text"}
    if len(kinds) == 1:
        (kind,) = kinds
    elif kinds <= {*NUMBERS, "json"}:
        kind = "number" if kinds & {"number", "json"} and "real" not in kinds else "real"
    elif kinds <= {"json", "boolean"}:
        kind = "boolean"
    elif (
        kinds <= {*_CLOCK, "text"}
        and kinds & set(_CLOCK)
        and all(isinstance(value, Value) for value in values if value.type == "text")
    ):
        kind = "time"
    elif kinds <= {"json", "text"}:
        kind = "text"
    elif kinds <= {"json", *_CLOCK}:
        kind = "time"
    else:
        first, other = (
            next(value for value in values if value.type == kind) for kind in sorted(kinds)[:2]
        )
        raise InvalidInputError(
            f"{told(first)} is {_a(first.type)}, {told(other)} is {_a(other.type)}",
            remedy="texts stand in single quotes, numbers in none; CAST(… AS TEXT) makes a text of anything",
        )
    return [cast(value, kind) for value in values]


def arithmetic_type(left: Expression, right: Expression) -> Type:
    """The type of a sum, difference or product.

    Raises:
        InvalidInputError: one of them is no number.
    """
    for value in (left, right):
        if value.type not in (*NUMBERS, "json", "null"):
            raise InvalidInputError(
                f"{told(value)} is {_a(value.type)}, not a number", remedy=_remedy("real")
            )
    kinds = {left.type, right.type} - {"null"}
    if kinds <= {"integer"}:
        return "integer"
    return "real" if "real" in kinds else "number"


def as_condition(value: Expression) -> Expression:
    """A value as something that holds or does not.

    Raises:
        InvalidInputError: it is a text or a time.
    """
    if value.type == "boolean":
        return value
    if value.type == "null":
        return Value(None, "boolean")
    if value.type in NUMBERS:
        return Compare("<>", value, Value(0 if value.type == "integer" else 0.0, value.type))
    if value.type == "json":
        return cast(value, "boolean")
    raise InvalidInputError(
        f"{told(value)} is {_a(value.type)}, not a condition",
        remedy="compare it with something: category = 'note'",
    )


def literal(value: Any) -> Value:
    """A literal of Python's."""
    if value is None:
        return Value(None, "null")
    if isinstance(value, bool):
        return Value(value, "boolean")
    if isinstance(value, int):
        return Value(value, "integer")
    return Value(value, "real") if isinstance(value, float) else Value(value, "text")


def _a(kind: Type) -> str:
    return {
        "integer": "a whole number", "real": "a number", "number": "a number", "json": "JSON", "text": "a text",
        "boolean": "a condition", "time": "a time", "date": "a date", "any": "of any type", "null": "NULL",
    }[kind]  # fmt: skip


def _remedy(kind: Type) -> str:
    if kind in NUMBERS:
        return "write a number without quotes, or CAST(… AS REAL)"
    return (
        "write '2025-01-31'"
        if kind in _CLOCK
        else "write a text in single quotes"
        if kind == "text"
        else ""
    )
