"""A database that is a dictionary, for tests of what follows one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from remloom.errors import SourceError, UnknownNameError
from remloom.model import Field
from remloom.schema.databases.contract import (
    Column,
    ColumnProfile,
    Database,
    ForeignKey,
    Key,
    Table,
    TableProfile,
)
from remloom.schema.plan.plan import Plan, PlannedEdge, PlannedField, PlannedLink, PlannedTable

__all__ = ["FakeDatabase", "count_rows", "plan_of", "table"]


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


def count_rows(database: Database, table: Table) -> int:
    """Count the rows of a table by reading one of its columns."""
    return len(database.rows(table, [table.columns[0].name], after=None, limit=10_000))


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
        self.read_by: list[tuple[str, ...]] = []  # keys in whose order rows were read
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
        pairs = [pair for pair in zip(keys, picked, strict=True) if None not in pair[0]]
        ordered = sorted(pairs, key=lambda item: item[0])
        self.read_by.append(table.primary_key)
        return [row for key, row in ordered if after is None or key > after][:limit]

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


def plan_of(tables: Sequence[Table], *, source: str = "crm", **changes: Any) -> Plan:
    """Plan to take these tables as they are: "customers" as customers, named by "name".

    A table called "a_b" whose key is two foreign keys is a link table.
    """
    links = {
        table.name
        for table in tables
        if len(table.foreign_keys) == 2
        and {column for key in table.foreign_keys for column in key.columns}
        == set(table.primary_key)
    }
    given = {
        "tables": tuple(_planned(table) for table in tables if table.name not in links),
        "edges": tuple(_edge(table, key) for table in tables for key in table.foreign_keys),
        "links": tuple(_link(table) for table in tables if table.name in links),
        **changes,
    }
    return Plan(source=source, address="fake:///crm", **given)


def _planned(table: Table) -> PlannedTable:
    return PlannedTable(
        table=table.name,
        schema_name=table.name,
        entity_type=table.name.removesuffix("s"),
        key=table.primary_key,
        name=tuple(column.name for column in table.columns if column.name == "name"),
        fields=tuple(map(_field, table.columns)),
    )


def _field(column: Column) -> PlannedField:
    field = Field(kind=column.kind or "string", is_key=column.name == "email")
    # every row has an id and a name already
    name = {"id": "number", "name": "called"}.get(column.name, column.name)
    return PlannedField(column=column.name, name=name, field=field)


def _edge(table: Table, key: ForeignKey) -> PlannedEdge:
    role = key.columns[0]
    return PlannedEdge(
        table=table.name,
        columns=key.columns,
        target=key.target,
        target_columns=key.target_columns,
        name="belongs_to" if key.target.startswith(role) else role,
        inverse="has_ticket" if table.name == "tickets" else "",
    )


def _link(table: Table) -> PlannedLink:
    owner, target = table.foreign_keys
    ends = {*owner.columns, *target.columns}
    return PlannedLink(
        table=table.name,
        owner=owner.target,
        owner_columns=owner.columns,
        target=target.target,
        target_columns=target.columns,
        name="contains",
        fields=tuple(_field(column) for column in table.columns if column.name not in ends),
    )
