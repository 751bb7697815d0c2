"""The care of an embedded store as a whole. See `components.Admin`."""

from __future__ import annotations

from pathlib import Path

from ...errors import ConflictError
from ..stats import Stats
from .file.database import Database
from .integrity import check
from .search.index_manager import IndexManager
from .stats import collect
from .write.erasure import Erasures


class SqliteAdmin:
    """Counts, checks, optimizes and copies one tenant."""

    def __init__(
        self, database: Database, indexes: IndexManager, erasures: Erasures, *, encrypted: bool
    ) -> None:
        self._database = database
        self._indexes = indexes
        self._erasures = erasures
        self._encrypted = encrypted

    def stats(self) -> Stats:
        vectors = self._indexes.loaded().get("vectors")
        share = None if vectors is None else round(vectors.exact_share, 4)
        with self._database.snapshot() as cursor:
            return collect(
                cursor, self._database.path, encrypted=self._encrypted, exact_share=share
            )

    def check(self) -> list[str]:
        return [*self._erasures.problems(), *check(self._database, self._indexes)]

    def optimize(self) -> None:
        """Merge every tail and store every snapshot now, rather than in the background."""
        self._indexes.optimize()
        self._erasures.finish()

    def backup(self, path: str) -> None:
        target = Path(path)
        if target.exists():
            raise ConflictError(f"{target} is there already", remedy="choose a new file name")
        self._database.backup(target)

    def detect_deletion(self) -> None:
        self._database.detect_deletion()
