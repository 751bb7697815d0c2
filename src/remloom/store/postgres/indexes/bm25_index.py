"""The inverted index of texts: BM25 as `store.indexes.bm25` defines it, exact, over postings in a
table.

A write makes a run of the texts it indexes: their postings in the order of their terms, cut into
buckets by the first bits of a term, a row each. A query reads one row a run for each of its terms;
small runs are merged as they become many, so there are few. A batch of texts is a few hundred rows,
a text is one, and nothing is ever out of date.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...indexes.postings import hash_terms, term_weight
from ...specs import K1, B
from ..binary_arrays import ArrayColumn
from ..database import TenantCursor
from ..rows import SQL

# The statement `postings_of_terms` has this number too.
_TERM_BITS = 40
_COUNT_BITS = 24
# occurrences counted of one term in one text, and texts in one run
_MOST = (1 << _COUNT_BITS) - 1
# `word` is the term and how often the text has it; `doc` is the number of the text, counted from
# that of the run; `length` is in terms.
_POSTING = np.dtype([("word", ">u8"), ("doc", ">u4"), ("length", ">u4")])
_BUCKET = 256  # postings in a bucket, at most, if terms were equally frequent

_WIDTH = 3  # runs of about one size that may follow each other
_WHOLE = 1 << 20  # postings in a run that is merged no more: others wait for the write

Text = tuple[int, str]  # its number, and what it says
Postings = NDArray[np.void]  # of `_POSTING`
Scores = tuple[NDArray[np.int64], NDArray[np.float32]]  # numbers of texts, and how well they match


class PostingsRun(NamedTuple):
    """The postings of texts that are numbered from here on."""

    number: int
    bits: int  # of a term, which say in which bucket it is
    size: int  # postings when it was written


def runs(cursor: TenantCursor) -> list[PostingsRun]:
    return [PostingsRun(*row) for row in cursor.rows(SQL.text_runs)]


def add(cursor: TenantCursor, texts: Sequence[Text], present: Sequence[PostingsRun]) -> None:
    """Index new texts, whose numbers are higher than all before, next to the runs there are."""
    run, postings, terms = _postings(texts)
    cursor.run(SQL.add_to_counts, texts=len(texts), terms=terms)
    if not len(postings):
        return
    merged = present[first_to_merge([run.size for run in present], len(postings)) :]
    if merged:
        old = _take(cursor, merged)
        postings["doc"] += run - merged[0].number
        run = merged[0].number
        # The type keeps the byte order of the table, which concatenation alone would not.
        postings = np.concatenate([*old, postings], dtype=_POSTING)
        postings = postings[np.argsort(_terms_of(postings))]
    bits = (len(postings) // _BUCKET).bit_length()
    buckets = _terms_of(postings) >> np.uint64(_TERM_BITS - bits)
    starts = np.flatnonzero(np.concatenate([[True], buckets[1:] != buckets[:-1]]))
    packed = postings.tobytes()
    bounds = [*(starts * _POSTING.itemsize).tolist(), len(packed)]
    cursor.run(SQL.insert_text_run, run=run, bits=bits, size=len(postings))
    cursor.run(
        SQL.insert_postings,
        run=run,
        buckets=ArrayColumn("i", buckets[starts].tolist()),
        data=ArrayColumn("y", [packed[start:end] for start, end in pairwise(bounds)]),
    )


def first_to_merge(sizes: Sequence[int], size: int) -> int:
    """The position from which runs of these sizes become one with a run of this size: each size, by
    powers of four, has few, so that a query reads few."""
    start = len(sizes)
    while True:
        first = start
        while first and _joins(sizes[first - 1], size):
            first -= 1
        if start - first < _WIDTH:
            return start
        # The merged run may be of the size of those before it.
        size += sum(sizes[first:start])
        start = first


def _joins(run: int, size: int) -> bool:
    """Whether a run may be merged with others that come to this size."""
    return run < _WHOLE and run.bit_length() // 2 <= size.bit_length() // 2


def _take(cursor: TenantCursor, merged: Sequence[PostingsRun]) -> list[Postings]:
    """Take the postings of runs out of the index, numbered as those of the first of them."""
    numbers = ArrayColumn("q", [run.number for run in merged])
    cursor.run(SQL.delete_text_runs, runs=numbers)
    rows = cursor.binary_rows(SQL.take_postings, runs=numbers)
    taken = []
    for run in merged:
        postings = _unpacked(data for number, data in rows if number == run.number)
        postings["doc"] += run.number - merged[0].number
        taken.append(postings)
    return taken


def remove(cursor: TenantCursor, texts: Sequence[Text]) -> None:
    """Take texts out of the index."""
    lengths = [len(hash_terms(text)) // 8 for _, text in texts]
    cursor.run(SQL.add_to_counts, texts=-len(texts), terms=-sum(lengths))
    removed = _by_bucket(texts, runs(cursor))
    if not removed:
        return
    rows = cursor.binary_rows(
        SQL.postings_of_buckets,
        runs=ArrayColumn("q", [run for run, _ in removed]),
        buckets=ArrayColumn("i", [bucket for _, bucket in removed]),
    )
    left = []
    for run, bucket, data in rows:
        postings = _unpacked([data])
        others = ~np.isin(postings["doc"], list(removed[run, bucket]))
        left.append(postings[others].tobytes())
    cursor.run(
        SQL.replace_postings,
        runs=ArrayColumn("q", [run for run, _, _ in rows]),
        buckets=ArrayColumn("i", [bucket for _, bucket, _ in rows]),
        data=ArrayColumn("y", left),
    )


def _by_bucket(
    texts: Sequence[Text], present: Sequence[PostingsRun]
) -> dict[tuple[int, int], set[int]]:
    """The buckets (run, bucket) with postings of texts, and the texts' numbers in the run."""
    by_bucket: dict[tuple[int, int], set[int]] = {}
    for text_no, text in texts:
        terms = np.unique(np.frombuffer(hash_terms(text), "<i8")).tolist()
        if not terms:
            continue
        # A run has the texts from its number up to that of the next.
        run = present[bisect_right(present, text_no, key=lambda run: run.number) - 1]
        for term in terms:
            bucket = term >> (_TERM_BITS - run.bits)
            by_bucket.setdefault((run.number, bucket), set()).add(text_no - run.number)
    return by_bucket


