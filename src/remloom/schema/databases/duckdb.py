"""Databases in DuckDB, and folders of CSV and Parquet files."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace

from ...errors import MissingExtraError, SourceError
from .addresses import Address
from .columns import allowed_values, make_column
from .contract import Column, ForeignKey, Table, by_table, table_names
from .sql_database import SECONDS, Sample, SqlDatabase

if TYPE_CHECKING:
    import duckdb


# nothing is fetched from elsewhere
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_RELATIONS = """
    SELECT schema_name, table_name, false, estimated_size, comment FROM duckdb_tables()
    WHERE NOT internal AND database_name = current_database()
    UNION ALL
    SELECT schema_name, view_name, true, NULL, comment FROM duckdb_views()
    WHERE NOT internal AND database_name = current_database()
"""
_COLUMNS = """
    SELECT schema_name, table_name, column_name, data_type, is_nullable, comment
    FROM duckdb_columns() WHERE NOT internal AND database_name = current_database()
    ORDER BY schema_name, table_name, column_index
"""
_CONSTRAINTS = """
    SELECT schema_name, table_name, constraint_type, constraint_column_names, expression,
        referenced_table, referenced_column_names
    FROM duckdb_constraints() WHERE database_name = current_database()
    ORDER BY schema_name, table_name, constraint_index
