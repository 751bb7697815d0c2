"""Walks along edges, breadth first, over label numbers."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ...model import Direction
from ..contract import EdgeOrder, Step, Walk
from .edge_queries import Fetch, Statements, ends, fetch_of, instant, tied
from .graph import Graph
from .graph_cache import Near

if TYPE_CHECKING:
    import apsw

__all__ = ["walk"]

_Lists = list[list[Any]]  # labels at the other ends, what the order goes by, what tells ties apart
_lists = msgspec.json.Decoder(_Lists).decode


def walk(
    graph: Graph,
    starts: Sequence[str],
    rel_types: Sequence[str] | None,
    direction: Direction,
    depth: int,
    breadth: int | None,
    order: EdgeOrder,
    limit: int | None,
    as_of: datetime | None,
) -> Walk:
    """What `contract.Store.walk` promises."""
    with graph.seen.reading() as cursor:
        fetch = fetch_of(order, graph.rel_numbers(cursor, rel_types), breadth, as_of is None)
        look = _Look(graph, cursor, direction, fetch, instant(as_of))
        families, around = graph.seen.families, look.around
        frontier: list[int] = []
        # every label seen -> that it was reached from; 0: none
        origin: dict[int, int] = {}
        beginning = graph.lids(cursor, starts)
        graph.know_families(cursor, beginning)
        for node in beginning:
            if node not in origin:
                origin.update(dict.fromkeys((node, *families.get(node, ())), 0))
                frontier.append(node)
        reached: list[int] = []
        # what the order goes by, of the edge that reached each
        by: list[Any] = []
        unfollowed = level = deepest = 0
        while frontier and level < depth:
            level += 1
            known = len(reached)
            look.learn(frontier)
            for node in frontier:
                others, values, beyond, aliased = around[node]
                unfollowed += beyond
                for other, value in zip(others, values, strict=True):
                    if other not in origin:
                        origin[other] = node
                        reached.append(other)
                        by.append(value)
                        # a record is reached once, under whichever label
                        if aliased:
                            for label in families.get(other, ()):
                                origin.setdefault(label, node)
            frontier = reached[known:]
            if frontier:
                deepest = level
        steps = tuple(
            [_step(graph, cursor, reached[place], origin) for place in fetch.ranked(by, limit)]
        )
        return Walk(steps, len(reached), unfollowed, deepest)


def _step(graph: Graph, cursor: apsw.Cursor, label: int, origin: dict[int, int]) -> Step:
    path = [label]
    while before := origin[path[-1]]:
        path.append(before)
    path.reverse()
    keys = tuple([graph.key(cursor, lid) for lid in path])
    return Step(keys[-1], len(keys) - 1, keys)


class _Look:
    """What is around nodes, by one fetch in the same direction; nothing is kept of the past."""

    def __init__(
        self, graph: Graph, cursor: apsw.Cursor, direction: Direction, fetch: Fetch, at: int
    ) -> None:
        self._graph = graph
        self._cursor = cursor
        self._ends = ends(direction)
        self._fetch = fetch
        self._at = at
        self.around: dict[int, Near] = (
            graph.seen.near.setdefault((fetch, direction), {}) if fetch.now else {}
        )

    def learn(self, nodes: Sequence[int]) -> None:
        """Learn where the edges of these nodes lead, of those that are not in `around` yet."""
        graph, cursor, fetch = self._graph, self._cursor, self._fetch
        families = graph.seen.families
        # node -> all of its record, in the order of their keys
        labels: dict[int, Collection[int]] = {}
        for node in nodes:
            if node not in self.around:
                labels[node] = (
                    graph.by_key(cursor, (node, *families[node])) if node in families else (node,)
                )
        if not labels:
            return
        found = self._lists(labels, fetch.quick)
        alike = [
            node
            for node, (_, *by) in found.items()
            if tied(by[0] if fetch.by_time else [*zip(*by, strict=True)])
        ]
        if alike:
            found |= self._lists({node: labels[node] for node in alike}, fetch.exact)
        more = [
            lid
            for node, (others, *_) in found.items()
            if len(others) > fetch.limit
            for lid in labels[node]
        ]
        for end in self._ends:
            graph.know_degrees(cursor, more, end, fetch)
        if graph.seen.aliased:
            graph.know_families(
                cursor, [other for others, *_ in found.values() for other in others]
            )
        for node, (others, values, *_) in found.items():
            beyond = 0
            if len(others) > fetch.limit:
                others, values, beyond = others[: fetch.limit], values[: fetch.limit], -fetch.limit
                for lid in labels[node]:
                    for end in self._ends:
                        beyond += graph.degree(cursor, lid, end, fetch, self._at)
            aliased = any(other in families for other in others) if families else False
            kept = array("q", values) if fetch.by_time else tuple(values)
            self.around[node] = array("q", others), kept, beyond, aliased
            graph.seen.weight += 400 + 16 * len(others)

    def _lists(
        self, labels: dict[int, Collection[int]], statements: Statements
    ) -> dict[int, _Lists]:
        """What `statements.around` gives for each node, over all its labels and ends."""
        wanted = str(sorted({lid for lids in labels.values() for lid in lids}))
        found: dict[str, dict[int, _Lists]] = {}
        for end in self._ends:
            rows = self._cursor.execute(statements.around[end], (self._at, wanted))
            found[end] = {lid: _lists(lists) for lid, lists in rows}
        merged = {}
        for node, lids in labels.items():
            parts = [found[end][lid] for end in self._ends for lid in lids]
            merged[node] = parts[0]
            if len(parts) > 1:
                rows = self._fetch.merged(
                    (row for part in parts for row in zip(*part, strict=True)), 1
                )
                merged[node] = [[*column] for column in zip(*rows, strict=True)] or parts[0]
        return merged
