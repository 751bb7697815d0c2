"""Walks along edges, breadth first, over label numbers."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from typing import Any

import apsw
import msgspec

from ...results import Walk, WalkStep
from ...specs import WalkSpec
from .edge_queries import Statements, ends_of, fetch_for, has_ties, microseconds_at
from .label_numbers import LabelNumbers, Neighbours

_Lists = list[list[Any]]  # labels at the far ends, what the order goes by, what tells ties apart
_decode_lists = msgspec.json.Decoder(_Lists).decode


def walk(labels: LabelNumbers, cursor: apsw.Cursor, spec: WalkSpec) -> Walk:
    """Walk from some labels. See `components.Graph.walk`."""
    neighbourhood = _Neighbourhood(labels, cursor, spec)
    aliases, neighbours = labels.cache.aliases, neighbourhood.neighbours
    frontier: list[int] = []
    # every label met -> the one it was reached from; 0 for a start, and for what nothing may reach
    origin = dict.fromkeys(labels.cache.expired, 0)
    starts = labels.find(cursor, spec.starts)
    labels.load_aliases(cursor, starts)
    for node in starts:
        if node not in origin:
            origin.update(dict.fromkeys((node, *aliases.get(node, ())), 0))
            frontier.append(node)
    reached: list[int] = []
    # what the order goes by, of the edge that reached each
    by: list[Any] = []
    unfollowed = level = deepest = 0
    while frontier and level < spec.depth:
        level += 1
        reached_before = len(reached)
        neighbourhood.load(frontier)
        for node in frontier:
            others, values, beyond, has_aliases = neighbours[node]
            unfollowed += beyond
            for other, value in zip(others, values, strict=True):
                if other not in origin:
                    origin[other] = node
                    reached.append(other)
                    by.append(value)
                    # a record is reached once, under whichever label
                    if has_aliases:
                        for alias in aliases.get(other, ()):
                            origin.setdefault(alias, node)
        frontier = reached[reached_before:]
        if frontier:
            deepest = level
    first = neighbourhood.fetch.ranked(by, spec.limit)
    steps = tuple([_step(labels, cursor, reached[position], origin) for position in first])
    return Walk(steps, len(reached), unfollowed, deepest)


def _step(
    labels: LabelNumbers, cursor: apsw.Cursor, label_no: int, origin: dict[int, int]
) -> WalkStep:
    path = [label_no]
    while before := origin[path[-1]]:
        path.append(before)
    path.reverse()
    keys = tuple([labels.key(cursor, number) for number in path])
    return WalkStep(keys[-1], len(keys) - 1, keys)


class _Neighbourhood:
    """Where the edges of nodes lead, for one walk; what is in force now is cached for the next."""

    def __init__(self, labels: LabelNumbers, cursor: apsw.Cursor, spec: WalkSpec) -> None:
        now = spec.as_of is None
        types = labels.edge_type_numbers(cursor, spec.rel_types)
        self.fetch = fetch = fetch_for(spec.order, types, spec.breadth, now)
        self._labels = labels
        self._cursor = cursor
        self._ends = ends_of(spec.direction)
        self._at = microseconds_at(spec.as_of)
        self.neighbours: dict[int, Neighbours] = {}
        if now:
            by_fetch = labels.cache.neighbours
            self.neighbours = by_fetch.setdefault((fetch, spec.direction), {})

    def load(self, nodes: Sequence[int]) -> None:
        """Load where the edges of these nodes lead, of those that are not in `neighbours` yet."""
        node_labels = self._labels_of(nodes)
        if not node_labels:
            return
        lists = self._lists(node_labels, self.fetch.quick)
        # Only where edges tie are the keys looked up that tell which comes first.
        tied = {node: node_labels[node] for node, columns in lists.items() if self._ties(columns)}
        if tied:
            lists |= self._lists(tied, self.fetch.exact)
        limit, cache = self.fetch.limit, self._labels.cache
        self._load_degrees(
            [
                label_no
                for node, (others, *_) in lists.items()
                if len(others) > limit
                for label_no in node_labels[node]
            ]
        )
        if cache.has_aliases:
            reached = [other for others, *_ in lists.values() for other in others]
            self._labels.load_aliases(self._cursor, reached)
        for node, (others, values, *_) in lists.items():
            beyond = 0
            if len(others) > limit:
                others, values = others[:limit], values[:limit]
                beyond = self._degree(node_labels[node]) - limit
            has_aliases = (
                any(other in cache.aliases for other in others) if cache.aliases else False
            )
            compact = array("q", values) if self.fetch.by_time else tuple(values)
            self.neighbours[node] = array("q", others), compact, beyond, has_aliases
            cache.weight += 400 + 16 * len(others)

    def _labels_of(self, nodes: Sequence[int]) -> dict[int, Collection[int]]:
        """Return all labels of the records of the nodes that are not loaded, in key order."""
        aliases = self._labels.cache.aliases
        return {
            node: self._labels.sort_by_key(self._cursor, (node, *aliases[node]))
            if node in aliases
            else (node,)
            for node in nodes
            if node not in self.neighbours
        }

    def _ties(self, columns: _Lists) -> bool:
        _, by, *ties = columns
        return has_ties(by if self.fetch.by_time else [*zip(by, *ties, strict=True)])

    def _load_degrees(self, label_nos: Sequence[int]) -> None:
        for end in self._ends:
            self._labels.load_degrees(self._cursor, label_nos, end, self.fetch)

    def _degree(self, label_nos: Collection[int]) -> int:
        total = 0
        for label_no in label_nos:
            for end in self._ends:
                total += self._labels.degree(self._cursor, label_no, end, self.fetch, self._at)
        return total

    def _lists(
        self, node_labels: dict[int, Collection[int]], statements: Statements
    ) -> dict[int, _Lists]:
        """Fetch what `statements.neighbours` gives for each node, over all its labels and ends."""
        label_nos = {label_no for numbers in node_labels.values() for label_no in numbers}
        by_end: dict[str, dict[int, _Lists]] = {}
        for end in self._ends:
            values = (self._at, str(sorted(label_nos)))
            rows = self._cursor.execute(statements.neighbours[end], values)
            by_end[end] = {label_no: _decode_lists(lists) for label_no, lists in rows}
        merged = {}
        for node, numbers in node_labels.items():
            parts = [by_end[end][label_no] for end in self._ends for label_no in numbers]
            merged[node] = parts[0]
            if len(parts) > 1:
                rows = (row for part in parts for row in zip(*part, strict=True))
                ordered = self.fetch.merged(rows, 1)
                merged[node] = [[*column] for column in zip(*ordered, strict=True)] or parts[0]
        return merged
