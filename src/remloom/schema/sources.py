"""Databases that are followed: registering their plans, sync, and drift."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..engine.arguments import Progress
from ..engine.engine import Engine
from ..errors import ChangedError, InvalidInputError
from ..kv import Entry, EntryReads
from ..model import Registered, SchemaDefinition
from ..settings import source_password
from ..store.batch import Batch
from ..store.contract import Reads

if TYPE_CHECKING:
    from .databases.contract import Database
    from .drift.drift import Change, Drift
    from .plan.plan import Plan
    from .plan.source import Source
    from .sync.report import SyncReport


RegisterAll = Callable[
    [Sequence[SchemaDefinition], Callable[[EntryReads], Sequence[Entry]]], tuple[Registered, ...]
]


class Sources:
    """The databases that one tenant follows; see `Schemas`.

    Args:
        register: registers definitions, and writes entries with them.
    """

    def __init__(self, engine: Engine, register: RegisterAll) -> None:
        self._engine = engine
        self._store = engine.store
        self._register = register

    def list(self) -> list[Source]:
        """List them, by name."""
        from .plan.source import list_sources

        return list_sources(self._store.kv)

    def discover(
        self,
        url: str,
        name: str,
        tables: Sequence[str] | None,
        relationships: bool,
        sample: int,
        progress: Progress | None,
    ) -> Plan:
        """Discover what a database has; see `Schemas.discover`."""
        from .discovery.discovering import discover_at

        plan = discover_at(url, name, tables, relationships, sample, progress)
        self._engine.source_urls[plan.source] = url
        return plan

    def rediscover(
        self,
        name: str,
        tables: Sequence[str] | None,
        relationships: bool,
        sample: int,
        progress: Progress | None,
    ) -> Plan:
        """Discover what a source has now; see `Schemas.rediscover`."""
        from .databases.addresses import is_address
        from .discovery.discovering import discover
        from .plan.source import check_source_name, find_source

        check_source_name(name)
        password = source_password(name) or ""
        if is_address(password) and name not in {source.name for source in self.list()}:
            return self.discover(password, name, tables, relationships, sample, progress)
        with self._opened(find_source(self._store.kv, name), None) as database:
            return discover(database, name, tables, relationships, sample, progress)

    def register(
        self, plan: Plan, entity_mapping: Mapping[str, str] | None, url: str | None
    ) -> tuple[Registered, ...]:
        """Register a plan; see `Schemas.register_from_discovery`."""
        from .plan.source import Source, check_source_name, list_sources, source_entry

        if entity_mapping:
            plan = plan.mapped(entity_mapping)
        check_source_name(plan.source)
        if not plan.tables:
            raise InvalidInputError(
                f"the plan of {plan.source!r} has no tables, so there is nothing to follow",
                remedy="write it with discover, and leave the tables in that are to be taken",
            )
        if not plan.address:
            # that of a job has none
            plan = replace(plan, address=self._address_of(plan.source))
        _check_types(self.list(), plan)
        source = Source(name=plan.source, plan=plan, salt=secrets.token_hex(16))
        # first, as it may fail: what cannot be read is not registered
        source = self._with_baseline(source, url)

        def entries(kv: EntryReads) -> Sequence[Entry]:
            # another one may have been registered meanwhile
            _check_types(list_sources(kv), plan)
            return [source_entry(source)]

        return self._register(plan.schemas, entries)

    def sync(
        self,
        name: str,
        *,
        dry_run: bool,
        history: bool,
        url: str | None,
        progress: Progress | None,
    ) -> SyncReport:
        """Sync a source; see `Schemas.sync`."""
        from .plan.source import find_source
        from .sync.run import Target, sync

        source = find_source(self._store.kv, name)
        engine = self._engine
        model = engine.embedder_name
        if not model and (stored := self._store.vectors.model()):
            # whoever opens it with that embedder finds these texts in the queue
            model = stored[0]
        target = Target(self._store, engine.tenant, model)
        with self._opened(source, url) as database:
            report = sync(
                target, source, database, dry_run=dry_run, history=history, progress=progress
            )
        if not dry_run:
            self._note_synced(name, report)
            engine.embed_in_background()
        return report

    def drift(self, name: str, *, accept: bool, url: str | None) -> Drift:
        """Compare a source with what it was; see `Schemas.drift`."""
        from .drift.drift import Drift, compare
        from .plan.baseline import take_baseline
        from .plan.source import find_source

        source = find_source(self._store.kv, name)
        with self._opened(source, url) as database:
            with database.snapshot():
                now = take_baseline(database, source.plan, bytes.fromhex(source.salt))
            changes = compare(source.plan, (source.tables, source.figures), now)
            additive = tuple(change for change in changes if change.is_additive)
            if not accept or not additive:
                return Drift(source=name, changes=changes)
            self._accept(source, additive, database)
        return Drift(source=name, changes=changes, accepted=additive)

    # -- what they have in common ------------------------------------------------------------------

    def _accept(self, source: Source, changes: tuple[Change, ...], database: Database) -> None:
        """Register what a source has more, and compare with that from now on."""
        from .discovery.discovering import discover
        from .drift.additions import accept_changes, extend_plan
        from .plan.baseline import take_baseline
        from .plan.source import find_source, source_entry

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
            if (stored.plan, stored.tables, stored.salt) != (
                source.plan,
                source.tables,
                source.salt,
            ):
                raise ChangedError(
                    f"the source {source.name!r} was changed while it was compared",
                    remedy="ask for its drift again",
                )
            # a sync may have counted its rows meanwhile
            return [source_entry(accept_changes(replace(stored, plan=plan), changes, now))]

        self._register(schemas, entries)

    def _with_baseline(self, source: Source, url: str | None) -> Source:
        from .plan.baseline import take_baseline

        with self._opened(source, url) as database, database.snapshot():
            tables, figures = take_baseline(database, source.plan, bytes.fromhex(source.salt))
        return replace(source, tables=tables, figures=figures)

    @contextmanager
    def _opened(self, source: Source, url: str | None) -> Iterator[Database]:
        from .databases.addresses import is_address
        from .databases.opening import open_database

        password = source_password(source.name) or ""
        address = (
            url or self._engine.source_urls.get(source.name) or (is_address(password) and password)
        )
        database = (
            open_database(address) if address else open_database(source.plan.address, password)
        )
        try:
            yield database
        finally:
            database.close()

    def _note_synced(self, name: str, report: SyncReport) -> None:
        """Keep how many rows each table has now: drift is told from there."""
        from .plan.source import find_source, source_entry

        rows = {table.table: table.read for table in report.tables if not table.fault}

        def note(reads: Reads) -> Batch:
            source = find_source(reads.kv, name)
            figures = tuple(
                replace(each, rows=rows.get(each.table, each.rows)) for each in source.figures
            )
            synced = replace(source, figures=figures, synced_at=datetime.now(UTC))
            return Batch(entries=(source_entry(synced),))

        self._store.update(note)

    def _address_of(self, name: str) -> str:
        """Where a source is, by what is registered or the environment says; empty: neither does."""
        from .databases.addresses import is_address, parse_address

        password = source_password(name) or ""
        if is_address(password):
            return parse_address(password).url
        return next((each.plan.address for each in self.list() if each.name == name), "")


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
