"""Functions that take their arguments in several ways, which the table cannot say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from ..errors import InvalidInputError, SqlGuardError
from . import times
from .coercion import as_condition, cast, describe, unify
from .matching import (
    MAX_LIKE,
    Steps,
    contains,
    extend_path,
    match_regex,
    overlaps,
    parse_path,
)
from .values import Call, Case, EndsWith, Expression, Now, Shift, StartsWith, Type, Value

_MAX_CLOCK = 10  # arguments of date(), datetime() and time()
_MAX_DIGITS = 15  # behind the point
_MAX_LENGTH = 2**31  # characters, and one more
_START_OF = "start of "

# of the name as it is written, and the arguments
CallReader: TypeAlias = Callable[[str, list[Expression]], Expression]


class Overload(NamedTuple):
    """A function whose arguments are read in a way of their own."""

    read: CallReader
    counts: tuple[int, ...] = ()  # how many arguments it may have; empty: `read` counts them

    def __call__(self, name: str, arguments: list[Expression]) -> Expression:
        """The value of a call.

        Raises:
            SqlGuardError, InvalidInputError: the arguments are not what the function takes.
        """
        if self.counts and len(arguments) not in self.counts:
            expected = " or ".join(map(str, self.counts))
            raise SqlGuardError(f"{name} takes {expected} arguments, not {len(arguments)}")
        return self.read(name, arguments)


# -- arguments -------------------------------------------------------------------------------------


def literal_text(name: str, value: Expression) -> str:
    """The text of an argument that must be a literal."""
    if not isinstance(value, Value) or value.type != "text":
        raise SqlGuardError(f"{name} takes a literal text here, not {describe(value)}")
    if len(value.value) > MAX_LIKE:
        raise SqlGuardError(f"a text that {name} looks for may have {MAX_LIKE} characters")
    return str(value.value)


def as_time(value: Expression) -> Expression:
    """An argument as a time; 'now' is the present."""
    is_text = isinstance(value, Value) and value.type == "text"
    if is_text and value.value.lower() == "now":  # type: ignore[union-attr]
        return Now()
    return cast(value, "time")


def _whole_number(value: Expression) -> int | None:
    if isinstance(value, Value) and value.type == "integer":
        return int(value.value)
    return None


# -- texts and numbers -----------------------------------------------------------------------------


def make_case(conditions: Sequence[Expression], results: Sequence[Expression]) -> Case:
    """The first result whose condition holds; one more result is that of ELSE."""
    otherwise = results[-1] if len(results) > len(conditions) else None
    return Case(tuple(zip(conditions, results, strict=False)), otherwise, results[0].type)


def _read_iif(_: str, arguments: list[Expression]) -> Expression:
    results = unify(arguments[1:])
    return make_case([as_condition(arguments[0])], results)


def _read_round(_: str, arguments: list[Expression]) -> Expression:
    digits = arguments[1] if len(arguments) == 2 else Value(0, "integer")
    count = _whole_number(digits)
    if count is None or not 0 <= count <= _MAX_DIGITS:
        raise SqlGuardError(
            f"round takes 0 to {_MAX_DIGITS} places", remedy="round(avg(weight), 2)"
        )
    return Call("round", (cast(arguments[0], "real"), digits), "real")


def _to_whole(function: str) -> CallReader:
    """Make the reader of floor or ceil, which leave a whole number as it is."""

    def read(_: str, arguments: list[Expression]) -> Expression:
        (number,) = arguments
        return (
            number if number.type == "integer" else Call(function, (cast(number, "real"),), "real")
        )

    return read


# As in PostgreSQL, what is NULL is left out, and so is its separator.
def _read_concat_ws(name: str, arguments: list[Expression]) -> Expression:
    if len(arguments) < 2:
        raise SqlGuardError(
            "concat_ws takes what stands between, and texts", remedy="concat_ws(', ', name, type)"
        )
    separator = Value(literal_text(name, arguments[0]), "text")
    texts = [cast(value, "text") for value in arguments[1:]]
    return Call("concat_ws", (separator, *texts), "text")


def _read_side(name: str, arguments: list[Expression]) -> Expression:
    length = _literal_length(name, arguments[1])
    text = cast(arguments[0], "text")
    _check_length(name, length)
    # SQLite's substr(text, -0) would be the whole text
    return _part("left" if length == 0 else name, text, length)


def _read_substr(name: str, arguments: list[Expression]) -> Expression:
    start, *lengths = [_literal_length(name, value) for value in arguments[1:]]
    text = cast(arguments[0], "text")
    length = lengths[0] if lengths else None
    if length is not None:
        _check_length(name, length)
    # counted from the end
    if start < 0:
        ending = _part("right", text, -start)
        return ending if length is None else _part("left", ending, length)
    if length is None:
        length = _MAX_LENGTH - 1 - max(start, 1)
    return _part("substr", text, start, length)


def _part(name: str, text: Expression, *numbers: int) -> Call:
    literals = [Value(number, "integer") for number in numbers]
    return Call(name, (text, *literals), "text")


def _literal_length(name: str, value: Expression) -> int:
    number = _whole_number(value)
    if number is None or abs(number) >= _MAX_LENGTH:
        raise SqlGuardError(
            f"{name} takes literal whole numbers, not {describe(value)}",
            remedy="left(content, 200)",
        )
    return number


def _check_length(name: str, length: int) -> None:
    if length < 0:
        raise SqlGuardError(f"{name} takes no negative length", remedy="left(content, 200)")


# -- what is looked for ----------------------------------------------------------------------------


def _read_contains(name: str, arguments: list[Expression]) -> Expression:
    value, needle = arguments
    if not isinstance(needle, Value):
        raise SqlGuardError(f"{name} looks for a literal, not for {describe(needle)}")
    return contains(value, needle)


def _read_overlap(name: str, arguments: list[Expression]) -> Expression:
    needles = [value for value in arguments[1:] if isinstance(value, Value)]
    if len(needles) != len(arguments) - 1 or not needles:
        raise SqlGuardError(
            f"{name} looks for literals", remedy="has_any(topic_tags, 'pricing', 'plans')"
        )
    return overlaps(arguments[0], needles)


def _at_end(kind: type[StartsWith | EndsWith]) -> CallReader:
    """Make the reader of starts_with or ends_with."""

    def read(name: str, arguments: list[Expression]) -> Expression:
        text = cast(arguments[0], "text")
        return kind(text, literal_text(name, arguments[1]))

    return read


def _read_regex(name: str, arguments: list[Expression]) -> Expression:
    pattern = arguments[1]
    if not isinstance(pattern, Value) or pattern.type != "text":
        raise SqlGuardError(
            "a regular expression is a literal", remedy="regexp_like(name, '^Project')"
        )
    flags = literal_text(name, arguments[2]) if len(arguments) == 3 else ""
    if flags not in ("", "i", "c"):
        raise SqlGuardError("the flags of a regular expression are 'i' or none")
    return match_regex(arguments[0], pattern.value, ignore_case=flags == "i")


# -- JSON ------------------------------------------------------------------------------------------


def _read_extract(name: str, arguments: list[Expression]) -> Expression:
    if len(arguments) < 2:
        raise SqlGuardError(
            f"{name} takes JSON and a place in it", remedy="json_extract(metadata, '$.page')"
        )
    steps: Steps = ()
    for step in arguments[1:]:
        position = _whole_number(step)
        steps += parse_path(literal_text(name, step)) if position is None else (position,)
    return extend_path(arguments[0], steps)


def _measure_json(function: str, kind: Type) -> CallReader:
    """Make the reader of a function of one JSON value, which gives this type."""

    def read(name: str, arguments: list[Expression]) -> Expression:
        value = arguments[0]
        # the result of a function of JSON is an SQL value, and JSON no more
        if value.type != "json":
            raise InvalidInputError(f"{name} takes JSON, {describe(value)} is {value.type}")
        steps: Steps = ()
        # array_length(x, 1): the dimension, which is the only one here
        if len(arguments) == 2 and _whole_number(arguments[1]) is None:
            steps = parse_path(literal_text(name, arguments[1]))
        return Call(function, (extend_path(value, steps),), kind)

    return read


# -- times -----------------------------------------------------------------------------------------


def _read_time_part(name: str, arguments: list[Expression]) -> Expression:
    """extract, date_part, and `year(…)` and the like."""
    if len(arguments) == 1 and name not in ("extract", "date_part"):
        arguments = [Value(times.normalize_unit(name), "text"), arguments[0]]
    unit, at = _split_unit(name, arguments, times.PARTS)
    kind: Type = "real" if unit.value in ("second", "epoch") else "integer"
    return Call("extract", (unit, at), kind)


def _read_truncation(name: str, arguments: list[Expression]) -> Expression:
    return Call("date_trunc", _split_unit(name, arguments, times.TRUNCATED), "time")


def _split_unit(
    name: str, arguments: list[Expression], units: tuple[str, ...]
) -> tuple[Value, Expression]:
    """The unit and the time, which may stand on either side."""
    if len(arguments) != 2:
        raise SqlGuardError(f"{name} takes 2 arguments, not {len(arguments)}")
    for unit, at in (arguments, arguments[::-1]):
        if isinstance(unit, Value) and unit.type == "text" and unit.value in units:
            return unit, as_time(at)
    raise SqlGuardError(
        f"{name} takes a unit and a time", remedy=f"the units are {', '.join(units)}"
    )


def _read_format(name: str, arguments: list[Expression]) -> Expression:
    """strftime, whose format may stand on either side."""
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
    return cast(at, "date") if name == "date" else _truncate("second", at)


def _modify(at: Expression, modifier: str) -> Expression:
    unit = modifier.removeprefix(_START_OF)
    if unit != modifier and unit in ("day", "month", "year"):
        return _truncate(unit, at)
    # every time is UTC, and known to be a time
    if modifier in ("utc", "auto"):
        return at
    months, micros = times.parse_interval(modifier)
    return Shift(at, months, micros)


def _truncate(unit: str, at: Expression) -> Call:
    return Call("date_trunc", (Value(unit, "text"), at), "time")


OVERLOADS: dict[str, Overload] = {
    "ceil": Overload(_to_whole("ceil"), (1,)),
    "concat_ws": Overload(_read_concat_ws),
    "contains": Overload(_read_contains, (2,)),
    "current_date": Overload(lambda _name, _arguments: cast(Now(), "date"), (0,)),
    "date": Overload(_read_clock),
    "date_trunc": Overload(_read_truncation),
    "datetime": Overload(_read_clock),
    "ends_with": Overload(_at_end(EndsWith), (2,)),
    "extract": Overload(_read_time_part),
    "floor": Overload(_to_whole("floor"), (1,)),
    "has_any": Overload(_read_overlap),
    "iif": Overload(_read_iif, (2, 3)),
    "json_array_length": Overload(_measure_json("json_array_length", "integer"), (1, 2)),
    "json_extract": Overload(_read_extract),
    "json_typeof": Overload(_measure_json("json_typeof", "text"), (1, 2)),
    "left": Overload(_read_side, (2,)),
    # one: the digits of its seconds, as CURRENT_TIMESTAMP(3) has them
    "now": Overload(lambda _name, _arguments: Now(), (0, 1)),
    "regexp_like": Overload(_read_regex, (2, 3)),
    "right": Overload(_read_side, (2,)),
    "round": Overload(_read_round, (1, 2)),
    "starts_with": Overload(_at_end(StartsWith), (2,)),
    "strftime": Overload(_read_format, (2,)),
    "substr": Overload(_read_substr, (2, 3)),
    "time": Overload(_read_clock),
}
