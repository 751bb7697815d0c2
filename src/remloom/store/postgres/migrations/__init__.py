"""The schema `remloom` of a database, brought to the version this Remloom knows, by Alembic.

`versions/` holds its revisions: what each does is SQL in the file beside it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from psycopg import Connection

from ....errors import SchemaVersionError, StoreError
from ....model import Migrated
from ...sql_files import numbered_scripts
from ..database import PostgresDatabase
from ..server_errors import translate_errors

LOCK = 0x52656D6C6F6F6D  # one migration of a database at a time
_EXTENSIONS = {"vector": "0.8"}  # and the least version
_SERVER = 150000


@cache
def newest() -> int:
    """The version this Remloom knows: the number of the last script in `versions/`."""
    return numbered_scripts(Path(__file__).parent / "versions")[-1][0]


def migrate(server: PostgresDatabase) -> Migrated:
    """Bring the schema up to date.

    Any number of processes may do so at once: one does it, the others wait, and find it done.

    Raises:
        SchemaVersionError: a newer Remloom made it, or one from before 0.1.
        StoreError: the server is too old, an extension is missing, or the user may not do this.
    """
    with server.connect() as connection, translate_errors(server.description):
        connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        before = version(connection)
        _refuse_newer(server, before)
        if before < newest():
            _check_server(server, connection)
            try:
                _upgrade(connection)
            except psycopg.errors.InsufficientPrivilege as error:
                raise StoreError(
                    f"{server.description}: {str(error).partition(chr(10))[0]}",
                    remedy="run `remloom migrate` as a user who may create extensions, roles "
                    "and schemas there",
                ) from error
        return Migrated(before=before, after=newest())


def _upgrade(connection: Connection[Any]) -> None:
    """Run what is missing, in one transaction."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.pool import StaticPool

    connection.autocommit = False
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: connection, poolclass=StaticPool
    )
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    try:
        with engine.begin() as wrapped:
            for name in _EXTENSIONS:
                wrapped.exec_driver_sql(f"CREATE EXTENSION IF NOT EXISTS {name}")
            wrapped.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS remloom")
            config.attributes["connection"] = wrapped
            command.upgrade(config, "head")
    except DBAPIError as error:
        raise (error.orig or error) from None


def verify(server: PostgresDatabase, connection: Connection[Any]) -> None:
    """Raise SchemaVersionError if the schema is older, newer, or not there."""
    found = version(connection)
    _refuse_newer(server, found)
    if found < newest():
        what = (
            f"schema version {found}, this Remloom needs {newest()}" if found else "no memories yet"
        )
        raise SchemaVersionError(
            f"{server.description} has {what}",
            remedy="run `remloom migrate`",
            found=found,
            expected=newest(),
        )


def version(connection: Connection[Any]) -> int:
    """The version of the schema, 0 without one; SchemaVersionError if it is from before
    versions."""
    row = connection.execute(
        "SELECT to_regclass('remloom.alembic_version'), to_regclass('remloom.tenants')"
    ).fetchone()
    if row is None or row[0] is None:
        if row is not None and row[1] is not None:
            raise SchemaVersionError(
                "this database was made by a Remloom from before 0.1",
                remedy="export its tenants with that one, and import them into a new database",
            )
        return 0
    row = connection.execute("SELECT version_num FROM remloom.alembic_version").fetchone()
    return int(row[0]) if row else 0


def _refuse_newer(server: PostgresDatabase, found: int) -> None:
    if found > newest():
        raise SchemaVersionError(
            f"{server.description} has schema version {found}, this Remloom knows {newest()}",
            remedy="upgrade remloom", found=found, expected=newest(),
        )  # fmt: skip


def _check_server(server: PostgresDatabase, connection: Connection[Any]) -> None:
    if connection.info.server_version < _SERVER:
        raise StoreError(
            f"{server.description} is older than PostgreSQL 15", remedy="upgrade the server"
        )
    available = dict(
        connection.execute("SELECT name, default_version FROM pg_available_extensions").fetchall()
    )
    for name, least in _EXTENSIONS.items():
        if name not in available:
            raise StoreError(
                f"{server.description} lacks the extension {name}",
                remedy="install pgvector on the server",
            )
        if [int(n) for n in re.findall(r"\d+", available[name])] < [
            int(n) for n in least.split(".")
        ]:
            raise StoreError(
                f"{server.description} has {name} {available[name]}, Remloom needs {least}",
                remedy=f"upgrade {name} on the server",
            )
