"""What a row is called where it does not say: its handle, its name and further labels, by the
definition of its schema; and which of its edges lead to the handle that its own fields make.

A handle is the type of the entity, a hyphen, and the key: "customer-12345". Labels that differ only
in case and separators are one, so two keys of a database may be one label ("aB" and "Ab"): each of
those has six digits more, of the digest of what it would be called without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec.structs import replace

from ...errors import LabelError
from ...model import SOURCE_FK, Edge, Row, SchemaDefinition
from .row_validation import checker_of

_DIGITS = 6  # of a digest behind a handle


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
    return handle_of(_prefix(definition), parts)


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
            if handle_of(_prefix(target), parts) == edge.dst:
                properties = {"dst_entity_type": _prefix(target), SOURCE_FK: ",".join(fields)}
                return replace(edge, properties=properties | edge.properties)
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


def handle_of(entity_type: str, key: Sequence[Any]) -> str:
    """Give the handle of a row by its key, of which no part is None.

    >>> handle_of("customer", (12345,)), handle_of("line", (7, "a/b"))
    ('customer-12345', 'line-7/a%2Fb')
    """
    parts = [_text_of(part) for part in key]
    if len(parts) > 1:
        # else ("a/b", "c") and ("a", "b/c") would be one
        parts = [part.replace("%", "%25").replace("/", "%2F") for part in parts]
    return f"{entity_type}-{'/'.join(parts)}"


def with_digest(handle: str) -> str:
    """Give the handle of a row whose label others have as well.

    >>> with_digest("customer-aB") != with_digest("customer-Ab")
    True
    """
    return f"{handle}-{_digits(handle)}"


def plain_handle(handle: str) -> str:
    """Give a handle as it is without a digest, if it has one.

    >>> plain_handle(with_digest("customer-aB")), plain_handle("customer-aB")
    ('customer-aB', 'customer-aB')
    """
    plain, hyphen, digits = handle.rpartition("-")
    return plain if hyphen and digits == _digits(plain) else handle


def _digits(handle: str) -> str:
    digest = blake2b(handle.encode("utf-8", "surrogatepass"), digest_size=_DIGITS // 2)
    return digest.hexdigest()


def _text_of(part: Any) -> str:
    # databases give a number now as one type and now as another, by the column
    if isinstance(part, float) and part.is_integer():
        return str(int(part))
    if isinstance(part, Decimal) and part.is_finite() and part == part.to_integral_value():
        return str(int(part))
    if isinstance(part, date | datetime):
        return part.isoformat()
    return str(part)
