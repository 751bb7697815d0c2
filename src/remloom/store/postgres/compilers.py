"""The compilers of predicates, one for each schema."""

from __future__ import annotations

from functools import partial

from ..predicate_sql import Compiler
from ..schemas import check_schema
from .database import Database
from .sql_writer import PostgresWriter, json_value
from .statements import SQL

__all__ = ["Compilers"]


class Compilers:
    """Makes the compiler of each schema once. See `predicate_sql.Compiler`."""

    def __init__(self, server: Database, tenant: str) -> None:
        self._server = server
        self._tenant = tenant
        self._by_schema: dict[str, Compiler] = {}

    def of(self, schema: str) -> Compiler:
        """Return the compiler of a schema.

        Raises:
            UnknownNameError: there is no such schema.
        """
        if schema not in self._by_schema:
            has_path = partial(self._has_path, check_schema(schema))
            self._by_schema[schema] = Compiler(schema, has_path, PostgresWriter, "%s")
        return self._by_schema[schema]

    def _has_path(self, schema: str, path: str) -> bool:
        """Whether some record of the schema has a value at a JSON path."""
        value = json_value(path).replace("%", "%%")
        sql = SQL.fill("has_value", value=value)
        return bool(self._server.fetch(self._tenant, sql, (self._tenant, schema)))
