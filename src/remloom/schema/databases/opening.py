"""Opening a database that is there, whichever it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from ...store.tenants.encryption import read_reference
from .addresses import Address, parse_address
from .contract import Database


def open_database(url: str, password: str | None = None) -> Database:
    """Open a database, read-only.

    Args:
        url: `postgresql://`, `mysql://`, `mariadb://`, `sqlite:///`, `duckdb:///`, `csv:///`,
            `parquet:///`, `mongodb://`, `snowflake://`, or the path of a file or folder.
        password: instead of the one in the URL: itself, or where it is, as `file:<path>` or
            `keyring:<service>/<name>`.

    Raises:
        InvalidInputError: it is of no database that can be read.
        SourceError: it cannot be opened. Nothing is made where nothing is.
        MissingExtraError: what reads it is not installed.
        SettingsError: the password is not where it is said to be.
    """
    address = parse_address(url)
    if password:
        password = read_reference(password, variable="the password of this database")
        address = replace(address, password=password)
    return _OPENERS[address.kind](address)


def _sqlite(address: Address) -> Database:
    from .sqlite import SqliteDatabase

    return SqliteDatabase(address)


def _postgresql(address: Address) -> Database:
    from .postgresql import PostgresqlDatabase

    return PostgresqlDatabase(address)


def _mysql(address: Address) -> Database:
    from .mysql import MysqlDatabase

    return MysqlDatabase(address)


def _duckdb(address: Address) -> Database:
    from .duckdb import DuckdbDatabase

    return DuckdbDatabase(address)


def _files(address: Address) -> Database:
    from .duckdb import FilesDatabase

    return FilesDatabase(address)


def _mongodb(address: Address) -> Database:
    from .mongodb import MongoDatabase

    return MongoDatabase(address)


def _snowflake(address: Address) -> Database:
    from .snowflake import SnowflakeDatabase

    return SnowflakeDatabase(address)


# by kind of database; each brings its libraries in when it is called
_OPENERS: Mapping[str, Callable[[Address], Database]] = {
    "sqlite": _sqlite,
    "postgresql": _postgresql,
    "mysql": _mysql,
    "duckdb": _duckdb,
    "files": _files,
    "mongodb": _mongodb,
    "snowflake": _snowflake,
}
