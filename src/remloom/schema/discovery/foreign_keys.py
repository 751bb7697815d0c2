"""Foreign keys that nobody declared: by inclusion of values, by names, by what is covered."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..databases.contract import ForeignKey
from ..plan.planned import PlannedEdge, Question
from .facts import ColumnFacts, Proposal, ReadRows, TableFacts
from .name_matches import NameMatch, TableNames, align, best_of_kinds, match_names
from .words import word_lists

# (table, columns, different values) -> how many of them are there; None: too expensive to count
Contains = Callable[[str, Sequence[str], Sequence[tuple[Any, ...]]], "int | None"]

_INCLUDED = 0.98  # of the values of a foreign key are those of what it leads to
_MOSTLY_INCLUDED = 0.8  # where the name leaves no doubt: the others are orphans
_NO_DOUBT = 0.9
_ENOUGH = 0.75  # confidence of an edge, with values
_ENOUGH_BY_NAME = 0.72  # of a name alone
_HALF = 0.5
_WORTH_ASKING = 0.3
_SUPPORT = 0.55  # of what a name leaves open, what values can say at most
_FEW = 3  # different values, which are in any key by chance
_MANY = 10  # of text, which are there by no chance
_NO_VALUES = frozenset((0, -1, "", "0", "-1", "N/A", "NULL", "None", "none", "null"))
_CONFIDENCE = 0.85  # of an edge of several columns


class KeyMatch(Struct, frozen=True):
    """A column, a key that it might lead to, and the evidence for it."""

    source: TableFacts
    column: ColumnFacts
    target: TableFacts
    key: ColumnFacts
    name: NameMatch
    included: float | None = None  # share of its values that are in the key; None: not known
    covered: float = 0.0  # share of the key's values that are in it

    @property
    def support(self) -> float:
        if self.included is None:
            return 0.0
        many = len(self.column.values)
        if self.column.item_class == "text":
            return max(min(1.0, many / _MANY), self.covered)
        return 0.5 + 0.5 * self.covered if many >= _FEW or self.covered > 0.5 else 0.3

    @property
    def confidence(self) -> float:
        if self.included is None:
            return self.name.score * 0.95
        sure = 1 - (1 - self.name.score) * (1 - _SUPPORT * self.support)
        return min(0.99, sure * self.included**2 if self.included < _INCLUDED else sure)

    @property
    def holds(self) -> bool:
        if self.included is None:
            return self.name.score >= _ENOUGH_BY_NAME
        if self.included < _INCLUDED:
            return self.included >= _MOSTLY_INCLUDED and self.name.score >= _NO_DOUBT
        return self.confidence >= _ENOUGH

    @property
    def evidence(self) -> str:
        return "; ".join(part for part in (self._inclusion, self.name.why) if part)

    @property
    def _inclusion(self) -> str:
        place = f"{self.target.name}.{self.key.name}"
        many = len(self.column.values)
        if self.included is None:
            return "no values to compare"
        if self.included >= 1:
            return f"all {many:,} values seen are in {place}, {self.covered:.0%} of it covered"
        return f"{self.included:.1%} of {many:,} values seen are in {place}, the others nowhere"


class ForeignKeys(Struct, frozen=True):
    """Edges from table to table, and questions about them."""

    edges: tuple[PlannedEdge, ...]
    questions: tuple[Question, ...]


def find_foreign_keys(
    index: TableNames, keys: Mapping[str, Proposal], contains: Contains
) -> ForeignKeys:
    """Find the columns that lead to other tables, declared or inferred.

    Args:
        keys: of the tables that have one.
        contains: asks the database where a sample is not the whole table.
    """
    finder = _Finder(index, keys, contains)
    edges: list[PlannedEdge] = []
    questions: list[Question] = []
    for table in index.tables.values():
        declared = [finder.declared(table, foreign) for foreign in table.table.foreign_keys]
        edges += declared
        taken = {
            column.lower() for edge in declared if len(edge.columns) == 1 for column in edge.columns
        }
        for column in table.columns.values():
            if column.name.lower() not in taken and column.item_class:
                best, column_questions = finder.decide(table, column)
                edges += best
                questions += column_questions
    return ForeignKeys(tuple(edges), tuple(questions))


class _Finder:
    def __init__(self, index: TableNames, keys: Mapping[str, Proposal], contains: Contains) -> None:
        tables = index.tables
        self._keys = {
            name: tables[name].column_of(key.columns[0])
            for name, key in keys.items()
            if len(key.columns) == 1
        }
        self._index = index
        self._tables = tables
        self._called: dict[str, set[str]] = defaultdict(set)
        for name, key in self._keys.items():
            self._called[key.words[-1]].add(name)
            if key.content:
                self._called[key.content[-1]].add(name)
        self._contains = contains
        self._kinds = best_of_kinds(tables)
        self._ends = Counter(table.words[-1:] for table in tables.values())

    def decide(
        self, table: TableFacts, column: ColumnFacts
    ) -> tuple[list[PlannedEdge], list[Question]]:
        """The edge that a column makes, if any, and the questions about it."""
        named = list(self._named(table, column))
        held = [each for each in map(self._weigh, named) if each.holds]
        held.sort(key=lambda each: (each.confidence, each.covered), reverse=True)
        if not held:
            return [], self._ask(table, column)
        best = held[0]
        doubts = [each for each in held[1:] if best.confidence - each.confidence < 0.03]
        if not doubts:
            return [_edge(best)], []
        proposal = f"{best.target.name}.{best.key.name}"
        return [_edge(best)], [_question([best, *doubts], proposal, best.evidence)]

    def declared(self, table: TableFacts, foreign: ForeignKey) -> PlannedEdge:
        """The edge of a declared foreign key, with the share of values that lead nowhere."""
        evidence = "a foreign key that is declared"
        target = self._tables.get(foreign.target)
        if target is not None and len(foreign.columns) == 1 and foreign.target_columns:
            column = table.column_of(foreign.columns[0])
            key = target.column_of(foreign.target_columns[0])
            included, _ = self._included(column, target, key)
            if included is not None and included < 1:
                evidence += f"; {1 - included:.1%} of the values seen are nowhere there"
        return PlannedEdge(
            table=table.name,
            columns=foreign.columns,
            target=foreign.target,
            target_columns=foreign.target_columns,
            declared=True,
            evidence=evidence,
        )

    def _named(self, table: TableFacts, column: ColumnFacts) -> Iterator[KeyMatch]:
        """The keys that a column might lead to, by its name."""
        own = self._keys.get(table.name)
        for name in self._possible(table, column):
            key, target = self._keys[name], self._tables[name]
            if key is column or key.value_class != column.item_class:
                continue
            is_only = self._ends[target.words[-1:]] == 1
            match = match_names(table, column, target, key, self._kinds, is_only)
            if own is column and not self._is_named_after(table, column, target):
                continue
            if match.score >= _WORTH_ASKING:
                yield KeyMatch(table, column, target, key, match)

    def _possible(self, table: TableFacts, column: ColumnFacts) -> Iterator[str]:
        """The tables that a column's name can speak of at all, in their order."""
        if not column.content:
            return iter(())
        named = {table.name, *self._index.candidates(column.content)}
        for word in (column.words[-1], column.content[-1]):
            named |= self._called.get(word, set())
        named.update(*self._kinds.values())
        return (name for name in self._keys if name in named)

    @staticmethod
    def _is_named_after(table: TableFacts, column: ColumnFacts, target: TableFacts) -> bool:
        """Whether a key is named after this table rather than its own."""
        own = align(column.content, table.words)
        return own < _HALF and align(column.content, target.words) > own

    def _weigh(self, candidate: KeyMatch) -> KeyMatch:
        included, covered = self._included(candidate.column, candidate.target, candidate.key)
        name = self._of_own_key(candidate)
        return replace(candidate, name=name, included=included, covered=covered)

    def _of_own_key(self, candidate: KeyMatch) -> NameMatch:
        """The match, with half its score if the key leads elsewhere and is named after that."""
        name, target, key = candidate.name, candidate.target, candidate.key
        if not key.content or align(key.content, target.words) >= 0.5:
            return name
        if align(candidate.column.content, target.words) >= 0.7:
            return name
        others = self._index.candidates(key.content) - {target.name}
        if any(align(key.content, self._tables[each].words) >= 0.9 for each in others):
            return NameMatch(name.score * 0.5, name.why)
        return name

    def _included(
        self, column: ColumnFacts, target: TableFacts, key: ColumnFacts
    ) -> tuple[float | None, float]:
        """The share of a column's values that are in a key, and of the key's in the column."""
        if not column.values or not (target.is_sampled or target.rows):
            return (0.0, 0.0) if column.values and target.rows == 0 else (None, 0.0)
        values = column.values
        missing = values - key.values
        if missing and not target.profile.whole:
            keys = [(value,) for value in missing]
            found = self._contains(target.name, (key.name,), keys)
            if found is None:
                return None, 0.0
            absent = len(missing) - found
        else:
            # placeholders for "none" lead nowhere
            missing, values = missing - _NO_VALUES, values - (missing & _NO_VALUES)
            absent = len(missing)
        if not values:
            return None, 0.0
        whole = max(target.rows or 0, len(key.values), 1)
        return 1 - absent / len(values), min(1.0, (len(values) - absent) / whole)

    def _ask(self, table: TableFacts, column: ColumnFacts) -> list[Question]:
        """A question, where values speak for an edge and the name does not."""
        if self._keys.get(table.name) is column or not self._is_worth_asking(table, column):
            return []
        found = []
        for name in self._possible(table, column):
            key, target = self._keys[name], self._tables[name]
            if key is column or key.value_class != column.item_class or not key.values:
                continue
            included, covered = self._included(column, target, key)
            if included is not None and included >= _INCLUDED and covered >= _WORTH_ASKING:
                found.append(
                    KeyMatch(table, column, target, key, NameMatch(0.0), included, covered)
                )
        if not found:
            return []
        found.sort(key=lambda each: each.covered, reverse=True)
        return [_question(found[:3], "no", f"{found[0].evidence}; no word in common")]

    @staticmethod
    def _is_worth_asking(table: TableFacts, column: ColumnFacts) -> bool:
        if column.item_class == "text":
            return len(column.values) >= _FEW
        # any number is in a key that counts up, unless it is called an identifier
        is_opaque = column.words[-1] in word_lists().opaque
        if not (is_opaque and column.content and len(column.values) > 1):
            return False
        # a code whose text is in another column
        return not any(
            other.content == column.content and other is not column
            for other in table.columns.values()
        )


