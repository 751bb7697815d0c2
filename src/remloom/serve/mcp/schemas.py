"""JSON schemas of tools: complete, and as few tokens as that takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ...operations import Operation

# the field for a value that is not an object: the value of a tool always is one
WRAPPED = "result"
_REFERENCE = "#/$defs/{name}"
_EMPTY: tuple[Any, ...] = (None, "", [], (), {}, False)  # defaults that go without saying
# of a record
_OF_THE_STORE = frozenset(
    ("content_hash", "created_at", "embedding", "generation", "graph_paths", "kind", "ordinal",
     "origin", "premises", "revision", "searched", "thin", "updated_at", "version")
)  # fmt: skip
# what takes tokens and tells a model nothing that it needs; arguments have aliases besides
_LEFT_OUT = frozenset(
    ("additionalProperties", "contentEncoding", "maxItems", "maxLength", "minItems", "minLength",
     "pattern", "title")
)  # fmt: skip


def input_schema(operation: Operation) -> dict[str, Any]:
    schema = _schema(operation.takes)
    schema.pop("description", None)
    if "vector" not in schema.get("required", ()):
        schema.get("properties", {}).pop("vector", None)
    for part in (schema.get("properties", {}), schema.get("$defs", {})):
        _spare(list(part.values()))
    return {"type": "object", "properties": {}, **schema}


def output_schema(operation: Operation) -> dict[str, Any]:
    """Give the schema of a tool's value; one that is not an object is in `result`."""
    if operation.gives is None:
        return {"type": "object", "properties": {}}
    schema: dict[str, Any] = _without(_schema(operation.gives), ("description", "default"))
    schema.pop("$defs", None)
    schema.pop("required", None)
    if not is_wrapped(operation):
        return schema | {"properties": _bare(schema.get("properties", {}))}
    return {"type": "object", "properties": {WRAPPED: _bare(schema)}, "required": [WRAPPED]}


def is_wrapped(operation: Operation) -> bool:
    """Whether what a tool gives stands in `result`: a list, a text, one of several structs."""
    gives = operation.gives
    return gives is not None and not (isinstance(gives, type) and issubclass(gives, msgspec.Struct))


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Give every object of a schema, an outer one before those in it: it may be changed first."""
    if isinstance(schema, dict):
        yield schema
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from _objects(part)


def _bare(schema: Any) -> Any:
    """Leave out what objects inside of a value have: OpenAPI says it, in as many tokens as the rest
    of the tools."""
    if isinstance(schema, list):
        return [_bare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema or schema.get("type") == "object":
        return {"type": "object"}
    return {name: _bare(part) for name, part in schema.items()}


def _spare(schema: Any) -> None:
    """Leave out of the records in an argument what no agent gives: vectors, hashes, times of the
    store. They are accepted all the same."""
    for part in _objects(schema):
        properties = part.get("properties", {})
        if "schema" in properties:
            for name in _OF_THE_STORE & properties.keys():
                del properties[name]
        part.pop("discriminator", None)
        # what a value inside of others is, the name of the argument and what stands in it say
        if "properties" in part:
            part.pop("description", None)


def _schema(hint: Any) -> dict[str, Any]:
    """Make a schema; what is used once stands where it is used, the rest under `$defs`."""
    [schema], components = msgspec.json.schema_components([hint], ref_template=_REFERENCE)
    uses: dict[str, int] = {}
    for part in _objects([schema, components]):
        if isinstance(reference := part.get("$ref"), str):
            name = reference.rpartition("/")[2]
            uses[name] = uses.get(name, 0) + 1
    once = {name: components[name] for name, count in uses.items() if count == 1}
    shown: dict[str, Any] = _without(_inlined(schema, once, ()), ())
    kept = {name: _inlined(components[name], once, (name,)) for name in uses if name not in once}
    if kept:
        shown["$defs"] = _without(kept, ())
    return shown


def _inlined(schema: Any, once: dict[str, Any], within: tuple[str, ...]) -> Any:
    """Put what is used once in the place of its reference, but not inside of itself."""
    if isinstance(schema, list):
        return [_inlined(part, once, within) for part in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if name in once and name not in within:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**_inlined(once[name], once, (*within, name)), **rest}
    return {key: _inlined(value, once, within) for key, value in schema.items()}


def _without(schema: Any, more: tuple[str, ...]) -> Any:
    """Leave out keywords that say little, but no names of properties."""
    if isinstance(schema, list):
        return [_without(part, more) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if len(choices := schema.get("anyOf", ())) == 2 and {"type": "null"} in choices:
        # what may be null may be left out
        schema = {**next(one for one in choices if one != {"type": "null"}), **schema}
        del schema["anyOf"]
    shown = {}
    for key, value in schema.items():
        # a count has no less than that in any case
        if (key == "default" and value in _EMPTY) or (key == "minimum" and _counts(schema)):
            continue
        if key in ("properties", "$defs"):
            shown[key] = {name: _without(part, more) for name, part in value.items()}
        elif key not in _LEFT_OUT and key not in more and not (key == "required" and not value):
            shown[key] = _without(value, more) if key not in ("default", "enum", "const") else value
    return shown


def _counts(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "integer" and schema["minimum"] in (0, 1)
