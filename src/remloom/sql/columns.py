"""The columns that each schema has as a table, and their types."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from ..model import Entity, Field, Kind, Moment, Resource, Row, SchemaDefinition
from .values import Column, FieldColumn, Json, Type

SCHEMAS = {kind.schema: kind for kind in (Resource, Entity, Moment)}
LISTS = frozenset({
    "aliases", "related_entities", "emotion_tags", "topic_tags", "classifications",
    "resource_refs", "entity_refs", "present_persons", "speakers",
})  # fmt: skip
OBJECTS = frozenset({"metadata", "properties", "fields"})
TIMES = frozenset({"created_at", "updated_at", "starts_at", "ends_at", "expires_at"})
# The stored body of a record leaves out what has its default.
DEFAULTS: dict[str, Any] = {
    "ordinal": 0,
    "generation": 0,
    "trust": "read",
    "kind": "chunk",
    "thin": False,
    "version": 0,
    "revision": 0,
}
# seed 5's column names -> ours
RENAMED = {
    "resource_timestamp": "starts_at",
    "resource_ends_timestamp": "ends_at",
    "moment_type": "type",
    "source_resource_ids": "resource_refs",
}
# of what may be made of others: whether it may not hold any more. Who runs a SELECT finds that and
# puts it in the place of the column; `*` leaves it out.
STALE = Column("stale", "boolean")
WITH_STALE = ("resources", "moments")
# of what somebody replaced: the id of what did. A SELECT that does not name it is of what was not
# replaced; `*` leaves it out.
REPLACED_BY = Column("replaced_by", "text")
# columns whose values may be of any length
LONG = frozenset({"content", "context", "summary", "graph_paths", "parents"}) | LISTS | OBJECTS
_JOINED = frozenset({"parents", "graph_paths"})  # put together from other tables
_HIDDEN = frozenset({
    "amends", "embedding", "premises", "reason", "replaces", "searched", "since",
})  # fmt: skip
_OTHERS = ("key", "schema", "parents", "graph_paths")  # columns of every table
_FIRST = ("id", "handle", "name", "type")  # columns of rows, before those of their fields


# what a field of a row is to a statement; a list of any kind is JSON
_TYPES: dict[Kind, Type] = {
    "string": "text",
    "enum": "text",
    "integer": "integer",
    "float": "real",
    "decimal": "real",
    "boolean": "boolean",
    "date": "date",
    "datetime": "time",
    "json": "json",
}


class SqlTable(Struct, frozen=True):
    """A schema as statements see it."""

    name: str
    # that a SELECT knows, in the order of `*`
    columns: Mapping[str, Column | Json]
    # that a predicate may name; JSON fields take paths below them too
    fields: tuple[str, ...]
    own: Mapping[str, Field] = {}  # fields of a registered schema
    renamed: Mapping[str, str] = {}  # earlier names of these

    @property
    def named(self) -> Mapping[str, Column | Json]:
        """The columns by every name that they have or had, and what is found for a statement."""
        earlier = {name: self.columns[now] for name, now in self.renamed.items()}
        found = {} if self.is_registered else {REPLACED_BY.name: REPLACED_BY}
        found |= {STALE.name: STALE} if self.name in WITH_STALE else {}
        return {**earlier, **self.columns, **found} if earlier or found else self.columns

    @property
    def is_registered(self) -> bool:
        """Whether its records are rows."""
        return self.name not in SCHEMAS


def table_of(schema: str, definition: SchemaDefinition | None = None) -> SqlTable:
    """Return a schema as a table: a built-in one, or that of a definition."""
    return _built_in(schema) if definition is None else _registered(definition)


@cache
def _built_in(schema: str) -> SqlTable:
    own = tuple(_fields(SCHEMAS[schema]))
    renamed = [seed_name for seed_name, name in RENAMED.items() if name in own]
    names = [*own, *renamed, *_OTHERS]
    return SqlTable(schema, {name: column(RENAMED.get(name, name)) for name in names}, own)


def _registered(definition: SchemaDefinition) -> SqlTable:
    of_all = _fields(Row)
    own = {name: _field_column(name, definition) for name in definition.base_fields}
    columns: dict[str, Column | Json] = {name: column(name) for name in _FIRST}
    columns |= own
    columns |= {name: column(name) for name in (*of_all, *_OTHERS) if name not in columns}
    renamed = {name: now for name, now in definition.renamed.items() if now in own}
    return SqlTable(
        definition.schema_name, columns, (*of_all, *own), definition.base_fields, renamed
    )


def _fields(kind: type[Struct]) -> list[str]:
    return [name for name in kind.__struct_fields__ if name not in _JOINED | _HIDDEN]


def _field_column(name: str, definition: SchemaDefinition) -> Column | Json:
    field = definition.base_fields[name]
    is_mixed = definition.rows_since < definition.version
    earlier = [before for before, now in definition.renamed.items() if now == name and is_mixed]
    default = None if field.default is UNSET or field.default is None else field.default
    if field.list or field.kind == "json":
        of_others = (
            msgspec.json.encode(default).decode() if is_mixed and default is not None else ""
        )
        return Json("fields", (name,), tuple(earlier), of_others, is_list=field.list)
    place = FieldColumn(
        ("fields", name),
        field.kind,
        tuple(("fields", before) for before in earlier),
        is_mixed,
        # as rows have it: JSON has no times and decimals
        msgspec.to_builtins(default),
    )
    return Column(name, _TYPES[field.kind], place)


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
