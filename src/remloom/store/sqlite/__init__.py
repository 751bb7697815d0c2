"""The embedded store: one SQLite file for each tenant."""

from __future__ import annotations

from .store import SqliteStore

__all__ = ["SqliteStore"]
