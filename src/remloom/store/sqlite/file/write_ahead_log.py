"""What a write-ahead log holds behind the point where SQLite stops reading it.

SQLite reads a log up to the first frame whose checksum is wrong, and takes the rest for what a loss
of power left of a write that nobody was told of. So it is, when it is one transaction. A further
one was begun only after that one was on disk: then what is behind the bad frame was acknowledged.
Checksums go over the pages as they are in the file, sealed. See
https://www.sqlite.org/fileformat2.html#the_write_ahead_log.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

_HEADER = 32  # bytes
_FRAME = 24
_MAGIC = 0x377F0682  # its last bit: the checksum goes over big-endian words

_Sum = tuple[int, int]


class LogFrame(Struct, frozen=True):
    """The header of one page in a log."""

    at: int  # bytes from the start of the log
    commits: bool  # it ends a transaction
    salts: bytes  # of the log's generation: those of an earlier one are leftovers
    sum: _Sum  # of everything up to it


def log_of(path: Path) -> Path:
    """Where the log of a database is."""
    return path.with_name(path.name + "-wal")


def behind(path: Path, size: int, seen: int) -> int:
    """How many acknowledged transactions, at least, are in the log and not seen by SQLite; 0: its
    end is just torn.

    Args:
        path: the database; nobody writes to it meanwhile.
        size: of a page, in bytes.
        seen: frames that SQLite reads.
    """
    try:
        stream = log_of(path).open("rb")
    except OSError:
        return 0
    with stream:
        header = stream.read(_HEADER)
        frames = list(_frames(stream, size, _HEADER + seen * (_FRAME + size)))
        # it was emptied just now, and has grown since
        if not frames or len(header) < _HEADER:
            return 0
        # nothing of a log without a header is seen, whatever was acknowledged
        started = not _sound(header)
        big = bool(header[3] & 1)
        salts = (
            Counter(frame.salts for frame in frames).most_common(1)[0][0]
            if started
            else header[16:24]
        )
        current = [frame for frame in frames if frame.salts == salts]
        for before, frame in zip([None, *current], current, strict=False):
            if started and before is not None and _is_intact(stream, before, frame, size, big=big):
                return max(1, sum(frame.commits for frame in current))
            started = started or frame.commits
    return 0


def _frames(stream: BinaryIO, size: int, start: int) -> Iterator[LogFrame]:
    """The headers of the frames from `start` to the end."""
    at = start
    while True:
        stream.seek(at)
        header = stream.read(_FRAME)
        if len(header) < _FRAME:
            return
        yield LogFrame(
            at, header[4:8] != bytes(4), header[8:16], struct.unpack(">II", header[16:24])
        )
        at += _FRAME + size


def _sound(header: bytes) -> bool:
    """The header of the log is whole."""
    if len(header) < _HEADER or struct.unpack(">I", header[:4])[0] & ~1 != _MAGIC:
        return False
    return _add((0, 0), header[:24], big=bool(header[3] & 1)) == struct.unpack(">II", header[24:])


def _is_intact(
    stream: BinaryIO, before: LogFrame, frame: LogFrame, size: int, *, big: bool
) -> bool:
    """A frame is as it was written, after the one before."""
    if frame.at != before.at + _FRAME + size:
        return False
    stream.seek(frame.at)
    data = stream.read(_FRAME + size)
    return (
        len(data) == _FRAME + size
        and _add(_add(before.sum, data[:8], big=big), data[_FRAME:], big=big) == frame.sum
    )


def _add(sum: _Sum, data: bytes, *, big: bool) -> _Sum:
    """The checksum with `data` added to it."""
    one, other = sum
    words = struct.unpack(f"{'>' if big else '<'}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + other) & 0xFFFFFFFF
        other = (other + second + one) & 0xFFFFFFFF
    return one, other
