"""The mark beside a database: how far its acknowledged writes reached.

It is written after each commit and not flushed, so that it costs microseconds: it may lag behind
the truth, after a loss of power, and is never ahead of it. A database that is behind its mark has
lost writes that were acknowledged.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ...tenants.folders import read_whole
from ...tenants.open_folder import OpenFolder

_FORM = struct.Struct(">8sQQQQ")
_MAGIC = b"RemMark1"
_CHECK = struct.Struct(">I")


class Commit(NamedTuple):
    """The last write that a file has, or had."""

    line: int  # which file: a copy of it has another
    number: int
    at: int  # microseconds since 1970 UTC
    record_no: int  # the highest number of a record


class Mark:
    """The file `<database>-mark`. The caller sees to it that one thread writes at a time."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(database.name + "-mark")
        self._descriptor: int | None = None

    def read(self) -> Commit | None:
        """What it says; None when it is missing or damaged."""
        try:
            data = read_whole(self.path)
        except OSError:
            return None
        if len(data) != _FORM.size + _CHECK.size:
            return None
        magic, line, number, at, record_no = _FORM.unpack(data[: _FORM.size])
        if magic != _MAGIC or _CHECK.unpack(data[_FORM.size :])[0] != zlib.crc32(
            data[: _FORM.size]
        ):
            return None
        return Commit(line, number, at, record_no)

    def write(self, commit: Commit) -> None:
        """Record a commit that is on disk. A mark that cannot be written may lag behind."""
        data = _FORM.pack(_MAGIC, *commit)
        with suppress(OSError):
            if self._descriptor is None:
                with OpenFolder.without_links(self.path.parent) as folder:
                    self._descriptor = folder.open_file(self.path.name, os.O_RDWR | os.O_CREAT)
            _write(self._descriptor, data + _CHECK.pack(zlib.crc32(data)), 0)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _write_at(descriptor: int, data: bytes, at: int) -> None:
    """`os.pwrite`, for Windows."""
    os.lseek(descriptor, at, os.SEEK_SET)
    os.write(descriptor, data)


_write = getattr(os, "pwrite", _write_at)
