"""What is stale: made of what says something else by now, at any depth."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias, TypeVar

from msgspec.structs import replace

from .. import labels
from ..model import Hit, Node, Record
from ..model.premises import Fault, Stale
from .components import RecordReads
from .encoding import micros
from .results import Premise
from .rules.premise_entries import LostPremise, SlotPremise, slot_digest
from .rules.provenance import may_rest_on_others

# gives, by id, which of some records are stale
FindStale: TypeAlias = Callable[[Iterable[str]], dict[str, Stale]]
_Found = TypeVar("_Found", bound=Hit | Node)


def find_stale(records: RecordReads, ids: Iterable[str]) -> dict[str, Stale]:
    """Return, by id, which of these records are stale, and why: the nearest premise that changed,
    expired or is gone. A premise of which it is not known what it said changes nothing.

    It is computed, not stored: what is put back is no longer stale. It costs a statement for each
    level of derivation.
    """
    asked = list(dict.fromkeys(ids))
    below = _premises_below(records, asked)
    found = ((id, _nearest(id, below)) for id in asked)
    return {id: stale for id, stale in found if stale is not None}


def named(records: RecordReads, stale: Mapping[str, Stale]) -> dict[str, Stale]:
    """Say in words why it is, with the premises as they are called now."""
    ids = {one.premise for one in stale.values() if one.premise}
    names = {id: record.name for id in ids if (record := records.get(None, id)) is not None}
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
    keys = list({labels.key(slot.entity) for slot in slots})
    by_key = records.lookup(keys)

    def with_value(premise: Premise) -> Premise:
        slot = premise.other
        if not isinstance(slot, SlotPremise):
            return premise
        owners = by_key[labels.key(slot.entity)]
        updated = [at for owner in owners if (at := micros(owner.updated_at)) is not None]
        at = max(updated, default=micros(slot.at))
        return replace(premise, says=slot_digest(owners, slot.attribute), updated=at)

    return [with_value(premise) for premise in found]


def _nearest(id: str, below: Mapping[str, Sequence[Premise]]) -> Stale | None:
    above: dict[str, str] = {id: ""}  # what rests on it, first found: nearest
    queue = deque([id])
    while queue:
        for premise in below[queue.popleft()]:
            if premise.fault is not None and premise.at is not None:
                return _stale(premise, premise.fault, premise.at, above)
            if premise.other is None and premise.id not in above:
                above[premise.id] = premise.child
                queue.append(premise.id)
    return None


def _stale(premise: Premise, fault: Fault, at: datetime, above: Mapping[str, str]) -> Stale:
    path = [premise.id]
    child = premise.child
    while above[child]:
        path.insert(0, child)
        child = above[child]
    lost = premise.other if isinstance(premise.other, LostPremise) else None
    return Stale(
        reason=fault if len(path) == 1 else "below",
        path=tuple(path),
        at=at,
        name=lost.name if lost else "",
        uri=lost.uri if lost else "",
    )
