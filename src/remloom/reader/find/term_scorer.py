"""The term scorer: BM25 over ranges of the lines of several documents."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...store.indexes.arrays import Ids
from ...store.indexes.postings import K1, B
from ...text.analysis import terms
from ...text.sentences import marked_ends
from ..lines.line_index import LineIndex, Places

Scores = NDArray[np.float64]

_VARIANT = 0.4  # what a variant of a term counts, of what the term itself does
_PAIR = 0.5  # weight of two terms in a row, of the weight of one term


Pair = tuple[str, str]

_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』')
# "Governing Law: Which state's law applies?"
_LABEL = re.compile(r"\s*([^:：.?!。？！]{2,80})[:：]\s*(?=\S)")

_EMPHASIS = 3.0  # weight of a term that is quoted, or stands before a colon
_BESIDE_QUOTED = 0.5  # of the others in a sentence with a quotation: they speak of what is quoted


class TermScorer:
    """BM25 over ranges of lines, with the statistics of all documents, so that scores compare.

    The places of the documents' terms are counted through, one document after the other.
    """

    def __init__(self, indexes: Sequence[LineIndex]) -> None:
        self._indexes = tuple(indexes)
        # of each document, the place of its first term; the last is how many terms there are
        self._offsets = np.cumsum([0, *(index.starts[-1] for index in indexes)])

    def starts_of(self, document: int) -> Ids:
        """Of each line of a document, given by its number, the place of its first term."""
        starts: Ids = self._indexes[document].starts[:-1] + self._offsets[document]
        return starts

    @property
    def starts(self) -> Ids:
        """Of each line of all documents, the place of its first term."""
        return np.concatenate(list(map(self.starts_of, range(len(self._indexes)))))

    def score(self, question: QuestionTerms, starts: Ids) -> Scores:
        """Compute the BM25 of ranges of places, given where each starts, ascending; each ends where
        the next one starts."""
        scores = np.zeros(len(starts))
        lengths = np.diff(starts, append=self._offsets[-1])
        filled = int(np.count_nonzero(lengths))
        if not filled:
            return scores
        saturation = K1 * (1 - B + B * lengths * (filled / lengths.sum()))
        for places, counts, weight in self._wanted(question):
            having, found = _count(
                np.searchsorted(starts, places, "right") - 1, counts, len(starts)
            )
            idf = np.log1p((filled - len(having) + 0.5) / (len(having) + 0.5))
            scores[having] += weight * idf * (K1 + 1) * found / (found + saturation[having])
        return scores

    def places(self, term: str) -> Places:
        """List the places of a term, ascending."""
        parts = zip(self._indexes, self._offsets[:-1], strict=True)
        return np.concatenate([index.places(term) + np.int32(offset) for index, offset in parts])

    def places_in_a_row(self, terms: Sequence[str]) -> Places:
        """List the places where the first of these terms is followed by the others."""
        found = self.places(terms[0])
        for distance, term in enumerate(terms[1:], 1):
            found = np.intersect1d(found, self.places(term) - distance, assume_unique=True)
        return found

    def _wanted(self, question: QuestionTerms) -> Iterator[tuple[Places, Scores | None, float]]:
        """Yield for each term or pair its places, what each counts, and the weight."""
        for term, weight in question.terms.items():
            exact = self.places(term)
            variants = {other for index in self._indexes for other in index.variants(term)}
            places = np.concatenate([exact, *map(self.places, sorted(variants))])
            counts = np.full(len(places), _VARIANT)
            counts[: len(exact)] = 1.0
            yield places, counts, weight
        for pair, weight in question.pairs.items():
            yield self.places_in_a_row(pair), None, weight * _PAIR


def _count(at: Ids, counts: Scores | None, size: int) -> tuple[Ids, Scores]:
    """Add up counts by where they are: the ranges, of so many, that have any, and their sums."""
    # to sort a few is quicker than to look through all ranges
    if len(at) < size // 64:
        having, at = np.unique(at, return_inverse=True)
        return having, np.bincount(at, counts).astype(np.float64)
    sums: Scores = np.bincount(at, counts, size).astype(np.float64, copy=False)
    having = np.flatnonzero(sums)
    return having, sums[having]


class QuestionTerms(Struct, frozen=True):
    """What is looked for: terms, and pairs of terms that follow each other, with their weights."""

    terms: dict[str, float]
    pairs: dict[Pair, float]


def read_question(question: str) -> QuestionTerms:
    """Weigh the terms of a question: what it quotes, or has before a colon, is what it is about.

    >>> read_question('Lease: when does it end?').terms
    {'leas': 3.0, 'end': 1.0}
    """
    weights: dict[str, float] = defaultdict(float)
    pairs: dict[Pair, float] = defaultdict(float)
    for text, weight in _weighed(question):
        found = terms(text)
        for term in dict.fromkeys(found):
            weights[term] += weight
        for pair in dict.fromkeys(pairwise(found)):
            pairs[pair] += weight
    return QuestionTerms(dict(weights), dict(pairs))


def _weighed(question: str) -> Iterator[tuple[str, float]]:
    """Yield the parts of a question, each with the weight of its terms."""
    label = _LABEL.match(question)
    if label:
        yield label[1], _EMPHASIS
        question = question[label.end() :]
    ends = marked_ends(question)
    for first, end in pairwise([0, *ends, len(question)]):
        sentence = question[first:end]
        phrases = quoted(sentence)
        for phrase in phrases:
            yield phrase, _EMPHASIS
        yield _QUOTED.sub(" ", sentence), _BESIDE_QUOTED if phrases else 1.0


def quoted(text: str) -> list[str]:
    """List what stands in quotation marks."""
    found = (next(filter(None, match.groups())).strip() for match in _QUOTED.finditer(text))
    return [phrase for phrase in found if phrase]
