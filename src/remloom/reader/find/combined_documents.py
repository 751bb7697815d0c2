"""Documents searched together: their lines, paragraphs and sections, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...store.indexes.arrays import Ids
from ..lines.line_index import LineIndex
from ..lines.lines import Lines
from .term_scorer import TermScorer

_Flags = NDArray[np.bool_]

_LONG = 30  # words at which a paragraph of several lines is cut
_WIDE = 300  # words of the passages around paragraphs


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
        self.terms = TermScorer(indexes)

    @cached_property
    def titles(self) -> TermScorer:
        """The headings that each section stands under, a section as a line."""
        return TermScorer(
            [LineIndex([one.path for one in lines.sections]) for lines in self.documents]
        )

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

    @cached_property
    def sections(self) -> Ids:
        """For each paragraph, the number of the section that it is in; -1 above the first."""
        spans = self.paragraphs
        numbers = np.full(len(spans), -1)
        count = 0
        for number, lines in enumerate(self.documents):
            own = spans.of(number)
            firsts = [section.first for section in lines.sections]
            at = np.searchsorted(firsts, spans.firsts[own], "right") - 1
            numbers[own] = np.where(at < 0, -1, at + count)
            count += len(firsts)
        return numbers

    def _spans(self, begin: Callable[[Ids], _Flags]) -> Spans:
        """Make spans of each document, given which lines begin one by how many words each has."""
        parts = []
        for number, lines in enumerate(self.documents):
            words = lines.word_counts.astype(np.int64)
            filled = np.flatnonzero(words)
            firsts = np.flatnonzero(begin(words))
            ends = np.searchsorted(filled, np.append(firsts[1:], len(words)))
            lasts = filled[ends[: len(firsts)] - 1]
            read = np.append(0, np.cumsum(words))
            of = np.full(len(firsts), number)
            starts = self.terms.starts_of(number)[firsts]
            parts.append((of, firsts + 1, lasts + 1, starts, read[lasts + 1] - read[firsts]))
        return Spans(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _begin_paragraphs(words: Ids) -> _Flags:
    """Tell which lines begin a paragraph, or a piece of a long one."""
    filled = words > 0
    begins: _Flags = filled & ~np.append(False, filled[:-1])
    firsts = np.flatnonzero(begins)
    if not len(firsts):
        return begins
    before = np.cumsum(words) - words
    paragraph = np.maximum(np.cumsum(begins) - 1, 0)
    piece = (before - before[firsts][paragraph]) // _LONG
    cut: _Flags = np.diff(piece, prepend=0) > 0
    return begins | (filled & cut)
