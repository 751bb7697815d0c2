"""The term index: BM25 over texts, exact, with terms that cannot matter left unread.

BM25 with k1 1.2 and b 0.75, idf = ln(1 + (N - df + 0.5) / (df + 0.5)), over every segment and the
tail together. N and the average length leave out the dead; a term's df counts them until they are
compacted away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from math import log1p
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...text.analysis import terms_of_word, words
from .arrays import Array, Growing, Ids, floor_of_best, positions
from .segments import Mask, Segment, SegmentedIndex, State

__all__ = ["K1", "B", "TermIndex", "codes"]

K1 = 1.2
B = 0.75

_CACHED_WORDS = 100_000
_BLOCK = 1_000_000  # postings handled at a time while sealing

# A term is known by a 40-bit hash, so that it and a row of a segment sort as one number.
_HASH_BYTES = 5
_ROW_BITS = np.uint64(24)
_ROW_MASK = np.uint64((1 << 24) - 1)

Hashes = NDArray[np.uint64]
Rows = NDArray[np.int32]
Floats = NDArray[np.float32]


class _Coded(dict[str | bytes, bytes]):
    """Word -> its terms as the index knows them: hashes, 8 bytes each."""

    def __missing__(self, word: str | bytes) -> bytes:
        if len(self) >= _CACHED_WORDS:
            self.clear()
        coded = self[word] = b"".join([_code(term) for term in terms_of_word(word)])
        return coded


def _code(term: str) -> bytes:
    return (
        blake2b(term.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES)
        .digest()
        .ljust(8, b"\0")
    )


def codes(text: str) -> bytes:
    """The terms of a text, as `text.analysis.terms` gives them, each as the 8 bytes (a number of 40 bits) an
    index knows it by."""
    return b"".join(map(_shared_codes().__getitem__, words(text)))


@cache
def _shared_codes() -> _Coded:
    return _Coded()


class _Postings(NamedTuple):
    """One term in one segment."""

    rows: Rows  # ascending
    counts: NDArray[np.uint8]  # of the term in each, at most 255
    weight: float  # idf * (k1 + 1)
    bound: float  # no row scores more for this term

    def scores(self, saturation: Floats) -> Floats:
        """What this term gives each of its rows, `saturation` being that of all rows of the
        segment."""
        return _gain(self.counts, saturation[self.rows], self.weight)

    def add_to(self, scores: Floats, rows: NDArray[np.intp], saturation: Floats) -> None:
        """Add what this term gives to the scores of these rows, ascending."""
        if len(rows) < len(self.rows):
            at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
            hit = np.flatnonzero(self.rows[at] == rows)
            scores[hit] += _gain(self.counts[at[hit]], saturation[rows[hit]], self.weight)
        elif len(rows):
            at = np.minimum(np.searchsorted(rows, self.rows), len(rows) - 1)
            hit = np.flatnonzero(rows[at] == self.rows)
            scores[at[hit]] += _gain(self.counts[hit], saturation[self.rows[hit]], self.weight)


def _gain(counts: Array, saturation: Floats, weight: float) -> Floats:
    many = counts.astype(np.float32)
    saturation = saturation + many
    many *= np.float32(weight)
    many /= saturation
    return many


class _TermSegment(Segment):
    """Rows in the order of their ids; the postings of each term, by row."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        super().__init__(arrays)
        self.lengths: Floats = arrays["lengths"]  # terms of each row
        self.terms: Hashes = arrays["terms"]  # ascending
        # of each term's postings, and the end of the last
        self.starts: Ids = arrays["starts"]
        self.rows: Rows = arrays["rows"]
        self.counts: NDArray[np.uint8] = arrays["counts"]
        # the highest count / (count + saturation) of each term, at `average`
        self.peaks: Floats = arrays["peaks"]
        self.average = float(arrays["average"][0])
        self.total = float(self.lengths.sum(dtype=np.float64))

    @classmethod
    def seal(cls, ids: Ids, lengths: Floats, occurrences: Hashes) -> _TermSegment:
        """From one `term << 24 | row` for each occurrence of a term in a row, in any order; sorts
        them in place."""
        occurrences.sort()
        # Block by block: at 100,000 documents whole intermediate arrays would take half a gigabyte.
        rows: list[Array] = []
        counts: list[Array] = []
        terms: list[Array] = []
        starts: list[Array] = []
        low = postings = 0
        while low < len(occurrences):
            high = int(
                np.searchsorted(
                    occurrences, occurrences[min(low + _BLOCK, len(occurrences)) - 1], "right"
                )
            )
            part = occurrences[low:high]
            first = _run_starts(part)
            counts.append(np.minimum(np.diff(first, append=len(part)), 255).astype(np.uint8))
            unique = part[first]
            rows.append((unique & _ROW_MASK).astype(np.int32))
            unique >>= _ROW_BITS
            fresh = _run_starts(unique)
            if terms and terms[-1][-1] == unique[0]:
                fresh = fresh[1:]  # the term goes on from the block before
            if len(fresh):
                terms.append(unique[fresh])
                starts.append(fresh + postings)
            low, postings = high, postings + len(first)
        del occurrences
        return cls._with_peaks(
            ids, lengths, _joined(terms, np.uint64), np.append(_joined(starts, np.int64), postings),
            _joined(rows, np.int32), _joined(counts, np.uint8),
        )  # fmt: skip

    @classmethod
    def _with_peaks(
        cls,
        ids: Ids,
        lengths: Floats,
        terms: Hashes,
        starts: Ids,
        rows: Rows,
        counts: NDArray[np.uint8],
    ) -> _TermSegment:
        average = float(lengths.mean()) if len(lengths) else 0.0
        shares = _gain(counts, _saturation(lengths, average)[rows], 1.0)
        return cls({
            "ids": ids,
            "lengths": lengths,
            "terms": terms,
            "starts": starts,
            "rows": rows,
            "counts": counts,
            "peaks": np.maximum.reduceat(shares, starts[:-1]) if len(terms) else shares,
            "average": np.array([average]),
        })  # fmt: skip

    def occurrences(self, alive: Mask, offset: int) -> Iterator[Hashes]:
        """What `seal` takes, of the rows alive, numbered from `offset`."""
        numbers = (np.cumsum(alive) + (offset - 1)).astype(np.uint64)
        low = 0
        while low < len(self.terms):
            high = max(
                low + 1, int(np.searchsorted(self.starts, self.starts[low] + _BLOCK, "right")) - 1
            )
            part = slice(int(self.starts[low]), int(self.starts[high]))
            keep = alive[self.rows[part]]
            keys = np.repeat(
                self.terms[low:high] << _ROW_BITS, np.diff(self.starts[low : high + 1])
            )
            keys |= numbers[self.rows[part]]
            yield np.repeat(keys[keep], self.counts[part][keep])
            low = high

    def find(self, term: int) -> tuple[int, int, float]:
        """Start and end of a term's postings, and its peak."""
        at = int(np.searchsorted(self.terms, np.uint64(term)))
        if at == len(self.terms) or self.terms[at] != term:
            return 0, 0, 0.0
        return int(self.starts[at]), int(self.starts[at + 1]), float(self.peaks[at])

    def best(
        self,
        found: Sequence[tuple[int, int, float]],
        weights: Sequence[float],
        average: float,
        k: int,
        allow: Ids | None,
        floor: float,
    ) -> tuple[Ids, Floats]:
        """Ids and BM25 of, at least, those of the k best rows that reach `floor`."""
        # A longer average length than at sealing raises every share, by its ratio at most.
        slack = max(1.0, average / self.average) * 1.0001 if self.average else 1.0
        terms = [
            _Postings(self.rows[a:b], self.counts[a:b], weight, weight * peak * slack)
            for (a, b, peak), weight in zip(found, weights, strict=True)
            if b > a
        ]
        terms.sort(key=lambda t: len(t.rows))
        saturation = _saturation(self.lengths, average)
        scores = np.zeros(len(self.ids), np.float32)
        if allow is not None:
            allowed = positions(self.ids, allow)
            if len(allowed) <= len(self.ids) // 8:
                return self._of_these(allowed, terms, saturation)
            scores.fill(-np.inf)
            scores[allowed] = 0
        if self.has_dead:
            scores[self.dead] = -np.inf
        rest = sum(t.bound for t in terms)
        for number, term in enumerate(terms):
            if rest < floor:
                # Whoever has none of the terms so far is out; the others get their due one by one.
                rows = np.flatnonzero(scores >= floor - rest)
                return self._of_these(rows, terms[number:], saturation, scores[rows])
            scores[term.rows] += term.scores(saturation)
            rest -= term.bound
            floor = max(floor, floor_of_best(scores[term.rows], k))
        rows = np.flatnonzero(scores >= floor if floor > 0 else scores > 0)
        return self.ids[rows], scores[rows]

    def _of_these(
        self,
        rows: NDArray[np.intp],
        terms: Sequence[_Postings],
        saturation: Floats,
        scores: Floats | None = None,
    ) -> tuple[Ids, Floats]:
        if scores is None:
            rows = rows[~self.dead[rows]]
            scores = np.zeros(len(rows), np.float32)
        for term in terms:
            term.add_to(scores, rows, saturation)
        hit = scores > 0
        return self.ids[rows[hit]], scores[hit]


