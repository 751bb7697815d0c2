"""Databases in MySQL, MariaDB and TiDB."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace

from ...errors import InvalidInputError
from .contract import Column, Table
from .server_database import ServerDatabase, TableId
from .sql_database import SECONDS

if TYPE_CHECKING:
    from sqlalchemy import Inspector


_CONNECTING = 10  # seconds
_SETTINGS = (
    # TiDB takes neither of these; MySQL and MariaDB each take one of the last two
    "SET SESSION TRANSACTION READ ONLY",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION time_zone = '+00:00'",
    f"SET SESSION max_statement_time = {SECONDS}",
    f"SET SESSION max_execution_time = {SECONDS * 1000}",
)
_RELATIONS = """
    SELECT table_name, table_type, table_rows FROM information_schema.tables
    WHERE table_schema = DATABASE()
"""
_MARIADB_CHECKS = """
    SELECT table_name, check_clause FROM information_schema.check_constraints
    WHERE constraint_schema = DATABASE()
"""
_MYSQL_CHECKS = """
    SELECT t.table_name, c.check_clause FROM information_schema.check_constraints c
    JOIN information_schema.table_constraints t USING (constraint_schema, constraint_name)
    WHERE c.constraint_schema = DATABASE()
"""
_JSON_VALID = re.compile(r"json_valid\(`([^`]+)`\)")
# columns whose types the inspection does not know
_SHAPES = """
    SELECT table_name, column_name, column_type FROM information_schema.columns
    WHERE table_schema = DATABASE() AND data_type IN (
        'geometry', 'geometrycollection', 'geomcollection', 'point', 'multipoint',
        'linestring', 'multilinestring', 'polygon', 'multipolygon')
"""
_GEOMETRY = ("geom", "point", "linestring", "polygon", "multi")


class MysqlDatabase(ServerDatabase):
    """A database in MySQL, MariaDB or TiDB."""

    kind: ClassVar[str] = "mysql"
    _dialect: ClassVar[str] = "mysql+pymysql"
    _checks_dialect: ClassVar[str] = "mysql"
    _extra: ClassVar[str] = "mysql"
    _text_type: ClassVar[str] = "char"
    # (a, b) > (1, 2) would read the whole table
    _compares_tuples: ClassVar[bool] = False
    # table and column -> the type of its geometry
    _shapes: Mapping[tuple[str, str], str] = {}
    _json: set[tuple[str, str]]  # tables and columns

    def _driver_errors(self) -> tuple[type[Exception], ...]:
        import pymysql

        # OSError: of wrong packets, and of a host that has no address
        return (pymysql.Error, OSError)

    def _connect(self) -> Any:
        import pymysql

        parts = self._address.parts()
        remedy = "end it with the name of one: mysql://user@host/database"
        database = self._address.database(remedy)
        options = parts["options"]
        if unknown := sorted(self._address.secrets.keys() - {"ssl_key_password"}):
            raise InvalidInputError(
                f"{', '.join(unknown)} is no option of the URL of a {self.kind} database",
                remedy="it takes unix_socket, ssl_ca, ssl_cert, ssl_key, ssl_key_password",
            )
        connection = pymysql.connect(
            host=parts["host"] or "localhost",
            port=parts["port"] or 3306,
            user=parts["user"] or None,
            password=self._address.password,
            database=database,
            unix_socket=options.get("unix_socket"),
            ssl_ca=options.get("ssl_ca"),
            ssl_cert=options.get("ssl_cert"),
            ssl_key=options.get("ssl_key"),
            ssl_key_password=self._address.secrets.get("ssl_key_password"),
            ssl_verify_cert=bool(options.get("ssl_ca")) or None,
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=_CONNECTING,
            read_timeout=2 * SECONDS,
        )
        with connection.cursor() as cursor:
            for setting in _SETTINGS:
                with suppress(pymysql.Error):
                    cursor.execute(setting)
        return connection

    def _begin(self) -> None:
        self._run("START TRANSACTION WITH CONSISTENT SNAPSHOT", ())

    def _end(self) -> None:
        self._run("ROLLBACK", ())

    def _quote(self, name: str) -> str:
        return "`" + name.replace("`", "``").replace("%", "%%") + "`"

    def _readable(self, inspector: Inspector) -> Mapping[TableId, int | None]:
        self._shapes = {(table, name): type_ for table, name, type_ in self._run(_SHAPES, ())}
        return {
            (None, name): None if "VIEW" in kind.upper() else int(rows or 0)
            for name, kind, rows in self._run(_RELATIONS, ())
            # also MariaDB's "SYSTEM VERSIONED", of which the rows of now are read
            if kind.upper() not in ("SYSTEM VIEW", "SEQUENCE")
        }

    def _checks(self, inspector: Inspector, schema: str | None) -> Mapping[TableId, list[str]]:
        # the inspection leaves out those of one column
        self._json = set()
        is_mariadb = "mariadb" in self._driver_connection.get_server_info().lower()
        found: dict[TableId, list[str]] = {}
        try:
            checks = self._run(_MARIADB_CHECKS if is_mariadb else _MYSQL_CHECKS, ())
        except self._driver_errors():
            # before MySQL 8.0.16 there are none
            checks = []
        for table, condition in checks:
            found.setdefault((schema, table), []).append(str(condition))
            # MariaDB's JSON is a text with a condition
            self._json |= {(table, name) for name in _JSON_VALID.findall(str(condition))}
        return found

    def _amended(self, table_id: TableId, table: Table) -> Table:
        table = _unescaped(table)
        columns = []
        for column in table.columns:
            key = (table_id[1], column.name)
            declared = self._shapes.get(key, column.declared)
            kind = "json" if key in self._json else column.kind
            columns.append(replace(column, declared=declared, kind=kind))
        return replace(table, columns=tuple(columns))

    def _expression(self, column: Column) -> str:
        name = self._quote(column.name)
        declared = column.declared.lower()
        if declared.startswith(_GEOMETRY):
            return f"ST_AsText({name})"
        return f"CAST({name} AS unsigned)" if declared.startswith("bit") else name

    def _key(self, column: Column) -> str:
        # ordered by the numbers of their values, and compared by their texts
        name = self._quote(column.name)
        is_listed = column.declared.lower().startswith(("enum", "set"))
        return f"CAST({name} AS char)" if is_listed else name


def _unescaped(table: Table) -> Table:
    """The table without the doubled backticks that the inspection leaves in names."""

    def names(columns: Sequence[str]) -> tuple[str, ...]:
        return tuple(name.replace("``", "`") for name in columns)

    return replace(
        table,
        columns=tuple(replace(one, name=one.name.replace("``", "`")) for one in table.columns),
        primary_key=names(table.primary_key),
        unique=tuple(map(names, table.unique)),
        indexed=tuple(map(names, table.indexed)),
        foreign_keys=tuple(
            replace(one, columns=names(one.columns), target_columns=names(one.target_columns))
            for one in table.foreign_keys
        ),
    )
