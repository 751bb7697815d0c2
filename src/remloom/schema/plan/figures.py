"""Figures of tables: what is kept of their profiles, without a value of any row."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from ..databases.contract import ColumnProfile, TableProfile

_SKETCHED = 32  # digests kept of a column


class ColumnFigures(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a sample says of a column."""

    column: str
    filled: float = 0.0  # part of the rows that have a value
    distinct: int = 0  # different values
    is_unique: bool = False  # no value came twice
    # the lowest digests of its values: what two columns have in common of them is how like they are
    sketch: tuple[int, ...] = ()


class TableFigures(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a sample says of a table."""

    table: str
    rows: int | None = None
    is_whole: bool = False  # every row was seen
    columns: tuple[ColumnFigures, ...] = ()
    # foreign key ("orders.customer_id") -> sampled values of it that its target does not have
    orphans: dict[str, int] = {}

    def column(self, name: str) -> ColumnFigures | None:
        """Find the figures of a column; None: there are none."""
        return next((column for column in self.columns if column.column == name), None)


def figures_of(
    profile: TableProfile, salt: bytes, orphans: dict[str, int] | None = None
) -> TableFigures:
    """Make the figures of a profile.

    Args:
        salt: keys the digests, so that nobody can try values on them.
    """
    columns = tuple(_column(column, profile.sampled, salt) for column in profile.columns)
    return TableFigures(
        table=profile.table,
        rows=profile.rows,
        is_whole=profile.whole,
        columns=columns,
        orphans=orphans or {},
    )


def likeness(one: ColumnFigures, other: ColumnFigures) -> float:
    """Say which part of their values two columns have in common, 0..1, if all values were seen."""
    if not one.sketch or not other.sketch:
        # two empty columns are alike in that alone
        return 0.5 if one.sketch == other.sketch else 0.0
    lowest = sorted({*one.sketch, *other.sketch})[:_SKETCHED]
    common = set(one.sketch) & set(other.sketch)
    return sum(digest in common for digest in lowest) / len(lowest)


def _column(profile: ColumnProfile, sampled: int, salt: bytes) -> ColumnFigures:
    filled = sampled - profile.nulls
    return ColumnFigures(
        column=profile.column,
        filled=filled / sampled if sampled else 0.0,
        distinct=profile.distinct,
        is_unique=bool(filled) and profile.distinct == filled,
        sketch=_sketch(profile.values, salt),
    )


def _sketch(values: Iterable[Any], salt: bytes) -> tuple[int, ...]:
    digests = {_digest(value, salt) for value in values}
    return tuple(sorted(digests)[:_SKETCHED])


def _digest(value: Any, salt: bytes) -> int:
    text = msgspec.json.encode(value, enc_hook=str, order="deterministic")
    return int.from_bytes(blake2b(text, digest_size=6, key=salt).digest())
