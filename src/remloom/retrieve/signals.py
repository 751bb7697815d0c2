"""The parts of a hybrid search: those that find records, and those that weigh what was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log2

from .. import labels
from ..model import SESSION_GAP, Entity, Record, Resource, edge_types
from ..predicates import Predicate
from ..store.contract import EdgeOrder, Store
from .candidates import Candidate, Path, Pool
from .fusion import blend
from .question import Named

__all__ = [
    "about",
    "answers",
    "asks",
    "by_names",
    "by_relations",
    "by_text",
    "by_vector",
    "mentions",
    "rarity",
    "relations",
    "same_session",
    "speaker",
    "spoken_by",
]

_MENTIONS = 20  # records looked at that name something, newest first
_RELATED = 20  # things looked at that are related to it
_ASKING = ("?", "？", "?)", '?"')


def by_text(store: Store, pool: Pool, text: str, where: Predicate | None, count: int) -> None:
    """The records with the words of the question (BM25)."""
    matches = store.search_text(text, schema="resources", where=where, limit=count)
    # A list that is not full holds every record with any of the words: one without them is worth
    # nothing.
    scale = (0.0 if len(matches) < count else None, None)
    pool.put("text", ((match.record, match.score, "", ()) for match in matches), scale)


def by_vector(
    store: Store, pool: Pool, vector: Sequence[float], where: Predicate | None, count: int
) -> None:
    """The records whose best window is nearest in meaning."""
    matches = store.search_vector(
        vector, schema="resources", where=where, limit=count, min_score=None
    )
    pool.put("vector", ((match.record, match.score, match.matched, ()) for match in matches))


def by_names(store: Store, pool: Pool, names: Sequence[Named]) -> None:
    """What the question names, and the records that mention it: the rarer the name, the more they
    are worth."""
    scores: dict[str, float] = {}
    found: dict[str, tuple[Record, Path]] = {}
    for named in names:
        if isinstance(named.record, Resource):
            found[named.record.id] = (named.record, ())
            scores[named.record.id] = scores.get(named.record.id, 0.0) + 1.0
            continue
        if named.record.summary:
            found[named.record.id] = (named.record, ())
            scores[named.record.id] = 1.0
        if named.speaks:
            continue
        key = labels.key(named.record.name)
        worth = rarity(store, key)
        for record, path in mentions(store, [key]):
            found.setdefault(record.id, (record, path))
            scores[record.id] = scores.get(record.id, 0.0) + worth
    ordered = sorted(scores, key=lambda id: -scores[id])
    pool.put("entity", ((found[id][0], scores[id], "", found[id][1]) for id in ordered), (0.0, 1.0))


def rarity(store: Store, key: str) -> float:
    """What a mention of something is worth, 0..1: the less, the more of them there are."""
    return 1 / log2(2 + store.degrees([key], direction="in"))


def mentions(
    store: Store, keys: Sequence[str], before: Path = ()
) -> Iterator[tuple[Resource, Path]]:
    """The resources with an edge to one of these keys, newest edges first, and the path to each."""
    edges = store.edge_keys(keys, direction="in", rel_types=None, limit=_MENTIONS)
    by_src = {src: (src, rel_type, dst) for src, rel_type, dst in reversed(edges)}
    for src, records in store.lookup(list(by_src), edges=0).items():
        for record in records:
            if isinstance(record, Resource):
                yield record, (*before, by_src[src])


def by_relations(store: Store, pool: Pool, names: Sequence[Named]) -> None:
    """The records that mention what is related to what the question names."""
    found: list[tuple[Record, float, str, Path]] = []
    starts = [
        labels.key(named.record.name)
        for named in names
        if isinstance(named.record, Entity) and not named.speaks
    ]
    for related, path in relations(store, starts):
        worth = rarity(store, related)
        found += [(record, worth, "", whole) for record, whole in mentions(store, [related], path)]
    pool.put("graph", found, (0.0, 1.0))


def relations(store: Store, keys: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """The keys one edge away, whichever way, and that edge; edges that only tell the structure of a
    text left out."""
    types = [name for name in store.rel_types() if name not in edge_types.STRUCTURAL]
    if not types or not keys:
        return
    edges = store.edges(
        keys, direction="both", rel_types=types, limit=_RELATED, order=EdgeOrder("weight")
    )
    seen = set(keys)
    for edge in edges:
        for near, far in ((edge.src, edge.dst), (edge.dst, edge.src)):
            if near in keys and far not in seen:
                seen.add(far)
                yield far, ((edge.src, edge.rel_type, edge.dst),)


def spoken_by(pool: Pool, asked_about: Sequence[Named], weight: float) -> None:
    """Raise what somebody said whom the question is about."""
    keys = {key: named.record.name for named in asked_about for key in named.keys}
    if not keys:
        return
    for candidate in pool.candidates.values():
        name = keys.get(speaker(candidate.record))
        if name:
            pool.weigh(candidate, "speaker", weight, note=f"said by {name}")


def speaker(record: Record) -> str:
    """The key of who said it; empty where nobody is known."""
    name = record.metadata.get("speaker") if isinstance(record, Resource) else None
    return labels.key(name) if isinstance(name, str) and name.strip() else ""


def asks(pool: Pool, weight: float) -> None:
    """Lower the turns that end in a question: the answer is mostly in another."""
    for candidate, _ in _asking(pool):
        pool.weigh(candidate, "asks", weight, note="it asks")


def answers(pool: Pool, weight: float) -> None:
    """Raise the turn after one that asks something like the question, by how near that one is: a
    short answer says little by itself."""
    asking = {(turn.uri, turn.ordinal + 1): turn for _, turn in _asking(pool)}
    if not asking:
        return
    nearness = blend(pool.lists.get("vector") or pool.lists.get("text", {}))
    for candidate in pool.candidates.values():
        turn = candidate.record
        before = asking.get((turn.uri, turn.ordinal)) if isinstance(turn, Resource) else None
        if before is not None and isinstance(turn, Resource) and same_session(before, turn):
            near = nearness.get(before.id, 0.0)
            if near:
                pool.weigh(candidate, "answers", weight * near, note=f"answers {before.name}")


def same_session(one: Resource, other: Resource) -> bool:
    """Whether two neighbours were said in one sitting; True where no times tell."""
    if one.starts_at is None or other.starts_at is None:
        return True
    return abs(other.starts_at - one.starts_at) <= SESSION_GAP


def about(pool: Pool, wanted: Mapping[str, float], part: str, weight: float) -> None:
    """Raise what names any of these keys, by how much each of them is wanted (0..1)."""
    if not wanted:
        return
    for candidate in pool.candidates.values():
        named = _named_by(candidate.record)
        best = max(
            (key for key in wanted if key in named), key=lambda key: wanted[key], default=None
        )
        if best is not None:
            pool.weigh(candidate, part, weight * wanted[best], note=f"names {best}")


def _named_by(record: Record) -> set[str]:
    names: Iterable[str] = (
        record.related_entities if isinstance(record, Resource) else (record.name,)
    )
    return {labels.key(name) for name in names if name.strip()}


def _asking(pool: Pool) -> list[tuple[Candidate, Resource]]:
    """The turns that end in a question."""
    return [
        (candidate, turn)
        for candidate in pool.candidates.values()
        if isinstance(turn := candidate.record, Resource)
        and turn.metadata.get("speaker")
        and turn.content.rstrip().endswith(_ASKING)
    ]
