"""A transaction that changes a tenant: its lock, and the numbers it gives out.

The caller commits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...rules.expiry import now
from ..statements import SQL

if TYPE_CHECKING:
    from psycopg import Cursor

    from ..server.database import PostgresDatabase


class Transaction:
    """Holds the tenant's lock from the start, so that nothing read in it changes before it is
    written.

    Attributes:
        seq: the highest number of a record, in the order of writing.
        text_no: the highest number of a text.
        name_no: the highest number of a name.
        sealed_no: the highest number of a name that is in a run of the index.
        removed_names: names removed since the runs were begun.
        has_expired: whether some record has expired and is not erased yet.
    """

    def __init__(self, server: PostgresDatabase, cursor: Cursor[Any], tenant: str) -> None:
        self.cursor = cursor
        self.tenant = tenant
        rows = self.rows(SQL.lock_tenant, now=now())
        server.check_made(rows[0][0] if rows else None)
        self.has_expired: bool = bool(rows and rows[0][1])
        # Where the store keeps to no tenant, one that is not there has given out no numbers.
        numbers: tuple[int, ...] = rows[0][2:] if rows else (0, 0, 0, 0, 0)
        self.seq, self.text_no, self.name_no, self.sealed_no, self.removed_names = numbers

    def close(self) -> None:
        """Store the highest numbers given out."""
        self.run(
            SQL.store_numbers,
            seq=self.seq,
            doc=self.text_no,
            names=self.name_no,
            sealed=self.sealed_no,
            unnamed=self.removed_names,
        )

    def rows(self, sql: str, **values: Any) -> list[Any]:
        """Fetch the rows of a statement, which knows the tenant as `tenant`."""
        return self.cursor.execute(sql, {"tenant": self.tenant, **values}).fetchall()

    def run(self, sql: str, **values: Any) -> int:
        """Run a statement, which knows the tenant as `tenant`; returns how many rows it touched."""
        return self.cursor.execute(sql, {"tenant": self.tenant, **values}).rowcount
