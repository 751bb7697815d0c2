"""Profiles: what a sample of rows says of each column. Pure; how rows are sampled is a database's
own affair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import msgspec

from .contract import Column, ColumnProfile, Table, TableProfile

_LEAST = 800  # rows of a table that is too large to be read whole
_SHARE = 125  # of such a table, one row in so many is read
_CELLS = 4_000_000  # values of one sample
LONGEST = 2_000  # characters of a text that are looked at
_FEWEST = 100  # rows, however many columns there are


def rows_to_read(rows: int | None, columns: int, sample: int) -> int:
    """Say how many rows of a table to read for its profile.

    Up to `sample` rows are read whole; of a larger table one row in 125, but at least 800 and at
    most `sample`; of a table whose size nobody knows, 800. A table with very many columns has fewer
    read.

    >>> [rows_to_read(rows, 8, 20_000) for rows in (500, 100_000, None)]
    [20000, 800, 800]
    """
    if rows is None:
        count = _LEAST
    elif rows <= sample:
        count = sample
    else:
        count = max(_LEAST, rows // _SHARE)
    return max(1, min(count, sample, max(_FEWEST, _CELLS // max(1, columns))))


def items_of(values: Iterable[Any]) -> list[Any]:
    """List values one by one, those of lists too; without None, and without what has parts itself.

    >>> items_of([[1, 2], 3, [None, {"a": 1}]])
    [1, 2, 3]
    """
    items = chain.from_iterable(value if isinstance(value, list) else (value,) for value in values)
    return [item for item in items if item is not None and not isinstance(item, list | dict)]


def profile_rows(
    table: Table,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Any]],
    *,
    total: int | None,
    whole: bool,
) -> TableProfile:
    """Profile the sampled rows of a table; their values are plain, in the order of the columns."""
    by_column: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(columns)
    return TableProfile(
        table=table.name,
        rows=len(rows) if whole else total,
        sampled=len(rows),
        whole=whole,
        columns=tuple(
            _profile_column(column, values)
            for column, values in zip(columns, by_column, strict=True)
        ),
    )


def _profile_column(column: Column, values: Sequence[Any]) -> ColumnProfile:
    filled = [value for value in values if value is not None]
    if column.list or column.kind == "json" or any(isinstance(v, list | dict) for v in filled):
        # what cannot be hashed is told apart by its JSON
        encoded = {msgspec.json.encode(value, enc_hook=str): value for value in filled}
        different = list(encoded.values())
    else:
        different = list(dict.fromkeys(filled))
    lowest, highest = _bounds(different)
    return ColumnProfile(
        column=column.name,
        nulls=len(values) - len(filled),
        distinct=len(different),
        values=tuple(different),
        lowest=lowest,
        highest=highest,
        longest=max((len(value) for value in different if isinstance(value, str)), default=0),
    )


def _bounds(values: Sequence[Any]) -> tuple[Any, Any]:
    """The lowest and the highest; neither where values cannot be compared."""
    if not values or isinstance(values[0], list | dict):
        return None, None
    try:
        return min(values), max(values)
    except TypeError:
        return None, None
