"""The PostgreSQL store passes the contract."""

from __future__ import annotations

from uuid import uuid4

import pytest

from remloom.store.postgres import PostgresStore
from remloom.testing.conformance import Opening, StoreConformance


class TestPostgres(StoreConformance):
    @pytest.fixture
    def opening(self, postgres: str) -> Opening:
        tenant = f"t{uuid4().hex}"
        return lambda: PostgresStore(postgres, tenant)
