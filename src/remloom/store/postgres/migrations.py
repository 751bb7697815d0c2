"""The schema `remloom` of a database, brought to the version this Remloom knows. Its version is its comment."""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING, Any

import psycopg

from ...errors import SchemaVersionError, StoreError
from .server import Server, translate

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["LOCK", "migrate", "scripts", "verify", "version"]

LOCK = 0x52656D6C6F6F6D  # one migration of a database at a time
_EXTENSIONS = {"vector": "0.8", "pg_trgm": "1.5"}  # and the least version
_SERVER = 150000


def scripts() -> list[tuple[int, str]]:
    """Every migration as (version, script), in order. The files are `sql/NNNN_name.sql`."""
    folder = resources.files(__package__) / "sql"
    found = ((int(file.name[:4]), file) for file in folder.iterdir() if file.name.endswith(".sql"))
    return [(number, file.read_text(encoding="utf-8")) for number, file in sorted(found, key=lambda pair: pair[0])]


def migrate(server: Server) -> tuple[int, int]:
    """Bring the schema up to date; returns the version it had (0: there was none) and the one it has.

    Any number of processes may do so at once: one does it, the others wait, and find it done.

    Raises:
        SchemaVersionError: a newer Remloom made it.
        StoreError: the server is too old, an extension is missing, or the user may not do this.
    """
    with server.connect() as connection, translate(server.place):
        connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        before = version(connection)
        known = scripts()
        _refuse_newer(server, before, known[-1][0])
        if before == known[-1][0]:
            return before, before
        _check_server(server, connection)
        try:
            with connection.transaction():
                for name in _EXTENSIONS:
                    connection.execute(f"CREATE EXTENSION IF NOT EXISTS {name}")
                for number, script in known:
                    if number > before:
                        connection.execute(script.encode())
                connection.execute(f"COMMENT ON SCHEMA remloom IS 'Remloom, schema version {known[-1][0]}'")
        except psycopg.errors.InsufficientPrivilege as error:
            raise StoreError(
                f"{server.place}: {str(error).partition(chr(10))[0]}",
                remedy="run `remloom migrate` as a user who may create extensions, roles and schemas in this database",
            ) from error
        return before, known[-1][0]


def verify(server: Server, connection: Connection[Any]) -> None:
    """Refuse a schema that is not the one this Remloom knows.

    Raises:
        SchemaVersionError: it is older, newer, or not there.
    """
    found, newest = version(connection), scripts()[-1][0]
    _refuse_newer(server, found, newest)
    if found < newest:
        what = f"schema version {found}, this Remloom needs {newest}" if found else "no memories yet"
        raise SchemaVersionError(
            f"{server.place} has {what}", remedy="run `remloom migrate`", found=found, expected=newest
        )


def version(connection: Connection[Any]) -> int:
    """The version of the schema; 0 when there is none."""
    row = connection.execute(
        "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'remloom'"
    ).fetchone()
    found = re.search(r"schema version (\d+)", row[0] or "") if row else None
    return int(found[1]) if found else 0


def _refuse_newer(server: Server, found: int, newest: int) -> None:
    if found > newest:
        raise SchemaVersionError(
            f"{server.place} has schema version {found}, this Remloom knows {newest}",
            remedy="upgrade remloom", found=found, expected=newest,
        )  # fmt: skip


def _check_server(server: Server, connection: Connection[Any]) -> None:
    if connection.info.server_version < _SERVER:
        raise StoreError(f"{server.place} is older than PostgreSQL 15", remedy="upgrade the server")
    available = dict(connection.execute("SELECT name, default_version FROM pg_available_extensions").fetchall())
    for name, least in _EXTENSIONS.items():
        if name not in available:
            raise StoreError(
                f"{server.place} lacks the extension {name}",
                remedy="install pgvector (and the contrib package for pg_trgm) on the server",
            )
        if [int(n) for n in re.findall(r"\d+", available[name])] < [int(n) for n in least.split(".")]:
            raise StoreError(
                f"{server.place} has {name} {available[name]}, Remloom needs {least}",
                remedy=f"upgrade {name} on the server",
            )
