"""Databases in PostgreSQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace

from .contract import Column, Table, without_columns
from .server_database import ServerDatabase, TableId
from .sql_database import SECONDS, Sample

if TYPE_CHECKING:
    from sqlalchemy import Inspector


_CONNECTING = 10  # seconds
_SETTINGS = {
    "default_transaction_read_only": "on",
    "statement_timeout": f"{SECONDS}s",
    "lock_timeout": "5s",
    "timezone": "UTC",
    "intervalstyle": "iso_8601",
    # rows without a key come in the same order each time
    "synchronize_seqscans": "off",
    "max_parallel_workers_per_gather": "0",
}
# Partitions are read through their parents.
_RELATIONS = """
    SELECT n.nspname, c.relname, c.relkind IN ('v', 'm'),
        CASE WHEN NOT has_any_column_privilege(c.oid, 'SELECT') THEN 'the user may not read it'
            WHEN NOT c.relispopulated THEN 'a materialized view that was not filled yet' END,
        CASE WHEN NOT has_table_privilege(c.oid, 'SELECT') THEN ARRAY(
            SELECT a.attname::text FROM pg_catalog.pg_attribute a
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                AND NOT has_column_privilege(c.oid, a.attnum, 'SELECT')) END,
        row_security_active(c.oid),
        c.relkind = 'r' AND EXISTS (
            SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid)
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND NOT c.relispartition
        AND n.nspname NOT IN ('information_schema', 'pg_catalog', 'pg_toast')
        AND n.nspname NOT LIKE 'pg\\_temp%%' AND n.nspname NOT LIKE 'pg\\_toast\\_temp%%'
        AND has_schema_privilege(n.oid, 'USAGE')
        AND NOT EXISTS (
            SELECT FROM pg_catalog.pg_depend d
            WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid
                AND d.deptype = 'e')
"""
# Columns of composite types, or of domains over them: a text is not compared with such a value.
_COMPOSITES = """
    SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, NULL)
    FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p', 'f', 'v', 'm')
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    JOIN pg_catalog.pg_type b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
    WHERE b.typtype = 'c' AND a.attnum > 0 AND NOT a.attisdropped
        AND n.nspname NOT IN ('information_schema', 'pg_catalog')
"""
# types with values that Python does not have: 24:00, the year 20000, "infinity"
_AS_TEXTS = (
    "date", "time", "timetz", "timestamp", "timestamptz", "interval",
    "int4range", "int8range", "numrange", "daterange", "tsrange", "tstzrange",
    "int4multirange", "int8multirange", "nummultirange", "datemultirange", "tsmultirange",
    "tstzmultirange",
)  # fmt: skip
_PAGES = 100  # of a table, at least, from which a sample is taken
# kinds whose lists the driver makes itself
_LISTED = ("integer", "float", "decimal", "boolean")
# Foreign keys that partitions have and their parents do not.
_OF_PARTITIONS = """
    SELECT DISTINCT pn.nspname, p.relname, tn.nspname, t.relname,
        ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY x (number, position)
            JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.number
            ORDER BY x.position),
        ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY x (number, position)
            JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = x.number
            ORDER BY x.position)
    FROM pg_catalog.pg_constraint k
    JOIN pg_catalog.pg_class c ON c.oid = k.conrelid AND c.relispartition
    JOIN pg_catalog.pg_class p ON p.oid = pg_partition_root(c.oid)
    JOIN pg_catalog.pg_namespace pn ON pn.oid = p.relnamespace
    JOIN pg_catalog.pg_class t ON t.oid = k.confrelid
    JOIN pg_catalog.pg_namespace tn ON tn.oid = t.relnamespace
    WHERE k.contype = 'f' AND k.conparentid = 0
    ORDER BY 1, 2, 3, 4, 5
