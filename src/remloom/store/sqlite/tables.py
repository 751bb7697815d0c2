"""What SQL sees: each schema as a table of its fields, and nothing else.

The statement was parsed and allow-listed above the store. Here a connection of its own, read-only, with an
authorizer that knows only the views, is the second lock on the same door.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from itertools import islice
from typing import Any

import apsw

from ...errors import InvalidInputError, SqlGuardError, StoreBusyError
from ..contract import SCHEMAS
from .database import Database, translated
from .predicates import view_columns

__all__ = ["Tables"]

_READABLE = {"records", "names", "labels", "edges", "rels", "parents", "json_each", "json_tree"}
_FORBIDDEN_FUNCTIONS = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "randomblob", "zeroblob"}
_LOOK = 10_000  # virtual machine steps between looks at the clock
_CACHE_MB = 16
_LONGEST = 100_000_000  # bytes of one value: replace() and group_concat() could otherwise fill the memory


class Tables:
    """Runs SELECT statements over one tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()  # guards the connection and the deadline
        self._connection: apsw.Connection | None = None
        self._deadline = 0.0

    def select(
        self, sql: str, params: Sequence[Any], limit: int, timeout: float
    ) -> tuple[list[str], list[tuple[Any, ...]], bool]:
        with self._lock:
            cursor = self._cursor()
            self._deadline = time.monotonic() + timeout
            columns: list[str] = []

            def described(cursor: apsw.Cursor, _sql: str, _bindings: object) -> bool:
                columns.extend(column[0] for column in cursor.get_description())
                return True

            cursor.exec_trace = described  # the only place where a statement without rows tells its columns
            try:
                rows = list(islice(cursor.execute(sql, tuple(params)), limit + 1))
            except apsw.InterruptError:
                raise StoreBusyError(
                    f"the statement took longer than {timeout:g} s", remedy="filter on an indexed field, or select less"
                ) from None
            except apsw.AuthError as error:
                raise SqlGuardError(f"the statement reaches beyond its table: {error}", statement=sql) from error
            except (apsw.SQLError, apsw.MismatchError, apsw.TooBigError) as error:
                raise InvalidInputError(f"SQL: {error}", remedy="check the statement", statement=sql) from error
            except apsw.Error as error:
                raise translated(error, self._database.path) from error
            finally:
                cursor.close()
            return columns, rows[:limit], len(rows) > limit

    def explain(self, sql: str) -> list[str]:
        columns, rows, _ = self.select(f"EXPLAIN QUERY PLAN {sql}", (), 1_000, 5.0)
        return [str(row[columns.index("detail")]) for row in rows]

    def _cursor(self) -> apsw.Cursor:
        if self._connection is None:
            connection = self._database.connect(_CACHE_MB)
            for schema in SCHEMAS:
                columns = ", ".join(f'{sql} AS "{name}"' for name, sql in view_columns(schema).items())
                connection.execute(
                    f"CREATE TEMP VIEW {schema} AS SELECT {columns} FROM main.records r WHERE r.schema = '{schema}'"
                )
            connection.pragma("query_only", True)
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, _LONGEST)
            connection.set_progress_handler(self._late, _LOOK)
            connection.authorizer = _authorize
            self._connection = connection
        return self._connection.cursor()

    def _late(self) -> bool:
        return time.monotonic() > self._deadline


def _authorize(operation: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> Any:
    match operation:
        case apsw.SQLITE_SELECT | apsw.SQLITE_RECURSIVE:
            return apsw.SQLITE_OK
        case apsw.SQLITE_READ if first in SCHEMAS or first in _READABLE:
            return apsw.SQLITE_OK
        case apsw.SQLITE_FUNCTION if second not in _FORBIDDEN_FUNCTIONS:
            return apsw.SQLITE_OK
    return apsw.SQLITE_DENY
