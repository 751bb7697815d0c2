"""The name index: keys like "sarah-chen" found by trigrams and ranked by edit similarity.

Names stand in order of their length, so the names that two edits can reach are one range of rows,
and one range of each trigram's postings. A query reads the rarest of its trigrams there, and
compares the names that share most of them. A second index of the same kind, over the words of
names, finds names by some of their words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from .arrays import Array, Ids, contains, run_starts
from .name_similarity import (
    CANDIDATES,
    GOOD_SCORE,
    WORD_SIMILARITY,
    Accept,
    NameMatches,
    similarities,
    split_name,
)
from .segments import Mask, Segment, SegmentedIndex, State

Rows = NDArray[np.int32]

COMPARE_ALL = 1_000  # up to so many names are all compared, which misses nothing
MAX_EDITS = 2  # whole names are compared when their lengths differ by at most this
TRIGRAMS_READ = 7  # the rarest of a name
FILTERED_CANDIDATES = 1_000  # compared in place of `CANDIDATES` when there is a filter
INDEXED_LENGTH = 64  # characters of a name whose trigrams are indexed

_SIMILAR_WORDS = 8  # words of names that are read for a word that no name has
_READ_AT_MOST = 16_384  # names of one word, shortest first
_BLOCK = 100_000  # names turned into trigrams at a time
_NO_ROWS: Rows = np.empty(0, np.int32)

# Trigrams are hashed to 32 bits, and a key has one above 32 bits of row, or 8 bits of length.
_ROW_BITS = np.uint64(32)
_LENGTH_BITS = np.uint64(8)


def _hash_word(word: str) -> int:
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _trigrams(text: str) -> set[int]:
    """Hash a text's trigrams, two blanks before it and one behind."""
    codes = (0, 0, *map(ord, text[:INDEXED_LENGTH]), 0)
    return {
        ((a * 0x9E3779B1 + b) * 0x85EBCA6B + c) & 0xFFFFFFFF
        for a, b, c in zip(codes, codes[1:], codes[2:], strict=False)
    }


def trigram_keys(texts: Sequence[str], first: int) -> NDArray[np.uint64]:
    """Make `trigram << 32 | row` for each trigram of each text, whose rows begin with `first`:
    `_trigrams` for many at once."""
    pieces = [text[:INDEXED_LENGTH] for text in texts]
    padded = "".join([f"\0\0{piece}\0" for piece in pieces])
    codes = np.frombuffer(padded.encode("utf-32-le", "surrogatepass"), "<u4")
    sizes = np.array([len(piece) for piece in pieces], np.int64) + 3
    hashes = (codes[:-2] * np.uint32(0x9E3779B1) + codes[1:-1]) * np.uint32(0x85EBCA6B) + codes[2:]
    # The two trigrams that begin at the end of a text reach into the next one: they are left out.
    inside = np.ones(len(codes), bool)
    ends = np.cumsum(sizes)
    inside[ends - 1] = False
    inside[ends - 2] = False
    rows = np.repeat(np.arange(first, first + len(texts), dtype=np.uint64), sizes)
    keys: NDArray[np.uint64] = hashes.astype(np.uint64) << _ROW_BITS | rows[:-2]
    return keys[inside[:-2]]


class _StringTable:
    """Strings in order of (length, text), and which of them have a trigram at a length."""

    def __init__(self, arrays: Mapping[str, Array], prefix: str) -> None:
        # slices of bytes decode thrice as fast as those of a view
        self._text = arrays[f"{prefix}_text"].tobytes()
        self._starts: Ids = arrays[f"{prefix}_starts"]
        # trigram << 8 | length, ascending
        self._grams: NDArray[np.uint64] = arrays[f"{prefix}_grams"]
        self._gram_starts: Ids = arrays[f"{prefix}_gram_starts"]
        self._gram_rows: Rows = arrays[f"{prefix}_gram_rows"]

    @staticmethod
    def arrays(strings: Sequence[str], prefix: str) -> dict[str, Array]:
        """Make the arrays of these strings, which are in order."""
        encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
        starts = np.zeros(len(strings) + 1, np.int64)
        np.cumsum([len(data) for data in encoded], out=starts[1:])
        blocks = [
            trigram_keys(strings[low : low + _BLOCK], low) for low in range(0, len(strings), _BLOCK)
        ]
        keys = np.concatenate([np.empty(0, np.uint64), *blocks])
        del blocks
        keys.sort()
        keys = keys[run_starts(keys)]
        rows = (keys & np.uint64(0xFFFFFFFF)).astype(np.int32)
        # From here on a key has the length of its string where the row was.
        lengths = np.array([min(len(string), INDEXED_LENGTH) for string in strings], np.uint64)
        keys >>= _ROW_BITS
        keys <<= _LENGTH_BITS
        keys |= lengths[rows]
        gram_starts = run_starts(keys)
        return {
            f"{prefix}_text": np.frombuffer(b"".join(encoded), np.uint8),
            f"{prefix}_starts": starts,
            f"{prefix}_grams": keys[gram_starts],
            f"{prefix}_gram_starts": np.append(gram_starts, len(rows)),
            f"{prefix}_gram_rows": rows,
        }

    def __len__(self) -> int:
        return len(self._starts) - 1

    def texts(self, rows: Rows) -> list[str]:
        """Read the strings of these rows."""
        bounds = zip(self._starts[rows].tolist(), self._starts[rows + 1].tolist(), strict=True)
        text = self._text
        return [text[start:end].decode("utf-8", "surrogatepass") for start, end in bounds]

    def similar(self, text: str) -> Rows:
        """List rows that may be within two edits of the text: those with most of its rarest
        trigrams first, shorter first."""
        length = min(len(text), INDEXED_LENGTH)
        low = max(length - MAX_EDITS, 0)
        high = length + MAX_EDITS + 1
        grams = _trigrams(text)
        # Keys are ordered by trigram and length, so each trigram has one range within these bounds.
        lows = [gram << 8 | low for gram in grams]
        highs = [gram << 8 | high for gram in grams]
        bounds = np.array(lows + highs, np.uint64)
        starts = self._gram_starts[np.searchsorted(self._grams, bounds)].tolist()
        ranges = zip(starts, starts[len(grams) :], strict=False)
        rarest = sorted((end - start, start) for start, end in ranges if end > start)
        return _most_shared(
            [self._gram_rows[start : start + size] for size, start in rarest[:TRIGRAMS_READ]]
        )


