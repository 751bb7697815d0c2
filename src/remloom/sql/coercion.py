"""Types that go together: a value as another type, two values compared, several as one type.

JSON values are compared with values of the type that they have; a text is never a number, nor a
number a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InvalidInputError
from . import times
from .render import render
from .values import (
    Cast,
    Compare,
    Expression,
    NotDistinct,
    Operator,
    Type,
    Value,
)

NUMBERS = ("integer", "number", "real")
TIMES = ("time", "date")
_DESCRIBED = 60  # characters of a value in an error
_MIRRORED: dict[Operator, Operator] = {
    "<": ">",
    ">": "<",
    "<=": ">=",
    ">=": "<=",
    "=": "=",
    "<>": "<>",
}
# type -> the types that a store can cast it to
_CASTS: dict[Type, tuple[Type, ...]] = {
    "text": ("integer", "real", "time", "date"),
    "integer": ("text", "real", "boolean"),
    "number": ("text", "integer", "real"),
    "real": ("text", "integer", "number"),
    "boolean": ("text", "integer"),
    "time": ("text", "date"),
    "date": ("text", "time"),
    "json": ("text", "integer", "number", "real", "boolean", "time", "date"),
}
_TYPE_NAMES: dict[Type, str] = {
    "integer": "a whole number",
    "real": "a number",
    "number": "a number",
    "json": "JSON",
    "text": "a text",
    "boolean": "a condition",
    "time": "a time",
    "date": "a date",
    "any": "of any type",
    "null": "NULL",
}


def describe(value: Expression) -> str:
    """A value in words, for an error."""
    text = render(value)
    return text if len(text) <= _DESCRIBED else f"{text[:_DESCRIBED]}…"


def literal(value: Any) -> Value:
    """A Python value as a literal."""
    if value is None:
        return Value(None, "null")
    if isinstance(value, bool):
        return Value(value, "boolean")
    if isinstance(value, int):
        return Value(value, "integer")
    return Value(value, "real") if isinstance(value, float) else Value(value, "text")


# -- one type --------------------------------------------------------------------------------------


def cast(value: Expression, kind: Type) -> Expression:
    """The value as this type.

    Raises:
        InvalidInputError: values of its type cannot be of this one.
    """
    if value.type == kind or kind == "any":
        return value
    if value.type == "null":
        return Value(None, kind)
    if isinstance(value, Value):
        return _cast_literal(value, kind)
    # a date is computed with as the time of its midnight
    if value.type == "date" and kind == "time":
        return value
    if value.type in ("json", "text") and kind == "date":
        return Cast(cast(value, "time"), "date")
    if value.type == "json" and kind == "time":
        return Cast(Cast(value, "text"), "time")
    # a number of JSON may be either, and is made whole only where that is asked for
    if value.type == "json" and kind in ("integer", "real"):
        number = Cast(value, "number")
        return Cast(number, kind) if kind == "integer" else number
    if kind not in _CASTS.get(value.type, ()):
        raise InvalidInputError(
            f"{_describe_typed(value)}, and cannot be made {_TYPE_NAMES[kind]}",
            remedy=_remedy(kind),
        )
    return Cast(value, kind)


def _cast_literal(value: Value, kind: Type) -> Expression:
    given = value.value
    match value.type, kind:
        case "text", "time" | "date":
            at = times.parse_time("what is compared with a time", given)
            return Value(at - at % times.DAY if kind == "date" else at, kind)
        case "date", "time":
            return Value(given, "time")
        case "time", "date":
            return Value(given - given % times.DAY, "date")
        case "integer", "real" | "number":
            return Value(float(given), kind)
        case "real" | "number", "real" | "number":
            return Value(given, kind)
        case "integer", "boolean" if given in (0, 1):
            return Value(bool(given), "boolean")
    if kind not in _CASTS.get(value.type, ()):
        raise InvalidInputError(f"{_describe_typed(value)}, and no {kind}", remedy=_remedy(kind))
    return Cast(value, kind)


def as_condition(value: Expression) -> Expression:
    """A value as a condition; a number holds unless it is 0.

    Raises:
        InvalidInputError: it is a text or a time.
    """
    if value.type == "boolean":
        return value
    if value.type == "null":
        return Value(None, "boolean")
    if value.type in NUMBERS:
        zero = 0 if value.type == "integer" else 0.0
        return Compare("<>", value, Value(zero, value.type))
    if value.type == "json":
        return cast(value, "boolean")
    raise InvalidInputError(
        f"{_describe_typed(value)}, not a condition",
        remedy="compare it with something: category = 'note'",
    )


# -- several of one type ---------------------------------------------------------------------------


def compare(operator: Operator, left: Expression, right: Expression) -> Expression:
    """`left operator right`; unknown when one of them is NULL.

    Raises:
        InvalidInputError: values of their types cannot be compared.
    """
    if "null" in (left.type, right.type):
        return Value(None, "boolean")
    # JSON stands on the left, as `Compare` has it
    if right.type == "json" and left.type != "json":
        return compare(_MIRRORED[operator], right, left)
    if left.type == "json" and right.type not in TIMES:
        if right.type in ("json", "any"):
            raise InvalidInputError(
                f"{describe(left)} and {describe(right)} may each be of any type",
                remedy="say which: CAST(metadata->>'page' AS REAL)"
                " = CAST(properties->>'pages' AS REAL)",
            )
        if isinstance(right, Value):
            return Compare(operator, left, right)
        left = cast(left, "number" if right.type in NUMBERS else right.type)
    one, other = _as_one_type(left, right)
    return Compare(operator, one, other)


def not_distinct(left: Expression, right: Expression) -> Expression:
    """Whether both are equal or NULL."""
    if left.type == "json" and right.type not in ("json", "null"):
        left = cast(left, "real" if right.type in NUMBERS else right.type)
    if right.type == "json" and left.type not in ("json", "null"):
        right = cast(right, "real" if left.type in NUMBERS else left.type)
    one, other = _as_one_type(left, right)
    return NotDistinct(one, other)


def _as_one_type(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    if left.type in TIMES or right.type in TIMES:
        return _as_time(left, right), _as_time(right, left)
    if "boolean" in (left.type, right.type):
        return cast(left, "boolean"), cast(right, "boolean")
    one, other = unify([left, right])
    return one, other


def _as_time(value: Expression, other: Expression) -> Expression:
    """A value as a time, since it is compared with one."""
    if value.type in ("text", "json", *TIMES):
        if isinstance(value, Value) and value.type == "text":
            return Value(times.parse_time(describe(other), value.value), "time")
        return cast(value, "time")
    if value.type == "null":
        return Value(None, "time")
    raise InvalidInputError(
        f"{describe(other)} is a time, and {describe(value)} is not one",
        remedy="write '2025-01-31', or compare unixepoch(starts_at)",
    )


def unify(values: Sequence[Expression]) -> list[Expression]:
    """The values as one type.

    Raises:
        InvalidInputError: no type fits all of them.
    """
    kinds: set[Type] = {value.type for value in values if value.type != "null"}
    texts = [value for value in values if value.type == "text"]
    # a text may mean a time only where it is known now what it says
    literal_texts = all(isinstance(text, Value) for text in texts)
    kind = _common_type(kinds, literal_texts=literal_texts)
    if kind is None:
        one_kind, other_kind = sorted(kinds)[:2]
        one = next(value for value in values if value.type == one_kind)
        other = next(value for value in values if value.type == other_kind)
        raise InvalidInputError(
            f"{_describe_typed(one)}, {_describe_typed(other)}",
            remedy="texts stand in single quotes, numbers in none;"
            " CAST(… AS TEXT) makes a text of anything",
        )
    return [cast(value, kind) for value in values]


def _common_type(kinds: set[Type], *, literal_texts: bool) -> Type | None:
    """The type that values of these types can be made, or None.

    Args:
        literal_texts: every text is a literal, which may be a time as it is written.
    """
    if not kinds:
        return "text"
    if len(kinds) == 1:
        return next(iter(kinds))
    if kinds <= {*NUMBERS, "json"}:
        return "number" if kinds & {"number", "json"} and "real" not in kinds else "real"
    if kinds <= {"json", "boolean"}:
        return "boolean"
    if kinds <= {*TIMES, "text"} and kinds & set(TIMES) and literal_texts:
        return "time"
    if kinds <= {"json", "text"}:
        return "text"
    return "time" if kinds <= {"json", *TIMES} else None


def arithmetic_type(left: Expression, right: Expression) -> Type:
    """The type of a sum, difference or product.

    Raises:
        InvalidInputError: one of them is not a number.
    """
    for value in (left, right):
        if value.type not in (*NUMBERS, "json", "null"):
            raise InvalidInputError(
                f"{_describe_typed(value)}, not a number", remedy=_remedy("real")
            )
    kinds = {left.type, right.type} - {"null"}
    if kinds <= {"integer"}:
        return "integer"
    return "real" if "real" in kinds else "number"


# -- for errors ------------------------------------------------------------------------------------


def _describe_typed(value: Expression) -> str:
    return f"{describe(value)} is {_TYPE_NAMES[value.type]}"


def _remedy(kind: Type) -> str:
    if kind in NUMBERS:
        return "write a number without quotes, or CAST(… AS REAL)"
    if kind in TIMES:
        return "write '2025-01-31'"
    return "write a text in single quotes" if kind == "text" else ""
