"""The OpenAPI 3.1 description of the server, from the table of operations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from ..._version import __version__
from ...operations import OPERATIONS, TOOLS, Operation
from ...text.docstrings import arguments_of, head_of
from ..idempotency import LONGEST_KEY, may_be_kept
from .conditions import has_tag
from .endpoint import job_kind

_TEMPLATE = "#/components/schemas/{name}"
_JSON = "application/json"
_PROBLEM = "#/components/responses/Problem"
# `*`, or entity tags
_TAG = r'(W/)?"[!#-~]*"'
_LIST_OF_TAGS = rf"^(\*|{_TAG}( *, *{_TAG})*)$"
_PARAMETER = re.compile(r"(?<=\{)\w+(?=\})")
# of what most people try first
_EXAMPLES: dict[str, dict[str, Any]] = {
    "recall": {"question": "Who manages Bob?"},
    "context": {"question": "Who manages Bob?", "budget_tokens": 500},
    "write": {"records": [{"schema": "entities", "name": "Sarah Chen", "type": "person"}]},
    "read_text": {"text": "Sarah Chen manages Bob.", "uri": "notes/team.md"},
    "lookup": {"labels": ["Sarah Chen"]},
    "query": {"statement": "LOOKUP 'Sarah Chen'"},
    "search_text": {"text": "manages"},
}


class Problem(Struct, frozen=True, kw_only=True):
    """An error, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
    error: str  # its class
    remedy: str
    fields: dict[str, Any]
    request_id: str


@cache
def write() -> bytes:
    return msgspec.json.encode(describe(OPERATIONS, TOOLS))


def describe(operations: Iterable[Operation], tools: Iterable[Operation] = ()) -> dict[str, Any]:
    """Describe operations, and the tools of agents beside them."""
    named = [(one.name, one) for one in operations if one.route is not None]
    named += [(f"tool_{one.name}", one) for one in tools if one.route is not None]
    types = [Problem, *(one.takes for _, one in named)]
    types += [one.gives for _, one in named if one.gives is not None]
    schemas, components = msgspec.json.schema_components(types, ref_template=_TEMPLATE)
    taken = dict(zip([name for name, _ in named], schemas[1:], strict=False))
    results = iter(schemas[1 + len(named) :])
    paths: dict[str, dict[str, Any]] = {}
    reads = {one.route.path: one for _, one in named if one.route and one.route.method == "GET"}
    for component in components.values():
        if doc := component.get("description", ""):
            _explain(component, doc)
            component["description"] = head_of(doc)
    for name, one in named:
        if one.documented is not None:
            _explain(_shape(components, taken[name]), one.documented.__doc__ or "")
        result = next(results) if one.gives is not None else None
        route = one.route
        assert route is not None  # noqa: S101  # only such are named
        item = _operation(name, one, taken[name], result, components)
        if has_tag(one, reads.get(route.path)):
            _add_conditions(item, reads=one.hints.read_only)
        path = _known_path(route.path, paths, item)
        paths.setdefault(path, {})[route.method.lower()] = item
    description = {
        "openapi": "3.1.0",
        "info": {
            "title": "Remloom",
            "version": __version__,
            "description": "Memory for LLM agents. Arguments and values are those of the library.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}],
        "tags": [{"name": tag} for tag in sorted({_tag(one) for _, one in named})],
        "paths": {**paths, **_OTHER_PATHS},
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "responses": {
                "Problem": _problem("What was wrong, where, and what would be right"),
                "Malformed": _malformed(),
            },
        },
    }
    return _with_short_names(description)


def _explain(component: dict[str, Any], doc: str) -> None:
    """Put what a docstring says of each field or argument beside it."""
    properties = component.get("properties", {})
    for name, text in arguments_of(doc).items():
        if name in properties:
            properties[name].setdefault("description", text)


