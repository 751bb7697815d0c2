"""Calls of functions: by the table, and those that are read in a way of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInputError, SqlGuardError
from . import coercion, containing, patterns, times
from .functions import AGGREGATES, Function, find, known
from .values import Aggregate, Call, Ends, Expression, Json, Now, Shift, Starts, Type, Value

if TYPE_CHECKING:
    from .expressions import Expressions

__all__ = ["call"]

_MANY = 100  # arguments
_TRIMMED = 20  # characters to trim: each is looked for at each place
_Special = Callable[["Expressions", str, list[Expression]], Expression]


def call(read: Expressions, name: str, nodes: Sequence[Any], node: Any) -> Expression:
    """The call of a function with these arguments.

    Raises:
        SqlGuardError: there is no such function.
        InvalidInputError: its arguments are not what it takes.
    """
    function = find(name)
    if function is None:
        from difflib import get_close_matches

        near = get_close_matches(name, known(), n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        read.refuse(
            f"the function {name[:40]} is not allowed",
            node,
            f"{hint}docs/dialect.md lists those that are",
        )
    if len(nodes) > _MANY:
        read.refuse(f"a function may have {_MANY} arguments", node)
    if function in AGGREGATES and not (function.name in ("min", "max") and len(nodes) > 1):
        return _aggregate(read, function, nodes, node)
    if function in AGGREGATES:
        function = find("least" if function.name == "min" else "greatest")
        assert function is not None  # noqa: S101 - both are in the table
    arguments = [
        _unit(read, part) if _is_unit(function, place, nodes) else read.value(part)
        for place, part in enumerate(nodes)
    ]
    special = _SPECIAL.get(function.name)
    if special is not None:
        return special(read, name, arguments)
    return _plain(function, arguments)


def _plain(function: Function, given: Sequence[Expression]) -> Expression:
    """A call as the table says it."""
    takes = function.takes
    many = takes[-1:] == ("…",)
    takes = takes[:-1] if many else takes
    least = sum(not argument.endswith("?") for argument in takes)
    if len(given) < least or (len(given) > len(takes) and not many):
        raise SqlGuardError(f"{function.name} takes {_counted(function)}, not {len(given)}")
    kinds = [takes[min(place, len(takes) - 1)].rstrip("?") for place in range(len(given))]
    arguments = [_argument(function, kind, value) for kind, value in zip(kinds, given, strict=True)]
    shared = [place for place, kind in enumerate(kinds) if kind == "one"]
    if shared:
        for place, value in zip(
            shared, coercion.unified([arguments[place] for place in shared]), strict=True
        ):
            arguments[place] = value
    kind: Type = arguments[0].type if function.gives == "one" else function.gives
    return Call(function.name, tuple(arguments), kind)


def _argument(function: Function, kind: str, value: Expression) -> Expression:
    if kind == "one":
        return value
    if kind.endswith("…"):
        kind = kind[:-1]
        if kind == "unit":
            return value
        if not isinstance(value, Value) or value.type != kind:
            raise SqlGuardError(
                f"{function.name} takes a literal {kind} here, not {coercion.told(value)}"
            )
        if kind == "text" and len(value.value) > patterns.MAX_LIKE:
            raise SqlGuardError(
                f"a text that {function.name} is given may have {patterns.MAX_LIKE} characters, this has"
                f" {len(value.value):,}"
            )
        if function.name in ("trim", "ltrim", "rtrim") and len(value.value) > _TRIMMED:
            raise SqlGuardError(
                f"{function.name} takes {_TRIMMED} characters off at most, not {len(value.value)}"
            )
        if kind == "integer" and not -(2**31) < value.value < 2**31:
            raise SqlGuardError(f"{function.name} takes a smaller number than {value.value}")
        return value
    if kind == "real":
        if value.type == "integer" and function.gives == "one":
            return value
        if value.type in ("integer", "number", "real", "json", "null"):
            return coercion.cast(
                value,
                "number"
                if value.type in ("number", "json") and function.gives == "one"
                else "real",
            )
        raise InvalidInputError(f"{function.name} takes a number, {coercion.told(value)} is none")
    if kind == "time":
        return _time(value)
    if kind == "text" and value.type == "boolean":
        raise InvalidInputError(
            f"{function.name} takes a text, {coercion.told(value)} is a condition"
        )
    return coercion.cast(value, kind)  # type: ignore[arg-type]


def _time(value: Expression) -> Expression:
    if isinstance(value, Value) and value.type == "text" and value.value.lower() == "now":
        return Now()
    return coercion.cast(value, "time")


def _counted(function: Function) -> str:
    if not function.takes:
        return "no arguments"
    return f"({', '.join(argument.rstrip('…?') or '…' for argument in function.takes)})"


def _is_unit(function: Function, place: int, nodes: Sequence[Any]) -> bool:
    """Whether an argument names a unit of time: the first of extract and date_part, either of
    date_trunc."""
    if function.name not in ("extract", "date_trunc") or len(nodes) != 2:
        return False
    return type(nodes[place]).__name__ == "Var" or (place == 0 and type(nodes[1]).__name__ != "Var")


def _unit(read: Expressions, node: Any) -> Expression:
    if type(node).__name__ not in ("Var", "Literal"):
        read.refuse(
            "a unit of time is one word", node, f"the units are {', '.join(times.TRUNCATED)}"
        )
    return Value(times.unit(node.name), "text")


# -- those with a way of their own -----------------------------------------------------------------


def _needs(name: str, given: Sequence[Expression], *counts: int) -> None:
    if len(given) not in counts:
        raise SqlGuardError(
            f"{name} takes {' or '.join(map(str, counts))} arguments, not {len(given)}"
        )


def _text(name: str, value: Expression) -> str:
    if not isinstance(value, Value) or value.type != "text":
        raise SqlGuardError(f"{name} takes a literal text here, not {coercion.told(value)}")
    if len(value.value) > patterns.MAX_LIKE:
        raise SqlGuardError(f"a text that {name} looks for may have {patterns.MAX_LIKE} characters")
    return str(value.value)


def _now(_: Expressions, name: str, given: list[Expression]) -> Expression:
    _needs(name, given, 0, 1)  # one: digits of seconds
    return Now()


def _today(_: Expressions, name: str, given: list[Expression]) -> Expression:
    _needs(name, given, 0)
    return coercion.cast(Now(), "date")


def _of_unit(_: Expressions, name: str, given: list[Expression]) -> Expression:
    """extract and date_trunc, whose unit may stand on either side; and `year(…)` and the like."""
    if len(given) == 1 and name not in ("extract", "date_trunc", "timestamp_trunc", "date_part"):
        given = [Value(times.unit(name), "text"), given[0]]
    _needs(name, given, 2)
    truncates = name in ("date_trunc", "timestamp_trunc")
    units = times.TRUNCATED if truncates else times.PARTS
    word = next(
        (
            value
            for value in given
            if isinstance(value, Value) and value.type == "text" and value.value in units
        ),
        None,
    )
    if word is None:
        raise SqlGuardError(
            f"{name} takes a unit and a time", remedy=f"the units are {', '.join(units)}"
        )
    at = _time(given[1] if word is given[0] else given[0])
    if truncates:
        return Call("date_trunc", (word, at), "time")
    return Call("extract", (word, at), "real" if word.value in ("second", "epoch") else "integer")


def _format(_: Expressions, name: str, given: list[Expression]) -> Expression:
    _needs(name, given, 2)
    if not (isinstance(given[0], Value) and given[0].type == "text"):
        given = given[::-1]
    pattern = _text(name, given[0])
    times.format_of(pattern)
    return Call("strftime", (Value(pattern, "text"), _time(given[1])), "text")


def _clock(_: Expressions, name: str, given: list[Expression]) -> Expression:
    """date(), datetime() and time(), with SQLite's modifiers."""
    if not given or len(given) > 10:
        raise SqlGuardError(
            f"{name} takes a time, and how to shift it", remedy="datetime('now', '-7 days')"
        )
    at = _time(given[0])
    for modifier in given[1:]:
        word = _text(name, modifier).strip().lower()
        if word.startswith("start of ") and word[9:] in ("day", "month", "year"):
            at = Call("date_trunc", (Value(word[9:], "text"), at), "time")
        elif word not in ("utc", "auto"):
            months, micros = times.interval(word)
            at = Shift(at, months, micros)
    if name == "time":
        return Call("strftime", (Value("%T", "text"), at), "text")
    if name == "date":
        return coercion.cast(at, "date")
    return Call("date_trunc", (Value("second", "text"), at), "time")


