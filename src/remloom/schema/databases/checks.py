"""Which values a column may have, out of the CHECK constraints that say so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp


def allowed_values(sql: str, dialect: str) -> dict[str, tuple[str, ...]]:
    """Find the columns that a CHECK holds to a list of texts, by name in small letters.

    Args:
        sql: a CREATE TABLE, or the condition of a CHECK alone.
        dialect: "sqlite", "postgres", "mysql" or "duckdb".

    >>> allowed_values("status IN ('new', 'won')", "sqlite")
    {'status': ('new', 'won')}
    >>> allowed_values("a IN ('x') OR b > 3", "sqlite")
    {}
    """
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    is_table = sql.lstrip()[:6].upper() == "CREATE"
    try:
        tree = parse_one(sql if is_table else f"SELECT 1 WHERE {sql}", dialect=dialect)
    except (SqlglotError, RecursionError):
        # what cannot be read says nothing
        return {}
    if is_table:
        conditions = [node.this for node in tree.find_all(exp.CheckColumnConstraint, exp.Check)]
    else:
        conditions = [tree.args["where"].this]
    found: dict[str, tuple[str, ...]] = {}
    for condition in conditions:
        for part in _conjuncts(condition):
            column, values = _listed(part)
            if column and values:
                found[column.casefold()] = values
    return found


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    from sqlglot import exp

    inner = condition.unnest()
    if isinstance(inner, exp.And):
        yield from _conjuncts(inner.left)
        yield from _conjuncts(inner.right)
    else:
        yield inner


def _listed(condition: exp.Expr) -> tuple[str, tuple[str, ...]]:
    """The column and values of `a IN ('x', 'y')`, `a = ANY (ARRAY['x', 'y'])`, or of one such or
    `a IS NULL`."""
    from sqlglot import exp

    if isinstance(condition, exp.Or):
        sides = [condition.left.unnest(), condition.right.unnest()]
        lists = [side for side in sides if not isinstance(side, exp.Is)]
        return _listed(lists[0]) if len(lists) == 1 else ("", ())
    if isinstance(condition, exp.In):
        column, listed = condition.this, condition.expressions
    elif isinstance(condition, exp.EQ) and isinstance(condition.expression, exp.Any):
        array = condition.expression.find(exp.Array)
        column, listed = condition.this, array.expressions if array else []
    else:
        return "", ()
    name = column.find(exp.Column)
    values = [_text(value) for value in listed]
    if name is None or not values or None in values:
        return "", ()
    return name.name, tuple(value for value in values if value is not None)


def _text(value: exp.Expr) -> str | None:
    """A text that may stand inside casts and character sets."""
    from sqlglot import exp

    while isinstance(value, exp.Cast | exp.Paren | exp.Introducer):
        value = value.expression if isinstance(value, exp.Introducer) else value.this
    return value.this if isinstance(value, exp.Literal) and value.is_string else None
