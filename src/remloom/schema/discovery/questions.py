"""Questions: what a person is asked of a plan, each with what holds if nobody answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..planned import PlannedEdge, PlannedTable, Question
from .keys import KeyProposal
from .names import NameProposal

__all__ = ["ask_of_edges", "ask_of_table"]

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
