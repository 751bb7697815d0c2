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

from .arrays import Array, Ids, contains
from .name_similarity import CANDIDATES, GOOD, WORD_LIKENESS, Accept, Found, likeness, words_of
from .segments import Mask, Segment, SegmentedIndex, State

__all__ = ["EDITS", "FEW", "FILTERED_CANDIDATES", "LONGEST", "RAREST", "NameIndex", "trigram_keys"]

Rows = NDArray[np.int32]

FEW = 1_000  # names that are all compared, which misses nothing
EDITS = 2  # whole names are compared when their lengths differ by at most this
RAREST = 7  # trigrams read for a name
FILTERED_CANDIDATES = 1_000  # the same when there is a filter
LONGEST = 64  # characters of a name whose trigrams are indexed

_READ_AT_MOST = 16_384  # names of one word, shortest first
_NO_ROWS: Rows = np.empty(0, np.int32)
_BLOCK = 100_000  # names turned into trigrams at a time


def _hash(word: str) -> int:
    return int.from_bytes(
        blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


def _trigrams(text: str) -> set[int]:
    """The hashes of a text's trigrams, two blanks before it and one behind."""
    codes = (0, 0, *map(ord, text[:LONGEST]), 0)
    return {
        ((a * 0x9E3779B1 + b) * 0x85EBCA6B + c) & 0xFFFFFFFF
        for a, b, c in zip(codes, codes[1:], codes[2:], strict=False)
    }


def trigram_keys(texts: Sequence[str], first: int) -> NDArray[np.uint64]:
    """`trigram << 32 | row` for each trigram of each text: `_trigrams` for many at once."""
    pieces = [text[:LONGEST] for text in texts]
    codes = np.frombuffer(
        "".join([f"\0\0{p}\0" for p in pieces]).encode("utf-32-le", "surrogatepass"), "<u4"
    )
    sizes = np.array([len(p) for p in pieces], np.int64) + 3
    hashes = (codes[:-2] * np.uint32(0x9E3779B1) + codes[1:-1]) * np.uint32(0x85EBCA6B) + codes[2:]
    inside = np.ones(len(codes), bool)
    ends = np.cumsum(sizes)
    inside[ends - 1] = inside[ends - 2] = False
    rows = np.repeat(np.arange(first, first + len(texts), dtype=np.uint64), sizes)
    keys: NDArray[np.uint64] = hashes.astype(np.uint64) << np.uint64(32) | rows[:-2]
    return keys[inside[:-2]]


class _Strings:
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
        """The arrays of these strings, which are in order."""
        encoded = [s.encode("utf-8", "surrogatepass") for s in strings]
        starts = np.zeros(len(strings) + 1, np.int64)
        np.cumsum([len(e) for e in encoded], out=starts[1:])
        blocks = [
            trigram_keys(strings[low : low + _BLOCK], low) for low in range(0, len(strings), _BLOCK)
        ]
        keys = np.concatenate([np.empty(0, np.uint64), *blocks])
        del blocks
        keys.sort()
        keys = keys[_run_starts(keys)]
        rows = (keys & np.uint64(0xFFFFFFFF)).astype(np.int32)
        lengths = np.array([min(len(s), LONGEST) for s in strings], np.uint64)
        keys >>= np.uint64(32)
        keys <<= np.uint64(8)
        keys |= lengths[rows]
        gram_starts = _run_starts(keys)
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
        """The strings of these rows."""
        bounds = zip(self._starts[rows].tolist(), self._starts[rows + 1].tolist(), strict=True)
        text = self._text
        return [text[a:b].decode("utf-8", "surrogatepass") for a, b in bounds]

    def near(self, text: str) -> Rows:
        """Rows that may be within two edits of the text: most of its rarest trigrams first, shorter
        first."""
        length, grams = min(len(text), LONGEST), _trigrams(text)
        low, high = max(length - EDITS, 0), length + EDITS + 1
        bounds = np.array([g << 8 | low for g in grams] + [g << 8 | high for g in grams], np.uint64)
        starts = self._gram_starts[np.searchsorted(self._grams, bounds)].tolist()
        ranges = sorted(
            (b - a, a) for a, b in zip(starts, starts[len(grams) :], strict=False) if b > a
        )[:RAREST]
        return _most_often([self._gram_rows[a : a + size] for size, a in ranges])


def _run_starts(ordered: Array) -> Ids:
    if not len(ordered):
        return np.empty(0, np.int64)
    changes = np.flatnonzero(ordered[1:] != ordered[:-1])
    starts = np.zeros(len(changes) + 1, np.int64)
    np.add(changes, 1, out=starts[1:])
    return starts


def _most_often(lists: Sequence[Rows]) -> Rows:
    """The rows of these ascending lists without repeats, those in most lists first, lower first."""
    if len(lists) < 2:
        return lists[0] if lists else _NO_ROWS
    rows = np.concatenate(lists)
    rows.sort()
    repeats = rows[1:] == rows[:-1]
    again = rows[1:][repeats]
    starts = _run_starts(again)
    often = np.empty(len(starts), np.int8)  # 8 bits sort by radix
    often[:-1] = starts[1:] - starts[:-1]
    often[-1:] = len(again) - starts[-1:]
    several: Rows = again[starts][np.argsort(-often, kind="stable")]
    if len(several) >= CANDIDATES:
        return several
    once = np.ones(len(rows), bool)
    once[1:] ^= repeats
    once[:-1] &= ~repeats
    ranked: Rows = np.concatenate([several, rows[once]])
    return ranked


class _NameSegment(Segment):
    """Names in order of (length, text), and the names that have a word."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        super().__init__(arrays)
        self.names = _Strings(arrays, "names")
        self.words = _Strings(arrays, "words")
        self._word_hashes: NDArray[np.uint64] = arrays["word_hashes"]  # ascending
        self._hashed_words: Ids = arrays["hashed_words"]  # the word of each hash
        self._word_starts: Ids = arrays["word_starts"]
        self._word_rows: Rows = arrays["word_rows"]

    @classmethod
    def seal(cls, ids: Sequence[int], names: Sequence[str]) -> _NameSegment:
        order = sorted(range(len(names)), key=lambda i: (len(names[i]), names[i]))
        names = [names[i] for i in order]
        postings: dict[str, list[int]] = {}
        for row, name in enumerate(names):
            for word in words_of(name, asked=False):
                postings.setdefault(word, []).append(row)
        words = sorted(postings, key=lambda word: (len(word), word))
        hashes = np.array([_hash(word) for word in words], np.uint64)
        by_hash = np.argsort(hashes)
        return cls({
            "ids": np.array([ids[i] for i in order], np.int64),
            **_Strings.arrays(names, "names"),
            **_Strings.arrays(words, "words"),
            "word_hashes": hashes[by_hash],
            "hashed_words": by_hash,
            "word_starts": np.cumsum([0, *(len(postings[word]) for word in words)]),
            "word_rows": np.array([row for word in words for row in postings[word]], np.int32),
        })  # fmt: skip

    def near(self, text: str) -> Rows:
        """Rows of names that may be within two edits of the text, the likeliest first."""
        return self.names.near(text)

    def with_all_words(self, words: Sequence[str]) -> Rows:
        """Rows of the names that have every word, shorter first."""
        found: list[Rows] = []
        for word in words:
            row = self._find_word(word)
            if row is None:
                return _NO_ROWS
            found.append(self._posting(row))
        found.sort(key=len)
        rows = found[0]
        for others in found[1:]:
            rows = rows[contains(others, rows)]
        return rows

    def with_some_words(self, words: Sequence[str]) -> Rows:
        """Rows of names that have some of the words, or words like them, the likeliest first."""
        found = sorted(filter(len, (self._with_word_like(word) for word in words)), key=len)
        if len(found) < 2:
            return found[0] if found else _NO_ROWS
        several = _most_often(found)
        # Of the names with one of the words, those with the rarest come first.
        each = np.concatenate([rows[:CANDIDATES] for rows in found])
        _, first = np.unique(each, return_index=True)
        return np.concatenate([several[:CANDIDATES], each[np.sort(first)], several[CANDIDATES:]])

    def _find_word(self, word: str) -> int | None:
        wanted = _hash(word)
        at = int(np.searchsorted(self._word_hashes, np.uint64(wanted)))
        found = at < len(self._word_hashes) and self._word_hashes[at] == wanted
        return int(self._hashed_words[at]) if found else None

    def _with_word_like(self, word: str) -> Rows:
        exact = self._find_word(word)
        if exact is not None:
            return self._posting(exact)
        rows = self.words.near(word)[:CANDIDATES]
        alike = likeness([word], self.words.texts(rows), WORD_LIKENESS)[0]
        best = rows[np.argsort(-alike, kind="stable")[: np.count_nonzero(alike)]][:8]
        lists = [self._posting(row) for row in best.tolist()]
        return np.unique(np.concatenate(lists)) if lists else _NO_ROWS

    def _posting(self, row: int) -> Rows:
        start = self._word_starts[row]
        return self._word_rows[start : min(self._word_starts[row + 1], start + _READ_AT_MOST)]

    def all(self) -> list[tuple[int, str]]:
        """Ids and names of all rows that live."""
        return [pair for pair, dead in zip(self._all, self.dead.tolist(), strict=True) if not dead]

    @cached_property
    def _all(self) -> list[tuple[int, str]]:
        rows = np.arange(len(self.ids), dtype=np.int32)
        return list(zip(self.ids.tolist(), self.names.texts(rows), strict=True))

    def named(self, rows: Rows, count: int) -> list[tuple[int, str]]:
        """Ids and names of the first of these rows that live."""
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
    FORMAT = 1

    def search(
        self, text: str, *, threshold: float, limit: int, accept: Accept | None = None
    ) -> list[tuple[int, float]]:
        """The names most like the text: ids and scores, best first (ties: shorter first, then by
        name, then by id).

        Args:
            text: a key, as `labels.key` makes it.
            threshold: no score below it is returned, 0..1.
            accept: which ids may be returned; asked of names that reach the threshold, best first.

        A score is 1.0 for the same key, otherwise the similarity (one less the share of characters
        to insert, delete, replace or swap) of whole names or, when fewer than `limit` are that much
        alike, of the words of the text to words of the name, at most 0.95.
        """
        if not text or limit <= 0:
            return []
        state, words = self._state, words_of(text, asked=True)
        found = Found(limit, accept)
        # A filter may refuse the best: more are compared, so that it has as good a choice.
        count = CANDIDATES if accept is None else FILTERED_CANDIDATES
        tail, segments = self._living_tail(state), state.segments
        if sum(len(segment.ids) for segment in segments) + len(tail) <= FEW:
            tail, segments = [*tail, *(pair for segment in segments for pair in segment.all())], ()
        named = [pair for s in segments for pair in s.named(s.near(text), count)]
        found.add(named + tail, text, (), threshold)
        good = sum(score >= GOOD for _, score in found.best())
        if good < limit and words:
            # Where something is what was meant, only names that have every word are worth adding.
            named = [pair for pair in tail if not good or all(map(pair[1].__contains__, words))]
            for segment in segments:
                rows = segment.with_all_words(words) if good else segment.with_some_words(words)
                named += segment.named(rows, count)
            found.add(named, text, words, threshold)
        return found.best()

    def _living_tail(self, state: State[_NameSegment, str]) -> list[tuple[int, str]]:
        pairs = list(zip(list(state.ids), state.rows, strict=False))
        return [pair for pair in pairs if pair[0] not in self._dead] if self._dead else pairs

    def _prepare(self, texts: Iterable[str]) -> list[str]:
        return list(texts)

    def _seal(
        self, parts: Sequence[tuple[_NameSegment, Mask]], ids: list[int], rows: list[str]
    ) -> _NameSegment:
        all_ids, names = list(ids), list(rows)
        for segment, alive in parts:
            kept = np.flatnonzero(alive).astype(np.int32)
            all_ids += segment.ids[kept].tolist()
            names += segment.names.texts(kept)
        return _NameSegment.seal(all_ids, names)

    @classmethod
    def _revive(cls, arrays: dict[str, Array]) -> _NameSegment:
        return _NameSegment(arrays)
