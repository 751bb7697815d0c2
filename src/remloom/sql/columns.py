"""The columns that each schema has as a table, and their types."""

from __future__ import annotations

from functools import cache
from typing import Any

from ..model import Entity, Moment, Resource
from .values import Column, Type

__all__ = [
    "DEFAULTS",
    "LISTS",
    "LONG",
    "OBJECTS",
    "RENAMED",
    "TIMES",
    "column",
    "columns",
    "fields",
    "is_json",
]

SCHEMAS = {kind.schema: kind for kind in (Resource, Entity, Moment)}
LISTS = frozenset({
    "aliases", "related_entities", "emotion_tags", "topic_tags", "classifications",
    "resource_refs", "entity_refs", "present_persons", "speakers",
})  # fmt: skip
OBJECTS = frozenset({"metadata", "properties"})
TIMES = frozenset({"created_at", "updated_at", "starts_at", "ends_at", "expires_at"})
# The stored body of a record leaves out what has its default.
DEFAULTS: dict[str, Any] = {
    "ordinal": 0,
    "generation": 0,
    "trust": "read",
    "kind": "chunk",
    "thin": False,
}
# seed 5's column names -> ours
RENAMED = {
    "resource_timestamp": "starts_at",
    "resource_ends_timestamp": "ends_at",
    "moment_type": "type",
    "source_resource_ids": "resource_refs",
}
# columns whose values may be of any length
LONG = frozenset({"content", "context", "summary", "graph_paths", "parents"}) | LISTS | OBJECTS
_JOINED = frozenset({"parents", "graph_paths"})  # put together from other tables
_HIDDEN = frozenset({"embedding"})


def fields(schema: str) -> list[str]:
    """The fields of a schema that a predicate may name; JSON fields take paths below them too."""
    return [name for name in SCHEMAS[schema].__struct_fields__ if name not in _JOINED | _HIDDEN]


@cache
def columns(schema: str) -> dict[str, Column]:
    """Every column that a SELECT over the schema knows, by name, in the order of `*`."""
    own = fields(schema)
    renamed = [seed_name for seed_name, name in RENAMED.items() if name in own]
    names = [*own, *renamed, "key", "schema", "parents", "graph_paths"]
    return {name: column(RENAMED.get(name, name)) for name in names}


def column(name: str) -> Column:
    """The column of this name, in any schema that has it."""
    kind: Type = "text"
    if is_json(name):
        kind = "json"
    elif name in TIMES:
        kind = "time"
    elif name in DEFAULTS and not isinstance(DEFAULTS[name], str):
        kind = "boolean" if isinstance(DEFAULTS[name], bool) else "integer"
    return Column(name, kind)


def is_json(name: str) -> bool:
    """Whether a column holds JSON: a list or an object."""
    return name in LISTS or name in OBJECTS or name in _JOINED
