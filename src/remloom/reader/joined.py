"""Documents searched together: BM25 over ranges of their lines, with statistics of them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ..store.indexes.arrays import Ids
from ..store.indexes.postings import K1, B
from ..text.sentences import count_words
from .line_index import LineIndex, Places
from .lines import Lines
from .question_terms import QuestionTerms

__all__ = ["Flags", "JoinedLines", "Scores", "Spans"]

Flags = NDArray[np.bool_]
Scores = NDArray[np.float64]

_LONG = 30  # words at which a paragraph of several lines is cut
_WIDE = 300  # words of the passages around paragraphs
_VARIANT = 0.4  # what a variant of a term counts, of what the term itself does
_PAIR = 0.5  # weight of two terms in a row, of the weight of one term


class Spans(Struct, frozen=True):
    """Ranges of lines that follow each other, of one document after the other."""

    documents: Ids  # the number of the document that each is of
    firsts: Ids  # lines in the document, from 1, both included
    lasts: Ids
    starts: Ids  # the place of its first term; it ends where the next one starts
    words: Ids

    def __len__(self) -> int:
        return len(self.firsts)

    def of(self, document: int) -> slice:
        """Which of them are of a document."""
        first, end = np.searchsorted(self.documents, [document, document + 1])
        return slice(int(first), int(end))


class JoinedLines:
    """The lines of several documents, one after the other, so that their scores compare."""

    def __init__(self, documents: Sequence[Lines], indexes: Sequence[LineIndex]) -> None:
        self.documents = tuple(documents)
        self._indexes = tuple(indexes)
        # of each document, the place of its first term; the last is how many terms there are
        self._offsets = np.cumsum([0, *(index.starts[-1] for index in indexes)])

    @cached_property
    def lines(self) -> Spans:
        """Each line that is not blank."""
        return self._spans(lambda words: words > 0)

    @cached_property
    def paragraphs(self) -> Spans:
        """The lines between blank ones, cut where there are many. Blank lines are in none."""
        return self._spans(_begin_paragraphs)

    @cached_property
    def wide(self) -> Ids:
        """For each paragraph, the number of the wider passage that it is in."""
        spans = self.paragraphs
        before = np.cumsum(spans.words) - spans.words
        changes = np.diff(before // _WIDE, prepend=0) != 0
        changes |= np.diff(spans.documents, prepend=0) != 0
        return np.cumsum(changes)

    def score(self, question: QuestionTerms, starts: Ids) -> Scores:
        """Compute the BM25 of ranges of places, given where each starts, ascending."""
        scores = np.zeros(len(starts))
        lengths = np.diff(starts, append=self._offsets[-1])
        filled = int(np.count_nonzero(lengths))
        if not filled:
            return scores
        saturation = K1 * (1 - B + B * lengths * (filled / lengths.sum()))
        for places, counts, weight in self._wanted(question):
            at = np.searchsorted(starts, places, "right") - 1
            counted = np.bincount(at, counts, len(starts))
            having = np.flatnonzero(counted)
            idf = np.log1p((filled - len(having) + 0.5) / (len(having) + 0.5))
            found = counted[having]
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

    def _spans(self, begin: Callable[[Ids], Flags]) -> Spans:
        """Make spans of each document, given which lines begin one by how many words each has."""
        parts = []
        for number, (lines, index) in enumerate(zip(self.documents, self._indexes, strict=True)):
            words = np.fromiter(map(count_words, lines.texts), np.int64, len(lines.texts))
            filled = np.flatnonzero(words)
            firsts = np.flatnonzero(begin(words))
            ends = np.searchsorted(filled, np.append(firsts[1:], len(words)))
            lasts = filled[ends[: len(firsts)] - 1]
            read = np.append(0, np.cumsum(words))
            of = np.full(len(firsts), number)
            starts = index.starts[firsts] + self._offsets[number]
            parts.append((of, firsts + 1, lasts + 1, starts, read[lasts + 1] - read[firsts]))
        return Spans(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _begin_paragraphs(words: Ids) -> Flags:
    """Tell which lines begin a paragraph, or a piece of a long one."""
    filled = words > 0
    begins: Flags = filled & ~np.append(False, filled[:-1])
    firsts = np.flatnonzero(begins)
    if not len(firsts):
        return begins
    before = np.cumsum(words) - words
    paragraph = np.maximum(np.cumsum(begins) - 1, 0)
    piece = (before - before[firsts][paragraph]) // _LONG
    cut: Flags = np.diff(piece, prepend=0) > 0
    return begins | (filled & cut)