"""
_ZONED = "TIMESTAMP WITH TIME ZONE"
_AS_TEXTS = ("DATE", "TIMESTAMP", "TIME", "INTERVAL")
_SEPARATED = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_PARQUET = ".parquet"
_INTEGERS = ("BIGINT", "HUGEINT", "INTEGER", "DOUBLE")
# the user who made the link may not be allowed to read its target
_A_LINK = "a link, which is not followed"
_BESIDE_PARQUET = "a table is of one kind of files, and Parquet is here"
# texts that would change if they were read as numbers
_LEADING_ZERO = "^[-+]?0[0-9]"


class DuckdbDatabase(SqlDatabase):
    """A database in a file of DuckDB."""

    kind: ClassVar[str] = "duckdb"
    _text_type: ClassVar[str] = "varchar"
    # columns are stored apart: looking at one is cheap
    _scanned: ClassVar[int | None] = None

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        try:
            import duckdb
        except ImportError:
            raise MissingExtraError("reading DuckDB, CSV and Parquet", "duckdb") from None
        self._error = duckdb.Error
        with self._translated():
            self._connection: duckdb.DuckDBPyConnection = self._opened()
            self._run("SET TimeZone = 'UTC'", ())

    def _opened(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        # a view of a stranger's file must not read files of this machine
        config = {**_CONFIG, "enable_external_access": False}
        return duckdb.connect(self._address.location, read_only=True, config=config)

    def _errors(self) -> tuple[type[Exception], ...]:
        return (self._error,)

    def _run(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._limited():
            return self._connection.execute(sql, list(parameters)).fetchall()

    @contextmanager
    def _limited(self) -> Iterator[None]:
        timer = threading.Timer(SECONDS, self._connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _begin(self) -> None:
        """Begin nothing: a file that is read is not written, and a statement that fails would end
        the transaction."""

    def _end(self) -> None:
        """End nothing."""

    def _describe(self) -> list[Table]:
        columns = by_table(self._read(_COLUMNS))
        constraints = by_table(self._read(_CONSTRAINTS))
        described = []
        relations = self._read(_RELATIONS)
        names = table_names((_schema(schema), table) for schema, table, *_ in relations)
        for schema, table, is_view, rows, comment in relations:
            table_id = (schema, table)
            name = names[_schema(schema), table]
            self._name_parts[name] = table_id
            described.append(
                _table(
                    name,
                    {table: name for (of, table), name in names.items() if of == _schema(schema)},
                    columns.get(table_id, ()),
                    constraints.get(table_id, ()),
                    rows=None if is_view else rows,
                    comment=comment or "",
                )
            )
        return described

    def _expression(self, column: Column) -> str:
        name, declared = self._quote(column.name), column.declared.upper()
        if declared == _ZONED:
            # the driver needs a library of time zones for what has one
            name = f"timezone('UTC', {name})"
        elif _ZONED in declared:
            return f"CAST({name} AS VARCHAR{'[]' if column.list else ''})"
        if declared.startswith(_AS_TEXTS):
            # those that Python has not: the year 20000, "infinity", 24:00
            return f"CAST({name} AS VARCHAR{'[]' if column.list else ''})"
        return name

    def _key(self, column: Column) -> str:
        # ordered by the numbers of their values, and compared by their texts
        name = self._quote(column.name)
        return f"CAST({name} AS VARCHAR)" if column.declared.startswith("ENUM") else name

    def _mark(self, column: Column) -> str:
        # what is read as a text is not compared with one
        is_text = column.declared.upper().startswith(_AS_TEXTS)
        return f"CAST(? AS {column.declared})" if is_text else "?"

    def _sample(self, table: Table, columns: Sequence[Column], limit: int) -> Sample:
        if table.is_view or table.rows is None or table.rows <= limit:
            return super()._sample(table, columns, limit)
        listed = self._sampled(columns)
        spread = [table.rows * number // limit for number in range(limit)]
        sql = f"SELECT {listed} FROM {self._qualified(table.name)}"
        rows = self._read(f"{sql} WHERE rowid IN (SELECT unnest(?))", (spread,))
        return Sample(rows, whole=False)


class FilesDatabase(DuckdbDatabase):
    """CSV and Parquet files: each is a table; so is a folder within the folder, with all its files.

    A CSV is read once, when the folder is opened. A column is of numbers or dates where all its
    values are; what begins with a zero is a text.
    """

    def _opened(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        self._parquet: dict[str, int] = {}
        self._withheld: dict[str, str] = {}  # what is in the folder and no table -> why
        connection = duckdb.connect(":memory:", config=_CONFIG)
        try:
            self._load(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _load(self, connection: duckdb.DuckDBPyConnection) -> None:
        tables, self._withheld = _tables_of(Path(self._address.location))
        if not tables:
            withheld = next((f": {name}: {why}" for name, why in self._withheld.items()), "")
            raise SourceError(
                f"{self._address.location} has no CSV or Parquet files{withheld}",
                uri=self.address,
                remedy="give the folder that they are in",
            )
        for name, paths in tables.items():
            listed = [str(path) for path in paths]
            try:
                if paths[0].suffix.lower() == _PARQUET:
                    self._add_parquet(connection, name, listed)
                else:
                    _add_separated(connection, self._quote(name), listed)
            except self._error as error:
                first = str(error).partition("\n")[0]
                if len(tables) == 1:
                    raise SourceError(f"{listed[0]}: {first[:300]}", uri=listed[0]) from None
                # a file that is broken costs no other
                self._withheld[name] = first[:300]

    def _add_parquet(
        self, connection: duckdb.DuckDBPyConnection, name: str, paths: list[str]
    ) -> None:
        files = ", ".join(_text(path) for path in paths)
        connection.execute(
            f"CREATE VIEW {self._quote(name)} AS "
            f"SELECT * FROM read_parquet([{files}], union_by_name = true)"
        )
        sizes = f"SELECT sum(num_rows) FROM parquet_file_metadata([{files}])"
        row = connection.execute(sizes).fetchone()
        self._parquet[name] = int(row[0] or 0) if row else 0

    def _describe(self) -> list[Table]:
        described = [
            replace(table, rows=self._parquet[table.name], is_view=False)
            if table.name in self._parquet
            else table
            for table in super()._describe()
        ]
        there = {table.name for table in described}
        return described + [
            Table(name=name, columns=(), withheld=why)
            for name, why in self._withheld.items()
            if name not in there
        ]

    def _sample(self, table: Table, columns: Sequence[Column], limit: int) -> Sample:
        if table.name not in self._parquet or (table.rows or 0) <= limit:
            return super()._sample(table, columns, limit)
        listed = self._sampled(columns)
        # parts of files, the same ones each time
        share = 100 * limit / (table.rows or 1)
        sampled = f"TABLESAMPLE system({share:f}%) REPEATABLE (1)"
        rows = self._read(f"SELECT {listed} FROM {self._qualified(table.name)} {sampled}")
        return Sample(rows or SqlDatabase._sample(self, table, columns, limit).rows, whole=False)


def _table(
    name: str,
    names: Mapping[str, str],
    columns: Sequence[tuple[Any, ...]],
    constraints: Sequence[tuple[Any, ...]],
    *,
    rows: int | None,
    comment: str,
) -> Table:
    key: tuple[str, ...] = ()
    unique, foreign = [], []
    allowed: dict[str, tuple[str, ...]] = {}
    for type_, of, expression, target, target_columns in constraints:
        if type_ == "PRIMARY KEY":
            key = tuple(of)
        elif type_ == "UNIQUE":
            unique.append(tuple(of))
        elif type_ == "CHECK":
            allowed |= allowed_values(str(expression), "duckdb")
        elif type_ == "FOREIGN KEY":
            target = names.get(target, target)
            one = ForeignKey(columns=tuple(of), target=target, target_columns=tuple(target_columns))
            foreign.append(one)
    in_keys = {*key, *(column for one in foreign for column in one.columns)}
    return Table(
        name=name,
        columns=tuple(
            make_column(
                column,
                declared,
                nullable=nullable,
                is_key=column in in_keys,
                comment=note,
                allowed=allowed,
            )
            for column, declared, nullable, note in columns
        ),
        primary_key=key,
        unique=tuple(unique),
        foreign_keys=tuple(foreign),
        indexed=(key, *unique) if key else tuple(unique),
        rows=rows,
        is_view=rows is None,
        comment=comment,
    )


def _schema(name: str) -> str | None:
    return None if name == "main" else name


def _tables_of(location: Path) -> tuple[dict[str, list[Path]], dict[str, str]]:
    """The files that each table consists of; what of a folder is not read, and why."""
    if location.is_file():
        return {_stem(location): [location]}, {}
    found: dict[str, list[Path]] = {}
    withheld: dict[str, str] = {}
    for path in _entries(location, "", withheld):
        if path.is_file():
            found[_free(_stem(path), found, path.name)] = [path]
        elif parts := _parts(path, withheld):
            found[_free(path.name, found)] = parts
    return found, withheld


def _entries(folder: Path, prefix: str, withheld: dict[str, str]) -> Iterator[Path]:
    """Yield the folders in a folder, and the files of tables; links are withheld."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            if path.is_dir() or _is_table(path):
                withheld[f"{prefix}{path.name}"] = _A_LINK
        elif path.is_dir() or (path.is_file() and _is_table(path)):
            yield path


