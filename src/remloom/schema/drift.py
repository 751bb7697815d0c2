"""Drift: how a database differs from what it was when it was registered, and what is taken over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .databases.contract import Column, ForeignKey, Table
from .plan.plan import Plan
from .plan.planned import PlannedField, PlannedTable
from .plan.source import Source, TableFigures, likeness

ChangeKind: TypeAlias = Literal[
    "table added",
    "table gone",
    "table renamed",
    "column added",
    "column gone",
    "column renamed",
    "type changed",
    "nullability changed",
    "primary key changed",
    "foreign key added",
    "foreign key gone",
    "unique key added",
    "unique key gone",
    "values added",
    "values gone",
    "names repeat",
    "orphans",
    "row count",
    "watermark gone",
]
_RARE = 0.02  # of documents that have a field, which a sample of 1,000 may then be without
_TOLERATED = 0.5  # part of its rows by which a table may grow or shrink unreported
_ALIKE = 0.8  # part of the columns that two tables must have in common
_SAME_VALUES = 0.5  # likeness of the values of two columns
_DIFFERENCE = 0.1  # by which the numbers of two samples may differ


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One difference from what was registered."""

    kind: ChangeKind
    table: str
    column: str = ""  # several are joined by ", "
    before: str = ""
    now: str = ""
    # whether taking it over leaves all that is stored as it is
    is_additive: bool = False

    def __str__(self) -> str:
        path = f"{self.table}.{self.column}" if self.column else self.table
        if self.before and self.now:
            return f"{path}: {self.kind}, {self.before} -> {self.now}"
        value = self.before or self.now
        return f"{path}: {self.kind}, {value}" if value else f"{path}: {self.kind}"


