"""Features, on the hooks of the kernel. They are imported when they are first needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..engine.engine import Engine
from ..engine.hooks import Hooks, Outdated, Preferences
from ..kv import Entry
from ..store.contract import Reads
from ..store.forgetting.forget import Remade, RemovedRecords


def _withdraw_evidence(reads: Reads, passages: Sequence[str]) -> Outdated:
    from ..profile.beliefs.belief_store import ends_of_nothing
    from ..profile.evidence.evidence import evidence_of, stored_resources
    from ..profile.evidence.passages import seen_entries

    evidence = {one.id: one for one in stored_resources(reads, evidence_of(reads, passages))}
    # what a person did by hand stays: the words may be said again
    ends = ends_of_nothing(reads, evidence, by_hand=False)
    records = dict.fromkeys((*evidence, *(one.id for one in ends)))
    return Outdated(tuple(records), tuple(seen_entries(reads, passages)))


def _doubt_evidence(reads: Reads, passages: Sequence[str]) -> list[Entry]:
    from ..profile.beliefs.stale import doubt_entries

    return doubt_entries(reads, passages)


def _remake_dreams(reads: Reads, removed: RemovedRecords) -> Remade:
    from ..dream.remake import remake

    return remake(reads, removed)


def _retell(reads: Reads, removed: RemovedRecords) -> Remade:
    from ..dream.remake import remake

    return remake(reads, removed, forgotten=False)


def _remake_affinities(reads: Reads, removed: RemovedRecords) -> Remade:
    from ..dream.remake import remake_affinities

    return remake_affinities(reads, removed)


def _withdraw_ends(reads: Reads, removed: RemovedRecords, *, by_hand: bool = True) -> Remade:
    from ..profile.beliefs.belief_store import ends_of_nothing

    return Remade(gone=tuple(ends_of_nothing(reads, removed, by_hand=by_hand)))


def _preferences(engine: Engine) -> Preferences:
    from ..profile.injection import Injection

    return Injection(engine)


FEATURES = Hooks(
    on_rewritten=(_withdraw_evidence,),
    on_doubted=(_doubt_evidence,),
    on_changed=(_retell, partial(_withdraw_ends, by_hand=False)),
    on_forgotten=(_remake_dreams, _remake_affinities, _withdraw_ends),
    preferences=_preferences,
)
