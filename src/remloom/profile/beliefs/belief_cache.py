"""The beliefs that were read last of each person: most readings find that nothing has changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from weakref import WeakKeyDictionary

from msgspec import Struct

from ...kv import Entries
from ...store.contract import Store
from ..slots.registry import Registry
from .belief import Belief

# nothing fades enough in this time to be seen
_FRESH = timedelta(seconds=30)


class BeliefState(Struct, frozen=True):
    """All that beliefs follow from, but for the time; compared as a whole."""

    folds: Entries
    marks: Entries
    evidence: int  # pieces
    constants: str  # their version
    slots: Registry


class _Read(Struct, frozen=True):
    state: BeliefState
    beliefs: Sequence[Belief]
    at: datetime


# what is there goes with the store; of a person it is replaced by the next reading
_last: WeakKeyDictionary[Store, dict[str, _Read]] = WeakKeyDictionary()


def cached(store: Store, subject: str, state: BeliefState, now: datetime) -> list[Belief] | None:
    """The beliefs that were read last, if they followed from the same, and not long ago."""
    read = _last.get(store, {}).get(subject)
    if read is None or not timedelta() <= now - read.at < _FRESH or read.state != state:
        return None
    return list(read.beliefs)


def remember(
    store: Store, subject: str, state: BeliefState, beliefs: Sequence[Belief], now: datetime
) -> None:
    """Keep what was read."""
    _last.setdefault(store, {})[subject] = _Read(state, tuple(beliefs), now)
