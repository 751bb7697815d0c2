"""The index of names: which have a trigram at a length, and which have a word, over postings in a
table.

Names are numbered as they are written. The latest are the tail, which is compared name by name;
when it has become long it is sealed into a run: its postings in order, cut into pages, of which a
query reads those it needs. Small runs are merged as they become many. A name that is gone stays in
its run until that is merged, and is passed over meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ..indexes.name_similarity import CANDIDATES, WORD_LIKENESS, likeness, words_of
from ..indexes.trigrams import EDITS, FEW, FILTERED_CANDIDATES, LONGEST, RAREST, trigram_keys
from .binary_arrays import Column
from .compaction import mergeable

if TYPE_CHECKING:
    from psycopg import Cursor

    from .transaction import Transaction

__all__ = ["OF_TYPE", "TAIL", "Names", "missing", "seal", "take"]

TAIL = FEW  # names compared one by one
_AT_ONCE = 50_000  # names sealed at a time
_PAGE = 256  # postings
_PAGES = 64  # of a run, read for a trigram or a word: enough to know that it is frequent
_SAMPLE = 200  # names looked at for words like one of the text that no name has
_ALIKE = 8  # such words taken for it

# A posting is a gram (the hash of a trigram or a word), the length of the name, and its number,
# counted back from the last of the run: 24, 7 and 32 bits.
_POSTING = np.dtype("<i8")
_GRAM = (1 << 24) - 1
_LENGTH_BITS, _PLACE_BITS = 7, 32
_LENGTH, _PLACE = (1 << _LENGTH_BITS) - 1, (1 << _PLACE_BITS) - 1

_RUNS = "SELECT run, names, size FROM remloom.name_runs WHERE tenant_id = %s ORDER BY run"
_LIVING = (
    "SELECT array_agg(number) FROM remloom.names WHERE tenant_id = %s AND number BETWEEN %s AND %s"
)
_LATEST = """
SELECT number, coalesce(label, key) FROM remloom.names WHERE tenant_id = %s AND number > %s ORDER BY number LIMIT %s
"""
_SEALED = """
SELECT n.number, coalesce(n.label, n.key) FROM remloom.tenants t
JOIN remloom.names n ON n.tenant_id = t.tenant_id AND n.number <= t.sealed WHERE t.tenant_id = %s
"""
_EVERYTHING = "SELECT run, data FROM remloom.name_pages WHERE tenant_id = %s"
_TAKEN = "DELETE FROM remloom.name_pages WHERE tenant_id = %s AND run = ANY (%b::bigint[]) RETURNING run, data"
# A page is known by its first posting, so what is looked for may begin in the one before.
_READ = """
SELECT g.place - 1, r.run, p.data
FROM remloom.name_runs r CROSS JOIN unnest(%s::bigint[], %s::bigint[]) WITH ORDINALITY g (low, high, place)
CROSS JOIN LATERAL (
  SELECT coalesce(max(p.first), 0) AS first FROM remloom.name_pages p
  WHERE p.tenant_id = %s AND p.run = r.run AND p.first <= g.low) s
CROSS JOIN LATERAL (
  SELECT p.data FROM remloom.name_pages p
  WHERE p.tenant_id = %s AND p.run = r.run AND p.first >= s.first AND p.first < g.high ORDER BY p.first LIMIT %s) p
WHERE r.tenant_id = %s
"""
OF_TYPE = "(r.type = %(type)s OR r.schema = %(type)s OR starts_with(r.type, %(type)s || '/'))"
_TYPED = f"""
CROSS JOIN LATERAL (SELECT FROM remloom.records r
  WHERE r.tenant_id = %(tenant)s AND r.id = n.id AND {OF_TYPE} OFFSET 0) r
