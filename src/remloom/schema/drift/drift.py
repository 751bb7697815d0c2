"""Drift: how a database differs from what it was when it was registered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from ..databases.contract import Column, ForeignKey, Table
from ..plan.baseline import TableFigures, likeness
from ..plan.plan import Plan

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
_NEAR = 0.1  # by which the numbers of two samples may differ


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is otherwise than it was."""

    kind: ChangeKind
    table: str
    column: str = ""  # several are joined by ", "
    before: str = ""
    now: str = ""
    # whether taking it over leaves all that is stored as it is
    is_additive: bool = False

    def __str__(self) -> str:
        place = f"{self.table}.{self.column}" if self.column else self.table
        if self.before and self.now:
            return f"{place}: {self.kind}, {self.before} -> {self.now}"
        value = self.before or self.now
        return f"{place}: {self.kind}, {value}" if value else f"{place}: {self.kind}"


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
    """Compare what a plan was made of with what the database says now.

    Args:
        before, now: the tables, and the figures of those that the plan takes.

    Returns: the changes, table by table.
    """
    old_tables = {table.name: table for table in before[0]}
    new_tables = {table.name: table for table in now[0]}
    old_figures = {figures.table: figures for figures in before[1]}
    new_figures = {figures.table: figures for figures in now[1]}
    gone = [table for table in before[0] if table.name not in new_tables]
    added = [table for table in now[0] if table.name not in old_tables]
    renamed = _renamed_tables(gone, added)
    changes: list[Change] = []
    for table in gone:
        if table.name in renamed:
            name = renamed[table.name]
            changes.append(Change(kind="table renamed", table=table.name, now=name))
        else:
            changes.append(Change(kind="table gone", table=table.name))
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
    there = {column.name: column for column in new.columns}
    known = {column.name for column in old.columns}
    for column in old.columns:
        name = column.name
        if name in renamed:
            yield Change(kind="column renamed", table=old.name, column=name, now=renamed[name])
        elif name not in there:
            if _may_be_unseen(column, before):
                continue
            yield Change(kind="column gone", table=old.name, column=name)
            continue
        yield from _type_changes(old.name, column, there[renamed.get(name, name)])
    for name, column in there.items():
        if name not in known and name not in renamed.values():
            yield Change(
                kind="column added",
                table=old.name,
                column=name,
                now=column.declared or str(column.kind),
                is_additive=True,
            )


def _may_be_unseen(column: Column, before: TableFigures) -> bool:
    """Whether a sample may be without a column that is there."""
    figures = before.column(column.name)
    return bool(column.sampled) and (figures is None or figures.filled < _RARE)


def _type_changes(table: str, old: Column, new: Column) -> Iterator[Change]:
    name = old.name
    types = _type_of(old), _type_of(new)
    if types[0] != types[1] and not _is_seen_otherwise(old, new):
        wider = (old.kind, new.kind) == ("integer", "float") and old.list == new.list
        yield Change(
            kind="type changed",
            table=table,
            column=name,
            before=types[0],
            now=types[1],
            is_additive=wider,
        )
    if old.nullable != new.nullable:
        words = {True: "may be NULL", False: "NOT NULL"}
        yield Change(
            kind="nullability changed",
            table=table,
            column=name,
            before=words[old.nullable],
            now=words[new.nullable],
        )
    if not old.values and not new.values:
        return
    if added := [value for value in new.values if value not in old.values]:
        # what was free before is narrowed by its first values
        yield Change(
            kind="values added",
            table=table,
            column=name,
            now=", ".join(added),
            is_additive=bool(old.values),
        )
    if gone := [value for value in old.values if value not in new.values]:
        yield Change(kind="values gone", table=table, column=name, before=", ".join(gone))


