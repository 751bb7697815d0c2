"""SELECTs over one tenant.

What runs was written from values (`sql_writer`). It runs in a read-only transaction, within
functions of the database that take on a role which may only read, and whose tenant nothing that a
statement calls could change: the second lock on the same door. What it has changed of the session,
if it could, is rolled back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec
import psycopg

from ...errors import InvalidInputError, SqlGuardError, StoreBusyError
from ...kv import Entry
from ...sql.answers import (
    MAX_FETCHED,
    FetchBudget,
    ResultSet,
    display_value,
    number_out_of_range,
    row_too_large,
    rows_too_large,
    too_much_held,
)
from ...sql.values import Select
from ...sql.writer import is_plain_step
from ..contract import INDEXES
from ..definitions import Definitions
from ..encoding import now
from ..predicate_sql import Compilers
from .database import PostgresDatabase, RawLoader
from .rows import SQL
from .sql_writer import PostgresWriter, indexed_value, json_value
from .write.kv import PostgresKeyValue

_TOO_LONG = "RL001"  # SQLSTATE that `remloom.fetch` raises
_TOO_MUCH_HELD = "RL002"  # that `remloom.held` raises
_ROW_TOO_LONG = "RL003"  # that `remloom.fits` raises
_EXPLAIN_TIMEOUT = 5.0  # seconds
# fields that have a column of their own, which is indexed
_OWN_COLUMNS = ("id", "schema", "uri", "created_at", "updated_at", "starts_at", "ends_at")


def compilers_of(server: PostgresDatabase, definitions: Definitions) -> Compilers:
    """The compilers of predicates over one tenant."""

    def has_path(schema: str, path: str) -> bool:
        sql = SQL.fill("has_value", value=json_value(path).replace("%", "%%"))
        return bool(server.fetch(sql, (server.tenant, schema)))

    return Compilers(definitions, has_path, PostgresWriter, "%s")


class PostgresSql:
    """SELECT statements over one tenant, and the indexes they use. See `components.SqlQueries`."""

    def __init__(
        self, server: PostgresDatabase, compilers: Compilers, kv: PostgresKeyValue
    ) -> None:
        self._server = server
        self._compilers = compilers
        self._kv = kv

    def select(self, select: Select, *, limit: int, timeout: float) -> ResultSet:
        writer = PostgresWriter(select.schema)
        with self._server.read():
            sql, kinds = writer.select(select, limit + 1, self._not_expired())
            values = {"sql": sql, "values": _texts(writer), "bytes": MAX_FETCHED}
            lines = self.run(SQL.answer, values, timeout)
        rows: list[tuple[Any, ...]] = []
        budget = FetchBudget()
        for line in lines:
            cells = msgspec.json.decode(line)
            budget.spend(cells)
            rows.append(tuple(map(display_value, cells, kinds)))
        names = [output.name for output in select.outputs]
        return ResultSet(names, rows[:limit], len(rows) > limit)

    def explain(self, select: Select, *, limit: int) -> list[str]:
        writer = PostgresWriter(select.schema)
        with self._server.read():
            sql, _ = writer.select(select, limit + 1, self._not_expired())
            values = {"sql": sql, "values": _texts(writer)}
            return [line.decode() for line in self.run(SQL.explain, values, _EXPLAIN_TIMEOUT)]

    def _not_expired(self) -> str:
        values = {"tenant": self._server.tenant, "now": now()}
        with self._server.read() as cursor:
            # not prepared: the end of a SELECT makes psycopg forget what is
            ((last,),) = cursor.execute(SQL.last_expired, values, prepare=False).fetchall()
        return "" if last is None else f"(r.expires IS NULL OR r.expires > {last})"

    def columns(self, schema: str) -> list[str]:
        return list(self._compilers.of(schema).table.columns)

    def create_index(self, schema: str, field: str) -> None:
        compiler = self._compilers.of(schema)
        path = compiler.field(field)
        if not all(map(is_plain_step, path.split("."))):
            raise InvalidInputError(
                f"{path!r} cannot be indexed", remedy="index a field whose name is plain words"
            )
        if path == "content":
            raise InvalidInputError("content is indexed as text already", remedy="use search_text")
        if path in _OWN_COLUMNS:
            return
        expression = indexed_value(compiler.value(field)).replace("r.body", "body")
        # a field may be another column in a later version of its schema, and in that of others
        own = expression if path in compiler.table.own else ""
        digest = sha256(f"{schema}.{path}{own}".encode()).hexdigest()[:16]
        sql = SQL.fill(
            "create_field_index", name=f"user_{digest}", expression=expression, schema=schema
        )
        self._server.define(sql)
        self._kv.put([Entry(INDEXES, f"{schema}.{path}", b"{}")])

    def run(
        self, sql: str, values: Sequence[Any] | Mapping[str, Any], timeout: float
    ) -> list[bytes]:
        """Fetch the rows of a statement that runs as the role that reads, each one text in UTF-8.

        Raises:
            StoreBusyError: it took longer than `timeout` seconds.
            InvalidInputError: it computes what cannot be, or its rows are too long.
        """
        with self._server.read() as snapshot, snapshot.connection.cursor() as cursor:
            milliseconds = max(1, round(timeout * 1000))
            # a long text is decoded once it is known to be short enough
            cursor.adapters.register_loader("text", RawLoader)
            # in one round trip
            cursor.execute(f"SAVEPOINT answer; SET LOCAL statement_timeout = {milliseconds}")
            try:
                return [line for (line,) in cursor.execute(sql, values, prepare=False)]
            except psycopg.Error as error:
                raise _error(error, timeout) from error
            finally:
                # whatever the statement set is undone, for the others of this session
                if not cursor.connection.closed:
                    cursor.execute("ROLLBACK TO SAVEPOINT answer; RELEASE SAVEPOINT answer")


def _error(error: psycopg.Error, timeout: float) -> Exception:
    state = error.sqlstate or ""
    if isinstance(error, psycopg.errors.QueryCanceled):
        return StoreBusyError(
            f"the statement took longer than {timeout:g} s",
            remedy="filter on an indexed field, or select less",
        )
    if state == _TOO_LONG:
        return rows_too_large()
    if state == _TOO_MUCH_HELD:
        return too_much_held()
    if state == _ROW_TOO_LONG:
        return row_too_large()
    if state.startswith("22003") or isinstance(error, psycopg.errors.NumericValueOutOfRange):
        return number_out_of_range()
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return SqlGuardError(
            "the statement reaches beyond its table", remedy="SELECT … FROM one of the schemas"
        )
    if state[:2] in ("22", "42", "0A", "54", "21", "2F"):
        return InvalidInputError(
            f"this SELECT cannot be answered: {error.diag.message_primary or error}",
            remedy="compute with smaller or other values: see docs/dialect.md",
        )
    return error


def _texts(writer: PostgresWriter) -> list[str | None]:
    """The values that the statement compares with, as texts: it casts each."""
    return [None if value is None else str(value) for value in writer.values]
