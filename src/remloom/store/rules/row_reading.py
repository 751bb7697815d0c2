"""Rows as they are given out: their fields as the definition of today says, whichever version they
were written by."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from ...errors import InvalidInputError
from ...model import Row, SchemaDefinition
from .field_values import convert_value, from_stored, is_stored_as_given, to_stored


def read_row(row: Row, definition: SchemaDefinition) -> Row:
    """Return a stored row with its fields as they were given.

    One of an earlier version has the fields of today: those that have other names now under these,
    without those that are gone, and with the defaults of those that came.
    """
    fields, searched = row.fields, row.searched
    if row.version < definition.version and definition.rows_since < definition.version:
        fields = current_fields(fields, definition)
        names = (definition.renamed.get(name, name) for name in searched)
        searched = tuple(name for name in names if name in fields)
    given = {
        name: from_stored(fields[name], field)
        for name, field in definition.base_fields.items()
        if name in fields and not is_stored_as_given(field)
    }
    if given:
        fields = {**fields, **given}
    return row if fields is row.fields else replace(row, fields=fields, searched=searched)


def current_fields(stored: dict[str, Any], definition: SchemaDefinition) -> dict[str, Any]:
    """Return the stored fields of an earlier version as the definition would have stored them.

    A value that cannot be of the kind of its field today comes as it is.
    """
    fields = {}
    for name, value in stored.items():
        name_now = definition.renamed.get(name, name)
        field = definition.base_fields.get(name_now)
        if field is not None:
            try:
                fields[name_now] = convert_value(value, field)
            except InvalidInputError:
                fields[name_now] = value
    for name, field in definition.base_fields.items():
        if name not in fields and field.default is not UNSET and field.default is not None:
            fields[name] = to_stored(field.default, field)
    return fields


def stored_row(row: Row, definition: SchemaDefinition) -> Row:
    """Return a row that was read as it is stored: what `read_row` gave back, taken back.

    A value that cannot be of the kind of its field is stored as it is, as it was before.
    """
    fields = {**row.fields}
    for name, field in definition.base_fields.items():
        if name in fields and not is_stored_as_given(field):
            with suppress(InvalidInputError):
                fields[name] = to_stored(fields[name], field)
    return replace(row, fields=fields)
