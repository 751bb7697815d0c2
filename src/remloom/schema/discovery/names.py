"""Names: the columns that hold what people call a row."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from statistics import median

import msgspec
from msgspec import Struct

from .facts import ColumnFacts, Proposal, TableFacts
from .name_matches import align
from .words import likeness

_ENOUGH = 0.45
_LONGEST = 80  # characters of a name, at the median
_FEW_ROWS = 12  # in so few, names that repeat say nothing
_REPEATED = 0.25  # different names by rows, below which they are kinds rather than names
# what looks like something else than a name
_LIKE_NO_NAME = re.compile(
    r"https?://\S+|www\.\S+|(/|[A-Za-z]:\\)\S+|[0-9a-f]{24,}|[0-9a-f]{8}-[0-9a-f-]{27}"
    r"|[\d\s.,:/+()-]+",
    re.IGNORECASE,
)
_OWN_NAME = 0.95
_OWN_IDENTIFIER = 0.46
_IDENTIFIERS = frozenset(("id", "key", "code", "no"))
_NAMED_SO = 0.85  # of a word that stands for a table's
_OF_PERSON = 0.47
_NAMESAKES = 0.75
_KINDS = 0.4
_LOOKED_AT = 200  # values of a column
_SHORTEST_END = 5  # letters of a word that ends the name of a table written as one


class _Only(Struct, frozen=True):
    words: frozenset[str]
    tables: frozenset[str]


class _Lists(Struct, frozen=True):
    whole: tuple[str, ...]
    first: frozenset[str]
    last: frozenset[str]
    kinds_of_names: frozenset[str]
    other_names: frozenset[str]
    instead: dict[str, float]
    alone: dict[str, float]
    neutral: frozenset[str]
    only: tuple[_Only, ...]
    people: frozenset[str]
    contents: frozenset[str]
    never: frozenset[str]


@cache
def _lists() -> _Lists:
    data = files(__package__).joinpath("name_words.toml").read_bytes()
    return msgspec.toml.decode(data, type=_Lists)


def is_of_people(words: Sequence[str]) -> bool:
    """Whether the rows of a table that is called so are people."""
    return bool(words) and words[-1] in _lists().people


def propose_name(
    facts: TableFacts, leading: Collection[str], others: Mapping[str, TableFacts]
) -> Proposal | None:
    """Propose the columns that hold what people call a row; None: there are none.

    Args:
        leading: columns that identify rows, of this table or another.
    """
    columns = [
        column
        for column in facts.columns.values()
        if column.column.kind in ("string", "enum")
        and not column.column.list
        and column.name not in leading
    ]
    persons = _name_of_person(facts, columns)
    rated = [
        (_rate(facts, column, others), -position, column)
        for position, column in enumerate(columns)
        if column is not persons
    ]
    rated = [
        (score * _share_of_names(facts, column, score), position, column)
        for score, position, column in rated
    ]
    score, _, best = max(rated, key=lambda each: each[:2], default=(0.0, 0, None))
    composed = _first_and_last(facts, columns)
    # a person's own name, unless there is one column of all of it
    if composed and (score < 1.0 or best is None or best.words[-1] == "title"):
        return composed
    if best is None or score < _ENOUGH:
        return None
    return Proposal((best.name,), round(min(score, 0.99), 2), _evidence(facts, best))


def _written(column: ColumnFacts) -> tuple[str, ...]:
    """Its full words, without numbers."""
    words = column.full_words
    if words[:1] == ("name",) and len(words) > 1:
        # name.first, of a document within one
        words = (*words[1:], "name")
    # line1, name_2
    return tuple(word for word in words if not word.isdigit()) or column.words


def _rate(facts: TableFacts, column: ColumnFacts, others: Mapping[str, TableFacts]) -> float:
    """How surely the name of a column says that it names rows, 0..1; above 1: the table's own."""
    lists = _lists()
    words = _written(column)
    own = _own_words(facts, words)
    text = " ".join(own)
    if text in lists.whole:
        if text == "title" and is_of_people(facts.words):
            return 0.4
        return _rate_own_name(facts, own, words) - lists.whole.index(text) * 0.01
    if words[-1] not in lists.contents:
        if words == facts.words or (not own and words[-1] not in lists.never):
            return 0.9
        # the language of a table of countries' languages; a file has a file name
        if _ends_with(facts.words, words):
            return 0.85 if " ".join(words) not in lists.alone else 0.61
    alone = " ".join(_own_words(facts, _without_neutral(own)))
    found = lists.instead.get(alone, 0.0)
    # the text of a value is not text
    if not lists.contents & set(words[: len(words) - len(own)]):
        found = max(found, lists.alone.get(alone, 0.0), _rate_own_identifier(facts, column))
    if found:
        return found * _as_identifier(facts, column, alone)
    if words[-1] in ("name", "title", "label"):
        return _rate_name_of(facts, words[:-1], others)
    if words[-1] in lists.never:
        return 0.0
    ends = [" ".join(words[-length:]) for length in (2, 1)]
    found = max(lists.instead.get(end, 0.0) * _as_identifier(facts, column, end) for end in ends)
    # somebody else's description, number, address
    return found * (0.9 if words[-1] == "description" else 0.8)


def _rate_own_identifier(facts: TableFacts, column: ColumnFacts) -> float:
    """The score of a text that identifies rows besides their key: a "run id" of runs."""
    words = _written(column)
    if len(words) < 2 or words[-1] not in _IDENTIFIERS or column.name in facts.table.primary_key:
        return 0.0
    return _OWN_IDENTIFIER if likeness(words[-2], facts.words[-1]) >= _NAMED_SO else 0.0


