"""BM25 over ranges of the lines of several documents, and the index that it reads."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...store.indexes.arrays import GrowingArray, Ids
from ...store.specs import K1, B
from ...text.analysis import IS_CJK, terms, terms_of_word, words
from ...text.sentences import marked_ends

Scores = NDArray[np.float64]

_VARIANT = 0.4  # what a variant of a term counts, of what the term itself does
_PAIR = 0.5  # weight of two terms in a row, of the weight of one term
Pair = tuple[str, str]

_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」|『([^』]+)』')
# "Governing Law: Which state's law applies?"
_LABEL = re.compile(r"\s*([^:：.?!。？！]{2,80})[:：]\s*(?=\S)")

_EMPHASIS = 3.0  # weight of a term that is quoted, or stands before a colon
_AROUND_QUOTED = 0.5  # of the others in a sentence with a quotation: they speak of what is quoted
Positions = NDArray[np.int32]
_BATCH = 10_000  # lines read at a time
_PREFIX = 5  # letters that a variant of a term has in common with it, at least
_SHARE = 0.6  # of the longer of the two, at least


class TermScorer:
    """BM25 over ranges of lines, with the statistics of all documents, so that scores compare.

    The positions of the documents' terms are numbered through, one document after the other.
    """

    def __init__(self, indexes: Sequence[LineIndex]) -> None:
        self._indexes = tuple(indexes)
        # of each document, the position of its first term; the last is how many terms there are
        self._offsets = np.cumsum([0, *(index.starts[-1] for index in indexes)])

    def starts_of(self, document: int) -> Ids:
        """Of each line of a document, given by its number, the position of its first term."""
        starts: Ids = self._indexes[document].starts[:-1] + self._offsets[document]
        return starts

    @property
    def starts(self) -> Ids:
        """Of each line of all documents, the position of its first term."""
        return np.concatenate(list(map(self.starts_of, range(len(self._indexes)))))

    def score(self, question: QuestionTerms, starts: Ids) -> Scores:
        """The BM25 of ranges of positions; each ends where the next one starts."""
        scores = np.zeros(len(starts))
        lengths = np.diff(starts, append=self._offsets[-1])
        filled = int(np.count_nonzero(lengths))
        if not filled:
            return scores
        saturation = K1 * (1 - B + B * lengths * (filled / lengths.sum()))
        for positions, counts, weight in self._wanted(question):
            having, found = _count(
                np.searchsorted(starts, positions, "right") - 1, counts, len(starts)
            )
            idf = np.log1p((filled - len(having) + 0.5) / (len(having) + 0.5))
            scores[having] += weight * idf * (K1 + 1) * found / (found + saturation[having])
        return scores

    def positions(self, term: str) -> Positions:
        """List the positions of a term, ascending."""
        parts = zip(self._indexes, self._offsets[:-1], strict=True)
        return np.concatenate([index.positions(term) + np.int32(offset) for index, offset in parts])

    def positions_in_a_row(self, terms: Sequence[str]) -> Positions:
        """List the positions where the first of these terms is followed by the others."""
        found = self.positions(terms[0])
        for distance, term in enumerate(terms[1:], 1):
            found = np.intersect1d(found, self.positions(term) - distance, assume_unique=True)
        return found

    def _wanted(self, question: QuestionTerms) -> Iterator[tuple[Positions, Scores | None, float]]:
        """Yield for each term or pair its positions, what each counts, and the weight."""
        for term, weight in question.terms.items():
            exact = self.positions(term)
            variants = {other for index in self._indexes for other in index.variants(term)}
            positions = np.concatenate([exact, *map(self.positions, sorted(variants))])
            counts = np.full(len(positions), _VARIANT)
            counts[: len(exact)] = 1.0
            yield positions, counts, weight
        for pair, weight in question.pairs.items():
            yield self.positions_in_a_row(pair), None, weight * _PAIR


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
        yield _QUOTED.sub(" ", sentence), _AROUND_QUOTED if phrases else 1.0


def quoted(text: str) -> list[str]:
    found = (next(filter(None, match.groups())).strip() for match in _QUOTED.finditer(text))
    return [phrase for phrase in found if phrase]


class LineIndex:
    """Where each term stands in the lines of a document.

    The terms of all lines, as `text.analysis.terms` gives them, are numbered through from 0, so
    that any range of lines is a range of positions.

    >>> index = LineIndex(["The lease begins in May.", "", "Leases end in December."])
    >>> index.starts.tolist(), index.positions("leas").tolist(), index.positions("may").tolist()
    ([0, 3, 3, 6], [0, 3], [2])
    """

    def __init__(self, texts: Sequence[str]) -> None:
        codes = _TermNumbers()
        numbers = GrowingArray("<i4")
        starts = GrowingArray("<i8")
        starts.append(np.zeros(1, np.int64))
        for first in range(0, len(texts), _BATCH):
            batch = texts[first : first + _BATCH]
            coded = [b"".join(map(codes.__getitem__, words(text))) for text in batch]
            lengths = np.fromiter(map(len, coded), np.int64, len(coded)) // 4
            starts.append(np.cumsum(lengths) + len(numbers))
            numbers.append(np.frombuffer(b"".join(coded), "<i4"))
        # of each line, the position of its first term; behind the last, how many terms there are
        self.starts: Ids = starts.view()
        self._numbers = codes.numbers
        by_term = numbers.view().astype(np.int64) << 32
        by_term |= np.arange(len(by_term))
        by_term.sort()
        self._positions: Positions = by_term.astype(np.int32)
        self._firsts = np.searchsorted(by_term, np.arange(len(self._numbers) + 1) << 32)

    def positions(self, term: str) -> Positions:
        """List the positions of a term, ascending."""
        number = self._numbers.get(term)
        if number is None:
            return np.empty(0, np.int32)
        return self._positions[self._firsts[number] : self._firsts[number + 1]]

    def variants(self, term: str) -> list[str]:
        """List other terms that begin like this one and are not much longer: "licensee" of
        "license". Of one CJK character, the pairs that have it."""
        if len(term) == 1 and IS_CJK.match(term):
            return [other for other in self._sorted if len(other) == 2 and term in other]
        if len(term) < _PREFIX or term.isdigit() or IS_CJK.match(term):
            return []
        found = []
        for at in range(bisect_left(self._sorted, term[:_PREFIX]), len(self._sorted)):
            other = self._sorted[at]
            if not other.startswith(term[:_PREFIX]):
                break
            least = max(_PREFIX, _SHARE * max(len(term), len(other)))
            if other != term and _common_length(term, other) >= least:
                found.append(other)
        return found

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._numbers)


class _TermNumbers(dict[str | bytes, bytes]):
    """The numbers of the terms of each word, 4 bytes each, in the order in which terms are met."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __missing__(self, word: str | bytes) -> bytes:
        numbers = [self.numbers.setdefault(term, len(self.numbers)) for term in terms_of_word(word)]
        codes = np.array(numbers, "<i4").tobytes()
        self[word] = codes
        return codes


def _common_length(one: str, other: str) -> int:
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))