def _json_extract(_: Expressions, name: str, given: list[Expression]) -> Expression:
    from .expressions import below
    from .paths import json_path

    if len(given) < 2:
        raise SqlGuardError(
            f"{name} takes JSON and a place in it", remedy="json_extract(metadata, '$.page')"
        )
    steps: list[str | int] = []
    for place in given[1:]:
        if isinstance(place, Value) and place.type == "integer":
            steps.append(place.value)
        else:
            steps += json_path(_text(name, place))
    return below(given[0], tuple(steps))


def _of_json(kind: Type) -> _Special:
    def made(_: Expressions, name: str, given: list[Expression]) -> Expression:
        _needs(name, given, 1, 2)
        function = find(name)
        if given[0].type == "any" or not (isinstance(given[0], Json) or given[0].type == "json"):
            raise InvalidInputError(
                f"{name} takes JSON, {coercion.told(given[0])} is {given[0].type}"
            )
        from .expressions import below
        from .paths import json_path

        steps: tuple[str | int, ...] = ()
        if len(given) == 2 and not (isinstance(given[1], Value) and given[1].type == "integer"):
            steps = json_path(_text(name, given[1]))
        return Call(function.name if function else name, (below(given[0], steps),), kind)

    return made


def _contains(_: Expressions, name: str, given: list[Expression]) -> Expression:
    _needs(name, given, 2)
    if not isinstance(given[1], Value):
        raise SqlGuardError(f"{name} looks for a literal, not for {coercion.told(given[1])}")
    return containing.contains(given[0], given[1])


