"""The care of one tenant of a PostgreSQL database. See `components.Admin`."""

from __future__ import annotations

from ...errors import InvalidInputError
from ..stats import Stats
from .indexes.hnsw_builder import Indexing
from .integrity import check
from .server.database import Database
from .stats import collect


class PostgresAdmin:
    """Counts, checks and optimizes one tenant."""

    def __init__(self, server: Database, tenant: str, indexing: Indexing) -> None:
        self._server = server
        self._tenant = tenant
        self._indexing = indexing

    def stats(self) -> Stats:
        with self._server.read(self._tenant) as cursor:
            return collect(cursor, self._tenant)

    def check(self) -> list[str]:
        return check(self._server, self._tenant)

    def optimize(self) -> None:
        """Put the vectors into the HNSW index now, if too many are compared one by one."""
        self._server.check_open()
        self._indexing.settle()

    def backup(self, path: str) -> None:
        raise InvalidInputError(
            "a tenant of a PostgreSQL database has no file of its own to copy",
            remedy="back the database up with pg_dump, or this tenant with `remloom export`",
        )

    def detect_deletion(self) -> None:
        self._server.doubt()
