"""Shown words: where each word of the lines that were shown stands."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from math import log

from msgspec import Struct

_RARE = 8  # words of a quote by which lines that are like it are found
_MOST_LINES = 1_000  # with one of these words that are looked at
_CANDIDATES = 4  # lines that are like a quote


class WordSpan(Struct, frozen=True, gc=False):
    """Lines with consecutive words in them."""

    document: str
    first: int  # lines, from 1, both included
    last: int
    start: int  # the first of the words, counted from 0 in line `first`
    words: int


class WordRun(Struct, frozen=True, dict=True):
    """The words of consecutive lines."""

    document: str
    first: int  # line
    words: Sequence[str]
    ends: Sequence[int]  # of each line: how many words there are up to its end

    @cached_property
    def joined(self) -> str:
        """The words with a blank before and behind each."""
        return f" {' '.join(self.words)} "

    def word_at(self, offset: int) -> int:
        """The number of the word, from 0, that begins or is at an offset of the joined words."""
        return bisect_right(self._starts, offset) - 1

    @cached_property
    def _starts(self) -> list[int]:
        """Where each of the joined words begins, with the blank before it, and where they end."""
        return list(accumulate((len(word) + 1 for word in self.words), initial=0))

    def find(self, parts: Sequence[Sequence[str]], *, farthest: int) -> WordSpan | None:
        """Find where parts of a quote follow each other.

        Args:
            farthest: how many words there may be between two parts.
        """
        texts = [f" {' '.join(part)} " for part in parts]
        # where each part was last found; none is looked for twice in the same words
        found = [-1] * len(texts)
        while True:
            offset = found[0] + 1
            start = end = -1
            for number, (part, text) in enumerate(zip(parts, texts, strict=True)):
                if found[number] < offset:
                    found[number] = self.joined.find(text, offset)
                if found[number] < 0:
                    return None
                begin = self.word_at(found[number])
                if start < 0:
                    start = begin
                elif begin - end > farthest:
                    break
                end = begin + len(part)
                offset = found[number] + len(text) - 1
            else:
                return self.span(start, end - start)

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
    """The words of several runs. Nothing is found that goes from one into another."""

    def __init__(self, runs: Sequence[WordRun]) -> None:
        self._runs = tuple(runs)

    def find(
        self, parts: Sequence[Sequence[str]], document: str, line: int, *, farthest: int
    ) -> WordSpan | None:
        """Find where parts of a quote follow each other, nearest to a line of a document."""

        def distance(run: WordRun) -> tuple[bool, int]:
            return run.document != document, abs(run.first - line)

        found = (run.find(parts, farthest=farthest) for run in sorted(self._runs, key=distance))
        return next(filter(None, found), None)

    def likely(self, parts: Sequence[Sequence[str]]) -> Iterator[WordRun]:
        """Yield lines that have half of the words of a quote or more, with those around them: those
        that have most of its rarest words."""
        wanted = {word for part in parts for word in part}
        # a quote of many words goes over several lines
        margin = 1 + sum(map(len, parts)) // 8
        having = [self._lines[word] for word in wanted & self._lines.keys()]
        having.sort(key=lambda lines: (len(lines), lines[0]))
        weights: Counter[int] = Counter()
        for lines in having[:_RARE]:
            rarity = log(1 + self._first_lines[-1] / len(lines))
            weights.update(dict.fromkeys(lines[:_MOST_LINES], rarity))
        for line in sorted(weights, key=lambda line: (-weights[line], line))[:_CANDIDATES]:
            at = bisect_right(self._first_lines, line) - 1
            run = self._runs[at].around(line - self._first_lines[at], margin)
            if 2 * len(wanted.intersection(run.words)) >= len(wanted):
                yield run

    @cached_property
    def _first_lines(self) -> list[int]:
        """The number of the first line of each run; lines are counted through from 0."""
        return list(accumulate((len(run.ends) for run in self._runs), initial=0))

    @cached_property
    def _lines(self) -> dict[str, list[int]]:
        """The lines that each word is in, by their numbers."""
        lines: dict[str, list[int]] = {}
        for number, run in zip(self._first_lines, self._runs, strict=False):
            for line, (begin, end) in enumerate(pairwise((0, *run.ends)), number):
                for word in dict.fromkeys(run.words[begin:end]):
                    lines.setdefault(word, []).append(line)
        return lines
