"""Databases that are followed: registering their plans, sync, and drift."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..engine.engine import Engine
from ..errors import ChangedError, InvalidInputError, UnknownNameError
from ..kv import Entry, EntryReads
from ..model import Registered, SchemaDefinition
from ..settings import source_password
from ..store.batch import Batch
from ..store.contract import Reads

if TYPE_CHECKING:
    from .databases.contract import Database
    from .drift import Change, Drift
    from .plan.plan import Plan
    from .plan.planned import PlannedTable
    from .plan.source import Source
    from .sync.report import SyncReport


RegisterAll = Callable[
    [Sequence[SchemaDefinition], Callable[[EntryReads], Sequence[Entry]]], tuple[Registered, ...]
]


class Sources:
    """The databases that one tenant follows; `register` registers definitions, with entries."""

    def __init__(self, engine: Engine, register: RegisterAll) -> None:
        self._engine = engine
        self._store = engine.store
        self._register = register

    def register(self, plan: Plan, url: str | None) -> tuple[Registered, ...]:
        """Register a plan; see `Schemas.register_from_discovery`."""
        from .plan.source import (
            Source,
            check_source_name,
            list_sources,
            source_entry,
            take_baseline,
        )

        check_source_name(plan.source)
        if not plan.tables:
            raise InvalidInputError(
                f"the plan of {plan.source!r} has no tables, so there is nothing to follow",
                remedy="write it with discover, and leave the tables in that are to be taken",
            )
        if not plan.address:
            # that of a job has none
            plan = replace(plan, address=self._address_of(plan.source))
        plan = _told_apart(list_sources(self._store.kv), plan)
        _check_types(list_sources(self._store.kv), plan)
        source = Source(name=plan.source, plan=plan, salt=secrets.token_hex(16))
        # first, as it may fail: what cannot be read is not registered
        with self.opened(source, url) as database, database.snapshot():
            tables, figures = take_baseline(database, plan, bytes.fromhex(source.salt))
        source = replace(source, tables=tables, figures=figures)

        def entries(kv: EntryReads) -> Sequence[Entry]:
            # another one may have been registered meanwhile
            _check_types(list_sources(kv), plan)
            return [source_entry(source)]

        return self._register(plan.schemas, entries)

    def drift(self, name: str, accept: bool, url: str | None) -> Drift:
        """Compare a source with what it was; see `Schemas.drift`."""
        from .drift import Drift, compare
        from .plan.source import find_source, take_baseline

        source = find_source(self._store.kv, name)
        with self.opened(source, url) as database:
            with database.snapshot():
                now = take_baseline(database, source.plan, bytes.fromhex(source.salt))
            changes = compare(source.plan, (source.tables, source.figures), now)
            additive = tuple(change for change in changes if change.is_additive)
            if not accept or not additive:
                return Drift(source=name, changes=changes)
            self._accept(source, additive, database)
        return Drift(source=name, changes=changes, accepted=additive)

    def _accept(self, source: Source, changes: tuple[Change, ...], database: Database) -> None:
        """Register what a source has more, and compare with that from now on."""
        from .discovery.discovering import discover
        from .drift import accept_changes, extend_plan
        from .plan.source import find_source, source_entry, take_baseline

        plan = source.plan
        schemas: Sequence[SchemaDefinition] = ()
        if any(change.kind != "row count" for change in changes):
            added = [change.table for change in changes if change.kind == "table added"]
            tables = [table.table for table in plan.tables] + added
            tables += [link.table for link in plan.links]
            plan = extend_plan(plan, discover(database, source.name, tables=tables), changes)
            schemas = plan.schemas
        now = take_baseline(database, plan, bytes.fromhex(source.salt))

        def entries(kv: EntryReads) -> Sequence[Entry]:
            stored = find_source(kv, source.name)
            # a sync may have counted its rows meanwhile
            if replace(stored, figures=source.figures, synced_at=source.synced_at) != source:
                raise ChangedError(
                    f"the source {source.name!r} was changed while it was compared",
                    remedy="ask for its drift again",
                )
            return [source_entry(accept_changes(replace(stored, plan=plan), changes, now))]

        self._register(schemas, entries)

    @contextmanager
    def opened(self, source: Source, url: str | None) -> Iterator[Database]:
        """Open the database of a source, by this URL if there is one; see `Schemas.sync`."""
        from .databases.opening import open_database

        name = source.name
        if address := url or self._engine.source_urls.get(name) or source_url(name):
            database = open_database(address)
        else:
            database = open_database(source.plan.address, source_password(name))
        try:
            yield database
        finally:
            database.close()

    def identify(self, schema: str, by: Sequence[str]) -> None:
        """Say in a plan what identifies rows; see `Schemas.identify`."""
        from .plan.source import list_sources, source_entry

        def say(reads: Reads) -> Batch:
            known: list[str] = []
            for source in list_sources(reads.kv):
                for table in source.plan.tables:
                    if table.schema_name == schema:
                        changed = replace(source, plan=_identified(source.plan, table, by))
                        return Batch(entries=(source_entry(changed),))
                    known.append(table.schema_name)
            raise UnknownNameError("schema of a database that is followed", schema, known)

        self._store.update(say)

    def note_synced(self, report: SyncReport) -> None:
        """Keep how many rows each table has now, for the next drift."""
        from .plan.source import find_source, source_entry

        rows = {table.table: table.read for table in report.tables if not table.fault}

        def note(reads: Reads) -> Batch:
            source = find_source(reads.kv, report.source)
            figures = tuple(
                replace(each, rows=rows.get(each.table, each.rows)) for each in source.figures
            )
            synced = replace(source, figures=figures, synced_at=datetime.now(UTC))
            return Batch(entries=(source_entry(synced),))

        self._store.update(note)

    def _address_of(self, name: str) -> str:
        """The address of a source in the environment, or as registered; empty: neither has it."""
        from .databases.addresses import parse_address
        from .plan.source import list_sources

        if url := source_url(name):
            return parse_address(url).url
        sources = list_sources(self._store.kv)
        return next((source.plan.address for source in sources if source.name == name), "")


def source_url(name: str) -> str:
    """The URL that the environment has for a source; empty: none, or a password alone."""
    from .databases.addresses import is_address

    password = source_password(name) or ""
    return password if is_address(password) else ""


def _identified(plan: Plan, table: PlannedTable, by: Sequence[str]) -> Plan:
    columns = {field.name: field.column for field in table.fields}
    for name in by:
        if name not in columns:
            raise UnknownNameError("field", name, [*columns])
    planned = replace(table, identified_by=tuple(dict.fromkeys(columns[name] for name in by)))
    return replace(plan, tables=tuple(planned if one is table else one for one in plan.tables))


def _told_apart(sources: Sequence[Source], plan: Plan) -> Plan:
    """A plan whose types and schemas say their source as well, where another one has them: rows of
    `customer/shop`, which their handles begin with, in the schema `shop_customers`."""
    others = [table for one in sources if one.name != plan.source for table in one.plan.tables]
    before = [table for one in sources if one.name == plan.source for table in one.plan.tables]
    prefix = plan.source.replace("-", "_")

    def name(attribute: str, table: PlannedTable, own: str) -> str:
        # once it was told apart, it is called so for ever: its handles are in use
        taken = own in (getattr(one, attribute) for one in before)
        plain = str(getattr(table, attribute))
        return own if taken or plain in (getattr(one, attribute) for one in others) else plain

    tables = []
    for table in plan.tables:
        columns = [field.column for field in table.fields]
        for column in table.identified_by:
            if column not in columns:
                raise UnknownNameError("column", column, columns)
        entity_type = name("entity_type", table, f"{table.entity_type}/{plan.source}")
        schema_name = name("schema_name", table, f"{prefix}_{table.schema_name}"[:63])
        tables.append(replace(table, entity_type=entity_type, schema_name=schema_name))
    return replace(plan, tables=tuple(tables))


def _check_types(sources: Sequence[Source], plan: Plan) -> None:
    """Refuse a type of entities that another source has: its handles would be the same."""
    own = {table.entity_type: table.table for table in plan.tables}
    if len(own) < len(plan.tables):
        types = [table.entity_type for table in plan.tables]
        twice = next(name for name in types if types.count(name) > 1)
        raise InvalidInputError(
            f"two tables of {plan.source!r} have rows of the type {twice!r}, so two rows of "
            "one key would have one handle",
            remedy="give each table an entity_type of its own in the plan",
        )
    for other in sources:
        for table in other.plan.tables:
            if other.name != plan.source and table.entity_type in own:
                raise InvalidInputError(
                    f"the source {other.name!r} has rows of the type {table.entity_type!r} "
                    f"already, so its handles and those of {own[table.entity_type]!r} would "
                    "be the same",
                    remedy="change the entity_type of the table in the plan",
                )
