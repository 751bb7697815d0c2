"""The registry of a tenant's schemas: their definitions, each with its earlier versions.

It is in the tenant's own entries. Each change is one transaction that reads what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...errors import ChangedError, NotFoundError, RemloomError, UnknownNameError
from ...kv import Entries, Entry, EntryReads, KeyRange
from ...model import Registered, Row, RowsMigrated, SchemaDefinition
from ...predicates import Lt, Query
from ...store.batch import Batch, Preconditions
from ...store.contract import INDEXES, Reads, Store
from ...store.definitions import (
    CHANGES,
    DEFINITIONS,
    EARLIER,
    decode_definition,
    definition_entries,
    earlier_definitions,
    read_definitions,
)
from ...store.encoding import SCHEMAS
from ...store.rules.row_rules import field_texts
from .changes import Changes, FieldMapping, check_changes, rows_of

_AT_ONCE = 500  # rows in one transaction

# writes rows, if they are as they were read
Write: TypeAlias = Callable[..., Any]
Progress: TypeAlias = Callable[[int, int], None]
# entries that are written with definitions, by what the transaction reads
EntriesToWrite: TypeAlias = Callable[[EntryReads], Sequence[Entry]]


class DefinitionRegistry:
    """The schemas that one tenant registered."""

    def __init__(self, store: Store, tenant: str) -> None:
        self._store = store
        self._tenant = tenant

    def get(self, name: str, version: int | None = None) -> SchemaDefinition:
        """Get a definition, or one of its versions; see `Schemas.get`."""
        definition = _find(self._store.kv, name)
        if definition is None:
            known = [*read_definitions(self._store.kv)]
            raise UnknownNameError("registered schema", str(name)[:80], known)
        if version is None or version == definition.version:
            return definition
        entry = self._store.kv.get(EARLIER, f"{name}/{version:06d}")
        if entry is None:
            raise NotFoundError(
                f"the schema {name!r} has no version {version}",
                remedy=f"it has the versions 1 to {definition.version}",
                id=name,
                schema=name,
            )
        return decode_definition(entry)

    def register_all(
        self,
        definitions: Sequence[SchemaDefinition],
        mapping: FieldMapping | None = None,
        extra_entries: EntriesToWrite | None = None,
    ) -> tuple[Registered, ...]:
        """Register checked definitions: all of them, or none; see `Schemas.register`.

        The transaction that writes looks at the rows, so that none that does not fit comes in
        between.

        Args:
            extra_entries: makes entries that are written with them.
        """
        # first without a transaction: what is refused makes nobody wait
        steps = self._steps(self._store, definitions, mapping or {})
        if extra_entries is None and not any(step.definition for step in steps):
            return tuple(step.registered for step in steps)

        def work(reads: Reads) -> Batch:
            nonlocal steps
            steps = self._steps(reads, definitions, mapping or {})
            entries = [*(extra_entries(reads.kv) if extra_entries else ())]
            for changes, step in enumerate(steps, _changes(reads.kv) + 1):
                if step.definition is not None:
                    entries += definition_entries(step.definition, changes, step.before)
            return Batch(entries=tuple(entries))

        self._store.update(work)
        return tuple(step.registered for step in steps)

    def removal(self, reads: Reads, name: str) -> Batch:
        """Make the batch that removes a schema without rows, with all its versions."""
        if _find(reads.kv, name) is None:
            raise UnknownNameError("registered schema", name, [*read_definitions(reads.kv)])
        versions = reads.kv.list(EARLIER, KeyRange(prefix=f"{name}/"))
        return Batch(
            entries=(Entry(DEFINITIONS, CHANGES, msgspec.json.encode(_changes(reads.kv) + 1)),),
            deleted_entries=(
                (DEFINITIONS, name),
                *((EARLIER, version.key) for version in versions),
                *((INDEXES, index.key) for index in indexes_of(reads.kv, name)),
            ),
        )

    def settle(self, definition: SchemaDefinition) -> None:
        """Note that every row of a schema has the form of this version of it."""
        settled = replace(definition, rows_since=definition.version)

        def work(reads: Reads) -> Batch:
            if _find(reads.kv, definition.schema_name) != definition:
                return Batch()
            return Batch(entries=tuple(definition_entries(settled, _changes(reads.kv) + 1)))

        self._store.update(work)

    # -- what a definition follows -----------------------------------------------------------------

    def _steps(
        self, reads: Reads, definitions: Sequence[SchemaDefinition], mapping: FieldMapping
    ) -> list[_Registration]:
        along = {definition.schema_name for definition in definitions}
        known = {*SCHEMAS, *along, *read_definitions(reads.kv)}
        return [self._step(reads, definition, mapping, known) for definition in definitions]

    def _step(
        self,
        reads: Reads,
        proposed: SchemaDefinition,
        mapping: FieldMapping,
        known: Collection[str],
    ) -> _Registration:
        name = proposed.schema_name
        before = _find(reads.kv, name)
        if before is not None and _is_same(before, proposed):
            return _Registration(Registered(schema_name=name, version=before.version))
        changes = Changes() if before is None else check_changes(reads, before, proposed, mapping)
        definition = replace(_next(before, proposed, changes), tenant_id=self._tenant)
        registered = Registered(
            schema_name=name,
            version=definition.version,
            changes=changes.reported or ("the schema came",),
            notes=_notes(definition, known),
        )
        return _Registration(registered, definition, before)


class _Registration(Struct, frozen=True):
    """The outcome for one schema: `definition` is None if it is there already."""

    registered: Registered
    definition: SchemaDefinition | None = None
    before: SchemaDefinition | None = None


def indexes_of(kv: EntryReads, schema: str) -> Entries:
    return kv.list(INDEXES, KeyRange(prefix=f"{schema}."))


def _next(
    before: SchemaDefinition | None, now: SchemaDefinition, changes: Changes
) -> SchemaDefinition:
    if before is None:
        return replace(now, version=1, rows_since=1)
    version = before.version + 1
    is_settled = before.rows_since == before.version and not changes.rewrites
    return replace(
        now,
        version=version,
        renamed=changes.renamed,
        rows_since=version if is_settled else before.rows_since,
    )


def _notes(definition: SchemaDefinition, known: Collection[str]) -> tuple[str, ...]:
    targets = {edge.target: edge.name for edge in definition.edges}
    return tuple(
        f"{name} leads to {target!r}, which is not registered"
        for target, name in targets.items()
        if target and target not in known
    )


def _is_same(before: SchemaDefinition, now: SchemaDefinition) -> bool:
    unset = {"tenant_id": "", "version": 0, "rows_since": 0, "renamed": {}}
    return replace(before, **unset) == replace(now, **unset)


def _find(kv: EntryReads, name: str) -> SchemaDefinition | None:
    entry = kv.get(DEFINITIONS, name) if name and name != CHANGES else None
    return None if entry is None else decode_definition(entry)


def _changes(kv: EntryReads) -> int:
    entry = kv.get(DEFINITIONS, CHANGES)
    return msgspec.json.decode(entry.value, type=int) if entry else 0


# -- rows of earlier versions ----------------------------------------------------------------------


def migrate(
    store: Store,
    registry: DefinitionRegistry,
    write: Write,
    name: str,
    progress: Progress | None = None,
) -> RowsMigrated:
    """Write the rows of earlier versions again; see `Schemas.migrate`.

    Args:
        write: takes rows, and `expected`: their state when they were read.
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
        # the field may be gone
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
        # again, if others wrote rows meanwhile
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
            expected = Preconditions(records={row.id: row.revision for row in rows})
            self._write([self._rewritten(row) for row in rows], expected=expected)
            self.done += len(rows)
