"""The registry of a tenant's schemas: their definitions, each with its earlier versions.

It is kept in the tenant's own entries. Two processes that register at once see what the other did:
each change is one transaction that reads what is there.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeAlias

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from ...errors import InvalidInputError, NotFoundError, SchemaChangeError, UnknownNameError
from ...kv import Entries, Entry, EntryReads, KeyRange
from ...model import Registered, Row, SchemaDefinition
from ...predicates import Gt, Query
from ...store.batch import Batch
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
from ...store.rules.field_values import convert_value, to_stored
from ...store.rules.json_schema import compile_schema
from .changes import Break, Changes, FieldMapping, compare

_AT_ONCE = 500  # rows
_SHOWN = 3  # rows that a conversion is refused for

# entries that are written with definitions, by what the transaction reads
EntriesToWrite: TypeAlias = Callable[[EntryReads], Sequence[Entry]]


class Registry:
    """The schemas that one tenant registered."""

    def __init__(self, store: Store, tenant: str) -> None:
        self._store = store
        self._tenant = tenant

    def list(self) -> builtins.list[SchemaDefinition]:
        """List the definitions, by name."""
        return [*read_definitions(self._store.kv).values()]

    def get(self, name: str, version: int | None = None) -> SchemaDefinition:
        """Get a definition, or one of its versions.

        Raises:
            UnknownNameError: there is no such schema.
            NotFoundError: it has no such version.
        """
        definition = _find(self._store.kv, name)
        if definition is None:
            known = [known.schema_name for known in self.list()]
            raise UnknownNameError("registered schema", str(name)[:80], known)
        if version is None or version == definition.version:
            return definition
        entry = self._store.kv.get(EARLIER, _version_key(name, version))
        if entry is None:
            raise NotFoundError(
                f"the schema {name!r} has no version {version}",
                remedy=f"it has the versions 1 to {definition.version}",
                id=name,
                schema=name,
            )
        return decode_definition(entry)

    def register(
        self, definition: SchemaDefinition, mapping: FieldMapping | None = None
    ) -> Registered:
        """Register a definition that was checked: a new schema, or a new version of one.

        Raises:
            SchemaChangeError: it would break rows and statements of the version before; names
                every break.
        """
        return self.register_all([definition], mapping)[0]

    def register_all(
        self,
        definitions: Sequence[SchemaDefinition],
        mapping: FieldMapping | None = None,
        extra_entries: EntriesToWrite | None = None,
    ) -> tuple[Registered, ...]:
        """Register definitions that were checked: all of them, or none.

        The rows are looked at in the transaction that writes, so that none which does not fit can
        come in between.

        Args:
            extra_entries: gives entries that are written with them.

        Raises:
            SchemaChangeError: see `register`.
        """
        # what is refused anyway is refused before others have to wait for a transaction
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
        """Give what removes a schema that has no rows, with all its versions.

        Raises:
            UnknownNameError: there is no such schema.
        """
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
    ) -> builtins.list[_Registration]:
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
        changes = Changes() if before is None else _compare(reads, before, proposed, mapping)
        definition = replace(_next(before, proposed, changes), tenant_id=self._tenant)
        registered = Registered(
            schema_name=name,
            version=definition.version,
            changes=changes.told or ("the schema came",),
            notes=_notes(definition, known),
        )
        return _Registration(registered, definition, before)


class _Registration(Struct, frozen=True):
    """What becomes of one schema.

    Attributes:
        definition: None when it is there already.
        before: the version that it follows.
    """

    registered: Registered
    definition: SchemaDefinition | None = None
    before: SchemaDefinition | None = None


def indexes_of(kv: EntryReads, schema: str) -> Entries:
    """List the entries of the indexes of a schema; each key is `<schema>.<field>`."""
    return kv.list(INDEXES, KeyRange(prefix=f"{schema}."))


def rows_of(reads: Reads, schema: str, query: Query | None = None) -> Iterator[Row]:
    """Yield the rows of a schema, in the order of their ids, some at a time."""
    last = ""
    query = (query or Query()).order_by("id").limit(_AT_ONCE)
    while rows := reads.records.query(schema, query.filter(Gt("id", last)) if last else query):
        # records of a registered schema are rows
        yield from rows  # type: ignore[misc]
        last = rows[-1].id


def _compare(
    reads: Reads, before: SchemaDefinition, now: SchemaDefinition, mapping: FieldMapping
) -> Changes:
    changes = compare(before, now, mapping)
    breaks = [*changes.breaks, *_reused(reads.kv, before, now)]
    if not breaks:
        breaks += _unfit_rows(reads, before, now, changes)
    if breaks:
        has_rows = bool(reads.records.query(before.schema_name, Query().limit(1)))
        remedy = "" if has_rows else f"it has no rows: schemas.drop({now.schema_name!r}) first"
        reported = [asdict(broken) for broken in breaks]
        raise SchemaChangeError(now.schema_name, reported, remedy=remedy)
    return changes


def _reused(kv: EntryReads, before: SchemaDefinition, now: SchemaDefinition) -> Iterator[Break]:
    """Yield the fields that rows of an earlier form still have under names that come again."""
    came = now.base_fields.keys() - before.base_fields.keys() - before.renamed.keys()
    if not came or before.rows_since == before.version:
        return
    for earlier in earlier_definitions(kv, before.schema_name):
        if earlier.version < before.rows_since:
            continue
        for name in sorted(came & earlier.base_fields.keys()):
            why = f"version {earlier.version} had another: "
            yield Break(f"fields.{name}", f"{why}schemas.migrate({now.schema_name!r}) first")


def _unfit_rows(
    reads: Reads, before: SchemaDefinition, now: SchemaDefinition, changes: Changes
) -> list[Break]:
    """List what of the stored rows cannot be as the definition asks."""
    schema = now.metadata_schema if now.metadata_schema != before.metadata_schema else {}
    if not changes.converted and not schema:
        return []
    metadata = compile_schema(schema) if schema else None
    names = {new: old for old, new in changes.renamed.items() if old in before.base_fields}
    unfit: list[Break] = []
    for row in rows_of(reads, before.schema_name):
        if metadata is not None and not metadata.is_valid(row.metadata):
            unfit.append(Break("metadata_schema", f"{row.handle!r} is not so"))
        misfits = (
            (name, _misfit(row, names.get(name, name), name, before, now))
            for name in changes.converted
        )
        unfit += [Break(f"fields.{name}", why) for name, why in misfits if why]
        if len(unfit) >= _SHOWN:
            break
    return unfit


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


def _misfit(
    row: Row, name: str, name_now: str, before: SchemaDefinition, now: SchemaDefinition
) -> str:
    """Say why a row cannot have a field as it is to be; "" if it can."""
    field = now.base_fields[name_now]
    value = row.fields.get(name)
    if value is None:
        is_missing = field.required and field.default is UNSET
        return f"{row.handle!r} has none" if is_missing else ""
    try:
        convert_value(to_stored(value, before.base_fields[name]), field)
    except InvalidInputError as error:
        return f"of {row.handle!r} {error.message}"
    return ""


def _is_same(before: SchemaDefinition, now: SchemaDefinition) -> bool:
    unset = {"tenant_id": "", "version": 0, "rows_since": 0, "renamed": {}}
    return replace(before, **unset) == replace(now, **unset)


def _find(kv: EntryReads, name: str) -> SchemaDefinition | None:
    entry = kv.get(DEFINITIONS, name) if name and name != CHANGES else None
    return None if entry is None else decode_definition(entry)


def _changes(kv: EntryReads) -> int:
    """Count how often the registry changed."""
    entry = kv.get(DEFINITIONS, CHANGES)
    return msgspec.json.decode(entry.value, type=int) if entry else 0


def _version_key(name: str, version: int) -> str:
    return f"{name}/{version:06d}"
