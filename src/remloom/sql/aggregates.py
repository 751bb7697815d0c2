"""Aggregate functions: one value of many rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..errors import InvalidInputError
from .call_arguments import literal_text
from .coercion import cast, describe
from .functions import Function
from .nodes import NodeReader
from .values import Aggregate, Expression, Type, has_aggregate

if TYPE_CHECKING:
    from sqlglot import exp

    from .expressions import ExpressionReader


_OF_NUMBERS = ("sum", "total", "avg")
_EXTREMES = ("min", "max")


def read_aggregate(
    read: ExpressionReader,
    function: Function,
    nodes: Sequence[Any],
    node: Any,
) -> Expression:
    """The call of an aggregate function with these arguments.

    Raises:
        SqlGuardError, InvalidInputError: its arguments are not what it takes.
    """
    arguments, distinct = _strip_distinct(read, function, nodes, node)
    if function.name == "count" and _counts_rows(arguments):
        # count(* EXCEPT …) and the like
        says_more = bool(arguments) and any(arguments[0].args.values())
        if distinct or len(arguments) > 1 or says_more:
            read.refuse("count takes * or one value", node)
        return Aggregate("count", None, False, None, "", "integer")
    separator = ","
    if function.name == "group_concat" and len(arguments) == 2:
        separator = literal_text("group_concat", read.value(arguments.pop()))
        if distinct and separator != ",":
            read.refuse("group_concat(DISTINCT …) has commas between", node)
    if len(arguments) != 1:
        read.refuse(f"{function.name} takes one value, not {len(arguments)}", node)
    part = read.value(arguments[0])
    if has_aggregate(part):
        read.refuse("a figure of figures is not allowed", node)
    part, kind = _typed(function, part)
    # The extreme of distinct values is that of all.
    distinct = distinct and function.name not in _EXTREMES
    return Aggregate(function.name, part, distinct, None, separator, kind)


def _strip_distinct(
    read: ExpressionReader,
    function: Function,
    nodes: Sequence[Any],
    node: Any,
) -> tuple[list[Any], bool]:
    """The arguments without DISTINCT, and whether it was there."""
    from sqlglot import exp

    arguments = list(nodes)
    first = arguments[0] if arguments else None
    if not isinstance(first, exp.Distinct):
        return arguments, False
    read.allow_only(first, "expressions")
    if len(first.expressions) != 1:
        read.refuse(f"{function.name} takes one value", node)
    return [first.expressions[0], *arguments[1:]], True


def _counts_rows(arguments: Sequence[Any]) -> bool:
    from sqlglot import exp

    return not arguments or isinstance(arguments[0], exp.Star)


def _typed(function: Function, part: Expression) -> tuple[Expression, Type]:
    """The argument as the function takes it, and the type that it gives."""
    name = function.name
    if name in _OF_NUMBERS:
        if part.type not in ("integer", "number", "real", "json"):
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
    if name in _EXTREMES:
        return part, "any" if part.type == "json" else part.type
    return part, function.gives  # type: ignore[return-value]


def _read_filter(read: ExpressionReader, node: exp.Filter) -> Expression:
    read.allow_only(node, "this", "expression")
    aggregate = read.value(node.this)
    if not isinstance(aggregate, Aggregate):
        read.refuse(
            "FILTER stands after a figure of many rows",
            node,
            "count(*) FILTER (WHERE type = 'person')",
        )
    return replace(aggregate, where=read.condition(node.expression.this))


READERS: dict[str, NodeReader] = {"Filter": _read_filter}