def _edge(found: KeyMatch) -> PlannedEdge:
    return PlannedEdge(
        table=found.source.name,
        columns=(found.column.name,),
        target=found.target.name,
        target_columns=(found.key.name,),
        confidence=round(found.confidence, 2),
        evidence=found.evidence,
    )


def _question(found: Sequence[KeyMatch], proposal: str, evidence: str) -> Question:
    places = " or ".join(f"{each.target.name}.{each.key.name}" for each in found)
    return Question(
        table=found[0].source.name,
        columns=(found[0].column.name,),
        question=f"Does it lead to {places}?",
        proposal=proposal,
        evidence=evidence,
    )


def find_composite_keys(
    tables: Mapping[str, TableFacts],
    keys: Mapping[str, Proposal],
    edges: Sequence[PlannedEdge],
    read_rows: ReadRows,
    contains: Contains,
) -> ForeignKeys:
    """Find columns that are called as those of a declared key, and have its values together.

    If each of them leads elsewhere by itself, it is only a question.
    """
    known = {(edge.table, frozenset(edge.columns)) for edge in edges}
    alone = {(edge.table, *edge.columns) for edge in edges if len(edge.columns) == 1}
    found: list[PlannedEdge] = []
    questions: list[Question] = []
    for source, columns, target in _matching_keys(tables, keys):
        is_known = (source.name, frozenset(columns)) in known
        if is_known or not _is_included(source, columns, target, keys, read_rows, contains):
            continue
        place = f"{target.name}.{', '.join(keys[target.name].columns)}"
        if all((source.name, column) in alone for column in columns):
            questions.append(
                Question(
                    table=source.name,
                    columns=columns,
                    question=f"Do they lead to {place} together?",
                    proposal="no: each leads elsewhere by itself",
                )
            )
        else:
            edge = PlannedEdge(
                table=source.name,
                columns=columns,
                target=target.name,
                target_columns=keys[target.name].columns,
                confidence=_CONFIDENCE,
                evidence=f"called as {place}, and its values are there together",
            )
            found.append(edge)
    return ForeignKeys(tuple(found), tuple(questions))


