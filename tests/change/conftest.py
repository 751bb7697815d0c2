"""What the tests of changes share: a memory in each kind of store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from remloom import Memory

KEY = "3f" * 32


@pytest.fixture(params=["sqlite", "keyed", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    home = tmp_path / "home" if request.param != "postgres" else request.getfixturevalue("postgres")
    key = KEY if request.param == "keyed" else None
    with Memory.open(home, tenant=uuid4().hex, embedder="none", key=key) as opened:
        yield opened
