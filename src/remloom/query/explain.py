"""EXPLAIN: how a query would run, without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import labels
from ..model import Answer
from .conditions import render as render_where
from .executor import MAX_ROWS, SQL_TIMEOUT, known_schema
from .select import compiled
from .statements import Fuzzy, Lookup, Plan, Search, Sql, Statement, Traverse, render
from .traverse import edge_types

if TYPE_CHECKING:
    from .executor import Executor

__all__ = ["explain"]

_HOW = (
    "by their graph, and one by one those outside it; all one by one where few are left to look at"
)


def explain(executor: Executor, statement: Statement) -> Answer:
    """The steps of a query as rows of (step, detail): which index is used, how often, over how
    much.

    Raises what the query itself would raise for names that do not exist and SQL that is not
    allowed.
    """
    rows = _rows(executor, statement.query)
    if statement.as_of:
        rows.append(
            ("as of", f"edges in force and entities as they were at {statement.as_of.isoformat()}")
        )
    return Answer(
        query_type="explain",
        statement=render(statement),
        columns=["step", "detail"],
        rows=list(rows),
    )


def _rows(executor: Executor, query: Plan) -> list[tuple[str, str]]:
    store = executor.store
    match query:
        case Lookup():
            keys = list(dict.fromkeys(map(labels.key, query.labels)))
            return [
                (
                    "lookup",
                    f"key index over every schema, one probe for each of {len(keys)}: {', '.join(keys[:9])}",
                )
            ]
        case Fuzzy():
            kind = f" of type {query.type}" if query.type else ""
            return [
                (
                    "fuzzy",
                    f"names and aliases{kind}, by their trigrams; every one where there are few",
                ),
                (
                    "rank",
                    f"edit similarity of the candidates, at least {query.threshold:g}, the {query.limit} best",
                ),
            ]
        case Search():
            schema, (model, dims) = (
                known_schema(query.schema),
                store.vectors.model() or ("the embedder", 0),
            )
            rows = [
                ("embed", f"the text, by {model}"),
                (
                    "search",
                    f"vectors of {dims} dimensions, {_HOW}" if dims else "nothing is embedded yet",
                ),
                (
                    "filter",
                    f"{schema} where {render_where(query.where)}" if query.where else schema,
                ),
            ]
            least = "" if query.min_score is None else f" with cosine at least {query.min_score:g}"
            return [*rows, ("rank", f"the {query.limit} nearest{least}")]
        case Sql():
            select, text = compiled(query.text)
            rows = [
                ("sql", text),
                *(("plan", line) for line in store.sql.explain(select, limit=MAX_ROWS)),
            ]
            return [*rows, ("limits", f"{MAX_ROWS:,} rows, {SQL_TIMEOUT:g} s, read-only")]
        case Traverse():
            return _traverse_rows(executor, query)


def _traverse_rows(executor: Executor, query: Traverse) -> list[tuple[str, str]]:
    types = edge_types(executor.store, query.edge_types)
    rows = [(f"start: {step}", detail) for step, detail in _rows(executor, query.start)]
    via = f"{'all' if types is None else ', '.join(types)} edges, direction {query.direction}"
    if query.max_depth == 0:
        return [*rows, ("plan", f"count and list the {via}, follow none")]
    each = "all" if query.fan_out is None else f"at most {query.fan_out:,}"
    rows.append(
        ("walk", f"edge index, {via}: {each} of each node, {query.max_depth} deep, no node twice")
    )
    return [
        *rows,
        ("keep", f"the first {query.limit} by {query.order_by}"),
        ("load", "the kept nodes, by key"),
    ]
