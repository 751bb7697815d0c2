"""A sync from beginning to end: tables in the order of their foreign keys, then what is gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from msgspec.structs import replace

from ...errors import RemloomError, SourceError
from ...model import Row
from ...model.edge_types import SAME_AS
from ...runs.lifecycle import reason_of
from ..databases.contract import Column, Database, Key, Table
from ..plan.plan import Plan
from ..plan.planned import UNREADABLE, PlannedEdge, PlannedLink, PlannedTable
from ..plan.source import Source, list_sources
from .keys import SeenHandles, delete_gone_rows, find_shared_labels, pages
from .links import LinkReader, LinkSync, delete_gone_links
from .report import SHOWN, SameAs, SyncReport, TableReport
from .rows import Handles, RowEdge, RowNames, RowReader
from .tables import TableSync
from .uniting import Uniter, identities_of
from .watermark import TableWatermark
from .writer import SyncWriter, Target, begin

Progress = Callable[[int, int], None]


def sync(
    target: Target,
    source: Source,
    database: Database,
    *,
    dry_run: bool = False,
    history: bool = False,
    progress: Progress | None = None,
) -> SyncReport:
    """Bring the rows of a source up to date.

    It reads one state of the database, where that can give one. When it is broken off, what was
    written stays, and the next sync finds it unchanged.

    Args:
        history: foreign keys that change end their edges (`valid_to`) rather than delete them.
        progress: called as progress(rows read, rows expected).

    Raises:
        ConflictError: the source is being synced already.
        LeaseLostError: another sync of it has taken over.
        SourceError: the database cannot be read.
    """
    began = time.monotonic()
    # before anything is written: a database that is down leaves all as it is
    tables = {table.name: table for table in _as_registered(database.tables(), source.tables)}
    lease = None if dry_run else begin(target.store, source.name)
    expected = sum(table.rows or 0 for table in source.plan.tables)

    def on_page(read: int) -> None:
        if progress is not None:
            progress(read, max(read, expected))

    writer = SyncWriter(target, lease, on_page)
    # its own plan last: that is the one that is followed
    identities = identities_of([*list_sources(target.store.kv), source])
    if identities or SAME_AS.name in target.store.graph.edge_types():
        writer.uniter = Uniter(target.store.update, identities, target.tenant)
    work = _Sync(source, database, tables, writer, history)
    try:
        with database.snapshot():
            reports = work.do()
            if lease is not None and lease.resumed:
                work.look_at_all()
    except BaseException as error:
        if lease is not None:
            # the first error is the one to report
            with suppress(RemloomError):
                lease.end(writer.counts, reason_of(error))
        raise
    if lease is not None:
        lease.end(writer.counts)
    uniter = writer.uniter
    return SyncReport.of(
        source.name,
        reports,
        same_as=tuple([*work.same_as, *(uniter.same_as if uniter else ())][:SHOWN]),
        united=uniter.united if uniter else 0,
        separated=uniter.separated if uniter else 0,
        seconds=time.monotonic() - began,
        dry_run=dry_run,
        resumed=lease is not None and lease.resumed,
        stale=writer.stale,
        stale_ids=writer.stale_ids,
    )


class _Sync:
    """The work of one sync."""

    def __init__(
        self,
        source: Source,
        database: Database,
        tables: Mapping[str, Table],
        writer: SyncWriter,
        history: bool,
    ) -> None:
        self._database = database
        self._tables = tables
        self._writer = writer
        self._plan: Plan = source.plan
        self._ended_at = datetime.now(UTC) if history else None
        self._names = RowNames(writer.store)
        self._planned = {table.table: table for table in self._plan.tables}
        self._handles: dict[str, Handles] = {}
        self._error: SourceError | None = None  # of a table that cannot be read
        self.same_as: list[SameAs] = []

    def do(self) -> list[TableReport]:
        """Sync every table of the plan; returns a report for each."""
        ordered = _tables_in_order(self._plan)
        faults = {table.table: _fault_of(table, self._tables) for table in ordered}
        for table in ordered:
            shared: frozenset[str] = frozenset()
            if not faults[table.table]:
                with self._report_fault(faults, table.table):
                    described = self._tables[table.table]
                    shared = find_shared_labels(self._database, described, table)
            self._handles[table.table] = Handles(table, shared)
        done: list[TableSync] = []
        reports: list[TableReport] = []
        for table in ordered:
            name = table.table
            report = TableReport(table=name, schema_name=table.schema_name)
            if not faults[name]:
                with self._report_fault(faults, name):
                    work = self._table_sync(table)
                    report = work.report
                    work.sync(self._database, self._tables[name])
                    done.append(work)
            report.fault = faults[name]
            report.colliding = len(self._handles[name].shared)
            reports.append(report)
        links = self._sync_links(reports)
        if self._error is not None and not (done or links):
            raise self._error
        reports += self._withheld()
        self._delete_gone(done, links)
        self._count_orphans(done, links)
        return reports

    def look_at_all(self) -> None:
        """See what all rows are one with: those of a sync that was broken off may not have been
        looked at."""
        for table in self._plan.tables:
            rows = self._writer.store.records.all(table.schema_name)
            self._writer.look_again(row for row in rows if isinstance(row, Row))

    @contextmanager
    def _report_fault(self, faults: dict[str, str], table: str) -> Iterator[None]:
        """Note the fault of a table that cannot be read, and go on with the others."""
        try:
            yield
        except SourceError as error:
            try:
                self._database.tables([table])
            except RemloomError:
                # not only this table cannot be read
                raise error from None
            self._error = error
            faults[table] = f"{UNREADABLE}: {error.message}"

    def _withheld(self) -> Iterator[TableReport]:
        plan = self._plan
        known = {*self._planned, *(link.table for link in plan.links)}
        known |= {each.table for each in plan.left_out}
        for name, table in self._tables.items():
            if table.withheld and not table.columns and name not in known:
                yield TableReport(table=name, fault=f"{UNREADABLE}: {table.withheld}")

    # -- tables ------------------------------------------------------------------------------------

    def _table_sync(self, table: PlannedTable) -> TableSync:
        edges = [
            RowEdge(edge, self._handles.get(edge.target), self._keys_by_values(edge))
            for edge in self._plan.edges
            if edge.table == table.table and (edge.target in self._handles or edge.entity_type)
        ]
        inverse = {edge.inverse for edge in self._plan.edges if edge.target == table.table}
        handles = self._handles[table.table]
        reader = RowReader(
            self._plan, self._tables.get(table.table), handles, edges, frozenset(inverse)
        )
        return TableSync(
            self._writer,
            reader,
            watermark=self._watermark(reader),
            ended_at=self._ended_at,
            names=self._names,
            same_as=self.same_as,
        )

    def _watermark(self, reader: RowReader) -> TableWatermark | None:
        planned = reader.table
        table = self._tables.get(planned.table)
        columns = {column.name for column in table.columns} if table else set()
        if table is None or planned.watermark not in columns or not planned.key:
            return None
        digest = reader.plan_digest.hex()
        return TableWatermark(self._writer.store.kv, self._plan.source, planned, table, digest)

    def _keys_by_values(self, edge: PlannedEdge) -> dict[Key, Key] | None:
        """The keys of the rows that an edge leads to by other columns; None: it leads to keys."""
        planned = self._planned.get(edge.target)
        table = self._tables.get(edge.target)
        if planned is None or table is None or set(edge.target_columns) == set(planned.key):
            return None
        width = len(edge.target_columns)
        found: dict[Key, Key] = {}
        for page in pages(self._database, table, (*edge.target_columns, *planned.key)):
            found.update((row[:width], row[width:]) for row in page)
        return found

    # -- link tables -------------------------------------------------------------------------------

    def _sync_links(self, reports: list[TableReport]) -> list[LinkSync]:
        done = []
        for link in self._plan.links:
            fault = _fault_of(link, self._tables)
            if fault:
                reports.append(TableReport(table=link.table, fault=fault))
                continue
            if link.owner not in self._handles or link.target not in self._handles:
                continue
            ends = self._handles[link.owner], self._handles[link.target]
            reader = LinkReader(link, self._tables[link.table], *ends)
            work = LinkSync(self._writer, reader, self._names)
            faults: dict[str, str] = {}
            with self._report_fault(faults, link.table):
                work.sync(self._database, self._tables[link.table])
                done.append(work)
            work.report.fault = faults.get(link.table, "")
            reports.append(work.report)
        return done

    # -- what is gone ------------------------------------------------------------------------------

    def _delete_gone(self, done: Sequence[TableSync], links: Sequence[LinkSync]) -> None:
        if links:
            delete_gone_links(self._writer, links)
        # the tables that others lead to come last: few edges then lead to what is deleted
        for work in reversed(done):
            work.report.deleted = delete_gone_rows(self._writer, work.reader, work.seen)

    def _count_orphans(self, done: Sequence[TableSync], links: Sequence[LinkSync]) -> None:
        there = SeenHandles()
        for table in done:
            there.extend(table.seen)
        works: list[TableSync | LinkSync] = [*done, *links]
        for work in works:
            work.report.orphans = there.count_missing(work.unresolved)


def _fault_of(planned: PlannedTable | PlannedLink, tables: Mapping[str, Table]) -> str:
    """Say why a table cannot be synced; empty: it can."""
    if isinstance(planned, PlannedLink):
        needed = [*planned.owner_columns, *planned.target_columns]
    else:
        needed = [*planned.key, *planned.name]
    needed += [field.column for field in planned.fields]
    name = planned.table
    table = tables.get(name)
    if table is None:
        return f"the database has no table {name!r} any more"
    if table.withheld and not table.columns:
        return f"the table {name!r} {UNREADABLE}: {table.withheld}"
    there = {column.name for column in table.columns}
    gone = [column for column in dict.fromkeys(needed) if column not in there]
    if gone:
        return f"the table {name!r} has no column {', '.join(gone)} any more"
    return ""


def _tables_in_order(plan: Plan) -> list[PlannedTable]:
    """Order tables behind those that their edges lead to; of a cycle, the table begins that fewest
    others wait for."""
    left = {table.table: table for table in plan.tables}
    targets: dict[str, set[str]] = {name: set() for name in left}
    for edge in plan.edges:
        if edge.table in left and edge.target in left and edge.target != edge.table:
            targets[edge.table].add(edge.target)
    ordered: list[PlannedTable] = []
    while left:
        # without one that waits for none, a cycle is broken where it holds up least
        name = min(left, key=lambda name: (len(targets[name] & left.keys()), name))
        ordered.append(left.pop(name))
    return ordered


def _as_registered(tables: Iterable[Table], before: Sequence[Table]) -> Iterator[Table]:
    """Give tables the sampled columns that they had when they were registered: a field that few
    documents have may be missing in a sample, or be of other types."""
    known = {table.name: table for table in before}
    for table in tables:
        old = known.get(table.name)
        yield replace(table, columns=tuple(_columns(table, old))) if old else table


def _columns(table: Table, old: Table) -> Iterator[Column]:
    registered = {column.name: column for column in old.columns if column.sampled}
    for column in table.columns:
        yield registered.pop(column.name, column) if column.sampled else column
    yield from registered.values()
