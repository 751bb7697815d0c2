"""The tenants of a database: rows of one table, each with all that has its name.

With Citus every table is spread over many machines by its tenant, all rows of a tenant together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from psycopg import Connection
from psycopg.errors import Error

from ...errors import ConflictError, StoreError, TenantNotFoundError
from ...model import Migrated, TenantInfo
from ..tenants.home import HIDDEN, tenant_name
from . import migrations
from .database import PostgresDatabase, TenantCursor
from .migrations import LOCK
from .rows import SQL
from .server_errors import translate_errors

# each before what it refers to
TABLES = (
    "journal_subjects",
    "journal",
    "postings",
    "runs",
    "vectors",
    "token_vectors",
    "token_failures",
    "token_models",
    "pending",
    "parents",
    "name_pages",
    "name_runs",
    "names",
    "edges",
    "degrees",
    "rels",
    "models",
    "records",
    "tenants",
)


def migrate(url: str, timeout: float, *, citus: bool = False) -> Migrated:
    """Bring the database at this URL up to date; spread it over a Citus cluster too, if `citus`."""
    server = PostgresDatabase.at(url, 2, timeout)
    try:
        versions = migrations.migrate(server)
        if citus:
            distribute(server)
        return versions
    finally:
        server.release()


@contextmanager
def tenants(url: str, timeout: float, *, migrate: bool) -> Iterator[PostgresTenants]:
    """Open the tenants of the database at this URL, whose schema is migrated or only checked."""
    server = PostgresDatabase.at(url, 2, timeout)
    try:
        opened = PostgresTenants(server)
        opened.prepare(migrate=migrate)
        yield opened
    finally:
        server.release()


class PostgresTenants:
    """Lists, makes and removes the tenants of a database."""

    def __init__(self, server: PostgresDatabase) -> None:
        self._server = server

    def prepare(self, *, migrate: bool) -> None:
        """Check that the database has the schema of this Remloom, or bring it there if
        `migrate`."""
        with self._server.connect() as connection, translate_errors(self._server.description):
            if not migrate or migrations.version(connection) == migrations.newest():
                migrations.verify(self._server, connection)
                return
        migrations.migrate(self._server)

    def open(self, tenant: str, *, create: bool) -> datetime:
        """Return when a tenant was made: now, if it is not there and `create`.

        Raises:
            TenantNotFoundError: there is none; the remedy names similar ones.
        """
        if tenant != HIDDEN:
            tenant_name(tenant)
        made = self._made(tenant)
        # A loop, because others may delete what was just inserted.
        while made is None:
            if not create:
                raise self._missing(tenant)
            self._insert(tenant)
            made = self._made(tenant)
        return made

    def _made(self, tenant: str) -> datetime | None:
        rows = self._server.of(tenant).fetch(SQL.tenant_made)
        return rows[0][0] if rows else None

    def create(self, tenant: str) -> None:
        """Make a tenant; ConflictError if it is there already."""
        tenant_name(tenant)
        if not self._insert(tenant):
            raise ConflictError(
                f"tenant {tenant!r} is there already", remedy="choose another name, or open it"
            )

    def _insert(self, tenant: str) -> int:
        return self._server.of(tenant).write(lambda cursor: cursor.run(SQL.insert_tenant))

    def list(self) -> list[TenantInfo]:
        with self._server.connect() as connection, translate_errors(self._server.description):
            names = [name for (name,) in connection.execute(SQL.tenant_names).fetchall()]
        return [
            TenantInfo(name=name, encrypted=False, bytes=self._size(name))
            for name in names
            if name != HIDDEN
        ]

    def _size(self, tenant: str) -> int:
        ((size,),) = self._server.of(tenant).fetch(SQL.tenant_bytes)
        return int(size)

    def delete(self, tenant: str) -> None:
        """Remove a tenant and every row of it, in one transaction; TenantNotFoundError if there is
        none."""

        def work(cursor: TenantCursor) -> int:
            # Without a tenant to lock nothing is deleted: one that is made meanwhile would lose a
            # part of its rows.
            if not cursor.run(SQL.lock_existing_tenant):
                return 0
            for table in TABLES:
                cursor.run(SQL.fill("delete_rows_of_tenant", table=table))
            # The last table is that of the tenants themselves.
            return cursor.rowcount

        if not self._server.of(tenant_name(tenant)).write(work):
            raise self._missing(tenant)

    def _missing(self, tenant: str) -> TenantNotFoundError:
        import difflib

        names = [info.name for info in self.list()]
        nearest = difflib.get_close_matches(tenant, names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, nearest))}? " if nearest else ""
        return TenantNotFoundError(
            f"there is no tenant {tenant!r} in the {self._server.description}",
            remedy=f"{hint}make it with `remloom tenant create {tenant}`",
            tenant=tenant, home=self._server.description, nearest=nearest,
        )  # fmt: skip


def distribute(server: PostgresDatabase) -> list[str]:
    """Distribute every table that is not yet; returns their names. The schema must be up to date.

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
            message = [error.diag.message_primary or str(error).partition("\n")[0]]
            message += [error.diag.message_detail] if error.diag.message_detail else []
            raise StoreError(
                f"{server.description}: {': '.join(message)}",
                remedy="run `remloom migrate --citus` at the coordinator, "
                "as the owner of the tables",
            ) from error


def _distribute(connection: Connection[Any]) -> list[str]:
    connection.execute("CREATE EXTENSION IF NOT EXISTS citus")
    distributed = {name for (name,) in connection.execute(SQL.distributed_tables).fetchall()}
    # What is referred to must be distributed first.
    missing = [name for name in reversed(TABLES) if name not in distributed]
    for name in missing:
        colocated = "default" if name == "tenants" else "remloom.tenants"
        values = {"table": f"remloom.{name}", "colocated": colocated}
        connection.execute(SQL.distribute_table, values)
    return missing