def _type_of(column: Column) -> str:
    """Say the type of a column in the words of its database, without the values of an enum."""
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
    def now_called(columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(renamed.get(name, name) for name in columns)

    def change(
        kind: ChangeKind, columns: tuple[str, ...], before: str = "", now: str = ""
    ) -> Change:
        return Change(kind=kind, table=old.name, column=", ".join(columns), before=before, now=now)

    if now_called(old.primary_key) != new.primary_key:
        before, now = ", ".join(old.primary_key), ", ".join(new.primary_key)
        yield Change(
            kind="primary key changed",
            table=old.name,
            before=before or "none",
            now=now or "none",
        )
    keys = {(now_called(key.columns), key.target, key.target_columns) for key in old.foreign_keys}
    for key in new.foreign_keys:
        if _key_of(key) not in keys:
            yield change("foreign key added", key.columns, now=_target_of(key))
    there = {_key_of(key) for key in new.foreign_keys}
    for key in old.foreign_keys:
        if (now_called(key.columns), key.target, key.target_columns) not in there:
            yield change("foreign key gone", key.columns, before=_target_of(key))
    unique = {frozenset(now_called(columns)) for columns in old.unique}
    unique_now = {frozenset(columns) for columns in new.unique}
    for columns in sorted(map(sorted, unique_now - unique)):
        yield change("unique key added", tuple(columns))
    for columns in sorted(map(sorted, unique - unique_now)):
        yield change("unique key gone", tuple(columns))


def _key_of(key: ForeignKey) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    return key.columns, key.target, key.target_columns


def _target_of(key: ForeignKey) -> str:
    return f"{key.target}({', '.join(key.target_columns)})"


def _figure_changes(
    plan: Plan, old: Table, new: Table, before: TableFigures, now: TableFigures
) -> Iterator[Change]:
    planned = next((table for table in plan.tables if table.table == old.name), None)
    if planned is not None and len(planned.name) == 1:
        name = planned.name[0]
        was, has = before.column(name), now.column(name)
        if was and has and was.is_unique and has.distinct and not has.is_unique:
            yield Change(kind="names repeat", table=old.name, column=name)
    for key, count in now.orphans.items():
        was_count = before.orphans.get(key, 0)
        if count > was_count:
            column = key.removeprefix(f"{old.name}.")
            yield Change(
                kind="orphans",
                table=old.name,
                column=column,
                before=f"{was_count:,}",
                now=f"{count:,}",
            )
    rows = (before.rows or 0, now.rows or 0)
    is_known = before.rows is not None and now.rows is not None
    if is_known and abs(rows[1] - rows[0]) > _TOLERATED * rows[0]:
        yield Change(
            kind="row count",
            table=old.name,
            before=f"{rows[0]:,}",
            now=f"{rows[1]:,}",
            is_additive=True,
        )
    watermark = planned.watermark if planned else ""
    if watermark and all(column.name != watermark for column in new.columns):
        yield Change(kind="watermark gone", table=old.name, column=watermark)


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
    """Pair columns that are gone with new ones that stand where they stood, are of the same type,
    and have the same values as far as figures tell: name before -> name now."""
    here = {column.name for column in new.columns}
    known = {column.name for column in old.columns}
    renamed: dict[str, str] = {}
    for position, column in enumerate(old.columns):
        if column.name in here:
            continue
        for other in _at_place(old, new, position):
            is_free = other.name not in known and other.name not in renamed.values()
            if is_free and _is_similar(column, other, before, now):
                renamed[column.name] = other.name
                break
    return renamed


def _shared(one: Table, other: Table) -> float:
    columns = {(column.name, column.declared) for column in one.columns}
    others = {(column.name, column.declared) for column in other.columns}
    return len(columns & others) / len(columns | others) if columns else 0.0


def _at_place(old: Table, new: Table, position: int) -> list[Column]:
    """List the columns at the same position, and behind the same column or before the same one."""
    around = [
        (offset, old.columns[position + offset].name)
        for offset in (-1, 1)
        if 0 <= position + offset < len(old.columns)
    ]
    places = [position]
    for place, column in enumerate(new.columns):
        places += [place - offset for offset, name in around if column.name == name]
    return [new.columns[place] for place in dict.fromkeys(places) if 0 <= place < len(new.columns)]


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
    same_numbers = was.is_unique == has.is_unique and abs(was.filled - has.filled) < _NEAR
    return same_numbers and abs(was.distinct - has.distinct) <= _NEAR * max(was.distinct, 1)