def _with_short_names(description: dict[str, Any]) -> dict[str, Any]:
    """Call types of one name by that of their wing besides, not by all of their module."""
    names = {}
    for known in description["components"]["schemas"]:
        *packages, name = known.split(".")
        # the tools for models are a wing of their own
        wing = "".join(packages[1:2]) if "tools" not in packages else "tools"
        names[known] = wing.title() + name
    if twice := [name for name, count in Counter(names.values()).items() if count > 1]:
        raise ValueError(f"several types would be called {', '.join(twice)}: rename one of each")
    links = {_TEMPLATE.format(name=known): _TEMPLATE.format(name=names[known]) for known in names}

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: renamed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [renamed(item) for item in value]
        return links.get(value, value) if isinstance(value, str) else value

    components = description["components"]
    components["schemas"] = {names[known]: one for known, one in components["schemas"].items()}
    shown: dict[str, Any] = renamed(description)
    return shown


def _known_path(path: str, paths: dict[str, Any], item: dict[str, Any]) -> str:
    """Give a path as it is described already, with the names that its parameters have there."""
    for known in paths:
        if known != path and _PARAMETER.sub("", known) == _PARAMETER.sub("", path):
            names = dict(zip(_PARAMETER.findall(path), _PARAMETER.findall(known), strict=True))
            for parameter in item["parameters"]:
                if parameter["in"] == "path":
                    parameter["name"] = names[parameter["name"]]
            return known
    return path


def _operation(
    name: str,
    one: Operation,
    taken: dict[str, Any],
    result: dict[str, Any] | None,
    components: dict[str, Any],
) -> dict[str, Any]:
    route = one.route
    assert route is not None  # noqa: S101  # only such are described
    shape = _shape(components, taken)
    in_path = re.findall(r"\{(\w+)\}", route.path)
    in_query = route.method in ("GET", "DELETE") or one.carries == "in"
    listed = list(shape["properties"]) if in_query else in_path
    described: dict[str, Any] = {
        "operationId": name,
        "summary": one.description.partition(". ")[0].rstrip("."),
        "description": one.description,
        "tags": [_tag(one)],
        "security": [{"key": [one.scope]}],
        "parameters": [_parameter(shape, field, field in in_path) for field in listed],
        "responses": _responses(one, result),
    }
    if one.carries == "in":
        described["requestBody"] = _body("application/octet-stream", {"type": "string"})
    elif not in_query:
        schema = taken if not in_path else _without(shape, in_path)
        described["requestBody"] = _body(_JSON, schema, _EXAMPLES.get(name))
        if one.name == "read_documents":
            described["requestBody"]["content"]["multipart/form-data"] = {"schema": _FORM}
        described["requestBody"]["required"] = bool(schema is taken and shape.get("required"))
    described["parameters"] += _headers(one)
    return described


