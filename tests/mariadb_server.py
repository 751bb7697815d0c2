"""A MariaDB for the tests: the one that `REMLOOM_TEST_MARIADB` names, or one that is started here,
if its programs are installed (Debian: mariadb-server-core and mariadb-client-core).

The server is one for all test processes of a run: the first starts it, the last stops it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from waiting import PATIENCE

__all__ = ["connect", "database", "server"]


@contextmanager
def server(run: Path) -> Iterator[str]:
    """The URL of the server. `run` is a folder that all processes of this test run know, and no
    other run does."""
    if given := os.environ.get("REMLOOM_TEST_MARIADB"):
        yield given
        return
    install, daemon = shutil.which("mariadb-install-db"), shutil.which("mariadbd")
    if not (install and daemon and shutil.which("my_print_defaults")):
        pytest.skip(
            "there is no MariaDB here: apt-get install mariadb-server-core mariadb-client-core"
        )
    # short, because the path of a socket may have no more than 107 characters
    name = f"remloom-maria-{sha256(str(run).encode()).hexdigest()[:12]}"
    folder = Path(tempfile.gettempdir()) / name
    users = folder / "users"
    users.mkdir(parents=True, exist_ok=True)
    own = users / str(os.getpid())
    with _locked(folder):
        own.touch()
        if not (folder / "pid").exists():
            _start(folder, install, daemon)
    try:
        yield f"mysql://root@localhost/?unix_socket={folder}/s"
    finally:
        with _locked(folder):
            own.unlink()
            if not list(users.iterdir()):
                os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
                shutil.rmtree(folder, ignore_errors=True)


def _start(folder: Path, install: str, daemon: str) -> None:
    user = ["--user=root"] if os.getuid() == 0 else []
    common = ["--no-defaults", f"--datadir={folder}/data", *user]
    shutil.rmtree(folder / "data", ignore_errors=True)  # of a try that failed
    installed = subprocess.run(
        [install, *common, "--auth-root-authentication-method=normal", "--skip-test-db"],
        check=False,
        capture_output=True,
        text=True,
    )
    if installed.returncode:
        raise RuntimeError(f"MariaDB was not installed: {installed.stdout}\n{installed.stderr}")
    started = subprocess.Popen(
        [
            daemon, *common, f"--socket={folder}/s", f"--pid-file={folder}/pid", "--skip-networking",
            "--skip-log-bin", "--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=0",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    end = time.monotonic() + PATIENCE
    while not ((folder / "s").exists() and (folder / "pid").exists()):
        if started.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"MariaDB did not start in {folder}")
        time.sleep(0.05)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder.parent / f"{folder.name}.lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextmanager
def database(url: str) -> Iterator[str]:
    """The URL of a new, empty database for as long as the context lasts."""
    name = f"remloom_{uuid4().hex[:12]}"
    with connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        yield url.replace("/?", f"/{name}?")
        cursor.execute(f"DROP DATABASE {name}")


def connect(url: str) -> Any:
    """A connection whose statements take effect at once."""
    import pymysql

    split = urlsplit(url)
    return pymysql.connect(
        unix_socket=split.query.partition("unix_socket=")[2],
        user=split.username,
        password=split.password or "",
        database=split.path[1:] or None,
        autocommit=True,
    )
