"""How the pages of a file are sealed: each has an authentication tag, in database and log, checked
when it is read.

With a key that is encryption. Without one the same cipher runs under a key that stands here for
everyone to read: it hides nothing, and finds damage. Files made before that are plain, and are
sealed when they are opened to be written.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from pathlib import Path

import apsw

from ...tenants.folders import OpenFolder

# the first bytes of a file without a key of its own, where SQLite's own name would be
_MAGIC = b"Remloom sealed 1"
_PUBLIC = b"Remloom, for all".hex() + _MAGIC.hex()  # key and salt
# the least work a page; without a secret it need be no stronger
_QUICK = "aegis-128x2"
_CIPHER = "aegis"
_NOT_NOW = (
    apsw.BusyError,
    apsw.LockedError,
    apsw.FullError,
    apsw.CantOpenError,
    apsw.ReadOnlyError,
)


def unlock(connection: apsw.Connection, key: str) -> None:
    """Make a connection read and write sealed pages, by a data key in hex, or the public one
    ("")."""
    connection.pragma("cipher", _CIPHER)
    if not key:
        connection.pragma("algorithm", _QUICK)
    connection.pragma("key", f"raw:{key or _PUBLIC}")


def make_private(folder: OpenFolder, name: str) -> None:
    """Make an empty file that only its owner may read, if there is none; SQLite makes its log so
    too. An existing one is not even opened: closing it would give up the locks this process has on
    it."""
    # it is there; or the folder cannot be written, as SQLite says then
    with suppress(OSError):
        os.close(folder.open_file(name, os.O_RDWR | os.O_CREAT | os.O_EXCL))


def seal(path: Path) -> bool:
    """Put a sealed copy of a plain file in its place; False when that must wait.

    At every moment one of the two is there wholly. Nobody else has it open meanwhile: the copy is
    made under a lock that needs every other connection to be gone, and who waits for it sees by the
    file's identity that he has the old.
    """
    with OpenFolder.at(path.parent, links=False) as folder:
        return _seal(path, folder)


def _seal(path: Path, folder: OpenFolder) -> bool:
    copy = path.with_name(path.name + ".sealing")
    _remove(folder, copy.name)
    # The copy is opened with the flags of its source: neither is reached through a link.
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW
    source = apsw.Connection(str(path), flags=flags)
    with closing(source):
        try:
            source.pragma("locking_mode", "exclusive")
            if source.pragma("journal_mode", "delete") != "delete":
                return False
            source.execute("BEGIN EXCLUSIVE; COMMIT")
            source.pragma("auto_vacuum", "incremental")
            make_private(folder, copy.name)
            sealed = (
                f"{copy.absolute().as_uri()}?cipher={_CIPHER}&algorithm={_QUICK}&key=raw:{_PUBLIC}"
            )
            source.execute("VACUUM INTO ?", (sealed,))
        except _NOT_NOW:
            _remove(folder, copy.name)
            return False
        except BaseException:
            _remove(folder, copy.name)
            raise
        # The one in this folder stayed empty: another folder is at its path by now.
        if not folder.status(copy.name).st_size:
            _remove(folder, copy.name)
            return False
        _flush(folder, copy.name)
        if os.name == "nt":  # pragma: no cover - an open file cannot be replaced there
            source.close()
        folder.replace(copy.name, path.name)
        folder.sync()
    return True


def _remove(folder: OpenFolder, name: str) -> None:
    with suppress(FileNotFoundError):
        folder.unlink(name)


def _flush(folder: OpenFolder, name: str) -> None:
    descriptor = folder.open_file(name, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
