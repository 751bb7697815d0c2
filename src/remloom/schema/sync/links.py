"""Link tables: their rows become edges, page by page, by the plan of their database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...errors import LabelError
from ...model import SOURCE_FK, Edge, EdgeKey
from ..databases.contract import Database, Table, Unreadable
from ..plan.planned import PlannedLink
from .keys import SeenHandles, pages, pieces
from .report import TableReport
from .rows import Handles, RowNames, edge_key, edge_properties
from .writer import PageItem, SyncWriter


class LinkSync:
    """Brings the edges of one link table up to date."""

    def __init__(self, writer: SyncWriter, reader: LinkReader, names: RowNames) -> None:
        self._writer = writer
        self.reader = reader
        self._names = names
        self.seen = SeenHandles()  # of its edges, see `_joined`
        self.unresolved = SeenHandles()
        self.report = TableReport(table=reader.link.table)

    def sync(self, database: Database, table: Table) -> None:
        for page in pages(database, table, self.reader.columns):
            self.report.read += len(page)
            rows = [row for values in page if (row := self.reader.read(values)) is not None]
            for row in rows:
                self.report.leave_out_values(row.owner, row.unreadable)
            self._writer.page(len(page), partial(self._sync_page, rows))

    def has_seen(self, edge: Edge) -> bool:
        """Whether the table still has an edge that is stored."""
        return not self.seen.missing([_joined(edge.key)])[0]

    def _sync_page(self, rows: Sequence[_LinkRow]) -> None:
        kept = [row for row in rows if not self._is_forgotten(row)]
        names = self._names.of({end for row in kept for end in (row.owner, row.target)})
        edges: dict[EdgeKey, Edge] = {}
        refused = []
        for row in kept:
            try:
                edges.update((edge_key(edge), edge) for edge in self.reader.edges_of(row, names))
            except LabelError as error:
                refused.append((row.owner, error.message))
        stored = self._stored(edges)
        items = []
        for key, edge in edges.items():
            old = stored.get(key)
            if old is None:
                items.append(PageItem(edge))
            elif old.properties != edge.properties:
                # merged, it would keep what the table has no more
                whole = replace(edge, created_at=old.created_at)
                items.append(PageItem(whole, unlinked=(key,)))
        written = self._writer.write(items, self.report)
        self._count(written, edges, len(items), len(rows) - len(kept))
        for key, edge in edges.items():
            self.seen.add(_joined(key))
            for end in (edge.src, edge.dst):
                if end not in names:
                    self.unresolved.add(end)
        for handle, reason in refused:
            self.report.refuse(handle, reason)

    def _is_forgotten(self, row: _LinkRow) -> bool:
        forgotten = self._writer.forgotten
        ends = ((self.reader.owner, row.owner), (self.reader.target, row.target))
        return any(forgotten.has(end.table.schema_name, handle) for end, handle in ends)

    def _stored(self, edges: dict[EdgeKey, Edge]) -> dict[EdgeKey, Edge]:
        sources = list({src for src, _, _ in edges})
        found: dict[EdgeKey, Edge] = {}
        if sources:
            for edge in self._writer.store.graph.stored_edges(sources, direction="out"):
                if edge.key in edges:
                    found[edge.key] = edge
        return found

    def _count(
        self, written: Sequence[PageItem], edges: dict[EdgeKey, Edge], tried: int, forgotten: int
    ) -> None:
        report = self.report
        changed = sum(bool(item.unlinked) for item in written)
        report.changed += changed
        report.added += len(written) - changed
        report.edges_added += len(written) - changed
        report.unchanged += len(edges) - tried
        report.forgotten += forgotten


def delete_gone_links(writer: SyncWriter, links: Sequence[LinkSync]) -> None:
    """Delete the edges whose rows are gone from their link tables."""
    by_fk = {link.reader.source_fk: link for link in links}

    def gone() -> Iterator[Edge]:
        for edge in writer.store.graph.all_edges():
            link = by_fk.get(str(edge.properties.get(SOURCE_FK, "")))
            if link is not None and not link.has_seen(edge):
                yield edge

    for some in pieces(list(gone())):
        writer.repeat(partial(writer.delete, (), (), [edge.key for edge in some]))
        for edge in some:
            report = by_fk[edge.properties[SOURCE_FK]].report
            report.deleted += 1
            report.edges_ended += 1


def _joined(key: EdgeKey) -> str:
    return "\0".join(key)


class _LinkRow(Struct, frozen=True, gc=False):
    """A row of a link table, with the handles of the rows that it links."""

    owner: str
    target: str
    properties: dict[str, Any]  # of its edge
    unreadable: list[str]  # properties that it is without, and why


class LinkReader:
    """Makes edges of the rows of a link table, from `owner` to `target`."""

    def __init__(self, link: PlannedLink, table: Table, owner: Handles, target: Handles) -> None:
        self.link = link
        self.owner = owner
        self.target = target
        payload = [field.column for field in link.fields]
        self.columns = (*link.owner_columns, *link.target_columns, *payload)
        first = len(link.owner_columns)
        self._owner_key = _key_order(table, link.owner_columns, owner, 0)
        self._target_key = _key_order(table, link.target_columns, target, first)
        self._payload = first + len(link.target_columns)

    @property
    def source_fk(self) -> str:
        """The foreign key of its edges, with the name of the table in it."""
        return f"{self.link.table}.{','.join(self.link.target_columns)}"

    def read(self, values: Sequence[Any]) -> _LinkRow | None:
        """Read a row; None: one of its ends is NULL."""
        owner = tuple([values[position] for position in self._owner_key])
        target = tuple([values[position] for position in self._target_key])
        if None in owner or None in target:
            return None
        properties, unreadable = {}, []
        for field, value in zip(self.link.fields, values[self._payload :], strict=True):
            if isinstance(value, Unreadable):
                unreadable.append(f"{field.name} cannot be read: {value.reason}")
            elif value is not None:
                properties[field.name] = _as_json(value)
        return _LinkRow(self.owner.of(owner), self.target.of(target), properties, unreadable)

    def edges_of(self, row: _LinkRow, names: Mapping[str, str]) -> list[Edge]:
        """Make the edge of a row, and the inverse one if the plan has it.

        Args:
            names: handle -> name of the rows at both ends, as far as they are known.
        """
        there = [(self.link.name, row.owner, row.target, self.target)]
        if self.link.inverse:
            there.append((self.link.inverse, row.target, row.owner, self.owner))
        edges = []
        for rel_type, src, dst, handles in there:
            entity_type, name = handles.table.entity_type, names.get(dst, "")
            properties = row.properties | edge_properties(entity_type, name, self.source_fk)
            edges.append(Edge(src=src, rel_type=rel_type, dst=dst, properties=properties))
        return edges


def _key_order(table: Table, columns: Sequence[str], end: Handles, first: int) -> list[int]:
    """The positions of the columns, in the order of the key that they lead to."""
    targets = tuple(end.table.key)
    for key in table.foreign_keys:
        if set(key.columns) == set(columns) and set(key.target_columns) == set(targets):
            by_target = dict(zip(key.target_columns, key.columns, strict=True))
            return [first + list(columns).index(by_target[column]) for column in targets]
    return list(range(first, first + len(columns)))


def _as_json(value: Any) -> Any:
    if isinstance(value, Decimal) and value.is_finite() and Decimal(repr(float(value))) == value:
        return float(value)
    return msgspec.to_builtins(value, enc_hook=str)
