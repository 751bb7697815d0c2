"""The line index: where each term stands in the lines of a document."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...store.indexes.arrays import GrowingArray, Ids
from ...text.analysis import IS_CJK, terms_of_word, words

Places = NDArray[np.int32]

_BATCH = 10_000  # lines read at a time
_PREFIX = 5  # letters that a variant of a term has in common with it, at least
_SHARE = 0.6  # of the longer of the two, at least


class LineIndex:
    """Where each term stands in the lines of a document.

    The terms of all lines, as `text.analysis.terms` gives them, are counted through from 0: the
    place of a term is its number in that count. So terms that follow each other have places that
    follow each other, and any range of lines is a range of places.

    >>> index = LineIndex(["The lease begins in May.", "", "Leases end in December."])
    >>> index.starts.tolist(), index.places("leas").tolist(), index.places("may").tolist()
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
        # of each line, the place of its first term; behind the last, how many terms there are
        self.starts: Ids = starts.view()
        self._numbers = codes.numbers
        by_term = numbers.view().astype(np.int64) << 32
        by_term |= np.arange(len(by_term))
        by_term.sort()
        self._places: Places = by_term.astype(np.int32)
        self._firsts = np.searchsorted(by_term, np.arange(len(self._numbers) + 1) << 32)

    def places(self, term: str) -> Places:
        """List the places of a term, ascending."""
        number = self._numbers.get(term)
        if number is None:
            return np.empty(0, np.int32)
        return self._places[self._firsts[number] : self._firsts[number + 1]]

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
    """The numbers of the terms of each word, 4 bytes each; they are given as terms are met."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __missing__(self, word: str | bytes) -> bytes:
        numbers = [self.numbers.setdefault(term, len(self.numbers)) for term in terms_of_word(word)]
        codes = np.array(numbers, "<i4").tobytes()
        self[word] = codes
        return codes


def _common_length(one: str, other: str) -> int:
    """Count the letters that two words begin with together."""
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))
