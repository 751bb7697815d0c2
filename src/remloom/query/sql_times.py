"""Times in a SELECT: what is compared with a time means an instant, in whatever way it is written.

A store shows its times as text (`2026-01-31T10:00:00Z`), which is ordered only if everything is spelled like that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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

    comparisons = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In)
    for node in list(select.find_all(*comparisons)):
        operands = list(_operands(node))
        column = next((each for each in operands if isinstance(each, exp.Column) and each.name.lower() in TIMES), None)
        if column is None:
            continue
        for operand in operands:
            if isinstance(operand, exp.Literal) and operand.is_string:
                operand.replace(exp.Literal.string(_spelled(column.name, operand.name, _bound(node, operand))))
            elif _is_clock(operand) and column.parent is node:
                # SQLite's own times have a space in the middle and no zone: both sides are made such.
                column.replace(exp.Anonymous(this="DATETIME", expressions=[column.copy()]))


def _operands(node: exp.Condition) -> Iterator[exp.Condition]:
    for name in ("this", "expression", "low", "high"):
        if (operand := node.args.get(name)) is not None:
            yield operand
    yield from node.args.get("expressions") or ()


def _bound(node: exp.Condition, operand: exp.Condition) -> bool:
    """Whether the operand is where a range begins, or what it ends before."""
    from sqlglot import exp

    if isinstance(node, exp.Between):
        return operand is node.args["low"]
    return isinstance(node, exp.GTE | exp.LT if operand is node.args.get("expression") else exp.LTE | exp.GT)


def _spelled(column: str, text: str, bound: bool) -> str:
    """A time as the stores show it. A bound has no Z, for `10:00:00.5Z` is sorted before `10:00:00Z`."""
    if _PREFIX.fullmatch(text):
        return text
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInputError(
            f"{column} is a time, {text!r} is none", remedy="write '2025-01-31' or '2025-01-31T10:00:00Z'"
        ) from None
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return at.isoformat().removesuffix("+00:00") + ("" if bound else "Z")


def _is_clock(node: exp.Condition) -> bool:
    """Whether it is a date with a time of the day, computed."""
    from sqlglot import exp

    if isinstance(node, exp.Cast):
        return bool(node.to.is_type("timestamp", "datetime"))
    named = isinstance(node, exp.Anonymous) and node.name.lower() == "datetime"
    return named or isinstance(node, exp.Datetime | exp.CurrentTimestamp)