def _shape(components: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    shape: dict[str, Any] = components[schema["$ref"].rpartition("/")[2]]
    return shape


def _parameter(shape: dict[str, Any], name: str, is_in_path: bool) -> dict[str, Any]:
    schema = dict(shape["properties"][name])
    description = schema.pop("description", "")
    if "anyOf" in schema:
        # leaving it out is its null
        kept = [part for part in schema["anyOf"] if part.get("type") != "null"]
        schema = {**schema, "anyOf": kept} if len(kept) > 1 else kept[0]
    schema.pop("default", None)
    if is_in_path:
        schema["minLength"] = 1
    parameter = {
        "name": name,
        "in": "path" if is_in_path else "query",
        "required": is_in_path or name in shape.get("required", ()),
        "schema": schema,
    }
    return {**parameter, "description": description} if description else parameter


def _headers(one: Operation) -> list[dict[str, Any]]:
    headers = []
    if may_be_kept(one):
        text = "the same write under the same key is done once; its reply is kept for a day"
        bounds = {"pattern": "^[ -~]*$", "maxLength": LONGEST_KEY, "minLength": 1}
        headers.append(_header("Idempotency-Key", text, bounds))
    if job_kind(one):
        headers.append(_header("Prefer", "respond-async: done as a job", {}))
    return headers


def _add_conditions(item: dict[str, Any], *, reads: bool) -> None:
    """Describe the entity tag of a record, and the headers that compare it."""
    list_of_tags = {"pattern": _LIST_OF_TAGS}
    changes = "done only if the record's ETag is one of these; `*`: if there is a record"
    item["parameters"].append(_header("If-Match", changes, list_of_tags))
    known = "answered with 304 if the record's ETag is one of these"
    if reads:
        item["parameters"].append(_header("If-None-Match", known, list_of_tags))
        item["responses"]["304"] = {"description": "It is as it was"}
    item["responses"]["412"] = {"$ref": _PROBLEM}
    item["responses"]["200"]["headers"] = {"ETag": {"schema": {"type": "string"}}}


def _header(name: str, description: str, bounds: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "string", **bounds}
    return {"name": name, "in": "header", "description": description, "schema": schema}


def _responses(one: Operation, result: dict[str, Any] | None) -> dict[str, Any]:
    responses: dict[str, Any] = {
        "400": {"$ref": "#/components/responses/Malformed"},
        "default": {"$ref": _PROBLEM},
    }
    if one.carries == "out":
        responses["200"] = {"description": "The stream", "content": {one.media_type: {}}}
    elif one.may_give_nothing:
        responses["204"] = {"description": "Done" if result is None else "There is none"}
    if result is not None and one.carries != "out":
        content: dict[str, Any] = {_JSON: {"schema": result}}
        if one.is_long:
            content["text/event-stream"] = {}
        responses["200"] = {"description": "The value", "content": content}
    if job_kind(one):
        responses["202"] = {
            "description": "A job; Location says where it is",
            "content": {_JSON: {"schema": {"type": "object"}}},
        }
    return dict(sorted(responses.items()))


def _body(form: str, schema: dict[str, Any], example: Any = None) -> dict[str, Any]:
    media: dict[str, Any] = {"schema": schema}
    if example is not None:
        media["example"] = example
    return {"required": True, "content": {form: media}}


def _without(shape: dict[str, Any], names: list[str]) -> dict[str, Any]:
    kept = {name: one for name, one in shape["properties"].items() if name not in names}
    required = [name for name in shape.get("required", ()) if name not in names]
    return {**shape, "properties": kept, "required": required}


def _tag(one: Operation) -> str:
    path = one.route.path if one.route is not None else ""
    if one.needs != "memory":
        return "home"
    first = path.split("/")[2]
    return first if first in ("dreams", "jobs", "profile", "reader", "runs", "tools") else "memory"


def _problem(description: str) -> dict[str, Any]:
    schema = {"$ref": _TEMPLATE.format(name="Problem")}
    return {"description": description, "content": {"application/problem+json": {"schema": schema}}}


def _malformed() -> dict[str, Any]:
    """Describe the answer to a malformed request; one with too large a head gets one line."""
    described = _problem("The body is no JSON, or the request is none of HTTP")
    described["content"]["text/plain"] = {"schema": {"type": "string"}}
    return described


_FORM = {
    "type": "object",
    "properties": {"file": {"type": "array", "items": {"type": "string", "format": "binary"}}},
    "required": ["file"],
}
_TOOL_LIST = {"type": "array", "items": {"type": "object"}}
_ID = {"type": "string", "minLength": 1}
_OTHER_PATHS = {
    "/v1/tools": {
        "get": {
            "operationId": "list_tools",
            "summary": "The tools of agents, as functions with JSON schemas",
            "tags": ["tools"],
            "responses": {
                "200": {
                    "description": "Those that the key may call",
                    "content": {_JSON: {"schema": _TOOL_LIST}},
                },
                "default": {"$ref": _PROBLEM},
            },
        }
    },
    "/v1/jobs/{id}/events": {
        "get": {
            "operationId": "follow_job",
            "summary": "A job event at each change, then a result or an error",
            "tags": ["jobs"],
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": _ID}],
            "responses": {
                "200": {"description": "The events", "content": {"text/event-stream": {}}},
                "default": {"$ref": _PROBLEM},
            },
        }
    },
    "/health/live": {
        "get": {
            "operationId": "health_live",
            "summary": "Whether the process lives; does no work",
            "tags": ["health"],
            "security": [],
            "responses": {"200": {"description": "It does"}},
        }
    },
    "/health/ready": {
        "get": {
            "operationId": "health_ready",
            "summary": "Whether it can work: opens the home",
            "tags": ["health"],
            "responses": {
                "200": {"description": "It can"},
                "default": {"$ref": _PROBLEM},
            },
        }
    },
}
