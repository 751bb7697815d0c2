"""What tests of several modules share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

# for the processes that tests start too; see `real_calls`
os.environ["REMLOOM_MODEL_CALLS"] = "never"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long",
        action="store_true",
        help="the attacks and what takes minutes in their long form; the attacks' counts are written down",
    )


@pytest.fixture
def real_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a test call a model in this process, or an endpoint on loopback."""
    monkeypatch.delenv("REMLOOM_MODEL_CALLS")


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[str]:
    """The URL of a database of this test process."""
    from postgres_server import database, server

    folder = tmp_path_factory.getbasetemp()
    with database(server(folder if worker_id == "master" else folder.parent)) as url:
        yield url


@pytest.fixture(scope="session")
def hnsw() -> None:
    """Lets a test have an HNSW index in PostgreSQL."""
    from postgres_server import has_hnsw

    if not has_hnsw():
        pytest.skip("the pgvector of the tests' server does not run on this processor")


@pytest.fixture(scope="session")
def mariadb(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[str]:
    """The URL of a MariaDB server."""
    from mariadb_server import server

    folder = tmp_path_factory.getbasetemp()
    with server(folder if worker_id == "master" else folder.parent) as url:
        yield url
