"""Opens files, whatever is at their paths by now."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from ..errors import SourceError

_HEAD = 64 * 1024  # bytes by which a file is recognised


def open_regular(path: Path, uri: str) -> BinaryIO:
    """Open a file without waiting: a pipe would never end.

    Raises:
        SourceError: it is not a regular file.
        OSError: it cannot be opened.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    stream = os.fdopen(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise SourceError("not a regular file", uri=uri)
    return stream


def head(path: Path) -> bytes:
    """Read the first bytes of a file; none when it cannot be read."""
    try:
        with open_regular(path, str(path)) as stream:
            return stream.read(_HEAD)
    except (OSError, SourceError):
        return b""
