"""Databases that are already there. A caller names one that was registered, never an address."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from ..schema.drift import Drift
from ..schema.sync.report import SyncReport
from .operation import Operation, Progress
from .signatures import OfMemory, derive


class SourceInfo(Struct, frozen=True, kw_only=True):
    """A database that was registered."""

    name: str
    kind: str  # "postgresql", "mysql", "sqlite", …
    schemas: tuple[str, ...]  # of its rows
    registered_at: datetime | None = None
    synced_at: datetime | None = None  # when a sync was last done to its end


class Databases(OfMemory):
    """Follows the databases that were registered."""

    def list_sources(self) -> list[SourceInfo]:
        """List the databases that were registered, by name."""
        return [
            SourceInfo(
                name=source.name,
                kind=source.plan.kind,
                schemas=tuple(table.schema_name for table in source.plan.tables),
                registered_at=source.registered_at,
                synced_at=source.synced_at,
            )
            for source in self.memory.schemas.sources()
        ]

    def sync_source(
        self, name: str, *, dry_run: bool = False, progress: Progress | None = None
    ) -> SyncReport:
        """Bring the rows of a database that was registered up to date.

        Args:
            name: of the source.
            dry_run: write nothing, and say what would be written.
            progress: called as `progress(done, total)`, of rows.

        Raises:
            UnknownNameError: there is no such source.
            ConflictError: it is being synced already.
            SourceError: the database cannot be read.
        """
        return self.memory.schemas.sync(name, dry_run=dry_run, progress=progress)

    def source_drift(self, name: str) -> Drift:
        """Say how a database differs from what it was when it was registered.

        Args:
            name: of the source.

        Raises:
            UnknownNameError: there is no such source.
            SourceError: the database cannot be read.
        """
        return self.memory.schemas.drift(name)


DATABASES: tuple[Operation, ...] = (
    derive("list_sources", "GET /v1/sources", "read", of=Databases),
    derive(
        "sync_source",
        "POST /v1/sources/{name}/sync",
        "admin",
        of=Databases,
        is_long=True,
        idempotent=True,
    ),
    derive("source_drift", "GET /v1/sources/{name}/drift", "admin", of=Databases),
)
