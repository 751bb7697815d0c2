"""The order of the nodes of a TRAVERSE: by a field of their records, or each branch to its end."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Protocol, TypeVar

from ..model import Entity, Node, Resource


class _Placed(Protocol):
    @property
    def path(self) -> tuple[str, ...]: ...


_T = TypeVar("_T", bound=_Placed)


def order_depth_first(reached: Sequence[_T]) -> list[_T]:
    """Order what was reached: each branch to its end before the next, siblings as they are given.

    The same nodes by the same, shortest, paths as in breadth-first order: with a bound on the
    depth, a search that goes deep first would miss what lies behind a node that it reached by a
    longer way.
    """
    children: dict[tuple[str, ...], list[_T]] = {}
    for item in reached:
        children.setdefault(item.path[:-1], []).append(item)
    # The last of the stack comes first.
    starts = [path for path in children if len(path) == 1]
    stack = [item for start in reversed(starts) for item in reversed(children[start])]
    ordered: list[_T] = []
    expanded: set[tuple[str, ...]] = set()
    while stack:
        item = stack.pop()
        ordered.append(item)
        # Several records may have one key: what is behind it comes after the last of them.
        has_sibling = bool(stack) and stack[-1].path == item.path
        if item.path not in expanded and not has_sibling:
            expanded.add(item.path)
            stack += reversed(children.get(item.path, ()))
    return ordered


def order_by_field(nodes: Sequence[Node], field: str, *, descending: bool) -> list[Node]:
    """Order by a field of the record; those without it last, ties as they were reached."""
    valued: list[tuple[Any, Node]] = []
    unset: list[Node] = []
    for node in nodes:
        value = _field_value(node, field)
        if value in (None, ""):
            unset.append(node)
        else:
            valued.append((value, node))
    # by the value alone: equal ones stay as they were reached
    valued.sort(key=itemgetter(0), reverse=descending)
    return [node for _, node in valued] + unset


def _field_value(node: Node, field: str) -> Any:
    record = node.record
    if field in ("type", "category"):
        return record.category if isinstance(record, Resource) else record.type
    if field == "starts_at" and isinstance(record, Entity):
        return None
    value = getattr(record, field)
    return value.casefold() if field == "name" else value
