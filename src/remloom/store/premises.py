"""What is stale: made of what says something else by now, at any depth."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeAlias, TypeVar

from msgspec.structs import replace

from .. import labels
from ..errors import LabelError
from ..kv import KeyRange, rests_ref
from ..model import Edge, Hit, Moment, Node, Record
from ..model.premises import Fault, Stale, premises_of, says
from ..model.supersession import ended_at_of, successor_of, superseded_of
from .batch import Batch
from .components import RecordReads
from .contract import Reads
from .encoding import micros
from .results import Premise, RestedOn, Written
from .rules.premise_entries import (
    PREMISE,
    LostPremise,
    SlotPremise,
    child_of,
    is_id,
    slot_digest,
    split_slot,
)
from .rules.provenance import may_rest_on_others

STALE_SHOWN = 100  # ids of what a write made stale that it returns
# gives, by id, which of some records are stale
FindStale: TypeAlias = Callable[[Iterable[str]], dict[str, Stale]]
_Found = TypeVar("_Found", bound=Hit | Node)


# properties of an edge: what its ends said as a model judged them, by id; and that they changed
QUOTED, STALE = "quoted", "stale"


def find_stale(
    records: RecordReads, ids: Iterable[str], *, as_of: datetime | None = None
) -> dict[str, Stale]:
    """Return, by id, which of these records are stale, and why: the nearest premise that changed,
    expired or is gone. A premise of which it is not known what it said changes nothing.

    It is computed, not stored: what is put back is no longer stale. It costs a statement for each
    level of derivation.

    Args:
        as_of: leave out what changed after a time; what was put back since is not known.
    """
    return _with_successors(records, as_of, _find_stale(records, ids, as_of))


def stale_ids(records: RecordReads, ids: Iterable[str]) -> list[str]:
    """Return which of these records are stale, as `find_stale` finds them, in their order."""
    return list(_find_stale(records, ids, None))


def _find_stale(
    records: RecordReads, ids: Iterable[str], as_of: datetime | None
) -> dict[str, Stale]:
    asked = list(dict.fromkeys(ids))
    below = _premises_below(records, asked)
    if as_of is not None:
        below = {id: _faulty_at(records, some, as_of) for id, some in below.items()}
    found = ((id, _nearest(id, below)) for id in asked)
    return {id: stale for id, stale in found if stale is not None}


def _faulty_at(records: RecordReads, some: Iterable[Premise], at: datetime) -> list[Premise]:
    """Premises, of those that changed after a time only what they rest on themselves."""

    def counts(one: Premise) -> bool:
        changed_at = (one.fault and _ended_at(records, one.id)) or one.at
        return changed_at is None or changed_at <= at

    return [
        one if counts(one) else replace(one, quoted=one.says, expires=None)
        for one in some
        if one.fault != "gone" or counts(one)
    ]


def _with_successors(
    records: RecordReads, as_of: datetime | None, found: dict[str, Stale]
) -> dict[str, Stale]:
    """Add what was said to replace or amend the premises that changed, the newest of a chain, and
    since when they do not hold."""
    changed = {one.premise for one in found.values() if one.reason in ("changed", "below")}
    by = {
        id: found_newest
        for id, record in records.of(list(changed)).items()
        if successor_of(record) and (found_newest := newest(records, id, as_of))
    }
    ends = {id: _ended_at(records, id) for id in by}
    told = dict(found)
    for id, stale in found.items():
        if stale.premise in by:
            successor, reason = by[stale.premise]
            told[id] = replace(
                stale,
                reason=reason if stale.reason == "changed" else stale.reason,
                by=successor,
                at=ends[stale.premise] or stale.at,
            )
    return told


def _ended_at(records: RecordReads, id: str) -> datetime | None:
    """Since when a text does not hold, or is not all there is to say, as was said."""
    record = records.get(None, id)
    return None if record is None else ended_at_of(record)


def newest(
    records: RecordReads, id: str, as_of: datetime | None = None
) -> tuple[str, Literal["replaced", "amended"]] | None:
    """Return the id of the newest text of a chain, and whether it only amends the first."""
    known = [id]
    reason: Literal["replaced", "amended"] = "amended"
    while (record := records.get(None, known[-1])) is not None:
        by = successor_of(record)
        ended_at = ended_at_of(record)
        if not by or by in known or (as_of and ended_at and ended_at > as_of):
            break
        known.append(by)
        if superseded_of(record) is not None:
            reason = "replaced"
    return (known[-1], reason) if len(known) > 1 else None


def named(records: RecordReads, stale: Mapping[str, Stale]) -> dict[str, Stale]:
    """Say in words why it is, with the premises as they are called now."""
    ids = {one.premise for one in stale.values() if one.premise}
    names = {id: record.name for id, record in records.of(list(ids)).items()}
    return {
        id: replace(one, message=one.in_words(names.get(one.premise, "")))
        for id, one in stale.items()
    }


def finder_of(records: RecordReads) -> FindStale:
    """Return what finds which records are stale, and says in words why."""
    return lambda ids: named(records, find_stale(records, ids))


def find_among(records: Iterable[Record], find: FindStale) -> dict[str, Stale]:
    """Find which of some records are stale; it costs nothing where none was made of others."""
    ids = [record.id for record in records if may_rest_on_others(record)]
    return find(ids) if ids else {}


def marked(found: Sequence[_Found], find: FindStale) -> list[_Found]:
    """Return hits or nodes, those of what is stale with the mark."""
    stale = find_among((one.record for one in found), find)
    if not stale:
        return list(found)
    return [replace(one, stale=stale.get(one.id)) for one in found]


def mark_edges(records: RecordReads, edges: Iterable[Edge]) -> list[Edge]:
    """Return edges with the property `stale` where a model judged two texts to be related, and one
    of them says something else by now, or is gone. It is computed, whatever was written."""
    marked = []
    for edge in edges:
        quoted = edge.properties.get(QUOTED)
        if isinstance(quoted, dict):
            facts = {name: fact for name, fact in edge.properties.items() if name != STALE}
            found = (records.get(None, id) for id in quoted)
            if premises_of(one for one in found if one is not None) != quoted:
                facts[STALE] = "what it was judged by changed"
            edge = replace(edge, properties=facts)
        marked.append(edge)
    return marked


def telling(
    open_reads: Callable[[], Reads],
    rested_on: Callable[[Sequence[str], Sequence[str]], Sequence[RestedOn]],
    batch: Batch,
    write: Callable[[], Written],
) -> Written:
    """Write a batch, and count what it made stale, at any depth. It costs one look at what rests on
    what is written, and where nothing does, or nothing says something else, no more.

    Args:
        open_reads: opens what the transaction sees, before and after `write` as well.
        rested_on: lists what of records with some ids or keys something rests on, and one without
            an id if something rests on what is no record.
    """
    ids, keys = _maybe_stored(batch)
    if not (ids or keys or batch.edges or batch.deleted_edges):
        return write()
    stored = rested_on(ids, keys)
    touched = _touched(batch, stored) if stored else set()
    if all(one.id in touched for one in stored):
        return write()
    reads = open_reads()
    resting = _resting_on(reads, batch, touched)
    if not resting:
        return write()
    before = set(stale_ids(reads.records, resting))
    written = write()
    # what the reads from before keep of labels is of before
    after = stale_ids(open_reads().records, resting)
    made = tuple(id for id in after if id not in before)
    return replace(written, stale=len(made), stale_ids=made[:STALE_SHOWN])


def _touched(batch: Batch, stored: Iterable[RestedOn]) -> set[str]:
    """The ids of those of some stored records that a batch writes over, and that say and rest on
    what they did."""
    if any(one[0] == PREMISE for one in batch.deleted_entries):
        return set()
    before = {one.id: (one.says, one.expires) for one in stored}
    return {
        item.record.id
        for item in batch.records
        if item.record.id in before
        and not (item.merge or item.premises or isinstance(item.record, Moment))
        and (item.parents is None and not getattr(item.record, "rests_on", ()))
        and before[item.record.id] == (says(item.record), micros(item.record.expires_at))
    } - {*batch.withdrawn}


def _resting_on(reads: Reads, batch: Batch, touched: Container[str]) -> list[str]:
    """List what rests on what a batch writes over or withdraws, at any depth; but not by way of
    what it only touches."""
    ids, keys = _maybe_stored(batch)
    ids = [id for id in ids if id not in touched]
    found: dict[str, None] = {}
    if ids or keys:
        found = dict.fromkeys(reads.records.resting(ids, keys))
    ends = {edge.src for edge in batch.edges} | {src for src, *_ in batch.deleted_edges}
    slots = ends | {key for item in batch.records for key in item.keys}
    if (ids or slots) and reads.kv.list(PREMISE, KeyRange(limit=1)):
        named_slots = sorted({*slots, *ids})
        about = reads.kv.about(PREMISE, map(rests_ref, named_slots))
        found |= dict.fromkeys(map(child_of, about))
    above = list(found)
    while above:
        above = [id for id in reads.records.resting(above, ()) if id not in found]
        found |= dict.fromkeys(above)
    return list(found)


def _maybe_stored(batch: Batch) -> tuple[list[str], list[str]]:
    """The ids and keys of what a batch may write over or withdraw."""
    ids = [item.record.id for item in batch.records if not item.fresh]
    # whoever is written by name alone may be any record of that name
    keys = [item.keys[0] for item in batch.records if item.merge]
    return [*ids, *batch.withdrawn], keys


def _premises_below(records: RecordReads, ids: Sequence[str]) -> dict[str, list[Premise]]:
    below: dict[str, list[Premise]] = {}
    while ids:
        below |= {id: [] for id in ids}
        found = _with_slots(records, records.premises(ids))
        for premise in found:
            below[premise.child].append(premise)
        stored = (one.id for one in found if one.other is None)
        ids = list(dict.fromkeys(id for id in stored if id not in below))
    return below


def _with_slots(records: RecordReads, found: list[Premise]) -> list[Premise]:
    """Add what slots say now, looked up at once."""
    slots = [one.other for one in found if isinstance(one.other, SlotPremise)]
    if not slots:
        return found
    by_entity = owners(records, (slot.entity for slot in slots))

    def with_value(premise: Premise) -> Premise:
        slot = premise.other
        if not isinstance(slot, SlotPremise):
            return premise
        some = by_entity[slot.entity]
        if not some and slot.said != slot_digest((), slot.attribute):
            return replace(premise, says=None)
        updated = [at for owner in some if (at := micros(owner.updated_at)) is not None]
        at = max(updated, default=micros(slot.at))
        return replace(premise, says=slot_digest(some, slot.attribute), updated=at)

    # what a record rests on that is stated by its id is walked on from
    walked = [
        Premise(one.child, one.id, None, None, 0, None)
        for one in found
        if isinstance(one.other, SlotPremise) and is_id(one.id) and by_entity[one.id]
    ]
    return [*map(with_value, found), *walked]


def owners(records: RecordReads, entities: Iterable[str]) -> dict[str, list[Record]]:
    """Return the records that slots are of, by what the slots name: a label, or an id."""
    named = list(dict.fromkeys(entities))
    by_key = records.lookup(list({labels.key(name) for name in named if not is_id(name)}))
    found: dict[str, list[Record]] = {}
    for name in named:
        if is_id(name):
            record = records.get(None, name)
            found[name] = [] if record is None else [record]
        else:
            found[name] = by_key[labels.key(name)]
    return found


def record_of(records: RecordReads, premise: str) -> Record | None:
    """Return the record that a premise is: by its id, or as what has a slot."""
    stored = records.get(None, premise)
    if stored is not None or is_id(premise):
        return stored
    entity, _ = split_slot(premise)
    try:
        found = owners(records, (premise, entity))
    except LabelError:
        return None
    return next(iter(found[premise] or found[entity]), None)


def _nearest(id: str, below: Mapping[str, Sequence[Premise]]) -> Stale | None:
    above: dict[str, str] = {id: ""}  # what rests on it, first found: nearest
    queue = deque([id])
    while queue:
        for premise in below[queue.popleft()]:
            if premise.fault is not None:
                return _stale(premise, premise.fault, above)
            if premise.other is None and premise.id not in above:
                above[premise.id] = premise.child
                queue.append(premise.id)
    return None


def _stale(premise: Premise, fault: Fault, above: Mapping[str, str]) -> Stale:
    path = [premise.id]
    child = premise.child
    while above[child]:
        path.insert(0, child)
        child = above[child]
    lost = premise.other if isinstance(premise.other, LostPremise) else None
    return Stale(
        reason=fault if len(path) == 1 else "below",
        path=tuple(path),
        at=premise.at,
        name=lost.name if lost else "",
        uri=lost.uri if lost else "",
    )