def _overlaps(_: Expressions, name: str, given: list[Expression]) -> Expression:
    wanted = [value for value in given[1:] if isinstance(value, Value)]
    if len(wanted) != len(given) - 1 or not wanted:
        raise SqlGuardError(
            f"{name} looks for literals", remedy="has_any(topic_tags, 'pricing', 'plans')"
        )
    return containing.overlaps(given[0], wanted)


def _starts(_: Expressions, name: str, given: list[Expression]) -> Expression:
    _needs(name, given, 2)
    return Starts(coercion.cast(given[0], "text"), _text(name, given[1]))


def _ends(_: Expressions, name: str, given: list[Expression]) -> Expression:
    _needs(name, given, 2)
    return Ends(coercion.cast(given[0], "text"), _text(name, given[1]))


def _regexp(_: Expressions, name: str, given: list[Expression]) -> Expression:
    from .expressions import matched

    _needs(name, given, 2, 3)
    if not isinstance(given[1], Value) or given[1].type != "text":
        raise SqlGuardError(
            "a regular expression is a literal", remedy="regexp_like(name, '^Project')"
        )
    flags = _text(name, given[2]) if len(given) == 3 else ""
    if flags not in ("", "i", "c"):
        raise SqlGuardError("the flags of a regular expression are 'i' or none")
    return matched(given[0], given[1].value, ignore_case=flags == "i")


def _iif(_: Expressions, name: str, given: list[Expression]) -> Expression:
    from .values import Case

    _needs(name, given, 2, 3)
    values = coercion.unified(given[1:])
    return Case(
        ((coercion.as_condition(given[0]), values[0]),),
        values[1] if len(values) > 1 else None,
        values[0].type,
    )


def _round(_: Expressions, name: str, given: list[Expression]) -> Expression:
    _needs(name, given, 1, 2)
    places = given[1] if len(given) == 2 else Value(0, "integer")
    if not isinstance(places, Value) or places.type != "integer" or not 0 <= places.value <= 15:
        raise SqlGuardError("round takes 0 to 15 places", remedy="round(avg(weight), 2)")
    return Call("round", (coercion.cast(given[0], "real"), places), "real")


def _whole(function: str) -> _Special:
    def made(_: Expressions, name: str, given: list[Expression]) -> Expression:
        _needs(name, given, 1)
        return (
            given[0]
            if given[0].type == "integer"
            else Call(function, (coercion.cast(given[0], "real"),), "real")
        )

    return made


def _concat_ws(_: Expressions, name: str, given: list[Expression]) -> Expression:
    if len(given) < 2:
        raise SqlGuardError(
            "concat_ws takes what stands between, and texts", remedy="concat_ws(', ', name, type)"
        )
    separator = Value(_text(name, given[0]), "text")
    return Call(
        "concat_ws", (separator, *(coercion.cast(value, "text") for value in given[1:])), "text"
    )


