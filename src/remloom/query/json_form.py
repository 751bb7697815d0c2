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
from .parser import parse, parse_where
from .render import render_condition
from .statements import (
    Fuzzy,
    Lookup,
    Plan,
    Search,
    Sql,
    Start,
    Traverse,
)

# of each kind of query
_PARAMETERS = {
    "lookup": ("key", "label", "labels"),
    "fuzzy": ("query_text", "text", "type", "threshold", "limit"),
    "search": (
        "query_text", "text", "table_name", "schema", "where_clause", "where", "min_score", "mode",
        "limit",
    ),
    "sql": (
        "query", "sql", "table_name", "schema", "where_clause", "where", "order_by", "limit",
    ),
    "traverse": (
        "initial_query", "edge_types", "max_depth", "depth", "direction", "breadth", "order_by",
        "limit", "plan_memo", "strategy", "edge_type",
    ),
}  # fmt: skip
# parameter -> field of the value, where its name is another
_FIELDS = {
    "key": "labels",
    "label": "labels",
    "query_text": "text",
    "query": "text",
    "sql": "text",
    "table_name": "schema",
    "where_clause": "where",
    "depth": "max_depth",
    "edge_type": "edge_types",
}
# in capitals: "search party" is a label
_STATEMENT = re.compile(r"\s*(?:LOOKUP|FUZZY|SEARCH|SELECT)\s")


# -- from JSON -------------------------------------------------------------------------------------


def from_parameters(query_type: str, parameters: Mapping[str, Any]) -> Plan:
    """The value of a query given as JSON.

    `initial_query` of a traverse is a bare label, the text of a query (its keyword LOOKUP, FUZZY,
    SEARCH or SELECT in capitals), or an object with `query_type` and `parameters`. A `where_clause`
    is the text after WHERE.

    Raises:
        UnknownNameError: the query type or a parameter does not exist.
        InvalidInputError: a parameter is missing or has a value it cannot have.

    >>> parameters = {"initial_query": "sarah chen", "edge_types": ["manages"], "max_depth": 1}
    >>> query = from_parameters("traverse", parameters)
    >>> query.start, query.edge_types, query.max_depth
    (Lookup(labels=('sarah chen',)), ('manages',), 1)
    """
    kind = query_type.lower() if isinstance(query_type, str) else str(query_type)
    if kind not in _PARAMETERS:
        raise UnknownNameError("query type", kind, list(_PARAMETERS))
    if not isinstance(parameters, Mapping):
        raise InvalidInputError(
            f"the parameters of a query are an object, not {type(parameters).__name__}"
        )
    fields = _read_fields(kind, parameters)
    match kind:
        case "lookup":
            return Lookup(_pop_required(kind, fields, "labels", "key"))
        case "fuzzy":
            return Fuzzy(_pop_required(kind, fields, "text", "query_text"), **fields)
        case "search":
            if "where" in fields:
                where = fields["where"]
                fields["where"] = parse_where(where) if isinstance(where, str) else where
            return Search(_pop_required(kind, fields, "text", "query_text"), **fields)
        case "sql":
            return _read_sql(fields)
    start = _read_start(_pop_required(kind, fields, "initial_query", "initial_query"))
    return Traverse(start, **fields)


