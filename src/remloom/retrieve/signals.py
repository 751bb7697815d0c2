"""Signals: the parts of a hybrid search that find records, each as a list of its own.

To add one, write a function that ranks records, and list it in `SIGNALS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from heapq import nlargest
from itertools import chain
from operator import attrgetter

from msgspec import Struct

from .. import labels
from ..model import Entity, Record, Resource, Row, label_of_record
from ..store.contract import Store
from ..store.results import Match
from ..store.specs import SearchSpec
from .candidates import Path, RankedRecord, Ranking, ranking_beside
from .connections import mentions, rarity, relations
from .names import lookup
from .question import RecallQuestion
from .scores import blend

_SCORE = attrgetter("score")


_Rank = Callable[[], Ranking | None]


class Signal(Struct, frozen=True):
    """A part of the search that finds records.

    `begin` begins to rank the best records for a question, at most about as many as the number
    given: what can go on beside the caller. What it returns gives the list, or None if there is
    nothing to go by.
    """

    part: str
    weight: float  # of the best record of its list, in the score
    begin: Callable[[Store, RecallQuestion, int], _Rank]
    takes_filter: bool = True  # else it is left out of a search with a filter


def _at_its_turn(
    rank: Callable[[Store, RecallQuestion, int], Ranking | None],
) -> Callable[[Store, RecallQuestion, int], _Rank]:
    return lambda store, question, count: partial(rank, store, question, count)


def _by_text(store: Store, question: RecallQuestion, count: int) -> Ranking:
    summarized = question.summarized_schemas
    found = _with_words(store, question, question.searched_text, count, summarized)
    # a list that is not full has every record with any of the words
    is_full = sum(one.record.schema not in summarized for one in found) == count
    ranked = [RankedRecord(one.record, one.score) for one in found]
    return ranking_beside(ranked, summarized, None if is_full else 0.0)


def _by_vector(store: Store, question: RecallQuestion, count: int) -> _Rank:
    if question.vector is None:
        return lambda: None
    summarized = question.summarized_schemas
    find = _begin_vector_searches(store, question, question.vector, count, summarized)
    return lambda: ranking_beside(
        [RankedRecord(one.record, one.score, one.matched) for one in find()], summarized
    )


def _by_names(store: Store, question: RecallQuestion, _count: int) -> Ranking:
    """Rank what the question names, and the records that mention it by how rare the name is."""
    scores: dict[str, float] = {}
    records: dict[str, tuple[Record, Path]] = {}
    for named in question.names:
        record = named.record
        if isinstance(record, Resource):
            records[record.id] = (record, ())
            scores[record.id] = scores.get(record.id, 0.0) + 1.0
            continue
        if record.summary or isinstance(record, Row):
            records[record.id] = (record, ())
            scores[record.id] = 1.0
        # Everybody in a chat names its speakers: that tells nothing.
        if named.speaks:
            continue
        key = labels.key(label_of_record(record))
        score = rarity(store, key)
        for resource, path in mentions(store, [key]):
            records.setdefault(resource.id, (resource, path))
            scores[resource.id] = scores.get(resource.id, 0.0) + score
    ordered = sorted(scores, key=lambda id: -scores[id])
    ranked = [RankedRecord(records[id][0], scores[id], path=records[id][1]) for id in ordered]
    return Ranking(ranked, floor=0.0, top=1.0)


def _by_relations(store: Store, question: RecallQuestion, _count: int) -> Ranking:
    """Rank the records that mention what is related to a name, and the rows related to it."""
    keys = [
        labels.key(label_of_record(named.record))
        for named in question.names
        if isinstance(named.record, Entity | Row) and not named.speaks
    ]
    ranked: list[RankedRecord] = []
    related_keys = dict(relations(store, keys))
    rows = lookup(store, related_keys, own=True) if question.registered else {}
    for related, way in related_keys.items():
        score = rarity(store, related)
        found = [row for row in rows.get(related, ()) if isinstance(row, Row)]
        ranked += [RankedRecord(row, score, path=way) for row in found]
        for resource, path in mentions(store, [related], way):
            ranked.append(RankedRecord(resource, score, path=path))
    return Ranking(ranked, floor=0.0, top=1.0)


def _by_paraphrases(store: Store, question: RecallQuestion, count: int) -> Ranking | None:
    """Rank the records with the words and the meaning of a paraphrase; the best of them counts."""
    if not question.paraphrases:
        return None
    best: dict[str, RankedRecord] = {}
    for text, vector in question.paraphrases:
        lists = [_with_words(store, question, text, count)]
        if vector is not None:
            lists.append(_begin_vector_searches(store, question, vector, count)())
        matches = {match.record.id: match for some in lists for match in some}
        blended = [blend({match.record.id: match.score for match in some}) for some in lists]
        for id, match in matches.items():
            score = sum(some.get(id, 0.0) for some in blended) / len(blended)
            if id not in best or best[id].score < score:
                best[id] = RankedRecord(match.record, score, match.matched)
    return Ranking(nlargest(count, best.values(), key=_SCORE), floor=0.0, top=1.0)


def _with_words(
    store: Store,
    question: RecallQuestion,
    text: str,
    count: int,
    summarized: Sequence[str] = (),
) -> list[Match]:
    """The records of schemas with texts that have the words of a text, best first; with them
    summaries of `summarized`."""
    found = [store.search.text(text, spec) for spec in _specs(question, count, summarized)]
    return _best(found, count, summarized)


def _begin_vector_searches(
    store: Store,
    question: RecallQuestion,
    vector: Sequence[float],
    count: int,
    summarized: Sequence[str] = (),
) -> Callable[[], list[Match]]:
    """Begin to find the records with a window like a vector, and such summaries, best first."""
    searches = [
        store.search.begin_vector(vector, spec) for spec in _specs(question, count, summarized)
    ]
    return lambda: _best([find() for find in searches], count, summarized)


def _specs(question: RecallQuestion, count: int, summarized: Sequence[str]) -> Iterator[SearchSpec]:
    """A search of each schema with texts; summaries are found beside resources."""
    for schema in question.searched_schemas:
        summaries = summarized if schema == "resources" else ()
        yield SearchSpec(count, schema, question.predicate, summaries=summaries)


def _best(found: Sequence[list[Match]], count: int, summarized: Sequence[str]) -> list[Match]:
    """The `count` best texts, and the summaries among them."""
    if len(found) == 1:
        return found[0]
    matches = list(chain.from_iterable(found))
    texts = [match for match in matches if match.record.schema not in summarized]
    best = nlargest(count, texts, key=_SCORE)
    summaries = [match for match in matches if match.record.schema in summarized]
    return sorted([*best, *summaries], key=_SCORE, reverse=True)


SIGNALS = (
    Signal("text", 1.0, _at_its_turn(_by_text)),
    Signal("vector", 1.0, _by_vector),
    # edges know no filter
    Signal("entity", 2.0, _at_its_turn(_by_names), takes_filter=False),
    Signal("graph", 2.0, _at_its_turn(_by_relations), takes_filter=False),
    Signal("paraphrases", 0.5, _at_its_turn(_by_paraphrases)),
)
