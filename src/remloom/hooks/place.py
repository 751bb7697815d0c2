"""Where hooks are in a home."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

_LONGEST = 100  # bytes of a socket's path, of 104 that every system takes


def folder_of(home: str | os.PathLike[str]) -> Path:
    """The folder of the hooks of a home."""
    return Path(home).expanduser().absolute() / "hooks"


def socket_of(folder: Path) -> str:
    """Where the resident of a folder listens; elsewhere, if the path is too long for a socket."""
    path = str(folder / "socket")
    if len(os.fsencode(path)) <= _LONGEST:
        return path
    short = Path(f"/tmp/remloom-{os.getuid()}")  # noqa: S108 - checked
    short.mkdir(mode=0o700, exist_ok=True)
    if short.is_symlink() or short.stat().st_uid != os.getuid():
        raise PermissionError(f"{short} is another user's: choose a home with a shorter path")
    return str(short / sha256(os.fsencode(path)).hexdigest()[:16])
