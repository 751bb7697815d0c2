"""Calls of functions of texts and numbers whose arguments are read in a way of their own."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import SqlGuardError
from .call_arguments import check_count, literal_text
from .coercion import as_condition, cast, describe, unify
from .functions import find_function
from .values import Call, Case, Expression, Value

_MAX_DIGITS = 15  # behind the point
_MAX_LENGTH = 2**31  # characters, and one more


def _read_iif(name: str, arguments: list[Expression]) -> Expression:
    check_count(name, arguments, 2, 3)
    results = unify(arguments[1:])
    result = results[0]
    otherwise = results[1] if len(results) > 1 else None
    arm = (as_condition(arguments[0]), result)
    return Case((arm,), otherwise, result.type)


def _read_round(name: str, arguments: list[Expression]) -> Expression:
    check_count(name, arguments, 1, 2)
    digits = arguments[1] if len(arguments) == 2 else Value(0, "integer")
    count = _whole_number(digits)
    if count is None or not 0 <= count <= _MAX_DIGITS:
        raise SqlGuardError(
            f"round takes 0 to {_MAX_DIGITS} places", remedy="round(avg(weight), 2)"
        )
    return Call("round", (cast(arguments[0], "real"), digits), "real")


def _to_whole(function: str) -> Callable[[str, list[Expression]], Expression]:
    """Make the reader of floor or ceil, which leave a whole number as it is."""

    def read(name: str, arguments: list[Expression]) -> Expression:
        check_count(name, arguments, 1)
        if arguments[0].type == "integer":
            return arguments[0]
        return Call(function, (cast(arguments[0], "real"),), "real")

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
    """left and right."""
    check_count(name, arguments, 2)
    length = _literal_length(name, arguments[1])
    text = cast(arguments[0], "text")
    _check_length(name, length)
    # SQLite's substr(text, -0) would be the whole text
    own_name = "left" if length == 0 else _canonical_name(name)
    return _part(own_name, text, length)


def _read_substr(name: str, arguments: list[Expression]) -> Expression:
    check_count(name, arguments, 2, 3)
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
    return _part(_canonical_name(name), text, start, length)


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


def _whole_number(value: Expression) -> int | None:
    """The number that a literal is, or None."""
    if isinstance(value, Value) and value.type == "integer":
        return int(value.value)
    return None


def _check_length(name: str, length: int) -> None:
    if length < 0:
        raise SqlGuardError(f"{name} takes no negative length", remedy="left(content, 200)")


def _canonical_name(name: str) -> str:
    function = find_function(name)
    return name if function is None else function.name


READERS = {
    "ceil": _to_whole("ceil"),
    "concat_ws": _read_concat_ws,
    "floor": _to_whole("floor"),
    "iif": _read_iif,
    "left": _read_side,
    "right": _read_side,
    "round": _read_round,
    "substr": _read_substr,
}
