"""Comparisons and what joins them: =, <, IN, ANY, BETWEEN, IS, AND, OR, NOT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .coercion import as_condition, compare, not_distinct
from .containment import contains
from .nodes import NodeReader, strip_brackets
from .values import (
    And,
    AnyOf,
    Compare,
    Expression,
    IsNull,
    IsTrue,
    Not,
    Operator,
    Or,
    Value,
)

if TYPE_CHECKING:
    from sqlglot import exp

    from .expressions import ExpressionReader


MAX_LISTED = 1_000  # values of an IN
_OPERATORS: dict[str, Operator] = {
    "EQ": "=",
    "NEQ": "<>",
    "GT": ">",
    "GTE": ">=",
    "LT": "<",
    "LTE": "<=",
}


def _read_comparison(read: ExpressionReader, node: Any) -> Expression:
    from sqlglot import exp

    read.allow_only(node, "this", "expression")
    operator = _OPERATORS[type(node).__name__]
    left, right = node.this, node.expression
    for side, other in ((left, right), (right, left)):
        if isinstance(side, exp.Any):
            if operator != "=":
                read.refuse("ANY stands after =", node, "'x' = ANY(topic_tags)")
            among = strip_brackets(side.this)
            return _read_any(read, read.value(other), among, node)
    return compare(operator, read.value(left), read.value(right))


def _read_any(
    read: ExpressionReader,
    value: Expression,
    among: Any,
    node: Any,
) -> Expression:
    """`value = ANY(…)` of a list that is written out, or of a column."""
    from sqlglot import exp

    if isinstance(among, exp.Array | exp.Tuple):
        return _read_among(read, value, among.expressions, node)
    if not isinstance(value, Value):
        read.refuse("ANY takes a literal before it", node, "'x' = ANY(topic_tags)")
    return contains(read.value(among), value)


def _read_in(read: ExpressionReader, node: exp.In) -> Expression:
    # IN (SELECT …), IN column, IN UNNEST(…)
    other_forms = ("query", "field", "unnest")
    if any(node.args.get(form) for form in other_forms):
        read.refuse("IN takes a list in brackets", node, "category IN ('note', 'report')")
    read.allow_only(node, "this", "expressions")
    return _read_among(read, read.value(node.this), node.expressions, node)


def _read_among(
    read: ExpressionReader,
    value: Expression,
    listed: Sequence[Any],
    node: Any,
) -> Expression:
    if len(listed) > MAX_LISTED:
        read.refuse(
            f"IN may list {MAX_LISTED:,} values, this lists {len(listed):,}",
            node,
            "ask several times",
        )
    if not listed:
        read.refuse("IN lists nothing", node, "category IN ('note', 'report')")
    comparisons = [compare("=", value, read.value(other)) for other in listed]
    return _as_any_of(comparisons) or Or(tuple(comparisons))


def _as_any_of(comparisons: Sequence[Expression]) -> AnyOf | None:
    """One condition for comparisons of one value with literals of one type, else None."""
    first = comparisons[0]
    if not isinstance(first, Compare):
        return None
    literals: list[Value] = []
    for comparison in comparisons:
        if not isinstance(comparison, Compare) or comparison.left != first.left:
            return None
        if not isinstance(comparison.right, Value):
            return None
        literals.append(comparison.right)
    if len({literal.type for literal in literals}) > 1:
        return None
    return AnyOf(first.left, tuple(dict.fromkeys(literals)))


def _read_between(read: ExpressionReader, node: exp.Between) -> Expression:
    read.allow_only(node, "this", "low", "high")
    value = read.value(node.this)
    low = read.value(node.args["low"])
    high = read.value(node.args["high"])
    return And((compare(">=", value, low), compare("<=", value, high)))


def _read_connector(read: ExpressionReader, node: exp.Connector) -> Expression:
    """A row of ANDs or of ORs, which the parser nests to the left."""
    kind = type(node)
    sides: list[Expression] = []
    waiting: list[Any] = [node]
    # without recursion: a row may be longer than Python's stack is deep
    while waiting:
        part = waiting.pop()
        if type(part) is kind:
            waiting += [part.expression, part.this]
        else:
            sides.append(as_condition(read.value(part)))
    parts = tuple(sides)
    return And(parts) if kind.__name__ == "And" else Or(parts)


def _read_not(read: ExpressionReader, node: exp.Not) -> Expression:
    read.allow_only(node, "this")
    part = as_condition(read.value(node.this))
    # The parser has `x IS NOT NULL` as the NOT of `x IS NULL`.
    if isinstance(part, IsNull):
        return IsNull(part.part, not part.negated)
    return Not(part)


def _read_distinct(read: ExpressionReader, node: Any) -> Expression:
    """IS NOT DISTINCT FROM, or IS DISTINCT FROM."""
    read.allow_only(node, "this", "expression")
    left = read.value(node.this)
    right = read.value(node.expression)
    equal = not_distinct(left, right)
    return equal if type(node).__name__ == "NullSafeEQ" else Not(equal)


def _read_is(read: ExpressionReader, node: exp.Is) -> Expression:
    read.allow_only(node, "this", "expression", "negate")
    negated = bool(node.args.get("negate"))
    right = read.value(node.expression)
    left = read.value(node.this)
    if isinstance(right, Value) and right.value is None:
        return IsNull(left, negated)
    if isinstance(right, Value) and right.type == "boolean":
        part = as_condition(left)
        return IsTrue(part if right.value else Not(part), negated)
    equal = not_distinct(left, right)
    return Not(equal) if negated else equal


READERS: dict[str, NodeReader] = {
    "And": _read_connector,
    "Between": _read_between,
    "In": _read_in,
    "Is": _read_is,
    "Not": _read_not,
    "NullSafeEQ": _read_distinct,
    "NullSafeNEQ": _read_distinct,
    "Or": _read_connector,
    **dict.fromkeys(_OPERATORS, _read_comparison),
}
