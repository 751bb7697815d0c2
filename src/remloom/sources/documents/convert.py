"""Converting documents in a child process, which may fail, hang or grow without harm.

One child serves a whole process and is used again for the next document, so that a thousand small
files are read quickly. It is ended when a limit is exceeded; the next document gets another.
"""

from __future__ import annotations

import atexit
import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from math import inf
from typing import IO

import msgspec
from msgspec import Struct

from ...errors import MissingExtraError, RemloomError, SourceError
from ..document import Document, File
from . import formats, images

_PER_MB = 10.0  # further seconds for each megabyte of a file: a book takes longer than a leaflet
_MOST = 100_000_000  # characters of text that a document may have
_LENGTH = 8  # bytes that say how long a message is
_BUSY = 10.0  # further seconds of wall time that a busy machine may take
_LOOK = 0.5  # seconds between two looks at the memory of the child
_ROOM = 1_000_000  # bytes: with less left, nothing more can be had
# of the memory that a document may take: a child that has kept more is not used again
_KEPT = 0.25
_SIGXCPU = 24  # where there are limits of CPU time
_STARTING = 60.0  # seconds for the child to start, and to load its libraries


class Limits(Struct, frozen=True):
    """The time and memory that the conversion of one document may take."""

    # of CPU time, and 10 for each megabyte; of wall time some more than twice as much
    seconds: float = 30.0
    memory_mb: int = 1024
    elements: int = 500_000  # tags of HTML or DOCX, objects of PDF: counted before it is converted
    previews: bool = False  # whether documents of images have small ones for a model


class ConvertRequest(Struct, frozen=True):
    """A document for the child to convert."""

    file: File
    seconds: float
    memory_mb: int
    preview: bool = False


class Converted(Struct, frozen=True):
    """The child's answer: a document, or why there is none."""

    document: Document | None = None
    error: str = ""
    memory: bool = False  # there was not enough
    last: bool = False  # the child keeps too much to be used again


_encode = msgspec.msgpack.Encoder().encode
_replies = msgspec.msgpack.Decoder(Converted)


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


def convert(file: File, limits: Limits) -> Document:
    """Convert a file as `formats.FORMATS` says, in the child and within the limits."""
    uri, suffix = file.uri, file.suffix
    how = formats.FORMATS[suffix]
    if not _installed(how.library):
        raise MissingExtraError(f"reading {suffix} files", how.extra)
    seconds = limits.seconds + _PER_MB * len(file.data) / 1_000_000
    formats.check(file)
    elements = formats.count_elements(file.data, suffix, limits.elements)
    if elements > limits.elements:
        raise _over(uri, f"it has more than {limits.elements:,} elements", "read_elements")
    preview = limits.previews and suffix in images.MEDIA_TYPES
    request = _encode(ConvertRequest(file, seconds, limits.memory_mb, preview))
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
def _watched(
    process: subprocess.Popen[bytes], seconds: float, most: float = inf
) -> Iterator[list[str]]:
    """Kill a process that takes longer for the work inside, which is "late" then; or that stays at
    its limit of memory, `most` bytes, where Python may try for ever to raise MemoryError:
    "full"."""
    done = threading.Event()
    killed: list[str] = []
    end = time.monotonic() + seconds

    def watch() -> None:
        was_full = False
        while not done.wait(max(0.0, min(_LOOK, end - time.monotonic()))):
            is_full = size_of(process.pid) > most - _ROOM
            is_late = time.monotonic() >= end
            if is_late or (is_full and was_full):
                killed.append("late" if is_late else "full")
                process.kill()
                return
            was_full = is_full

    threading.Thread(target=watch, name="remloom-converting", daemon=True).start()
    try:
        yield killed
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
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._memory_mb = 0  # that a document may take in it
        atexit.register(self.end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def ask(self, request: bytes, seconds: float, memory_mb: int) -> tuple[Converted | None, bool]:
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
        answer = None
        killed: list[str] = []
        try:
            # The child says that it is ready, and how large it may be, so that loading a library
            # does not count.
            with _watched(process, _STARTING) as killed:
                send(process.stdin, request)
                ready = receive(process.stdout)
            if ready is not None:
                with _watched(process, seconds, int(ready)) as killed:
                    answer = receive(process.stdout)
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
            if "full" in killed:
                return Converted(memory=True), False
            return None, "late" in killed or code == -_SIGXCPU
        reply = _replies.decode(answer)
        if reply.last:
            self.end()
        return reply, False

    def _start(self) -> subprocess.Popen[bytes]:
        paths = os.pathsep.join(path for path in sys.path if path)
        return subprocess.Popen(
            [sys.executable, "-c", "from remloom.sources.documents.convert import main; main()"],
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


_child = _Child()


# -- the child -----------------------------------------------------------------------------------


def main() -> None:
    """Answer requests from standard input, one after another."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    # what a library prints must not be taken for an answer
    sys.stdin, sys.stdout = io.StringIO(), sys.stderr
    decode = msgspec.msgpack.Decoder(ConvertRequest).decode
    encode = msgspec.msgpack.Encoder().encode
    base = size_of("self")
    while (message := receive(source)) is not None:
        request = decode(message)
        del message
        before = size_of("self")
        formats.load(request.file.suffix)
        base += size_of("self") - before
        allowed = request.memory_mb * 1_000_000
        # ready: the time runs from here
        send(target, b"%d" % (base + allowed))
        _restrict(request.seconds, base + allowed)
        try:
            reply = _answer(request)
            too_large = size_of("self") > base + _KEPT * allowed
            message = encode(msgspec.structs.replace(reply, last=too_large))
            # a large document must not stay until the next one is there
            del reply
        except MemoryError:
            _release()
            message = encode(Converted(memory=True, last=True))
        send(target, message)


def _answer(request: ConvertRequest) -> Converted:
    try:
        formats.check(request.file)
        document = formats.FORMATS[request.file.suffix].convert(request.file)
        if request.preview:
            preview = images.preview(request.file.data)
            document = msgspec.structs.replace(document, preview=preview)
    except MemoryError:
        raise
    except RemloomError as error:
        return Converted(error=error.message)
    except RecursionError:
        return Converted(error="it is nested too deeply")
    except Exception as error:
        # whatever a parser raises, it is of this document
        return Converted(error=f"it cannot be read: {type(error).__name__}")
    if len(document.text) > _MOST:
        size = f"{len(document.text) / 1_000_000:,.0f} MB"
        return Converted(error=f"its text is {size}: that is not a document")
    return Converted(document=document)


def _restrict(seconds: float, size: int) -> None:
    """Limit what this process takes from here on, where the system has such limits."""
    try:
        import resource
    except ImportError:  # pragma: no cover - Windows
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    limits = {resource.RLIMIT_CPU: round(used.ru_utime + used.ru_stime + seconds) + 1}
    if size_of("self"):
        limits[resource.RLIMIT_AS] = size
    for name, soft in limits.items():
        _, hard = resource.getrlimit(name)
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)
        resource.setrlimit(name, (soft, hard))


def _release() -> None:
    """Take back the limit of memory, so that there is enough to say that it was reached."""
    with suppress(ImportError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
