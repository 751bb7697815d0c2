"""Edges from records to others: mentions, relations, neighbours in their source, and hops."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from math import log2
from operator import attrgetter
from typing import NamedTuple

from msgspec.structs import replace

from .. import labels
from ..model import RecallHit, Record, Resource, Row, edge_types
from ..model.supersession import amended_of
from ..query.duplicates import text_of
from ..store.components import RecordReads
from ..store.contract import Store
from ..store.specs import EdgeOrder, EdgeSpec
from ..store.united import find_united, together, told
from ..text.analysis import term_set
from ..text.sentences import count_words
from .candidates import Candidate, Path, asks
from .names import lookup, speaker_key
from .question import RecallQuestion
from .scores import blend, cosines

_MENTIONS = 20  # records looked at that name something, newest first
_RELATED = 20  # things looked at that are related to it
_HUB = 1_000  # edges of a thing from which its newest are looked at, not the heaviest
_FOLLOWED = 5  # things that are followed at each hop
_HUB_RARITY = 0.3  # below which a thing, such as a speaker, leads everywhere
_RECORDS = 20  # records that each of them brings
_UNFIT = 0.3  # of the score, of what is found by a hop and does not fit the question
_SHORT = 20  # words of a reply that is understood by a question, and of the question
_ROOM = 5  # one in five hits may be of the expansion
_LINKED = frozenset(("entity", "graph", "hops", "dependencies"))
_SCORE = attrgetter("score")


def rarity(store: Store, key: str) -> float:
    """Rate a mention of something, 0..1: the less, the more of them there are."""
    return 1 / log2(2 + store.graph.count([key], direction="in"))


def mentions(
    store: Store,
    keys: Sequence[str],
    before: Path = (),
) -> Iterator[tuple[Resource | Row, Path]]:
    """Yield the resources and rows with an edge to one of these keys, newest edges first, and the
    path."""
    edges = store.graph.edge_keys(EdgeSpec(keys, direction="in", limit=_MENTIONS))
    by_src = {src: (src, rel_type, dst) for src, rel_type, dst in reversed(edges)}
    for src, records in lookup(store, by_src, own=True).items():
        for record in records:
            if isinstance(record, Resource | Row):
                yield record, (*before, by_src[src])


def relations(store: Store, keys: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield the keys one edge away, whichever way, and that edge: of each key the heaviest edges,
    of one with very many the newest.

    Edges that only tell how texts hang together are not followed.
    """
    types = [name for name in store.graph.edge_types() if name not in edge_types.STRUCTURAL]
    if not types or not keys:
        return
    count = store.graph.count
    hubs = [
        key for key in keys if count([key], direction="out") + count([key], direction="in") > _HUB
    ]
    spec = EdgeSpec(keys, direction="both", rel_types=types, limit=_RELATED)
    heaviest = replace(
        spec, keys=[key for key in keys if key not in hubs], order=EdgeOrder("weight")
    )
    edges = [edge.key for edge in store.graph.edges(heaviest)] if heaviest.keys else []
    # an index has edges by time, not by weight
    for hub in hubs:
        edges += store.graph.edge_keys(replace(spec, keys=[hub]))
    seen = set(keys)
    for edge in edges:
        src, _, dst = edge
        for own, other in ((src, dst), (dst, src)):
            if own in keys and other not in seen:
                seen.add(other)
                yield other, (edge,)


def with_neighbours(store: Store, hits: Sequence[RecallHit], reach: int) -> list[RecallHit]:
    """Give each hit up to `reach` resources before and after it, along their `next` edges.

    What is a hit itself is left out.
    """
    ids = {hit.id for hit in hits}
    beside = _beside(store, hits, reach)
    return [
        replace(
            hit,
            before=tuple(one for one in beside[hit.id].before if one.id not in ids),
            after=tuple(one for one in beside[hit.id].after if one.id not in ids),
        )
        if hit.id in beside
        else hit
        for hit in hits
    ]


def with_united(store: Store, hits: Sequence[RecallHit]) -> list[RecallHit]:
    """Put what other sources say of one thing beside the hit that is a row of it, and say why."""
    things = find_united(store, [hit.record for hit in hits], edges=0)
    if not things:
        return list(hits)
    united = {row.id: one for thing in things for one in [told(store, thing)] for row in thing}
    beside = together(things, hits, attrgetter("record"), _as_same)
    return [replace(hit, united=united.get(hit.id)) for hit in beside]


def _as_same(row: Row, hit: RecallHit) -> RecallHit:
    ends = labels.key(getattr(hit.record, "handle", hit.name)), labels.key(row.handle)
    edge = (ends[0], edge_types.SAME_AS.name, ends[1])
    return replace(
        hit, record=row, matched="", reasons=(), path=(*hit.path, edge), before=(), after=()
    )


def with_questions(store: Store, hits: Sequence[RecallHit]) -> list[RecallHit]:
    """Give each hit that is a short reply the short question before it, which may be a hit too."""
    beside = _beside(store, [hit for hit in hits if _is_short(hit.record)], 1)
    return [
        replace(hit, before=tuple(beside[hit.id].before))
        if hit.id in beside and any(_asks(one, hit.record) for one in beside[hit.id].before)
        else hit
        for hit in hits
    ]


