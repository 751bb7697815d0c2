"""Calls of functions: of one row by the table or an overload, and of many rows."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from msgspec.structs import replace

from ..errors import InvalidInputError, SqlGuardError
from . import times
from .coercion import NUMBERS, cast, describe, unify
from .functions import Function, aggregates, find_function, function_names
from .matching import MAX_LIKE
from .nodes import Handler, Node, NodeReader, kind_of, sql_name
from .overloads import OVERLOADS, as_time, literal_text
from .values import Aggregate, Call, Expression, Type, Value, has_aggregate

_MAX_ARGUMENTS = 100
_MAX_TRIMMED = 20  # characters to trim: each is looked for at each position
_MAX_INTEGER = 2**31
_TRIMS = ("trim", "ltrim", "rtrim")
_TRIM_SIDES = {"LEADING": "ltrim", "TRAILING": "rtrim"}
_SCALARS = {"min": "least", "max": "greatest"}
_OF_NUMBERS = ("sum", "total", "avg")
# What the parser notes of a function that changes nothing here.
_HARMLESS = frozenset({
    "big_int", "safe", "coalesce", "is_left", "ignore_nulls", "is_nvl", "is_null", "ansi",
    "requires_json", "json_subtype", "only_json_types", "scalar_only", "value_constructor",
    "bracket_notation",
})  # fmt: skip
# Functions that the parser has other names for.
_FUNCTION_NAMES = {
    "Ceil": "ceil",
    "CurrentDate": "current_date",
    "CurrentTimestamp": "now",
    "DateTrunc": "date_trunc",
    "Greatest": "greatest",
    "GroupConcat": "group_concat",
    "Least": "least",
    "Length": "length",
    "Localtimestamp": "now",
    "StrPosition": "instr",
    "Substring": "substr",
    "TimeToStr": "strftime",
    "TimestampTrunc": "date_trunc",
}


def _read_function(read: NodeReader, node: Node) -> Expression:
    from sqlglot import exp

    if kind_of(node) == "Anonymous":
        if not isinstance(node.this, str):
            read.refuse("a function has a plain name", node)
        return _read_call(read, node.this.lower(), list(node.expressions), node)
    arguments: list[Node] = []
    for key in node.arg_types:
        argument = node.args.get(key)
        if isinstance(argument, list):
            arguments += argument
        elif isinstance(argument, exp.Expression):
            arguments.append(argument)
        elif argument and key not in _HARMLESS:
            read.refuse(f"{sql_name(node)} … {key.upper()} is not allowed", node)
    own_name = sql_name(node).removeprefix("the function ")
    return _read_call(read, _FUNCTION_NAMES.get(kind_of(node), own_name), arguments, node)


def _read_trim(read: NodeReader, node: Node) -> Expression:
    side = str(node.args.get("position") or "").upper()
    characters = node.args.get("expression")
    arguments = [node.this] if characters is None else [node.this, characters]
    return _read_call(read, _TRIM_SIDES.get(side, "trim"), arguments, node)


def _read_call(read: NodeReader, name: str, nodes: Sequence[Node], node: Node) -> Expression:
    function = find_function(name)
    if function is None:
        near = get_close_matches(name, function_names(), n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        read.refuse(
            f"the function {name[:40]} is not allowed",
            node,
            f"{hint}docs/dialect.md lists those that are",
        )
    if len(nodes) > _MAX_ARGUMENTS:
        read.refuse(f"a function may have {_MAX_ARGUMENTS} arguments", node)
    if function in aggregates():
        # As in SQLite, min(a, b) is the least of one row.
        scalar = find_function(_SCALARS.get(function.name, "")) if len(nodes) > 1 else None
        if scalar is None:
            return _read_aggregate(read, function, nodes, node)
        function = scalar
    arguments = [
        _read_unit(read, part) if _is_unit(function, index, nodes) else read.value(part)
        for index, part in enumerate(nodes)
    ]
    overload = OVERLOADS.get(function.name)
    return _apply(function, arguments) if overload is None else overload(name, arguments)


def _is_unit(function: Function, index: int, nodes: Sequence[Node]) -> bool:
    """Whether an argument names a unit of time: a bare word, or else the first of the two."""
    if function.name not in ("extract", "date_trunc") or len(nodes) != 2:
        return False
    return kind_of(nodes[index]) == "Var" or (index == 0 and kind_of(nodes[1]) != "Var")


def _read_unit(read: NodeReader, node: Node) -> Expression:
    if kind_of(node) not in ("Var", "Literal"):
        read.refuse(
            "a unit of time is one word", node, f"the units are {', '.join(times.TRUNCATED)}"
        )
    return Value(times.normalize_unit(node.name), "text")


# -- by the table ----------------------------------------------------------------------------------


def _apply(function: Function, given: Sequence[Expression]) -> Expression:
    takes_more = function.takes[-1:] == ("…",)
    parameters = function.takes[:-1] if takes_more else function.takes
    required = sum(not parameter.endswith("?") for parameter in parameters)
    too_many = len(given) > len(parameters) and not takes_more
    if len(given) < required or too_many:
        expected = _describe_parameters(function)
        raise SqlGuardError(f"{function.name} takes {expected}, not {len(given)}")
    arguments: list[Expression] = []
    same: list[int] = []  # the positions of those that must be of one type
    for index, value in enumerate(given):
        # further arguments are as the last one
        kind = parameters[min(index, len(parameters) - 1)].rstrip("?")
        arguments.append(_argument(function, kind, value))
        if kind == "same":
            same.append(index)
    unified = unify([arguments[index] for index in same])
    for index, value in zip(same, unified, strict=True):
        arguments[index] = value
    gives: Type = arguments[0].type if function.gives == "same" else function.gives
    return Call(function.name, tuple(arguments), gives)


def _argument(function: Function, kind: str, value: Expression) -> Expression:
    if kind == "same":
        return value
    if kind.endswith("…"):
        return _literal_argument(function.name, kind[:-1], value)
    if kind == "real":
        return _number_argument(function, value)
    if kind == "time":
        return as_time(value)
    if kind == "text" and value.type == "boolean":
        raise InvalidInputError(f"{function.name} takes a text, {describe(value)} is a condition")
    return cast(value, kind)  # type: ignore[arg-type]


def _literal_argument(name: str, kind: str, value: Expression) -> Expression:
    if not isinstance(value, Value) or value.type != kind:
        raise SqlGuardError(f"{name} takes a literal {kind} here, not {describe(value)}")
    if kind == "text" and len(value.value) > MAX_LIKE:
        raise SqlGuardError(
            f"a text that {name} is given may have {MAX_LIKE} characters,"
            f" this has {len(value.value):,}"
        )
    if name in _TRIMS and len(value.value) > _MAX_TRIMMED:
        raise SqlGuardError(
            f"{name} takes {_MAX_TRIMMED} characters off at most, not {len(value.value)}"
        )
    if kind == "integer" and abs(value.value) >= _MAX_INTEGER:
        raise SqlGuardError(f"{name} takes a smaller number than {value.value}")
    return value


def _number_argument(function: Function, value: Expression) -> Expression:
    keeps_type = function.gives == "same"
    if value.type == "integer" and keeps_type:
        return value
    if value.type not in (*NUMBERS, "json", "null"):
        raise InvalidInputError(f"{function.name} takes a number, and {describe(value)} is not one")
    # A number of JSON is shown whole if it is; what is computed from it may be so too.
    may_be_whole = value.type in ("number", "json") and keeps_type
    return cast(value, "number" if may_be_whole else "real")


def _describe_parameters(function: Function) -> str:
    if not function.takes:
        return "no arguments"
    words = (parameter.rstrip("…?") or "…" for parameter in function.takes)
    return f"({', '.join(words)})"


# -- of many rows ----------------------------------------------------------------------------------


def _read_aggregate(
    read: NodeReader, function: Function, nodes: Sequence[Node], node: Node
) -> Expression:
    name = function.name
    arguments, distinct = _strip_distinct(read, name, nodes, node)
    if name == "count" and (not arguments or kind_of(arguments[0]) == "Star"):
        # count(* EXCEPT …) and the like
        says_more = bool(arguments) and any(arguments[0].args.values())
        if distinct or len(arguments) > 1 or says_more:
            read.refuse("count takes * or one value", node)
        return Aggregate("count", None, False, None, "", "integer")
    separator = ","
    if name == "group_concat" and len(arguments) == 2:
        separator = literal_text(name, read.value(arguments.pop()))
        if distinct and separator != ",":
            read.refuse("group_concat(DISTINCT …) has commas between", node)
    if len(arguments) != 1:
        read.refuse(f"{name} takes one value, not {len(arguments)}", node)
    part = read.value(arguments[0])
    if has_aggregate(part):
        read.refuse("a figure of figures is not allowed", node)
    part, kind = _aggregated(function, part)
    # The extreme of distinct values is that of all.
    return Aggregate(name, part, distinct and name not in _SCALARS, None, separator, kind)


def _strip_distinct(
    read: NodeReader, name: str, nodes: Sequence[Node], node: Node
) -> tuple[list[Node], bool]:
    """The arguments without DISTINCT, and whether it was there."""
    first: Node = nodes[0] if nodes else None
    if kind_of(first) != "Distinct":
        return list(nodes), False
    read.allow_only(first, "expressions")
    if len(first.expressions) != 1:
        read.refuse(f"{name} takes one value", node)
    return [first.expressions[0], *nodes[1:]], True


def _aggregated(function: Function, part: Expression) -> tuple[Expression, Type]:
    """The argument as an aggregate function takes it, and the type that it gives."""
    name = function.name
    if name in _OF_NUMBERS:
        if part.type not in (*NUMBERS, "json"):
            raise InvalidInputError(
                f"{name} takes numbers, and {describe(part)} is not one",
                remedy="sum(CAST(metadata->>'page' AS REAL))",
            )
        # A sum of whole numbers is whole.
        if not (name == "sum" and part.type == "integer"):
            part = cast(part, "number" if part.type == "json" else "real")
        return part, part.type if name == "sum" else "real"
    if name == "group_concat":
        return cast(part, "text"), "text"
    if name in _SCALARS:
        return part, "any" if part.type == "json" else part.type
    return part, function.gives  # type: ignore[return-value]


def _read_filter(read: NodeReader, node: Node) -> Expression:
    aggregate = read.value(node.this)
    if not isinstance(aggregate, Aggregate):
        read.refuse(
            "FILTER stands after a figure of many rows",
            node,
            "count(*) FILTER (WHERE type = 'person')",
        )
    return replace(aggregate, where=read.condition(node.expression.this))


HANDLERS: dict[str, Handler] = {
    "Filter": Handler(_read_filter, ("this", "expression")),
    "Func": Handler(_read_function),
    "Trim": Handler(_read_trim, ("this", "expression", "position")),
}
