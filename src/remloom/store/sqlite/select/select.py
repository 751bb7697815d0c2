"""SELECTs over one tenant.

What runs was written from values (`sql_writer`); a connection of its own, read-only, with an
authorizer that knows only the tables and functions which that writes, is the second lock on the
same door.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import apsw

from ....errors import InvalidInputError, SqlGuardError, StoreBusyError
from ....kv import Entry
from ....sql.answers import FetchBudget, ResultSet, decode_scalar, display_value
from ....sql.values import Json, Select, Type
from ...contract import INDEXES
from ...definitions import Definitions
from ...predicate_sql import Compilers
from ..file.database import SqliteDatabase
from ..file.error_translation import translate, translated
from ..rows import not_expired
from ..write import kv
from .select_writer import SqliteWriter, stored_value
from .sql_functions import bounded, tick

_READABLE = {"records", "names", "labels", "edges", "rels", "parents", "json_each"}
# Those that reach files or code, and those that make long values of short ones.
_FORBIDDEN_FUNCTIONS = {
    "edit",
    "format",
    "fts3_tokenizer",
    "hex",
    "load_extension",
    "printf",
    "quote",
    "randomblob",
    "readfile",
    "writefile",
    "zeroblob",
}
_LOOK = 500  # virtual machine steps between looks at the clock
_CACHE_MB = 16
_LONGEST = 32_000_000  # bytes of one value
_AT_ONCE = 4  # statements


def compilers_of(database: SqliteDatabase, definitions: Definitions) -> Compilers:
    """The compilers of predicates over one tenant."""

    def has_path(schema: str, path: str) -> bool:
        root, *steps = path.split(".")
        value = stored_value(schema, Json(root, tuple(steps)))
        sql = f"SELECT 1 FROM records r WHERE r.schema = ? AND {value} IS NOT NULL LIMIT 1"
        with translate(database.path):
            return database.reader.execute(sql, (schema,)).get is not None

    return Compilers(definitions, has_path, SqliteWriter, "?")


class SqliteSql:
    """SELECT statements over one tenant, and the indexes they use. See `components.SqlQueries`."""

    def __init__(self, database: SqliteDatabase, compilers: Compilers) -> None:
        self._database = database
        self._compilers = compilers
        self._lock = threading.Lock()  # guards the idle connections
        self._idle: list[_Connection] = []
        self._slots = threading.Semaphore(_AT_ONCE)

    def select(self, select: Select, *, limit: int, timeout: float) -> ResultSet:
        writer = SqliteWriter(select.schema)
        budget = FetchBudget()
        rows: list[tuple[Any, ...]] = []
        with self._connection(timeout) as cursor:
            sql, kinds = writer.select(select, limit + 1, not_expired(cursor))
            for row in self._run(cursor, sql, writer.values, timeout):
                budget.spend(row)
                rows.append(tuple(map(_shown, row, kinds)))
        names = [output.name for output in select.outputs]
        return ResultSet(names, rows[:limit], len(rows) > limit)

    def explain(self, select: Select, *, limit: int) -> list[str]:
        writer = SqliteWriter(select.schema)
        with self._connection(5.0) as cursor:
            sql, _ = writer.select(select, limit + 1, not_expired(cursor))
            # A plan that was kept knows no index that was made since, nor does a connection without
            # a read since.
            cursor.execute("SELECT 1 FROM records LIMIT 1").fetchall()
            rows = self._run(cursor, f"EXPLAIN QUERY PLAN {sql}", writer.values, 5.0, keep=False)
            return [str(row[3]) for row in rows]

    def columns(self, schema: str) -> list[str]:
        return list(self._compilers.of(schema).table.columns)

    def create_index(self, schema: str, field: str) -> None:
        compiler = self._compilers.of(schema)
        path = compiler.field(field)
        expression = stored_value(schema, compiler.value(field)).replace("r.", "")
        if "decompress" in expression:
            raise InvalidInputError("content is indexed as text already", remedy="use search_text")
        # Few records share a name: the time behind it costs no order by name, and the latest of a
        # range of names are found in the index alone.
        columns = f"{expression}, updated" if path == "name" else expression
        # a field may be another column in a later version of its schema
        own = expression if path in compiler.table.own else ""
        digest = sha256(f"{schema}.{path}{own}".encode()).hexdigest()[:16]
        entry = Entry(INDEXES, f"{schema}.{path}", b"{}")

        def define(cursor: apsw.Cursor) -> None:
            cursor.execute(
                f"CREATE INDEX IF NOT EXISTS user_{digest} ON records (schema, {columns})"
                f" WHERE schema = '{schema}'"
            )
            kv.put(cursor, [entry])

        self._database.write(define)

    def _run(
        self,
        cursor: apsw.Cursor,
        sql: str,
        values: Sequence[Any],
        timeout: float,
        *,
        keep: bool = True,
    ) -> Iterator[tuple[Any, ...]]:
        try:
            with bounded(timeout):
                yield from cursor.execute(sql, tuple(values), can_cache=keep)
        except apsw.InterruptError:
            raise StoreBusyError(
                f"the statement took longer than {timeout:g} s",
                remedy="filter on an indexed field, or select less",
            ) from None
        except apsw.AuthError as error:
            raise SqlGuardError(f"the statement reaches beyond its table: {error}") from error
        except apsw.TooBigError:
            raise InvalidInputError(
                f"a value of this statement is longer than {_LONGEST // 1_000_000} million bytes",
                remedy="take a part of it: left(content, 200)",
            ) from None
        except (apsw.SQLError, apsw.MismatchError) as error:
            raise InvalidInputError(f"SQL: {error}", remedy="check the statement") from error
        except apsw.Error as error:
            raise translated(error, self._database.path) from error
        finally:
            cursor.close(True)

    @contextmanager
    def _connection(self, timeout: float) -> Iterator[apsw.Cursor]:
        """A cursor that stops after so many seconds. Some statements run at once, the others
        wait."""
        self._database.require()
        if not self._slots.acquire(timeout=timeout):
            raise StoreBusyError(
                f"{_AT_ONCE} statements are being run already",
                remedy="try again; ask for less, so that they end sooner",
            )
        try:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                connection = _Connection(self._database)
            connection.deadline = time.monotonic() + timeout
            try:
                yield connection.connection.cursor()
            finally:
                with self._lock:
                    self._idle.append(connection)
        finally:
            self._slots.release()


class _Connection:
    """A connection for SELECTs, and when what it runs must end."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.deadline = 0.0
        self.connection = connection = database.connections.open(_CACHE_MB)
        connection.pragma("query_only", True)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, _LONGEST)
        connection.set_progress_handler(self._late, _LOOK)
        connection.authorizer = _authorize

    def _late(self) -> bool:
        return tick() > self.deadline


def _shown(cell: Any, kind: Type) -> Any:
    value = decode_scalar(cell) if kind == "json" and isinstance(cell, str) else cell
    return display_value(value, kind)


def _authorize(
    operation: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> Any:
    match operation:
        case apsw.SQLITE_SELECT:
            return apsw.SQLITE_OK
        case apsw.SQLITE_READ if first in _READABLE:
            return apsw.SQLITE_OK
        case apsw.SQLITE_FUNCTION if second not in _FORBIDDEN_FUNCTIONS:
            return apsw.SQLITE_OK
    return apsw.SQLITE_DENY
