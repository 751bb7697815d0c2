"""What a row is called where it does not say: its handle, its name and further labels, by the
definition of its schema; and which of its edges lead to the handle that its own fields make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ...errors import LabelError
from ...model import SOURCE_FK, Edge, Row, SchemaDefinition
from .row_validation import checker_of


def complete_row(row: Row, definition: SchemaDefinition) -> Row:
    """Return a row as it is stored: checked, its fields in their stored form, and named.

    Raises:
        RowError: it is not as the definition says.
        LabelError: it has neither a handle nor a name, nor the fields that would make one.
    """
    if not row.type and definition.entity_types:
        row = replace(row, type=definition.entity_types[0])
    row = checker_of(definition).check(row)
    name = row.name or " ".join(field_texts(row, definition.name_fields))
    handle = row.handle or _handle(row, definition) or name
    if not handle:
        needed = ", ".join(definition.handle)
        raise LabelError(
            f"a row of {definition.schema_name} has no handle and no name",
            label="",
            remedy=f"give it {needed}" if needed else "give it a handle or a name",
        )
    keyed = [key for key, field in definition.base_fields.items() if field.is_key]
    searched = [key for key, field in definition.base_fields.items() if field.searchable]
    aliases = (*row.aliases, *field_texts(row, keyed))
    return replace(
        row,
        handle=handle,
        name=name or handle,
        aliases=tuple(dict.fromkeys(aliases)),
        searched=tuple(key for key in searched if key in row.fields),
    )


def _handle(row: Row, definition: SchemaDefinition) -> str:
    """Make a handle of its fields; empty when one of them is not set."""
    parts = list(field_texts(row, definition.handle))
    if not parts or len(parts) < len(definition.handle):
        return ""
    return _joined(definition, parts)


def _joined(definition: SchemaDefinition, parts: Sequence[str]) -> str:
    if len(parts) > 1:
        parts = [part.replace("%", "%25").replace("/", "%2F") for part in parts]
    return f"{_prefix(definition)}-{'/'.join(parts)}"


def _prefix(definition: SchemaDefinition) -> str:
    return definition.entity_types[0] if definition.entity_types else definition.schema_name


def foreign_key(edge: Edge, row: Row, schemas: Mapping[str, SchemaDefinition]) -> Edge:
    """Return an edge that a completed row was written with; one that leads to the handle of a row
    that the row's own fields name is a foreign key, and says by which (`source_fk`).

    These are the fields of an edge of this type that its schema has, or else a single one. The
    handle is spelled as one: "room-1" is, "Room 1" is a name.
    """
    if edge.is_from_key or not isinstance(edge.dst, str):
        return edge
    targets = [one for one in schemas.values() if edge.dst.startswith(f"{_prefix(one)}-")]
    if not targets:
        return edge
    definition = schemas[row.schema]
    declared = [one.fields for one in definition.edges if one.name == edge.rel_type and one.fields]
    for fields in declared or [(name,) for name in definition.base_fields]:
        parts = field_texts(row, fields)
        if len(parts) != len(fields):
            continue
        for target in targets:
            if _joined(target, parts) == edge.dst:
                said = {"dst_entity_type": _prefix(target), SOURCE_FK: ",".join(fields)}
                return replace(edge, properties=said | edge.properties)
    return edge


def field_texts(row: Row, names: Sequence[str]) -> list[str]:
    """Return those of these fields that are set, as text; of a list each value."""
    texts: list[str] = []
    for name in names:
        value = row.fields.get(name)
        parts = value if isinstance(value, list) else [value]
        texts += [_text(part).strip() for part in parts if part is not None]
    return [text for text in texts if text]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
