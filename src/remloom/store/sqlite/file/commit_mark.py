"""Whether a file has lost acknowledged writes, by the mark beside it and by its write-ahead log.

The mark says how far the writes reached. It is written after each commit and not flushed, so that
it costs microseconds: it may lag behind the truth, after a loss of power, and is never ahead of it.

SQLite reads a log up to the first frame whose checksum is wrong, and takes the rest for what a loss
of power left of a write that was not acknowledged. So it is, when it is one transaction. A further
one was begun only after that one was on disk: then what is behind the bad frame was acknowledged.
Checksums go over the pages as they are in the file, sealed. See
https://www.sqlite.org/fileformat2.html#the_write_ahead_log.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple

import apsw
from msgspec import Struct

from ....errors import CorruptStoreError
from ...tenants.folders import OpenFolder, read_whole

_FORM = struct.Struct(">8sQQQQ")
_MAGIC = b"RemMark1"
_CHECK = struct.Struct(">I")
_LAST = "SELECT line, commits, committed, rid FROM sequence"
_HEADER = 32  # bytes of a log's header
_FRAME = 24  # of the header of one page in it
_LOG_MAGIC = 0x377F0682  # its last bit: the checksum goes over big-endian words

_Sum = tuple[int, int]


class Commit(NamedTuple):
    """The last write that a file has, or had."""

    line: int  # which file: a copy of it has another
    number: int
    at: int  # microseconds since 1970 UTC
    record_no: int  # the highest number of a record


class CommitMark:
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
                with OpenFolder.at(self.path.parent, links=False) as folder:
                    self._descriptor = folder.open_file(self.path.name, os.O_RDWR | os.O_CREAT)
            _write(self._descriptor, data + _CHECK.pack(zlib.crc32(data)), 0)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _write_at(descriptor: int, data: bytes, at: int) -> None:
    os.lseek(descriptor, at, os.SEEK_SET)
    os.write(descriptor, data)


_write = getattr(os, "pwrite", _write_at)


def admit(connection: apsw.Connection, mark: CommitMark, path: Path, *, log: bool) -> None:
    """Refuse a file that has lost acknowledged writes.

    Args:
        connection: the first of this process to the file.
        log: look behind the end of the log too, which only one who may write can.

    Raises:
        CorruptStoreError: they are gone. Fields: `writes` (how many; at least so many when `until`
            is None), `since` and `until` (when the last one that is there was made, and the last).
    """
    # before the file, which another process may be writing
    marked = mark.read()
    last = _last(connection)
    if marked is not None and last is None:
        raise _lost(path, marked.number, None, marked)
    if marked is not None and last is not None and marked.line == last.line:
        if marked.number > last.number:
            raise _lost(path, marked.number - last.number, last, marked)
        if marked.number == last.number:
            return
    if log and (writes := _unseen(connection, path)):
        raise _lost(path, writes, _last(connection), None)


def _unseen(connection: apsw.Connection, path: Path) -> int:
    """Acknowledged writes that are in the log, behind damage."""
    size = connection.pragma("page_size")
    while True:
        version = connection.pragma("data_version")
        seen, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        if seen < 0 or not _behind(path, size, seen):
            return 0
        connection.execute("BEGIN IMMEDIATE")  # or was that another process, writing?
        try:
            if connection.pragma("data_version") == version:
                return _behind(path, size, seen)
        finally:
            connection.execute("ROLLBACK")


def _last(connection: apsw.Connection) -> Commit | None:
    """The last write that the file has; None when it is new, or of a version that did not count."""
    try:
        row = connection.execute(_LAST).get
    except apsw.SQLError:
        return None
    return None if row is None else Commit(*row)


def _lost(path: Path, writes: int, last: Commit | None, marked: Commit | None) -> CorruptStoreError:
    since = _when(last.at) if last is not None and last.at else None
    until = _when(marked.at) if marked is not None else None
    many = f"{'' if marked else 'at least '}{writes} acknowledged write{'s' if writes > 1 else ''}"
    what = [f"{path} has lost {many}"]
    if since is not None:
        what.append(f"everything after {_shown(since)}")
    if until is not None:
        what.append(f"up to {_shown(until)}")
    if marked is not None and last is not None:
        what.append(
            f"with {marked.record_no - last.record_no} records that were new or written again"
        )
    return CorruptStoreError(
        ", ".join(what),
        remedy="`remloom doctor --repair` keeps its log aside and goes on with what is whole; or "
        "restore a backup",
        writes=writes,
        since=since,
        until=until,
    )


def _when(micros: int) -> datetime:
    return datetime.fromtimestamp(micros / 1e6, UTC)


def _shown(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S UTC")


# -- the log ---------------------------------------------------------------------------------------


class _LogFrame(Struct, frozen=True):
    """The header of one page in a log."""

    at: int  # bytes from the start of the log
    commits: bool  # it ends a transaction
    salts: bytes  # of the log's generation: those of an earlier one are leftovers
    sum: _Sum  # of everything up to it


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _behind(path: Path, size: int, seen: int) -> int:
    """Count acknowledged transactions, at least, behind the `seen` frames that SQLite reads of the
    log, while nobody writes; 0: its end is just torn. `size` is that of a page, in bytes."""
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


def _frames(stream: BinaryIO, size: int, start: int) -> Iterator[_LogFrame]:
    at = start
    while True:
        stream.seek(at)
        header = stream.read(_FRAME)
        if len(header) < _FRAME:
            return
        yield _LogFrame(
            at, header[4:8] != bytes(4), header[8:16], struct.unpack(">II", header[16:24])
        )
        at += _FRAME + size


def _sound(header: bytes) -> bool:
    if len(header) < _HEADER or struct.unpack(">I", header[:4])[0] & ~1 != _LOG_MAGIC:
        return False
    return _add((0, 0), header[:24], big=bool(header[3] & 1)) == struct.unpack(">II", header[24:])


def _is_intact(
    stream: BinaryIO, before: _LogFrame, frame: _LogFrame, size: int, *, big: bool
) -> bool:
    if frame.at != before.at + _FRAME + size:
        return False
    stream.seek(frame.at)
    data = stream.read(_FRAME + size)
    return (
        len(data) == _FRAME + size
        and _add(_add(before.sum, data[:8], big=big), data[_FRAME:], big=big) == frame.sum
    )


def _add(sum: _Sum, data: bytes, *, big: bool) -> _Sum:
    one, other = sum
    words = struct.unpack(f"{'>' if big else '<'}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + other) & 0xFFFFFFFF
        other = (other + second + one) & 0xFFFFFFFF
    return one, other
