"""The process that answers the hooks of a home. It starts by itself, and ends when it is idle.

    python -m remloom.hooks.resident <home>/hooks

One process a home: who does not get the lock ends at once. It holds each project's memory open as
long as an agent works there, reads what the agents' programs have written, and says what a session
or a prompt is given. Whatever goes wrong with one call, its reply is `{}`.
"""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import socketserver
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from threading import Event as Ended
from threading import Thread
from types import FrameType

import msgspec

from . import clients
from .answers import Answers
from .events import Event
from .given import AgentContext
from .hook import brief_path
from .place import socket_of
from .reading import TranscriptReading

IDLE = 15 * 60.0  # seconds without a call, after which it ends

_LARGEST = 1 << 20  # bytes of a payload
_SECONDS = 2.0  # that a hook has to send what it says
_CHECK = 5.0  # seconds between two looks at what else ends it

log = logging.getLogger(__name__)


class _Calls(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, path: str, resident: Resident) -> None:
        self.resident = resident
        super().__init__(path, _Call)


class _Call(socketserver.StreamRequestHandler):
    timeout = _SECONDS
    server: _Calls

    def handle(self) -> None:
        with suppress(OSError, ValueError):
            client, name, size = self.rfile.readline(256).decode().split()
            payload = self.rfile.read(min(int(size), _LARGEST))
            reply, given = self.server.resident.reply(client, name, payload)
            self.wfile.write(reply + b"\n")
            # only now has the agent been given it: a hook that waited too long is gone
            given()


class Resident:
    """Answers, and reads; `idle` seconds without a call end it."""

    def __init__(self, folder: Path, *, idle: float = IDLE) -> None:
        self._folder = folder
        self._idle = idle
        self._last = time.monotonic()
        self._ended = Ended()
        self._answers = Answers(folder)
        self._reading = TranscriptReading(folder, self._answers)

    def end(self) -> None:
        """Let the calls that have begun be answered, and end."""
        self._ended.set()

    def run(self) -> None:
        """Answer until nobody calls."""
        path = socket_of(self._folder)
        Path(path).unlink(missing_ok=True)
        with _Calls(path, self) as server:
            os.chmod(path, 0o600)
            mine = os.stat(path).st_ino
            calls = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
            calls.start()
            self._reading.start()
            for word in self._reading.waiting.words():
                self.reply(word.client, word.event, msgspec.json.encode(word.payload))
            while not self._ended.wait(min(_CHECK, self._idle)):
                if self._is_idle() or not _is(path, mine):
                    break
            server.shutdown()
        if _is(path, mine):
            Path(path).unlink(missing_ok=True)
        self._reading.end()
        self._answers.close()

    def reply(self, client: str, name: str, payload: bytes) -> tuple[bytes, Callable[[], None]]:
        """What a program's hook prints, and what is to be called when it has it."""
        self._last = time.monotonic()
        try:
            said = msgspec.json.decode(payload or b"{}")
            event = clients.parse(client, name, said) if isinstance(said, dict) else None
            if event is None or not event.folder:
                return b"{}", _nothing
            if event.transcript and event.kind in ("stop", "compact", "end", "failure"):
                self._reading.note(event)
            given = self._answers.given(event)
            reply = msgspec.json.encode(clients.reply(client, name, given.text))
            if event.kind == "start":
                self._leave_brief(client, name, event, given, reply)
            return reply, partial(self._answers.log, event, given)
        except Exception:
            # an agent's program goes on, and the log of the process says what was wrong
            log.exception("hook %s of %s", name, client)
            return b"{}", _nothing

    def _leave_brief(
        self, client: str, name: str, event: Event, given: AgentContext, reply: bytes
    ) -> None:
        """For a session that starts while no resident is up; none of an encrypted memory."""
        path = Path(brief_path(str(self._folder), client, name, event.folder))
        if self._answers.encrypted or not given.text:
            path.unlink(missing_ok=True)
            return
        part = path.with_suffix(".part")
        part.write_bytes(os.fsencode(event.folder) + b"\n" + reply)
        part.replace(path)
        # what is forgotten meanwhile has found no file yet
        if not self._answers.still_holds(event, given):
            path.unlink(missing_ok=True)

    def _is_idle(self) -> bool:
        return time.monotonic() - self._last > self._idle and not self._reading.busy


def _nothing() -> None:
    """What has no words is not logged."""


def _is(path: str, inode: int) -> bool:
    """Whether the socket is still this process's: without, nobody reaches it."""
    try:
        return os.stat(path).st_ino == inode
    except OSError:
        return False


@contextmanager
def only_one(folder: Path) -> Iterator[bool]:
    """Whether this process is the one of the folder, as long as it goes on."""
    file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        yield False
        return
    try:
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())
        yield True
    finally:
        os.close(file)


def main(folder: Path, *, idle: float = IDLE) -> None:
    """Be the resident of a folder, unless there is one."""
    os.umask(0o077)
    for each in (folder, folder / "briefs"):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    logging.basicConfig(
        level=logging.WARNING,
        handlers=[RotatingFileHandler(folder / "resident.log", maxBytes=1 << 18, backupCount=1)],
        format="%(asctime)s %(message)s",
    )
    with only_one(folder) as alone:
        if not alone:
            return
        resident = Resident(folder, idle=idle)

        def ended(number: int, frame: FrameType | None) -> None:
            resident.end()

        signal.signal(signal.SIGTERM, ended)
        signal.signal(signal.SIGINT, ended)
        resident.run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), idle=float(os.environ.get("REMLOOM_HOOKS_IDLE", IDLE)))
