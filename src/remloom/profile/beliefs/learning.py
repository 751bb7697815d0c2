"""Learning: the user's answers teach how far what is trusted, and how fast it changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from ...kv import Entry
from ...store.contract import Reads, Store
from ...store.rules.record_ids import new_id
from ..evidence.evidence import BY_HAND
from ..slots.slot import Slot
from .belief import Belief, Piece
from .belief_store import BeliefStore
from .filter import hazard_of
from .reliability import Constants, Exposure, Outcome, learn_constants

OUTCOME = "profile.outcome"  # namespace of the entries: was what was believed right?
CONSTANTS = "profile.constants"  # namespace of the entry
_KEY = "current"
# answers more than at the last time, after which it is learned again: all beliefs are folded again
_MORE = 1.2


class _Kept(Struct, frozen=True, array_like=True):
    constants: Constants
    outcomes: int  # that they were learned from


def outcome_entries(
    belief: Belief, pieces: Sequence[Piece], *, right: bool, at: datetime
) -> list[Entry]:
    """The entries that say whether what was believed was right, one for each kind of its sources.

    They have no words of anybody, and stay when the evidence goes: reliabilities are learned from
    them.
    """
    kinds = {
        (one.source, one.signal, one.extractor, one.confident)
        for one in pieces
        if one.polarity == "for" and one.authority not in BY_HAND
    }
    entries = []
    for source, signal, extractor, confident in sorted(kinds):
        outcome = Outcome(
            source=source,
            signal=signal,
            extractor=extractor,
            confidence=belief.probability,
            confident=confident,
            right=right,
            at=at,
        )
        entries.append(Entry(OUTCOME, new_id(), msgspec.json.encode(outcome)))
    return entries


def constants_of(reads: Reads) -> Constants:
    return _kept(reads).constants


def relearn(store: Store, beliefs: BeliefStore) -> None:
    """Learn the constants again from the user's answers, if there are some more than last time.

    Also if there are fewer: an answer that was taken back teaches nothing.
    """
    before = _kept(store).outcomes
    answers = store.kv.count(OUTCOME)
    if before <= answers < max(before * _MORE, before + 1):
        return
    outcomes = [msgspec.json.decode(entry.value, type=Outcome) for entry in store.kv.list(OUTCOME)]
    exposures = (
        _exposure(belief, beliefs.slots.get_or_extra(belief.slot))
        for subject in beliefs.subjects()
        for belief in beliefs.all(subject)
    )
    constants = learn_constants(outcomes, exposures)
    value = msgspec.json.encode(_Kept(constants, len(outcomes)))
    store.kv.put([Entry(CONSTANTS, _KEY, value)])


def _exposure(belief: Belief, slot: Slot) -> Exposure:
    first = belief.history[0].since if belief.history else belief.since
    last = belief.until or belief.checked_at
    changes = len(belief.history) + (belief.until is not None)
    # what the user set right by hand may have been wrong all the time: that is not a change
    if belief.authority == "edit":
        changes = max(0, changes - 1)
    return Exposure(
        stability=slot.stability,
        days=max(0.0, (last - first).total_seconds() / 86_400),
        changes=changes,
        hazard=hazard_of(slot.half_life, slot.cardinality),
    )


def _kept(reads: Reads) -> _Kept:
    entry = reads.kv.get(CONSTANTS, _KEY)
    if entry is None:
        return _Kept(Constants(), 0)
    return msgspec.json.decode(entry.value, type=_Kept)
