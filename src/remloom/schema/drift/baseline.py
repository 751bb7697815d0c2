"""Baselines: how a database looks at one moment, to be compared with how it looks later."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from ...errors import SourceError
from ..databases.contract import Database, Table, TableProfile
from ..databases.profiles import items_of
from ..plan.figures import TableFigures, figures_of
from ..plan.plan import Plan
from ..plan.planned import PlannedEdge

_SAMPLE = 2_000  # rows of a table that are looked at
_TRIED = 500  # values of a foreign key that are looked for


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