def with_amendments(records: RecordReads, hits: Sequence[RecallHit], limit: int) -> list[RecallHit]:
    """Put before each hit that was amended what amends it, which may be a hit too."""
    amended = {hit.id: mark.by for hit in hits if (mark := amended_of(hit.record))}
    if not amended:
        return list(hits)
    by_id = {hit.id: hit for hit in hits}
    found: dict[str, RecallHit] = {}
    for hit in hits:
        id = amended.get(hit.id, hit.id)
        if id not in by_id and id not in found and (record := records.get("resources", id)):
            reasons = tuple(replace(one, note=f"amends {hit.id}") for one in hit.reasons[:1])
            found[id] = RecallHit(record=record, score=hit.score, reasons=reasons)
        elif id in by_id:
            found.setdefault(id, by_id[id])
        found.setdefault(hit.id, hit)
    return list(found.values())[: max(limit, len(hits))]


def _is_short(record: Record) -> bool:
    if not isinstance(record, Resource) or not record.speaker:
        return False
    return count_words(record.content) <= _SHORT


def _asks(turn: Resource, reply: Record) -> bool:
    """Whether it is a short question of somebody else than who replies."""
    speaker = getattr(reply, "speaker", "")
    return asks(turn) and _is_short(turn) and turn.speaker != speaker


class _Beside(NamedTuple):
    before: list[Resource]
    after: list[Resource]


def _beside(store: Store, hits: Sequence[RecallHit], reach: int) -> dict[str, _Beside]:
    """What is before and after each hit in its source, by the id of the hit; in their order."""
    if not hits or not reach or edge_types.NEXT.name not in store.graph.edge_types():
        return {}
    keys = {hit.id: labels.key(hit.name) for hit in hits if hit.schema == "resources"}
    uris = {hit.id: hit.uri for hit in hits}
    previous, following = _chain_edges(store, set(keys.values()), reach)
    before = {id: _walk(key, previous, reach) for id, key in keys.items()}
    after = {id: _walk(key, following, reach) for id, key in keys.items()}
    neighbours: set[str] = set()
    neighbours.update(*before.values(), *after.values())
    records = store.records.lookup(sorted(neighbours), edges=0)
    return {
        id: _Beside(
            _of_source(uris[id], before[id], records)[::-1],
            _of_source(uris[id], after[id], records),
        )
        for id in keys
    }


def _chain_edges(
    store: Store,
    keys: Iterable[str],
    reach: int,
) -> tuple[dict[str, str], dict[str, str]]:
    """The previous and the following key of each, up to `reach` edges away."""
    previous: dict[str, str] = {}
    following: dict[str, str] = {}
    seen: set[str] = set()
    front = set(keys)
    for _ in range(reach):
        fresh = list(front - seen)
        if not fresh:
            break
        seen |= front
        # two edges a key, and one more would tell that there are others
        limit = 3 * len(fresh) + 1
        edges = store.graph.edge_keys(
            EdgeSpec(fresh, direction="both", rel_types=[edge_types.NEXT.name], limit=limit)
        )
        for src, _, dst in edges:
            following[src] = dst
            previous[dst] = src
        front = {following[key] for key in fresh if key in following}
        front |= {previous[key] for key in fresh if key in previous}
    return previous, following


def _walk(key: str, steps: Mapping[str, str], reach: int) -> list[str]:
    """The next keys in one direction, nearest first."""
    keys: list[str] = []
    while len(keys) < reach and key in steps:
        key = steps[key]
        keys.append(key)
    return keys


def _of_source(
    uri: str,
    keys: Sequence[str],
    records: Mapping[str, Sequence[Record]],
) -> list[Resource]:
    return [
        record
        for key in keys
        for record in records.get(key, ())
        if isinstance(record, Resource) and record.uri == uri
    ]


def follow(
    store: Store,
    best: Sequence[Candidate],
    question: RecallQuestion,
    *,
    hops: int,
    weight: float,
) -> list[Candidate]:
    """Find the records up to `hops` away from the best, best first. Source: seed 2.

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
    """Note a record that a hop found; one that was there before gets its share once."""
    first = known.setdefault(candidate.record.id, candidate)
    if first is not candidate and not any(part == "hops" for part, *_ in first.shares):
        part, share, _, _, note = candidate.shares[0]
        first.add_share(part, share, note=note)


def _fits(store: Store, reached: Sequence[Candidate], question: RecallQuestion) -> list[float]:
    """How well each fits the question by meaning and words, 0..1, relative to the others."""
    similarities: dict[str, float] = {}
    if question.vector is not None:
        windows = store.vectors.of([candidate.record.id for candidate in reached])
        similarities = blend(
            {id: max(cosines(some, question.vector)) for id, some in windows.items()}
        )
    words = term_set(question.text) - {
        word for name in question.names for word in term_set(question.text[name.start : name.end])
    }
    shared = blend({one.record.id: float(len(words & _terms(one.record))) for one in reached})
    return [
        (shared[one.record.id] + similarities.get(one.record.id, 0.0)) / (2 if similarities else 1)
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
        if rarity(store, key) < _HUB_RARITY:
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
