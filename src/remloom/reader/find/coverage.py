"""Coverage: which lines of a document were read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator


class Coverage:
    """The lines of one document that were read, as ranges that neither touch nor overlap.

    >>> coverage = Coverage([(1, 3), (4, 6), (9, 9)])
    >>> list(coverage), len(coverage), 5 in coverage
    ([(1, 6), (9, 9)], 7, True)
    """

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in ranges:
            self.add(first, last)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(zip(self._firsts, self._lasts, strict=True))

    def __len__(self) -> int:
        """How many lines were read."""
        return sum(last - first + 1 for first, last in self)

    def __contains__(self, line: int) -> bool:
        at = bisect_right(self._firsts, line) - 1
        return at >= 0 and line <= self._lasts[at]

    def add(self, first: int, last: int) -> None:
        """Note that these lines, both included, were read."""
        if first > last:
            return
        # ranges that overlap the new one, or touch it, become one with it
        start = bisect_left(self._lasts, first - 1)
        end = bisect_right(self._firsts, last + 1)
        if start < end:
            first = min(first, self._firsts[start])
            last = max(last, self._lasts[end - 1])
        self._firsts[start:end] = [first]
        self._lasts[start:end] = [last]

    def covers(self, first: int, last: int) -> bool:
        """Whether all of these lines were read."""
        at = bisect_right(self._firsts, first) - 1
        return at >= 0 and last <= self._lasts[at]

    def unread(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges within these lines that were not read."""
        at = first
        for begin, end in self:
            if end < at:
                continue
            if begin > last:
                break
            if begin > at:
                yield at, begin - 1
            at = end + 1
        if at <= last:
            yield at, last
