"""The tenants of a database: rows of one table, each with all that has its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ...errors import ConflictError, TenantNotFoundError
from ...model import TenantInfo
from ..home import tenant_name
from . import migrations
from .database import Database, translate

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["TABLES", "Tenants", "migrate", "tenants"]

TABLES = (  # each before what it refers to
    "journal_subjects",
    "journal",
    "postings",
    "runs",
    "vectors",
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


def migrate(url: str, timeout: float, *, citus: bool = False) -> tuple[int, int]:
    """Bring the database at this URL up to date; spread it over a Citus cluster too, if `citus`."""
    from .citus import distribute

    server = Database.at(url, 2, timeout)
    try:
        versions = migrations.migrate(server)
        if citus:
            distribute(server)
        return versions
    finally:
        server.release()


@contextmanager
def tenants(url: str, timeout: float, *, migrate: bool) -> Iterator[Tenants]:
    """The tenants of the database at this URL, whose schema is brought up to date if `migrate`,
    else only checked."""
    server = Database.at(url, 2, timeout)
    try:
        found = Tenants(server)
        found.prepare(migrate=migrate)
        yield found
    finally:
        server.release()


class Tenants:
    """Lists, makes and removes the tenants of a database."""

    def __init__(self, server: Database) -> None:
        self._server = server

    def prepare(self, *, migrate: bool) -> None:
        """See that the database has the schema this Remloom needs, and bring it there if `migrate`.

        Raises:
            SchemaVersionError, StoreError: see `migrations`.
        """
        with self._server.connect() as connection, translate(self._server.place):
            if not migrate or migrations.version(connection) == migrations.newest():
                migrations.verify(self._server, connection)
                return
        migrations.migrate(self._server)

    def open(self, tenant: str, *, create: bool) -> datetime:
        """See that there is such a tenant, made if `create`; returns when it was.

        Raises:
            TenantNotFoundError: there is none; the remedy names those like it.
        """
        tenant_name(tenant)
        sql = "SELECT made FROM remloom.tenants WHERE tenant_id = %s"
        while not (rows := self._server.fetch(tenant, sql, (tenant,))):
            if not create:
                raise self._missing(tenant)
            # which others may delete before it is looked at
            self._insert(tenant)
        made: datetime = rows[0][0]
        return made

    def create(self, tenant: str) -> None:
        """Make a tenant.

        Raises:
            ConflictError: it is there already.
        """
        tenant_name(tenant)
        if not self._insert(tenant):
            raise ConflictError(
                f"tenant {tenant!r} is there already", remedy="choose another name, or open it"
            )

    def _insert(self, tenant: str) -> int:
        sql = "INSERT INTO remloom.tenants (tenant_id) VALUES (%s) ON CONFLICT DO NOTHING"
        return self._server.write(tenant, lambda cursor: cursor.execute(sql, (tenant,)).rowcount)

    def list(self) -> list[TenantInfo]:
        """Every tenant, by name; only the owner of the tables may know."""
        with self._server.connect() as connection, translate(self._server.place):
            names = [
                name
                for (name,) in connection.execute(
                    "SELECT tenant_id FROM remloom.tenants ORDER BY 1"
                ).fetchall()
            ]
        return [TenantInfo(name=name, encrypted=False, bytes=self._size(name)) for name in names]

    def _size(self, tenant: str) -> int:
        sql = "SELECT coalesce(sum(pg_column_size(r.*)), 0) FROM remloom.records r WHERE tenant_id = %s"
        return int(self._server.fetch(tenant, sql, (tenant,))[0][0])

    def delete(self, tenant: str) -> None:
        """Remove a tenant and every row of it, in one transaction.

        Raises:
            TenantNotFoundError: there is no such tenant.
        """

        def work(cursor: Cursor[Any]) -> int:
            # Without a tenant to lock nothing is deleted: one that is made meanwhile would lose a
            # part of its rows.
            if not cursor.execute(
                "SELECT 1 FROM remloom.tenants WHERE tenant_id = %s FOR UPDATE", (tenant,)
            ).rowcount:
                return 0
            for table in TABLES:
                cursor.execute(f"DELETE FROM remloom.{table} WHERE tenant_id = %s", (tenant,))
            return cursor.rowcount  # of the last: the tenant itself

        if not self._server.write(tenant_name(tenant), work):
            raise self._missing(tenant)

    def _missing(self, tenant: str) -> TenantNotFoundError:
        import difflib

        nearest = difflib.get_close_matches(
            tenant, [info.name for info in self.list()], n=3, cutoff=0.5
        )
        hint = f"did you mean {' or '.join(map(repr, nearest))}? " if nearest else ""
        return TenantNotFoundError(
            f"there is no tenant {tenant!r} in the {self._server.place}",
            remedy=f"{hint}make it with `remloom tenant create {tenant}`",
            tenant=tenant, home=self._server.place, nearest=nearest,
        )  # fmt: skip