def _matching_keys(
    tables: Mapping[str, TableFacts], keys: Mapping[str, Proposal]
) -> Iterator[tuple[TableFacts, tuple[str, ...], TableFacts]]:
    for name, key in keys.items():
        target = tables[name]
        if len(key.columns) < 2 or not key.declared:
            continue
        key_columns = [target.column_of(column) for column in key.columns]
        for source in tables.values():
            by_words = {column.words: column for column in source.columns.values()}
            columns = [by_words.get(column.words) for column in key_columns]
            matching = [
                column.name
                for column, key_column in zip(columns, key_columns, strict=True)
                if column is not None and column.value_class == key_column.value_class
            ]
            own = keys[source.name].columns if source.name in keys else ()
            is_whole = len(matching) == len(key_columns)
            # of two tables with the same key neither is known to lead to the other
            if source is not target and is_whole and set(matching) != set(own):
                yield source, tuple(matching), target


def _is_included(
    source: TableFacts,
    columns: tuple[str, ...],
    target: TableFacts,
    keys: Mapping[str, Proposal],
    read_rows: ReadRows,
    contains: Contains,
) -> bool:
    rows = read_rows(source, columns) if source.is_sampled else ()
    values = list({row for row in rows if None not in row})
    if len(values) < _FEW:
        return False
    count = contains(target.name, keys[target.name].columns, values)
    return count is not None and count >= _INCLUDED * len(values)
