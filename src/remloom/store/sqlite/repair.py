"""Going on after acknowledged writes were lost, which nobody does unasked. See `lost_writes` for
how that is found."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from contextlib import closing
from pathlib import Path

from ...errors import CorruptStoreError
from ..tenants.open_folder import OpenFolder
from .file.database import SqliteDatabase
from .file.write_ahead_log import log_of
from .select.sql_functions import prepare


def repair(path: Path, key: str) -> list[str]:
    """Open a database with what is whole, after its log was put aside.

    Args:
        key: data key in hex; empty for a file without one.

    Returns:
        What was found and done, a line each; empty when nothing was wrong.

    Raises:
        CorruptStoreError: the database itself is damaged.
    """
    try:
        SqliteDatabase(path, key, create=False, prepare=prepare).close()
    except CorruptStoreError as error:
        if "writes" not in error.fields:
            raise
        found = error.message
    else:
        return []
    done = [found]
    if (kept := _set_aside(path)) is not None:
        done.append(f"the log as it was is kept in {kept}")
    with closing(SqliteDatabase(path, key, create=False, prepare=prepare, accept=True)) as database:
        database.write(lambda _: None)  # the mark says again what is there
        database.upkeep.checkpoint()
    return [*done, "what is whole can be read and written again"]


def _set_aside(path: Path) -> Path | None:
    """A copy of the log, if there is anything in it."""
    log = log_of(path)
    if not log.exists() or not log.stat().st_size:
        return None
    when = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    kept = log.with_name(f"{log.name}.damaged-{when}-{secrets.token_hex(2)}")
    with (
        OpenFolder.without_links(log.parent) as folder,
        open(folder.open_file(log.name, os.O_RDONLY), "rb") as source,
    ):
        new = folder.open_file(kept.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with open(new, "wb") as target:
            shutil.copyfileobj(source, target)
    return kept
