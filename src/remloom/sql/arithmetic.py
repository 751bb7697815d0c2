"""Arithmetic of numbers and times: +, -, *, /, %, and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from . import times
from .coercion import arithmetic_type, cast
from .nodes import NodeReader, strip_brackets
from .values import Arithmetic, Expression, Shift, Value

if TYPE_CHECKING:
    from sqlglot import exp

    from .expressions import ExpressionReader


_MAX_DAYS = 4_000_000  # between the years 1 and 9999
_OPERATORS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%"}


def _read_negative(read: ExpressionReader, node: exp.Neg) -> Expression:
    part = read.value(node.this)
    if isinstance(part, Value) and part.type in ("integer", "real"):
        return Value(-part.value, part.type)
    kind = arithmetic_type(part, part)
    zero = Value(0, "integer") if kind == "integer" else Value(0.0, "real")
    return Arithmetic("-", zero, cast(part, kind), kind)


def _read_arithmetic(read: ExpressionReader, node: Any) -> Expression:
    from sqlglot import exp

    read.allow_only(node, "this", "expression", "typed", "safe")
    operator = _OPERATORS[type(node).__name__]
    is_sum = operator in "+-"
    sides = (strip_brackets(node.this), strip_brackets(node.expression))
    if is_sum and any(isinstance(side, exp.Interval) for side in sides):
        return _read_shift(read, operator, sides, node)
    left = read.value(sides[0])
    right = read.value(sides[1])
    types = {left.type, right.type}
    # PostgreSQL adds a number of days to a date, and nothing else to a time.
    if is_sum and types == {"date", "integer"}:
        return _shift_days(read, operator, left, right, node)
    if types & {"time", "date"}:
        read.refuse(
            "times are shifted by intervals",
            node,
            "starts_at + interval '7 days'; seconds between two:"
            " unixepoch(ends_at) - unixepoch(starts_at)",
        )
    kind = arithmetic_type(left, right)
    # A remainder is of whole numbers; a quotient is whole only if both are.
    if operator == "%":
        kind = "integer"
    elif operator == "/" and kind != "integer":
        kind = "real"
    left, right = cast(left, kind), cast(right, kind)
    return Arithmetic(operator, left, right, kind)  # type: ignore[arg-type]


def _read_shift(
    read: ExpressionReader,
    operator: str,
    sides: tuple[exp.Expression, exp.Expression],
    node: Any,
) -> Expression:
    """A time and an interval, in either order if they are added."""
    from sqlglot import exp

    time: Any
    interval: Any
    time, interval = sides
    if isinstance(time, exp.Interval) and operator == "+":
        time, interval = interval, time
    if not isinstance(interval, exp.Interval) or isinstance(time, exp.Interval):
        _refuse_interval(read, node)
    months, micros = _read_interval(read, interval)
    if operator == "-":
        months, micros = -months, -micros
    return Shift(cast(read.value(time), "time"), months, micros)


def _read_interval(read: ExpressionReader, node: exp.Interval) -> tuple[int, int]:
    """Months and microseconds of a literal interval."""
    from sqlglot import exp

    read.allow_only(node, "this", "unit")
    amount, unit = node.this, node.args.get("unit")
    is_negative = isinstance(amount, exp.Neg)
    if is_negative:
        amount = amount.this
    has_known_unit = unit is None or isinstance(unit, exp.Var)
    if not isinstance(amount, exp.Literal) or not has_known_unit:
        read.refuse("an interval is a literal", node, "interval '7 days'")
    unit_name = "" if unit is None else unit.name.lower()
    months, micros = times.parse_interval(amount.name, unit_name)
    return (-months, -micros) if is_negative else (months, micros)


def _shift_days(
    read: ExpressionReader,
    operator: str,
    left: Expression,
    right: Expression,
    node: Any,
) -> Expression:
    """A date and a whole number of days, as PostgreSQL adds them."""
    date, days = (left, right) if left.type == "date" else (right, left)
    subtracts_date = operator == "-" and date is right
    if not isinstance(days, Value) or subtracts_date or abs(days.value) > _MAX_DAYS:
        read.refuse("a number of days is a literal", node, "current_date - 7")
    micros = days.value * times.DAY
    if operator == "-":
        micros = -micros
    return cast(Shift(date, 0, micros), "date")


def _refuse_interval(read: ExpressionReader, node: Any) -> NoReturn:
    """Refuse an interval that stands alone: it is not a value."""
    read.refuse(
        "an interval is added to a time, or taken from one", node, "now() - interval '7 days'"
    )


READERS: dict[str, NodeReader] = {
    "Neg": _read_negative,
    "Interval": _refuse_interval,
    **dict.fromkeys(_OPERATORS, _read_arithmetic),
}
