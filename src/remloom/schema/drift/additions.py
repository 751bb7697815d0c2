"""Additions: tables and columns that a database did not have when it was registered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from ..databases.contract import Column, Table
from ..plan.baseline import TableFigures
from ..plan.plan import Plan
from ..plan.planned import PlannedField, PlannedTable
from ..plan.source import Source
from .drift import Change


def extend_plan(plan: Plan, found: Plan, changes: Sequence[Change]) -> Plan:
    """Copy a plan with the additive changes taken over.

    Args:
        found: what discovery proposes of the database as it is now.
    """
    proposed = {table.table: table for table in found.tables}
    new_tables = {change.table for change in changes if change.kind == "table added"}
    new_columns = {(c.table, c.column) for c in changes if c.kind == "column added"}
    values = {
        (change.table, change.column): tuple(change.now.split(", "))
        for change in changes
        if change.kind == "values added"
    }
    tables = [_extended(table, proposed, new_columns, values) for table in plan.tables]
    tables += [table for name, table in proposed.items() if name in new_tables]
    edges = [
        edge
        for edge in found.edges
        if edge.table in new_tables
        or any((edge.table, name) in new_columns for name in edge.columns)
    ]
    links = [link for link in found.links if link.table in new_tables]
    left_out = [
        left
        for left in found.left_out
        if left.table in new_tables or (left.table, left.column) in new_columns
    ]
    return replace(
        plan,
        tables=tuple(tables),
        edges=(*plan.edges, *edges),
        links=(*plan.links, *links),
        left_out=(*plan.left_out, *left_out),
    )


def accept_changes(
    source: Source,
    changes: Sequence[Change],
    now: tuple[Sequence[Table], Sequence[TableFigures]],
) -> Source:
    """Copy a source with the additive changes in its baseline, so that they are reported no more.

    Args:
        now: tables and figures of the database as it is.
    """
    new_tables = {table.name: table for table in now[0]}
    new_figures = {figures.table: figures for figures in now[1]}
    touched = {change.table for change in changes}
    added = [change.table for change in changes if change.kind == "table added"]
    tables = [
        _with_columns(table, new_tables[table.name], changes) if table.name in touched else table
        for table in source.tables
    ]
    figures = [_with_figures(each, new_figures, changes) for each in source.figures]
    tables += [new_tables[name] for name in added]
    figures += [new_figures[name] for name in added if name in new_figures]
    return replace(source, tables=tuple(tables), figures=tuple(figures))


def _extended(
    table: PlannedTable,
    proposed: dict[str, PlannedTable],
    columns: Iterable[tuple[str, str]],
    values: dict[tuple[str, str], tuple[str, ...]],
) -> PlannedTable:
    fields = []
    for planned in table.fields:
        more = values.get((table.table, planned.column), ())
        if more and planned.field.kind == "enum":
            field = replace(planned.field, values=(*planned.field.values, *more))
            planned = replace(planned, field=field)
        fields.append(planned)
    taken = set(columns)
    found = proposed.get(table.table)
    for planned in found.fields if found else ():
        if (table.table, planned.column) in taken:
            fields.append(_optional(planned, {field.name for field in fields}))
    return replace(table, fields=tuple(fields))


def _optional(planned: PlannedField, names: set[str]) -> PlannedField:
    """Give a new field as rows without it may have it: not required, under a name of its own."""
    name = planned.name
    while name in names:
        name = f"{name}_2"
    return replace(planned, name=name, field=replace(planned.field, required=False))


def _with_columns(old: Table, new: Table, changes: Sequence[Change]) -> Table:
    """Give a table as it was, with the columns and values that it has now and that are accepted."""
    accepted = {change.column: change.kind for change in changes if change.table == old.name}
    there = {column.name: column for column in new.columns}
    columns = [_widened(column, there, accepted) for column in old.columns]
    for position, column in enumerate(new.columns):
        if accepted.get(column.name) == "column added":
            columns.insert(min(position, len(columns)), column)
    return replace(old, columns=tuple(columns))


def _widened(column: Column, there: dict[str, Column], accepted: Mapping[str, str]) -> Column:
    kind = accepted.get(column.name)
    if kind == "values added":
        more = [value for value in there[column.name].values if value not in column.values]
        return replace(column, values=(*column.values, *more))
    if kind == "type changed":
        new = there[column.name]
        return replace(column, kind=new.kind, declared=new.declared)
    return column


def _with_figures(
    old: TableFigures, now: dict[str, TableFigures], changes: Sequence[Change]
) -> TableFigures:
    new = now.get(old.table)
    if new is None:
        return old
    own = [change for change in changes if change.table == old.table]
    added = {change.column for change in own if change.kind == "column added"}
    columns = (*old.columns, *(column for column in new.columns if column.column in added))
    grown = any(change.kind == "row count" for change in own)
    return replace(old, columns=columns, rows=new.rows if grown else old.rows)
