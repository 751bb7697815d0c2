"""Watermarks: the column that grows whenever a row is written."""

from __future__ import annotations

from .facts import ColumnFacts, TableFacts

_WRITTEN = frozenset((
    "update", "updated", "modified", "modify", "changed", "change", "modification", "mtime",
    "touched", "revised", "edited", "synced", "amended",
))  # fmt: skip
_NOT_OF_ROWS = frozenset(("status", "password", "price", "login", "stock"))


def find_watermark(facts: TableFacts) -> str:
    """Find the column of times that says when a row was last written: one with an index, never
    NULL. Empty: there is none, so that all rows are compared."""
    leading = {columns[0].lower() for columns in facts.table.indexed if columns}
    for column in facts.columns.values():
        if column.name.lower() in leading and _says_when_written(column):
            return column.name
    return ""


def _says_when_written(column: ColumnFacts) -> bool:
    words = set(column.words)
    return (
        column.column.kind == "datetime"
        and bool(words & _WRITTEN)
        and not words & _NOT_OF_ROWS
        and column.profile.nulls == 0
    )
