"""Hops: from the best records to what they name, to what that is related to, to records of it.

Source: seed 2, "Iterated retrieval".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice

from .. import labels
from ..model import Resource
from ..query.duplicates import text_of
from ..store.contract import Store
from .candidates import Candidate
from .links import mentions, rarity, relations
from .names import speaker_key

__all__ = ["follow", "with_expansion"]

_FOLLOWED = 5  # things that are followed at each hop
_HUB = 0.3  # rarity below which a thing, such as a speaker, leads everywhere
_RECORDS = 5  # records that each of them brings
_ROOM = 5  # one in five hits may be of the expansion
_LINKED = frozenset(("entity", "graph"))


def follow(
    store: Store,
    best: Sequence[Candidate],
    named: Collection[str],
    *,
    hops: int,
    weight: float,
) -> list[Candidate]:
    """Find the records up to `hops` away from the best, best first.

    One of the best is among them only if this way gives it a higher score. A record found so is
    worth a share of the record it was found from, and less the more there are like it: it never
    comes before that one.

    Args:
        named: keys that the question names, which are not followed.
        weight: of one hop.
    """
    scores = {candidate.record.id: candidate.score for candidate in best}
    expansion: list[Candidate] = []
    front = list(best)
    for _ in range(hops):
        reached = _one_hop(store, front, named, weight)
        front = [one for one in reached if one.score > scores.get(one.record.id, 0.0)]
        # the first way to a record is the shortest: later ones do not count
        scores.update((one.record.id, float("inf")) for one in front)
        expansion += front
    return sorted(expansion, key=lambda candidate: -candidate.score)


def with_expansion(
    best: Sequence[Candidate],
    expansion: Sequence[Candidate],
    limit: int,
) -> list[Candidate]:
    """Join both, at most `limit`, best first.

    The expansion takes free places, and one in five of those of the last candidates for which only
    words or meaning speak.
    """
    expanded_ids = {candidate.record.id for candidate in expansion}
    joined = [candidate for candidate in best if candidate.record.id not in expanded_ids]
    texts = {text for candidate in joined if (text := text_of(candidate.record))}
    expansion = [candidate for candidate in expansion if text_of(candidate.record) not in texts]
    room = min(max(1, limit // _ROOM), len(expansion))
    # from the last; the first stays in any case
    for position in range(len(joined) - 1, 0, -1):
        if len(joined) + room <= limit:
            break
        if not any(part in _LINKED for part, *_ in joined[position].shares):
            del joined[position]
    joined += expansion[: limit - len(joined)]
    return sorted(joined, key=lambda candidate: -candidate.score)


def _one_hop(
    store: Store,
    front: Sequence[Candidate],
    named: Collection[str],
    weight: float,
) -> list[Candidate]:
    reached: dict[str, Candidate] = {}
    followed = 0
    for key, source in _names_of(front, named).items():
        if followed >= _FOLLOWED:
            break
        if rarity(store, key) < _HUB:
            continue
        followed += 1
        naming = (source.record.name, "names", key)
        ends = [(key, ()), *relations(store, [key])]
        for end, path in ends[: _FOLLOWED + 1]:
            share = weight * rarity(store, end) * source.score
            for record, way in islice(mentions(store, [end], (naming, *path)), _RECORDS):
                if record.id not in reached or reached[record.id].score < share:
                    candidate = Candidate(record, path=(*source.path, *way))
                    candidate.add_share("hops", share, note=f"from {source.record.name}")
                    reached[record.id] = candidate
    return list(reached.values())


def _names_of(front: Sequence[Candidate], named: Collection[str]) -> dict[str, Candidate]:
    """Keys that records name and the question does not, each with the first record of it."""
    first: dict[str, Candidate] = {}
    for candidate in front:
        if candidate.score <= 0 or not isinstance(candidate.record, Resource):
            continue
        for name in candidate.record.related_entities:
            key = labels.key(name) if name.strip() else ""
            if key and key not in named and key != speaker_key(candidate.record):
                first.setdefault(key, candidate)
    return first
