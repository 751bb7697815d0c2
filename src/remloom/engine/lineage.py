"""What is known of one record: described with its edges, or traced back to what was read."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from ..errors import NotFoundError
from ..model import (
    Direction,
    Edge,
    Hit,
    Record,
    Resource,
    TypeCount,
    United,
    is_written_after,
    record_dict,
)
from ..model.premises import Stale
from ..model.records import set_values
from ..model.supersession import (
    AMENDS,
    REPLACES,
    amended_of,
    is_hidden,
    said_text,
    superseded_of,
)
from ..store.contract import Store
from ..store.meanings import by_id, own_keys
from ..store.premises import find_stale, mark_edges, named
from ..store.rules.merge import keys_of
from ..store.specs import MOST_NAMESAKES, EdgeSpec
from ..store.united import find_united, together, told
from .arguments import check_aware, check_text

NEWEST_EDGES = 100  # of each direction


class LineageEntry(Struct, frozen=True, kw_only=True):
    """A record that another one was derived from, or that one itself."""

    depth: int  # steps of derivation from the record that was asked for
    id: str
    name: str
    schema: str
    source: str  # where it was read, with lines or pages
    kind: str  # of a resource
    created_at: datetime | None
    updated_at: datetime | None
    parents: list[str]  # ids
    stale: Stale | None = None  # why it may not hold any more
    # when somebody said that it holds all the same, and who; see `Memory.confirm`
    confirmed: dict[str, str] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Give the entry as a dictionary of its fields."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        return fields | {"stale": self.stale and self.stale.as_dict()}


class EntityChange(Struct, frozen=True, kw_only=True):
    """One change of a record: each field that changed, as `{"from": …, "to": …}`.

    Of an entity's properties, a row's fields and others' metadata, `changed["properties"]`
    (`fields`, `metadata`) has such a pair for each that changed.
    """

    at: datetime
    changed: dict[str, Any]


class ChainLink(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A text among those that were said to replace or amend one another."""

    id: str
    name: str
    content: str
    by: str = ""  # the id of what replaced it, which may be forgotten; empty: it holds
    reason: str = ""  # "changed": it held until `since`; "wrong": it never did
    since: datetime | None = None
    at: datetime | None = None  # when that was said
    amended_by: list[str] = []  # ids, oldest first
    amends: str = ""  # the id of the text that it adds to


class Lineage(Struct, frozen=True, kw_only=True):
    """A record and all it was derived from, nearest first, its own changes, and of a text what it
    replaced and what replaced it."""

    entries: list[LineageEntry]
    changes: list[EntityChange] = []  # newest first, as far as they are kept
    # of a text that replaced or amended one, or the other way round: all of these, oldest first
    chain: list[ChainLink] = []

    @property
    def sources(self) -> list[str]:
        """The citations of what the record rests on in the end."""
        return [entry.source for entry in self.entries[1:] if not entry.parents]

    def as_dict(self) -> dict[str, Any]:
        """Give the lineage as dictionaries."""
        return {
            "entries": [entry.as_dict() for entry in self.entries],
            "changes": [{"at": change.at, "changed": change.changed} for change in self.changes],
            "chain": msgspec.to_builtins(self.chain),
        }


class DescribedRecord(Struct, frozen=True, kw_only=True):
    """A record with its place among those that were derived from one another."""

    record: Record
    parents: list[str]  # ids
    children: list[str]  # ids
    sources: list[str] | None = None  # citations, of what was derived; None: it was not
    written_later: bool = False  # what it says was written after `as_of`
    stale: Stale | None = None  # why what it was derived from no longer bears it out

    def as_dict(self) -> dict[str, Any]:
        """Give the record as JSON-ready values."""
        fields = record_dict(self.record) | {"parents": self.parents, "children": self.children}
        if self.sources is not None:
            fields["sources"] = self.sources
        if self.stale is not None:
            fields["stale"] = self.stale.as_dict()
        if self.written_later:
            fields["written_later"] = True
        return fields


class RecordView(Struct, frozen=True, kw_only=True):
    """What is known of one thing: its records, its newest edges, and how many edges it has."""

    records: list[DescribedRecord]  # a thousand at most
    edges_out: list[Edge]  # the newest hundred
    edges_in: list[Edge]
    edge_counts: list[TypeCount]
    united: list[United] = []  # which of the records are one thing, of several sources

    def paths(self, edge: Edge) -> tuple[str, ...]:
        """Write an outgoing edge as seed 5's graph paths."""
        names = {keys_of(shown.record)[0]: shown.record.name for shown in self.records}
        return edge.paths(self.records[0].record.schema, src=names.get(edge.src, ""))

    def as_dict(self) -> dict[str, Any]:
        """Give the view as JSON-ready values; outgoing edges have their `paths`."""
        edges_out = [
            msgspec.to_builtins(edge) | {"paths": self.paths(edge)} for edge in self.edges_out
        ]
        return {
            "records": [shown.as_dict() for shown in self.records],
            "edges_out": edges_out,
            "edges_in": msgspec.to_builtins(self.edges_in),
            "edge_counts": msgspec.to_builtins(self.edge_counts),
        } | set_values(united=[united.as_dict() for united in self.united])


