"""The constants of one memory: how far what is trusted, as the user's answers have taught it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec import Struct

from ...kv import Entry
from ...store.contract import Reads, Store
from ..slots.registry import Registry
from ..slots.slot import Slot
from .belief import Belief
from .belief_store import BeliefStore
from .edits import OUTCOME
from .filter import hazard_of
from .reliability import Constants, Exposure, Outcome, learn_constants

CONSTANTS = "profile.constants"  # namespace of the entry
_KEY = "current"
# answers more than at the last time, after which it is learned again: all beliefs are folded again
_MORE = 1.2


class _Kept(Struct, frozen=True, array_like=True):
    constants: Constants
    outcomes: int  # that they were learned from


def constants_of(reads: Reads) -> Constants:
    """The constants that beliefs are computed with."""
    kept = _kept(reads)
    return kept.constants if kept is not None else Constants()


def relearn(store: Store, watched: Callable[[], Iterable[Exposure]]) -> Constants:
    """Learn the constants again from the user's answers, if there are some more than last time.

    Also if there are fewer: an answer that was taken back teaches nothing.

    Args:
        watched: how often what is believed changed; only called when something is to be learned.
    """
    kept = _kept(store)
    before = kept.outcomes if kept is not None else 0
    answers = store.kv.count(OUTCOME)
    if before <= answers < max(before * _MORE, before + 1):
        return kept.constants if kept is not None else Constants()
    outcomes = [msgspec.json.decode(entry.value, type=Outcome) for entry in store.kv.list(OUTCOME)]
    constants = learn_constants(outcomes, watched())
    value = msgspec.json.encode(_Kept(constants, len(outcomes)))
    store.kv.put([Entry(CONSTANTS, _KEY, value)])
    return constants


def exposures(beliefs: BeliefStore, slots: Registry) -> Iterator[Exposure]:
    """For how long each belief about anybody was watched, and how often it changed."""
    for subject in beliefs.subjects():
        for belief in beliefs.all(subject):
            yield exposure(belief, slots.get_or_extra(belief.slot))


def exposure(belief: Belief, slot: Slot) -> Exposure:
    """For how long a belief was watched, and how often its value changed."""
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


def _kept(reads: Reads) -> _Kept | None:
    entry = reads.kv.get(CONSTANTS, _KEY)
    return msgspec.json.decode(entry.value, type=_Kept) if entry is not None else None