def score(cursor: TenantCursor, text: str) -> Scores:
    """Score the texts that have a term of this one: their numbers, best first, and their BM25
    (ties: lower number first)."""
    none = np.empty(0, np.int64), np.empty(0, np.float32)
    terms = np.unique(np.frombuffer(hash_terms(text), "<i8"))
    if not len(terms):
        return none
    counts = cursor.rows(SQL.count_texts)
    if not counts or not counts[0][0]:
        return none
    texts, average_length = counts[0][0], counts[0][1] / counts[0][0]
    numbers_by_term, scores_by_term = [], []
    for numbers, postings in _read_postings(cursor, terms.tolist(), SQL.postings_of_terms):
        numbers_by_term.append(numbers)
        weight = term_weight(texts, len(numbers))
        scores_by_term.append(_saturated(postings, weight, average_length))
    if not numbers_by_term:
        return none
    numbers, positions = np.unique(np.concatenate(numbers_by_term), return_inverse=True)
    scores = np.bincount(positions, np.concatenate(scores_by_term)).astype(np.float32)
    order = np.lexsort((numbers, -scores))
    return numbers[order], scores[order]


def having_all(
    cursor: TenantCursor, text: str, few: int
) -> tuple[NDArray[np.int64], frozenset[int]]:
    """List the numbers of the texts that have every term of this one, ascending; none if it has no
    terms. Where no more than a `few` have the rarest, that alone is read: those that have it, and
    the terms that are still to be looked for in them."""
    terms = np.unique(np.frombuffer(hash_terms(text), "<i8")).tolist()
    of_rarest = _read_postings(cursor, terms, SQL.postings_of_rarest)
    rarest = next((numbers for numbers, _ in of_rarest), np.empty(0, np.int64))
    if len(rarest) <= few:
        return np.sort(rarest), frozenset(terms)
    of_all = _read_postings(cursor, terms, SQL.postings_of_terms)
    found = [numbers for numbers, _ in of_all]
    if len(found) < len(terms):
        return np.empty(0, np.int64), frozenset()
    return reduce(np.intersect1d, found), frozenset()


