"""Calls of functions: by the table, and by readers of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from ..errors import InvalidInputError, SqlGuardError
from . import json_calls, text_calls, time_calls, times
from .aggregates import read_aggregate
from .call_arguments import as_time
from .coercion import cast, describe, unify
from .functions import Function, aggregates, find_function, function_names
from .patterns import MAX_LIKE
from .values import Call, Expression, Type, Value

if TYPE_CHECKING:
    from .expressions import ExpressionReader


_MAX_ARGUMENTS = 100
_MAX_TRIMMED = 20  # characters to trim: each is looked for at each position
_MAX_INTEGER = 2**31
_TRIMS = ("trim", "ltrim", "rtrim")
_EXTREMES = {"min": "least", "max": "greatest"}

_Reader: TypeAlias = Callable[[str, list[Expression]], Expression]
# the name of a function -> what reads its call, where the table does not say enough
_READERS: dict[str, _Reader] = {
    **json_calls.READERS,
    **text_calls.READERS,
    **time_calls.READERS,
}


def read_call(
    read: ExpressionReader,
    name: str,
    nodes: Sequence[Any],
    node: Any,
) -> Expression:
    """The call of a function with these arguments.

    Raises:
        SqlGuardError: there is no such function.
        InvalidInputError: its arguments are not what it takes.
    """
    function = find_function(name)
    if function is None:
        _refuse_unknown(read, name, node)
    if len(nodes) > _MAX_ARGUMENTS:
        read.refuse(f"a function may have {_MAX_ARGUMENTS} arguments", node)
    if function in aggregates():
        # As in SQLite, min(a, b) is the least of one row.
        scalar_name = _EXTREMES.get(function.name, "")
        scalar = find_function(scalar_name) if len(nodes) > 1 else None
        if scalar is None:
            return read_aggregate(read, function, nodes, node)
        function = scalar
    arguments: list[Expression] = []
    for index, part in enumerate(nodes):
        is_unit = _is_unit(function, index, nodes)
        arguments.append(_read_unit(read, part) if is_unit else read.value(part))
    own_reader = _READERS.get(function.name)
    if own_reader is None:
        return _apply(function, arguments)
    return own_reader(name, arguments)


def _refuse_unknown(read: ExpressionReader, name: str, node: Any) -> NoReturn:
    near = get_close_matches(name, function_names(), n=3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    read.refuse(
        f"the function {name[:40]} is not allowed",
        node,
        f"{hint}docs/dialect.md lists those that are",
    )


# -- by the table ----------------------------------------------------------------------------------


def _apply(function: Function, given: Sequence[Expression]) -> Expression:
    """The call as the table has it."""
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
        parameter = parameters[min(index, len(parameters) - 1)]
        kind = parameter.rstrip("?")
        arguments.append(_argument(function, kind, value))
        if kind == "same":
            same.append(index)
    if same:
        unified = unify([arguments[index] for index in same])
        for index, value in zip(same, unified, strict=True):
            arguments[index] = value
    gives: Type = arguments[0].type if function.gives == "same" else function.gives
    return Call(function.name, tuple(arguments), gives)


def _argument(function: Function, kind: str, value: Expression) -> Expression:
    """A value as an argument of this kind."""
    if kind == "same":
        return value
    if kind.endswith("…"):
        return _literal_argument(function, kind[:-1], value)
    if kind == "real":
        return _number_argument(function, value)
    if kind == "time":
        return as_time(value)
    if kind == "text" and value.type == "boolean":
        raise InvalidInputError(f"{function.name} takes a text, {describe(value)} is a condition")
    return cast(value, kind)  # type: ignore[arg-type]


def _literal_argument(function: Function, kind: str, value: Expression) -> Expression:
    if kind == "unit":
        return value
    name = function.name
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
    if value.type not in ("integer", "number", "real", "json", "null"):
        raise InvalidInputError(f"{function.name} takes a number, and {describe(value)} is not one")
    # A number of JSON is shown whole if it is; what is computed from it may be so too.
    may_be_whole = value.type in ("number", "json") and keeps_type
    return cast(value, "number" if may_be_whole else "real")


def _describe_parameters(function: Function) -> str:
    if not function.takes:
        return "no arguments"
    words = (parameter.rstrip("…?") or "…" for parameter in function.takes)
    return f"({', '.join(words)})"


# -- units of time ---------------------------------------------------------------------------------


def _is_unit(function: Function, index: int, nodes: Sequence[Any]) -> bool:
    """Whether an argument names a unit of time: a bare word, or else the first of the two."""
    if function.name not in ("extract", "date_trunc") or len(nodes) != 2:
        return False
    if _is_word(nodes[index]):
        return True
    return index == 0 and not _is_word(nodes[1])


def _is_word(node: Any) -> bool:
    return type(node).__name__ == "Var"


def _read_unit(read: ExpressionReader, node: Any) -> Expression:
    if type(node).__name__ not in ("Var", "Literal"):
        read.refuse(
            "a unit of time is one word", node, f"the units are {', '.join(times.TRUNCATED)}"
        )
    return Value(times.normalize_unit(node.name), "text")
