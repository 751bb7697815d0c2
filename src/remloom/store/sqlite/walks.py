"""Walks along edges, breadth first, over label numbers."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from ...model import Direction
from ..contract import EdgeOrder, Step, Walk
from .edge_sql import Fetch, ends
from .graph import Graph
from .seen import Near

if TYPE_CHECKING:
    import apsw

__all__ = ["walk"]

_around = msgspec.json.Decoder(tuple[list[int], list[Any]]).decode


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
        fetch = Fetch(order, graph.rel_numbers(cursor, rel_types), breadth, as_of)
        look = _Look(graph, cursor, fetch, ends(direction))
        families, around = graph.seen.families, look.around
        frontier: list[int] = []
        origin: dict[int, int] = {}  # every label seen -> that it was reached from; 0: none
        beginning = graph.lids(cursor, starts)
        graph.know_families(cursor, beginning)
        for node in beginning:
            if node not in origin:
                origin.update(dict.fromkeys((node, *families.get(node, ())), 0))
                frontier.append(node)
        reached: list[int] = []
        by: list[Any] = []  # what the order goes by, of the edge that reached each
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
                        if aliased:  # a record is reached once, under whichever label
                            for label in families.get(other, ()):
                                origin.setdefault(label, node)
            frontier = reached[known:]
            if frontier:
                deepest = level
        steps = tuple([_step(graph, cursor, reached[place], origin) for place in fetch.ranked(by, limit)])
        return Walk(steps, len(reached), unfollowed, deepest)


def _step(graph: Graph, cursor: apsw.Cursor, label: int, origin: dict[int, int]) -> Step:
    path = [label]
    while before := origin[path[-1]]:
        path.append(before)
    path.reverse()
    keys = tuple([graph.key(cursor, lid) for lid in path])
    return Step(keys[-1], len(keys) - 1, keys)


class _Look:
    """What is around nodes, by one fetch from the same ends; nothing is kept of the past."""

    def __init__(self, graph: Graph, cursor: apsw.Cursor, fetch: Fetch, ends: tuple[str, ...]) -> None:
        self._graph = graph
        self._cursor = cursor
        self._fetch = fetch
        self._ends = ends
        place = "".join(fetch.around[end] for end in ends)
        self.around: dict[int, Near] = graph.seen.near.setdefault(place, {}) if fetch.as_of is None else {}

    def learn(self, nodes: Sequence[int]) -> None:
        """Learn where the edges of these nodes lead, of those that are not in `around` yet."""
        missing = [node for node in nodes if node not in self.around]
        if not missing:
            return
        graph, cursor, fetch = self._graph, self._cursor, self._fetch
        families = graph.seen.families
        lids = str(sorted({lid for node in missing for lid in (node, *families.get(node, ()))}))
        found: dict[tuple[int, str], tuple[list[int], list[Any]]] = {}
        for end in self._ends:
            rows = cursor.execute(fetch.around[end], (fetch.at, lids))
            here = {(lid, end): _around(both) for lid, both in rows}
            full = [lid for (lid, _), (others, _) in here.items() if len(others) == fetch.limit]
            graph.know_degrees(cursor, full, end, fetch)  # beyond what was fetched there may be more
            found.update(here)
        if graph.seen.aliased:
            graph.know_families(cursor, [other for others, _ in found.values() for other in others])
        for node in missing:
            parts = [(lid, end) for lid in (node, *families.get(node, ())) for end in self._ends]
            total = 0
            others: list[int] = []
            values: list[Any] = []
            for lid, end in parts:
                more, by = found[lid, end]
                total += graph.degree(cursor, lid, end, fetch) if len(more) == fetch.limit else len(more)
                others, values = others + more, values + by
            if len(parts) > 1:
                best = fetch.ranked(values, fetch.limit)
                others, values = [others[place] for place in best], [values[place] for place in best]
            aliased = any(other in families for other in others) if families else False
            kept = array("q", values) if fetch.numeric else tuple(values)
            self.around[node] = array("q", others), kept, total - len(others), aliased
            graph.seen.weight += 400 + 16 * len(others)
