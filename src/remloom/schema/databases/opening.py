"""Opening a database, whichever kind it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from ...store.tenants.encryption import read_reference
from .addresses import Address, parse_address
from .contract import Database
from .duckdb import DuckdbDatabase, FilesDatabase
from .mongodb import MongoDatabase
from .mysql import MysqlDatabase
from .postgresql import PostgresqlDatabase
from .snowflake import SnowflakeDatabase
from .sqlite import SqliteFileDatabase

# each imports its driver when it is called
_OPENERS: Mapping[str, Callable[[Address], Database]] = {
    "sqlite": SqliteFileDatabase,
    "postgresql": PostgresqlDatabase,
    "mysql": MysqlDatabase,
    "duckdb": DuckdbDatabase,
    "files": FilesDatabase,
    "mongodb": MongoDatabase,
    "snowflake": SnowflakeDatabase,
}


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
