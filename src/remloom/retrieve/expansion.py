"""Hops: from the best records to what they name, to what that is related to, to records of it.

Source: seed 2, "Iterated retrieval".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice, zip_longest
from operator import attrgetter

from .. import labels
from ..model import Record, Resource
from ..query.duplicates import text_of
from ..store.contract import Store
from ..text.analysis import term_set
from .candidates import Candidate
from .connections import mentions, rarity, relations
from .cosines import cosines
from .fusion import blend
from .question.names import speaker_key
from .question.question import Question

_FOLLOWED = 5  # things that are followed at each hop
_HUB = 0.3  # rarity below which a thing, such as a speaker, leads everywhere
_RECORDS = 20  # records that each of them brings
_UNFIT = 0.3  # of the score, of what is found by a hop and does not fit the question
_ROOM = 5  # one in five hits may be of the expansion
_LINKED = frozenset(("entity", "graph", "hops"))
_SCORE = attrgetter("score")


def follow(
    store: Store,
    best: Sequence[Candidate],
    question: Question,
    *,
    hops: int,
    weight: float,
) -> list[Candidate]:
    """Find the records up to `hops` away from the best, best first.

    What the question names is not followed. A record found so is worth a share of the record it was
    found from, less the more there are like it, and the less it fits the question. One of the best
    that is found so as well gets that on top of its score, and is not among them.

    They come in turn from the first hop, the second, and so on: the end of a long chain is worth
    less than all that is beside its beginning.

    Args:
        weight: of one hop.

    Raises:
        VectorError: the memory was moved to an embedder of other dimensions meanwhile.
    """
    named = {key for name in question.names for key in name.keys}
    known = {candidate.record.id: candidate for candidate in best}
    rounds: list[list[Candidate]] = []
    front = list(best)
    for _ in range(hops):
        reached = _one_hop(store, front, named, weight)
        for candidate, fit in zip(reached, _fits(store, reached, question), strict=True):
            candidate.rescale(_UNFIT + (1 - _UNFIT) * fit)
        # the first way to a record is the shortest: later ones do not count
        for candidate in reached:
            _add_once(known, candidate)
        front = [candidate for candidate in reached if known[candidate.record.id] is candidate]
        if not front:
            break
        front.sort(key=_SCORE, reverse=True)
        rounds.append(front)
    in_turn = zip_longest(*rounds)
    return [candidate for turn in in_turn for candidate in turn if candidate is not None]


def _add_once(known: dict[str, Candidate], candidate: Candidate) -> None:
    """Note a record that a hop found; to one of those it set out from, add what it is worth."""
    first = known.setdefault(candidate.record.id, candidate)
    if first is not candidate and not any(part == "hops" for part, *_ in first.shares):
        part, share, _, _, note = candidate.shares[0]
        first.add_share(part, share, note=note)


def _fits(store: Store, reached: Sequence[Candidate], question: Question) -> list[float]:
    """How well each fits the question by meaning and words, 0..1, beside the others."""
    nearness: dict[str, float] = {}
    if question.vector is not None:
        windows = store.vectors.of([candidate.record.id for candidate in reached])
        nearness = blend({id: max(cosines(some, question.vector)) for id, some in windows.items()})
    words = term_set(question.text) - {
        word for name in question.names for word in term_set(question.text[name.start : name.end])
    }
    shared = blend({one.record.id: float(len(words & _terms(one.record))) for one in reached})
    return [
        (shared[one.record.id] + nearness.get(one.record.id, 0.0)) / (2 if nearness else 1)
        for one in reached
    ]


def _terms(record: Record) -> set[str]:
    text = record.content if isinstance(record, Resource) else getattr(record, "text", "")
    return term_set(text)


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
                if record.id == source.record.id:
                    continue
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
