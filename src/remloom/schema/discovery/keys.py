"""Keys: the columns that tell the rows of a table apart, declared or inferred."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from .facts import ColumnFacts, TableFacts
from .name_matches import NameIndex, align
from .words import word_lists

_CERTAIN_ENOUGH = 0.5
_CERTAIN_BY_NAME = 0.6  # where no rows were read
_LONGEST = 64  # characters of a value of a key
_NAMED = 0.7  # how surely a name speaks of another table


class KeyProposal(Struct, frozen=True):
    """Columns that tell rows apart, how sure that is, and why."""

    columns: tuple[str, ...]
    declared: bool = False
    confidence: float = 1.0
    evidence: str = ""


def propose_key(facts: TableFacts, index: NameIndex) -> KeyProposal | None:
    """Propose the key of a table: the declared one, or a column that looks like one."""
    table = facts.table
    if table.primary_key:
        return KeyProposal(table.primary_key, True, evidence="the primary key that is declared")
    if table.unique:
        # the shortest that has no NULLs; an identifier before anything else
        columns = min(table.unique, key=lambda names: _unique_rank(facts, names))
        if not any(facts.column_of(name).column.nullable for name in columns):
            return KeyProposal(columns, True, 0.95, "a unique index, and never NULL")
    rated = [
        (_rate(facts, column, position, index), -position, column)
        for position, column in enumerate(facts.columns.values())
    ]
    score, _, best = max(rated, key=lambda each: each[:2], default=(0.0, 0, None))
    enough = _CERTAIN_ENOUGH if facts.is_sampled else _CERTAIN_BY_NAME
    if best is None or score < enough:
        return None
    return KeyProposal((best.name,), False, round(min(score, 0.99), 2), _evidence(facts, best))


def propose_pair(
    facts: TableFacts, parts: Sequence[str], is_unique: Callable[[Sequence[str]], bool]
) -> KeyProposal | None:
    """Propose several columns that lead elsewhere as the key of a table that has no other one.

    Args:
        parts: columns, in the order of the table; the fewest first of them that will do.
        is_unique: whether no two rows of a sample have the same values in these columns.
    """
    for end in range(2, min(len(parts), 4) + 1):
        columns = tuple(parts[:end])
        if is_unique(columns):
            evidence = f"no two of {facts.profile.sampled:,} rows have the same values in these"
            return KeyProposal(columns, False, 0.8, evidence)
    return None


def _unique_rank(facts: TableFacts, names: Sequence[str]) -> tuple[bool, int, bool]:
    columns = [facts.column_of(name) for name in names]
    nullable = any(column.column.nullable for column in columns)
    return nullable, len(columns), not columns[0].is_identifier


def _rate(facts: TableFacts, column: ColumnFacts, position: int, index: NameIndex) -> float:
    """How much a column looks like the key of its table, from 0 to 1."""
    if column.value_class is None or not _can_be_key(facts, column):
        return 0.0
    own = align(column.content, facts.words)
    is_natural = column.words[-1] in word_lists().natural
    is_whole = column.is_identifier and (is_natural or not column.content)
    score = 0.0
    if is_whole:
        # "id" rather than "code"
        score = 0.7 if set(column.words) & set(word_lists().opaque) else 0.55
    elif column.is_identifier:
        score = 0.25 + 0.4 * own
        # customer_type_id of customer_demographics
        score += 0.15 if column.content[:1] == facts.words[:1] else 0.0
    elif own == 1.0:
        score = 0.3
    score += 0.2 if position == 0 else 0.0
    score += 0.1 if column.value_class == "number" or _is_short(column) else 0.0
    if score >= _CERTAIN_ENOUGH and not is_whole and _names_other(facts, column, own, index):
        return 0.0
    return score


def _can_be_key(facts: TableFacts, column: ColumnFacts) -> bool:
    """Whether the sample does not say that it is none."""
    if not facts.is_sampled:
        return True
    return column.is_unique and column.profile.nulls == 0 and column.profile.longest <= _LONGEST


def _is_short(column: ColumnFacts) -> bool:
    return 0 < column.profile.longest <= 12


def _names_other(facts: TableFacts, column: ColumnFacts, own: float, index: NameIndex) -> bool:
    """Whether its name says rather that it leads to another table."""
    for name in index.near(column.content):
        other = index.tables[name]
        named = align(column.content, other.words)
        if other is facts or named < _NAMED:
            continue
        if named > own or (named == own and column.words in _words_of_key(other)):
            return True
    return False


def _words_of_key(facts: TableFacts) -> list[tuple[str, ...]]:
    if len(facts.table.primary_key) != 1:
        return []
    return [facts.column_of(facts.table.primary_key[0]).words]


def _evidence(facts: TableFacts, column: ColumnFacts) -> str:
    if facts.is_sampled:
        return f"{column.filled:,} values, all different; none is NULL; by its name"
    return "by its name and place; no rows were read"
