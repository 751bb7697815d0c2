"""Converting documents in a child process, which may fail, hang or grow without harm.

A PDF, a DOCX or a page of HTML is written by a stranger, and the libraries that read them are
large. One child serves a whole process and is used again for the next document, so that a thousand
small files are read quickly. It is ended when a limit is exceeded; the next document gets another.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import IO

import msgspec
from msgspec import Struct

from ...errors import MissingExtraError, SourceError
from ..document import Document
from ..web import feeds
from . import formats, images

_PER_MB = 10.0  # further seconds for each megabyte of a file: a book takes longer than a leaflet
_MOST = 100_000_000  # bytes of text that a document may have
_LENGTH = 8  # bytes that say how long a message is
_BUSY = 10.0  # further seconds of wall time that a busy machine may take
_LOOK = 0.5  # seconds between two looks at the memory of the child
_ROOM = 1_000_000  # bytes: with less left, nothing more can be had
_STARTING = 60.0  # seconds for the child to start, and to load its libraries
# the library that reads a suffix; markitdown for the others
_NEEDED = {".pdf": "pdfminer.high_level", **formats.LIBRARIES}


class Limits(Struct, frozen=True):
    """The time and memory that the conversion of one document may take."""

    # of CPU time, and 10 for each megabyte; of wall time some more than twice as much
    seconds: float = 30.0
    memory_mb: int = 1024
    elements: int = 500_000  # tags of HTML or DOCX, objects of PDF: counted before it is converted
    previews: bool = False  # whether documents of images have small ones for a model


class ConvertRequest(Struct, frozen=True):
    """A document for the child to convert."""

    uri: str
    data: bytes
    suffix: str
    title: str
    seconds: float
    memory_mb: int
    preview: bool = False


class Reply(Struct, frozen=True):
    """The child's answer: a document, or why there is none."""

    document: Document | None = None
    error: str = ""
    memory: bool = False  # there was not enough
    last: bool = False  # the child keeps too much to be used again


_encode = msgspec.msgpack.Encoder().encode
_replies = msgspec.msgpack.Decoder(Reply)