class Drift(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a source differs from what it was when it was registered; false when it does not."""

    source: str
    changes: tuple[Change, ...] = ()
    accepted: tuple[Change, ...] = ()  # those of them that were taken over just now

    def __bool__(self) -> bool:
        return bool(self.changes)


def compare(
    plan: Plan,
    before: tuple[Sequence[Table], Sequence[TableFigures]],
    now: tuple[Sequence[Table], Sequence[TableFigures]],
) -> tuple[Change, ...]:
    """Compare the tables, and the figures of those in the plan, with those of before."""
    old_tables = {table.name: table for table in before[0]}
    new_tables = {table.name: table for table in now[0]}
    old_figures = {figures.table: figures for figures in before[1]}
    new_figures = {figures.table: figures for figures in now[1]}
    gone = [table for table in before[0] if table.name not in new_tables]
    added = [table for table in now[0] if table.name not in old_tables]
    renamed = _renamed_tables(gone, added)
    changes: list[Change] = []
    for table in gone:
        name = renamed.get(table.name, "")
        kind: ChangeKind = "table renamed" if name else "table gone"
        changes.append(Change(kind=kind, table=table.name, now=name))
    changes += [
        Change(kind="table added", table=table.name, is_additive=True)
        for table in added
        if table.name not in renamed.values()
    ]
    for name, old in old_tables.items():
        new = new_tables.get(renamed.get(name, name))
        if new is None:
            continue
        old_numbers = old_figures.get(name, TableFigures(table=name))
        new_numbers = new_figures.get(new.name, TableFigures(table=new.name))
        changes += _table_changes(plan, old, new, old_numbers, new_numbers)
    return tuple(changes)


def _table_changes(
    plan: Plan, old: Table, new: Table, before: TableFigures, now: TableFigures
) -> Iterator[Change]:
    renamed = _renamed_columns(old, new, before, now)
    yield from _column_changes(old, new, renamed, before)
    yield from _key_changes(old, new, renamed)
    yield from _figure_changes(plan, old, new, before, now)


def _column_changes(
    old: Table, new: Table, renamed: Mapping[str, str], before: TableFigures
) -> Iterator[Change]:
    change = partial(Change, table=old.name)
    there = {column.name: column for column in new.columns}
    known = {column.name for column in old.columns}
    for column in old.columns:
        name = column.name
        if name in renamed:
            yield change(kind="column renamed", column=name, now=renamed[name])
        elif name not in there:
            if not _may_be_unseen(column, before):
                yield change(kind="column gone", column=name)
            continue
        yield from _type_changes(old.name, column, there[renamed.get(name, name)])
    for name, column in there.items():
        if name not in known and name not in renamed.values():
            declared = column.declared or str(column.kind)
            yield change(kind="column added", column=name, now=declared, is_additive=True)


def _may_be_unseen(column: Column, before: TableFigures) -> bool:
    """Whether a sample may be without a column that is there."""
    figures = before.column(column.name)
    return bool(column.sampled) and (figures is None or figures.filled < _RARE)


def _type_changes(table: str, old: Column, new: Column) -> Iterator[Change]:
    change = partial(Change, table=table, column=old.name)
    was, has = _type_of(old), _type_of(new)
    if was != has and not _is_seen_otherwise(old, new):
        wider = (old.kind, new.kind) == ("integer", "float") and old.list == new.list
        yield change(kind="type changed", before=was, now=has, is_additive=wider)
    if old.nullable != new.nullable:
        words = {True: "may be NULL", False: "NOT NULL"}
        was, has = words[old.nullable], words[new.nullable]
        yield change(kind="nullability changed", before=was, now=has)
    if added := [value for value in new.values if value not in old.values]:
        # the first values narrow a column that was free before
        is_wider = bool(old.values)
        yield change(kind="values added", now=", ".join(added), is_additive=is_wider)
    if gone := [value for value in old.values if value not in new.values]:
        yield change(kind="values gone", before=", ".join(gone))


def _type_of(column: Column) -> str:
    """The type of a column as its database declares it, without the values of an enum."""
    if column.values:
        return "enum"
    kind = str(column.kind or "")
    declared = column.declared or kind
    return f"{declared}[]" if column.list and "[" not in declared else declared


def _is_seen_otherwise(old: Column, new: Column) -> bool:
    """Whether another sample of the same values may have these types."""
    if not (old.sampled and new.sampled):
        return False
    if not new.declared:
        return True
    types = set(old.declared.split(", ")), set(new.declared.split(", "))
    is_same_kind = (old.kind, old.list) == (new.kind, new.list)
    return types[1] < types[0] or (is_same_kind and not types[0].isdisjoint(types[1]))


def _key_changes(old: Table, new: Table, renamed: Mapping[str, str]) -> Iterator[Change]:
    change = partial(Change, table=old.name)

    def now_called(columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(renamed.get(name, name) for name in columns)

    if now_called(old.primary_key) != new.primary_key:
        before, now = ", ".join(old.primary_key), ", ".join(new.primary_key)
        yield change(kind="primary key changed", before=before or "none", now=now or "none")
    keys = {replace(key, columns=now_called(key.columns)): key for key in old.foreign_keys}
    for key in new.foreign_keys:
        if key not in keys:
            columns = ", ".join(key.columns)
            yield change(kind="foreign key added", column=columns, now=_target_of(key))
    for renamed_key, key in keys.items():
        if renamed_key not in new.foreign_keys:
            columns = ", ".join(key.columns)
            yield change(kind="foreign key gone", column=columns, before=_target_of(key))
    unique = {frozenset(now_called(names)) for names in old.unique}
    unique_now = {frozenset(names) for names in new.unique}
    for names in sorted(map(sorted, unique_now - unique)):
        yield change(kind="unique key added", column=", ".join(names))
    for names in sorted(map(sorted, unique - unique_now)):
        yield change(kind="unique key gone", column=", ".join(names))


def _target_of(key: ForeignKey) -> str:
    return f"{key.target}({', '.join(key.target_columns)})"


def _figure_changes(
    plan: Plan, old: Table, new: Table, before: TableFigures, now: TableFigures
) -> Iterator[Change]:
    change = partial(Change, table=old.name)
    planned = next((table for table in plan.tables if table.table == old.name), None)
    if planned is not None and len(planned.name) == 1:
        name = planned.name[0]
        was, has = before.column(name), now.column(name)
        if was and has and was.is_unique and has.distinct and not has.is_unique:
            yield change(kind="names repeat", column=name)
    for key, count in now.orphans.items():
        was_count = before.orphans.get(key, 0)
        if count > was_count:
            column = key.removeprefix(f"{old.name}.")
            yield change(kind="orphans", column=column, before=f"{was_count:,}", now=f"{count:,}")
    rows, rows_now = before.rows, now.rows
    if rows is not None and rows_now is not None and abs(rows_now - rows) > _TOLERATED * rows:
        yield change(kind="row count", before=f"{rows:,}", now=f"{rows_now:,}", is_additive=True)
    watermark = planned.watermark if planned else ""
    if watermark and all(column.name != watermark for column in new.columns):
        yield change(kind="watermark gone", column=watermark)


def _renamed_tables(gone: Sequence[Table], added: Sequence[Table]) -> dict[str, str]:
    """Pair tables that are gone with new ones of the same columns: name before -> name now."""
    renamed: dict[str, str] = {}
    for table in gone:
        taken = renamed.values()
        likely = [(_shared(table, other), other.name) for other in added if other.name not in taken]
        best = max(likely, default=(0.0, ""))
        if best[0] >= _ALIKE:
            renamed[table.name] = best[1]
    return renamed


def _renamed_columns(
    old: Table, new: Table, before: TableFigures, now: TableFigures
) -> dict[str, str]:
    """Pair columns that are gone with new ones of the same position, type and, as far as figures
    show, values: name before -> name now."""
    here = {column.name for column in new.columns}
    known = {column.name for column in old.columns}
    renamed: dict[str, str] = {}
    for position, column in enumerate(old.columns):
        if column.name in here:
            continue
        for other in _at_position(old, new, position):
            is_free = other.name not in known and other.name not in renamed.values()
            if is_free and _is_similar(column, other, before, now):
                renamed[column.name] = other.name
                break
    return renamed


def _shared(one: Table, other: Table) -> float:
    columns = {(column.name, column.declared) for column in one.columns}
    others = {(column.name, column.declared) for column in other.columns}
    return len(columns & others) / len(columns | others) if columns else 0.0


def _at_position(old: Table, new: Table, position: int) -> list[Column]:
    """List the columns at the same position, and behind the same column or before the same one."""
    around = [
        (offset, old.columns[position + offset].name)
        for offset in (-1, 1)
        if 0 <= position + offset < len(old.columns)
    ]
    positions = [position]
    for number, column in enumerate(new.columns):
        positions += [number - offset for offset, name in around if column.name == name]
    there = range(len(new.columns))
    return [new.columns[number] for number in dict.fromkeys(positions) if number in there]


def _is_similar(one: Column, other: Column, before: TableFigures, now: TableFigures) -> bool:
    if (one.kind, one.list) != (other.kind, other.list):
        return False
    was, has = before.column(one.name), now.column(other.name)
    if was is None or has is None:
        return True
    if likeness(was, has) >= _SAME_VALUES:
        return True
    if before.is_whole and now.is_whole:
        return False
    # two samples of a large table have few values in common, but about the same numbers of them
    same_numbers = was.is_unique == has.is_unique and abs(was.filled - has.filled) < _DIFFERENCE
    return same_numbers and abs(was.distinct - has.distinct) <= _DIFFERENCE * max(was.distinct, 1)


# -- additions -------------------------------------------------------------------------------------


def extend_plan(plan: Plan, found: Plan, changes: Sequence[Change]) -> Plan:
    """Copy a plan with the additive changes taken over from a plan `found` now."""
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
    source: Source, changes: Sequence[Change], now: tuple[Sequence[Table], Sequence[TableFigures]]
) -> Source:
    """Copy a source with the additive changes in its baseline: they are not reported again."""
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
    """The new field, not required, under a name that no other field has."""
    name = planned.name
    while name in names:
        name = f"{name}_2"
    return replace(planned, name=name, field=replace(planned.field, required=False))


def _with_columns(old: Table, new: Table, changes: Sequence[Change]) -> Table:
    """The table as it was, with the new columns and values that are accepted."""
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
