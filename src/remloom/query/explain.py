"""EXPLAIN: how a query would run, without running it."""

from __future__ import annotations

from functools import singledispatch
from typing import TypeAlias

from .. import labels
from ..model import Answer
from ..store.contract import Store
from .label_resolution import stored_edge_types
from .late_interaction import proposed_by_each
from .render import render_condition, render_or_empty
from .select import MAX_ROWS, SQL_TIMEOUT, compile_cached, with_stale, without_replaced
from .statements import (
    Fuzzy,
    Lookup,
    Plan,
    Search,
    Sql,
    Statement,
    TextSearch,
    Traverse,
    known_schema,
)

_Steps: TypeAlias = list[tuple[str, str]]  # (step, detail)

_MAX_KEYS = 9  # of a LOOKUP that are listed
_VECTOR_SEARCH = (
    "by their graph, and one by one those outside it; all one by one where few are left to look at"
)


def explain(store: Store, statement: Statement) -> Answer:
    """The steps of a query as rows of (step, detail): which index is used, and how often.

    Raises:
        UnknownNameError, SqlGuardError: as the query itself would raise them.
    """
    rows = _explain(statement.query, store)
    if statement.as_of:
        time = statement.as_of.isoformat()
        rows.append(("as of", f"edges in force and entities as they were at {time}"))
    return Answer(
        query_type="explain",
        statement=render_or_empty(statement),
        columns=["step", "detail"],
        rows=list(rows),
    )


@singledispatch
def _explain(query: Plan, store: Store) -> _Steps:
    raise TypeError(f"{type(query).__name__} is not a query")


@_explain.register(Lookup)
def _(query: Lookup, _: Store) -> _Steps:
    keys = list(dict.fromkeys(map(labels.key, query.labels)))
    listed = ", ".join(keys[:_MAX_KEYS])
    return [("lookup", f"key index over every schema, one probe for each of {len(keys)}: {listed}")]


@_explain.register(Fuzzy)
def _(query: Fuzzy, _: Store) -> _Steps:
    kind = f" of type {query.type}" if query.type else ""
    likeness = f"edit similarity of the candidates, at least {query.threshold:g}"
    return [
        ("fuzzy", f"names and aliases{kind}, by their trigrams; every one where there are few"),
        ("rank", f"{likeness}, the {query.limit} best"),
    ]


@_explain.register(Search)
def _(query: Search, store: Store) -> _Steps:
    if query.mode == "words":
        return _explain(TextSearch(query.text, query.schema, query.where, query.limit), store)
    schema = known_schema(query.schema, store.schemas)
    model, dims = store.vectors.model() or ("the embedder", 0)
    search = (
        f"vectors of {dims} dimensions, {_VECTOR_SEARCH}" if dims else "nothing is embedded yet"
    )
    where = f"{schema} where {render_condition(query.where)}" if query.where else schema
    least = "" if query.min_score is None else f" with cosine at least {query.min_score:g}"
    # a vector is searched for as it is
    steps = [] if query.vector is not None else [("embed", f"the text, by {model}")]
    steps += [("search", search)]
    nearest = f"the {query.limit} nearest{least}"
    if query.mode == "late":
        proposed = proposed_by_each(query.limit)
        steps += [("search", "the words of the text, by the inverted index")]
        nearest = f"of the first {proposed} of each, {nearest} by the vectors of their tokens"
    return [*steps, ("filter", where), ("rank", nearest)]


@_explain.register(TextSearch)
def _(query: TextSearch, store: Store) -> _Steps:
    schema = "every schema" if query.schema is None else known_schema(query.schema, store.schemas)
    where = f"{schema} where {render_condition(query.where)}" if query.where else schema
    return [
        ("search", "the words of the text, by the inverted index"),
        ("filter", where),
        ("rank", f"BM25, the {query.limit} best"),
    ]


@_explain.register(Sql)
def _(query: Sql, store: Store) -> _Steps:
    select, text = compile_cached(query.text, store.schemas)
    select, stale = with_stale(store, without_replaced(store, select))
    plan = [("plan", line) for line in store.sql.explain(select, limit=MAX_ROWS)]
    limits = f"{MAX_ROWS:,} rows, {SQL_TIMEOUT:g} s, read-only"
    found = f"what the {select.schema} made of others rest on, level by level: {stale} are stale"
    first = [] if stale is None else [("stale", found)]
    return [("sql", text), *first, *plan, ("limits", limits)]


@_explain.register(Traverse)
def _(query: Traverse, store: Store) -> _Steps:
    types = stored_edge_types(store, query.edge_types).names
    steps = [(f"start: {step}", detail) for step, detail in _explain(query.start, store)]
    followed = "all" if types is None else ", ".join(types)
    via = f"{followed} edges, direction {query.direction}"
    if query.max_depth == 0:
        return [*steps, ("plan", f"count and list the {via}, follow none")]
    breadth = "all" if query.fan_out is None else f"at most {query.fan_out:,}"
    hops = f"{breadth} of each node, {query.max_depth} deep, no node twice"
    return [
        *steps,
        ("walk", f"edge index, {via}: {hops}"),
        ("keep", f"the first {query.limit} by {query.order_by}"),
        ("load", "the kept nodes, by key"),
    ]
