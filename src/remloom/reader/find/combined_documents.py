"""Documents searched together: their lines, paragraphs and sections, one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...store.indexes.arrays import Ids
from ..lines.lines import Lines
from .term_scorer import LineIndex, Scores, TermScorer

_Flags = NDArray[np.bool_]

_LONG = 30  # words at which a paragraph of several lines is cut
_WIDE = 300  # words of the passages around paragraphs
_LEAST_PART = 250  # words of the first part
_SPARE = 2_000  # paragraphs that may be too long for what is left


class Spans(Struct, frozen=True):
    """Ranges of lines that follow each other, of one document after the other."""

    documents: Ids  # the number of the document that each is of
    firsts: Ids  # lines in the document, from 1, both included
    lasts: Ids
    starts: Ids  # the position of its first term; it ends where the next one starts
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


class LineRange(Struct, frozen=True):
    """Lines of a document that are read together."""

    document: int  # its number
    first: int  # lines, from 1, both included
    last: int
    score: float  # of the best paragraph in it


def select(joined: JoinedLines, scores: Scores, words: int) -> list[LineRange]:
    """Select what to read in at most so many words, the most promising first.

    What is left is filled with neighbours. Adjacent paragraphs become one range, but not over the
    half of what is read: who stops there has read the best of that length.
    """
    spans = joined.paragraphs
    selected: list[LineRange] = []
    read: set[int] = set()
    for part in _choose(joined, scores, words):
        for paragraphs in _consecutive(part, spans.documents):
            first, last = paragraphs[0], paragraphs[-1]
            # blank lines between this and what was read before
            after = first - 1 in read and spans.documents[first - 1] == spans.documents[first]
            before = last + 1 in read and spans.documents[last + 1] == spans.documents[last]
            selected.append(
                LineRange(
                    document=int(spans.documents[first]),
                    first=int(spans.lasts[first - 1] + 1 if after else spans.firsts[first]),
                    last=int(spans.firsts[last + 1] - 1 if before else spans.lasts[last]),
                    score=float(scores[first : last + 1].max()),
                )
            )
            read.update(paragraphs)
    return selected


def best_first(scores: Scores, count: int) -> Ids:
    """The positions of so many of the highest scores; of equal ones, the first comes first."""
    count = min(len(scores), count)
    if not count:
        return np.empty(0, np.int64)
    best = np.argpartition(-scores, count - 1)[:count]
    order: Ids = best[np.lexsort((best, -scores[best]))]
    return order


def _choose(joined: JoinedLines, scores: Scores, words: int) -> list[list[int]]:
    """Choose paragraphs of at most so many words: parts, each with the best first."""
    counts = joined.paragraphs.words
    # a paragraph has a word at least
    best = [at for at in best_first(scores, words + _SPARE).tolist() if scores[at] > 0]
    chosen: list[int] = []
    left = words
    for at in best:
        if counts[at] <= left:
            chosen.append(at)
            left -= int(counts[at])
    chosen += _neighbours(joined, chosen, left)
    return _halves(chosen, counts, words)


def _halves(chosen: Sequence[int], counts: Ids, words: int) -> list[list[int]]:
    """Cut what was chosen at half of the words, the first half again at its half, and so on."""
    read = np.cumsum(counts[list(chosen)])
    ends = [len(chosen)]
    while words >= 2 * _LEAST_PART:
        words //= 2
        ends.append(int(np.searchsorted(read, words, "right")))
    ends = sorted({0, *ends})
    return [list(chosen[first:end]) for first, end in pairwise(ends)]


def _neighbours(joined: JoinedLines, chosen: Sequence[int], words: int) -> list[int]:
    """Choose neighbours of chosen paragraphs, nearest first, of at most so many words."""
    counts = joined.paragraphs.words
    documents = joined.paragraphs.documents
    waiting = deque(chosen)
    seen = set(chosen)
    added: list[int] = []
    while waiting and words > 0:
        at = waiting.popleft()
        for neighbour in (at + 1, at - 1):
            if not 0 <= neighbour < len(counts) or neighbour in seen:
                continue
            if documents[neighbour] == documents[at] and counts[neighbour] <= words:
                seen.add(neighbour)
                added.append(neighbour)
                waiting.append(neighbour)
                words -= int(counts[neighbour])
    return added


def _consecutive(part: Sequence[int], documents: Ids) -> Iterator[list[int]]:
    """Yield runs of paragraphs that follow each other, in the order of the best of each."""
    rank = {at: number for number, at in enumerate(part)}
    runs: list[list[int]] = []
    for at in sorted(part):
        if runs and runs[-1][-1] == at - 1 and documents[at] == documents[at - 1]:
            runs[-1].append(at)
        else:
            runs.append([at])
    yield from sorted(runs, key=lambda run: min(map(rank.__getitem__, run)))
