"""Listing the namespaces that have items."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from langgraph.store.base import ListNamespacesOp, MatchCondition

from ...memory import Memory
from ...predicates import Query
from .address import AddressRange, Namespace, namespace_range
from .items import item_of

__all__ = ["list_namespaces"]

_PAGE = 64  # items looked at before the rest of a namespace is leapt over, at most
_ANY = "*"


def list_namespaces(memory: Memory, op: ListNamespacesOp) -> list[Namespace]:
    """List the namespaces that match, in the order of their paths, each once."""
    found = _distinct(memory, op)
    return list(islice(found, op.offset, op.offset + op.limit))


def _distinct(memory: Memory, op: ListNamespacesOp) -> Iterator[Namespace]:
    conditions = op.match_conditions or ()
    given: set[Namespace] = set()
    for namespace in _walk(memory, _common_prefix(conditions)):
        if not all(_matches(condition, namespace) for condition in conditions):
            continue
        shown = namespace[: op.max_depth]
        if shown not in given:
            given.add(shown)
            yield shown


def _walk(memory: Memory, prefix: Namespace) -> Iterator[Namespace]:
    """Yield each namespace that begins so and has items.

    The items of one follow each other, so each page of them ends with a leap to the next namespace.
    """
    rest = namespace_range(prefix)
    last: Namespace | None = None
    size = 1
    while True:
        query = Query().filter(rest.predicate).order_by("name")
        page = memory.query_resources(query.limit(size))
        new = 0
        for record in page:
            item = item_of(record)
            if item is not None and item.namespace != last:
                last = item.namespace
                new += 1
                yield last
        if len(page) < size:
            return
        rest = _behind(rest, page[-1].name, last)
        # as long as each item is of another namespace, more are looked at
        size = min(2 * size, _PAGE) if new == len(page) else 1


def _behind(rest: AddressRange, name: str, namespace: Namespace | None) -> AddressRange:
    """What follows the last record of a page: the next namespace, or else the next name."""
    leapt = rest.after(namespace) if namespace else rest
    following = f"{name}\x01"
    return leapt if leapt.first > following else rest._replace(first=following)


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
    return all(wanted in (_ANY, label) for wanted, label in zip(path, part, strict=True))
