"""Baselines: how a database looks at one moment, to be compared with how it looks later.

What is kept of the profiles of its tables has no value of any row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from ...errors import SourceError
from ..databases.contract import ColumnProfile, Database, Table, TableProfile
from ..databases.profiles import items_of
from .plan import Plan
from .planned import PlannedEdge

_SKETCHED = 32  # digests kept of a column


_SAMPLE = 2_000  # rows of a table that are looked at
_TRIED = 500  # values of a foreign key that are looked for


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


def take_baseline(
    database: Database, plan: Plan, salt: bytes
) -> tuple[tuple[Table, ...], tuple[TableFigures, ...]]:
    """Describe all tables of a database, and give the figures of those that a plan takes.

    Args:
        salt: keys the digests of values.
    """
    tables = tuple(database.tables())
    by_name = {table.name: table for table in tables}
    figures = []
    for planned in plan.tables:
        if planned.table not in by_name:
            continue
        try:
            profile = database.profile(by_name[planned.table], _SAMPLE)
            orphans = _orphans(database, plan.edges, by_name, profile)
        except SourceError:
            # what cannot be read is named by a sync, and costs no other
            continue
        figures.append(figures_of(profile, salt, orphans))
    return tables, tuple(figures)


def _orphans(
    database: Database,
    edges: Sequence[PlannedEdge],
    tables: dict[str, Table],
    profile: TableProfile,
) -> dict[str, int]:
    """Count the sampled values of each foreign key that its target does not have."""
    values = {column.column: column.values for column in profile.columns}
    found: dict[str, int] = {}
    for edge in edges:
        # of several columns together no values are sampled
        is_known = edge.table == profile.table and len(edge.columns) == 1
        if not is_known or not _has(tables, edge.target, edge.target_columns):
            continue
        different = dict.fromkeys(items_of(values.get(edge.columns[0], ())))
        keys = [(value,) for value in islice(different, _TRIED)]
        contained = database.count_contained(edge.target, edge.target_columns, keys)
        if contained is not None:
            found[f"{edge.table}.{edge.columns[0]}"] = len(keys) - contained
    return found


def _has(tables: dict[str, Table], name: str, columns: Sequence[str]) -> bool:
    table = tables.get(name)
    return table is not None and {column.name for column in table.columns}.issuperset(columns)
