"""The term index: BM25 over texts, exact, with terms that cannot matter left unread.

BM25 with k1 1.2 and b 0.75, idf = ln(1 + (N - df + 0.5) / (df + 0.5)), over every segment and the
tail together. N and the average length leave out the dead; a term's df counts them until they are
compacted away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np

from .arrays import Array, GrowingArray, Ids, floor_of_best
from .postings import (
    ROW_BITS,
    Floats,
    Hashes,
    PostingsSegment,
    TermHasher,
    length_saturation,
    term_scores,
    term_weight,
)
from .segments import AllowedIds, Mask, SegmentedIndex, State


class _FlatTail(NamedTuple):
    """The tail as arrays: each occurrence of a term, and its row."""

    source: list[bytes]  # the tail it was made of
    terms: GrowingArray
    rows: GrowingArray
    lengths: GrowingArray

    @classmethod
    def of(cls, source: list[bytes]) -> _FlatTail:
        return cls(source, GrowingArray("<u8"), GrowingArray("<i4"), GrowingArray("<f4"))


class _TailCounts(NamedTuple):
    """The live rows of the tail, as far as one search needs them."""

    ids: Ids
    lengths: Floats
    counts: list[Array]  # for each term, how often each row has it


class TermIndex(SegmentedIndex[PostingsSegment, bytes]):
    """BM25 over texts by id. See `SegmentedIndex` for adding, removing, compacting, dumping and
    loading.

    >>> index = TermIndex()
    >>> index.add([1, 2], ["Sarah signed the Berlin lease", "The lease ends in May"])
    >>> [id for id, score in index.search("lease in Berlin", limit=10)]
    [1, 2]
    """

    KIND = "terms"
    SEGMENT = PostingsSegment
    FORMAT = 1

    def __init__(self) -> None:
        super().__init__()
        self._hasher = TermHasher()
        self._flat = _FlatTail.of([])
        self._flattening = Lock()  # one search at a time brings the flat tail up to date

    def search(
        self, text: str, *, limit: int, allow: AllowedIds | None = None
    ) -> list[tuple[int, float]]:
        """Find the rows with the highest BM25, best first (ties: lower id first), and their scores,
        above 0; with `allow` only among these ids."""
        terms = np.unique(np.frombuffer(self._hasher.hash_terms(text), "<u8"))
        if not len(terms) or limit <= 0:
            return []
        state = self._state
        tail = self._count_in_tail(state, terms)
        documents = len(tail.ids) + sum(segment.live_count for segment in state.segments)
        if not documents:
            return []
        total_length = float(tail.lengths.sum(dtype=np.float64))
        total_length += sum(segment.live_length for segment in state.segments)
        average = total_length / documents
        ranges = [segment.find(terms) for segment in state.segments]
        weights = []
        for number, tail_counts in enumerate(tail.counts):
            df = int(np.count_nonzero(tail_counts))
            for in_segment in ranges:
                df += in_segment[number].end - in_segment[number].start
            weights.append(term_weight(documents, min(df, documents)))
        ids = []
        scores = []
        # What the segments before gave is a floor under which the next need not look.
        floor = 0.0
        for segment, in_segment in zip(state.segments, ranges, strict=True):
            best = segment.best(in_segment, weights, average, limit, allow, floor)
            ids.append(best[0])
            scores.append(best[1])
            floor = max(floor, floor_of_best(best[1], limit))
        if len(tail.ids):
            best = _score_tail(tail, weights, average, allow)
            ids.append(best[0])
            scores.append(best[1])
        return _top(np.concatenate(ids), np.concatenate(scores), limit)

    def having_all(self, text: str) -> Ids:
        """List the ids of the rows that have every term of a text, ascending; none for a text
        without terms."""
        terms = np.unique(np.frombuffer(self._hasher.hash_terms(text), "<u8"))
        if not len(terms):
            return np.empty(0, np.int64)
        state = self._state
        tail = self._count_in_tail(state, terms)
        in_tail = tail.ids[np.logical_and.reduce(tail.counts)]
        found = [segment.having_all(terms) for segment in state.segments]
        return np.sort(np.concatenate([*found, in_tail]))

    def _count_in_tail(self, state: State[PostingsSegment, bytes], terms: Hashes) -> _TailCounts:
        count = len(state.ids)
        if not count:
            counts: list[Array] = [np.empty(0, np.int64)] * len(terms)
            return _TailCounts(np.empty(0, np.int64), np.empty(0, np.float32), counts)
        with self._flattening:
            flat = self._flatten(state, count)
            # Views taken under the lock agree with each other; none of them changes afterwards.
            all_terms = flat.terms.view()
            all_rows = flat.rows.view()
            lengths = flat.lengths.view()[:count]
        ids = np.array(state.ids[:count], np.int64)
        counts = [
            np.bincount(all_rows[all_terms == term], minlength=count)[:count] for term in terms
        ]
        if self._dead:
            live = np.array([id not in self._dead for id in ids.tolist()], bool)
            ids = ids[live]
            lengths = lengths[live]
            counts = [of_term[live] for of_term in counts]
        return _TailCounts(ids, lengths, counts)

    def _flatten(self, state: State[PostingsSegment, bytes], count: int) -> _FlatTail:
        """Bring the flat tail up to the first `count` rows of this state."""
        if self._flat.source is not state.rows:  # the tail was sealed, and another one began
            self._flat = _FlatTail.of(state.rows)
        flat = self._flat
        done = len(flat.lengths)
        new = state.rows[done:count]
        if new:
            sizes = _term_counts(new)
            flat.terms.append(np.frombuffer(b"".join(new), "<u8"))
            flat.rows.append(np.repeat(np.arange(done, count, dtype=np.int32), sizes))
            flat.lengths.append(sizes.astype(np.float32))
        return flat

    def _prepare(self, texts: Iterable[str]) -> list[bytes]:
        return [self._hasher.hash_terms(text) for text in texts]

    def _seal(
        self, parts: Sequence[tuple[PostingsSegment, Mask]], ids: list[int], rows: list[bytes]
    ) -> PostingsSegment:
        sizes = _term_counts(rows)
        all_ids = [segment.ids[alive] for segment, alive in parts]
        all_ids.append(np.array(ids, np.int64))
        lengths = [segment.lengths[alive] for segment, alive in parts]
        lengths.append(sizes.astype(np.float32))
        # Passed on without a name of its own, so that `seal` can free it when it is done with it.
        return PostingsSegment.seal(
            np.concatenate(all_ids),
            np.concatenate(lengths),
            _gather_occurrences(parts, rows, sizes),
        )


def _gather_occurrences(
    parts: Sequence[tuple[PostingsSegment, Mask]], rows: list[bytes], sizes: Ids
) -> Hashes:
    gathered = GrowingArray("<u8")
    offset = 0
    for segment, alive in parts:
        for block in segment.occurrences(alive, offset):
            gathered.append(block)
        offset += int(np.count_nonzero(alive))
    numbers = np.repeat(np.arange(offset, offset + len(rows), dtype=np.uint64), sizes)
    gathered.append(np.frombuffer(b"".join(rows), "<u8") << ROW_BITS | numbers)
    return gathered.view()


def _score_tail(
    tail: _TailCounts, weights: Sequence[float], average: float, allow: AllowedIds | None
) -> tuple[Ids, Floats]:
    saturation = length_saturation(tail.lengths, average)
    scores = np.zeros(len(tail.ids), np.float32)
    for counts, weight in zip(tail.counts, weights, strict=True):
        scores += term_scores(counts, saturation, weight)
    hits = np.flatnonzero(scores > 0)
    if allow is not None:
        hits = hits[np.isin(tail.ids[hits], allow.ids)]
    return tail.ids[hits], scores[hits]


def _term_counts(rows: Sequence[bytes]) -> Ids:
    return np.array([len(row) // 8 for row in rows], np.int64)


def _top(ids: Ids, scores: Floats, limit: int) -> list[tuple[int, float]]:
    if len(ids) > limit:
        candidates = np.flatnonzero(scores >= floor_of_best(scores, limit))
        ids = ids[candidates]
        scores = scores[candidates]
    order = np.lexsort((ids, -scores))[:limit]
    return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))