def _free(name: str, taken: Collection[str], other: str = "") -> str:
    """A name that no other table has: DuckDB does not tell them apart by their case."""
    known = {one.casefold() for one in taken}
    # orders.csv and orders.parquet
    names = chain((name, other or name), (f"{name}_{number}" for number in count(2)))
    return next(one for one in names if one.casefold() not in known)


def _parts(folder: Path, withheld: dict[str, str]) -> list[Path]:
    """The files of one kind in a folder, Parquet if there are any; others are withheld."""
    files: list[Path] = []
    prefix = f"{folder.name}/"
    for path in _entries(folder, prefix, withheld):
        if path.is_file():
            files.append(path)
        elif any(map(_is_table, path.rglob("*"))):
            withheld[f"{prefix}{path.name}"] = "a folder within the folder of a table"
    parquet = [path for path in files if path.suffix.lower() == _PARQUET]
    if parquet:
        others = (path for path in files if path not in parquet)
        withheld |= {f"{prefix}{path.name}": _BESIDE_PARQUET for path in others}
    return parquet or files


def _is_table(path: Path) -> bool:
    return path.name.lower().endswith((*_SEPARATED, _PARQUET))


def _stem(path: Path) -> str:
    name = path.name
    for suffix in (".gz", ".csv", ".tsv", _PARQUET):
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    return name


def _add_separated(connection: duckdb.DuckDBPyConnection, table: str, paths: list[str]) -> None:
    files = f"[{', '.join(_text(path) for path in paths)}]"
    source = f"read_csv({files}, union_by_name = true, sample_size = -1"
    types = {}
    for name, type_, *_ in connection.execute(f"DESCRIBE SELECT * FROM {source})").fetchall():
        if type_ in _INTEGERS:
            quoted = '"' + name.replace('"', '""') + '"'
            found = connection.execute(
                f"SELECT 1 FROM {source}, all_varchar = true) "
                f"WHERE regexp_matches({quoted}, '{_LEADING_ZERO}') LIMIT 1"
            ).fetchone()
            if found:
                types[name] = "VARCHAR"
    if types:
        listed = ", ".join(f"{_text(name)}: '{type_}'" for name, type_ in types.items())
        source += f", types = {{{listed}}}"
    connection.execute(f"CREATE TABLE {table} AS SELECT * FROM {source})")


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
