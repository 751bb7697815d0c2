"""Tables as far as they can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from .contract import Column, Table


def table_names(places: Iterable[tuple[str | None, str]]) -> dict[tuple[str | None, str], str]:
    """What tables are called, by their schema and name: without the schema, if it is the default
    one, which is None.

    >>> list(table_names([("sales", "orders"), (None, "birds")]).values())
    ['sales.orders', 'birds']
    """
    plain = {place: ".".join(filter(None, place)) for place in places}
    shared = Counter(plain.values())
    return {
        # a name may hold a point itself: "a.b" of the default schema, and b of the schema a
        place: name if shared[name] == 1 else ".".join(f'"{part}"' for part in place if part)
        for place, name in plain.items()
    }


def without_columns(table: Table, names: Collection[str]) -> Table:
    """The table as it would be without these columns."""
    if not names:
        return table
    gone = set(names)

    def is_left(columns: Collection[str]) -> bool:
        return gone.isdisjoint(columns)

    return replace(
        table,
        columns=tuple(column for column in table.columns if column.name not in gone),
        primary_key=table.primary_key if is_left(table.primary_key) else (),
        unique=tuple(filter(is_left, table.unique)),
        foreign_keys=tuple(one for one in table.foreign_keys if is_left(one.columns)),
        indexed=tuple(filter(is_left, table.indexed)),
    )


def without_unordered_key(table: Table) -> Table:
    """The table, read by offset if its key has columns whose values cannot be given back to the
    database to be compared with: such a key is merely unique."""
    columns = {column.name: column for column in table.columns}
    if all(_is_ordered(columns[name]) for name in table.primary_key if name in columns):
        return table
    return replace(table, primary_key=(), unique=(*table.unique, table.primary_key))


def _is_ordered(column: Column) -> bool:
    return column.kind not in (None, "json") and not column.list
