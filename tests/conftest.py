"""What tests of several modules share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[str]:
    """The URL of a database of this test process."""
    from postgres_server import database, server

    folder = tmp_path_factory.getbasetemp()
    with database(server(folder if worker_id == "master" else folder.parent)) as url:
        yield url
