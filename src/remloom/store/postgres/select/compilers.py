"""The compilers of predicates, one for each schema."""

from __future__ import annotations

from functools import partial

from ....model import SchemaDefinition
from ....sql.columns import table_of
from ...definitions import Definitions
from ...predicate_sql import Compiler
from ..server.database import Database
from ..statements import SQL
from .sql_writer import PostgresWriter, json_value


class Compilers:
    """Makes the compiler of each schema once, and that of a registered one again when its
    definition is another. See `predicate_sql.Compiler`.

    Attributes:
        definitions: of the registered schemas.
    """

    def __init__(self, server: Database, tenant: str, definitions: Definitions) -> None:
        self._server = server
        self._tenant = tenant
        self.definitions = definitions
        self._by_schema: dict[str, tuple[SchemaDefinition | None, Compiler]] = {}

    def of(self, schema: str) -> Compiler:
        """Return the compiler of a schema.

        Raises:
            UnknownNameError: there is no such schema.
        """
        definition = self.definitions.of(schema)
        known, compiler = self._by_schema.get(schema, (None, None))
        if compiler is None or known is not definition:
            has_path = partial(self._has_path, schema)
            compiler = Compiler(table_of(schema, definition), has_path, PostgresWriter, "%s")
            self._by_schema[schema] = definition, compiler
        return compiler

    def _has_path(self, schema: str, path: str) -> bool:
        """Whether some record of the schema has a value at a JSON path."""
        value = json_value(path).replace("%", "%%")
        sql = SQL.fill("has_value", value=value)
        return bool(self._server.fetch(self._tenant, sql, (self._tenant, schema)))