def _most_shared(lists: Sequence[Rows]) -> Rows:
    """Rank the rows of these ascending lists, none of which has a row twice: those in most lists
    first, then lower rows first."""
    if len(lists) < 2:
        return lists[0] if lists else _NO_ROWS
    rows = np.concatenate(lists)
    rows.sort()
    repeats = rows[1:] == rows[:-1]
    repeated = rows[1:][repeats]
    starts = run_starts(repeated)
    counts = np.empty(len(starts), np.int8)  # 8 bits sort by radix
    counts[:-1] = starts[1:] - starts[:-1]
    counts[-1:] = len(repeated) - starts[-1:]
    several: Rows = repeated[starts][np.argsort(-counts, kind="stable")]
    # With so many, no row of a single list would be compared.
    if len(several) >= CANDIDATES:
        return several
    single = np.ones(len(rows), bool)
    single[1:] ^= repeats
    single[:-1] &= ~repeats
    ranked: Rows = np.concatenate([several, rows[single]])
    return ranked


class _NameSegment(Segment):
    """Names in order of (length, text), and the names that have a word."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        super().__init__(arrays)
        self.names = _StringTable(arrays, "names")
        self.words = _StringTable(arrays, "words")
        self._word_hashes: NDArray[np.uint64] = arrays["word_hashes"]  # ascending
        self._hashed_words: Ids = arrays["hashed_words"]  # the word of each hash
        self._word_starts: Ids = arrays["word_starts"]
        self._word_rows: Rows = arrays["word_rows"]

    @classmethod
    def seal(cls, ids: Sequence[int], names: Sequence[str]) -> _NameSegment:
        """Make a segment of these names, in any order."""
        order = sorted(range(len(names)), key=lambda i: (len(names[i]), names[i]))
        names = [names[i] for i in order]
        postings: dict[str, list[int]] = {}
        for row, name in enumerate(names):
            for word in split_name(name, query=False):
                postings.setdefault(word, []).append(row)
        words = sorted(postings, key=lambda word: (len(word), word))
        hashes = np.array([_hash_word(word) for word in words], np.uint64)
        by_hash = np.argsort(hashes)
        lists = [postings[word] for word in words]
        return cls({
            "ids": np.array([ids[i] for i in order], np.int64),
            **_StringTable.arrays(names, "names"),
            **_StringTable.arrays(words, "words"),
            "word_hashes": hashes[by_hash],
            "hashed_words": by_hash,
            "word_starts": np.cumsum([0, *map(len, lists)]),
            "word_rows": np.array([row for rows in lists for row in rows], np.int32),
        })  # fmt: skip

    def with_all_words(self, words: Sequence[str]) -> Rows:
        """List the rows of the names that have every word, shorter first."""
        postings: list[Rows] = []
        for word in words:
            row = self._find_word(word)
            if row is None:
                return _NO_ROWS
            postings.append(self._posting(row))
        # The rarest word first: the others are looked up in ever fewer rows.
        postings.sort(key=len)
        rows = postings[0]
        for others in postings[1:]:
            rows = rows[contains(others, rows)]
        return rows

    def with_some_words(self, words: Sequence[str]) -> Rows:
        """List rows of names that have some of the words, or similar ones, the likeliest first."""
        postings = [rows for rows in map(self._with_similar_word, words) if len(rows)]
        postings.sort(key=len)
        if len(postings) < 2:
            return postings[0] if postings else _NO_ROWS
        several = _most_shared(postings)
        # Of the names with one of the words, those with the rarest come first.
        each = np.concatenate([rows[:CANDIDATES] for rows in postings])
        _, firsts = np.unique(each, return_index=True)
        rarest = each[np.sort(firsts)]
        return np.concatenate([several[:CANDIDATES], rarest, several[CANDIDATES:]])

    def _find_word(self, word: str) -> int | None:
        word_hash = _hash_word(word)
        at = int(np.searchsorted(self._word_hashes, np.uint64(word_hash)))
        if at == len(self._word_hashes) or self._word_hashes[at] != word_hash:
            return None
        return int(self._hashed_words[at])

    def _with_similar_word(self, word: str) -> Rows:
        """List the names that have this word, or, when none has, the words most similar to it."""
        exact = self._find_word(word)
        if exact is not None:
            return self._posting(exact)
        rows = self.words.similar(word)[:CANDIDATES]
        scores = similarities([word], self.words.texts(rows), WORD_SIMILARITY)[0]
        ranked = rows[np.argsort(-scores, kind="stable")]
        best = ranked[: np.count_nonzero(scores)][:_SIMILAR_WORDS]
        postings = [self._posting(row) for row in best.tolist()]
        return np.unique(np.concatenate(postings)) if postings else _NO_ROWS

    def _posting(self, row: int) -> Rows:
        start = self._word_starts[row]
        return self._word_rows[start : min(self._word_starts[row + 1], start + _READ_AT_MOST)]

    def live_names(self) -> list[tuple[int, str]]:
        """List ids and names of all live rows."""
        pairs = zip(self._all_names, self.dead.tolist(), strict=True)
        return [pair for pair, dead in pairs if not dead]

    @cached_property
    def _all_names(self) -> list[tuple[int, str]]:
        rows = np.arange(len(self.ids), dtype=np.int32)
        return list(zip(self.ids.tolist(), self.names.texts(rows), strict=True))

    def first_names(self, rows: Rows, count: int) -> list[tuple[int, str]]:
        """List ids and names of the first of these rows that are live."""
        if self.has_dead:
            rows = rows[~self.dead[rows]]
        rows = rows[:count]
        return list(zip(self.ids[rows].tolist(), self.names.texts(rows), strict=True))


class NameIndex(SegmentedIndex[_NameSegment, str]):
    """Fuzzy search over keys by id. See `SegmentedIndex` for adding, removing, compacting, dumping
    and loading.

    >>> index = NameIndex()
    >>> index.add([1, 2, 3], ["sarah-chen", "friday-afternoon", "monday-afternoon"])
    >>> index.search("sara-chen", threshold=0.5, limit=5)
    [(1, 0.9)]
    >>> [id for id, score in index.search("find-afternoon", threshold=0.5, limit=5)]
    [2, 3]
    """

    KIND = "names"
    SEGMENT = _NameSegment
    FORMAT = 1

    def search(
        self, text: str, *, threshold: float, limit: int, accept: Accept | None = None
    ) -> list[tuple[int, float]]:
        """Find the names most similar to a key: ids and scores, best first (ties: shorter first,
        then by name, then by id).

        A score is 1.0 for the same key, otherwise the similarity of whole names or, when fewer than
        `limit` are that much alike, of the words of the text to words of the name, at most 0.95;
        see `name_similarity`.

        Args:
            threshold: no score below it is returned, 0..1.
            accept: which ids may be returned; called for names that reach the threshold, best
                first.
        """
        if not text or limit <= 0:
            return []
        state = self._state
        matches = NameMatches(limit, accept)
        # A filter may refuse the best: more are compared, so that it has as good a choice.
        count = CANDIDATES if accept is None else FILTERED_CANDIDATES
        tail = self._live_tail(state)
        segments = state.segments
        if sum(len(segment.ids) for segment in segments) + len(tail) <= COMPARE_ALL:
            for segment in segments:
                tail += segment.live_names()
            segments = ()
        candidates: list[tuple[int, str]] = []
        for segment in segments:
            candidates += segment.first_names(segment.names.similar(text), count)
        matches.add(candidates + tail, text, (), threshold)
        words = split_name(text, query=True)
        good = sum(score >= GOOD_SCORE for _, score in matches.best())
        if good < limit and words:
            # Once a name is what was meant, only names that have every word are worth adding.
            candidates = tail
            if good:
                candidates = [pair for pair in tail if all(word in pair[1] for word in words)]
            for segment in segments:
                rows = segment.with_all_words(words) if good else segment.with_some_words(words)
                candidates = candidates + segment.first_names(rows, count)
            matches.add(candidates, text, words, threshold)
        return matches.best()

    def _live_tail(self, state: State[_NameSegment, str]) -> list[tuple[int, str]]:
        # The ids are copied first: rows may be ahead of them, never behind.
        pairs = list(zip(list(state.ids), state.rows, strict=False))
        if not self._dead:
            return pairs
        return [pair for pair in pairs if pair[0] not in self._dead]

    def _prepare(self, texts: Iterable[str]) -> list[str]:
        return list(texts)

    def _seal(
        self, parts: Sequence[tuple[_NameSegment, Mask]], ids: list[int], rows: list[str]
    ) -> _NameSegment:
        all_ids = list(ids)
        names = list(rows)
        for segment, alive in parts:
            live_rows = np.flatnonzero(alive).astype(np.int32)
            all_ids += segment.ids[live_rows].tolist()
            names += segment.names.texts(live_rows)
        return _NameSegment.seal(all_ids, names)
