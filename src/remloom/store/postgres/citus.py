"""Spreading a database over many machines with Citus: every table by its tenant, all rows of a
tenant together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psycopg.errors import Error

from ...errors import StoreError
from .migrations import LOCK
from .server.database import Database
from .server.server_errors import translate_errors
from .statements import SQL
from .tables import TABLES

if TYPE_CHECKING:
    from psycopg import Connection


def distribute(server: Database) -> list[str]:
    """Distribute every table that is not distributed yet; returns their names. The schema must be
    up to date.

    Raises:
        StoreError: the server has no Citus, or refuses.
    """
    with server.connect() as connection, translate_errors(server.description):
        if not connection.execute(SQL.citus_available).fetchone():
            raise StoreError(
                f"{server.description} lacks the extension citus",
                remedy="install Citus, add it to shared_preload_libraries and restart; "
                "or migrate without --citus",
            )
        connection.execute(SQL.lock_definitions, {"lock": LOCK})
        try:
            with connection.transaction():
                return _distribute(connection)
        except Error as error:
            said = [error.diag.message_primary or str(error).partition("\n")[0]]
            said += [error.diag.message_detail] if error.diag.message_detail else []
            raise StoreError(
                f"{server.description}: {': '.join(said)}",
                remedy="run `remloom migrate --citus` at the coordinator, "
                "as the owner of the tables",
            ) from error


def _distribute(connection: Connection[Any]) -> list[str]:
    connection.execute("CREATE EXTENSION IF NOT EXISTS citus")
    distributed = {name for (name,) in connection.execute(SQL.distributed_tables).fetchall()}
    # What is referred to must be distributed first.
    missing = [name for name in reversed(TABLES) if name not in distributed]
    for name in missing:
        beside = "default" if name == "tenants" else "remloom.tenants"
        connection.execute(SQL.distribute_table, {"table": f"remloom.{name}", "beside": beside})
    return missing
