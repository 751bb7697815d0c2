"""Selection: which paragraphs are read within a number of words, and in what order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct

from ...store.indexes.arrays import Ids
from .combined_documents import JoinedLines
from .term_scorer import Scores

_LEAST_PART = 250  # words of the first part
_SPARE = 2_000  # paragraphs that may be too long for what is left


class LineRange(Struct, frozen=True):
    """Lines of a document that are read together."""

    document: int  # its number
    first: int  # lines, from 1, both included
    last: int
    score: float  # of the best paragraph in it


def select(joined: JoinedLines, scores: Scores, words: int) -> list[LineRange]:
    """Select what to read in at most so many words, the most promising first.

    While there is room when nothing with a score is left, what was selected is widened. What stands
    side by side is read together, unless one is in the first half of what is read and the other is
    not: who stops there has read the best of that length.
    """
    spans = joined.paragraphs
    selected: list[LineRange] = []
    read: set[int] = set()
    for part in _choose(joined, scores, words):
        for paragraphs in _side_by_side(part, spans.documents):
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
    """List the places of so many of the highest scores; of equal ones, the first comes first."""
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
    chosen += _beside(joined, chosen, left)
    return _halves(chosen, counts, words)


def _halves(chosen: Sequence[int], counts: Ids, words: int) -> list[list[int]]:
    """Part what was chosen at half of the words, the first half again at its half, and so on."""
    read = np.cumsum(counts[list(chosen)])
    ends = [len(chosen)]
    while words >= 2 * _LEAST_PART:
        words //= 2
        ends.append(int(np.searchsorted(read, words, "right")))
    ends = sorted({0, *ends})
    return [list(chosen[first:end]) for first, end in pairwise(ends)]


def _beside(joined: JoinedLines, chosen: Sequence[int], words: int) -> list[int]:
    """Choose paragraphs beside those that were chosen, nearest first, of at most so many words."""
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


def _side_by_side(part: Sequence[int], documents: Ids) -> Iterator[list[int]]:
    """Yield runs of paragraphs that follow each other, in the order of the best of each."""
    rank = {at: number for number, at in enumerate(part)}
    runs: list[list[int]] = []
    for at in sorted(part):
        if runs and runs[-1][-1] == at - 1 and documents[at] == documents[at - 1]:
            runs[-1].append(at)
        else:
            runs.append([at])
    yield from sorted(runs, key=lambda run: min(map(rank.__getitem__, run)))
