"""Questions: what a person is asked of a plan, each with what holds if nobody answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..plan.planned import PlannedEdge, PlannedTable, Question
from .facts import TableFacts
from .keys import KeyProposal
from .names import NameProposal

# what is often a thing of its own, though no table has it
_THINGS = frozenset((
    "city", "country", "region", "department", "category", "brand", "company", "genre", "artist",
    "team", "manufacturer", "vendor", "supplier", "industry", "school", "university", "author",
    "publisher", "project", "campaign", "language", "nationality",
))  # fmt: skip
_FEWEST_ROWS = 20
_MOST_THINGS = 10_000

_SURE = 0.8
_SURE_OF_NAME = 0.6


def ask_of_edges(edges: Iterable[PlannedEdge]) -> Iterator[Question]:
    """Ask of foreign keys that were inferred, and are not sure."""
    for edge in edges:
        if not edge.declared and edge.confidence < _SURE:
            yield Question(
                table=edge.table,
                columns=edge.columns,
                question=f"Does it lead to {edge.target}.{', '.join(edge.target_columns)}?",
                proposal="yes",
                evidence=edge.evidence,
            )


def ask_of_table(
    table: PlannedTable, key: KeyProposal | None, name: NameProposal | None
) -> Iterator[Question]:
    """Ask of a table's key, name, labels and watermark where they are not sure."""
    if key is None:
        yield Question(
            table=table.table,
            question="Which columns tell its rows apart?",
            proposal="none: a row that changes becomes another one",
        )
    elif not key.declared and key.confidence < _SURE:
        yield Question(
            table=table.table,
            columns=key.columns,
            question="Does this tell its rows apart?",
            proposal="yes",
            evidence=key.evidence,
        )
    if name is not None and name.confidence < _SURE_OF_NAME:
        yield Question(
            table=table.table,
            columns=name.columns,
            question="Is this what people call a row?",
            proposal="yes",
            evidence=name.evidence,
        )
    for field in table.fields:
        if field.field.is_key and field.field.personal:
            yield Question(
                table=table.table,
                columns=(field.column,),
                question=f"Shall rows be found by their {field.field.personal}?",
                proposal="yes",
                evidence=field.evidence,
            )
    if table.watermark:
        yield Question(
            table=table.table,
            columns=(table.watermark,),
            question="Does it change whenever a row is written?",
            proposal="yes: only rows with newer ones are read again",
        )


def ask_of_entities(
    facts: TableFacts, table: PlannedTable, edges: Iterable[PlannedEdge]
) -> Iterator[Question]:
    """Ask of columns of text whose repeated values may be things that rows lead to."""
    leading = {column for edge in edges if edge.table == table.table for column in edge.columns}
    for field in table.fields:
        column = facts.column_of(field.column)
        is_plain = field.field.kind == "string" and not field.field.personal
        if not is_plain or field.column in (*table.key, *table.name, *leading):
            continue
        distinct = column.profile.distinct
        repeats = column.filled >= _FEWEST_ROWS and 2 * distinct <= column.filled
        if column.words[-1] in _THINGS and repeats and 1 < distinct <= _MOST_THINGS:
            thing = column.words[-1]
            yield Question(
                table=table.table,
                columns=(field.column,),
                question=f"Is each {thing} a thing that rows lead to?",
                proposal=f'no; it is if "{table.table}.{field.column}" is mapped to "{thing}"',
                evidence=f"{distinct:,} different ones in {column.filled:,} rows seen",
            )
