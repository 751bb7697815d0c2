"""Facts of a table, before anything is proposed: its description, a sample, its words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from ..databases.contract import Column, ColumnProfile, Table, TableProfile, items_of
from .words import Vocabulary, content_words, is_identifier, word_lists

_TEXTS = 100  # of a column that are looked at

# what values can be equal to each other; None: those of no key
ValueClass: TypeAlias = Literal["number", "text"]


class ColumnFacts:
    """A column as the database describes it, with its sample and the words of its name."""

    def __init__(
        self, column: Column, profile: ColumnProfile | None, sampled: int, words: tuple[str, ...]
    ) -> None:
        self.column = column
        self.name = column.name
        self.profile = profile or ColumnProfile(column=column.name)
        self.words = words
        self.content = content_words(words)
        self.is_identifier = is_identifier(words)
        self.filled = sampled - self.profile.nulls  # rows sampled that have a value

    @cached_property
    def values(self) -> frozenset[Any]:
        """Different values of the sample, of lists those in them, whole numbers as int."""
        if self.column.list:
            return frozenset(map(_plain, items_of(self.profile.values)))
        hashable = [value for value in self.profile.values if not isinstance(value, list | dict)]
        return frozenset(map(_plain, hashable))

    @cached_property
    def texts(self) -> list[str]:
        """Some texts of the sample."""
        return [value for value in self.profile.values if isinstance(value, str)][:_TEXTS]

    @cached_property
    def full_words(self) -> tuple[str, ...]:
        """Its words with short forms spelled out: lname is "last name"."""
        forms = word_lists().abbreviations
        return tuple(part for word in self.words for part in forms.get(word, (word,))[0].split())

    @property
    def value_class(self) -> ValueClass | None:
        """The class of values that its own can equal; None: values of no other column."""
        return None if self.column.list else self.item_class

    @cached_property
    def item_class(self) -> ValueClass | None:
        """The class of values that its own, or those in its lists, can equal."""
        kind = self.column.kind
        if kind == "integer":
            return "number"
        if kind in ("decimal", "float"):
            return "number" if self._holds_whole_numbers else None
        return "text" if kind == "string" else None

    @property
    def is_unique(self) -> bool:
        """Whether the sample has values, and no two rows of it the same."""
        return self.filled > 0 and self.profile.distinct == self.filled

    @property
    def uniqueness(self) -> float:
        """Different values by rows that have one; 1 without a sample."""
        return self.profile.distinct / self.filled if self.filled else 1.0

    @property
    def _holds_whole_numbers(self) -> bool:
        if not self.values:
            declared = self.column.declared.replace(" ", "").lower()
            return self.column.kind == "decimal" and declared.endswith((",0)", "(38)"))
        return all(isinstance(value, int) for value in self.values)


class TableFacts:
    """A table as the database describes it, with a sample and the words of its name."""

    def __init__(self, table: Table, profile: TableProfile | None, vocabulary: Vocabulary) -> None:
        self.table = table
        self.name = table.name
        self.profile = profile or TableProfile(table=table.name)
        self.words = vocabulary.of_table(table.name)
        by_name = {each.column: each for each in self.profile.columns}
        names = [column.name for column in table.columns]
        self.columns = {
            column.name: ColumnFacts(
                column,
                by_name.get(column.name),
                self.profile.sampled,
                vocabulary.of_column(column.name, names),
            )
            for column in table.columns
        }

    @property
    def is_sampled(self) -> bool:
        return self.profile.sampled > 0

    @property
    def rows(self) -> int | None:
        """The number of rows, as well as it is known."""
        return self.table.rows if self.profile.rows is None else self.profile.rows

    def column_of(self, name: str) -> ColumnFacts:
        """Find a column, whatever the case of its name."""
        return self.columns.get(name) or self._by_lower[name.lower()]

    @cached_property
    def _by_lower(self) -> dict[str, ColumnFacts]:
        return {name.lower(): column for name, column in self.columns.items()}


class Proposal(Struct, frozen=True):
    """Columns of the key or of the human name of a table, how sure that is, and why."""

    columns: tuple[str, ...]
    confidence: float = 1.0
    evidence: str = ""
    declared: bool = False  # by the database


# reads rows of some columns of a table
ReadRows: TypeAlias = Callable[[TableFacts, Sequence[str]], Sequence[tuple[Any, ...]]]


def gather_facts(
    tables: Sequence[Table], profiles: Mapping[str, TableProfile]
) -> dict[str, TableFacts]:
    vocabulary = Vocabulary([table.name for table in tables])
    return {table.name: TableFacts(table, profiles.get(table.name), vocabulary) for table in tables}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    return value
