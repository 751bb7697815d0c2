"""Calls of functions of time whose arguments are read in a way of their own."""

from __future__ import annotations

from ..errors import SqlGuardError
from . import times
from .call_arguments import as_time, check_count, literal_text
from .coercion import cast
from .values import Call, Expression, Now, Shift, Value

_MAX_CLOCK = 10  # arguments of date(), datetime() and time()
_START_OF = "start of "


def _read_now(name: str, arguments: list[Expression]) -> Expression:
    # one: the digits of its seconds, as CURRENT_TIMESTAMP(3) has them
    check_count(name, arguments, 0, 1)
    return Now()


def _read_today(name: str, arguments: list[Expression]) -> Expression:
    check_count(name, arguments, 0)
    return cast(Now(), "date")


def _read_part(name: str, arguments: list[Expression]) -> Expression:
    """extract, date_part, and `year(…)` and the like."""
    if len(arguments) == 1 and name not in ("extract", "date_part"):
        arguments = [Value(times.normalize_unit(name), "text"), arguments[0]]
    unit, at = _split_unit(name, arguments, times.PARTS)
    kind = "real" if unit.value in ("second", "epoch") else "integer"
    return Call("extract", (unit, at), kind)  # type: ignore[arg-type]


def _read_truncation(name: str, arguments: list[Expression]) -> Expression:
    unit, at = _split_unit(name, arguments, times.TRUNCATED)
    return Call("date_trunc", (unit, at), "time")


def _split_unit(
    name: str, arguments: list[Expression], units: tuple[str, ...]
) -> tuple[Value, Expression]:
    """The unit and the time, which may stand on either side."""
    check_count(name, arguments, 2)
    for unit, at in (arguments, arguments[::-1]):
        if isinstance(unit, Value) and unit.type == "text" and unit.value in units:
            return unit, as_time(at)
    raise SqlGuardError(
        f"{name} takes a unit and a time", remedy=f"the units are {', '.join(units)}"
    )


def _read_format(name: str, arguments: list[Expression]) -> Expression:
    """strftime, whose format may stand on either side."""
    check_count(name, arguments, 2)
    pattern, at = arguments
    if not (isinstance(pattern, Value) and pattern.type == "text"):
        pattern, at = at, pattern
    text = literal_text(name, pattern)
    times.split_format(text)
    return Call("strftime", (Value(text, "text"), as_time(at)), "text")


def _read_clock(name: str, arguments: list[Expression]) -> Expression:
    """date(), datetime() and time(), with SQLite's modifiers."""
    if not arguments or len(arguments) > _MAX_CLOCK:
        raise SqlGuardError(
            f"{name} takes a time, and how to shift it", remedy="datetime('now', '-7 days')"
        )
    at = as_time(arguments[0])
    for modifier in arguments[1:]:
        at = _modify(at, literal_text(name, modifier).strip().lower())
    if name == "time":
        return Call("strftime", (Value("%T", "text"), at), "text")
    if name == "date":
        return cast(at, "date")
    return Call("date_trunc", (Value("second", "text"), at), "time")


def _modify(at: Expression, modifier: str) -> Expression:
    unit = modifier.removeprefix(_START_OF)
    if unit != modifier and unit in ("day", "month", "year"):
        return Call("date_trunc", (Value(unit, "text"), at), "time")
    # every time is UTC, and known to be a time
    if modifier in ("utc", "auto"):
        return at
    months, micros = times.parse_interval(modifier)
    return Shift(at, months, micros)


READERS = {
    "current_date": _read_today,
    "date": _read_clock,
    "date_trunc": _read_truncation,
    "datetime": _read_clock,
    "extract": _read_part,
    "now": _read_now,
    "strftime": _read_format,
    "time": _read_clock,
}
