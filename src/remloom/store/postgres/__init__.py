"""The server store: every tenant in one PostgreSQL database. Needs the extra `postgres`."""

from __future__ import annotations

from .store import PostgresStore
from .tenants import migrate, tenants

__all__ = ["PostgresStore", "migrate", "tenants"]
