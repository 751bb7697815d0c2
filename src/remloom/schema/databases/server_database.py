"""Databases on servers, described by SQLAlchemy's inspection."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec.structs import replace

from ...errors import MissingExtraError, SourceError
from .addresses import Address
from .columns import allowed_values, make_column
from .contract import Column, ForeignKey, Table, table_names
from .sql_database import SqlDatabase

if TYPE_CHECKING:
    from sqlalchemy import Connection, Inspector
    from sqlalchemy.types import TypeEngine


# of a table, as the inspection calls them
_PARTS = (
    "columns", "pk_constraint", "foreign_keys", "unique_constraints", "indexes", "table_comment",
)  # fmt: skip
_COUNTED = 20_000  # rows of the largest table that is counted rather than estimated
TableId = tuple[str | None, str]  # schema and table, as the inspection has them


class ServerDatabase(SqlDatabase):
    """A database on a server whose dialect SQLAlchemy knows."""

    _placeholder: ClassVar[str] = "%s"
    _dialect: ClassVar[str]  # of SQLAlchemy
    _checks_dialect: ClassVar[str]  # of sqlglot
    _extra: ClassVar[str]  # that brings the driver
    _withheld: dict[TableId, str]  # tables that are there and cannot be read -> why
    _further_keys: Mapping[TableId, Sequence[Mapping[str, Any]]] = {}  # that no inspection shows

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        try:
            from sqlalchemy import create_engine
            from sqlalchemy.pool import StaticPool

            # imports the driver
            errors = self._errors()
        except ImportError:
            raise MissingExtraError(f"reading {self.kind} databases", self._extra) from None
        try:
            self._driver_connection = self._connect()
        except errors as error:
            raise self._problem(error) from None
        # SQLAlchemy gets the one connection that is open
        engine = create_engine(
            f"{self._dialect}://",
            creator=lambda: self._driver_connection,
            poolclass=StaticPool,
            isolation_level="AUTOCOMMIT",
        )
        with self._translated():
            self._connection: Connection = engine.connect()

    def close(self) -> None:
        engine = self._connection.engine
        for close in (self._connection.close, engine.dispose, self._driver_connection.close):
            # a lost connection cannot be closed
            with suppress(*self._errors()):
                close()

    def _errors(self) -> tuple[type[Exception], ...]:
        from sqlalchemy.exc import SQLAlchemyError

        return (SQLAlchemyError, *self._driver_errors())

    @abstractmethod
    def _connect(self) -> Any:
        """Connect, read-only."""

    @abstractmethod
    def _driver_errors(self) -> tuple[type[Exception], ...]: ...

    @abstractmethod
    def _readable(self, inspector: Inspector) -> Mapping[TableId, int | None]:
        """The tables and views that may be read, and how many rows they have, roughly; None for
        views."""

    def _run(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._driver_connection.cursor() as cursor:
            cursor.execute(sql, tuple(parameters))
            return list(cursor.fetchall()) if cursor.description else []

    def _quote(self, name: str) -> str:
        # "%" begins a parameter
        return super()._quote(name).replace("%", "%%")

    def _problem(self, error: Exception) -> SourceError:
        # SQLAlchemy's own texts have the statement and its values in them
        return super()._problem(getattr(error, "orig", None) or error)

    def _describe(self) -> list[Table]:
        from sqlalchemy import inspect
        from sqlalchemy.exc import SAWarning

        with self._translated(), warnings.catch_warnings():
            # of types that it does not know: they are read as texts
            warnings.simplefilter("ignore", SAWarning)
            inspector = inspect(self._connection)
            inspector.clear_cache()
            self._withheld = {}
            readable = self._readable(inspector)
            names = table_names([*readable, *self._withheld])
            self._name_parts = {
                name: tuple(part for part in table_id if part) for table_id, name in names.items()
            }
            described = []
            for schema in sorted({schema for schema, _ in readable}, key=str):
                described += self._of_schema(inspector, schema, readable, names)
        known = {table.name for table in described}
        withheld = (
            Table(name=names[table_id], columns=(), withheld=why)
            for table_id, why in self._withheld.items()
        )
        return [_plain(_with_known_targets(table, known)) for table in (*described, *withheld)]

    def _of_schema(
        self,
        inspector: Inspector,
        schema: str | None,
        readable: Mapping[TableId, int | None],
        names: Mapping[TableId, str],
    ) -> list[Table]:
        from sqlalchemy.engine.reflection import ObjectKind

        reflected = {
            part: getattr(inspector, f"get_multi_{part}")(schema=schema, kind=ObjectKind.ANY)
            for part in _PARTS
        }
        reflected["checks"] = self._checks(inspector, schema)
        described = []
        for table_id in reflected["columns"]:
            if table_id in readable:
                parts = {part: of.get(table_id) for part, of in reflected.items()}
                table = self._table(table_id, parts, readable[table_id], names)
                described.append(self._amended(table_id, table))
        return described

    def _checks(self, inspector: Inspector, schema: str | None) -> Mapping[TableId, list[str]]:
        from sqlalchemy.engine.reflection import ObjectKind

        found = inspector.get_multi_check_constraints(schema=schema, kind=ObjectKind.ANY)
        return {
            (schema, table): [str(check["sqltext"]) for check in checks]
            for (_, table), checks in found.items()
        }

    def _amended(self, table_id: TableId, table: Table) -> Table:
        """The table with what SQLAlchemy's inspection does not know of it."""
        return table

    def _table(
        self,
        table_id: TableId,
        reflected: Mapping[str, Any],
        rows: int | None,
        names: Mapping[TableId, str],
    ) -> Table:
        key = tuple((reflected["pk_constraint"] or {}).get("constrained_columns") or ())
        keys = (*(reflected["foreign_keys"] or ()), *self._further_keys.get(table_id, ()))
        foreign = tuple(_foreign_keys(keys, table_id[0], names))
        in_keys = {*key, *(column for one in foreign for column in one.columns)}
        unique, indexed = _indexes(
            reflected["unique_constraints"] or (), reflected["indexes"] or ()
        )
        allowed: dict[str, tuple[str, ...]] = {}
        for condition in reflected["checks"] or ():
            allowed |= allowed_values(condition, self._checks_dialect)
        return Table(
            name=names[table_id],
            columns=tuple(
                self._column(one, is_key=one["name"] in in_keys, allowed=allowed)
                for one in reflected["columns"]
            ),
            primary_key=key,
            unique=unique,
            foreign_keys=foreign,
            indexed=(key, *indexed) if key else indexed,
            rows=None if rows is None else self._counted(names[table_id], rows),
            is_view=rows is None,
            comment=(reflected["table_comment"] or {}).get("text") or "",
        )

    def _column(
        self, reflected: Mapping[str, Any], *, is_key: bool, allowed: Mapping[str, tuple[str, ...]]
    ) -> Column:
        column = make_column(
            str(reflected["name"]),
            self._declared(reflected["type"]),
            nullable=bool(reflected.get("nullable", True)),
            is_key=is_key,
            comment=reflected.get("comment"),
            allowed=allowed,
        )
        is_list, values = _enumerated(reflected["type"])
        if values:
            column = replace(column, kind="enum", values=values)
        return replace(column, list=is_list or column.list)

    def _declared(self, type_: TypeEngine[Any]) -> str:
        from sqlalchemy.exc import CompileError

        # a domain is of the type that it is made of
        base = getattr(type_, "data_type", type_)
        try:
            return base.compile(self._connection.dialect)
        except CompileError:
            # one that SQLAlchemy does not know is read as a text
            return ""

    def _counted(self, table: str, estimate: int) -> int:
        """The number of rows where it is small; else what the server estimates."""
        if estimate > _COUNTED:
            return estimate
        some = f"SELECT 1 AS one FROM {self._qualified(table)} LIMIT {_COUNTED + 1}"
        counted = self._read(f"SELECT count(*) FROM ({some}) AS some_rows")[0][0]
        return int(max(counted, estimate) if counted > _COUNTED else counted)


