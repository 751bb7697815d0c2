"""The migration of rows: those of earlier versions of their schema are written as it is today."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any

from msgspec.structs import replace

from ...errors import ChangedError, RemloomError, UnknownNameError
from ...model import Row, RowsMigrated, SchemaDefinition
from ...predicates import Lt, Query
from ...store.batch import Preconditions
from ...store.contract import Store
from ...store.definitions import earlier_definitions
from ...store.rules.row_names import field_texts
from .registry import Registry, indexes_of, rows_of

_AT_ONCE = 500  # rows in one transaction

# writes rows, if they are as they were read
Write = Callable[..., Any]
Progress = Callable[[int, int], None]


def migrate(
    store: Store, registry: Registry, write: Write, name: str, progress: Progress | None = None
) -> RowsMigrated:
    """Write the rows of a schema again that have the form of an earlier version.

    Those that are done are not looked at again, so a migration that was broken off goes on. A row
    that cannot be as the schema asks stays as it is, and is told.

    Args:
        write: takes rows, and `expected`: what they must still be.
        progress: called as `progress(done, total)`.

    Raises:
        UnknownNameError: no such schema is registered.
    """
    definition = registry.get(name)
    if definition.rows_since == definition.version:
        return RowsMigrated(schema_name=name, version=definition.version, rows=0)
    work = _Migration(store, write, definition, progress)
    work.run()
    if not work.failed:
        registry.settle(definition)
        _reindex(store, name)
    return RowsMigrated(
        schema_name=name, version=definition.version, rows=work.done, failed=work.failed
    )


def _reindex(store: Store, name: str) -> None:
    """Make the indexes of a schema again: values stand in one place of its rows now."""
    for entry in indexes_of(store.kv, name):
        # of a field that is gone nobody asks
        with suppress(UnknownNameError):
            store.sql.create_index(name, entry.key.partition(".")[2])


def _unkeyed(store: Store, definition: SchemaDefinition) -> list[str]:
    """List the fields that rows of earlier versions were found by, and those of today are not."""
    found = [
        definition.renamed.get(name, name)
        for earlier in earlier_definitions(store.kv, definition.schema_name)
        for name, field in earlier.base_fields.items()
        if field.is_key
    ]
    fields = definition.base_fields
    return [name for name in dict.fromkeys(found) if name in fields and not fields[name].is_key]


class _Migration:
    def __init__(
        self, store: Store, write: Write, definition: SchemaDefinition, progress: Progress | None
    ) -> None:
        self._store = store
        self._write = write
        self._name = definition.schema_name
        self._unkeyed = _unkeyed(store, definition)
        self._older = Query().filter(Lt("version", definition.version))
        self._progress = progress
        self.done = 0
        self.failed: dict[str, str] = {}

    def run(self) -> None:
        total = sum(1 for _ in rows_of(self._store, self._name, self._older))
        left = True
        # what others write meanwhile is looked at once more
        while left:
            left = False
            rows = rows_of(self._store, self._name, self._older)
            while some := list(islice(rows, _AT_ONCE)):
                left |= self._rewrite([row for row in some if row.id not in self.failed])
                if self._progress is not None:
                    self._progress(self.done, max(total, self.done))

    def _rewrite(self, rows: list[Row]) -> bool:
        """Write rows, or, if one of them cannot be, each by itself; say whether others wrote."""
        try:
            self._write_as_read(rows)
        except RemloomError:
            changed = [self._rewrite_one(row) for row in rows]
            return any(changed)
        return False

    def _rewrite_one(self, row: Row) -> bool:
        try:
            self._write_as_read([row])
        except ChangedError:
            return True
        except RemloomError as error:
            self.failed[row.id] = error.message
        return False

    def _rewritten(self, row: Row) -> Row:
        gone = set(field_texts(row, self._unkeyed))
        aliases = tuple(alias for alias in row.aliases if alias not in gone)
        return replace(row, graph_paths=(), aliases=aliases)

    def _write_as_read(self, rows: list[Row]) -> None:
        if rows:
            expected = Preconditions(records={row.id: row.updated_at for row in rows})
            self._write([self._rewritten(row) for row in rows], expected=expected)
            self.done += len(rows)