def _read_postings(
    cursor: TenantCursor, terms: Sequence[int], sql: str
) -> Iterator[tuple[NDArray[np.int64], Postings]]:
    """Yield the postings of each of these terms that any text has, and the texts' numbers."""
    for term, (starts, parts) in _read_buckets(cursor, terms, sql).items():
        postings = _unpacked(parts)
        # A bucket has other terms too.
        rows = np.flatnonzero(_terms_of(postings) == np.uint64(term))
        if not len(rows):
            continue
        sizes = [len(part) // _POSTING.itemsize for part in parts]
        first_numbers = np.repeat(np.array(starts, np.int64), sizes)
        yield first_numbers[rows] + postings["doc"][rows], postings[rows]


def _read_buckets(
    cursor: TenantCursor, terms: Sequence[int], sql: str
) -> dict[int, tuple[list[int], list[bytes]]]:
    by_term: dict[int, tuple[list[int], list[bytes]]] = {}
    for term, run, data in cursor.binary_rows(sql, terms=list(terms)):
        starts, parts = by_term.setdefault(term, ([], []))
        starts.append(run)
        parts.append(data)
    return by_term


def _saturated(postings: Postings, weight: float, average_length: float) -> NDArray[np.float32]:
    counts = (postings["word"] & np.uint64(_MOST)).astype(np.float32)
    by_length = postings["length"] * np.float32(K1 * B / average_length)
    scores: NDArray[np.float32] = (
        counts * np.float32(weight) / (np.float32(K1 * (1 - B)) + by_length + counts)
    )
    return scores


def terms_in(text: str) -> set[int]:
    return set(np.frombuffer(hash_terms(text), "<i8").tolist())


def read_index(cursor: TenantCursor) -> set[tuple[int, int]]:
    """Read every (term, number of the text) of the index, as far as a query would find it."""
    indexed: set[tuple[int, int]] = set()
    for run, bits, bucket, data in cursor.rows(SQL.all_postings):
        postings = _unpacked([data])
        terms = _terms_of(postings)
        in_place = terms >> np.uint64(_TERM_BITS - bits) == bucket
        numbers = postings["doc"][in_place] + np.int64(run)
        indexed |= set(zip(terms[in_place].tolist(), numbers.tolist(), strict=True))
    return indexed


def _unpacked(parts: Iterable[bytes]) -> Postings:
    return np.frombuffer(b"".join(parts), _POSTING).copy()


def _terms_of(postings: Postings) -> NDArray[np.uint64]:
    return postings["word"].astype(np.uint64) >> np.uint64(_COUNT_BITS)


def _postings(texts: Sequence[Text]) -> tuple[int, Postings, int]:
    """The number of a run of these texts, its postings by term, and how many terms they have."""
    numbers = np.array([text_no for text_no, _ in texts], np.int64)
    coded = [hash_terms(text) for _, text in texts]
    lengths = np.array([len(terms) // 8 for terms in coded], np.uint32)
    positions = np.repeat(np.arange(len(texts), dtype=np.uint64), lengths)
    # A term and the position of its text in one number: sorting puts equal ones side by side.
    shifted = np.frombuffer(b"".join(coded), "<u8") << np.uint64(_COUNT_BITS)
    occurrences = np.sort(shifted | positions)
    if len(occurrences):
        changes = np.concatenate([[True], occurrences[1:] != occurrences[:-1]])
        starts = np.flatnonzero(changes)
    else:
        starts = np.empty(0, np.int64)
    text_at = (occurrences[starts] & np.uint64(_MOST)).astype(np.int64)
    counts = np.diff(np.append(starts, len(occurrences)))
    counts = np.minimum(counts, _MOST).astype(np.uint64)
    postings = np.empty(len(starts), _POSTING)
    # The count goes where the position was.
    postings["word"] = occurrences[starts] - text_at.astype(np.uint64) + counts
    postings["doc"] = numbers[text_at] - numbers[0]
    postings["length"] = lengths[text_at]
    return int(numbers[0]), postings, len(occurrences)
