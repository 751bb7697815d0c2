"""TRAVERSE: from the records of a first query along their edges.

Source: seed design 5, "TRAVERSE Query Details". The store walks keys and loads nothing; only the
nodes that the answer keeps are loaded, in one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, TypeVar

from msgspec import Struct

from ..model import (
    MAX_NODE_EDGES,
    Answer,
    Direction,
    EdgeKey,
    Entity,
    Node,
    Record,
    Resource,
    Stage,
    StageCounts,
    TraverseReport,
    TypeCount,
    is_written_after,
)
from ..store.as_of import is_shown, record_at
from ..store.premises import marked
from ..store.results import Walk, WalkStep
from ..store.rules.merge import keys_of
from ..store.specs import NEWEST, EdgeOrder, EdgeSpec, WalkSpec
from .label_resolution import stored_edge_types
from .render import render
from .statements import Traverse
from .traverse_start import Finder, Starts, find_starts

# Of a node's edges one more is loaded than is shown, to know whether there are more.
_LOADED_EDGES = MAX_NODE_EDGES + 1
_MAX_SUMMARY = 200  # edges in `edge_summary`
_EXAMPLES = 3  # of a type that a hub's newest edges would leave out of a PLAN
_MAX_KEYS = 5  # named in `executed`

_Reachable = TypeVar("_Reachable", Node, WalkStep)


def run_traverse(finder: Finder, query: Traverse, as_of: datetime | None = None) -> Answer:
    """The answer of a TRAVERSE.

    `nodes`: the start nodes (depth 0, not counted against LIMIT), then what was reached, in order.
    `stages`: one for each depth, with the nodes kept at it and all edges known by then.
    `edge_summary`: the known edges that match the filter, as (src, type, dst). With depth 0 (PLAN)
    nothing is followed, and the report's `edge_counts` has the complete counts by type and
    direction.

    Raises:
        UnknownNameError: the memory has none of the edge types. Those that it lacks among others
            are in the report, with the nearest.
    """
    starts = find_starts(finder, query.start, edges=_LOADED_EDGES, as_of=as_of)
    # one state of the store for the walk, the loading and the counts
    with finder.store.snapshot():
        return _Traversal(finder, query, starts, as_of).run()


class _Reached(Struct, frozen=True, gc=False):
    """The nodes that a walk reached."""

    nodes: Sequence[Node] = ()  # in order, those that LIMIT keeps
    omitted: int = 0  # nodes beyond LIMIT
    walk: Walk = Walk()


class _Traversal:
    """One TRAVERSE of a store."""

    def __init__(
        self,
        finder: Finder,
        query: Traverse,
        starts: Starts,
        as_of: datetime | None,
    ) -> None:
        self._store = store = finder.store
        self._find_stale = finder.find_stale
        self._query = query
        self._starts = starts
        self._start_keys = list(dict.fromkeys(filter(None, starts.keys)))
        self._as_of = as_of
        stored = stored_edge_types(store, query.edge_types)
        self._types, self._unknown_types = stored.names, stored.unknown
        self._replaced: set[str] = set()  # keys that only texts have which were replaced

    def run(self) -> Answer:
        starts = zip(self._starts.records, self._starts.keys, strict=True)
        start_nodes = [
            self._node(record, 0, (key or keys_of(record)[0],)) for record, key in starts
        ]
        start_keys = self._start_keys
        reached = _Reached()
        if self._query.max_depth and start_keys:
            reached = self._follow(start_keys)
        nodes = [*start_nodes, *reached.nodes]
        # A depth at which LIMIT left nothing has a stage, too.
        by_depth: list[list[Node]] = [[] for _ in range(reached.walk.depth + 1)]
        for node in nodes:
            by_depth[node.depth].append(node)
        new_keys = _new_keys(start_keys, by_depth[1:])
        stages = self._stages(by_depth, new_keys)
        keys = [key for keys_at_depth in new_keys for key in keys_at_depth]
        counts = self._count_edges(keys) if self._query.max_depth == 0 else None
        return Answer(
            query_type="traverse",
            statement=render(self._query),
            suggestions=marked(self._starts.suggestions, self._find_stale),
            nodes=marked(nodes, self._find_stale),
            stages=stages,
            source_nodes=start_keys,
            edge_summary=self._summarize_edges(keys, counts),
            report=self._report(nodes, reached, stages[-1].found.edges, counts),
        )

    # -- the walk ----------------------------------------------------------------------------------

    def _follow(self, start_keys: Sequence[str]) -> _Reached:
        limit = self._query.limit
        side, field, way = self._query.order
        if side == "edge":
            walk, nodes = self._follow_by_edge(start_keys, EdgeOrder(field, way))
        else:
            walk, nodes = self._follow_by_node(start_keys, field, descending=way == "desc")
        start_ids = {record.id for record in self._starts.records}
        nodes = [node for node in nodes if node.id not in start_ids]
        # Several records may have one key, and LIMIT counts them all.
        loaded_keys = len({node.path[-1] for node in nodes})
        omitted = walk.reached - loaded_keys - len(self._replaced) + len(nodes[limit:])
        return _Reached(nodes[:limit], omitted, walk)

    def _follow_by_edge(
        self, start_keys: Sequence[str], order: EdgeOrder
    ) -> tuple[Walk, list[Node]]:
        limit = self._query.limit
        if self._query.strategy == "breadth-first":
            walk = self._walk(start_keys, order, limit)
            nodes = self._load(walk.steps)
            # what was replaced takes no place
            while len(walk.steps) < min(walk.reached, limit + len(self._replaced)):
                walk = self._walk(start_keys, order, limit + len(self._replaced))
                nodes = self._load(walk.steps)
            return walk, nodes
        walk = self._walk(start_keys, order)
        steps = order_depth_first(walk.steps)
        kept = limit
        nodes = self._load(steps[:kept])
        while kept < min(len(steps), limit + len(self._replaced)):
            kept = limit + len(self._replaced)
            nodes = self._load(steps[:kept])
        return walk, nodes

    def _follow_by_node(
        self,
        start_keys: Sequence[str],
        field: str,
        *,
        descending: bool,
    ) -> tuple[Walk, list[Node]]:
        """Nodes in the order of a field: all are loaded to order them, and the kept ones' edges."""
        walk = self._walk(start_keys, NEWEST)
        ordered = order_by_field(self._load(walk.steps, edges=0), field, descending=descending)
        if self._query.strategy == "depth-first":
            ordered = order_depth_first(ordered)
        keys = dict.fromkeys(node.path[-1] for node in ordered)
        kept_keys = list(keys)[: self._query.limit]
        steps = {step.path[-1]: step for step in walk.steps}
        # loaded again, with their edges
        kept = self._load([steps[key] for key in kept_keys])
        by_id = {node.id: node for node in kept}
        return walk, [by_id[node.id] for node in ordered if node.id in by_id]

    def _walk(
        self,
        start_keys: Sequence[str],
        order: EdgeOrder,
        limit: int | None = None,
    ) -> Walk:
        return self._store.graph.walk(
            WalkSpec(
                start_keys,
                rel_types=self._types,
                direction=self._query.direction,
                depth=self._query.max_depth,
                breadth=self._query.fan_out,
                order=order,
                limit=limit,
                as_of=self._as_of,
            )
        )

    def _load(self, steps: Sequence[WalkStep], edges: int = _LOADED_EDGES) -> list[Node]:
        records = self._store.records.lookup(
            [step.key for step in steps], edges=edges, as_of=self._as_of, own=True
        )
        nodes: dict[str, Node] = {}
        for step in steps:
            shown = [one for one in records[step.key] if is_shown(one, self._as_of)]
            if records[step.key] and not shown:
                self._replaced.add(step.key)
            for record in shown:
                if record.id not in nodes:
                    nodes[record.id] = self._node(record, step.depth, step.path)
        return list(nodes.values())

    def _node(self, record: Record, depth: int, path: tuple[str, ...]) -> Node:
        # what is younger than its edges say is shown as it is
        if self._as_of is not None:
            record = record_at(self._store, record, self._as_of) or record
        return Node(record, depth, path, is_written_after(record, self._as_of))

    # -- what is said about it ---------------------------------------------------------------------

    def _stages(self, by_depth: list[list[Node]], new_keys: list[list[str]]) -> list[Stage]:
        edges = self._store.graph.count_by_group(
            new_keys, direction=self._query.direction, as_of=self._as_of
        )
        return [
            Stage(
                depth=depth,
                executed=self._executed(depth, nodes),
                found=StageCounts(len(nodes), edges[depth]),
                plan_memo=self._query.plan_memo,
            )
            for depth, nodes in enumerate(by_depth)
        ]

    def _executed(self, depth: int, nodes: Sequence[Node]) -> str:
        if depth == 0:
            return render(self._query.start)
        via = f"(via {', '.join(self._query.edge_types) or 'all'} edges)"
        keys = list(dict.fromkeys(node.path[-1] for node in nodes))
        if not keys:
            limit = self._query.limit
            return f"LOOKUP nothing: no node of this depth is within LIMIT {limit} {via}"
        more = f" … and {len(keys) - _MAX_KEYS} more" if len(keys) > _MAX_KEYS else ""
        return f"LOOKUP {', '.join(keys[:_MAX_KEYS])}{more} {via}"

    def _report(
        self,
        nodes: Sequence[Node],
        reached: _Reached,
        edges: int,
        counts: tuple[TypeCount, ...] | None,
    ) -> TraverseReport:
        query = self._query
        is_out = query.direction == "out" and query.max_depth > 0
        leads_nowhere = is_out and bool(nodes) and not reached.nodes and not reached.omitted
        return TraverseReport(
            nodes=len(nodes),
            edges=edges,
            unique_nodes=len({node.id for node in nodes}),
            depth=reached.walk.depth,
            edge_types=tuple(query.edge_types),
            unknown_edge_types=self._unknown_types,
            meanings=dict(self._starts.meanings),
            united=tuple(self._starts.united),
            order_by=query.order_by,
            limit=query.limit,
            direction=query.direction,
            breadth=query.fan_out,
            strategy=query.strategy,
            omitted_nodes=reached.omitted,
            unfollowed_edges=reached.walk.unfollowed,
            graph_paths_truncated=any(
                len(node.record.graph_paths) > MAX_NODE_EDGES for node in nodes
            ),
            as_of=self._as_of,
            written_later=sum(node.written_later for node in nodes),
            edge_counts=counts,
            start_truncated=self._starts.truncated,
            incoming_edges=self._count_incoming() if leads_nowhere else 0,
            resolved=tuple(self._starts.resolved),
        )

    def _summarize_edges(
        self, keys: Sequence[str], counts: tuple[TypeCount, ...] | None
    ) -> list[EdgeKey]:
        """The first edges of these keys; of a PLAN some of every type that it counts."""
        summary = self._edge_keys(keys, self._query.direction, self._types, _MAX_SUMMARY)
        if counts is None or len(summary) < _MAX_SUMMARY:
            return summary
        # what is rare among many is what leads on
        shown = {rel_type for _, rel_type, _ in summary}
        rare = [
            edge
            for count in counts
            if count.rel_type not in shown
            for edge in self._edge_keys(keys, count.direction, [count.rel_type], _EXAMPLES)
        ]
        return [*rare, *summary][:_MAX_SUMMARY]

    def _count_incoming(self) -> int:
        """Count the edges that lead to the start, `_MAX_SUMMARY` at most."""
        return len(self._edge_keys(self._start_keys, "in", self._types, _MAX_SUMMARY))

    def _edge_keys(
        self, keys: Sequence[str], direction: Direction, types: Sequence[str] | None, limit: int
    ) -> list[EdgeKey]:
        return self._store.graph.edge_keys(
            EdgeSpec(keys, direction=direction, rel_types=types, limit=limit, as_of=self._as_of)
        )

    def _count_edges(self, keys: Sequence[str]) -> tuple[TypeCount, ...]:
        counts = self._store.graph.count_by_type(
            keys, direction=self._query.direction, as_of=self._as_of
        )
        return tuple(counts)


def _new_keys(start_keys: list[str], by_depth: list[list[Node]]) -> list[list[str]]:
    """The keys of each depth that none before it has; the first are those of the start."""
    known = set(start_keys)
    new = [start_keys]
    for nodes in by_depth:
        keys = dict.fromkeys(node.path[-1] for node in nodes)
        new.append([key for key in keys if key not in known])
        known.update(new[-1])
    return new


def order_depth_first(reached: Sequence[_Reachable]) -> list[_Reachable]:
    """Order what was reached: each branch to its end before the next, siblings as they are given.

    The same nodes by the same, shortest, paths as in breadth-first order: with a bound on the
    depth, a search that goes deep first would miss what lies behind a node that it reached by a
    longer way.
    """
    children: dict[tuple[str, ...], list[_Reachable]] = {}
    for item in reached:
        children.setdefault(item.path[:-1], []).append(item)
    # The last of the stack comes first.
    starts = [path for path in children if len(path) == 1]
    stack = [item for start in reversed(starts) for item in reversed(children[start])]
    ordered: list[_Reachable] = []
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
