"""Scores of records by what they say themselves, and by nothing else that a store holds.

A store's index scores a text with the statistics of all texts, a turn of a chat with the turns
beside it, and a name by the passes in which it was found: all of it would tell of what was not
granted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log1p

from .. import labels
from ..model import Record, Row
from ..store.indexes.name_similarity import NameMatches, split_name
from ..store.indexes.postings import K1, B
from ..store.results import Match
from ..store.rules.indexed_text import embedded_text
from ..text.analysis import term_set, terms


def names_of(record: Record) -> tuple[str, ...]:
    """List the names that a record goes by. An alias of an entity may come from anywhere: it is
    none of them; those of a row are its own fields."""
    if isinstance(record, Row):
        return tuple(dict.fromkeys((record.handle, record.name, *record.aliases)))
    return (record.name,)


def score_names(text: str, records: Sequence[Record], threshold: float) -> list[Match]:
    """Rank the records whose best name is like a text, best first; ties by name, then by id."""
    key = labels.key(text)
    words = split_name(key, query=True)
    matches = []
    for record in records:
        keys = [labels.key(name) for name in names_of(record) if name.strip()]
        found = NameMatches(1, None)
        found.add(list(enumerate(keys)), key, words, threshold)
        for number, score in found.best():
            matches.append(Match(record, score, keys[number]))
    return sorted(matches, key=lambda match: (-match.score, match.matched, match.record.id))


def score_texts(question: str, records: Sequence[Record]) -> list[Match]:
    """Rank the records whose own text has words of the question, best first; ties by id."""
    wanted = term_set(question)
    counts = [Counter(terms(embedded_text(record))) for record in records]
    lengths = [sum(count.values()) for count in counts]
    average = sum(lengths) / max(1, len(lengths)) or 1.0
    weights = {}
    for term in wanted:
        having = sum(1 for count in counts if term in count)
        weights[term] = log1p((len(counts) - having + 0.5) / (having + 0.5))
    matches = []
    for record, count, length in zip(records, counts, lengths, strict=True):
        saturation = K1 * (1 - B + B * length / average)
        score = 0.0
        for term in sorted(wanted & count.keys()):
            score += weights[term] * (K1 + 1) * count[term] / (count[term] + saturation)
        if score:
            matches.append(Match(record, score))
    return sorted(matches, key=lambda match: (-match.score, match.record.id))
