"""What taking a whole database would come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

from ..plan.planned import Estimate, PlannedEdge, PlannedLink, PlannedTable
from .facts import ColumnFacts, TableFacts

_BYTES_OF_A_ROW = 600  # its handle, its keys and what indexes them
_BYTES_OF_AN_EDGE = 250
_BYTES_OF_A_VALUE = 16  # that is no text, with the name of its field
_EMBEDDED = 200  # texts a second, on one core
_LOOKED_AT = 100


def estimate(
    facts: Mapping[str, TableFacts],
    tables: Sequence[PlannedTable],
    edges: Sequence[PlannedEdge],
    links: Sequence[PlannedLink],
) -> Estimate:
    """Estimate rows, edges, megabytes and the time that vectors take, by the samples."""
    linked = {link.table for link in links}
    rows = sum(facts[table.table].rows or 0 for table in tables)
    made = sum(facts[name].rows or 0 for name in linked)
    for edge in edges:
        if edge.table not in linked:
            made += round((facts[edge.table].rows or 0) * _filled(facts[edge.table], edge))
    size = rows * _BYTES_OF_A_ROW + made * _BYTES_OF_AN_EDGE
    embedded = 0
    for table in tables:
        known = facts[table.table]
        width = sum(_bytes_of(known.column_of(field.column)) for field in table.fields)
        size += round((known.rows or 0) * width)
        if any(field.field.searchable for field in table.fields):
            embedded += known.rows or 0
    return Estimate(
        rows=rows,
        edges=made,
        megabytes=round(size / 1e6, 1),
        embedding_seconds=round(embedded / _EMBEDDED, 1),
    )


def _filled(facts: TableFacts, edge: PlannedEdge) -> float:
    """Share of a table's rows that have this foreign key."""
    if not facts.is_sampled:
        return 1.0
    return min(facts.column_of(name).filled for name in edge.columns) / facts.profile.sampled


def _bytes_of(column: ColumnFacts) -> float:
    texts = [value for value in column.profile.values[:_LOOKED_AT] if isinstance(value, str)]
    return _BYTES_OF_A_VALUE + (mean(map(len, texts)) if texts else 0)
