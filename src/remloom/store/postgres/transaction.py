"""A transaction that changes a tenant: its lock, and the numbers it gives out. The caller commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import trigram_index

if TYPE_CHECKING:
    from psycopg import Cursor

    from .database import Database

__all__ = ["Transaction"]


class Transaction:
    """Holds the tenant's lock from the start, so that nothing read in it changes before it is
    written."""

    def __init__(self, server: Database, cursor: Cursor[Any], tenant: str) -> None:
        self.cursor = cursor
        self.tenant = tenant
        row: tuple[Any, ...] | None = cursor.execute(
            "SELECT made, seq, doc, names, sealed, unnamed FROM remloom.tenants WHERE tenant_id = %s FOR UPDATE",
            (tenant,),
        ).fetchone()
        server.meet(row[0] if row else None)
        self.seq, self.doc, self.names, self.sealed, self.unnamed = (
            row[1:] if row else (0, 0, 0, 0, 0)
        )

    def close(self) -> None:
        """Store the highest numbers given out, and index the names that wait for it once they are
        many."""
        while self.names - self.sealed >= trigram_index.TAIL:
            trigram_index.seal(self, trigram_index.take(self))
        self.cursor.execute(
            "UPDATE remloom.tenants SET seq = %s, doc = %s, names = %s, sealed = %s, unnamed = %s WHERE tenant_id = %s",
            (self.seq, self.doc, self.names, self.sealed, self.unnamed, self.tenant),
        )

    def all(self, sql: str, *values: Any) -> list[Any]:
        """The rows of a statement whose first parameter is the tenant."""
        return self.cursor.execute(sql, (self.tenant, *values)).fetchall()

    def do(self, sql: str, *values: Any) -> int:
        """Run one; returns how many rows it touched."""
        return self.cursor.execute(sql, (self.tenant, *values)).rowcount
