"""Shown words: where each word of the lines that were shown stands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ..store.indexes.arrays import Ids

__all__ = ["ShownWords", "WordRun", "WordSpan"]

_Places = NDArray[np.int32]

_RARE = 8  # words of a quote by which lines that are like it are found
_MOST_PLACES = 1_000  # of one of these words that are looked at
_CANDIDATES = 4  # lines that are like a quote


class WordSpan(Struct, frozen=True, gc=False):
    """Lines with consecutive words in them."""

    document: str
    first: int  # lines, from 1, both included
    last: int
    start: int  # the first of the words, counted from 0 in line `first`
    words: int


class WordRun(Struct, frozen=True):
    """The words of consecutive lines."""

    document: str
    first: int  # line
    words: Sequence[str]
    ends: Sequence[int]  # of each line: how many words there are up to its end

    @property
    def joined(self) -> str:
        """The words with a blank before and behind each."""
        return f" {' '.join(self.words)} "

    def span(self, start: int, count: int) -> WordSpan:
        """Locate so many of its words."""
        line = bisect_right(self.ends, start)
        return WordSpan(
            document=self.document,
            first=self.first + line,
            last=self.first + bisect_right(self.ends, start + count - 1),
            start=start - (self.ends[line - 1] if line else 0),
            words=count,
        )

    def around(self, line: int, margin: int) -> WordRun:
        """The words of a line, counted from 0 in this run, and of so many lines on each side."""
        first, end = max(line - margin, 0), line + margin + 1
        before = self.ends[first - 1] if first else 0
        ends = [count - before for count in self.ends[first:end]]
        words = self.words[before : before + ends[-1]]
        return WordRun(self.document, self.first + first, words, ends)


class ShownWords:
    """Where each word of some runs stands.

    The words of all runs are counted through from 0, with a place between two runs that no word
    has: so nothing is found that goes from one into another.
    """

    def __init__(self, runs: Sequence[WordRun]) -> None:
        self._runs = tuple(runs)
        self._numbers: dict[str, int] = {}
        number = self._numbers.setdefault
        words: list[int] = []
        counts: list[int] = []
        for run in runs:
            words += [number(word, len(self._numbers)) for word in run.words]
            words.append(-1)
            counts += [end - begin for begin, end in pairwise([0, *run.ends])]
            counts[-1] += 1
        self._words = np.array(words, np.int32)
        # of each place, the line that it is in; lines are counted through, too
        self._lines = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        self._starts = _begins([len(run.words) + 1 for run in runs])
        self._first_lines = _begins([len(run.ends) for run in runs])
        self._by_word = np.argsort(self._words, kind="stable").astype(np.int32)
        numbers = np.arange(len(self._numbers) + 1)
        self._firsts = np.searchsorted(self._words[self._by_word], numbers)

    def find(
        self, parts: Sequence[Sequence[str]], document: str, line: int, *, farthest: int
    ) -> WordSpan | None:
        """Find where parts of a quote follow each other, nearest to a line of a document.

        Args:
            farthest: how many words there may be between two parts.
        """
        starts = self._places_of(parts[0])
        ends = starts + len(parts[0])
        for part in parts[1:]:
            if not len(starts):
                return None
            begins = self._places_of(part)
            after = np.searchsorted(begins, ends)
            # behind the last one there is none
            begins = np.append(begins, np.int32(len(self._words) + farthest))[after]
            fits = (begins - ends <= farthest) & (self._run_at(begins) == self._run_at(starts))
            starts, ends = starts[fits], begins[fits] + len(part)
        if not len(starts):
            return None
        runs = self._run_at(starts)

        def distance(at: int) -> tuple[bool, int]:
            run = self._runs[at]
            return run.document != document, abs(run.first - line)

        nearest: int = min(dict.fromkeys(runs.tolist()), key=distance)
        at = int(np.searchsorted(runs, nearest))
        start, end = int(starts[at]), int(ends[at])
        return self._runs[nearest].span(start - int(self._starts[nearest]), end - start)

    def likely(self, parts: Sequence[Sequence[str]]) -> Iterator[WordRun]:
        """Yield lines that have half of the words of a quote or more, with those around them: those
        that have most of its rarest words."""
        wanted = {word for part in parts for word in part}
        # a quote of many words goes over several lines
        margin = 1 + sum(map(len, parts)) // 8
        for line in self._with_rarest(wanted):
            at = int(np.searchsorted(self._first_lines, line, "right")) - 1
            run = self._runs[at].around(line - int(self._first_lines[at]), margin)
            if 2 * len(wanted.intersection(run.words)) >= len(wanted):
                yield run

    def _with_rarest(self, words: Iterable[str]) -> list[int]:
        """List the lines that have most of the rarest of these words, by their numbers."""
        found = [places for places in map(self._postings, words) if len(places)]
        rarest = sorted(found, key=lambda places: (len(places), int(places[0])))[:_RARE]
        if not rarest:
            return []
        having = []
        for places in rarest:
            lines = self._lines[places[:_MOST_PLACES]]
            having.append(lines[np.diff(lines, prepend=-1) > 0])
        rarity = [np.log(len(self._words) / len(places)) for places in rarest]
        weights = np.repeat(rarity, list(map(len, having)))
        lines, at = np.unique(np.concatenate(having), return_inverse=True)
        best = np.argsort(-np.bincount(at, weights), kind="stable")[:_CANDIDATES]
        chosen: list[int] = lines[best].tolist()
        return chosen

    def _places_of(self, part: Sequence[str]) -> _Places:
        """The places where these words follow each other, ascending."""
        numbers = [self._numbers.get(word, -1) for word in part]
        if -1 in numbers:
            return np.empty(0, np.int32)
        by_count = sorted(enumerate(numbers), key=lambda one: self._count(one[1]))
        distance, rarest = by_count[0]
        places = self._by_word[self._firsts[rarest] : self._firsts[rarest + 1]] - distance
        places = places[(places >= 0) & (places + len(part) <= len(self._words))]
        for distance, number in by_count[1:]:
            places = places[self._words[places + distance] == number]
        return places

    def _postings(self, word: str) -> _Places:
        """The places of a word, ascending."""
        number = self._numbers.get(word)
        if number is None:
            return np.empty(0, np.int32)
        return self._by_word[self._firsts[number] : self._firsts[number + 1]]

    def _count(self, number: int) -> int:
        return int(self._firsts[number + 1] - self._firsts[number])

    def _run_at(self, places: _Places) -> Ids:
        """The numbers of the runs that places are in."""
        return np.searchsorted(self._starts, places, "right") - 1


def _begins(counts: Sequence[int]) -> Ids:
    """Where each of several rows begins that follow each other, given how long they are."""
    ends = np.cumsum(np.array(counts, np.int64))
    return ends - counts if counts else ends
