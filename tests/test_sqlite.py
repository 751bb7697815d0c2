"""The embedded store passes the contract, encrypted and not."""

from __future__ import annotations

from pathlib import Path

import pytest

from remloom.store.sqlite import SqliteStore
from remloom.testing.conformance import Opening, StoreConformance


class TestPlain(StoreConformance):
    @pytest.fixture
    def opening(self, tmp_path: Path) -> Opening:
        return lambda: SqliteStore(tmp_path / "memory.db")


class TestEncrypted(StoreConformance):
    @pytest.fixture
    def opening(self, tmp_path: Path) -> Opening:
        return lambda: SqliteStore(tmp_path / "memory.db", "ab" * 32)