def _read_fields(kind: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters by the fields of the value; those that are null, left out."""
    known = _PARAMETERS[kind]
    fields: dict[str, Any] = {}
    for name, value in parameters.items():
        if name not in known:
            raise UnknownNameError(f"{kind} parameter", str(name), list(known))
        # null is how models leave a parameter out
        if value is None:
            continue
        field = _FIELDS.get(name, name)
        if field in fields:
            raise InvalidInputError(
                f"{name!r} is given twice, under two names", remedy="give it once"
            )
        fields[field] = value
    return fields


def _pop_required(kind: str, fields: dict[str, Any], field: str, parameter: str) -> Any:
    if field not in fields:
        raise InvalidInputError(f"{kind} needs the parameter {parameter!r}")
    return fields.pop(field)


# what is not of a right type is left to the value to refuse
def _read_start(value: Any) -> Start:
    if isinstance(value, Mapping):
        if set(value) != {"query_type", "parameters"}:
            raise InvalidInputError(
                "an initial_query object has query_type and parameters, and nothing else"
            )
        query: Any = from_parameters(value["query_type"], value["parameters"])
        return query  # type: ignore[no-any-return]
    if isinstance(value, str) and _STATEMENT.match(value):
        return parse(value).query  # type: ignore[return-value]
    return value  # type: ignore[no-any-return]


def _read_sql(fields: dict[str, Any]) -> Sql:
    if "text" in fields:
        if len(fields) > 1:
            raise InvalidInputError(
                "sql takes either a query, or a table_name with its conditions, not both"
            )
        return Sql(fields["text"])
    text = f"SELECT * FROM {_pop_required('sql', fields, 'schema', 'table_name')}"
    for field, keyword in (("where", "WHERE"), ("order_by", "ORDER BY"), ("limit", "LIMIT")):
        if field in fields:
            text += f" {keyword} {fields[field]}"
    return Sql(text)


# -- to JSON ---------------------------------------------------------------------------------------


def to_parameters(query: Plan) -> dict[str, Any]:
    """A value in the JSON form, `{"query_type": …, "parameters": …}`.

    Defaults are left out, but for the depth of a traverse.

    Raises:
        InvalidInputError: no JSON says it: a `TextSearch`, or a search by vector.

    >>> to_parameters(Traverse("sarah chen", ["manages"], max_depth=0))["parameters"]
    {'initial_query': 'sarah chen', 'edge_types': ['manages'], 'max_depth': 0}
    """
    parameters: dict[str, Any]
    match query:
        case Lookup(labels=labels):
            parameters = {"labels": list(labels)}
            # one label is a key, as the seed has it
            if len(labels) == 1:
                parameters = {"key": labels[0]}
            return _json_query("lookup", parameters)
        case Fuzzy(text=text):
            changed = _changed_fields(query, Fuzzy("x"), "type", "threshold", "limit")
            return _json_query("fuzzy", {"query_text": text} | changed)
        case Search(vector=None):
            return _json_query("search", _search_parameters(query))
        case Sql(text=text):
            return _json_query("sql", {"query": text})
        case Traverse():
            return _json_query("traverse", _traverse_parameters(query))
    raise InvalidInputError(
        f"this {type(query).__name__} has no JSON form", remedy="run it as a value"
    )


def _search_parameters(query: Search) -> dict[str, Any]:
    parameters: dict[str, Any] = {"query_text": query.text}
    if query.schema != "resources":
        parameters["table_name"] = query.schema
    if query.where is not None:
        parameters["where_clause"] = render_condition(query.where)
    return parameters | _changed_fields(query, Search("x"), "mode", "min_score", "limit")


def _traverse_parameters(query: Traverse) -> dict[str, Any]:
    parameters: dict[str, Any] = {"initial_query": _start_parameter(query.start)}
    if query.edge_types:
        parameters["edge_types"] = list(query.edge_types)
    parameters["max_depth"] = query.max_depth
    options = ("direction", "breadth", "order_by", "limit", "plan_memo", "strategy")
    return parameters | _changed_fields(query, Traverse("x"), *options)


def _json_query(kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"query_type": kind, "parameters": parameters}


def _changed_fields(query: Plan, default: Plan, *fields: str) -> dict[str, Any]:
    values = ((field, getattr(query, field)) for field in fields)
    return {field: value for field, value in values if value != getattr(default, field)}


def _start_parameter(start: Start) -> str | dict[str, Any]:
    """A single label stands for itself, unless it reads like a statement."""
    if isinstance(start, Lookup) and len(start.labels) == 1:
        label = start.labels[0]
        if not _STATEMENT.match(label):
            return label
    return to_parameters(start)
