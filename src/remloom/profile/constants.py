"""The constants of one memory: how far what is trusted, as the user's answers have taught it."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from ..kv import Entry
from ..store.contract import Reads, Store
from .belief import Belief
from .edits import OUTCOME
from .filter import hazard_of
from .reliability import Constants, Exposure, Outcome, learn_constants
from .slots import Slot

__all__ = ["constants_of", "exposure", "relearn"]

_NAMESPACE = "profile.constants"
_KEY = "current"
# answers more than at the last time, after which it is learned anew: all beliefs are folded again
_MORE = 1.2


class _Kept(Struct, frozen=True, array_like=True):
    constants: Constants
    outcomes: int  # that they were learned from


def constants_of(reads: Reads) -> Constants:
    """The constants that beliefs are computed with."""
    kept = _kept(reads)
    return kept.constants if kept is not None else Constants()


def relearn(store: Store, exposures: list[Exposure], *, now: bool = False) -> Constants:
    """Learn the constants anew from the user's answers, if there are some more than last time.

    Args:
        exposures: how often what is believed changed.
        now: learn even if there are few more.
    """
    kept = _kept(store)
    before = kept.outcomes if kept is not None else 0
    answers = store.kv.count(OUTCOME)
    if not now and answers < max(before * _MORE, before + 1):
        return kept.constants if kept is not None else Constants()
    outcomes = [msgspec.json.decode(entry.value, type=Outcome) for entry in store.kv.list(OUTCOME)]
    constants = learn_constants(outcomes, exposures)
    value = msgspec.json.encode(_Kept(constants, len(outcomes)))
    store.kv.put([Entry(_NAMESPACE, _KEY, value)])
    return constants


def exposure(belief: Belief, slot: Slot) -> Exposure:
    """For how long a belief was watched, and how often its value changed."""
    first = belief.history[0].since if belief.history else belief.since
    seconds = (belief.checked_at - first).total_seconds()
    return Exposure(
        stability=slot.stability,
        days=max(0.0, seconds / 86_400),
        changes=len(belief.history),
        hazard=hazard_of(slot.half_life, slot.cardinality),
    )


def _kept(reads: Reads) -> _Kept | None:
    entry = reads.kv.get(_NAMESPACE, _KEY)
    return msgspec.json.decode(entry.value, type=_Kept) if entry is not None else None
