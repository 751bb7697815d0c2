"""A sealed segment of the term index: for each term, the rows that have it and how often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from math import log1p
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...text.analysis import terms_of_word, words
from ..specs import K1, B
from .arrays import Array, Ids, floor_of_best, run_starts
from .segments import AllowedIds, Mask, Segment

HASH_BITS = 40

_CACHED_WORDS = 100_000
_CODE_BYTES = 8  # a hash and three zeros, so that numpy reads codes as 64-bit numbers
ROW_BITS = np.uint64(64 - HASH_BITS)
_ROW_MASK = np.uint64((1 << (64 - HASH_BITS)) - 1)
_BLOCK = 1_000_000  # postings handled at a time while sealing
_MAX_COUNT = 255  # occurrences of a term in a row that are told apart
# times as much as looking at a posting takes to look a row up among them
_PROBE = 32
# A filter that allows at most one row in so many is answered from those rows alone.
_SELECTIVE = 8

Hashes = NDArray[np.uint64]
Rows = NDArray[np.int32]
Counts = NDArray[np.uint8]
Floats = NDArray[np.float32]


def term_weight(documents: int, having: int) -> float:
    """Compute idf * (k1 + 1) of a term that so many of the documents have."""
    idf = log1p((documents - having + 0.5) / (having + 0.5))
    return idf * (K1 + 1)


def length_saturation(lengths: Floats, average: float) -> Floats:
    """Compute k1 * (1 - b + b * length / average), what BM25 adds to a count below the line."""
    slope = K1 * B / average if average else 0.0
    return np.float32(K1 * (1 - B)) + lengths * np.float32(slope)


def term_scores(counts: Array, saturation: Floats, weight: float) -> Floats:
    """Compute weight * count / (count + saturation), what one term adds to each row's score."""
    scores = counts.astype(np.float32)
    saturation = saturation + scores
    scores *= np.float32(weight)
    scores /= saturation
    return scores


class PostingRange(NamedTuple):
    """Where a segment has the postings of a term; `end` is `start` when it has none."""

    start: int
    end: int
    peak: float  # the highest count / (count + saturation) among them, at sealing


class _Postings(NamedTuple):
    rows: Rows  # ascending
    counts: Counts  # of the term in each row
    weight: float  # idf * (k1 + 1)
    bound: float  # no row scores more for this term

    def scores(self, saturation: Floats) -> Floats:
        """Score each row of this term, given the saturation of all rows of the segment."""
        return term_scores(self.counts, saturation[self.rows], self.weight)

    def add_to(
        self, scores: Floats, rows: NDArray[np.intp], chosen: Mask, saturation: Floats
    ) -> None:
        """Add what this term gives to the scores of some rows, ascending, in the scores of all;
        `chosen` says of each row of the segment whether it is one of them."""
        if len(rows) * _PROBE < len(self.rows):
            at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
            at = at[self.rows[at] == rows]
        else:
            at = np.flatnonzero(chosen[self.rows])
        hits = self.rows[at]
        scores[hits] += term_scores(self.counts[at], saturation[hits], self.weight)


