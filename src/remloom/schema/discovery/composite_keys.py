"""Foreign keys of several columns that nobody declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..plan.planned import PlannedEdge, Question
from .facts import TableFacts
from .foreign_keys import Contains, ForeignKeys
from .keys import KeyProposal

_INCLUDED = 0.98
_FEW = 3  # different values, which may be there by chance
_CONFIDENCE = 0.85


def find_composite_keys(
    tables: Mapping[str, TableFacts],
    keys: Mapping[str, KeyProposal],
    edges: Sequence[PlannedEdge],
    read_rows: Callable[[TableFacts, Sequence[str]], Sequence[tuple[Any, ...]]],
    contains: Contains,
) -> ForeignKeys:
    """Find the columns that are called as those of a declared key, and have its values together.

    Where each of them leads elsewhere by itself, that is but asked.
    """
    known = {(edge.table, frozenset(edge.columns)) for edge in edges}
    alone = {(edge.table, *edge.columns) for edge in edges if len(edge.columns) == 1}
    found: list[PlannedEdge] = []
    asked: list[Question] = []
    for source, columns, target in _called_alike(tables, keys):
        is_known = (source.name, frozenset(columns)) in known
        if is_known or not _is_included(source, columns, target, keys, read_rows, contains):
            continue
        place = f"{target.name}.{', '.join(keys[target.name].columns)}"
        if all((source.name, column) in alone for column in columns):
            asked.append(
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
    return ForeignKeys(tuple(found), tuple(asked))


def _called_alike(
    tables: Mapping[str, TableFacts], keys: Mapping[str, KeyProposal]
) -> Iterator[tuple[TableFacts, tuple[str, ...], TableFacts]]:
    """Columns of a table that are called as those of the key of another."""
    for name, key in keys.items():
        target = tables[name]
        if len(key.columns) < 2 or not key.declared:
            continue
        wanted = [target.column_of(column) for column in key.columns]
        for source in tables.values():
            by_words = {column.words: column for column in source.columns.values()}
            columns = [by_words.get(column.words) for column in wanted]
            alike = [
                column.name
                for column, key_column in zip(columns, wanted, strict=True)
                if column is not None and column.value_class == key_column.value_class
            ]
            own = keys[source.name].columns if source.name in keys else ()
            # the same key in two tables says not which of them leads to the other
            if source is not target and len(alike) == len(wanted) and set(alike) != set(own):
                yield source, tuple(alike), target


def _is_included(
    source: TableFacts,
    columns: tuple[str, ...],
    target: TableFacts,
    keys: Mapping[str, KeyProposal],
    read_rows: Callable[[TableFacts, Sequence[str]], Sequence[tuple[Any, ...]]],
    contains: Contains,
) -> bool:
    rows = read_rows(source, columns) if source.is_sampled else ()
    values = list({row for row in rows if None not in row})
    if len(values) < _FEW:
        return False
    count = contains(target.name, keys[target.name].columns, values)
    return count is not None and count >= _INCLUDED * len(values)
