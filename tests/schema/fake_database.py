"""A database that is a dictionary, for tests of what follows one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from remloom.errors import SourceError, UnknownNameError
from remloom.schema.databases.contract import (
    Column,
    ColumnProfile,
    ForeignKey,
    Key,
    Table,
    TableProfile,
)

__all__ = ["FakeDatabase", "table"]


def table(name: str, columns: str, *keys: str, **changes: Any) -> Table:
    """Describe a table: "id integer, name string?", and its foreign keys, "a > b.id".

    The first column is the primary key unless `primary_key` says otherwise; "?" may be NULL.
    """
    described = []
    for text in columns.split(","):
        column, kind = text.split()
        nullable = kind.endswith("?")
        described.append(
            Column(name=column, kind=kind.rstrip("?"), declared=kind.rstrip("?"), nullable=nullable)
        )
    foreign = []
    for key in keys:
        source, _, target = key.partition(" > ")
        there, _, column = target.partition(".")
        foreign.append(ForeignKey(columns=(source,), target=there, target_columns=(column,)))
    given = {"primary_key": (described[0].name,), "foreign_keys": tuple(foreign), **changes}
    return Table(name=name, columns=tuple(described), **given)


class FakeDatabase:
    """Rows in memory, as the contract wants them read."""

    kind = "fake"
    address = "fake:///crm"

    def __init__(
        self, tables: Sequence[Table], rows: dict[str, list[tuple[Any, ...]]] | None = None
    ) -> None:
        self.described = {table.name: table for table in tables}
        self.data = rows if rows is not None else {}
        self.is_down = False
        self.on_rows: Callable[[str], object] = lambda table: None

    def tables(self, names: Sequence[str] | None = None) -> list[Table]:
        self._check()
        for name in names or ():
            if name not in self.described:
                raise UnknownNameError("table", name, list(self.described))
        return [table for name, table in self.described.items() if names is None or name in names]

    def profile(self, table: Table, sample: int) -> TableProfile:
        self._check()
        rows = self.data.get(table.name, [])
        columns = []
        for position, column in enumerate(table.columns):
            values = [row[position] for row in rows if row[position] is not None]
            different = tuple(dict.fromkeys(values))
            columns.append(
                ColumnProfile(
                    column=column.name,
                    nulls=len(rows) - len(values),
                    distinct=len(different),
                    values=different,
                )
            )
        count = len(rows)
        return TableProfile(
            table=table.name, rows=count, sampled=count, whole=True, columns=tuple(columns)
        )

    def count_contained(
        self, table: str, columns: Sequence[str], values: Sequence[Key]
    ) -> int | None:
        self._check()
        there = set(self._picked(self.described[table], columns))
        return sum(value in there for value in set(values))

    def rows(
        self, table: Table, columns: Sequence[str], *, after: Key | None, limit: int
    ) -> list[tuple[Any, ...]]:
        self._check()
        self.on_rows(table.name)
        picked = self._picked(table, columns)
        if not table.primary_key:
            start = 0 if after is None else after[0]
            return picked[start : start + limit]
        keys = self._picked(table, table.primary_key)
        ordered = sorted(zip(keys, picked, strict=True), key=lambda item: item[0])
        return [row for key, row in ordered if after is None or key > after][:limit]

    def count(self, table: Table) -> int:
        return len(self.data.get(table.name, []))

    def snapshot(self) -> Any:
        return nullcontext()

    def close(self) -> None:
        pass

    def _picked(self, table: Table, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        names = [column.name for column in table.columns]
        positions = [names.index(column) for column in columns]
        return [tuple(row[n] for n in positions) for row in self.data.get(table.name, [])]

    def _check(self) -> None:
        if self.is_down:
            raise SourceError("the database does not answer")
