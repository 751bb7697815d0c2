"""Hops: from what was found to what it names, along edges to what that is related to, to the
records of those.

Source: seed 2, "Iterated retrieval".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from .. import labels
from ..model import Resource
from ..query.duplicates import text_of
from ..store.contract import Store
from .candidates import Candidate, Path, Pool
from .question import Named
from .signals import mentions, rarity, relations, speaker

__all__ = ["follow", "made_room"]

_FOLLOWED = 5  # things that are followed at each hop
_HUB = 0.3  # rarity below which a thing, such as a speaker, leads everywhere
_BROUGHT = 5  # records that each of them brings
_ROOM = 5  # one in so many of the hits may be brought by hops
_LINKED = frozenset(("entity", "graph"))


def follow(
    store: Store, best: Sequence[Candidate], names: Sequence[Named], *, hops: int, weight: float
) -> list[Candidate]:
    """What is up to `hops` away from the best records, best first: none of them, unless this says
    more for it.

    A record found so is worth a share of the record it was found from, and less the more there are
    like it: it never comes before that one.
    """
    asked = {key for named in names for key in named.keys}
    known = {candidate.record.id: candidate.score for candidate in best}
    brought: list[Candidate] = []
    front = list(best)
    for _ in range(hops):
        front = [
            one
            for one in _one_hop(store, front, asked, weight)
            if one.score > known.get(one.record.id, 0.0)
        ]
        known.update((one.record.id, float("inf")) for one in front)
        brought += front
    return sorted(brought, key=lambda candidate: -candidate.score)


def made_room(
    best: Sequence[Candidate], brought: Sequence[Candidate], limit: int
) -> list[Candidate]:
    """At most `limit` of both, best first: what hops brought takes free places, and one in five of
    those held by the last for which only words or meaning speak."""
    ids = {candidate.record.id for candidate in brought}
    kept = [candidate for candidate in best if candidate.record.id not in ids]
    texts = {text for candidate in kept if (text := text_of(candidate.record))}
    brought = [candidate for candidate in brought if text_of(candidate.record) not in texts]
    room = max(1, limit // _ROOM)
    for place in range(len(kept) - 1, 0, -1):
        if len(kept) + min(room, len(brought)) <= limit:
            break
        if not any(part in _LINKED for part, *_ in kept[place].reasons):
            del kept[place]
    return sorted([*kept, *brought[: limit - len(kept)]], key=lambda candidate: -candidate.score)


def _one_hop(
    store: Store, front: Sequence[Candidate], asked: set[str], weight: float
) -> list[Candidate]:
    found: dict[str, Candidate] = {}
    followed = 0
    for key, source in _sources(front, asked).items():
        if followed >= _FOLLOWED:
            break
        if rarity(store, key) < _HUB:
            continue
        followed += 1
        start = (source.record.name, "names", key)
        ways: list[tuple[str, Path]] = [(key, ()), *relations(store, [key])]
        for far, edges in ways[: _FOLLOWED + 1]:
            share = weight * rarity(store, far) * source.score
            for record, path in islice(mentions(store, [far], (start, *edges)), _BROUGHT):
                if record.id not in found or found[record.id].score < share:
                    candidate = found[record.id] = Candidate(record, path=(*source.path, *path))
                    Pool.weigh(candidate, "hops", share, note=f"from {source.record.name}")
    return list(found.values())


def _sources(best: Sequence[Candidate], asked: set[str]) -> dict[str, Candidate]:
    """What the records name that the question does not, each with the first record that names it."""
    sources: dict[str, Candidate] = {}
    for candidate in best:
        if candidate.score <= 0 or not isinstance(candidate.record, Resource):
            continue
        for name in candidate.record.related_entities:
            key = labels.key(name) if name.strip() else ""
            if key and key not in asked and key != speaker(candidate.record):
                sources.setdefault(key, candidate)
    return sources
