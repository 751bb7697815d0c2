"""The compilers of predicates, one for each schema."""

from __future__ import annotations

from functools import partial

from ....model import SchemaDefinition
from ....sql.columns import table_of
from ....sql.values import Json
from ...definitions import Definitions
from ...predicate_sql import Compiler
from ..file.database import Database
from ..file.error_translation import translate
from .select_writer import SqliteWriter, stored_value


class Compilers:
    """Makes the compiler of each schema once, and that of a registered one again when its
    definition is another. See `predicate_sql.Compiler`.

    Attributes:
        definitions: of the registered schemas.
    """

    def __init__(self, database: Database, definitions: Definitions) -> None:
        self._database = database
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
            compiler = Compiler(table_of(schema, definition), has_path, SqliteWriter, "?")
            self._by_schema[schema] = definition, compiler
        return compiler

    def _has_path(self, schema: str, path: str) -> bool:
        """Whether some record of the schema has a value at a JSON path."""
        root, *steps = path.split(".")
        value = stored_value(schema, Json(root, tuple(steps)))
        sql = f"SELECT 1 FROM records r WHERE r.schema = ? AND {value} IS NOT NULL LIMIT 1"
        with translate(self._database.path):
            return self._database.reader.execute(sql, (schema,)).get is not None
