"""What is stale: made of what says something else by now, at any depth."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from ..model.premises import Fault, Stale
from .components import RecordReads
from .results import Premise


def find_stale(records: RecordReads, ids: Iterable[str]) -> dict[str, Stale]:
    """Return, by id, which of these records are stale, and why: the nearest premise that changed
    or expired. A premise of which it is not known what it said changes nothing.

    It is computed, not stored: what is put back is no longer stale. It costs a statement for each
    level of derivation.
    """
    asked = list(dict.fromkeys(ids))
    below = _premises_below(records, asked)
    found = ((id, _nearest(id, below)) for id in asked)
    return {id: stale for id, stale in found if stale is not None}


def _premises_below(records: RecordReads, ids: Sequence[str]) -> dict[str, list[Premise]]:
    below: dict[str, list[Premise]] = {}
    while ids:
        below |= {id: [] for id in ids}
        found = records.premises(ids)
        for premise in found:
            below[premise.child].append(premise)
        ids = list(dict.fromkeys(one.id for one in found if one.id not in below))
    return below


def _nearest(id: str, below: Mapping[str, Sequence[Premise]]) -> Stale | None:
    above: dict[str, str] = {id: ""}  # what rests on it, first found: nearest
    queue = deque([id])
    while queue:
        for premise in below[queue.popleft()]:
            if premise.fault is not None and premise.at is not None:
                return _stale(premise, premise.fault, premise.at, above)
            if premise.id not in above:
                above[premise.id] = premise.child
                queue.append(premise.id)
    return None


def _stale(premise: Premise, fault: Fault, at: datetime, above: Mapping[str, str]) -> Stale:
    path = [premise.id]
    child = premise.child
    while above[child]:
        path.insert(0, child)
        child = above[child]
    return Stale(reason=fault if len(path) == 1 else "below", path=tuple(path), at=at)
