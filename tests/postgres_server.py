"""A PostgreSQL for the tests: the one that `REMLOOM_TEST_POSTGRES` names, or one that a Python
package brings.

The package's server is one for all test processes of a run: the first starts it, the last stops it.
Each test process has a database of its own there.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from psycopg.conninfo import conninfo_to_dict

__all__ = ["connect", "database", "has_hnsw", "server"]

_HNSW = """
CREATE EXTENSION vector;
CREATE TABLE vectors AS
SELECT ARRAY[random(), random(), n]::real[]::vector(3)::halfvec(3) AS v FROM generate_series(1, 100) AS n;
CREATE INDEX ON vectors USING hnsw (v halfvec_cosine_ops)
"""


def server(run: Path) -> str:
    """The URL of the server. `run` is a folder that all processes of this test run know, and no
    other run does."""
    if given := os.environ.get("REMLOOM_TEST_POSTGRES"):
        return given
    # Short, because the path of a socket may have no more than 107 characters.
    name = f"remloom-pg-{sha256(str(run).encode()).hexdigest()[:12]}"
    url = _started(Path(tempfile.gettempdir()) / name)
    with psycopg.connect(url, autocommit=True) as connection:
        # nobody pulls the plug on a test
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")
    return url


def _started(folder: Path) -> str:
    with warnings.catch_warnings():
        # of the package, about folders that this machine does not have
        warnings.simplefilter("ignore")
        import pgserver

        # two processes that find it missing would both make it
        folder.mkdir(exist_ok=True)
        return str(pgserver.get_server(folder, cleanup_mode="delete").get_uri())


@cache
def has_hnsw() -> bool:
    """Whether the package's pgvector can build an HNSW index here: it was built with instructions
    that not every processor has, on which the whole server dies. So another one tries."""
    if os.environ.get("REMLOOM_TEST_POSTGRES"):
        return True
    url = _started(Path(tempfile.mkdtemp(prefix="remloom-pg-")))
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_HNSW)
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def database(url: str) -> Iterator[str]:
    """The URL of a new, empty database for as long as the context lasts."""
    name = f"remloom_{uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield in_database(url, name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def connect(url: str) -> psycopg.Connection[Any]:
    """A connection whose statements take effect at once."""
    return psycopg.connect(url, autocommit=True)


def in_database(url: str, name: str) -> str:
    """The URL of another database of the same server."""
    parts = {key: value for key, value in conninfo_to_dict(url).items() if key != "dbname"}
    from urllib.parse import urlencode

    return (
        f"postgresql:///{name}?{urlencode({key: value for key, value in parts.items() if value})}"
    )