def trace(store: Store, id: str) -> Lineage:
    """Trace a record back to what was read; see `Memory.history`."""
    from ..store.as_of import list_changes

    origin = by_id(store, check_text(id, "an id"))
    if origin is None:
        raise NotFoundError(f"no record has the id {id!r}", id=id)
    # by id, breadth first: a record of two ways is listed at its least depth
    entries: dict[str, LineageEntry] = {}
    queue: deque[tuple[Record, int]] = deque([(origin, 0)])
    while queue:
        record, depth = queue.popleft()
        if record.id in entries:
            continue
        entry = _entry(store, record, depth)
        entries[record.id] = entry
        parents = (store.records.get(None, parent) for parent in entry.parents)
        queue.extend((parent, depth + 1) for parent in parents if parent is not None)
    changes = list_changes(store, origin)
    stale = named(store.records, find_stale(store.records, entries))
    return Lineage(
        entries=[replace(entry, stale=stale.get(id)) for id, entry in entries.items()],
        changes=[EntityChange(**change) for change in changes],
        chain=_chain(store, origin) if isinstance(origin, Resource) else [],
    )


def _chain(store: Store, record: Resource) -> list[ChainLink]:
    """The texts that were said to replace or amend one another, of which this is one."""

    def text_of(id: object) -> Resource | None:
        found = store.records.get("resources", id) if isinstance(id, str) else None
        return found if isinstance(found, Resource) else None

    first, seen = record, {record.id}
    while older := text_of(first.metadata.get(REPLACES) or first.metadata.get(AMENDS)):
        if older.id in seen:
            break
        seen.add(older.id)
        first = older
    links: dict[str, ChainLink] = {}
    waiting = [record, first]
    while waiting:
        text = waiting.pop()
        if text.id not in links:
            link = links[text.id] = _link(text)
            newer = map(text_of, [link.by, *reversed(link.amended_by)])
            waiting += filter(None, newer)
    chain = list(links.values())
    return chain if any(link.by or link.amended_by for link in chain) else []


def _link(record: Resource) -> ChainLink:
    mark, amended, amends = superseded_of(record), amended_of(record), record.metadata.get(AMENDS)
    link = ChainLink(
        id=record.id,
        name=record.name,
        content=said_text(record),
        amended_by=[*amended.earlier, amended.by] if amended else [],
        amends=amends if isinstance(amends, str) else "",
    )
    if mark is None:
        return link
    return replace(link, by=mark.by, reason=mark.reason, since=mark.since, at=mark.at)


def _entry(store: Store, record: Record, depth: int) -> LineageEntry:
    return LineageEntry(
        depth=depth,
        id=record.id,
        name=record.name,
        schema=record.schema,
        source=Hit(record=record).source,
        kind=getattr(record, "kind", ""),
        created_at=record.created_at,
        updated_at=record.updated_at,
        parents=store.records.parents(record.id),
        confirmed=getattr(record, "metadata", {}).get("confirmed"),
    )


def describe(store: Store, id_or_label: str, as_of: datetime | None) -> RecordView:
    """Describe one thing; see `Admin.describe`."""
    if as_of is not None:
        check_aware(as_of)
    records = _records_of(store, check_text(id_or_label, "an id or label"))[:MOST_NAMESAKES]
    keys = own_keys(store, records)
    if as_of is not None:
        records = _records_at(store, id_or_label, records, as_of)[:MOST_NAMESAKES]
        # edges hang on the names of then as well as on those of now
        keys += [keys_of(record)[0] for record in records]
    things = find_united(store, records, as_of, edges=0)
    records = together(things, records, lambda record: record, lambda row, _: row)
    keys += [labels.key(row.handle) for thing in things for row in thing]
    keys = list(dict.fromkeys(filter(None, keys)))

    def newest_edges(direction: Direction) -> list[Edge]:
        spec = EdgeSpec(keys, direction=direction, limit=NEWEST_EDGES, as_of=as_of)
        return mark_edges(store.records, store.graph.edges(spec))

    return RecordView(
        records=[_described(store, record, as_of) for record in records],
        edges_out=newest_edges("out"),
        edges_in=newest_edges("in"),
        edge_counts=list(store.graph.count_by_type(keys, direction="both", as_of=as_of)),
        united=[told(store, thing) for thing in things],
    )


def _records_of(store: Store, id_or_label: str) -> list[Record]:
    """Find what an id or a label names.

    Raises:
        NotFoundError: it names nothing; the remedy has the names most like it.
    """
    from ..store.forgetting.forget import targets

    record = by_id(store, id_or_label)
    if record is not None:
        return [record]
    key = labels.key(id_or_label)
    found = store.records.lookup([key], limit=MOST_NAMESAKES)[key]
    # what was replaced is shown by its id, and by a label that nothing newer has
    shown = [record for record in found if not is_hidden(record)]
    return shown or found or targets(store, [id_or_label])[id_or_label]


def _records_at(
    store: Store, id_or_label: str, records: Sequence[Record], as_of: datetime
) -> list[Record]:
    """Give records as they were; for a label, those that had it then."""
    from ..store.as_of import lookup_at, record_at

    if any(record.id == id_or_label for record in records):
        past = [record_at(store, record, as_of) for record in records]
        existing = [record for record in past if record is not None]
    else:
        key = labels.key(id_or_label)
        existing = lookup_at(store, [key], as_of)[key]
    if not existing:
        raise NotFoundError(
            f"nothing had the id or label {id_or_label!r} at {as_of.isoformat()}", id=id_or_label
        )
    return existing


def _described(store: Store, record: Record, as_of: datetime | None) -> DescribedRecord:
    lineage = trace(store, record.id)
    return DescribedRecord(
        record=record,
        parents=store.records.parents(record.id),
        children=store.records.children(record.id),
        sources=lineage.sources if len(lineage.entries) > 1 else None,
        written_later=is_written_after(record, as_of),
        stale=lineage.entries[0].stale,
    )