def send(stream: IO[bytes], message: bytes) -> None:
    """Write a message, its length first."""
    stream.write(len(message).to_bytes(_LENGTH, "big"))
    stream.write(message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """Read the next message; None when the other side is gone."""
    head = stream.read(_LENGTH)
    size = int.from_bytes(head, "big")
    if len(head) < _LENGTH or size > 4 * _MOST:
        return None
    message = stream.read(size)
    return message if len(message) == size else None


def convert(uri: str, data: bytes, suffix: str, title: str, limits: Limits) -> Document:
    """Convert a file by `formats.convert`, in the child.

    Raises:
        MissingExtraError: the library that reads them is not installed.
        SourceError: the data are not what the suffix says, or cannot be read within the limits.
    """
    if not _installed(_NEEDED.get(suffix, "markitdown")):
        raise MissingExtraError(f"reading {suffix} files", _extra_of(suffix))
    seconds = limits.seconds + _PER_MB * len(data) / 1_000_000
    formats.check(uri, data, suffix)
    elements = formats.count_elements(data, suffix, limits.elements)
    if elements > limits.elements:
        raise _over(uri, f"it has more than {limits.elements:,} elements", "read_elements")
    preview = limits.previews and suffix in images.MEDIA_TYPES
    request = _encode(ConvertRequest(uri, data, suffix, title, seconds, limits.memory_mb, preview))
    with _child.lock:
        reply, late = _child.ask(request, _BUSY + 2 * seconds, limits.memory_mb)
    if reply is None:
        if late:
            problem = f"its conversion took longer than {seconds:,.0f} seconds"
            raise _over(uri, problem, "read_timeout")
        problem = "its conversion ended without a word, as it does when memory is short"
        raise _over(uri, problem, "read_memory_mb")
    if reply.memory:
        problem = f"its conversion needs more than {limits.memory_mb:,} MB of memory"
        raise _over(uri, problem, "read_memory_mb")
    if reply.document is None:
        raise SourceError(reply.error, uri=uri)
    return reply.document


def _extra_of(suffix: str) -> str:
    if suffix in images.LIBRARIES:
        return "images"
    return "feeds" if suffix in feeds.LIBRARIES else "documents"


def _over(uri: str, problem: str, setting: str) -> SourceError:
    return SourceError(
        problem,
        uri=uri,
        remedy=f"if it is to be trusted, raise the setting {setting} (REMLOOM_{setting.upper()})",
    )


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


@contextmanager
def _ended_after(process: subprocess.Popen[bytes], seconds: float) -> Iterator[threading.Event]:
    """Kill a process when the work inside takes longer; the event tells that it was killed."""
    late = threading.Event()

    def kill() -> None:
        late.set()
        process.kill()

    watch = threading.Timer(seconds, kill)
    watch.daemon = True
    watch.start()
    try:
        yield late
    finally:
        watch.cancel()


@contextmanager
def _ended_when_full(process: subprocess.Popen[bytes], most: int) -> Iterator[threading.Event]:
    """Kill a process that stays at its limit of memory, `most` bytes; the event tells that it was.

    Python itself may need memory to raise MemoryError, and then tries for ever.
    """
    full, done = threading.Event(), threading.Event()

    def look() -> None:
        was_full = False
        while not done.wait(_LOOK):
            is_full = size_of(process.pid) > most - _ROOM
            if is_full and was_full:
                full.set()
                process.kill()
                return
            was_full = is_full

    threading.Thread(target=look, name="remloom-converting", daemon=True).start()
    try:
        yield full
    finally:
        done.set()


def size_of(process: int | str) -> int:
    """Bytes that a process, by its id or "self", has mapped; 0 where that is not known."""
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as stream:
            return int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


class _Child:
    """The process that converts, while there is one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._memory_mb = 0  # that a document may take in it
        atexit.register(self.end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def ask(self, request: bytes, seconds: float, memory_mb: int) -> tuple[Reply | None, bool]:
        """Get the answer to a request; or None, and whether the time was over."""
        # What the process has kept by now counts against the limit.
        if memory_mb != self._memory_mb:
            self.end()
            self._memory_mb = memory_mb
        if self._process is None or self._process.poll() is not None:
            self._process = self._start()
        process = self._process
        assert process.stdin  # noqa: S101 - pipes, both
        assert process.stdout  # noqa: S101
        answer, late, full = None, False, False
        try:
            # The child says that it is ready, and how large it may be, so that loading a library
            # does not count.
            with _ended_after(process, _STARTING) as late_to_start:
                send(process.stdin, request)
                ready = receive(process.stdout)
            late = late_to_start.is_set()
            if ready is not None:
                with (
                    _ended_after(process, seconds) as too_late,
                    _ended_when_full(process, int(ready)) as too_large,
                ):
                    answer = receive(process.stdout)
                late, full = too_late.is_set(), too_large.is_set()
        except (OSError, ValueError):
            # it ended meanwhile
            pass
        except BaseException:
            # Nobody waits any more, and the next document must not get this answer.
            self.end()
            raise
        if answer is None:
            process.kill()
            code = process.wait()
            self.end()
            if full:
                return Reply(memory=True), False
            return None, late or code == -_SIGXCPU
        reply = _replies.decode(answer)
        if reply.last:
            self.end()
        return reply, False

    def _start(self) -> subprocess.Popen[bytes]:
        paths = os.pathsep.join(path for path in sys.path if path)
        return subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from remloom.sources.documents.convert_worker import main; main()",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths},
            # an interrupt at the terminal is for the parent to handle
            start_new_session=True,
        )

    def end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):
                    if stream:
                        stream.close()

    def _forget(self) -> None:
        """After a fork: the process and the lock are those of the parent."""
        self.lock = threading.Lock()
        self._process = None


_SIGXCPU = 24  # where there are limits of CPU time
_child = _Child()
