"""The index of names: which have a trigram at a length, and which have a word, over postings in a
table.

Names are numbered as they are written. The latest are the tail, which is compared name by name;
when it has become long it is sealed into a run: its postings in order, cut into pages, of which a
query reads those it needs. Small runs are merged as they become many. A name that was removed stays
in its run until that is merged, and is passed over meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ...indexes.name_similarity import CANDIDATES, WORD_SIMILARITY, similarities, split_name
from ...indexes.trigrams import (
    COMPARE_ALL,
    FILTERED_CANDIDATES,
    INDEXED_LENGTH,
    MAX_EDITS,
    TRIGRAMS_READ,
    trigram_keys,
)
from ..binary_arrays import ArrayColumn
from ..database import TenantCursor
from ..rows import SQL
from ..write.transaction import Transaction
from .bm25_index import first_to_merge

TAIL = COMPARE_ALL  # names compared one by one
_AT_ONCE = 50_000  # names sealed at a time
_PAGE = 256  # postings
_PAGES = 64  # of a run, read for a trigram or a word: enough to know that it is frequent
_SAMPLE = 200  # names looked at for words like one of the text that no name has
_ALIKE = 8  # such words taken for it

# A posting is a gram (the hash of a trigram or a word), the length of the name, and its number,
# counted back from the last of the run: 24, 7 and 32 bits.
_POSTING = np.dtype("<i8")
_GRAM = (1 << 24) - 1
_LENGTH_BITS = 7
_LENGTH = (1 << _LENGTH_BITS) - 1
_NUMBER_BITS = 32
_NUMBER = (1 << _NUMBER_BITS) - 1

Numbers = NDArray[np.int64]
Postings = NDArray[np.int64]


class _Run(NamedTuple):
    """The postings of names numbered up to here."""

    number: int
    names: int
    size: int


class NameTail(NamedTuple):
    """Names by number that are in no run, and the runs there are."""

    runs: Sequence[_Run]
    names: Sequence[tuple[int, str]]


class _Hits(NamedTuple):
    """The postings of some ranges, column by column."""

    ranges: NDArray[np.int64]  # the position of the range that each is in
    lengths: NDArray[np.int64]  # of the name
    numbers: Numbers  # of the name

    def where(self, mask: NDArray[np.bool_]) -> _Hits:
        return _Hits(*(column[mask] for column in self))


# -- writing ---------------------------------------------------------------------------------------


def take(transaction: Transaction) -> NameTail:
    """Take the tail, or the beginning of a very long one, to be sealed in this transaction."""
    runs = [_Run(*row) for row in transaction.rows(SQL.name_runs)]
    # Where most of what the runs have was removed since, all names are sealed again.
    if transaction.removed_names > sum(run.names for run in runs) // 2:
        transaction.run(SQL.delete_all_name_pages)
        transaction.run(SQL.delete_all_name_runs)
        runs = []
        transaction.sealed_no = 0
        transaction.removed_names = 0
    names = transaction.rows(SQL.names_behind, number=transaction.sealed_no, limit=_AT_ONCE)
    transaction.sealed_no = transaction.name_no if len(names) < _AT_ONCE else names[-1][0]
    return NameTail(runs, names)


def seal(transaction: Transaction, tail: NameTail) -> None:
    if not tail.names:
        return
    last = tail.names[-1][0]
    count = len(tail.names)
    postings = _postings(tail.names, last)
    merged = tail.runs[first_to_merge([run.size for run in tail.runs], len(postings)) :]
    if merged:
        old = _of_present_names(transaction, _take_postings(transaction, merged, last), last)
        postings = np.sort(np.concatenate([old, postings]), kind="stable")
        count += sum(run.names for run in merged)
    data = postings.astype(_POSTING).tobytes()
    size = _PAGE * postings.itemsize
    pages = [data[start : start + size] for start in range(0, len(data), size)]
    transaction.run(SQL.insert_name_run, run=last, names=count, size=len(postings))
    transaction.run(
        SQL.insert_name_pages,
        run=last,
        first=ArrayColumn("q", postings[::_PAGE].tolist()),
        data=ArrayColumn("y", pages),
    )


def _postings(numbered: Sequence[tuple[int, str]], last: int) -> Postings:
    """The postings of names by number, in order, with numbers counted back from `last`."""
    names = [name for _, name in numbered]
    numbers = np.array([last - number for number, _ in numbered])
    lengths = np.array([min(len(name), INDEXED_LENGTH) for name in names])
    trigrams, rows_of_trigrams = _trigrams(names)
    words_by_name = [split_name(name, query=False) for name in names]
    words = [_word_gram(word) for words in words_by_name for word in words]
    rows_of_words = np.repeat(np.arange(len(names)), [len(words) for words in words_by_name])
    grams = np.append(trigrams, np.array(words, np.int64))
    rows = np.append(rows_of_trigrams, rows_of_words)
    postings = np.sort((grams << _LENGTH_BITS | lengths[rows]) << _NUMBER_BITS | numbers[rows])
    distinct: Postings = postings[np.append(True, postings[1:] != postings[:-1])]
    return distinct


def _take_postings(transaction: Transaction, runs: Sequence[_Run], last: int) -> Postings:
    """Take the postings of runs out of the index, with numbers counted back from `last`."""
    numbers = ArrayColumn("q", [run.number for run in runs])
    transaction.run(SQL.delete_name_runs, runs=numbers)
    return _joined(transaction.cursor.binary_rows(SQL.take_name_pages, runs=numbers), last)


def _of_present_names(transaction: Transaction, postings: Postings, last: int) -> Postings:
    numbers = postings & _NUMBER
    furthest = int(numbers.max(initial=0))
    rows = transaction.rows(SQL.name_numbers, first=last - furthest, last=last)
    present = np.zeros(furthest + 1, bool)
    present[last - np.array(rows[0][0] or [], np.int64)] = True
    of_present: Postings = postings[present[numbers]]
    return of_present


def _joined(rows: Sequence[tuple[int, bytes]], last: int) -> Postings:
    """The postings of pages (run, data), with numbers counted back from `last`."""
    # Those of a run are counted back from its own last name.
    offsets = np.array([last - run for run, _ in rows], np.int64)
    sizes = [len(data) // _POSTING.itemsize for _, data in rows]
    return _unpacked(data for _, data in rows) + np.repeat(offsets, sizes)


def _unpacked(pages: Iterable[bytes]) -> Postings:
    return np.frombuffer(b"".join(pages), _POSTING)


def _trigrams(names: Sequence[str]) -> tuple[Postings, Postings]:
    """The trigrams of names, and the position of the name that each is of."""
    keys = trigram_keys(names, 0)
    trigrams = (keys >> np.uint64(32)).astype(np.int64) & _GRAM
    positions = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
    return trigrams, positions


def _distinct_trigrams(*texts: str) -> list[int]:
    trigrams: list[int] = np.unique(_trigrams(texts)[0]).tolist()
    return trigrams


def _word_gram(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass")) & _GRAM


# -- reading ---------------------------------------------------------------------------------------


def count_missing(cursor: TenantCursor) -> int:
    """Count the postings that are in no run, of names that are no longer in the tail."""
    names = cursor.rows(SQL.sealed_names)
    if not names:
        return 0
    pages = cursor.binary_rows(SQL.all_name_pages)
    # Counted back from one number, the postings of all runs can be compared.
    return len(np.setdiff1d(_postings(names, _NUMBER), _joined(pages, _NUMBER)))


class NameCandidates:
    """The names of a tenant that may be like a text, as one transaction sees them.

    Args:
        text: a key.
        words: the words of it.
        type: only names of records of this type or schema.
    """

    def __init__(
        self, cursor: TenantCursor, text: str, words: Sequence[str], type: str | None
    ) -> None:
        self._cursor = cursor
        self._type = type
        # A filter may refuse the best: more are compared, so that it has as good a choice.
        self._count = CANDIDATES if type is None else FILTERED_CANDIDATES
        self._words = words
        length = min(len(text), INDEXED_LENGTH)
        shortest = max(length - MAX_EDITS, 0)
        similar = _ranges(_distinct_trigrams(text), shortest, length + MAX_EDITS)
        # One trip for both: the first ranges are those of the words.
        hits = self._read([*_ranges(map(_word_gram, words)), *similar])
        self._similar = hits.where(hits.ranges >= len(words))
        self._with_words = hits.where(hits.ranges < len(words))

    def tail(self) -> list[str]:
        """The latest names, which are in no run."""
        sql = SQL.tail_names if self._type is None else SQL.tail_names_of_type
        ((names,),) = self._cursor.rows(sql, type=self._type)
        return names or []

    def similar(self) -> list[str]:
        """Names within two edits: those with most of the text's rarest trigrams first."""
        return self._best(*_ranked(_rarest(self._similar)), self._count)

    def with_all_words(self) -> list[str]:
        """Names that have every word, shorter first."""
        numbers, ranks = _ranked(self._with_words)
        with_all = ranks >> _LENGTH_BITS == -len(self._words)
        return self._best(numbers[with_all], ranks[with_all], self._count)

    def with_some_words(self) -> list[str]:
        """Names with some of the words, or similar ones: those with most first, then the rarest
        first."""
        hits = self._with_words
        missing = np.setdiff1d(np.arange(len(self._words)), hits.ranges).tolist()
        for position in missing:
            similar = self._words_like(self._words[position])
            like = self._read(_ranges(map(_word_gram, similar)))
            # A name counts once for this word, however many of the similar ones it has.
            numbers, first = np.unique(like.numbers, return_index=True)
            more = _Hits(np.full(len(numbers), position), like.lengths[first], numbers)
            hits = _Hits(*map(np.concatenate, zip(hits, more, strict=True)))
        return self._best(*_ranked(hits, rarer_first=True), self._count)

    def _words_like(self, word: str) -> list[str]:
        """Words of names that are most like one that no name has."""
        hits = self._read(_ranges(_distinct_trigrams(word, f"-{word}-")))
        names = self._best(*_ranked(_rarest(hits)), _SAMPLE)
        name_words = chain.from_iterable(split_name(name, query=False) for name in names)
        words = list(dict.fromkeys(name_words))
        scores = similarities([word], words, WORD_SIMILARITY)[0]
        best = np.argsort(-scores, kind="stable")[:_ALIKE].tolist()
        return [words[position] for position in best if scores[position]]

    def _read(self, ranges: Sequence[tuple[int, int]]) -> _Hits:
        """Read the postings of ranges (from the first number to before the second)."""
        low, high = np.array(ranges, np.int64).reshape(-1, 2).T
        rows = self._cursor.binary_rows(
            SQL.pages_of_ranges,
            low=ArrayColumn("q", low.tolist()),
            high=ArrayColumn("q", high.tolist()),
            pages=_PAGES,
        )
        range_of_page, run_of_page = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T
        sizes = [len(data) // _POSTING.itemsize for *_, data in rows]
        postings = _unpacked(data for *_, data in rows)
        # A page has postings of neighbouring ranges too.
        inside = postings >= np.repeat(low[range_of_page], sizes)
        inside &= postings < np.repeat(high[range_of_page], sizes)
        postings = postings[inside]
        page = np.repeat(np.arange(len(rows)), sizes)[inside]
        lengths = postings >> _NUMBER_BITS & _LENGTH
        return _Hits(range_of_page[page], lengths, run_of_page[page] - (postings & _NUMBER))

    def _best(self, numbers: Numbers, ranks: NDArray[np.int64], count: int) -> list[str]:
        """The first names that are there, by rank (ties: shorter first, then by name)."""
        sql = SQL.names_by_number if self._type is None else SQL.names_by_number_of_type
        order = np.argsort(ranks, kind="stable")
        numbers = numbers[order]
        ranks = ranks[order]
        best: dict[str, None] = {}
        start = 0
        while start < len(numbers) and len(best) < count:
            # Names of one rank are read together, because only then can they be put in order.
            last_rank = ranks[min(start + count, len(ranks)) - 1]
            end = int(np.searchsorted(ranks, last_rank, "right"))
            rank = dict(zip(numbers[start:end].tolist(), ranks[start:end].tolist(), strict=True))
            rows = self._cursor.rows(sql, type=self._type, numbers=ArrayColumn("q", list(rank)))
            ordered = sorted((rank[number], len(name), name) for number, name in rows)
            best |= dict.fromkeys(name for _, _, name in ordered)
            start = end
        return list(islice(best, count))


def _ranges(
    grams: Iterable[int], shortest: int = 0, longest: int = INDEXED_LENGTH
) -> list[tuple[int, int]]:
    """The range of postings of each gram, in names of these lengths."""
    heads = [gram << _LENGTH_BITS for gram in grams]
    return [
        ((head + shortest) << _NUMBER_BITS, (head + longest + 1) << _NUMBER_BITS) for head in heads
    ]


def _rarest(hits: _Hits) -> _Hits:
    counts = np.bincount(hits.ranges)
    hit = np.flatnonzero(counts)
    rarest = hit[np.argsort(counts[hit], kind="stable")[:TRIGRAMS_READ]]
    return hits.where(np.isin(hits.ranges, rarest))


def _ranked(hits: _Hits, *, rarer_first: bool = False) -> tuple[Numbers, NDArray[np.int64]]:
    """Rank the names, each with its number: most hits first, or, of those with one hit, the one
    whose range fewer names are in; then the shorter one."""
    numbers, first, times = np.unique(hits.numbers, return_index=True, return_counts=True)
    ranks = -times
    if rarer_first:
        once = times == 1
        # Sorting the order of the counts gives each range its position among them.
        rarity = np.argsort(np.argsort(np.bincount(hits.ranges), kind="stable"))
        ranks[once] = rarity[hits.ranges[first[once]]]
    return numbers, ranks << _LENGTH_BITS | hits.lengths[first]