class PostingsSegment(Segment):
    """Rows in the order of their ids; the postings of each term, by row."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        super().__init__(arrays)
        self.lengths: Floats = arrays["lengths"]  # terms of each row
        self.terms: Hashes = arrays["terms"]  # ascending
        # of each term's postings, and the end of the last
        self.starts: Ids = arrays["starts"]
        self.rows: Rows = arrays["rows"]
        self.counts: Counts = arrays["counts"]
        # the highest count / (count + saturation) of each term, at `average`
        self.peaks: Floats = arrays["peaks"]
        self.average = float(arrays["average"][0])
        self._total_length = float(self.lengths.sum(dtype=np.float64))
        # that of a search, and the average length with which it was computed
        self._known_saturation: tuple[float, Floats] | None = None

    @classmethod
    def seal(cls, ids: Ids, lengths: Floats, occurrences: Hashes) -> PostingsSegment:
        """Make a segment of one `term << 24 | row` for each occurrence of a term in a row; they are
        sorted in place."""
        occurrences.sort()
        rows: list[Array] = []
        counts: list[Array] = []
        terms: list[Array] = []
        starts: list[Array] = []
        low = 0
        postings = 0
        # Block by block: at 100,000 documents whole intermediate arrays would take half a gigabyte.
        while low < len(occurrences):
            # A block ends behind the last occurrence of its last term and row.
            last = occurrences[min(low + _BLOCK, len(occurrences)) - 1]
            high = int(np.searchsorted(occurrences, last, "right"))
            block = occurrences[low:high]
            firsts = run_starts(block)
            repeats = np.diff(firsts, append=len(block))
            counts.append(np.minimum(repeats, _MAX_COUNT).astype(np.uint8))
            unique = block[firsts]
            rows.append((unique & _ROW_MASK).astype(np.int32))
            unique >>= ROW_BITS
            new_terms = run_starts(unique)
            if terms and terms[-1][-1] == unique[0]:
                new_terms = new_terms[1:]  # the term goes on from the block before
            if len(new_terms):
                terms.append(unique[new_terms])
                starts.append(new_terms + postings)
            low = high
            postings += len(firsts)
        del occurrences
        return cls._with_peaks(
            ids,
            lengths,
            _concatenate(terms, np.uint64),
            np.append(_concatenate(starts, np.int64), postings),
            _concatenate(rows, np.int32),
            _concatenate(counts, np.uint8),
        )

    @classmethod
    def _with_peaks(
        cls,
        ids: Ids,
        lengths: Floats,
        terms: Hashes,
        starts: Ids,
        rows: Rows,
        counts: Counts,
    ) -> PostingsSegment:
        average = float(lengths.mean()) if len(lengths) else 0.0
        saturation = length_saturation(lengths, average)
        shares = term_scores(counts, saturation[rows], 1.0)
        peaks = np.maximum.reduceat(shares, starts[:-1]) if len(terms) else shares
        arrays: dict[str, Array] = {
            "ids": ids,
            "lengths": lengths,
            "terms": terms,
            "starts": starts,
            "rows": rows,
            "counts": counts,
            "peaks": peaks,
            "average": np.array([average]),
        }
        return cls(arrays)

    @property
    def live_count(self) -> int:
        return len(self.ids) - int(self.dead.sum()) if self.has_dead else len(self.ids)

    @property
    def live_length(self) -> float:
        if self.has_dead:
            return float(self.lengths[~self.dead].sum(dtype=np.float64))
        return self._total_length

    def occurrences(self, alive: Mask, offset: int) -> Iterator[Hashes]:
        """Yield what `seal` takes, of the live rows, which are numbered from `offset`."""
        numbers = (np.cumsum(alive) + (offset - 1)).astype(np.uint64)
        low = 0
        while low < len(self.terms):
            # At least one term, however many postings it has.
            limit = int(np.searchsorted(self.starts, self.starts[low] + _BLOCK, "right"))
            high = max(low + 1, limit - 1)
            block = slice(int(self.starts[low]), int(self.starts[high]))
            sizes = np.diff(self.starts[low : high + 1])
            keys = np.repeat(self.terms[low:high] << ROW_BITS, sizes)
            keys |= numbers[self.rows[block]]
            selected = alive[self.rows[block]]
            yield np.repeat(keys[selected], self.counts[block][selected])
            low = high

    def find(self, terms: Hashes) -> list[PostingRange]:
        """Find the postings of each of these terms."""
        if not len(self.terms):
            return [PostingRange(0, 0, 0.0)] * len(terms)
        at = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        found = self.terms[at] == terms
        starts = np.where(found, self.starts[at], 0)
        ends = np.where(found, self.starts[at + 1], 0)
        peaks = np.where(found, self.peaks[at], 0)
        return list(map(PostingRange, starts.tolist(), ends.tolist(), peaks.tolist()))

    def having_all(self, terms: Hashes) -> Ids:
        """List the ids of the live rows that have every one of these terms, ascending."""
        postings = [self.rows[start:end] for start, end, _ in self.find(terms)]
        rows, *others = sorted(postings, key=len)
        for other in others:
            if not len(rows):
                break
            at = np.minimum(np.searchsorted(other, rows), len(other) - 1)
            rows = rows[other[at] == rows]
        if self.has_dead:
            rows = rows[~self.dead[rows]]
        return self.ids[rows]

    def best(
        self,
        ranges: Sequence[PostingRange],
        weights: Sequence[float],
        average: float,
        k: int,
        allow: AllowedIds | None,
        floor: float,
    ) -> tuple[Ids, Floats]:
        """Score at least the k best rows that reach `floor`; returns their ids and BM25."""
        terms = self._postings(ranges, weights, average)
        saturation = self._saturation(average)
        scores = np.zeros(len(self.ids), np.float32)
        if allow is not None:
            allowed = allow.rows_in(self)
            if len(allowed) <= len(self.ids) // _SELECTIVE:
                return self._score_rows(allowed, terms, saturation)
            scores[allow.barred_in(self)] = -np.inf
        if self.has_dead:
            scores[self.dead] = -np.inf
        bound = sum(term.bound for term in terms)  # no row gains more from the terms still unread
        gained = 0.0  # no row has more from those that were read
        for number, term in enumerate(terms):
            if bound < floor:
                # A row with none of the terms so far is out; the others are looked up one by one.
                rows = np.flatnonzero(scores >= floor - bound)
                return self._score_rows(rows, terms[number:], saturation, scores)
            scores[term.rows] += term.scores(saturation)
            bound -= term.bound
            gained += term.bound
            if gained > bound:
                floor = max(floor, floor_of_best(scores[term.rows], k))
        rows = np.flatnonzero(scores >= floor if floor > 0 else scores > 0)
        return self.ids[rows], scores[rows]

    def _saturation(self, average: float) -> Floats:
        """Compute the saturation of all rows, or take that of the search before: the average length
        changes with the texts alone."""
        known = self._known_saturation
        if known is None or known[0] != average:
            known = self._known_saturation = average, length_saturation(self.lengths, average)
        return known[1]

    def _postings(
        self, ranges: Sequence[PostingRange], weights: Sequence[float], average: float
    ) -> list[_Postings]:
        """List the postings of the terms that the segment has, the rarest first."""
        # A longer average length than at sealing raises every share, by its ratio at most.
        slack = max(1.0, average / self.average) * 1.0001 if self.average else 1.0
        terms = []
        for (start, end, peak), weight in zip(ranges, weights, strict=True):
            if end > start:
                rows = self.rows[start:end]
                bound = weight * peak * slack
                terms.append(_Postings(rows, self.counts[start:end], weight, bound))
        terms.sort(key=lambda term: len(term.rows))
        return terms

    def _score_rows(
        self,
        rows: NDArray[np.intp],
        terms: Sequence[_Postings],
        saturation: Floats,
        scores: Floats | None = None,
    ) -> tuple[Ids, Floats]:
        """Score these rows by these terms, on top of the scores that all rows have already."""
        if scores is None:
            rows = rows[~self.dead[rows]]
            scores = np.zeros(len(self.ids), np.float32)
        chosen = np.zeros(len(self.ids), bool)
        chosen[rows] = True
        for term in terms:
            term.add_to(scores, rows, chosen, saturation)
        found = scores[rows]
        hits = found > 0
        return self.ids[rows[hits]], found[hits]


def _concatenate(parts: Sequence[Array], dtype: Any) -> Array:
    return np.concatenate([np.empty(0, dtype), *parts])


class TermHasher(dict[str | bytes, bytes]):
    """A cache from words to the codes of their terms, 8 bytes each."""

    def __missing__(self, word: str | bytes) -> bytes:
        # Emptied whole: to know the word that was used least lately would cost every lookup.
        if len(self) >= _CACHED_WORDS:
            self.clear()
        codes = b"".join([_hash(term) for term in terms_of_word(word)])
        self[word] = codes
        return codes

    def hash_terms(self, text: str) -> bytes:
        """Hash the terms of a text, as `text.analysis.terms` gives them, into 8 bytes each."""
        return b"".join(map(self.__getitem__, words(text)))


def hash_terms(text: str) -> bytes:
    """Hash the terms of a text like `TermHasher`, by a cache that the whole process shares."""
    return _shared_hasher().hash_terms(text)


@cache
def _shared_hasher() -> TermHasher:
    return TermHasher()


def _hash(term: str) -> bytes:
    data = term.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=HASH_BITS // 8).digest().ljust(_CODE_BYTES, b"\0")
