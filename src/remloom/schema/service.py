"""Schemas of a tenant's own: what is registered, and its rows."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Unpack

from .. import labels
from ..engine.arguments import Progress, check_kind, check_query, check_text
from ..engine.engine import Engine
from ..engine.fetching import may_be_id
from ..engine.writing import Writing
from ..errors import ConflictError, InvalidInputError, NotFoundError
from ..model import (
    Receipt,
    Record,
    Registered,
    Row,
    RowsMigrated,
    SchemaDefinition,
    Taxonomy,
    United,
)
from ..predicates import Query
from ..store.contract import Reads
from ..store.definitions import read_definitions, read_taxonomy, taxonomy_entry
from ..store.encoding import has_expired
from ..store.united import find_united, told
from .sources import Sources, source_url

if TYPE_CHECKING:
    from .definitions.definition_input import DefinitionInput, DefinitionParts
    from .definitions.registry import DefinitionRegistry, EntriesToWrite
    from .drift import Drift
    from .plan.plan import Plan
    from .plan.source import Source
    from .sync.report import SyncReport


_AT_ONCE = 5_000  # rows that one transaction forgets


class Schemas:
    """The schemas that were registered, and rows of them. Reached as `memory.schemas`.

    See docs/schemas.md. Source: seed 5, "Schema registry extension".
    """

    def __init__(self, engine: Engine, writing: Writing) -> None:
        self._engine = engine
        self._store = engine.store
        self._writing = writing

    @cached_property
    def _registry(self) -> DefinitionRegistry:
        from .definitions.registry import DefinitionRegistry

        return DefinitionRegistry(self._store, self._engine.tenant)

    # -- the registry ------------------------------------------------------------------------------

    def register(
        self,
        definition: DefinitionInput | None = None,
        *,
        mapping: Mapping[str, str | None] | None = None,
        **parts: Unpack[DefinitionParts],
    ) -> Registered:
        """Register a schema, or a new version of one; the same definition again changes nothing.

        What is added (a field that may be missing, a value of an enum, a wider kind, a type of
        entities or edges, words that describe) makes a new version. What would break rows or
        statements (a field that goes, is renamed, narrowed, or newly required) is refused unless
        `mapping` says what becomes of it.

        Args:
            definition: a `SchemaDefinition`, a mapping of its parts, the path of a TOML file, a
                msgspec Struct or a pydantic model; with `schema_name=` and `fields=` none is
                needed.
            mapping: of a field of before, what it is called now, None if it goes, or the kind that
                its values become; `{"handle": None}` allows other handles, as it does other
                `entity_types`, `edge_types` and `graph_enabled`.
            parts: of the definition, in place of those that it has.

        Raises:
            DefinitionError: it is not a definition; names every fault.
            SchemaChangeError: it breaks what is there; names every break.
            SourceError: there is no such file, or it is not TOML.
        """
        from .definitions.definition_input import read_definition

        checked = read_definition(definition, parts)
        return self._registry.register_all([checked], _check_mapping(mapping))[0]

    def list(self) -> builtins.list[SchemaDefinition]:
        """List the definitions of the schemas that are registered, by name."""
        return [*read_definitions(self._store.kv).values()]

    def get(self, name: str, version: int | None = None) -> SchemaDefinition:
        """Get the definition of a schema, as it is or as it was in a version.

        Raises:
            UnknownNameError: no such schema is registered.
            NotFoundError: it has no such version.
        """
        if version is not None and type(version) is not int:
            raise InvalidInputError(f"a version is a whole number, not {version!r}"[:100])
        return self._registry.get(check_text(name, "the name of a schema"), version)

    def drop(self, name: str, *, rows: bool = False, keep_away: bool = False) -> Receipt:
        """Remove a schema with all its versions.

        Args:
            rows: forget its rows first; without, a schema that has any is refused.
            keep_away: the rows that come from a database do not come back when the schema is
                registered and synced again.

        Raises:
            UnknownNameError: no such schema is registered.
            ConflictError: it has rows.
        """
        from .definitions.changes import rows_of

        self.get(name)
        receipt = Receipt(verified=True, at=datetime.now(UTC))
        if rows:
            some = rows_of(self._store, name)
            while ids := [row.id for row in islice(some, _AT_ONCE)]:
                gone = partial(_those, name, ids)
                receipt = receipt.plus(self._writing.forget_found(gone, keep_away=keep_away))

        # those that others wrote meanwhile, and those that have expired, go with the schema
        def find_rest(reads: Reads) -> Sequence[Row]:
            rest = [*rows_of(reads, name)]
            if not rows and not all(map(has_expired, rest)):
                raise ConflictError(
                    f"the schema {name!r} has rows",
                    remedy=f"forget them with it: schemas.drop({name!r}, rows=True)",
                )
            return rest

        removal = partial(self._registry.removal, name=name)
        last = self._writing.forget_found(find_rest, keep_away=keep_away, extra=removal)
        return receipt.plus(last)

    def migrate(self, name: str, progress: Progress | None = None) -> RowsMigrated:
        """Write the rows of earlier versions again, as the schema is today.

        They are read so anyway; afterwards they are stored so as well. Broken off, it goes on where
        it was when it is called again.

        Args:
            progress: called as `progress(done, total)`.

        Raises:
            UnknownNameError: no such schema is registered.
        """
        from .definitions.registry import migrate

        return migrate(self._store, self._registry, self._writing.write_batch, name, progress)

    # -- rows --------------------------------------------------------------------------------------

    def create_row(self, row: Row) -> str:
        """Remember a row; returns its id, the same for the same schema and handle.

        Raises:
            UnknownNameError: its schema is not registered.
            RowError: it is not as its schema says; names every fault.
        """
        return self._writing.write([check_kind(row, Row)])[0]

    def get_row(self, schema: str, id_or_handle: str) -> Row:
        """Get a row by its id or its handle, without `graph_paths`.

        Raises:
            NotFoundError: there is none.
            UnknownNameError: no such schema is registered.
        """
        self.get(schema)
        text = check_text(id_or_handle, "an id or a handle")
        found = self._store.records.get(schema, text) if may_be_id(text) else None
        if isinstance(found, Row):
            return found
        key = labels.key(text)
        for record in self._store.records.lookup([key], edges=0)[key]:
            if not isinstance(record, Row) or record.schema != schema:
                continue
            if labels.key(record.handle) == key:
                return record
        raise NotFoundError(
            f"{schema} has no row with the id or handle {text!r}",
            remedy="look it up by its name",
            id=text,
            schema=schema,
        )

    def query_rows(self, schema: str, query: Query) -> builtins.list[Row]:
        """List the rows of a schema by predicates over its fields.

        Raises:
            UnknownNameError: no such schema is registered, or it has no such field.
        """
        self.get(schema)
        # records of a registered schema are rows
        return self._store.records.query(schema, check_query(query))  # type: ignore[return-value]

    # -- the taxonomy ------------------------------------------------------------------------------

    def taxonomy(self) -> Taxonomy:
        """Tell which types of entities are kinds of others, and which types of edges mean the same.

        Source: seed 5, "Ontology Management".
        """
        return read_taxonomy(self._store.kv)

    def set_taxonomy(self, taxonomy: Taxonomy) -> None:
        """Set the taxonomy, in place of the one there is.

        `FUZZY … TYPE party` finds customers then, if a customer is a party, and TRAVERSE follows
        edges of every type that means the one that is named.

        Raises:
            DefinitionError: something is a kind of itself, or means itself; names every fault.
        """
        from .definitions.definition_faults import check_taxonomy

        checked = check_taxonomy(check_kind(taxonomy, Taxonomy))
        self._store.kv.put([taxonomy_entry(checked)])

    # -- databases that are there ------------------------------------------------------------------

    @cached_property
    def _sources(self) -> Sources:
        return Sources(self._engine, self._register_all)

    def discover(
        self,
        url: str,
        name: str = "",
        *,
        tables: Sequence[str] | None = None,
        relationships: bool = True,
        sample: int = 20_000,
        progress: Progress | None = None,
    ) -> Plan:
        """Look at a database that is there, and propose what becomes of it. Nothing is written.

        Args:
            url: of the database, or the path of a file or folder. A password in it is kept by this
                memory while it is open, and nowhere else.
            name: what the source is to be called; default as the database is.
            tables: only these; views too, if they are named. Default all tables.
            relationships: whether foreign keys are looked for.
            sample: most rows of a table that are looked at; 0 goes by names and declarations alone.
            progress: called as `progress(done, total)`, of tables.

        Raises:
            UnknownNameError: there is no such table.
            SourceError: the database cannot be read.
        """
        from .discovery.discovering import discover_at

        plan = discover_at(url, name, tables, relationships, sample, progress)
        self._engine.source_urls[plan.source] = url
        return plan

    def rediscover(
        self,
        source: str,
        *,
        tables: Sequence[str] | None = None,
        relationships: bool = True,
        sample: int = 20_000,
        progress: Progress | None = None,
    ) -> Plan:
        """Look at a database by its name: a source that was registered, or one whose URL the
        variable `REMLOOM_SOURCE_<NAME>` has. As `discover` does, it writes nothing.

        Args:
            source: the name; what a job of the kind `discover` is given.
            tables, relationships, sample, progress: see `discover`.

        Raises:
            UnknownNameError: there is no such source, and no such variable; or no such table.
            SourceError: the database cannot be read.
        """
        from .discovery.discovering import discover, discover_at
        from .plan.source import check_source_name, find_source

        check_source_name(source)
        url = source_url(source)
        if url and source not in {known.name for known in self.sources()}:
            plan = discover_at(url, source, tables, relationships, sample, progress)
            self._engine.source_urls[source] = url
            return plan
        with self._sources.opened(find_source(self._store.kv, source), None) as database:
            return discover(database, source, tables, relationships, sample, progress)

    def register_from_discovery(
        self, plan: Plan, entity_mapping: Mapping[str, str] | None = None, *, url: str | None = None
    ) -> tuple[Registered, ...]:
        """Register the schemas of a plan, and its database as a source to be synced.

        What the database looks like is kept, for `drift`; neither credentials nor values of rows
        are.

        Args:
            entity_mapping: what columns stand for: `{"contacts.email": "contact"}`.
            url: of the database, if the plan's address is not enough to open it; see `sync`.

        Raises:
            UnknownNameError: the mapping names a column that the plan does not have.
            InvalidInputError: another source has rows of the same types.
            DefinitionError, SchemaChangeError: see `register`.
            SourceError: the database cannot be read.
        """
        return self._sources.register(plan.mapped(entity_mapping or {}), url)

    def sources(self) -> builtins.list[Source]:
        """List the databases that were registered, by name."""
        from .plan.source import list_sources

        return list_sources(self._store.kv)

    def sync(
        self,
        source: str,
        *,
        dry_run: bool = False,
        history: bool = False,
        url: str | None = None,
        progress: Progress | None = None,
    ) -> SyncReport:
        """Bring the rows of a database up to date: what is new, changed and gone.

        Rows that are unchanged are not written; what was forgotten here stays forgotten. When it is
        broken off, what was written stays, and the next sync goes on.

        Args:
            source: the name of the database, as its plan has it.
            dry_run: write nothing, and say what would be written.
            history: a foreign key that changes ends its edge (`valid_to`) rather than delete it.
            url: of the database; default that of its plan, with the password that `discover` was
                given or that the variable `REMLOOM_SOURCE_<NAME>` says; or the URL that it says.
            progress: called as `progress(done, total)`, of rows.

        Raises:
            UnknownNameError: there is no such source.
            ConflictError: it is being synced already.
            SourceError: the database cannot be read. What is down changes nothing.
        """
        from .plan.source import find_source
        from .sync.run import sync
        from .sync.writer import Target

        found = find_source(self._store.kv, source)
        engine = self._engine
        model = engine.embedder_name
        if not model and (stored := self._store.vectors.model()):
            # whoever opens it with that embedder finds these texts in the queue
            model = stored[0]
        target = Target(self._store, engine.tenant, model)
        with self._sources.opened(found, url) as database:
            report = sync(
                target, found, database, dry_run=dry_run, history=history, progress=progress
            )
        if not dry_run:
            self._sources.note_synced(report)
            engine.embed_in_background()
        return report

    def identify(self, schema: str, by: Sequence[str] = ()) -> None:
        """Say which fields identify the rows of a followed database, in whatever source: rows of
        one type that have such a value in common are one thing from the next sync on.

        The type counts up to a slash: `customer` and `customer/shop` are one. Case and blanks make
        no difference; a value that several rows of one table have identifies none. What a person
        said of two rows (`unite`, `separate`) holds before it.

        Args:
            schema: of the rows.
            by: names of its fields, such as an e-mail address; empty: none any more.

        Raises:
            UnknownNameError: no such schema is of a database that is followed, or it has no such
                field.
        """
        self._sources.identify(check_text(schema, "the name of a schema"), by)

    def unite(self, first: str, second: str) -> United:
        """Say that two rows are one thing, whatever else identifies them.

        Each stays what its source says; whoever asks for one is given both.

        Args:
            first, second: handles or ids of rows of one type.

        Returns: the thing, with all its rows.

        Raises:
            NotFoundError: there is no such row.
            InvalidInputError: they are one row, or of two types.
            ConflictError: two rows would be one that a person separated, or these are separated
                by another at that moment.
        """
        from .sync.uniting import find_row, unite_rows

        self._store.update(lambda reads: unite_rows(reads, first, second, self._engine.tenant))
        things = find_united(self._store, [find_row(self._store, first)], edges=0)
        if not things:
            raise ConflictError(
                f"{first} and {second} were separated meanwhile",
                remedy="unite them again, if they are one after all",
            )
        return told(self._store, things[0])

    def separate(self, first: str, second: str) -> None:
        """Say that two rows are two things: they are not united again, unless by `unite`.

        Args:
            first, second: handles or ids of rows of one type.

        Raises:
            NotFoundError: there is no such row.
            InvalidInputError: they are one row, or of two types.
            ConflictError: they are also one through a third row, which has to be separated first.
        """
        from .sync.uniting import separate_rows

        self._store.update(lambda reads: separate_rows(reads, first, second, self._engine.tenant))

    def drift(self, source: str, *, accept: bool = False, url: str | None = None) -> Drift:
        """Say how a database differs from what it was when it was registered.

        Args:
            source: the name of the database.
            accept: take over what is only added: tables, columns, values of enums, rows.
            url: see `sync`.

        Returns: the changes; false when there are none.

        Raises:
            UnknownNameError: there is no such source.
            SourceError: the database cannot be read.
        """
        return self._sources.drift(source, accept, url)

    def _register_all(
        self, definitions: Sequence[SchemaDefinition], extra_entries: EntriesToWrite
    ) -> tuple[Registered, ...]:
        from .definitions.definition_input import read_definition

        checked = [read_definition(definition, {}) for definition in definitions]
        return self._registry.register_all(checked, extra_entries=extra_entries)


def _those(schema: str, ids: Sequence[str], reads: Reads) -> builtins.list[Record]:
    """Find the rows with these ids that are still there."""
    found = (reads.records.get(schema, id) for id in ids)
    return [row for row in found if row is not None]


def _check_mapping(mapping: Any) -> dict[str, str | None]:
    checked = {} if mapping is None else mapping
    is_mapping = isinstance(checked, Mapping)
    if not is_mapping or not all(isinstance(key, str) for key in checked):
        raise InvalidInputError(
            f"a mapping says what becomes of fields, and is not {mapping!r}"[:200],
            remedy="mapping={'old': 'new', 'gone': None, 'other': 'integer'}",
        )
    for name, target in checked.items():
        if not isinstance(target, str | None):
            raise InvalidInputError(
                f"the field {name!r} cannot become {target!r}"[:200],
                remedy="give the name that it has now, its kind now, or None if it goes",
            )
    return dict(checked)
