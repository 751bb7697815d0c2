"""Name matches: how surely the name of a column speaks of a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from msgspec import Struct

from .facts import ColumnFacts, TableFacts
from .words import Role, likeness, word_lists

_ROLE = 0.95  # "billing address" for a table of addresses
_LAST_WORDS = 0.75  # "address" for one of customer addresses
_SHARED_END = 0.6  # "billing address" for one of customer addresses
_OWN_FRONT = 0.9  # "type" for one of customer types, in a table of customers
_PART = 0.72  # "sales rep" for one of employees
_SAME_TABLE = 0.85
_PLAIN_TEXT = 0.8
_PLAIN_NUMBER = 0.85
# a "create time" is one itself, and leads to no table of times
_MEASURES = frozenset(("time", "date", "year", "month", "day", "hour", "week"))
# units on order are units
_MEASURED = frozenset(("on", "per", "of"))
_SELF_ALONE = frozenset((
    "report", "reports", "reply", "predecessor", "successor", "superior", "ancestor", "prev",
    "next",
))  # fmt: skip
_ONLY_ONE = 0.85  # "address" where one table alone is of addresses of some kind


class NameMatch(Struct, frozen=True):
    """How surely a name speaks of a table, from 0 to 1, and why."""

    score: float
    why: str = ""


@lru_cache(maxsize=262_144)
def align(content: tuple[str, ...], table: tuple[str, ...]) -> float:
    """How surely words of a column's name are those of a table's, from 0 to 1.

    >>> align(("customer",), ("customer",)), align(("home", "team"), ("team",))
    (1.0, 0.95)
    >>> align(("customer", "type"), ("customer",)), align(("cdemo",), ("customer", "demographic"))
    (0.0, 0.9)
    """
    if not content or not table:
        return 0.0
    if "".join(content) == "".join(table):
        return 1.0
    if (whole := _ends_with(content, table)) > 0:
        return whole if len(content) == len(table) else whole * _ROLE
    if (fused := stands_for(content[-1], table)) > 0:
        return fused if len(content) == 1 else fused * _ROLE
    if len(content) < len(table):
        last = min(map(likeness, content, table[-len(content) :]))
        if last > 0:
            return last * _LAST_WORDS
    return likeness(content[-1], table[-1]) * _SHARED_END


def _ends_with(words: tuple[str, ...], end: tuple[str, ...]) -> float:
    """How surely words end with others: the likeness of the least similar pair."""
    if len(words) < len(end):
        return 0.0
    return min(map(likeness, words[-len(end) :], end))


@lru_cache(maxsize=65_536)
def stands_for(short: str, words: tuple[str, ...]) -> float:
    """Whether a short form is made of the beginnings of several words, each with its part."""
    if len(words) < 2 or len(short) < len(words) or len(short) > 8:
        return 0.0
    # initials alone are many things
    if len(short) == len(words):
        return 0.7 if short == "".join(word[0] for word in words) else 0.0
    return 0.9 if _is_made_of(short, words) else 0.0


def _is_made_of(short: str, words: Sequence[str]) -> bool:
    if not words:
        return not short
    ends = range(1, min(len(short), len(words[0])) + 1)
    return any(
        words[0].startswith(short[:end]) and _is_made_of(short[end:], words[1:]) for end in ends
    )


def best_of_kinds(tables: Mapping[str, TableFacts]) -> dict[Role, tuple[str, ...]]:
    """For each role, the tables that may have the people in it, best first: of each kind the only
    table there is."""
    found = {}
    for part in word_lists().parts:
        best: list[str] = []
        for kind in part.kinds:
            named = [name for name, table in tables.items() if table.words[-1:] == (kind,)]
            exact = [name for name in named if tables[name].words == (kind,)] or named
            best += exact if len(exact) == 1 else []
        found[part] = tuple(best)
    return found


def match_names(
    source: TableFacts,
    column: ColumnFacts,
    target: TableFacts,
    key: ColumnFacts,
    kinds: Mapping[Role, tuple[str, ...]],
    is_only: bool = False,
) -> NameMatch:
    """Say how surely a column's name speaks of the rows of `target`, whose key is `key`.

    Args:
        kinds: who plays which part.
        is_only: whether no other table's name ends as that of `target` does.
    """
    if not column.content:
        return NameMatch(0.0)
    if source is target:
        return _match_same_table(source, column, kinds)
    words = " ".join(column.content)
    aligned = align(column.content, target.words)
    if is_only and column.is_identifier and aligned > _SHARED_END * 0.8:
        aligned = max(aligned, _ONLY_ONE * aligned**0.2)
    by_part = _by_part(source, column, target, kinds)
    rated = [
        (_weigh(column, aligned), f"{words!r} names the table"),
        (_weigh(column, _by_front(source, column, target)), f"{words!r} names the table"),
        (_by_key(column, target, key), f"it is called as {target.name}.{key.name}"),
        (_weigh(column, by_part), f"a {column.content[-1]} is one of them"),
    ]
    return NameMatch(*max(rated, key=lambda each: each[0]))


def _weigh(column: ColumnFacts, score: float) -> float:
    """Lower the score of a name that does not end as an identifier does."""
    if column.is_identifier:
        return score
    if column.content[-1] in _MEASURES or not _MEASURED.isdisjoint(column.content[1:]):
        return score * 0.5
    return score * (_PLAIN_TEXT if column.item_class == "text" else _PLAIN_NUMBER)


def _by_front(source: TableFacts, column: ColumnFacts, target: TableFacts) -> float:
    """ "type_id" in customers, for a table customer_types."""
    front = source.words
    if target.words[: len(front)] != front or len(target.words) <= len(front):
        return 0.0
    return align(column.content, target.words[len(front) :]) * _OWN_FRONT


def _by_key(column: ColumnFacts, target: TableFacts, key: ColumnFacts) -> float:
    if not key.content:
        return 0.0
    if column.words == key.words:
        # two tables may well have a "name" each
        return 0.96 if key.is_identifier else 0.65
    if len(column.content) > len(key.content) and _ends_with(column.content, key.content) == 1.0:
        return 0.9 if key.is_identifier and column.is_identifier else 0.6
    return 0.0


def _by_part(
    source: TableFacts,
    column: ColumnFacts,
    target: TableFacts,
    kinds: Mapping[Role, tuple[str, ...]],
) -> float:
    for part, tables in kinds.items():
        if column.content[-1] in part.words:
            # an owner of accounts is not an account; a manager of employees is an employee
            others = tables if source is target else [t for t in tables if t != source.name]
            if others and others[0] == target.name:
                return _PART
    return 0.0


def _match_same_table(
    source: TableFacts, column: ColumnFacts, kinds: Mapping[Role, tuple[str, ...]]
) -> NameMatch:
    """A column that leads to other rows of its own table: manager_id, parent_category_id."""
    content = column.content
    for words in word_lists().same_table.values():
        begins = column.is_identifier and content[0] in words
        if begins or content[-1] in words:
            is_upper = content[0] in ("parent", "super", "root") or len(content) > 1
            if is_upper or _by_part(source, column, source, kinds) or content[-1] in _SELF_ALONE:
                return NameMatch(_SAME_TABLE, f"{' '.join(content)!r} is another row of its kind")
    score = align(content, source.words)
    if len(content) <= len(source.words) or score < _SAME_TABLE:
        return NameMatch(0.0)
    return NameMatch(score * 0.9, f"{' '.join(content)!r} is another row of its kind")


class TableNames:
    """Finds the tables whose names are anything like that of a column."""

    def __init__(self, tables: Mapping[str, TableFacts]) -> None:
        self.tables = tables
        self._joined: dict[str, set[str]] = defaultdict(set)
        self._by_words: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self._tables_ending_like = cache(self._find_ending_like)
        for name, table in tables.items():
            self._joined["".join(table.words)].add(name)
            self._by_words[table.words].add(name)

    def candidates(self, content: tuple[str, ...]) -> frozenset[str]:
        """The names of the tables that `align` finds similar to these words of a column."""
        if not content:
            return frozenset()
        same = self._joined.get("".join(content), ())
        return self._tables_ending_like(content[-1]).union(same)

    def _find_ending_like(self, word: str) -> frozenset[str]:
        return frozenset(
            name
            for words, names in self._by_words.items()
            if likeness(word, words[-1]) > 0 or stands_for(word, words) > 0
            for name in names
        )
