"""The JSON form of a query, `rem_query(query_type, parameters)`, as a value.

Source: seed design 5, "Stage Tracking and Memos" and "Query Types". The names of both seeds and of
the values are understood; nothing is ignored: an unknown parameter is an error, and so is one name
given under two spellings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..errors import InvalidInputError, UnknownNameError
from ..predicates import Predicate
from .statements import Fuzzy, Lookup, Plan, Search, Sql, Start, Traverse

__all__ = ["from_parameters", "to_parameters"]

# Parameter -> field of the value, for each kind of query.
_PARAMETERS: dict[str, dict[str, str]] = {
    "lookup": {"key": "labels", "label": "labels", "labels": "labels"},
    "fuzzy": {"query_text": "text", "text": "text", "type": "type", "threshold": "threshold", "limit": "limit"},
    "search": {
        "query_text": "text", "text": "text", "table_name": "schema", "schema": "schema", "where_clause": "where",
        "where": "where", "min_score": "min_score", "limit": "limit",
    },
    "sql": {
        "query": "text", "sql": "text", "table_name": "table", "schema": "table", "where_clause": "where",
        "where": "where", "order_by": "order_by", "limit": "limit",
    },
    "traverse": {
        "initial_query": "initial_query", "edge_types": "edge_types", "max_depth": "max_depth",
        "depth": "max_depth", "direction": "direction", "breadth": "breadth", "order_by": "order_by", "limit": "limit",
        "plan_memo": "plan_memo", "strategy": "strategy", "edge_type": "edge_types",
    },
}  # fmt: skip
# in capitals: "search party" is a label
_STARTS = re.compile(r"\s*(?:LOOKUP|FUZZY|SEARCH|SELECT)\s")


def from_parameters(query_type: str, parameters: Mapping[str, Any]) -> Plan:
    """The value of a query given as JSON.

    `initial_query` of a traverse is a bare label, the text of a query (its keyword LOOKUP, FUZZY,
    SEARCH or SELECT in capitals), or an object with `query_type` and `parameters`. A `where_clause`
    is the text after WHERE.

    Raises:
        UnknownNameError: the query type or a parameter does not exist.
        InvalidInputError: a parameter is missing or has a value it cannot have.

    >>> from_parameters("traverse", {"initial_query": "sarah chen", "edge_types": ["manages"], "max_depth": 1})
    ... # doctest: +ELLIPSIS
    Traverse(initial_query=Lookup(labels=('sarah chen',)), edge_types=('manages',), max_depth=1,
    ...)
    """
    kind = query_type.lower() if isinstance(query_type, str) else str(query_type)
    if kind not in _PARAMETERS:
        raise UnknownNameError("query type", kind, list(_PARAMETERS))
    if not isinstance(parameters, Mapping):
        raise InvalidInputError(
            f"the parameters of a query are an object, not {type(parameters).__name__}"
        )
    fields = _fields(kind, parameters)
    if kind == "lookup":
        return Lookup(_required(kind, fields, "labels", "key"))
    if kind == "fuzzy":
        return Fuzzy(_required(kind, fields, "text", "query_text"), **fields)
    if kind == "search":
        if "where" in fields:
            fields["where"] = _where(fields["where"])
        return Search(_required(kind, fields, "text", "query_text"), **fields)
    if kind == "sql":
        return _sql(fields)
    return Traverse(_start(_required(kind, fields, "initial_query", "initial_query")), **fields)


def to_parameters(query: Plan) -> dict[str, Any]:
    """A value in the JSON form, `{"query_type": …, "parameters": …}`; what has its default is left
    out, but the depth.

    >>> to_parameters(Traverse("sarah chen", ["manages"], max_depth=0))["parameters"]
    {'initial_query': 'sarah chen', 'edge_types': ['manages'], 'max_depth': 0}
    """
    match query:
        case Lookup(labels=labels):
            return _json(
                "lookup", {"key": labels[0]} if len(labels) == 1 else {"labels": list(labels)}
            )
        case Fuzzy():
            return _json(
                "fuzzy",
                {"query_text": query.text}
                | _changed(query, Fuzzy("x"), "type", "threshold", "limit"),
            )
        case Search():
            from .conditions import render as condition

            given: dict[str, Any] = {"query_text": query.text}
            given |= {"table_name": query.schema} if query.schema != "resources" else {}
            given |= {"where_clause": condition(query.where)} if query.where is not None else {}
            return _json("search", given | _changed(query, Search("x"), "min_score", "limit"))
        case Sql(text=text):
            return _json("sql", {"query": text})
    given = {"initial_query": _start_json(query.start)}
    given |= {"edge_types": list(query.edge_types)} if query.edge_types else {}
    given |= {"max_depth": query.max_depth}
    return _json(
        "traverse",
        given
        | _changed(
            query,
            Traverse("x"),
            "direction",
            "breadth",
            "order_by",
            "limit",
            "plan_memo",
            "strategy",
        ),
    )


def _json(kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"query_type": kind, "parameters": parameters}


def _changed(query: Plan, default: Plan, *fields: str) -> dict[str, Any]:
    found = ((field, getattr(query, field)) for field in fields)
    return {field: value for field, value in found if value != getattr(default, field)}


def _start_json(start: Start) -> str | dict[str, Any]:
    """A single label stands for itself, unless it reads like a statement."""
    if isinstance(start, Lookup) and len(start.labels) == 1 and not _STARTS.match(start.labels[0]):
        return start.labels[0]
    return to_parameters(start)


def _fields(kind: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    known = _PARAMETERS[kind]
    fields: dict[str, Any] = {}
    for name, value in parameters.items():
        if name not in known:
            raise UnknownNameError(f"{kind} parameter", str(name), list(known))
        if value is None:  # how models leave a parameter out
            continue
        if known[name] in fields:
            raise InvalidInputError(
                f"{name!r} is given twice, under two names", remedy="give it once"
            )
        fields[known[name]] = value
    return fields


def _required(kind: str, fields: dict[str, Any], field: str, parameter: str) -> Any:
    if field not in fields:
        raise InvalidInputError(f"{kind} needs the parameter {parameter!r}")
    return fields.pop(field)


def _where(given: Any) -> Predicate:
    if not isinstance(given, str):
        return given  # type: ignore[no-any-return]
    from .conditions import parse

    return parse(given)


def _start(given: Any) -> Start:
    if isinstance(given, Mapping):
        if set(given) != {"query_type", "parameters"}:
            raise InvalidInputError(
                "an initial_query object has query_type and parameters, and nothing else"
            )
        return from_parameters(given["query_type"], given["parameters"])  # type: ignore[return-value]
    if isinstance(given, str) and _STARTS.match(given):
        from .parser import parse

        return parse(given).query  # type: ignore[return-value]
    return given  # type: ignore[no-any-return]


def _sql(fields: dict[str, Any]) -> Sql:
    if "text" in fields:
        if len(fields) > 1:
            raise InvalidInputError(
                "sql takes either a query, or a table_name with its conditions, not both"
            )
        return Sql(fields["text"])
    text = f"SELECT * FROM {_required('sql', fields, 'table', 'table_name')}"
    for field, words in (("where", "WHERE"), ("order_by", "ORDER BY"), ("limit", "LIMIT")):
        if field in fields:
            text += f" {words} {fields[field]}"
    return Sql(text)
