"""Stated premises: what an agent says that a record rests on (`Resource.rests_on`), kept with what
that says as the record is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from .. import labels
from ..errors import InvalidInputError, NotFoundError
from ..kv import Entry
from ..model import Entity, Record, Resource
from ..model.supersession import before_replaced
from ..store.batch import Batch
from ..store.contract import Reads
from ..store.encoding import content_key
from ..store.premises import owners
from ..store.rules.merge import merge_entity
from ..store.rules.premise_entries import (
    PREMISE,
    SlotPremise,
    is_id,
    premise_entry,
    premises_beside,
    slot_digest,
    split_slot,
)


def with_stated(reads: Reads, batch: Batch, before: Mapping[str, Resource]) -> Batch:
    """Add to a batch what its records rest on as they state it, and take out what they no longer
    state.

    What a record says it rests on is taken as it is when this batch is written, with what else is
    in the batch; what an unchanged text rested on before keeps what it was.

    Args:
        before: the stored records of the batch, by id.

    Raises:
        NotFoundError: the id of no record.
        InvalidInputError: the id of the record itself.
    """
    resting = [
        item.record
        for item in batch.records
        if isinstance(item.record, Resource)
        and (item.record.rests_on or getattr(before.get(item.record.id), "rests_on", ()))
    ]
    if not resting:
        return batch
    entries: list[Entry] = []
    deleted: list[tuple[str, str]] = []
    for record in resting:
        stored = before.get(record.id)
        kept = (
            {one.name: one for one in _stated(reads, record.id)}
            if stored is not None and content_key(stored) == content_key(record)
            else {}
        )
        new = [
            premise_entry(record.id, kept.get(one.name, one))
            for one in _slots(reads, batch, record)
        ]
        written = {entry.key for entry in new}
        if stored is not None:
            old = (premise_entry(record.id, one).key for one in _stated(reads, record.id))
            deleted += ((PREMISE, key) for key in old if key not in written)
        entries += new
    return replace(
        batch,
        entries=(*batch.entries, *entries),
        deleted_entries=(*batch.deleted_entries, *deleted),
    )


def _stated(reads: Reads, id: str) -> list[SlotPremise]:
    return [one for one in premises_beside(reads.kv, id) if isinstance(one, SlotPremise)]


def _slots(reads: Reads, batch: Batch, record: Resource) -> Iterator[SlotPremise]:
    """Yield what a record states, with what it says now."""
    at = batch.at or datetime.now(UTC)
    stated = record.rests_on
    split = {slot: split_slot(slot) for slot in stated}
    names = [name for slot, (entity, _) in split.items() for name in (slot, entity)]
    found = owners(reads.records, names)
    for slot, (entity, attribute) in split.items():
        # a name may have a dot in it
        whole = _as_written(batch, slot, found[slot])
        if whole or not attribute:
            _check_id(slot, record, whole)
            # of a text that was replaced it is what that said before
            said = slot_digest(list(map(before_replaced, whole)), "")
            yield SlotPremise(entity=slot, said=said, at=at)
            continue
        said = slot_digest(_as_written(batch, entity, found[entity]), attribute)
        yield SlotPremise(entity=entity, attribute=attribute, said=said, at=at)


def _check_id(slot: str, record: Resource, found: Sequence[Record]) -> None:
    if slot == record.id:
        raise InvalidInputError(
            f"the record {record.name[:60]!r} cannot rest on itself",
            remedy="leave its id out of rests_on",
        )
    if is_id(slot) and not found:
        raise NotFoundError(
            f"rests_on has {slot!r}, which is the id of no record",
            remedy="write what it rests on first, or give its name",
        )


def _as_written(batch: Batch, name: str, stored: Sequence[Record]) -> list[Record]:
    """The records that a slot is of as they will be when the batch is written."""
    key = labels.key(name)
    found = {record.id: record for record in stored}
    for item in batch.records:
        record = item.record
        if key != record.id and key not in item.keys:
            continue
        if item.merge and isinstance(record, Entity):
            known = next((one for one in stored if _is_same(one, record)), None)
            if isinstance(known, Entity):
                record = replace(merge_entity(known, record), id=known.id)
        if record.id in found:
            record = replace(record, graph_paths=found[record.id].graph_paths)
        found[record.id] = record
    edges = [edge for edge in batch.edges if edge.src == key]
    if edges and not found:
        return [Entity(name=name, graph_paths=tuple(edges))]
    for id, record in found.items() if edges else ():
        known_edges = {(edge.rel_type, edge.dst): edge for edge in record.graph_paths}
        known_edges |= {(edge.rel_type, edge.dst): edge for edge in edges}
        found[id] = replace(record, graph_paths=tuple(known_edges.values()))
    return list(found.values())


def _is_same(stored: Record, new: Entity) -> bool:
    return isinstance(stored, Entity) and (stored.thin or stored.type == new.type or not new.type)
