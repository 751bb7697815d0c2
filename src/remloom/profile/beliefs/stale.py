"""Stale beliefs: held because of a passage that was replaced, was amended, has expired, or may not
hold any more itself.

Nothing is stored as stale. An entry beside evidence whose passage may be of these says only that it
is to be looked at, so that a profile in which nobody replaced anything costs nothing more to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from ...kv import Entry, KeyRange
from ...model.premises import Stale
from ...model.supersession import amended_of, superseded_of
from ...store.contract import Reads
from ...store.premises import find_stale, named
from ..evidence.evidence import (
    KIND,
    Evidence,
    evidence_of,
    from_record,
    key_of_subject,
    stored_evidence,
    stored_resources,
    value_key,
)
from .belief import Belief, Piece

# namespace of the entries; the key is the person and the id of evidence
DOUBT = "profile.doubt"
_MOST_EXPIRED = 1_000  # records that nothing has swept yet, whose evidence is looked at


class Doubt(Struct, frozen=True):
    """Why evidence may not hold any more.

    Args:
        said_at: when that was said; what speaks for the same later than that settles it. None:
            whatever else speaks for it does.
        successors: ids of the evidence in what replaces or amends the passage.
    """

    evidence: Evidence
    stale: Stale
    said_at: datetime | None
    successors: frozenset[str]

    def is_settled_by(self, piece: Piece) -> bool:
        """Whether evidence that is not in doubt says anew what this says."""
        said_at = self.said_at
        return said_at is None or piece.known_at >= said_at or piece.id in self.successors


def doubt_entries(reads: Reads, passages: Iterable[str]) -> list[Entry]:
    """The entries which say that the evidence in passages is to be looked at."""
    return list(map(doubt_entry, stored_evidence(reads, evidence_of(reads, passages))))


def doubt_entry(evidence: Evidence) -> Entry:
    """The entry which says that evidence is to be looked at; it goes with it."""
    return Entry(DOUBT, f"{key_of_subject(evidence.subject)}/{evidence.id}", b"{}", (evidence.id,))


def doubts_of(reads: Reads, subject: str, as_of: datetime | None = None) -> dict[str, Doubt]:
    """The evidence on a person that may not hold any more, by id, with what was made of it.

    Args:
        as_of: what was no longer so by then.
    """
    prefix = f"{key_of_subject(subject)}/"
    ids = [entry.refs[0] for entry in reads.kv.list(DOUBT, KeyRange(prefix=prefix))]
    expired = [record.id for record in reads.records.expired(_MOST_EXPIRED)]
    ids += evidence_of(reads, expired)
    if not ids:
        return {}
    doubts: dict[str, Doubt] = {}
    for id, stale in named(reads.records, find_stale(reads.records, ids)).items():
        if as_of is not None and stale.at is not None and stale.at > as_of:
            continue
        said_at = _said_at(reads, stale)
        successors = frozenset(
            one.id for one in _evidence_in(reads, [stale.by] if stale.by else [])
        )
        for one in _with_made(reads, stored_evidence(reads, [id])):
            doubts[one.id] = Doubt(one, stale, said_at, successors)
    return doubts


def why_stale(
    belief: Belief,
    doubts: Mapping[str, Doubt],
    look_up: Callable[[], Sequence[Piece]],
    as_of: datetime | None = None,
) -> Stale | None:
    """Why a belief may not hold any more, or, of what has ended, may hold still; None: nothing that
    it is held because of is in doubt, or it was said anew.

    What the user set by hand rests on no passage.

    Args:
        look_up: gives the evidence on it.
    """
    if not belief.holds:
        doubt = doubts.get(belief.because)
        return doubt.stale if doubt is not None else None
    said = [piece for piece in look_up() if _speaks_for(piece, belief, as_of)]
    if any(piece.authority == "edit" for piece in said):
        return None
    fresh = [piece for piece in said if piece.id not in doubts]
    for piece in sorted(said, key=lambda one: one.known_at, reverse=True):
        doubt = doubts.get(piece.id)
        if doubt is not None and not any(map(doubt.is_settled_by, fresh)):
            return doubt.stale
    return None


def _speaks_for(piece: Piece, belief: Belief, as_of: datetime | None) -> bool:
    is_known = as_of is None or piece.known_at <= as_of
    is_of_now = not piece.ends and piece.at >= belief.since
    return is_known and is_of_now and value_key(piece.value) == value_key(belief.value)


def _said_at(reads: Reads, stale: Stale) -> datetime | None:
    if stale.reason == "expired":
        return None
    passage = reads.records.get(None, stale.premise) if stale.premise else None
    mark = (superseded_of(passage) or amended_of(passage)) if passage is not None else None
    return mark.at if mark is not None else stale.at


def _evidence_in(reads: Reads, passages: Iterable[str]) -> Iterator[Evidence]:
    yield from _with_made(reads, stored_evidence(reads, evidence_of(reads, passages)))


def _with_made(reads: Reads, evidence: Iterable[Evidence]) -> Iterator[Evidence]:
    """Yield evidence, and what was made of it for a slot."""
    waiting = list(evidence)
    while waiting:
        one = waiting.pop()
        yield one
        children = stored_resources(reads, reads.records.children(one.id))
        waiting += [from_record(child) for child in children if child.kind == KIND]
