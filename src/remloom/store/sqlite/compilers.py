"""The compilers of predicates, one for each schema."""

from __future__ import annotations

from functools import partial

from ..predicate_sql import Compiler
from ..schemas import check_schema
from .database import Database
from .error_translation import translate
from .sql_writer import SqliteWriter, stored_value

__all__ = ["Compilers"]


class Compilers:
    """Makes the compiler of each schema once. See `predicate_sql.Compiler`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._by_schema: dict[str, Compiler] = {}

    def of(self, schema: str) -> Compiler:
        """Return the compiler of a schema.

        Raises:
            UnknownNameError: there is no such schema.
        """
        if schema not in self._by_schema:
            has_path = partial(self._has_path, check_schema(schema))
            self._by_schema[schema] = Compiler(schema, has_path, SqliteWriter, "?")
        return self._by_schema[schema]

    def _has_path(self, schema: str, path: str) -> bool:
        """Whether some record of the schema has a value at a JSON path."""
        value = stored_value(schema, path)
        sql = f"SELECT 1 FROM records r WHERE r.schema = ? AND {value} IS NOT NULL LIMIT 1"
        with translate(self._database.path):
            return self._database.reader.execute(sql, (schema,)).get is not None
