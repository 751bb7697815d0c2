"""What a write of a run consists of, and what it would do by what the store holds now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from ..errors import LabelError
from ..kv import Entry, is_other_ref, label_ref
from ..model import Edge, Entity, Moment, Record, Resource
from ..store.batch import Batch, BatchRecord, Preconditions
from ..store.contract import Store
from ..store.rules.merge import merge_edge
from ..store.rules.provenance import premises_in
from ..store.rules.record_ids import referred_ids
from .before_images import BeforeImages, Created, edge_digest, edge_state, last_writer
from .failures import FAILED_ITEM

EntryKey: TypeAlias = tuple[str, str]  # namespace and key of an entry


class WritePart(Struct, frozen=True):
    """What is written together, or left out together if something that it rests on is gone.

    Args:
        rests_on: ids of the records that it was made of, or that a model was shown for it, and refs
            of labels. What its records and entries refer to, and every label that it names, count
            as well.
        records, edges, entries: to be written. The rollback of another run leaves an entry alone
        that
            says in `run` which one wrote it.
        deleted: (namespace, key) of entries to be deleted.
        superseded: ids of derived records, each with the id of the one that takes its place. Once a
            search finds the new one, the old one keeps its id, name, edges, parents and children,
            but no search finds it any more.
        outdated: the same of what is stale, found again or not; an empty id: nothing takes its
            place.
        counts: added to those of the run in the same transaction.
    """

    rests_on: Iterable[str]
    records: tuple[Record, ...] = ()
    edges: tuple[Edge, ...] = ()
    entries: tuple[Entry, ...] = ()
    deleted: tuple[tuple[str, str], ...] = ()
    superseded: Mapping[str, str] = {}
    outdated: Mapping[str, str] = {}
    counts: Mapping[str, int] = {}

    @property
    def names(self) -> set[str]:
        """Ids of records and refs of labels: if one of them was forgotten, the part falls."""
        names = {*self.rests_on}
        for hidden in (self.superseded, self.outdated):
            names.update(hidden, hidden.values())
        names.update(ref for entry in self.entries for ref in entry.refs)
        for record in self.records:
            names.update((record.id, *referred_ids(record)))
            names.update(_label_refs(_labels_of(record)))
            if isinstance(record, Resource):
                names.update(record.parents or ())
        names.update(_label_refs(end for edge in self.edges for end in (edge.src, edge.dst)))
        return names - {""}


def _labels_of(record: Record) -> Iterator[str]:
    yield record.name
    if isinstance(record, Resource):
        yield from record.related_entities
    elif isinstance(record, Moment):
        yield from record.entity_refs
        yield from record.topic_tags
        yield from (person.name for person in record.present_persons)
    elif isinstance(record, Entity):
        yield from record.aliases


def _label_refs(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        try:
            yield label_ref(labels.key(name))
        except LabelError:
            continue  # the check of what is written says so, if it must not be


class EdgeChange(Struct, frozen=True):
    """An edge of the batch that changes what is stored."""

    digest: str
    position: int  # in the batch
    edge: Edge  # as given
    before: Edge | None  # as stored
    after: Edge  # merged with what is stored, and with others of the batch

    @property
    def ends(self) -> set[str]:
        return {self.edge.src, self.edge.dst}


class WritePlan(Struct, frozen=True):
    """A batch, and what of it is new."""

    batch: Batch
    changed: tuple[BatchRecord, ...]  # that are not stored just so
    existing: Mapping[str, Record]  # stored, of ids in the batch
    by_key: Mapping[str, Sequence[Record]]  # stored, at labels in the batch
    edges: tuple[EdgeChange, ...]  # that change something
    entries: tuple[Entry, ...]  # to be written
    deleted: tuple[EntryKey, ...]
    stored_entries: Mapping[EntryKey, Entry]  # at the keys of both

    @property
    def ids(self) -> list[str]:
        ids = [item.record.id for item in self.batch.records]
        positions = self.batch.positions
        return [ids[position] for position in positions] if positions else ids

    @property
    def receipt(self) -> dict[str, int]:
        return {
            "records": len(self.changed),
            "edges": len(self.edges),
            "unchanged": len(self.batch.records) - len(self.changed),
            "merged": sum(change.before is not None for change in self.edges),
            "updated": sum(item.record.id in self.existing for item in self.changed),
        }

    def failed_items(self, run_id: str) -> int:
        """How many more failed items the run has; each counts once, however often it fails."""
        # those that this run counted before
        own = {
            key
            for key, stored in self.stored_entries.items()
            if key[0] == FAILED_ITEM and last_writer(stored) == run_id
        }
        failed = {entry.key for entry in self.entries if entry.namespace == FAILED_ITEM}
        more = sum((FAILED_ITEM, id) not in own for id in failed)
        fewer = sum(key in own for key in self.deleted)
        return more - fewer

    def overwritten(self, run_id: str) -> list[tuple[Record, BatchRecord]]:
        """The stored records that the write may change, or replace, with what is written there."""
        pairs = {
            record.id: (record, item)
            for item in self.changed
            for record in self._overwritten_by(item, run_id)
        }
        return list(pairs.values())

    def _overwritten_by(self, item: BatchRecord, run_id: str) -> list[Record]:
        if item.merge:
            namesakes = self.by_key.get(item.keys[0], ())
            return [record for record in namesakes if isinstance(record, Entity)]
        # a thin entity gives way to whatever gets its name
        namesakes = [record for key in item.keys for record in self.by_key.get(key, ())]
        replaced: list[Record] = [one for one in namesakes if isinstance(one, Entity) and one.thin]
        stored = self.existing.get(item.record.id)
        # what the run made itself needs no image: a rollback deletes it
        if stored is None or made_by_run(stored, run_id):
            return replaced
        return [stored, *replaced]

    def edges_at_new_labels(self) -> set[str]:
        """Digests of the edges at labels that the run makes, with which a rollback deletes them."""
        new_keys = {
            key
            for item in self.changed
            if item.record.id not in self.existing and not item.merge
            for key in item.keys
            if not self.by_key.get(key)
        }
        return {change.digest for change in self.edges if change.ends & new_keys}

    def images(self, images: BeforeImages, run_id: str) -> list[Entry]:
        """The entries by which the write can be taken back."""
        edges = {change.digest: change for change in self.edges}
        at_new_labels = self.edges_at_new_labels()
        entries = [images.of_record(record, item) for record, item in self.overwritten(run_id)]
        for digest, change in edges.items():
            # an edge may be given several times: its last state counts
            if digest not in at_new_labels:
                image = images.of_edge(change.before, change.after, self.by_key, self.changed)
                entries.append(image)
        of_entries = [images.of_entry(stored) for stored in self.stored_entries.values()]
        entries += [image for image in of_entries if image is not None]
        created = Created(
            ids=tuple(
                item.record.id for item in self.changed if item.record.id not in self.existing
            ),
            entry_keys=tuple((entry.namespace, entry.key) for entry in self.entries),
            edge_states=tuple(edge_state(edges[digest].after) for digest in at_new_labels),
        )
        # of a write that only changed things there is nothing to delete
        if created.ids or created.entry_keys:
            entries.append(images.of_creation(created))
        return entries

    def to_batch(
        self,
        embedded: Batch,
        images: Sequence[Entry],
        run_id: str,
        rests_on: Iterable[str],
        expected_entries: Mapping[EntryKey, int],
        expected_records: Mapping[str, int | None],
    ) -> Batch:
        """The batch to write: what changes, with vectors, images, and preconditions that nothing
        the plan rests on has changed since; see `Writer.write`."""
        expected = Preconditions(
            existing=self._prerequisites(rests_on),
            records={
                **{record.id: record.revision for record, _ in self.overwritten(run_id)},
                **expected_records,
            },
            edges={
                (change.edge.src, change.edge.rel_type, change.edge.dst): change.before
                for change in self.edges
            },
            entries=dict(expected_entries),
        )
        return replace(
            embedded,
            edges=tuple(change.edge for change in self.edges),
            own_edges=self._own_edges(),
            positions=(),
            deleted_entries=self.deleted,
            entries=(*self.entries, *images),
            expected=expected,
        )

    def _own_edges(self) -> dict[int, int]:
        """The `own_edges` of the batch among what changes. A record that is stored just so is no
        part of that: an edge of it is at its label, as one that is written alone."""
        records = {item.record.id: number for number, item in enumerate(self.changed)}
        owners = {
            edge: records.get(self.batch.records[record].record.id)
            for edge, record in self.batch.own_edges.items()
        }
        moved = ((n, owners.get(change.position)) for n, change in enumerate(self.edges))
        return {edge: record for edge, record in moved if record is not None}

    def _prerequisites(self, rests_on: Iterable[str]) -> tuple[str, ...]:
        """Ids of the records that must exist, or nothing of the batch may be written."""
        ids = {*rests_on, *(id for item in self.changed for id in item.parents or ())}
        ids.update(ref for entry in self.entries for ref in entry.refs if not is_other_ref(ref))
        for item in self.changed:
            if item.record.id not in self.existing:
                ids.update(referred_ids(item.record))
        return tuple(ids - {item.record.id for item in self.changed})


def find_existing(store: Store, batch: Batch) -> dict[str, Record]:
    """The stored records with ids of the batch, by id."""
    existing = {}
    for item in batch.records:
        stored = None if item.fresh else store.records.get(None, item.record.id)
        if stored is not None:
            existing[item.record.id] = stored
    return existing


def find_changed(
    store: Store,
    batch: Batch,
    existing: Mapping[str, Record],
) -> tuple[BatchRecord, ...]:
    """The records of a batch that are not stored just so."""
    return tuple(
        item for item in batch.records if not _is_stored(store, existing.get(item.record.id), item)
    )


def plan_write(
    store: Store,
    batch: Batch,
    existing: Mapping[str, Record],
    changed: tuple[BatchRecord, ...],
    entries: tuple[Entry, ...],
    deleted: tuple[EntryKey, ...],
) -> WritePlan:
    """Compare a batch with what the store holds."""
    # both as of one moment
    with store.snapshot():
        by_key = _records_by_key(store, batch)
        edges = _edge_changes(store, batch.edges)
    keys = [*((entry.namespace, entry.key) for entry in entries), *deleted]
    stored = {key: store.kv.get(*key) for key in keys}
    return WritePlan(
        batch=batch,
        changed=changed,
        existing=existing,
        by_key=by_key,
        edges=edges,
        entries=entries,
        deleted=deleted,
        stored_entries={key: entry for key, entry in stored.items() if entry is not None},
    )


def made_by_run(record: Record, run_id: str) -> bool:
    """Whether a run made a record, and so may change it without keeping what it was."""
    return isinstance(record, Resource | Moment) and record.metadata.get("run") == run_id


def _records_by_key(store: Store, batch: Batch) -> dict[str, list[Record]]:
    keys = {key for item in batch.records for key in item.keys}
    keys.update(end for edge in batch.edges for end in (edge.src, edge.dst))
    return store.records.lookup(list(keys), edges=0) if keys else {}


def _edge_changes(store: Store, edges: Sequence[Edge]) -> tuple[EdgeChange, ...]:
    digests = [edge_digest(edge) for edge in edges]
    before = _stored_edges(store, edges, set(digests))
    after: dict[str, Edge] = {}
    for digest, edge in zip(digests, edges, strict=True):
        after[digest] = merge_edge(after.get(digest) or before.get(digest), edge)
    return tuple(
        EdgeChange(digest, position, edge, before.get(digest), after[digest])
        for position, (digest, edge) in enumerate(zip(digests, edges, strict=True))
        if after[digest] != before.get(digest)
    )


def _stored_edges(store: Store, edges: Iterable[Edge], digests: set[str]) -> dict[str, Edge]:
    sources = list({edge.src for edge in edges})
    stored = store.graph.stored_edges(sources, direction="out") if sources else []
    by_digest = {edge_digest(edge): edge for edge in stored}
    return {digest: edge for digest, edge in by_digest.items() if digest in digests}


def _is_stored(store: Store, stored: Record | None, item: BatchRecord) -> bool:
    """Whether a record is stored just so, apart from when and by which run it was written."""
    if stored is None or stored.schema != item.record.schema:
        return False
    if _without_origin(stored) != _without_origin(item.record):
        return False
    if item.premises and item.premises != premises_in(stored):
        return False
    return item.parents is None or set(store.records.parents(stored.id)) == set(item.parents)


def _without_origin(record: Any) -> Any:
    if isinstance(record, Resource | Moment):
        metadata = {name: value for name, value in record.metadata.items() if name != "run"}
        record = replace(record, metadata=metadata, premises={})
    if isinstance(record, Resource):
        record = replace(record, parents=())
    return replace(record, created_at=None, updated_at=None, revision=0)
