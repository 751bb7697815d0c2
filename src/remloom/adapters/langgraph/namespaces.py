"""Listing the namespaces that have items."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from langgraph.store.base import ListNamespacesOp, MatchCondition

from ...memory import Memory
from ...predicates import Query
from .address import MARK, Namespace, id_of, items_range, namespace_of, namespace_range
from .items import CATEGORY, item_of

_PAGE = 128  # namespaces that are asked for at once
_ANY = "*"


def list_namespaces(memory: Memory, op: ListNamespacesOp) -> list[Namespace]:
    """List the namespaces that match, in the order of their paths, each once."""
    found = _distinct(memory, op)
    return list(islice(found, op.offset, op.offset + op.limit))


def _distinct(memory: Memory, op: ListNamespacesOp) -> Iterator[Namespace]:
    conditions = op.match_conditions or ()
    seen: set[Namespace] = set()
    for namespace in _walk(memory, _common_prefix(conditions)):
        if not all(_matches(condition, namespace) for condition in conditions):
            continue
        shown = namespace[: op.max_depth]
        if shown not in seen:
            seen.add(shown)
            yield shown


def _walk(memory: Memory, prefix: Namespace) -> Iterator[Namespace]:
    """Yield each namespace that begins so and has items: the first item of each tells."""
    rest = namespace_range(prefix)
    while True:
        first_names = memory.admin.store.records.first_names(
            CATEGORY, first=rest.first, end=rest.end, mark=MARK, limit=_PAGE
        )
        for name, id in first_names:
            of_one = namespace_of(name)
            # a caller that writes a resource of such a name has another id for it
            if of_one is not None and (id == id_of(name) or _has_items(memory, of_one)):
                yield of_one
        if len(first_names) < _PAGE:
            return
        rest = rest.behind(first_names[-1][0])


def _has_items(memory: Memory, namespace: Namespace) -> bool:
    """Whether a namespace has items among other resources."""
    query = Query().filter(items_range(namespace).predicate).order_by("name").limit(_PAGE)
    skip = 0
    while page := memory.query_resources(query.offset(skip)):
        if any(item_of(record) for record in page):
            return True
        skip += len(page)
    return False


def _common_prefix(conditions: tuple[MatchCondition, ...]) -> Namespace:
    """The longest beginning without a wildcard that all that is asked for has."""
    prefixes: list[Namespace] = [()]
    for condition in conditions:
        if condition.match_type == "prefix":
            path = tuple(condition.path)
            prefixes.append(path[: path.index(_ANY)] if _ANY in path else path)
    return max(prefixes, key=len)


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)]
    if condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :]
    return all(expected in (_ANY, label) for expected, label in zip(path, part, strict=True))