"""


class PostgresqlDatabase(ServerDatabase):
    """A database in PostgreSQL."""

    kind: ClassVar[str] = "postgresql"
    _dialect: ClassVar[str] = "postgresql+psycopg"
    _checks_dialect: ClassVar[str] = "postgres"
    _extra: ClassVar[str] = "sql"
    _in_snapshot = False
    _further_keys: dict[TableId, list[dict[str, Any]]]  # of partitions, by their parents
    _composites: dict[TableId, dict[str, str]]  # table -> column -> type
    _forbidden: dict[TableId, Sequence[str]]  # columns that the user may not read
    _secured: set[TableId]  # whose rows the user is shown by policies
    # that other tables inherit from: their own rows have the keys, and others their own tables
    _parents: set[TableId]

    def _driver_errors(self) -> tuple[type[Exception], ...]:
        import psycopg

        return (psycopg.Error,)

    def _connect(self) -> Any:
        import psycopg.types.string

        _, _, rest = self._address.url.partition("://")
        secrets: dict[str, Any] = dict(self._address.secrets)
        if self._address.password:
            secrets["password"] = self._address.password
        connection = psycopg.connect(
            f"postgresql://{rest}",
            autocommit=True,
            connect_timeout=_CONNECTING,
            # servers behind a pool of connections know no prepared statements
            prepare_threshold=None,
            **secrets,
        )
        for type_ in _AS_TEXTS:
            connection.adapters.register_loader(type_, psycopg.types.string.TextLoader)
        try:
            for name, value in _SETTINGS.items():
                connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        except BaseException:
            connection.close()
            raise
        return connection

    def _run(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        if not self._in_snapshot:
            return super()._run(sql, parameters)
        # a statement that fails must not take the snapshot with it
        with self._driver_connection.transaction():
            return super()._run(sql, parameters)

    def _begin(self) -> None:
        self._run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ())
        self._run("SELECT 1", ())
        self._in_snapshot = True

    def _end(self) -> None:
        self._in_snapshot = False
        self._run("ROLLBACK", ())

    def _readable(self, inspector: Inspector) -> Mapping[TableId, int | None]:
        default = inspector.default_schema_name
        self._further_keys = defaultdict(list)
        for schema, table, target_schema, target, columns, target_columns in self._run(
            _OF_PARTITIONS, ()
        ):
            table_id = (None if schema == default else schema, table)
            key = {
                "constrained_columns": columns,
                "referred_schema": None if target_schema == default else target_schema,
                "referred_table": target,
                "referred_columns": target_columns,
            }
            self._further_keys[table_id].append(key)
        self._composites = {}
        for schema, table, column, type_ in self._run(_COMPOSITES, ()):
            table_id = (None if schema == default else schema, table)
            self._composites.setdefault(table_id, {})[column] = type_
        self._forbidden, self._secured, self._parents = {}, set(), set()
        found: dict[TableId, int | None] = {}
        for schema, table, is_view, withheld, forbidden, is_secured, is_parent in self._run(
            _RELATIONS, ()
        ):
            table_id = (None if schema == default else schema, table)
            if withheld:
                self._withheld[table_id] = withheld
                continue
            if forbidden:
                self._forbidden[table_id] = forbidden
            if is_secured:
                self._secured.add(table_id)
            if is_parent:
                self._parents.add(table_id)
            found[table_id] = None if is_view else self._expected(schema, table, is_parent)
        return found

    def _amended(self, table_id: TableId, table: Table) -> Table:
        types = self._composites.get(table_id, {})
        columns = tuple(
            replace(column, declared=types.get(column.name, column.declared))
            for column in table.columns
        )
        forbidden = self._forbidden.get(table_id, ())
        withheld = []
        if table_id in self._secured:
            withheld.append("row-level security shows this user some of its rows only")
        if forbidden:
            withheld.append(f"this user may not read {', '.join(forbidden)}")
        table = replace(table, columns=columns, withheld="; ".join(withheld))
        return without_columns(table, forbidden)

    def _qualified(self, name: str) -> str:
        qualified = super()._qualified(name)
        is_parent = _id_of(self._name_parts[name]) in self._parents
        return f"ONLY {qualified}" if is_parent else qualified

    def _mark(self, column: Column) -> str:
        is_composite = any(column.declared in of.values() for of in self._composites.values())
        return f"%s::{column.declared.replace('%', '%%')}" if is_composite else "%s"

    def _expected(self, schema: str, table: str, is_parent: bool) -> int:
        only = "ONLY " if is_parent else ""
        source = f"{only}{self._quote(schema)}.{self._quote(table)}"
        plan = self._run(f"EXPLAIN (FORMAT JSON) SELECT 1 FROM {source}", ())[0][0]
        return int(plan[0]["Plan"]["Plan Rows"])

    def _expression(self, column: Column) -> str:
        name = self._quote(column.name)
        if column.list:
            return name if column.kind in _LISTED else f"{name}::text[]"
        return f"{name}::text" if column.declared.lower().startswith("interval") else name

    def _sample(self, table: Table, columns: Sequence[Column], limit: int) -> Sample:
        listed = self._sampled(columns)
        sql = f"SELECT {listed} FROM {self._qualified(table.name)}"
        # a user who may not read all columns may not read the positions of rows
        is_free = _id_of(self._name_parts[table.name]) not in self._forbidden
        if table.rows is not None and table.rows > limit and is_free:
            if pages := self._pages(table):
                positions = _spread(pages, table.rows, limit)
                rows = self._read(f"{sql} WHERE ctid = ANY (%s::tid[])", (positions,))
            else:
                # a parent of partitions
                share = 100 * limit / table.rows
                sampled = f"TABLESAMPLE SYSTEM ({share:f}) REPEATABLE (1)"
                rows = self._read(f"{sql} {sampled} LIMIT {2 * limit}")
            if rows:
                return Sample(rows, whole=False)
        rows = self._read(f"{sql} LIMIT {limit + 1}")
        return Sample(rows[:limit], whole=len(rows) <= limit)

    def _pages(self, table: Table) -> int:
        """The number of a table's own pages; a parent of partitions has none."""
        size = "pg_relation_size(%s::regclass) / current_setting('block_size')::int"
        name = super()._qualified(table.name).replace("%%", "%")
        return int(self._read(f"SELECT {size}", (name,))[0][0])


def _id_of(parts: Sequence[str]) -> TableId:
    return (None, parts[0]) if len(parts) == 1 else (parts[0], parts[1])


def _spread(pages: int, rows: int, limit: int) -> list[str]:
    """Positions of about so many rows, on pages spread over the table."""
    each = max(1, min(limit // _PAGES, rows // pages))
    read = min(pages, -(-limit // each))
    return [
        f"({pages * number // read},{line})"
        for number in range(read)
        for line in range(1, each + 1)
    ]
