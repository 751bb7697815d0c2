"""CASE and IF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .coercion import compare, unify
from .nodes import NodeReader
from .values import Case, Expression

if TYPE_CHECKING:
    from sqlglot import exp

    from .expressions import ExpressionReader


def _read_case(read: ExpressionReader, node: exp.Case) -> Expression:
    read.allow_only(node, "this", "ifs", "default")
    conditions = _read_conditions(read, node)
    arms = node.args["ifs"]
    results = [read.value(arm.args["true"]) for arm in arms]
    default = node.args.get("default")
    if default is not None:
        results.append(read.value(default))
    # all arms give one type
    results = unify(results)
    otherwise = None if default is None else results[-1]
    # the last result may be that of ELSE, which has no condition
    whens = tuple(zip(conditions, results, strict=False))
    return Case(whens, otherwise, results[0].type)


def _read_conditions(read: ExpressionReader, node: exp.Case) -> list[Expression]:
    """The conditions after WHEN; with a subject (CASE x WHEN 1 …) they compare it."""
    arms = node.args["ifs"]
    subject = node.args.get("this")
    if subject is None:
        return [read.condition(arm.this) for arm in arms]
    value = read.value(subject)
    return [compare("=", value, read.value(arm.this)) for arm in arms]


def _read_if(read: ExpressionReader, node: exp.If) -> Expression:
    read.allow_only(node, "this", "true", "false")
    results = [read.value(node.args["true"])]
    if node.args.get("false") is not None:
        results.append(read.value(node.args["false"]))
    results = unify(results)
    result = results[0]
    otherwise = results[1] if len(results) > 1 else None
    arm = (read.condition(node.this), result)
    return Case((arm,), otherwise, result.type)


READERS: dict[str, NodeReader] = {"Case": _read_case, "If": _read_if}
