"""The registry of a tenant's schemas: their definitions, each with its earlier versions.

It lies in the tenant's own entries. Whoever registers at once with another process sees what that
one did: each change is one transaction that reads what is there.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterator

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict, replace

from ..errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    SchemaChangeError,
    UnknownNameError,
)
from ..kv import Entries, Entry, EntryReads, KeyRange
from ..model import Registered, Row, SchemaDefinition
from ..predicates import Gt, Query
from ..store.batch import Batch
from ..store.contract import INDEXES, Reads, Store
from ..store.definitions import (
    CHANGES,
    DEFINITIONS,
    EARLIER,
    decode_definition,
    definition_entries,
    read_definitions,
)
from ..store.field_values import convert_value, to_stored
from ..store.json_schema import compile_schema
from .changes import Break, Changes, FieldMapping, compare

__all__ = ["Registry", "indexes_of", "rows_of"]

_AT_ONCE = 500  # rows
_SHOWN = 3  # rows that a conversion is refused for
_TRIES = 10  # against others who register at once


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

    def check(self, definition: SchemaDefinition) -> None:
        """Refuse a definition that `register` would refuse. Nothing is written.

        Raises:
            SchemaChangeError: see `register`.
        """
        before = _find(self._store.kv, definition.schema_name)
        if before is not None and not _is_same(before, definition):
            self._compare(before, definition, {})

    def register(
        self,
        definition: SchemaDefinition,
        mapping: FieldMapping | None = None,
        *,
        along: Collection[str] = (),
    ) -> Registered:
        """Register a definition that was checked: a new schema, or a new version of one.

        Args:
            along: names of the schemas that are registered with it, which edges may lead to.

        Raises:
            SchemaChangeError: it would break rows and statements of the version before; names
                every break.
            ConflictError: others registered the same schema again and again meanwhile.
        """
        for _ in range(_TRIES):
            before = _find(self._store.kv, definition.schema_name)
            if before is not None and _is_same(before, definition):
                return Registered(schema_name=before.schema_name, version=before.version)
            changes = Changes()
            if before is not None:
                changes = self._compare(before, definition, mapping or {})
            registered = self._next(before, definition, changes)
            if self._replace(before, registered):
                return Registered(
                    schema_name=registered.schema_name,
                    version=registered.version,
                    changes=changes.told or ("the schema came",),
                    notes=self._notes(registered, along),
                )
        raise ConflictError(
            f"others changed the schema {definition.schema_name!r} again and again meanwhile",
            remedy="try again",
        )

    def remove(self, name: str) -> None:
        """Remove a schema that has no rows, with all its versions.

        Raises:
            UnknownNameError: there is no such schema.
            ConflictError: it has rows.
        """
        self.get(name)

        def work(reads: Reads) -> Batch:
            if reads.records.query(name, Query().limit(1)):
                raise ConflictError(
                    f"the schema {name!r} has rows",
                    remedy=f"forget them with it: schemas.drop({name!r}, rows=True)",
                )
            versions = reads.kv.list(EARLIER, KeyRange(prefix=f"{name}/"))
            return Batch(
                entries=(Entry(DEFINITIONS, CHANGES, msgspec.json.encode(_changes(reads.kv) + 1)),),
                deleted_entries=(
                    (DEFINITIONS, name),
                    *((EARLIER, version.key) for version in versions),
                    *((INDEXES, index.key) for index in indexes_of(reads.kv, name)),
                ),
            )

        self._store.update(work)

    def settle(self, definition: SchemaDefinition) -> None:
        """Note that every row of a schema has the form of this version of it."""
        self._replace(definition, replace(definition, rows_since=definition.version))

    # -- what a definition follows -----------------------------------------------------------------

    def _compare(
        self, before: SchemaDefinition, now: SchemaDefinition, mapping: FieldMapping
    ) -> Changes:
        changes = compare(before, now, mapping)
        breaks = [*changes.breaks, *self._reused(before, now)]
        if not breaks:
            breaks += self._unfit_rows(before, now, changes)
        if breaks:
            has_rows = bool(self._store.records.query(before.schema_name, Query().limit(1)))
            remedy = "" if has_rows else f"it has no rows: schemas.drop({now.schema_name!r}) first"
            told = [asdict(broken) for broken in breaks]
            raise SchemaChangeError(now.schema_name, told, remedy=remedy)
        return changes

    def _reused(self, before: SchemaDefinition, now: SchemaDefinition) -> Iterator[Break]:
        """Yield the fields that rows of an earlier form still have under names that come again."""
        came = now.base_fields.keys() - before.base_fields.keys() - before.renamed.keys()
        if not came or before.rows_since == before.version:
            return
        for version in range(before.rows_since, before.version):
            for name in sorted(came & self.get(before.schema_name, version).base_fields.keys()):
                why = f"version {version} had another: schemas.migrate({now.schema_name!r}) first"
                yield Break(f"fields.{name}", why)

    def _unfit_rows(
        self, before: SchemaDefinition, now: SchemaDefinition, changes: Changes
    ) -> builtins.list[Break]:
        """List what of the stored rows cannot be as the definition asks."""
        asked = now.metadata_schema if now.metadata_schema != before.metadata_schema else {}
        if not changes.converted and not asked:
            return []
        metadata = compile_schema(asked) if asked else None
        names = {new: old for old, new in changes.renamed.items() if old in before.base_fields}
        unfit: builtins.list[Break] = []
        for row in rows_of(self._store, before.schema_name):
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
        self, before: SchemaDefinition | None, now: SchemaDefinition, changes: Changes
    ) -> SchemaDefinition:
        if before is None:
            return replace(now, tenant_id=self._tenant, version=1, rows_since=1)
        version = before.version + 1
        is_settled = before.rows_since == before.version and not changes.rewrites
        return replace(
            now,
            tenant_id=self._tenant,
            version=version,
            renamed=changes.renamed,
            rows_since=version if is_settled else before.rows_since,
        )

    def _replace(self, before: SchemaDefinition | None, now: SchemaDefinition) -> bool:
        """Write a definition in place of another; False if that is not the one any more."""
        written = False

        def work(reads: Reads) -> Batch:
            nonlocal written
            written = _find(reads.kv, now.schema_name) == before
            if not written:
                return Batch()
            earlier = before if before is None or before.version < now.version else None
            return Batch(entries=tuple(definition_entries(now, _changes(reads.kv) + 1, earlier)))

        self._store.update(work)
        return written

    def _notes(self, definition: SchemaDefinition, along: Collection[str]) -> tuple[str, ...]:
        known = {"resources", "entities", "moments", *along}
        known |= {known.schema_name for known in self.list()}
        targets = {edge.target: edge.name for edge in definition.edges}
        return tuple(
            f"{name} leads to {target!r}, which is not registered"
            for target, name in targets.items()
            if target and target not in known
        )


def indexes_of(kv: EntryReads, schema: str) -> Entries:
    """List the entries of the indexes of a schema; each key is `<schema>.<field>`."""
    return kv.list(INDEXES, KeyRange(prefix=f"{schema}."))


def rows_of(store: Store, schema: str, query: Query | None = None) -> Iterator[Row]:
    """Yield the rows of a schema, in the order of their ids, some at a time."""
    last = ""
    query = (query or Query()).order_by("id").limit(_AT_ONCE)
    while rows := store.records.query(schema, query.filter(Gt("id", last)) if last else query):
        # records of a registered schema are rows
        yield from rows  # type: ignore[misc]
        last = rows[-1].id


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
