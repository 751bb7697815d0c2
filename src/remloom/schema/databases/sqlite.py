"""Databases in SQLite."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from ...errors import SourceError
from ...model import Kind
from .addresses import Address
from .columns import allowed_values, make_column
from .contract import Column, ForeignKey, Table
from .sql_database import SECONDS, Sample, SqlDatabase

_STEPS = 10_000  # instructions of SQLite between two looks at the clock
_PROBES = 16  # places at which it is looked how dense rows are
_RUN = 8  # rows at each of them
_COUNTED = 20_000  # rows of the largest table that is counted rather than estimated
_ROW_IDS = ("rowid", "_rowid_", "oid")
_TYPED = 50  # rows whose values say what a column without a type holds
# what SQLite itself writes where a table was made from a SELECT
_UNTYPED = ("", "NUM")


class SqliteFileDatabase(SqlDatabase):
    """A database in a file of SQLite, which is never written."""

    kind: ClassVar[str] = "sqlite"

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._without_row_id: set[str] = set()
        with self._translated():
            self._connection: sqlite3.Connection = _connect(Path(address.location))

    def _errors(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error,)

    def _run(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        end = time.monotonic() + SECONDS
        self._connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        # numbers that are larger than SQLite's are in no table
        small = [
            str(value) if isinstance(value, int) and abs(value) >= 1 << 63 else _stored(value)
            for value in parameters
        ]
        return self._connection.execute(sql, small).fetchall()

    def _begin(self) -> None:
        self._run("BEGIN", ())
        # a snapshot is taken by the first read
        self._run("SELECT 1 FROM sqlite_schema LIMIT 1", ())

    def _end(self) -> None:
        self._run("ROLLBACK", ())

    def _natural_order(self, table: Table) -> str:
        return "" if table.is_view else f" ORDER BY {_row_id(table)}"

    def _row_mark(self, table: Table) -> str:
        if table.is_view or table.name in self._without_row_id:
            return ""
        return _row_id(table, default="")

    def _within(self, listed: str, width: int, many: int) -> str:
        if width == 1:
            return super()._within(listed, width, many)
        one = f"({', '.join(['?'] * width)})"
        return f"({listed}) IN (VALUES {', '.join([one] * many)})"

    def _describe(self) -> list[Table]:
        listed = [
            row
            for row in self._read(
                "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'"
            )
            # virtual tables compute, and shadow tables are their inside
            if row[1] in ("table", "view") and not row[0].startswith("sqlite_")
        ]
        found = {name: kind for name, kind, _ in listed}
        self._without_row_id = {name for name, _, without in listed if without}
        self._name_parts = {name: ("main", name) for name in found}
        statements = {
            name: str(sql or "")
            for name, sql in self._read("SELECT name, sql FROM main.sqlite_schema")
        }
        described = []
        for name, kind in found.items():
            try:
                described.append(self._table(name, kind, statements.get(name, "")))
            except SourceError:
                # of a view of a table that is gone, or of a function that is not trusted
                if kind != "view":
                    raise
                described.append(Table(name=name, columns=(), is_view=True))
        return _with_targets(described)

    def _table(self, name: str, kind: str, statement: str) -> Table:
        info = self._read("SELECT * FROM pragma_table_xinfo(?)", (name,))
        # a hidden column is one of a virtual table; generated ones are read like others
        info = [row for row in info if row[6] != 1]
        key = [str(row[1]) for row in sorted(info, key=itemgetter(5)) if row[5]]
        unique, indexed = self._indexes(name)
        foreign = list(self._foreign_keys(name))
        in_keys = {*key, *(column for one in foreign for column in one.columns)}
        checks = allowed_values(statement, "sqlite") if "check" in statement.lower() else {}
        columns = self._columns(name, info, in_keys, checks)
        without_null = {column.name for column in columns if not column.nullable}
        if key and not without_null.issuperset(key) and self._has_null(name, key):
            # SQLite lets keys be NULL, many times: such rows come after no other
            unique, key = (*unique, tuple(key)), []
        table = Table(
            name=name,
            columns=columns,
            primary_key=tuple(key),
            unique=unique,
            foreign_keys=tuple(foreign),
            indexed=indexed,
            is_view=kind == "view",
        )
        return table if table.is_view else replace(table, rows=self._estimate(table))

    def _columns(
        self,
        table: str,
        info: Sequence[tuple[Any, ...]],
        in_keys: set[str],
        checks: Mapping[str, tuple[str, ...]],
    ) -> tuple[Column, ...]:
        columns = []
        for _, name, declared, not_null, _, in_key, _ in info:
            nullable = not (not_null or (in_key and declared.upper() == "INTEGER"))
            column = make_column(name, declared, nullable=nullable, is_key=name in in_keys)
            if values := checks.get(name.casefold()):
                column = replace(column, kind="enum", values=values)
            elif declared.upper() in _UNTYPED:
                column = replace(column, kind=self._kind_of_values(table, name))
            elif column.kind in ("date", "datetime") and name in in_keys:
                # kept as texts or numbers, by which keys are compared
                column = replace(column, kind="string")
            columns.append(column)
        return tuple(columns)

    def _kind_of_values(self, table: str, column: str) -> Kind | None:
        quoted = self._quote(column)
        some = f"SELECT typeof({quoted}) AS kind FROM {self._qualified(table)} LIMIT {_TYPED}"
        kinds = {row[0] for row in self._read(f"SELECT DISTINCT kind FROM ({some})")} - {"null"}
        if kinds == {"blob"}:
            return None
        if kinds and kinds <= {"integer", "real"}:
            return "float" if "real" in kinds else "integer"
        return "string"

    def _indexes(
        self, table: str
    ) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
        """The columns of unique indexes, and of all; those of a part of the rows are left out."""
        unique, indexed = [], []
        for _, index, is_unique, origin, partial in self._read(
            "SELECT * FROM pragma_index_list(?)", (table,)
        ):
            found = self._read("SELECT name FROM pragma_index_info(?) ORDER BY seqno", (index,))
            columns = tuple(name for (name,) in found)
            # an expression has no name
            if partial or None in columns:
                continue
            indexed.append(columns)
            if is_unique and origin != "pk":
                unique.append(columns)
        return tuple(unique), tuple(indexed)

    def _foreign_keys(self, table: str) -> Iterator[ForeignKey]:
        found: dict[int, list[tuple[Any, ...]]] = {}
        for row in self._read("SELECT * FROM pragma_foreign_key_list(?)", (table,)):
            found.setdefault(row[0], []).append(row)
        for _, rows in sorted(found.items()):
            rows.sort(key=itemgetter(1))
            targets = tuple(row[4] for row in rows)
            yield ForeignKey(
                columns=tuple(row[3] for row in rows),
                target=rows[0][2],
                # none: those of the target's primary key
                target_columns=() if None in targets else targets,
            )

    def _has_null(self, table: str, key: Sequence[str]) -> bool:
        missing = " OR ".join(f"{self._quote(name)} IS NULL" for name in key)
        return bool(self._read(f"SELECT 1 FROM {self._qualified(table)} WHERE {missing} LIMIT 1"))

    def _estimate(self, table: Table) -> int | None:
        """The number of rows, from how dense their ids are at some places."""
        source = self._qualified(table.name)
        if table.name in self._without_row_id:
            counted = self._read(f"SELECT count(*) FROM (SELECT 1 FROM {source} LIMIT 1000000)")
            return int(counted[0][0])
        row_id = _row_id(table)
        # two statements in one: SQLite answers each from an end of its tree
        sql = f"SELECT (SELECT min({row_id}) FROM {source}), (SELECT max({row_id}) FROM {source})"
        lowest, highest = self._read(sql)[0]
        if lowest is None:
            return 0
        span = highest - lowest + 1
        if span <= _COUNTED:
            return int(self._read(f"SELECT count(*) FROM {source}")[0][0])
        seen = covered = 0
        for number in range(_PROBES):
            start = lowest + span * number // _PROBES
            estimate = (
                f"SELECT {row_id} AS id FROM {source} WHERE {row_id} >= ? "
                f"ORDER BY {row_id} LIMIT {_RUN}"
            )
            found, last = self._read(f"SELECT count(*), max(id) FROM ({estimate})", (start,))[0]
            seen += found
            covered += (last if found == _RUN else highest) - start + 1
        return int(span * seen // covered)

    def _sample(self, table: Table, columns: Sequence[Column], limit: int) -> Sample:
        if table.is_view or table.name in self._without_row_id or (table.rows or 0) <= limit:
            return super()._sample(table, columns, limit)
        listed = self._sampled(columns)
        sql = f"SELECT {listed} FROM {self._qualified(table.name)}"
        return Sample(self._runs(sql, _row_id(table), table, limit), whole=False)


def _connect(path: Path) -> sqlite3.Connection:
    uri = f"{path.as_uri()}?mode=ro"
    try:
        return _opened(uri)
    except sqlite3.OperationalError:
        # in a folder that cannot be written SQLite cannot lock it; nobody else can write it either
        if Path(f"{path}-wal").exists():
            raise
        return _opened(f"{uri}&immutable=1")


def _opened(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    try:
        # what is not UTF-8 is shown as such, and stops nothing
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("PRAGMA query_only = on")
        connection.execute("PRAGMA trusted_schema = off")
        connection.execute("PRAGMA busy_timeout = 5000")
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _row_id(table: Table, default: str = "rowid") -> str:
    """The name of the row id that no column of the table has taken."""
    taken = {column.name.lower() for column in table.columns}
    return next((name for name in _ROW_IDS if name not in taken), default)


def _stored(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float | bytes):
        return value
    return float(value) if hasattr(value, "as_tuple") else str(value)


def _with_targets(tables: Sequence[Table]) -> list[Table]:
    """Write the targets of foreign keys as their tables do; leave out keys without a target."""
    by_name = {table.name.casefold(): table for table in tables}
    made = []
    for table in tables:
        kept = []
        for one in table.foreign_keys:
            target = by_name.get(one.target.casefold())
            if target is None:
                continue
            written = {column.name.casefold(): column.name for column in target.columns}
            named = one.target_columns or target.primary_key
            columns = tuple(written.get(name.casefold(), name) for name in named)
            if len(columns) == len(one.columns):
                kept.append(replace(one, target=target.name, target_columns=columns))
        made.append(replace(table, foreign_keys=tuple(kept)))
    return made
