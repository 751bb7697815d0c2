"""A memory in a process of its own, which may raise, hang, die or lie without harm to others.

A process has the documents of one user. One JSON object a line, asked on its stdin and answered on
its stdout:

    {"op": "ingest", "user_id": …, "folder": …, "documents": [{"id", "content", …}]}
    {}
    {"op": "retrieve", "query": …, "k": 50, "user_id": …, "query_timestamp": …}
    {"results": [{"id": …, "text": …} or an id, …]}

`{"error": "why"}` is an answer, too.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any, cast

import msgspec

from ..errors import InvalidInputError, UnknownNameError
from .memories import MEMORIES

_WORKER = "from remloom.bench.worker import main; main()"
_CLASS = "package.module:Class"
_CLOSING = 5.0  # seconds in which a process may end by itself
_COMMAND = "cmd:"
_QUIET = {"ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False"}


class MemoryFailedError(Exception):
    """A memory did something after which it cannot be asked."""


def command_of(memory: str) -> list[str]:
    """Give the command that runs a memory.

    Raises:
        InvalidInputError: no memory has this name, or the command is empty or has open quotes.
    """
    if memory.startswith(_COMMAND):
        try:
            words = shlex.split(memory.removeprefix(_COMMAND))
        except ValueError as error:
            raise InvalidInputError(f"{memory!r} is no command: {error}") from error
        if not words:
            raise InvalidInputError("a command is missing behind cmd:")
        return words
    if ":" not in memory and memory not in MEMORIES:
        raise UnknownNameError("memory", memory, (*MEMORIES, _CLASS, "cmd: …"))
    module, _, name = memory.partition(":")
    if module.endswith(".py"):
        parts = [one for one in Path(module).with_suffix("").parts if one not in ("..", "/")]
        raise UnknownNameError("memory", memory, (_CLASS,), meant=f"{'.'.join(parts)}:{name}")
    # unbuffered: what it prints is not lost when it dies
    return [sys.executable, "-u", "-c", _WORKER, memory]


def check(memory: str, deadline: float) -> None:
    """Look up a memory; a class in a process of its own.

    Raises:
        InvalidInputError: as `command_of`, or there is no such module or class.
    """
    command = command_of(memory)
    if memory.startswith(_COMMAND) or memory in MEMORIES:
        return
    # what else is wrong with it is reported when it is measured
    with suppress(subprocess.TimeoutExpired, msgspec.DecodeError):
        done = subprocess.run(  # noqa: S603 - what the user named
            [*command, "--check"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=deadline,
            check=False,
        )
        known = msgspec.json.decode(done.stdout, type=list[str] | None)
        if known is not None:
            raise UnknownNameError("memory", memory, known or (_CLASS,))


class MemoryProcess:
    """A process that is asked in lines, and answers in lines; its stderr is passed on to ours.

    Raises:
        MemoryFailedError: it cannot be started.
    """

    def __init__(self, memory: str) -> None:
        self._memory = memory
        self._said = ""  # its last line on stderr
        command = command_of(memory)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - what the user named
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **_QUIET},
                start_new_session=True,  # what it starts ends with it
            )
        except OSError as error:
            raise MemoryFailedError(f"could not be started: {error}") from error
        self._stdin = cast(IO[bytes], self._process.stdin)
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        Thread(target=self._pass_lines, daemon=True).start()
        self._errors = Thread(target=self._pass_errors, daemon=True)
        self._errors.start()

    def ask(self, message: dict[str, Any], deadline: float) -> dict[str, Any]:
        """Give the answer, with the `seconds` it took.

        Raises:
            MemoryFailedError: it hung, died, or answered what is no answer.
        """
        started = time.perf_counter()
        # in a thread: a process that reads nothing would hold us up
        Thread(target=self._write, args=(message,), daemon=True).start()
        try:
            line = self._lines.get(timeout=deadline)
        except Empty:
            self._kill()
            raise MemoryFailedError(
                f"did not answer within {deadline:g} seconds; --deadline gives it more"
            ) from None
        seconds = time.perf_counter() - started
        if not line:
            raise MemoryFailedError(self._why_it_died())
        with suppress(msgspec.DecodeError):
            answer = msgspec.json.decode(line)
            if isinstance(answer, dict):
                return {"seconds": seconds, **answer}
        said = line.decode(errors="replace").strip()
        raise MemoryFailedError(f"answered {said:.80}, which is no JSON object")

    def close(self) -> None:
        with suppress(OSError):
            self._stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSING)
        self._kill()

    def _kill(self) -> None:
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._errors.join(_CLOSING)

    def _why_it_died(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSING)
        self._errors.join(_CLOSING)
        said, code = self._said, self._process.returncode
        ended = f"signal {-code}" if code and code < 0 else f"exit code {code}"
        return f"died with {ended}{f': {said:.200}' if said else ''}"

    def _write(self, message: dict[str, Any]) -> None:
        with suppress(OSError, ValueError):
            self._stdin.write(msgspec.json.encode(message, enc_hook=str) + b"\n")
            self._stdin.flush()

    def _pass_errors(self) -> None:
        with cast(IO[bytes], self._process.stderr) as lines:
            for line in lines:
                said = line.decode(errors="replace").rstrip()
                self._said = said.strip() or self._said
                sys.stderr.write(f"{self._memory}: {said}\n")

    def _pass_lines(self) -> None:
        """Pass on what is answered, and nothing at its end."""
        with cast(IO[bytes], self._process.stdout) as answers:
            for line in answers:
                self._lines.put(line)
        self._lines.put(b"")