def _rate_own_name(facts: TableFacts, own: tuple[str, ...], words: tuple[str, ...]) -> float:
    """A "customer name" of customers before a name; behind it a "model name" of definitions of
    models."""
    if own == words:
        return 1.05
    return 1.1 if _ends_with(facts.words, words[: len(words) - len(own)]) else 1.0


def _ends_with(table: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Whether the name of a table ends with these words, also where it is written as one."""
    if len(words) <= len(table) and words == table[-len(words) :]:
        return True
    text = "".join(words)
    return len(text) >= _SHORTEST_END and "".join(table).endswith(text)


def _without_neutral(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without those before them that leave them what they are: "old path"."""
    while len(words) > 1 and words[0] in _lists().neutral:
        words = words[1:]
    return words


def _name_of_person(facts: TableFacts, columns: Sequence[ColumnFacts]) -> ColumnFacts | None:
    """The name of the author of a row, in a table with email addresses and titles."""
    if is_of_people(facts.words):
        return None
    by_text = {" ".join(_written(column)): column for column in columns}
    has_title = by_text.keys() & {"title", "subject", "headline"}
    has_mail = by_text.keys() & {"email", "e mail", "email address"}
    return by_text.get("name") if has_title and has_mail else None


def _own_words(facts: TableFacts, words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without those of the table before them: "customer name" is "name"."""
    for length in range(min(len(words), len(facts.words)), 0, -1):
        begins = words[:length] == facts.words[:length]
        if begins or align(words[:length], facts.words) >= 0.7:
            return words[length:]
    return words


def _rate_name_of(
    facts: TableFacts, kind: tuple[str, ...], others: Mapping[str, TableFacts]
) -> float:
    """How well the name of something does: a "company name" among customers, a "product name"
    among lines of orders."""
    lists = _lists()
    if _ends_with(facts.words, kind):
        return 1.0
    if lists.other_names.intersection(kind) and kind[-1] not in lists.kinds_of_names - {"display"}:
        return 0.0
    further = [each for each in others.values() if each is not facts]
    if any(align(kind, each.words) >= 0.95 for each in further):
        return 0.0
    is_general = kind[-1] in lists.kinds_of_names
    if not is_general and any(_ends_with(each.words, kind) for each in further):
        return 0.0
    # an "attendee name" of tickets
    if is_of_people(kind) and not is_of_people(facts.words):
        return _OF_PERSON
    # another column identifies what has this name
    if any(each.is_identifier and each.content == kind for each in facts.columns.values()):
        return 0.0
    return 0.85 if is_general else 0.62


def _as_identifier(facts: TableFacts, column: ColumnFacts, text: str) -> float:
    """A code or number is what a row is called only where no two have the same; a street names
    only a place, an address of mail only a person."""
    for only in _lists().only:
        if text in only.words:
            return float(_is_among(facts, only.tables))
    if text in ("code", "number", "no", "nr", "reference", "sku", "isbn", "symbol", "ticker"):
        return 1.0 if column.is_unique or not facts.is_sampled else 0.0
    if text == "key":
        return 1.0 if _has_attributes(facts) else 0.0
    return 1.0


def _is_among(facts: TableFacts, tables: Collection[str]) -> bool:
    if "people" in tables and is_of_people(facts.words):
        return True
    return any(table in facts.words or _ends_with(facts.words, (table,)) for table in tables)


def _has_attributes(facts: TableFacts) -> bool:
    """Whether rows are attributes of something: a key, and its value or what it is of."""
    parts = [_written(column)[-1] for column in facts.columns.values()]
    return not {"value", "val"}.isdisjoint(parts) or len(facts.table.primary_key) > 1


def _share_of_names(facts: TableFacts, column: ColumnFacts, score: float) -> float:
    """How much the values look like names: filled, different, not too long; 1 without values.

    Args:
        score: that of the column's own name.
    """
    if not column.filled:
        return 1.0 if not facts.is_sampled else 0.3
    filled = column.filled / facts.profile.sampled
    if filled < 0.5:
        return filled
    texts = [str(value) for value in column.profile.values[:_LOOKED_AT]]
    if sum(map(bool, map(_LIKE_NO_NAME.fullmatch, texts))) > len(texts) / 2:
        return 0.0
    is_long = median(map(len, texts)) > _LONGEST
    share = 0.5 if is_long else 1.0
    if column.uniqueness < _REPEATED and facts.profile.sampled >= _FEW_ROWS:
        # many may have one name, or an attribute of one key, but not one description
        is_shared = score >= _OWN_NAME or _written(column)[-1] == "key"
        share *= _NAMESAKES if is_shared else _KINDS
    return share


def _first_and_last(facts: TableFacts, columns: Sequence[ColumnFacts]) -> Proposal | None:
    lists = _lists()
    found: dict[str, str] = {}
    for column in columns:
        text = " ".join(_written(column))
        own = " ".join(_own_words(facts, _written(column)))
        for part, forms in (("first", lists.first), ("last", lists.last)):
            if text in forms or own in forms:
                found.setdefault(part, column.name)
    if len(found) == 2:
        return Proposal((found["first"], found["last"]), 0.95, "a first and a last name")
    if "last" in found and is_of_people(facts.words):
        return Proposal((found["last"],), 0.8, "a last name")
    return None


def _evidence(facts: TableFacts, column: ColumnFacts) -> str:
    if not column.filled:
        return "by its name"
    return f"{column.profile.distinct:,} different ones in {facts.profile.sampled:,} rows seen"
