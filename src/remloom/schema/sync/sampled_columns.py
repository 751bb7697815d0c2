"""Columns that no database declares: what a sample of documents has, now more and now less."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from ..databases.contract import Column, Table


def as_registered(tables: Iterable[Table], before: Sequence[Table]) -> Iterator[Table]:
    """Give tables with the sampled columns that they had when they were registered.

    A field that few documents have may be missing in a sample, and be of other types; their values
    are read as what the field was registered as. What is really otherwise is drift.
    """
    known = {table.name: table for table in before}
    for table in tables:
        old = known.get(table.name)
        yield replace(table, columns=tuple(_columns(table, old))) if old else table


def _columns(table: Table, old: Table) -> Iterator[Column]:
    registered = {column.name: column for column in old.columns if column.sampled}
    for column in table.columns:
        yield registered.pop(column.name, column) if column.sampled else column
    yield from registered.values()
