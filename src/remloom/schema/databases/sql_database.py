"""What databases that speak SQL have in common: rows by their keys, samples, counts."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from operator import and_
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from ...errors import SourceError, UnknownNameError
from .addresses import Address
from .columns import bind, converters
from .contract import (
    LONGEST,
    Column,
    Key,
    Table,
    TableProfile,
    Unreadable,
    profile_rows,
    rows_to_read,
    without_unordered_key,
)

SECONDS = 60  # that one statement may take
_SCANNED = 100_000  # rows of a table that is read whole to look for values, where no index helps
# how the types of texts begin that may be long
_TEXTS = ("text", "varchar", "char", "tinytext", "mediumtext", "longtext", "nvarchar", "clob")
_CHUNK = 500  # values looked for by one statement
_RUNS = 100  # runs of neighbouring rows that a sample consists of


class Sample(Struct, frozen=True):
    """Rows of a table, and whether they are all it has."""

    rows: Sequence[Sequence[Any]]
    whole: bool


class SqlDatabase(ABC):
    """A database that speaks SQL, read-only; see `Database`."""

    kind: ClassVar[str]
    _placeholder: ClassVar[str] = "?"
    _text_type: ClassVar[str] = "text"
    # rows of the largest table that is scanned for values; None: any
    _scanned: ClassVar[int | None] = _SCANNED
    # whether (a, b) > (1, 2) is answered from an index
    _compares_tuples: ClassVar[bool] = True
    _connection: Any

    def __init__(self, address: Address) -> None:
        self._address = address
        self._described: dict[str, Table] = {}
        self._name_parts: dict[str, tuple[str, ...]] = {}
        self._texts: set[Column] = set()  # columns that can be read only as texts
        # the end of the last page of a table, as its reader has it and as the database does
        self._last: tuple[Any, Sequence[Any]] = ((), ())

    @property
    def address(self) -> str:
        return self._address.url

    def tables(self, names: Sequence[str] | None = None) -> list[Table]:
        described = {table.name: without_unordered_key(table) for table in self._describe()}
        self._described = described
        if names is None:
            return [described[name] for name in sorted(described)]
        for name in names:
            if name not in described:
                raise UnknownNameError("table", name, list(described))
        return [described[name] for name in sorted(set(names))]

    def profile(self, table: Table, sample: int) -> TableProfile:
        columns = [column for column in table.columns if column.kind is not None]
        limit = rows_to_read(table.rows, len(columns), sample)
        if not columns:
            return TableProfile(table=table.name, rows=table.rows)
        unreadable: dict[str, str] = {}
        try:
            taken = self._sample(table, columns, limit)
        except SourceError as error:
            unreadable = self._unreadable(table, columns, limit, error)
            columns = [column for column in columns if column.name not in unreadable]
            taken = self._sample(table, columns, limit)
        rows = _plain([self._parsed(row, columns) for row in taken.rows], columns)
        profile = profile_rows(table, columns, rows, total=table.rows, whole=taken.whole)
        return replace(profile, unreadable=unreadable)

    def count_contained(
        self, table: str, columns: Sequence[str], values: Sequence[Key]
    ) -> int | None:
        described = self._known(table)
        if not self._may_look(described, columns):
            return None
        of = [_column(described, name) for name in columns]
        keys = [key for value in values if (key := _bound(value, of)) is not None]
        found = 0
        listed = ", ".join(self._quote(name) for name in columns)
        for start in range(0, len(keys), _CHUNK):
            chunk = keys[start : start + _CHUNK]
            condition = self._within(listed, len(columns), len(chunk))
            distinct = f"SELECT DISTINCT {listed} FROM {self._qualified(table)} WHERE {condition}"
            parameters = [value for key in chunk for value in key]
            found += self._read(f"SELECT count(*) FROM ({distinct}) AS found", parameters)[0][0]
        return found

    def rows(
        self, table: Table, columns: Sequence[str], *, after: Key | None, limit: int
    ) -> list[tuple[Any, ...]]:
        of = [_column(table, name) for name in columns]
        mark = self._row_mark(table) if table.primary_key else ""
        try:
            expressions = [*map(self._read_as, of), *filter(None, (mark,))]
            found = self._page(table, expressions, after, limit)
        except SourceError as error:
            mark = ""
            found = self._piecewise(table, of, after, limit, error)
        width = len(columns)
        rows = _plain([self._parsed(row[:width], of) for row in found], of)
        if rows and set(table.primary_key).issubset(columns):
            positions = [list(columns).index(name) for name in table.primary_key]
            last = tuple([found[-1][position] for position in positions])
            key = tuple([rows[-1][position] for position in positions])
            self._last = (table.name, table.primary_key, key), found[-1][-1:] if mark else last
        return rows

    def _parsed(self, row: Sequence[Any], columns: Sequence[Column]) -> Sequence[Any]:
        """A row whose values that were read as texts are of their column's kind."""
        if self._texts.isdisjoint(columns):
            return row
        return [
            _comparable(value, column) if column in self._texts and type(value) is str else value
            for value, column in zip(row, columns, strict=True)
        ]

    def _page(
        self,
        table: Table,
        expressions: Sequence[str],
        after: Key | None,
        limit: int,
        offset: int = 0,
    ) -> list[tuple[Any, ...]]:
        """Evaluate expressions for the rows whose key comes after this one."""
        source = self._qualified(table.name)
        sql = f"SELECT {', '.join(expressions)} FROM {source}"
        if not table.primary_key:
            offset += int(after[0]) if after else 0
            return self._read(f"{sql}{self._natural_order(table)} {_window(limit, offset)}")
        keys = [_column(table, name) for name in table.primary_key]
        names = [self._key(column) for column in keys]
        parameters: Sequence[Any] = ()
        if after is not None:
            last, found = self._last
            is_last = last == (table.name, table.primary_key, after)
            if is_last and (mark := self._row_mark(table)) and len(found) == 1:
                # a key may change when it is read: text that is not UTF-8
                listed = ", ".join(names)
                behind = f"SELECT {listed} FROM {source} WHERE {mark} = {self._placeholder}"
                condition, parameters = f"({listed}) > ({behind})", found
            else:
                values = found if is_last else list(map(_comparable, after, keys))
                condition, parameters = self._after(names, [*map(self._mark, keys)], values)
            sql = f"{sql} WHERE {condition}"
        sql = f"{sql} ORDER BY {', '.join(names)} {_window(limit, offset)}"
        return self._read(sql, parameters)

    def _piecewise(
        self,
        table: Table,
        columns: Sequence[Column],
        after: Key | None,
        limit: int,
        error: SourceError,
    ) -> list[tuple[Any, ...]]:
        """Read a page of which something cannot be read: column by column, then row by row."""
        # a connection that is gone is not searched for odd values
        self._read("SELECT 1")
        end = time.monotonic() + SECONDS

        def values(expression: str, first: int, many: int) -> list[Any]:
            try:
                found = self._page(table, [expression], after, many, first)
                return [value for (value,) in found]
            except SourceError as fault:
                if time.monotonic() > end:
                    raise error from None
                if many == 1:
                    return [Unreadable(_reason(fault))]
            half = many // 2
            return [
                *values(expression, first, half),
                *values(expression, first + half, many - half),
            ]

        made: list[list[Any]] = [[] for _ in columns]
        failing = []
        for position, column in enumerate(columns):
            try:
                found = self._page(table, [self._read_as(column)], after, limit)
                made[position] = [value for (value,) in found]
            except SourceError:
                self._texts.add(column)
                failing.append(position)
        if len(failing) == len(columns):
            raise error
        many = max(map(len, made))
        for position in failing:
            made[position] = values(self._read_as(columns[position]), 0, many) if many else []
        is_odd = [any(isinstance(value, Unreadable) for value in some) for some in made]
        keys = [column.name in table.primary_key for column in columns]
        if all(is_odd) or any(map(and_, is_odd, keys)) or len(set(map(len, made))) != 1:
            raise error
        return list(zip(*made, strict=True))

    def _unreadable(
        self, table: Table, columns: Sequence[Column], limit: int, error: SourceError
    ) -> dict[str, str]:
        """The columns that cannot be read, even as text, and why; raises `error` if that is all."""
        self._read("SELECT 1")
        end = time.monotonic() + SECONDS
        found: dict[str, str] = {}
        for column in columns:
            for is_text in (False, True):
                if is_text:
                    self._texts.add(column)
                try:
                    self._sample(table, [column], limit)
                    found.pop(column.name, None)
                    break
                except SourceError as fault:
                    found[column.name] = _reason(fault)
                if time.monotonic() > end:
                    raise error from None
        if len(found) == len(columns):
            raise error from None
        return found

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self._translated():
            self._begin()
        try:
            yield
        except BaseException:
            # the first error is the one to report
            with suppress(SourceError), self._translated():
                self._end()
            raise
        with self._translated():
            self._end()

    def _sample(self, table: Table, columns: Sequence[Column], limit: int) -> Sample:
        """Read up to so many rows without reading the whole table: runs of neighbouring rows
        spread over numeric keys; of other keys the first and the last; without a key the first."""
        sql = f"SELECT {self._sampled(columns)} FROM {self._qualified(table.name)}"
        if table.rows is None or table.rows <= limit or not table.primary_key:
            rows = self._read(f"{sql} LIMIT {limit + 1}")
            return Sample(rows[:limit], whole=len(rows) <= limit)
        if _column(table, table.primary_key[0]).kind == "integer":
            key = self._quote(table.primary_key[0])
            return Sample(self._runs(sql, key, table, limit), whole=False)
        half = f"LIMIT {limit // 2}"
        names = [self._quote(name) for name in table.primary_key]
        first = self._read(f"{sql} ORDER BY {', '.join(names)} {half}")
        backwards = ", ".join(f"{name} DESC" for name in names)
        return Sample(first + self._read(f"{sql} ORDER BY {backwards} {half}"), whole=False)

    def _runs(self, sql: str, key: str, table: Table, limit: int) -> list[tuple[Any, ...]]:
        source = self._qualified(table.name)
        # each is answered from an end of the index
        ends = f"(SELECT min({key}) FROM {source}), (SELECT max({key}) FROM {source})"
        lowest, highest = self._read(f"SELECT {ends}")[0]
        if lowest is None:
            return []
        runs = min(_RUNS, limit)
        edges = [lowest + (highest - lowest + 1) * number // runs for number in range(runs + 1)]
        mark = self._placeholder
        within = f"{key} >= {mark} AND {key} < {mark}"
        run = f"{sql} WHERE {within} ORDER BY {key} LIMIT {limit // runs}"
        rows: list[tuple[Any, ...]] = []
        for bounds in pairwise(edges):
            rows += self._read(run, bounds)
        return rows

    def close(self) -> None:
        self._connection.close()

    @abstractmethod
    def _describe(self) -> list[Table]:
        """Describe all tables, and note the parts of their names."""

    @abstractmethod
    def _run(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Run a statement, in no more than `SECONDS`."""

    @abstractmethod
    def _begin(self) -> None:
        """Begin a transaction that sees one state of the database."""

    @abstractmethod
    def _end(self) -> None:
        """End that transaction."""

    def _read(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._translated():
            try:
                return self._run(sql, parameters)
            except (ValueError, ArithmeticError, LookupError, TypeError) as error:
                # a value that the driver cannot convert
                raise self._problem(error) from None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn errors of the driver into ours, without what secrets their texts may have."""
        try:
            yield
        except self._errors() as error:
            raise self._problem(error) from None

    @abstractmethod
    def _errors(self) -> tuple[type[Exception], ...]:
        """The errors of the driver."""

    def _problem(self, error: Exception) -> SourceError:
        message = " ".join(str(part) for part in error.args) or type(error).__name__
        first = self._address.clean(message).strip().partition("\n")[0]
        return SourceError(f"{self.address}: {first[:300]}", uri=self.address)

    def _quote(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def _qualified(self, name: str) -> str:
        """The name of a table as a statement has it."""
        parts = self._name_parts.get(name)
        if parts is None:
            self._known(name)
            parts = self._name_parts[name]
        return ".".join(self._quote(part) for part in parts)

    def _known(self, name: str) -> Table:
        if name not in self._described:
            self.tables([name])
        return self._described[name]

    def _expression(self, column: Column) -> str:
        """The expression that reads a column."""
        return self._quote(column.name)

    def _read_as(self, column: Column) -> str:
        if column in self._texts:
            return f"CAST({self._quote(column.name)} AS {self._text_type})"
        return self._expression(column)

    def _key(self, column: Column) -> str:
        """The expression by which a column of a key is ordered and compared."""
        return self._quote(column.name)

    def _mark(self, column: Column) -> str:
        """The placeholder of a value that a column of a key is compared with."""
        return self._placeholder

    def _row_mark(self, table: Table) -> str:
        """The name of the table's row id; empty: it has none."""
        return ""

    def _sampled(self, columns: Sequence[Column]) -> str:
        """The expressions that read columns for a sample: of long texts only the beginning."""
        return ", ".join(
            f"substr({self._read_as(column)}, 1, {LONGEST})"
            if _is_long_text(column)
            else self._read_as(column)
            for column in columns
        )

    def _natural_order(self, table: Table) -> str:
        """The ORDER BY for rows without a key; empty: the database's own order is stable."""
        return ""

    def _may_look(self, table: Table, columns: Sequence[str]) -> bool:
        """Whether an index helps to find values in these columns, or the table is small."""
        looked_up = set(columns)
        indexes = (table.primary_key, *table.unique, *table.indexed)
        is_indexed = any(set(index[: len(looked_up)]) == looked_up for index in indexes)
        if is_indexed or self._scanned is None:
            return True
        return not table.is_view and table.rows is not None and table.rows <= self._scanned

    def _within(self, listed: str, width: int, many: int) -> str:
        """The condition that columns have one of so many values."""
        one = ", ".join([self._placeholder] * width)
        if width == 1:
            return f"{listed} IN ({', '.join([one] * many)})"
        return f"({listed}) IN ({', '.join([f'({one})'] * many)})"

    def _after(
        self, names: Sequence[str], placeholders: Sequence[str], values: Sequence[Any]
    ) -> tuple[str, Sequence[Any]]:
        """The condition that a key comes after this one, and its parameters."""
        if len(names) == 1:
            return f"{names[0]} > {placeholders[0]}", values
        if self._compares_tuples:
            return f"({', '.join(names)}) > ({', '.join(placeholders)})", values
        ranges: list[str] = []
        parameters: list[Any] = []
        for number, name in enumerate(names):
            equal = [f"{names[position]} = {placeholders[position]}" for position in range(number)]
            ranges.append(" AND ".join([*equal, f"{name} > {placeholders[number]}"]))
            parameters += values[: number + 1]
        return " OR ".join(f"({one})" for one in ranges), parameters


def _window(limit: int, offset: int) -> str:
    return f"LIMIT {int(limit)} OFFSET {int(offset)}" if offset else f"LIMIT {int(limit)}"


def _is_long_text(column: Column) -> bool:
    is_text = column.kind == "string" and not column.list
    return is_text and column.declared.lower().startswith(_TEXTS)


def _column(table: Table, name: str) -> Column:
    for column in table.columns:
        if column.name == name:
            return column
    raise UnknownNameError(f"column of {table.name}", name, [c.name for c in table.columns])


def _plain(rows: Sequence[Sequence[Any]], columns: Sequence[Column]) -> list[tuple[Any, ...]]:
    if not rows:
        return []
    by_column = zip(converters(columns), zip(*rows, strict=True), strict=True)
    return list(zip(*(map(convert, values) for convert, values in by_column), strict=True))


def _comparable(value: Any, column: Column) -> Any:
    """A value of a key as the driver takes it; unchanged if it does not fit its column."""
    try:
        return bind(value, column)
    except (ValueError, ArithmeticError):
        return value


def _reason(fault: SourceError) -> str:
    return fault.message.partition(": ")[2] or fault.message


def _bound(key: Key, columns: Sequence[Column]) -> Key | None:
    """The values as the driver takes them; None for what cannot be in these columns."""
    try:
        bound = tuple(bind(value, column) for value, column in zip(key, columns, strict=True))
    except (ValueError, ArithmeticError):
        return None
    return None if None in bound else bound
