"""Spreading a database over many machines with Citus: every table by its tenant, all rows of a
tenant together."""

from __future__ import annotations

from psycopg.errors import Error

from ...errors import StoreError
from .database import Database, translate
from .migrations import LOCK
from .tenants import TABLES

__all__ = ["distribute"]


def distribute(server: Database) -> list[str]:
    """Distribute every table that is not distributed yet; returns their names. The schema must be
    up to date.

    Raises:
        StoreError: the server has no Citus, or refuses.
    """
    with server.connect() as connection, translate(server.place):
        if not connection.execute(
            "SELECT FROM pg_available_extensions WHERE name = 'citus'"
        ).fetchone():
            raise StoreError(
                f"{server.place} lacks the extension citus",
                remedy="install Citus, add it to shared_preload_libraries and restart; or migrate without --citus",
            )
        connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        try:
            with connection.transaction():
                connection.execute("CREATE EXTENSION IF NOT EXISTS citus")
                rows = connection.execute(
                    "SELECT c.relname FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid"
                    " WHERE c.relnamespace = 'remloom'::regnamespace"
                ).fetchall()
                done = {name for (name,) in rows}
                # what is referred to comes first
                missing = [name for name in reversed(TABLES) if name not in done]
                for name in missing:
                    beside = "default" if name == "tenants" else "remloom.tenants"
                    connection.execute(
                        "SELECT create_distributed_table(%s, 'tenant_id', colocate_with => %s)",
                        (f"remloom.{name}", beside),
                    )
                return missing
        except Error as error:
            raise StoreError(
                f"{server.place}: {str(error).partition(chr(10))[0]}",
                remedy="run `remloom migrate --citus` at the coordinator, as the owner of the tables",
            ) from error
