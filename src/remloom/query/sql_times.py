"""Times in a SELECT: what is compared with a time means an instant, in whatever way it is written.

A store shows its times as text (`2026-01-31T10:00:00Z`), which is ordered only if everything is spelled like that.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..errors import InvalidInputError

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["spell_times"]

TIMES = frozenset(
    {"created_at", "updated_at", "starts_at", "ends_at", "resource_timestamp", "resource_ends_timestamp"}
)  # columns

_PREFIX = re.compile(r"\d{4}(-\d\d)?")  # a year or a month, ordered as text like the times that begin with it


def spell_times(select: exp.Select) -> None:
    """Rewrite, in place, what time columns are compared with.

    Raises:
        InvalidInputError: a text that is no time.
    """
    from sqlglot import exp

    for between in list(select.find_all(exp.Between)):
        column = between.this
        if _is_time(column):
            low = exp.GTE(this=column, expression=between.args["low"])
            between.replace(exp.paren(exp.and_(low, exp.LTE(this=column.copy(), expression=between.args["high"]))))
    for node in list(select.find_all(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)):
        for column, operand in ((node.this, node.expression), (node.expression, node.this)):
            if _is_time(column):
                if isinstance(operand, exp.Literal) and operand.is_string:
                    node.replace(
                        _compared(type(node) if column is node.this else _mirrored(node), column, operand.name)
                    )
                elif _is_clock(operand):
                    # SQLite's own times have a space in the middle and no zone: both sides are made such.
                    column.replace(exp.Anonymous(this="DATETIME", expressions=[column.copy()]))
                break
    for among in select.find_all(exp.In):
        if _is_time(among.this):
            for operand in among.expressions:
                if isinstance(operand, exp.Literal) and operand.is_string:
                    operand.replace(exp.Literal.string(_spelled(among.this.name, operand.name)))


def _compared(kind: type[exp.Binary], column: exp.Column, text: str) -> exp.Condition:
    """A time column compared with a time. `10:00:00.5Z` stands before `10:00:00Z`, but after `10:00:00`, the bound."""
    from sqlglot import exp

    exact = _spelled(column.name, text)
    bound = exp.Literal.string(exact.removesuffix("Z"))
    since, before = exp.GTE(this=column, expression=bound), exp.LT(this=column, expression=bound)
    at = {"this": column.copy(), "expression": exp.Literal.string(exact)}
    if kind is exp.GTE:
        return since
    if kind is exp.LT:
        return before
    if kind is exp.GT:
        return exp.paren(exp.and_(since, exp.NEQ(**at)))
    if kind is exp.LTE:
        return exp.paren(exp.or_(before, exp.EQ(**at)))
    return kind(**at)


def _mirrored(node: exp.Binary) -> type[exp.Binary]:
    """The comparison that says the same with its sides exchanged."""
    from sqlglot import exp

    kinds: dict[type[exp.Binary], type[exp.Binary]] = {
        exp.GT: exp.LT,
        exp.LT: exp.GT,
        exp.GTE: exp.LTE,
        exp.LTE: exp.GTE,
    }
    return kinds.get(type(node), type(node))


def _is_time(node: object) -> bool:
    from sqlglot import exp

    return isinstance(node, exp.Column) and node.name.lower() in TIMES


def _spelled(column: str, text: str) -> str:
    """A time as the stores show it."""
    if _PREFIX.fullmatch(text):
        return text
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInputError(
            f"{column} is a time, {text!r} is none", remedy="write '2025-01-31' or '2025-01-31T10:00:00Z'"
        ) from None
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return at.isoformat().replace("+00:00", "Z")


def _is_clock(node: exp.Condition) -> bool:
    """Whether it is a date with a time of the day, computed."""
    from sqlglot import exp

    if isinstance(node, exp.Cast):
        return bool(node.to.is_type("timestamp", "datetime"))
    named = isinstance(node, exp.Anonymous) and node.name.lower() == "datetime"
    return named or isinstance(node, exp.Datetime | exp.CurrentTimestamp)
