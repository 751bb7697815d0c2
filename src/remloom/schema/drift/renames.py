"""Renames: which table or column that is gone is probably one that is new."""

from __future__ import annotations

from collections.abc import Sequence

from ..databases.contract import Column, Table
from ..plan.figures import TableFigures, likeness

_ALIKE = 0.8  # part of the columns that two tables must have in common
_SAME_VALUES = 0.5  # likeness of the values of two columns
_NEAR = 0.1  # by which the numbers of two samples may differ


def renamed_tables(gone: Sequence[Table], added: Sequence[Table]) -> dict[str, str]:
    """Pair tables that are gone with new ones of the same columns: name before -> name now."""
    renamed: dict[str, str] = {}
    for table in gone:
        taken = renamed.values()
        likely = [(_shared(table, other), other.name) for other in added if other.name not in taken]
        best = max(likely, default=(0.0, ""))
        if best[0] >= _ALIKE:
            renamed[table.name] = best[1]
    return renamed


def renamed_columns(
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
            if is_free and _is_alike(column, other, before, now):
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


def _is_alike(one: Column, other: Column, before: TableFigures, now: TableFigures) -> bool:
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
