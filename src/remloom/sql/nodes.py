"""Nodes of the parser's tree: their names in SQL, and the nodes within brackets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from .values import Expression

if TYPE_CHECKING:
    from .expressions import ExpressionReader


NodeReader: TypeAlias = Callable[["ExpressionReader", Any], Expression]


def strip_brackets(node: Any) -> Any:
    """The node within any brackets around it."""
    from sqlglot import exp

    # the parser keeps every pair
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def sql_name(node: Any) -> str:
    """Name a node as SQL does: "the function lower", "COLLATE"."""
    from sqlglot import exp

    if isinstance(node, exp.Anonymous):
        return f"the function {str(node.this)[:40]}"
    if isinstance(node, exp.Func):
        return f"the function {node.sql_names()[0].lower()}"
    return str(getattr(node, "key", type(node).__name__)).upper()