def _part(_: Expressions, name: str, given: list[Expression]) -> Expression:
    """left, right and substr: so many characters are never fewer than none."""
    _needs(name, given, 2, *((3,) if name in ("substr", "substring", "mid") else ()))
    function = find(name)
    numbers = []
    for value in given[1:]:
        if not isinstance(value, Value) or value.type != "integer" or abs(value.value) >= 2**31:
            raise SqlGuardError(
                f"{name} takes literal whole numbers, not {coercion.told(value)}",
                remedy="left(content, 200)",
            )
        numbers.append(value.value)
    text = coercion.cast(given[0], "text")
    if function is None or any(
        number < 0 for number in (numbers[1:] if function.name == "substr" else numbers)
    ):
        raise SqlGuardError(f"{name} takes no negative length", remedy="left(content, 200)")
    if function.name == "right" and numbers == [0]:
        return Call("left", (text, Value(0, "integer")), "text")
    if function.name == "substr" and numbers[0] < 0:
        ending = Call("right", (text, Value(-numbers[0], "integer")), "text")
        return (
            ending
            if len(numbers) == 1
            else Call("left", (ending, Value(numbers[1], "integer")), "text")
        )
    if function.name == "substr" and len(numbers) == 1:
        numbers.append(2**31 - 1 - max(numbers[0], 1))
    return Call(function.name, (text, *(Value(number, "integer") for number in numbers)), "text")


def _aggregate(
    read: Expressions, function: Function, nodes: Sequence[Any], node: Any
) -> Expression:
    """A figure of many rows."""
    from sqlglot import exp

    distinct = False
    nodes = list(nodes)
    if nodes and isinstance(nodes[0], exp.Distinct):
        read.only(nodes[0], "expressions")
        if len(nodes[0].expressions) != 1:
            read.refuse(f"{function.name} takes one value", node)
        distinct, nodes[0] = True, nodes[0].expressions[0]
    if function.name == "count" and (not nodes or isinstance(nodes[0], exp.Star)):
        if distinct or len(nodes) > 1 or any(nodes[0].args.values() if nodes else ()):
            read.refuse("count takes * or one value", node)
        return Aggregate("count", None, False, None, "", "integer")
    separator = ","
    if function.name == "group_concat" and len(nodes) == 2:
        separator = _text("group_concat", read.value(nodes.pop()))
        if distinct and separator != ",":
            read.refuse("group_concat(DISTINCT …) has commas between", node)
    if len(nodes) != 1:
        read.refuse(f"{function.name} takes one value, not {len(nodes)}", node)
    part = read.value(nodes[0])
    if any(isinstance(inner, Aggregate) for inner in _walk(part)):
        read.refuse("a figure of figures is not allowed", node)
    kind: Type = function.gives  # type: ignore[assignment]
    if function.name in ("sum", "total", "avg"):
        if part.type not in ("integer", "number", "real", "json"):
            raise InvalidInputError(
                f"{function.name} takes numbers, {coercion.told(part)} is none",
                remedy="sum(CAST(metadata->>'page' AS REAL))",
            )
        keeps = function.name == "sum" and part.type == "integer"
        part = part if keeps else coercion.cast(part, "number" if part.type == "json" else "real")
        kind = part.type if function.name == "sum" else "real"
    elif function.name == "group_concat":
        part = coercion.cast(part, "text")
    elif function.name in ("min", "max"):
        kind = "any" if part.type == "json" else part.type
    return Aggregate(
        function.name, part, distinct and function.name not in ("min", "max"), None, separator, kind
    )


def _walk(value: Expression) -> list[Expression]:
    from .values import walk

    return walk(value)


_SPECIAL: dict[str, _Special] = {
    "now": _now, "current_date": _today, "extract": _of_unit, "date_trunc": _of_unit, "strftime": _format,
    "date": _clock, "datetime": _clock, "time": _clock, "json_extract": _json_extract,
    "json_array_length": _of_json("integer"), "json_typeof": _of_json("text"), "contains": _contains,
    "has_any": _overlaps, "starts_with": _starts, "ends_with": _ends, "regexp_like": _regexp, "iif": _iif,
    "round": _round, "floor": _whole("floor"), "ceil": _whole("ceil"), "concat_ws": _concat_ws, "left": _part,
    "right": _part, "substr": _part,
}  # fmt: skip
