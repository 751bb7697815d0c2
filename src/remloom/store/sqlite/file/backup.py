"""A copy of a database, made page by page while it is in use."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path

import apsw

from ...tenants.open_folder import OpenFolder
from .error_translation import translate
from .sealing import make_private, unlock

_PAGES = 2_000  # in one step, between which others may write
# of a copy, which goes its own way from here on
_NEW_LINE = "UPDATE sequence SET line = random() & 0x7fffffffffffffff"


def copy_pages(source: apsw.Connection, path: Path, key: str | None) -> None:
    """Copy a database, as encrypted as it is, into a new file.

    Args:
        key: of both, in hex: see `unlock`; None: they are plain files.
    """
    with suppress(OSError), OpenFolder.at(path.parent) as folder:
        make_private(folder, path.name)
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    with translate(path), closing(apsw.Connection(str(path), flags=flags)) as target:
        if key is not None:
            unlock(target, key)
        with target.backup("main", source, "main") as copy:
            while not copy.done:
                copy.step(_PAGES)
        target.execute(_NEW_LINE)
        target.pragma("journal_mode", "wal")
