"""Databases in Snowflake."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from ...errors import MissingExtraError
from .addresses import Address
from .columns import make_column
from .contract import Column, ForeignKey, Table, by_table
from .sql_database import SECONDS, Sample, SqlDatabase

_CONNECTING = 30  # seconds
_SETTINGS = (
    "ALTER SESSION SET TIMEZONE = 'UTC'",
    f"ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = {SECONDS}",
)
_RELATIONS = """
    SELECT table_schema, table_name, table_type, row_count, comment
    FROM information_schema.tables WHERE table_schema <> 'INFORMATION_SCHEMA'
"""
_COLUMNS = """
    SELECT table_schema, table_name, column_name, data_type, numeric_precision, numeric_scale,
        is_nullable, comment
    FROM information_schema.columns WHERE table_schema <> 'INFORMATION_SCHEMA'
    ORDER BY table_schema, table_name, ordinal_position
"""
_TableId = tuple[str, str]  # schema and table


class SnowflakeDatabase(SqlDatabase):
    """A database in Snowflake: `snowflake://user@account/database/schema?warehouse=W&role=R`.

    Tables of other schemas are "SALES.ORDERS". Snowflake does not enforce declared keys.
    """

    kind: ClassVar[str] = "snowflake"
    _placeholder: ClassVar[str] = "%s"
    _text_type: ClassVar[str] = "varchar"
    # columns are stored apart: looking at one is cheap
    _scanned: ClassVar[int | None] = 100_000_000
    _compares_tuples: ClassVar[bool] = False

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        try:
            import snowflake.connector as connector
        except ImportError:
            raise MissingExtraError("reading Snowflake", "snowflake") from None
        self._error = connector.errors.Error
        parts = address.parts()
        remedy = "write it as snowflake://user@account/database/schema?warehouse=NAME"
        database, _, schema = address.database(remedy).partition("/")
        with self._translated():
            self._connection = connector.connect(
                account=parts["host"],
                user=parts["user"],
                password=address.password or None,
                database=database,
                schema=schema or "PUBLIC",
                login_timeout=_CONNECTING,
                # what the connector would tell its maker of each session
                session_parameters={"CLIENT_TELEMETRY_ENABLED": False},
                client_out_of_band_telemetry_enabled=False,
                **parts["options"],
                **address.secrets,
            )
        self._default = (schema or "PUBLIC").upper()
        for setting in _SETTINGS:
            with suppress(self._error):
                self._run(setting, ())

    def _errors(self) -> tuple[type[Exception], ...]:
        return (self._error,)

    def _run(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, tuple(parameters))
            return list(cursor.fetchall())

    def _begin(self) -> None:
        # every statement of a transaction sees what was committed before it, not before the first
        self._run("BEGIN", ())

    def _end(self) -> None:
        self._run("ROLLBACK", ())

    def _quote(self, name: str) -> str:
        return super()._quote(name).replace("%", "%%")

    def _describe(self) -> list[Table]:
        columns = by_table(self._read(_COLUMNS))
        relations = self._read(_RELATIONS)
        self._name_parts = {
            self._name((schema, table)): (schema, table) for schema, table, *_ in relations
        }
        keys, unique = self._shown("PRIMARY KEYS"), self._shown("UNIQUE KEYS")
        foreign = self._foreign_keys()
        described = []
        for schema, table, type_, rows, comment in relations:
            table_id = (schema, table)
            key = next(iter(keys.get(table_id, {}).values()), ())
            links = foreign.get(table_id, ())
            in_keys = {*key, *(column for one in links for column in one.columns)}
            is_view = "VIEW" in type_
            described.append(
                Table(
                    name=self._name(table_id),
                    columns=tuple(_column(one, in_keys) for one in columns.get(table_id, ())),
                    primary_key=key,
                    unique=tuple(unique.get(table_id, {}).values()),
                    foreign_keys=tuple(links),
                    indexed=(key,) if key else (),
                    rows=None if is_view else rows,
                    is_view=is_view,
                    comment=comment or "",
                )
            )
        return described

    def _name(self, table_id: _TableId) -> str:
        return table_id[1] if table_id[0] == self._default else ".".join(table_id)

    def _shown(self, what: str) -> dict[_TableId, dict[str, tuple[str, ...]]]:
        """The columns of constraints by table and name, as SHOW lists them."""
        found: dict[_TableId, dict[str, tuple[str, ...]]] = {}
        for row in sorted(self._show(what), key=_sequence):
            of = found.setdefault((row["schema_name"], row["table_name"]), {})
            name = row["constraint_name"]
            of[name] = (*of.get(name, ()), row["column_name"])
        return found

    def _foreign_keys(self) -> dict[_TableId, list[ForeignKey]]:
        found: dict[tuple[_TableId, str, _TableId], list[tuple[str, str]]] = {}
        for row in sorted(self._show("IMPORTED KEYS"), key=_sequence):
            table_id = (row["fk_schema_name"], row["fk_table_name"])
            target = (row["pk_schema_name"], row["pk_table_name"])
            # a target that the user may not see has no name
            if all((*table_id, *target)) and self._name(target) in self._name_parts:
                pair = (row["fk_column_name"], row["pk_column_name"])
                found.setdefault((table_id, row["fk_name"], target), []).append(pair)
        made: dict[_TableId, list[ForeignKey]] = {}
        for (table_id, _, target), pairs in found.items():
            one = ForeignKey(
                columns=tuple(pair[0] for pair in pairs),
                target=self._name(target),
                target_columns=tuple(pair[1] for pair in pairs),
            )
            made.setdefault(table_id, []).append(one)
        return made

    def _show(self, what: str) -> list[Mapping[str, Any]]:
        with self._translated(), self._connection.cursor() as cursor:
            try:
                cursor.execute(f"SHOW {what} IN DATABASE")
            except self._error:
                # of the schema alone, where nothing else may be seen
                cursor.execute(f"SHOW {what}")
            # fakesnow names one twice
            names = dict.fromkeys(str(column[0]).lower() for column in cursor.description or ())
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def _sample(self, table: Table, columns: Sequence[Column], limit: int) -> Sample:
        if table.rows is not None and table.rows > limit and not table.is_view:
            listed = self._sampled(columns)
            source = self._qualified(table.name)
            share = min(100.0, 100 * limit / table.rows)
            # by blocks of rows, of which the rest is not read
            sql = f"SELECT {listed} FROM {source} SAMPLE SYSTEM ({share:f}) LIMIT {2 * limit}"
            rows = self._read(sql)
            if rows:
                return Sample(rows, whole=False)
        return super()._sample(table, columns, limit)


def _sequence(row: Mapping[str, Any]) -> int:
    return int(row["key_sequence"] or 0)


def _column(row: tuple[Any, ...], in_keys: Collection[str]) -> Column:
    name, type_, precision, scale, nullable, comment = row
    declared = f"{type_}({precision}, {scale})" if precision is not None else str(type_)
    is_key = name in in_keys
    return make_column(name, declared, nullable=nullable != "NO", is_key=is_key, comment=comment)
