"""Tables whose rows become rows of a schema, page by page."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ... import labels
from ...errors import LabelError
from ...model import Direction, Edge, EdgeKey, Record, Row
from ..databases.contract import Database, Key, Table
from .keys import KEYS, SeenHandles, delete_rows, find_repeated_keys, pages, seen_rows
from .report import SHOWN, SameAs, TableReport
from .rows import SOURCE_HASH, RowNames, RowReader, SourceRow, Targets, edge_key, rows_with_key
from .watermark import TableWatermark
from .writer import PageItem, SyncWriter


class _Read(Struct, frozen=True):
    """A row that is added or changed, as it was read and as it is stored."""

    row: SourceRow
    values: dict[str, Any]  # by column
    stored: Row | None

    @property
    def keeps_handle(self) -> bool:
        return self.stored is None or self.stored.handle == self.row.handle


class TableSync:
    """Brings the rows of one table up to date.

    Args:
        watermark: that of the table, if it has one.
        ended_at: when edges that rows have no more ended; None: they are deleted.
        names: what the rows are called that edges lead to.
    """

    def __init__(
        self,
        writer: SyncWriter,
        reader: RowReader,
        *,
        watermark: TableWatermark | None,
        ended_at: datetime | None,
        names: RowNames,
        same_as: list[SameAs],
    ) -> None:
        self._writer = writer
        self.reader = reader
        self._watermark = watermark
        self._ended_at = ended_at
        self._marked = reader.columns.index(reader.table.watermark) if watermark else 0
        self._names = names
        self._same_as = same_as
        self._schema = reader.table.schema_name
        self._behind: set[str] | None = None  # keys of the rows read behind the watermark
        self._repeated: set[int] = set()  # hashes of the keys that several rows may have
        self._digests: dict[str, str] = {}  # of the first row of each of these
        self.seen = SeenHandles()
        self.unresolved = SeenHandles()
        self.report = TableReport(table=reader.table.table, schema_name=self._schema)

    def sync(self, database: Database, table: Table) -> None:
        watermark = self._watermark
        self._repeated = find_repeated_keys(database, table, self.reader)
        is_quick = watermark is not None and watermark.is_reliable and not self._repeated
        if not is_quick or not self._sync_behind(watermark, database, table):  # type: ignore[arg-type]
            is_quick = False
            for page in pages(database, table, self.reader.columns):
                self.report.read += len(page)
                self._sync_rows(page)
        if watermark is not None:
            self._writer.put(watermark.entry(was_quick=is_quick))

    def _sync_behind(self, watermark: TableWatermark, database: Database, table: Table) -> bool:
        """Read the keys, and the rows behind the watermark; says whether that was enough."""
        report, reader = self.report, self.reader
        behind = self._behind = set()
        key: Key = ()
        width = len(reader.table.key)
        skipped = 0
        for keys in pages(database, table, (*reader.table.key, *table.primary_key), KEYS):
            report.read += len(keys)
            key = keys[-1][width:]
            for values in keys:
                handle = reader.handles.of(values[:width])
                self.seen.add(handle)
                skipped += self._writer.forgotten.has(self._schema, handle)
        if not key:
            return True
        after = watermark.after(key)
        for page in pages(database, watermark.table(), reader.columns, after=after):
            self._sync_rows(page)
        self._behind = None
        there = 0
        for rows, _ in seen_rows(self._writer.store, reader, self.seen):
            there += len(rows)
            for row in rows:
                if labels.key(row.handle) not in behind:
                    report.leave_out(row)
        report.forgotten = skipped
        report.unchanged = there - report.added - report.changed
        if there + skipped == self.seen.count():
            return True
        # rows that are not behind the watermark are new as well
        report.read = report.unchanged = report.forgotten = report.left_out = 0
        report.left_out_values = []
        return False

    def _sync_rows(self, page: Sequence[tuple[Any, ...]]) -> None:
        self._writer.page(len(page), partial(self._sync_page, self._rows_of(page)))

    def _rows_of(self, page: Sequence[tuple[Any, ...]]) -> dict[str, SourceRow]:
        rows: dict[str, SourceRow] = {}
        for values in page:
            try:
                row = self.reader.read(values)
            except LabelError as error:
                self.report.refuse("", error.message)
                continue
            if row is None:
                self.report.refuse("", "a column of its key is NULL")
                continue
            first = rows[row.key].digest if row.key in rows else row.digest
            if hash(row.key) in self._repeated:
                first = self._digests.setdefault(row.key, row.digest)
            if first != row.digest:
                self.report.refuse(row.handle, "another row has this key")
                continue
            rows[row.key] = row
            self.seen.add(row.handle)
            if self._watermark is not None:
                self._watermark.see(values[self._marked])
        return rows

    def _sync_page(self, rows: dict[str, SourceRow]) -> None:
        there = self._writer.store.records.lookup(list(rows), edges=0)
        forgotten = 0
        unchanged: list[Row] = []
        changed: list[_Read] = []
        for key, row in rows.items():
            own = (one for one in rows_with_key(there[key], key) if one.schema == self._schema)
            stored = next(own, None)
            if stored is not None and stored.metadata.get(SOURCE_HASH) == row.digest:
                unchanged.append(stored)
            elif self._writer.forgotten.has(self._schema, row.handle):
                forgotten += 1
            else:
                changed.append(_Read(row, self.reader.by_column(row), stored))
        # the case of a key was changed: the row is another, under the label of the one before
        stale = [read.stored for read in changed if read.stored and not read.keeps_handle]
        if stale:
            delete_rows(self._writer, self.reader, stale)
            changed = [
                read if read.keeps_handle else replace(read, stored=None) for read in changed
            ]
        if changed:
            self._write(changed, there)
        # counted when the page is written: it may be made more than once
        self.report.forgotten += forgotten
        self.report.unchanged += len(unchanged)
        for stored in unchanged:
            self.report.leave_out(stored)
        if self._behind is not None:
            self._behind.update(rows)

    def _write(self, changed: list[_Read], there: Mapping[str, list[Record]]) -> None:
        targets = {read.row.key: self._targets_of(read) for read in changed}
        own = {read.row.key: self.reader.name_of(read.values, read.row.handle) for read in changed}
        handles = {handle for some in targets.values() for _, handle in some}
        names = self._names.of(handles)
        for handle in handles:
            if (name := own.get(labels.key(handle))) is not None:
                names[handle] = name
        stored_edges = self._own_edges([read.row.key for read in changed if read.stored])
        rows = {
            read.row.key: self.reader.row_of(read.row, read.values, targets[read.row.key], names)
            for read in changed
        }
        old_edges, past = _parted(stored_edges)
        rows = {key: _begun_again(row, past) for key, row in rows.items()}
        ended = {key: _ended(old, rows[key].graph_paths) for key, old in old_edges.items()}
        renamed = [read for read in changed if there[read.row.key] and _is_renamed(read, own)]
        incoming = self._named_edges(renamed, own, set(chain.from_iterable(ended.values())))
        items = []
        for key, row in rows.items():
            gone, led = ended.get(key, ()), incoming.get(key, ())
            if self._ended_at is not None:
                old = old_edges.get(key, ())
                led += tuple(replace(e, valid_to=self._ended_at) for e in old if e.key in gone)
                gone = ()
            items.append(PageItem(row, unlinked=gone, edges=led))
        taken = self._writer.write(items, self.report)
        written = [item.item for item in taken if isinstance(item.item, Row)]
        self._count(written, {read.row.handle: read for read in changed}, old_edges, ended)
        self._names.learn(own)
        for row in written:
            for edge, handle in targets[labels.key(row.handle)]:
                if edge.handles and handle not in names:
                    self.unresolved.add(handle)
        self._propose_same(written)
        self._writer.look_again([*written, *(read.stored for read in changed if read.stored)])

    def _targets_of(self, read: _Read) -> Targets:
        """The edges of a row, without those to rows that were forgotten."""
        forgotten = self._writer.forgotten
        return [
            (edge, handle)
            for edge, handle in self.reader.targets_of(read.values)
            if not (edge.handles and forgotten.has(edge.handles.table.schema_name, handle))
        ]

    def _own_edges(self, keys: Sequence[str]) -> dict[str, list[Edge]]:
        """The stored edges that rows have by their foreign keys, and the inverse ones."""
        found: dict[str, list[Edge]] = {}
        if not keys:
            return found
        own_keys = set(keys)
        direction: Direction = "both" if self.reader.inverse else "out"
        for edge in self._writer.store.graph.stored_edges(keys, direction=direction):
            if key := self.reader.says(edge, own_keys):
                found.setdefault(key, []).append(edge)
        return found

    def _named_edges(
        self, renamed: Sequence[_Read], names: Mapping[str, str], ended: Collection[EdgeKey]
    ) -> dict[str, tuple[Edge, ...]]:
        """The edges that lead to renamed rows, with the new names, without those that end."""
        if not renamed:
            return {}
        handles = {read.row.key: read.row.handle for read in renamed}
        found: dict[str, tuple[Edge, ...]] = {}
        for edge in self._writer.store.graph.stored_edges(list(handles), direction="in"):
            if not edge.is_from_key or edge.key in ended:
                continue
            handle = handles[edge.dst]
            properties = {**edge.properties, "dst_name": names[edge.dst]}
            named = replace(edge, dst=handle, properties=properties)
            found[edge.dst] = (*found.get(edge.dst, ()), named)
        return found

    def _count(
        self,
        written: Sequence[Row],
        reads: Mapping[str, _Read],
        old_edges: Mapping[str, Sequence[Edge]],
        ended: Mapping[str, Sequence[EdgeKey]],
    ) -> None:
        report = self.report
        for row in written:
            read = reads[row.handle]
            if read.stored is None:
                report.added += 1
            else:
                report.changed += 1
            old = len(old_edges.get(read.row.key, ()))
            if self._watermark is not None:
                self._watermark.observe(read.values, was_there=read.stored is not None)
            gone = len(ended.get(read.row.key, ()))
            report.edges_ended += gone
            report.edges_added += len(row.graph_paths) - (old - gone)

    def _propose_same(self, written: Sequence[Row]) -> None:
        """Note rows of other schemas that share an alias with these."""
        aliases = {labels.key(alias): row for row in written for alias in row.aliases}
        if not aliases or len(self._same_as) >= SHOWN:
            return
        for key, records in self._writer.store.records.lookup(list(aliases), edges=0).items():
            for other in records:
                if not isinstance(other, Row) or other.schema == self._schema:
                    continue
                if self._writer.uniter and self._writer.uniter.compares(other, aliases[key]):
                    continue
                if key in map(labels.key, other.aliases):
                    self._same_as.append(SameAs(other.handle, aliases[key].handle))


def _is_renamed(read: _Read, names: Mapping[str, str]) -> bool:
    return read.stored is None or read.stored.name != names[read.row.key]


def _parted(edges: Mapping[str, Sequence[Edge]]) -> tuple[dict[str, list[Edge]], set[EdgeKey]]:
    """Split edges into those that hold, and the keys of those that have ended already."""
    past = {edge.key for some in edges.values() for edge in some if edge.valid_to is not None}
    holding = {key: [edge for edge in some if edge.valid_to is None] for key, some in edges.items()}
    return holding, past


def _begun_again(row: Row, past: Collection[EdgeKey]) -> Row:
    """The row, whose edges that had ended and are there again hold from now on."""
    if not past:
        return row
    now = datetime.now(UTC)
    edges = [
        replace(edge, valid_from=now) if edge_key(edge) in past else edge
        for edge in row.graph_paths
    ]
    return replace(row, graph_paths=tuple(edges))


def _ended(old: Sequence[Edge], new: Sequence[Edge]) -> tuple[EdgeKey, ...]:
    still = {edge_key(edge) for edge in new}
    return tuple(edge.key for edge in old if edge.key not in still)
