"""Calls a memory in a child process that may be killed: how long each call took, how much memory,
and what came out.

    with Asker(home, "mine") as asker:
        for call, outcome in asker.ask([Call("query", ("LOOKUP x",))]): ...

`main` is what the child runs: it takes pickled batches of calls from stdin and gives an outcome for
each to stdout.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import select
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from waiting import PATIENCE

SECONDS = 6.0  # of processor time that a call may take
MEGABYTES = 500  # that a call may need, above what the process had
_HARD = 300.0  # seconds after which the child is killed
_HARD_MEGABYTES = 2_000
_HEAD = struct.Struct("<q")


class Call(Struct, frozen=True):
    """One call of a method of `Memory`."""

    method: str
    args: tuple[Any, ...] = ()
    given: dict[str, Any] = {}
    family: str = ""
    refused: bool = False  # it must be: anything but an error of ours is a hole


class Outcome(Struct, frozen=True):
    """What came out of a call."""

    kind: str  # "answered", "refused" with one of our errors, "raw" with another, "killed"
    text: str  # the answer, or the error with its name
    seconds: float = 0.0  # wall
    megabytes: float = 0.0  # more than before
    error: str = ""  # the name of the error


class Asker:
    """A child process with the memory of one tenant; a new one when it was killed."""

    def __init__(self, home: str, tenant: str) -> None:
        # so that its classes are those of this module
        program = "import sys, asking; asking.main(*sys.argv[1:])"
        self._command = [sys.executable, "-c", program, home, tenant]
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            assert self._child.stdin
            self._child.stdin.close()
            try:
                self._child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._kill()
            self._close()

    def ask(self, calls: Iterable[Call]) -> Iterator[tuple[Call, Outcome]]:
        """Each call with its outcome. What seems too slow is tried again, since machines have other
        work too."""
        waiting = list(calls)
        while waiting:
            batch = waiting[:200]
            done = 0
            for call, outcome in zip(batch, self._batch(batch), strict=False):
                done += 1
                if outcome.kind != "killed" and outcome.seconds > SECONDS:
                    self._restart()
                    *_, outcome = self._batch([call, call])  # the first one imports
                    outcome = replace(outcome, seconds=outcome.seconds / max(1.0, _crowd()))
                    yield call, outcome
                    break
                yield call, outcome
            waiting = waiting[done:]

    def _batch(self, calls: list[Call]) -> Iterator[Outcome]:
        child = self._child or self._start()
        assert child.stdin
        _send(child.stdin, calls)
        for _ in calls:
            outcome = self._next(child)
            yield outcome
            if outcome.kind == "killed":
                return

    def _next(self, child: subprocess.Popen[bytes]) -> Outcome:
        assert child.stdout
        began = time.monotonic()
        while not select.select([child.stdout], [], [], 0.25)[0]:
            passed = time.monotonic() - began
            if passed > _HARD or resident(child.pid) > _HARD_MEGABYTES:
                held = resident(child.pid)
                self._kill()
                return Outcome("killed", f"after {passed:.1f} s with {held:.0f} MB", passed, held)
        received = _receive(child.stdout)
        if received is None:
            code = child.wait()
            self._close()
            return Outcome("killed", f"the process ended with {code}")
        return received

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path])}
        self._child = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        assert self._child.stdout
        if _receive(self._child.stdout) != "ready":
            raise RuntimeError("the child could not open the memory; see its traceback")
        return self._child

    def _restart(self) -> None:
        self._kill()

    def _kill(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._close()

    def _close(self) -> None:
        if self._child is not None:
            for stream in (self._child.stdin, self._child.stdout):
                assert stream
                with suppress(BrokenPipeError):
                    stream.close()
        self._child = None


def _crowd() -> float:
    """How many processes want each processor: alone, a call would have taken so much less."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def resident(pid: int | str = "self") -> float:
    """Megabytes of its own that a process has in memory."""
    return _status(pid, "RssAnon:")


def resident_total(pid: int | str = "self") -> float:
    """Megabytes that a process has in memory, shared ones too."""
    return _status(pid, "VmRSS:")


def resident_peak(pid: int | str = "self") -> float:
    """The most of them since `peak_begins`."""
    return _status(pid, "VmHWM:")


def peak_begins(pid: int | str = "self") -> None:
    """Let the peak begin anew."""
    with suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5")


def _status(pid: int | str, line: str) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = [row.split()[1] for row in status.splitlines() if row.startswith(line)]
    return int(found[0]) / 1024 if found else 0.0


def _send(stream: Any, value: Any) -> None:
    packed = pickle.dumps(value)
    stream.write(_HEAD.pack(len(packed)))
    stream.write(packed)
    stream.flush()


def _receive(stream: Any) -> Any:
    """The next value, None at the end. Nothing is read ahead: `select` would not know of it."""

    def exactly(size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size and (part := os.read(stream.fileno(), size - len(parts))):
            parts += part
        return bytes(parts)

    head = exactly(_HEAD.size)
    return pickle.loads(exactly(_HEAD.unpack(head)[0])) if len(head) == _HEAD.size else None


def main(home: str, tenant: str) -> None:
    """The child."""
    from remloom import Memory
    from remloom.testing.embedder import WordEmbedder

    out, source = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb")
    # what something prints must not get between the outcomes
    os.dup2(2, 1)
    embedder = WordEmbedder()
    with Memory.open(home, tenant=tenant, embedder=embedder, create=False) as memory:
        _send(out, "ready")
        while (calls := _receive(source)) is not None:
            for call in calls:
                _send(out, _outcome(memory, call))


def _outcome(memory: Any, call: Call) -> Outcome:
    import msgspec

    from remloom import RemloomError

    # what is free but kept would hide what this call takes
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    peak_begins()
    before = resident_total()
    began = time.process_time()
    error = ""
    try:
        answer = attrgetter(call.method)(memory)(*call.args, **call.given)
        kind = "answered"
        text = msgspec.json.encode(
            answer.as_dict() if hasattr(answer, "as_dict") else answer, enc_hook=str
        ).decode()
    except RemloomError as refusal:
        kind, error = "refused", type(refusal).__name__
        text = f"{error}: {refusal}"
        try:
            msgspec.json.encode(refusal.as_dict(), enc_hook=str)
        except UnicodeError as raw:
            kind, text = "raw", f"the error cannot be shown as JSON: {raw}"
    except BaseException as raw:
        kind, error = "raw", type(raw).__name__
        text = f"{error}: {raw}"
    seconds = time.process_time() - began
    text = text[:2_000_000].encode("utf-8", "backslashreplace").decode()
    return Outcome(kind, text, seconds, resident_peak() - before, error)