def _plain(table: Table) -> Table:
    """The table in plain texts: SQLAlchemy has classes of its own for names and values of enums."""
    return msgspec.convert(msgspec.to_builtins(table, enc_hook=str), Table)


def _enumerated(type_: TypeEngine[Any]) -> tuple[bool, tuple[str, ...]]:
    """Whether a type is a list, and the values of an enum, of a list of them, or of a domain."""
    base = getattr(type_, "data_type", type_)
    inner = getattr(base, "item_type", base)
    values = getattr(inner, "enums", ())
    return inner is not base, tuple(values)


def _foreign_keys(
    reflected: Iterable[Mapping[str, Any]], schema: str | None, names: Mapping[TableId, str]
) -> Iterable[ForeignKey]:
    for one in reflected:
        table_id = (one["referred_schema"], one["referred_table"])
        # without a schema, it is the default one, or that of the table itself
        target = names.get(table_id) or names.get((schema, table_id[1]))
        yield ForeignKey(
            columns=tuple(one["constrained_columns"]),
            target=target or ".".join(filter(None, table_id)),
            target_columns=tuple(one["referred_columns"]),
        )


def _with_known_targets(table: Table, known: set[str]) -> Table:
    kept = tuple(one for one in table.foreign_keys if one.target in known)
    return table if len(kept) == len(table.foreign_keys) else replace(table, foreign_keys=kept)


def _indexes(
    unique: Iterable[Mapping[str, Any]], indexes: Iterable[Mapping[str, Any]]
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
    """The columns of what is unique, and those of all indexes, each once; without indexes of
    expressions, of the first letters, and of a part of the rows."""
    found: dict[tuple[str, ...], bool] = {
        tuple(one["column_names"]): True for one in unique if one.get("column_names")
    }
    for index in indexes:
        columns = tuple(index["column_names"])
        options = index.get("dialect_options") or {}
        if None in columns or any(
            options.get(f"{dialect}_{what}")
            for dialect in ("postgresql", "mysql", "mariadb")
            for what in ("where", "length", "prefix")
        ):
            continue
        found[columns] = found.get(columns, False) or bool(index["unique"])
    return tuple(columns for columns, is_unique in found.items() if is_unique), tuple(found)