"""

Numbers = NDArray[np.int64]
Postings = NDArray[np.int64]


class _Run(NamedTuple):
    """The postings of names numbered up to here."""

    number: int
    names: int
    size: int


class Tail(NamedTuple):
    """Names by number that are in no run, and the runs there are."""

    runs: Sequence[_Run]
    named: Sequence[tuple[int, str]]


class _Found(NamedTuple):
    """Postings that were looked for."""

    asked: NDArray[np.int64]  # which of the ranges asked for each is in
    lengths: NDArray[np.int64]
    numbers: Numbers

    def where(self, kept: NDArray[np.bool_]) -> _Found:
        return _Found(*(column[kept] for column in self))


# -- writing ---------------------------------------------------------------------------------------


def take(writing: Transaction) -> Tail:
    """Take the tail, or the beginning of a very long one, to be sealed before the transaction ends."""
    runs = [_Run(*row) for row in writing.all(_RUNS)]
    if writing.unnamed > sum(run.names for run in runs) // 2:  # better begin again
        for table in ("name_pages", "name_runs"):
            writing.do(f"DELETE FROM remloom.{table} WHERE tenant_id = %s")
        runs, writing.sealed, writing.unnamed = [], 0, 0
    named = writing.all(_LATEST, writing.sealed, _AT_ONCE)
    writing.sealed = writing.names if len(named) < _AT_ONCE else named[-1][0]
    return Tail(runs, named)


def seal(writing: Transaction, tail: Tail) -> None:
    """Put what was taken into a run."""
    runs, named = tail
    if not named:
        return
    last, count = named[-1][0], len(named)
    postings = _postings(named, last)
    if merged := mergeable(runs, len(postings)):
        old = _living(writing, _take(writing, merged, last), last)
        postings = np.sort(np.concatenate([old, postings]), kind="stable")
        count += sum(run.names for run in merged)
    data = postings.astype(_POSTING).tobytes()
    size = _PAGE * postings.itemsize
    writing.do("INSERT INTO remloom.name_runs VALUES (%s, %s, %s, %s)", last, count, len(postings))
    writing.do(
        "INSERT INTO remloom.name_pages SELECT %s, %s, * FROM unnest(%b::bigint[], %b::bytea[])",
        last, Column("q", postings[::_PAGE].tolist()),
        Column("y", [data[at : at + size] for at in range(0, len(data), size)]),
    )  # fmt: skip


def _postings(named: Sequence[tuple[int, str]], last: int) -> Postings:
    """The postings of names by number, in order, with numbers counted back from `last`."""
    names = [name for _, name in named]
    places = np.array([last - number for number, _ in named])
    lengths = np.array([min(len(name), LONGEST) for name in names])
    trigrams, rows = _trigrams(names)
    words = [words_of(name, asked=False) for name in names]
    grams = np.append(
        trigrams, np.array([_word(word) for some in words for word in some], np.int64)
    )
    rows = np.append(rows, np.repeat(np.arange(len(names)), [len(some) for some in words]))
    postings = np.sort((grams << _LENGTH_BITS | lengths[rows]) << _PLACE_BITS | places[rows])
    distinct: Postings = postings[np.append(True, postings[1:] != postings[:-1])]
    return distinct


def _take(writing: Transaction, runs: Sequence[_Run], last: int) -> Postings:
    """The postings of runs, with numbers counted back from `last`; the runs are gone."""
    numbers = Column("q", [run.number for run in runs])
    writing.do(
        "DELETE FROM remloom.name_runs WHERE tenant_id = %s AND run = ANY (%b::bigint[])", numbers
    )
    cursor = writing.cursor.connection.cursor(binary=True)
    rows = cursor.execute(_TAKEN, (writing.tenant, numbers)).fetchall()
    return _joined(rows, last)


def _living(writing: Transaction, postings: Postings, last: int) -> Postings:
    """Those of names that are there."""
    places = postings & _PLACE
    furthest = int(places.max(initial=0))
    ((numbers,),) = writing.all(_LIVING, last - furthest, last)
    living = np.zeros(furthest + 1, bool)
    living[last - np.array(numbers or [], np.int64)] = True
    kept: Postings = postings[living[places]]
    return kept


def _joined(rows: Sequence[tuple[int, bytes]], last: int) -> Postings:
    """The postings of pages of runs, with numbers counted back from `last`."""
    behind = np.array([last - run for run, _ in rows], np.int64)
    return _unpacked(data for _, data in rows) + np.repeat(
        behind, [len(data) // _POSTING.itemsize for _, data in rows]
    )


def _unpacked(pages: Iterable[bytes]) -> Postings:
    return np.frombuffer(b"".join(pages), _POSTING)


def _trigrams(names: Sequence[str]) -> tuple[Postings, Postings]:
    """The trigrams of names, and in which name each is."""
    found = trigram_keys(names, 0)
    return (found >> np.uint64(32)).astype(np.int64) & _GRAM, (
        found & np.uint64(0xFFFFFFFF)
    ).astype(np.int64)


def _grams_of(*texts: str) -> list[int]:
    grams: list[int] = np.unique(_trigrams(texts)[0]).tolist()
    return grams


def _word(word: str) -> int:
    return crc32(word.encode("utf-8", "surrogatepass")) & _GRAM


# -- reading ---------------------------------------------------------------------------------------


def missing(cursor: Cursor[Any], tenant: str) -> int:
    """How many postings of names that are no longer in the tail are in no run."""
    named = cursor.execute(_SEALED, (tenant,)).fetchall()
    rows = cursor.connection.cursor(binary=True).execute(_EVERYTHING, (tenant,)).fetchall()
    return len(np.setdiff1d(_postings(named, _PLACE), _joined(rows, _PLACE))) if named else 0


class Names:
    """The names of a tenant that may be like a text, as one transaction sees them.

    Args:
        text: a key.
        words: the words of it.
        type: only names of records of this type or schema.
    """

    def __init__(
        self, cursor: Cursor[Any], tenant: str, text: str, words: Sequence[str], type: str | None
    ) -> None:
        self._cursor = cursor
        self._values = {"tenant": tenant, "type": type}
        self._from = "remloom.names n" + ("" if type is None else _TYPED)
        # A filter may refuse the best: more are compared, so that it has as good a choice.
        self._count = CANDIDATES if type is None else FILTERED_CANDIDATES
        self._words = words
        length = min(len(text), LONGEST)
        near = _ranges(_grams_of(text), max(length - EDITS, 0), length + EDITS)
        found = self._read([*_ranges(map(_word, words)), *near])
        self._near = found.where(found.asked >= len(words))
        self._worded = found.where(found.asked < len(words))

    def tail(self) -> list[str]:
        """The latest."""
        rows = self._cursor.execute(
            f"SELECT array_agg(coalesce(n.label, n.key)) FROM {self._from} WHERE n.tenant_id = %(tenant)s"
            " AND n.number > (SELECT t.sealed FROM remloom.tenants t WHERE t.tenant_id = %(tenant)s)",
            self._values,
        ).fetchall()
        return rows[0][0] or []

    def near(self) -> list[str]:
        """Names that may be within two edits: most of the text's rarest trigrams first, shorter
        first."""
        return self._best(*_ranked(_rarest(self._near)), self._count)

    def with_all_words(self) -> list[str]:
        """Names that have every word, shorter first."""
        numbers, ranks = _ranked(self._worded)
        every = ranks >> _LENGTH_BITS == -len(self._words)
        return self._best(numbers[every], ranks[every], self._count)

    def with_some_words(self) -> list[str]:
        """Names that have some of the words, or words like them: most of them first, then the
        rarest one first."""
        found = self._worded
        for place in np.setdiff1d(np.arange(len(self._words)), found.asked).tolist():
            like = self._read(_ranges(map(_word, self._words_like(self._words[place]))))
            numbers, at = np.unique(like.numbers, return_index=True)
            more = _Found(np.full(len(numbers), place), like.lengths[at], numbers)
            found = _Found(*map(np.concatenate, zip(found, more, strict=True)))
        return self._best(*_ranked(found, rarer_first=True), self._count)

    def _words_like(self, word: str) -> list[str]:
        """Words of names that are most like one that no name has."""
        found = self._read(_ranges(_grams_of(word, f"-{word}-")))
        names = self._best(*_ranked(_rarest(found)), _SAMPLE)
        words = list(dict.fromkeys(word for name in names for word in words_of(name, asked=False)))
        alike = likeness([word], words, WORD_LIKENESS)[0]
        return [
            words[at] for at in np.argsort(-alike, kind="stable")[:_ALIKE].tolist() if alike[at]
        ]

    def _read(self, ranges: Sequence[tuple[int, int]]) -> _Found:
        low, high = np.array(ranges, np.int64).reshape(-1, 2).T
        tenant = self._values["tenant"]
        cursor = self._cursor.connection.cursor(binary=True)
        bounds = Column("q", low.tolist()), Column("q", high.tolist())
        rows = cursor.execute(_READ, (*bounds, tenant, tenant, _PAGES, tenant)).fetchall()
        asked, runs = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T
        sizes = [len(data) // _POSTING.itemsize for *_, data in rows]
        postings = _unpacked(data for *_, data in rows)
        there = (postings >= np.repeat(low[asked], sizes)) & (
            postings < np.repeat(high[asked], sizes)
        )
        page = np.repeat(np.arange(len(rows)), sizes)[there]
        postings = postings[there]
        return _Found(
            asked[page], postings >> _PLACE_BITS & _LENGTH, runs[page] - (postings & _PLACE)
        )

    def _best(self, numbers: Numbers, ranks: NDArray[np.int64], count: int) -> list[str]:
        """The first names that are there, in the order of their ranks (ties: shorter first, then by
        name)."""
        order = np.argsort(ranks, kind="stable")
        numbers, ranks = numbers[order], ranks[order]
        found: dict[str, None] = {}
        start = 0
        while start < len(numbers) and len(found) < count:
            end = int(np.searchsorted(ranks, ranks[min(start + count, len(ranks)) - 1], "right"))
            rank = dict(zip(numbers[start:end].tolist(), ranks[start:end].tolist(), strict=True))
            rows = self._cursor.execute(
                f"SELECT n.number, coalesce(n.label, n.key) FROM {self._from}"
                " WHERE n.tenant_id = %(tenant)s AND n.number = ANY (%(numbers)b::bigint[])",
                self._values | {"numbers": Column("q", list(rank))},
            ).fetchall()
            ordered = sorted((rank[number], len(name), name) for number, name in rows)
            found |= dict.fromkeys(name for _, _, name in ordered)
            start = end
        return list(islice(found, count))


def _ranges(
    grams: Iterable[int], shortest: int = 0, longest: int = LONGEST
) -> list[tuple[int, int]]:
    """Between which postings are those of each gram, in names of these lengths."""
    heads = [gram << _LENGTH_BITS for gram in grams]
    return [
        ((head + shortest) << _PLACE_BITS, (head + longest + 1) << _PLACE_BITS) for head in heads
    ]


def _rarest(found: _Found) -> _Found:
    """Of what was asked for, what fewest names have."""
    counts = np.bincount(found.asked)
    there = np.flatnonzero(counts)
    rarest = there[np.argsort(counts[there], kind="stable")[:RAREST]]
    return found.where(np.isin(found.asked, rarest))


def _ranked(found: _Found, *, rarer_first: bool = False) -> tuple[Numbers, NDArray[np.int64]]:
    """Each number, and its rank: what was found more often comes first; or, of what was found once,
    what was found by what fewer names have; then what is shorter."""
    numbers, first, times = np.unique(found.numbers, return_index=True, return_counts=True)
    ranks = -times
    if rarer_first:
        once = times == 1
        rarity = np.argsort(np.argsort(np.bincount(found.asked), kind="stable"))
        ranks[once] = rarity[found.asked[first[once]]]
    return numbers, ranks << _LENGTH_BITS | found.lengths[first]