def _joined(parts: Sequence[Array], dtype: Any) -> Array:
    return np.concatenate([np.empty(0, dtype), *parts])


def _run_starts(ordered: Array) -> Ids:
    if not len(ordered):
        return np.empty(0, np.int64)
    return np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1]).astype(np.int64)


def _saturation(lengths: Floats, average: float) -> Floats:
    """k1 * (1 - b + b * length / average)"""
    return np.float32(K1 * (1 - B)) + lengths * np.float32(K1 * B / average if average else 0.0)


class _Flat(NamedTuple):
    """The tail as arrays: each occurrence of a term, and its row."""

    source: list[bytes]  # the tail it was made of
    terms: Growing
    rows: Growing
    lengths: Growing


class TermIndex(SegmentedIndex[_TermSegment, bytes]):
    """BM25 over texts by id. See `SegmentedIndex` for adding, removing, compacting, dumping and
    loading.

    >>> index = TermIndex()
    >>> index.add([1, 2], ["Sarah signed the Berlin lease", "The lease ends in May"])
    >>> [id for id, score in index.search("lease in Berlin", limit=10)]
    [1, 2]
    """

    KIND = "terms"
    FORMAT = 1

    def __init__(self) -> None:
        super().__init__()
        self._coded = _Coded()
        self._flat = _Flat([], Growing("<u8"), Growing("<i4"), Growing("<f4"))
        self._flattening = Lock()

    def search(self, text: str, *, limit: int, allow: Ids | None = None) -> list[tuple[int, float]]:
        """The rows with the highest BM25, best first (ties: lower id first), and their scores,
        above 0.

        `allow` are the only ids that may be returned, sorted.
        """
        terms = np.unique(np.frombuffer(self._code(text), "<u8")).tolist()
        if not terms or limit <= 0:
            return []
        state = self._state
        tail_ids, tail_lengths, tail_counts, tail_total = self._tail_counts(state, terms)
        found = [[segment.find(term) for term in terms] for segment in state.segments]
        documents = sum(
            len(s.ids) - int(s.dead.sum()) if s.has_dead else len(s.ids) for s in state.segments
        )
        documents += len(tail_ids)
        total = tail_total + sum(
            float(s.lengths[~s.dead].sum(dtype=np.float64)) if s.has_dead else s.total
            for s in state.segments
        )
        if not documents:
            return []
        average = total / documents
        weights = []
        for number in range(len(terms)):
            df = sum(f[number][1] - f[number][0] for f in found) + int(
                np.count_nonzero(tail_counts[number])
            )
            df = min(df, documents)
            weights.append(log1p((documents - df + 0.5) / (df + 0.5)) * (K1 + 1))
        results: list[tuple[Ids, Floats]] = []
        floor = 0.0
        for segment, f in zip(state.segments, found, strict=True):
            results.append(segment.best(f, weights, average, limit, allow, floor))
            floor = max(floor, floor_of_best(results[-1][1], limit))
        if len(tail_ids):
            saturation = _saturation(tail_lengths, average)
            scores = np.zeros(len(tail_ids), np.float32)
            for counts, weight in zip(tail_counts, weights, strict=True):
                scores += _gain(counts, saturation, weight)
            hit = np.flatnonzero(scores > 0)
            if allow is not None:
                hit = hit[np.isin(tail_ids[hit], allow)]
            results.append((tail_ids[hit], scores[hit]))
        return _top(
            np.concatenate([r[0] for r in results]), np.concatenate([r[1] for r in results]), limit
        )

    def _tail_counts(
        self, state: State[_TermSegment, bytes], terms: Sequence[int]
    ) -> tuple[Ids, Floats, list[Array], float]:
        """Of the live tail rows: ids, lengths, how often each term occurs in each, and the sum of
        lengths."""
        count = len(state.ids)
        if not count:
            return (
                np.empty(0, np.int64),
                np.empty(0, np.float32),
                [np.empty(0, np.int64)] * len(terms),
                0.0,
            )
        with self._flattening:
            flat = self._flat
            if flat.source is not state.rows:
                flat = self._flat = _Flat(
                    state.rows, Growing("<u8"), Growing("<i4"), Growing("<f4")
                )
            fresh = state.rows[len(flat.lengths) : count]
            if fresh:
                sizes = _sizes(fresh)
                flat.terms.append(np.frombuffer(b"".join(fresh), "<u8"))
                flat.rows.append(
                    np.repeat(np.arange(len(flat.lengths), count, dtype=np.int32), sizes)
                )
                flat.lengths.append(sizes.astype(np.float32))
            all_terms, all_rows, lengths = (
                flat.terms.view(),
                flat.rows.view(),
                flat.lengths.view()[:count],
            )
        ids = np.array(state.ids[:count], np.int64)
        counts = [
            np.bincount(all_rows[all_terms == np.uint64(term)], minlength=count)[:count]
            for term in terms
        ]
        if self._dead:
            live = np.array([id not in self._dead for id in ids.tolist()], bool)
            ids, lengths, counts = ids[live], lengths[live], [c[live] for c in counts]
        return ids, lengths, counts, float(lengths.sum(dtype=np.float64))

    def _prepare(self, texts: Iterable[str]) -> list[bytes]:
        return [self._code(text) for text in texts]

    def _code(self, text: str) -> bytes:
        return b"".join(map(self._coded.__getitem__, words(text)))

    def _seal(
        self, parts: Sequence[tuple[_TermSegment, Mask]], ids: list[int], rows: list[bytes]
    ) -> _TermSegment:
        sizes = _sizes(rows)
        all_ids = [*(segment.ids[alive] for segment, alive in parts), np.array(ids, np.int64)]
        lengths = [*(segment.lengths[alive] for segment, alive in parts), sizes.astype(np.float32)]

        def occurrences() -> Hashes:
            gathered, offset = Growing("<u8"), 0
            for segment, alive in parts:
                for block in segment.occurrences(alive, offset):
                    gathered.append(block)
                offset += int(np.count_nonzero(alive))
            numbers = np.repeat(np.arange(offset, offset + len(rows), dtype=np.uint64), sizes)
            gathered.append(np.frombuffer(b"".join(rows), "<u8") << _ROW_BITS | numbers)
            return gathered.view()

        return _TermSegment.seal(np.concatenate(all_ids), np.concatenate(lengths), occurrences())

    @classmethod
    def _revive(cls, arrays: dict[str, Array]) -> _TermSegment:
        return _TermSegment(arrays)


def _sizes(rows: Sequence[bytes]) -> Ids:
    return np.array([len(row) // 8 for row in rows], np.int64)


def _top(ids: Ids, scores: Floats, limit: int) -> list[tuple[int, float]]:
    if len(ids) > limit:
        some = np.flatnonzero(scores >= floor_of_best(scores, limit))
        ids, scores = ids[some], scores[some]
    order = np.lexsort((ids, -scores))[:limit]
    return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))
