"""What the tests of the PostgreSQL store share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from postgres_server import database
from remloom.store.postgres import PostgresStore


@pytest.fixture
def opening(postgres: str) -> Iterator[Callable[..., PostgresStore]]:
    """Opens a tenant of its own, or the one named."""
    opened: list[PostgresStore] = []

    def opening(tenant: str | None = None, **options: Any) -> PostgresStore:
        opened.append(PostgresStore(postgres, tenant or f"t{uuid4().hex}", **options))
        return opened[-1]

    yield opening
    for store in opened:
        store.close()


@pytest.fixture
def fresh(postgres: str) -> Iterator[str]:
    """An empty database."""
    with database(postgres) as url:
        yield url
