"""The definitions of registered schemas as key-value entries of their tenant.

The current definition of a schema is the entry `schemas/<name>`, every earlier one is
`schema_versions/<name>/<version>`. The entry `schemas/@` counts the changes of all of them: who
knows its version knows whether what it has read before still holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar, cast

import msgspec

from ..errors import CorruptStoreError, UnknownNameError
from ..kv import Entry, EntryReads, KeyRange
from ..model import Record, Row, SchemaDefinition, Taxonomy
from .encoding import SCHEMAS
from .rules.field_values import read_row, stored_row

DEFINITIONS = "schemas"  # namespace of the current definitions, by name
EARLIER = "schema_versions"  # namespace of the others; the key is `<name>/<version:06d>`
CHANGES = "@"  # key, in `DEFINITIONS`, of the number of changes

# by name; the same object as long as nobody changes a definition, and so is each of its values
Schemas = Mapping[str, SchemaDefinition]
_R = TypeVar("_R", bound=Record)
TAXONOMY = "taxonomy"  # namespace of the one entry
_KEY = "@"
_NONE = Taxonomy()


def read_definitions(entries: EntryReads) -> dict[str, SchemaDefinition]:
    return {
        entry.key: decode_definition(entry)
        for entry in entries.list(DEFINITIONS)
        if entry.key != CHANGES
    }


def as_stored(record: _R, schemas: Schemas) -> _R:
    """Return a record that a store gave out as a batch has it."""
    if not isinstance(record, Row) or record.schema not in schemas:
        return record
    return cast(_R, stored_row(record, schemas[record.schema]))


def earlier_definitions(entries: EntryReads, name: str) -> list[SchemaDefinition]:
    """Read the earlier definitions of a schema, the first one first."""
    return [
        decode_definition(entry) for entry in entries.list(EARLIER, KeyRange(prefix=f"{name}/"))
    ]


def definition_entries(
    definition: SchemaDefinition, changes: int, earlier: SchemaDefinition | None = None
) -> list[Entry]:
    """Return the entries that register a definition, with the number of changes so far and the
    definition that it follows."""
    name = definition.schema_name
    entries = [
        Entry(DEFINITIONS, name, msgspec.json.encode(definition)),
        Entry(DEFINITIONS, CHANGES, msgspec.json.encode(changes)),
    ]
    if earlier is not None:
        key = f"{name}/{earlier.version:06d}"
        entries.append(Entry(EARLIER, key, msgspec.json.encode(earlier)))
    return entries


class Definitions:
    """The schemas of one tenant, read again once they changed, which an index probe says."""

    def __init__(self, entries: EntryReads) -> None:
        self._entries = entries
        self._read: tuple[object, dict[str, SchemaDefinition]] = (None, {})

    def all(self) -> Schemas:
        changes = self._entries.get(DEFINITIONS, CHANGES)
        state = None if changes is None else (changes.version, changes.value)
        known_state, known = self._read
        if state == known_state:
            return known
        # what is read is at least as new as `state`: at worst it is read once more
        read = read_definitions(self._entries)
        self._read = (state, read)
        return read

    def of(self, schema: str) -> SchemaDefinition | None:
        """Return the definition of a schema, None of a built-in one. Raises UnknownNameError: there
        is none."""
        if schema in SCHEMAS:
            return None
        known = self.all()
        if schema not in known:
            raise UnknownNameError("schema", schema, [*SCHEMAS, *known])
        return known[schema]

    def reader(self) -> Callable[[_R], _R]:
        """Return what makes of stored records what is given out: the fields of rows by the
        definitions of today. These are read once, when the first row comes."""
        known: Schemas | None = None

        def read_record(record: _R) -> _R:
            nonlocal known
            if not isinstance(record, Row):
                return record
            if known is None:
                known = self.all()
            definition = known.get(record.schema)
            return record if definition is None else cast(_R, read_row(record, definition))

        return read_record


def decode_definition(entry: Entry) -> SchemaDefinition:
    """Read the definition that an entry has. Raises CorruptStoreError: it has none."""
    return _decode_once(entry.key, entry.value)


@lru_cache(maxsize=256)
def _decode_once(key: str, value: bytes) -> SchemaDefinition:
    """Decode a definition, once for all transactions: what is compiled for it, such as what checks
    its rows, is found by the object."""
    try:
        return msgspec.json.decode(value, type=SchemaDefinition)
    except msgspec.MsgspecError as error:
        raise CorruptStoreError(
            f"the definition of the schema {key!r} is not as it was written: {error}",
            remedy="restore the last `remloom backup`, or register the schema again",
        ) from error


def read_taxonomy(entries: EntryReads) -> Taxonomy:
    """Read the taxonomy, empty if there is none. Raises CorruptStoreError: it is damaged."""
    entry = entries.get(TAXONOMY, _KEY)
    if entry is None:
        return _NONE
    try:
        return msgspec.json.decode(entry.value, type=Taxonomy)
    except msgspec.MsgspecError as error:
        raise CorruptStoreError(
            f"the taxonomy is not as it was written: {error}", remedy="set it again"
        ) from error


def taxonomy_entry(taxonomy: Taxonomy) -> Entry:
    return Entry(TAXONOMY, _KEY, msgspec.json.encode(taxonomy))
