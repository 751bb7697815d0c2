"""TRAVERSE: from the records of a first query along their edges, with what an agent needs for its
next step.

Source: seed design 5, "TRAVERSE Query Details". The store walks keys and loads nothing; only the
nodes that the answer keeps are loaded, in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from msgspec.structs import replace

from .. import labels
from ..errors import InvalidInputError, UnknownNameError
from ..model import Answer, Entity, Hit, Record, Resource, Stage, record_dict
from ..store.contract import Store
from ..store.results import Step, Walk
from ..store.specs import EdgeOrder, EdgeSpec, WalkSpec
from .label_resolution import resolve, told
from .statements import Fuzzy, Lookup, Search, Sql, Start, Traverse, render

if TYPE_CHECKING:
    from .executor import Executor

__all__ = ["edge_types", "run"]

SHOWN_EDGES = 9  # of a node's own edges in its `graph_paths`
SUMMARY = 200  # edges in `edge_summary`
NAMED = 5  # keys named in `executed`

_T = TypeVar("_T")
# a record with its depth and the path of keys to it
_Found: TypeAlias = tuple[Record, int, tuple[str, ...]]


def run(executor: Executor, query: Traverse, as_of: datetime | None = None) -> Answer:
    """The answer of a TRAVERSE.

    `nodes`: the start nodes (depth 0, not counted against LIMIT), then what was reached, in order.
    `stages`: one for each depth, with the nodes kept at it and all edges known by then.
    `edge_summary`: the known edges that match the filter, as (src, type, dst). With depth 0 (PLAN)
    nothing is followed, and `metadata["edge_counts"]` has the complete counts by type and
    direction.

    Raises:
        UnknownNameError: an edge type that the memory does not have.
    """
    starts = _starts(executor, query.start, as_of)
    with executor.store.snapshot():
        answer = _answer(executor.store, query, starts.records, as_of)
    answer.metadata.update(starts.metadata)
    return replace(answer, suggestions=list(starts.suggestions)) if starts.suggestions else answer


def _answer(
    store: Store, query: Traverse, records: Sequence[Record], as_of: datetime | None
) -> Answer:
    types = edge_types(store, query.edge_types)
    starts: list[_Found] = [(record, 0, (labels.key(record.name),)) for record in records]
    source_nodes = list(dict.fromkeys(path[0] for _, _, path in starts))
    walk, reached = Walk(), list[_Found]()
    if query.max_depth and starts:
        walk, reached = _walk(store, query, types, source_nodes, as_of)
        known = {record.id for record in records}
        reached = [found for found in reached if found[0].id not in known]
    omitted = walk.reached - len({path[-1] for _, _, path in reached}) + len(reached[query.limit :])
    reached = reached[: query.limit]
    kept = starts + reached
    by_depth: list[list[_Found]] = [[] for _ in range(walk.depth + 1)]
    for found in kept:
        by_depth[found[1]].append(found)
    stages, keys = _stages(store, query, by_depth, as_of)
    nodes = [_node(record, depth, path) for record, depth, path in kept]
    summary = store.graph.edge_keys(
        EdgeSpec(keys, direction=query.direction, rel_types=types, limit=SUMMARY, as_of=as_of)
    )
    metadata: dict[str, Any] = {
        "total_nodes": len(nodes),
        "total_edges": stages[-1].found["edges"],
        "unique_nodes": len({node["id"] for node in nodes}),
        "node_uniqueness_guaranteed": True,
        "max_depth_reached": walk.depth,
        "edge_filter": list(query.edge_types) or ["*"],
        "order_by": query.order_by,
        "limit_applied": query.limit,
        "direction": query.direction,
        "breadth": query.fan_out or "all",
        "truncated": omitted > 0 or walk.unfollowed > 0,
        "nodes_omitted": omitted,
        "edges_unfollowed": walk.unfollowed,
        "graph_paths_truncated": any(
            len(record.graph_paths) > SHOWN_EDGES for record, _, _ in kept
        ),
    }
    if query.strategy != "breadth-first":
        metadata["strategy"] = query.strategy
    if as_of is not None:
        metadata["as_of"] = as_of.isoformat()
    if query.max_depth == 0:
        counts = store.graph.count_by_type(keys, direction=query.direction, as_of=as_of)
        metadata["edge_counts"] = [
            {"rel_type": count.rel_type, "direction": count.direction, "count": count.count}
            for count in counts
        ]
    return Answer(
        query_type="traverse",
        statement=render(query),
        nodes=nodes,
        stages=stages,
        source_nodes=source_nodes,
        edge_summary=summary,
        metadata=metadata,
    )


# -- where it starts -------------------------------------------------------------------------------


class _Starts(NamedTuple):
    """What a TRAVERSE starts from."""

    records: list[Record]  # with their edges
    suggestions: Sequence[Hit] = ()  # for labels that mean nothing
    # how labels were resolved; whether a SELECT had more rows than are read
    metadata: Mapping[str, Any] = {}


def _starts(executor: Executor, query: Start, as_of: datetime | None) -> _Starts:
    store = executor.store
    if isinstance(query, Lookup):
        wanted = {labels.key(label): label for label in query.labels}
        found = store.records.lookup(list(wanted), edges=SHOWN_EDGES + 1, as_of=as_of)
        missing = [label for key, label in wanted.items() if not found[key]]
        if not missing:
            return _Starts(_distinct(found.values()))
        meant = resolve(store, missing)
        whole = store.records.lookup(
            [one.key for one in meant.values()], edges=SHOWN_EDGES + 1, as_of=as_of
        )
        ids = {one.record.id for one in meant.values()}
        others = [[record for record in records if record.id in ids] for records in whole.values()]
        missing = [label for label in missing if label not in meant]
        suggestions = executor.suggest(missing) if missing else []
        return _Starts(_distinct([*found.values(), *others]), suggestions, told(meant))
    truncated = False
    if isinstance(query, Fuzzy):
        records = [match.record for match in executor.fuzzy_matches(query)]
    elif isinstance(query, Search):
        records = [match.record for match in executor.search_matches(query)]
    else:
        records, truncated = _selected(executor, query)
    keys = list(dict.fromkeys(labels.key(record.name) for record in records))
    shown = {
        r.id: r
        for found in store.records.lookup(keys, edges=SHOWN_EDGES + 1, as_of=as_of).values()
        for r in found
    }
    told_of = {"start_truncated": True} if truncated else {}
    return _Starts([shown[record.id] for record in records if record.id in shown], metadata=told_of)


def _selected(executor: Executor, query: Sql) -> tuple[list[Record], bool]:
    """The records whose id, key or name a SELECT returns."""
    store = executor.store
    answer = executor.sql(query)
    schema, columns = answer.metadata["schema"], [column.lower() for column in answer.columns]
    column = next((name for name in ("id", "key", "name") if name in columns), None)
    if column is None:
        raise InvalidInputError(
            "a SELECT that starts a TRAVERSE must return the id, key or name of its records",
            remedy=f"TRAVERSE WITH SELECT id FROM {schema}",
        )
    at = columns.index(column)
    values = list(dict.fromkeys(str(row[at]) for row in answer.rows if row[at]))
    if column == "id":
        found = [store.records.get(schema, value) for value in values]
        return [record for record in found if record is not None], answer.metadata["truncated"]
    by_key = store.records.lookup([labels.key(value) for value in values], edges=0)
    records = _distinct(
        [record for record in found if record.schema == schema] for found in by_key.values()
    )
    return records, answer.metadata["truncated"]


def _distinct(groups: Iterable[Sequence[Record]]) -> list[Record]:
    return list({record.id: record for group in groups for record in group}.values())


def edge_types(store: Store, asked: Sequence[str]) -> list[str] | None:
    """The stored spellings of the edge types asked for (`reports_to` is `reports-to`); None is all."""
    if not asked:
        return None
    stored = store.graph.edge_types()
    if not stored:
        return list(asked)
    spellings: dict[str, list[str]] = {}
    for name in stored:
        spellings.setdefault(labels.key(name), []).append(name)
    types: list[str] = []
    for name in asked:
        found = spellings.get(labels.key(name))
        if found is None:
            raise UnknownNameError("edge type", name, stored)
        types += found
    return types


# -- where it goes ---------------------------------------------------------------------------------


def _walk(
    store: Store,
    query: Traverse,
    types: list[str] | None,
    sources: Sequence[str],
    as_of: datetime | None,
) -> tuple[Walk, list[_Found]]:
    side, field, way = query.order
    by_edge, deep = side == "edge", query.strategy == "depth-first"
    walk = store.graph.walk(
        WalkSpec(
            sources,
            rel_types=types,
            direction=query.direction,
            depth=query.max_depth,
            breadth=query.fan_out,
            order=EdgeOrder(field, way) if by_edge else EdgeOrder(),
            limit=query.limit if by_edge and not deep else None,
            as_of=as_of,
        ),
    )
    steps: Sequence[Step] = walk.steps
    if deep and by_edge:
        steps = _depth_first(steps, lambda step: step.path)[: query.limit]
    if not by_edge:
        ordered = _by_node(_load(store, steps, as_of, edges=0), field, descending=way == "desc")
        if deep:
            ordered = _depth_first(ordered, lambda found: found[2])
        kept = list(dict.fromkeys(path[-1] for _, _, path in ordered))[: query.limit]
        at = {step.path[-1]: step for step in steps}
        loaded = {found[0].id: found for found in _load(store, [at[key] for key in kept], as_of)}
        return walk, [loaded[record.id] for record, _, _ in ordered if record.id in loaded]
    return walk, _load(store, steps, as_of)


def _depth_first(found: Sequence[_T], path: Callable[[_T], tuple[str, ...]]) -> list[_T]:
    """What was reached, each branch to its end before the next; beside each other in the order
    given.

    The same nodes by the same, shortest, paths as in breadth-first order: with a bound on the
    depth, a search that goes deep first would miss what lies behind a node that it reached by a
    longer way.
    """
    below: dict[tuple[str, ...], list[_T]] = {}
    for one in found:
        below.setdefault(path(one)[:-1], []).append(one)
    ordered: list[_T] = []
    stack = [
        one for start in reversed(list(below)) if len(start) == 1 for one in reversed(below[start])
    ]
    gone: set[tuple[str, ...]] = set()
    while stack:
        one = stack.pop()
        ordered.append(one)
        here = path(one)
        # behind the last record of its key
        if here not in gone and not (stack and path(stack[-1]) == here):
            gone.add(here)
            stack += reversed(below.get(here, ()))
    return ordered


def _load(
    store: Store, steps: Sequence[Step], as_of: datetime | None, edges: int = SHOWN_EDGES + 1
) -> list[_Found]:
    """The records at the keys reached, each once."""
    found = store.records.lookup([step.key for step in steps], edges=edges, as_of=as_of)
    nodes = {}
    for step in steps:
        for record in found[step.key]:
            if record.id not in nodes:
                nodes[record.id] = (record, step.depth, step.path)
    return list(nodes.values())


def _by_node(found: list[_Found], field: str, *, descending: bool) -> list[_Found]:
    """Ordered by a field of the record; those without it last, ties as they were reached."""

    def value(node: _Found) -> Any:
        record = node[0]
        if field in ("type", "category"):
            return record.category if isinstance(record, Resource) else record.type
        if field == "starts_at" and isinstance(record, Entity):
            return None
        shown = getattr(record, field)
        return shown.casefold() if field == "name" else shown

    with_value = [node for node in found if value(node) not in (None, "")]
    without = [node for node in found if value(node) in (None, "")]
    return sorted(with_value, key=value, reverse=descending) + without


# -- what is told about it -------------------------------------------------------------------------


def _stages(
    store: Store, query: Traverse, by_depth: list[list[_Found]], as_of: datetime | None
) -> tuple[list[Stage], list[str]]:
    """A stage for each depth, and the key of every kept node."""
    known: set[str] = set()
    new = []
    for found in by_depth:
        new.append(
            [key for key in dict.fromkeys(path[-1] for _, _, path in found) if key not in known]
        )
        known.update(new[-1])
    edges = store.graph.count_by_group(new, direction=query.direction, as_of=as_of)
    stages = []
    for depth, found in enumerate(by_depth):
        executed = (
            _executed(query, list(dict.fromkeys(path[-1] for _, _, path in found)))
            if depth
            else None
        )
        stages.append(
            Stage(
                depth=depth,
                executed=executed or render(query.start),
                found={"nodes": len(found), "edges": edges[depth]},
                plan_memo=query.plan_memo,
            )
        )
    return stages, [key for keys in new for key in keys]


def _executed(query: Traverse, keys: Sequence[str]) -> str:
    via = f"(via {', '.join(query.edge_types) or 'all'} edges)"
    if not keys:
        return f"LOOKUP nothing: no node of this depth is within LIMIT {query.limit} {via}"
    more = f" … and {len(keys) - NAMED} more" if len(keys) > NAMED else ""
    return f"LOOKUP {', '.join(keys[:NAMED])}{more} {via}"


def _node(record: Record, depth: int, path: Sequence[str]) -> dict[str, Any]:
    shown = record_dict(record)
    shown["graph_paths"] = shown.get("graph_paths", [])[:SHOWN_EDGES]
    if not isinstance(record, Resource):
        shown.setdefault("category", record.type)
    shown["_traverse_depth"] = depth
    shown["_traverse_path"] = list(path)
    return shown
