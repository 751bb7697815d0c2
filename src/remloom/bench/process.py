"""A memory in a process of its own, which may raise, hang, die or lie without harm to others.

One JSON object a line, asked on its stdin and answered on its stdout, in order:

    {"op": "ingest", "user_id": …, "folder": …, "documents": [{"id", "content", …}]}
    {}
    {"op": "retrieve", "query": …, "k": 20, "user_id": …, "query_timestamp": …}
    {"results": [{"id": …, "text": …} or an id, …]}

`{"error": "why"}` is an answer, too. A command is started for each user; a class lives in
`worker`, started once.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

import msgspec

from ..errors import InvalidInputError, UnknownNameError
from .data import Document, Question
from .worker import items_of

INGEST_FACTOR = 30  # times the deadline of an answer is that of taking a user's documents
_CLOSING = 5.0  # seconds in which a process may end by itself
_COMMAND = "cmd:"
_QUIET = {"ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False"}


class MemoryFailedError(Exception):
    """A memory did something after which it cannot be asked."""


class Answer(NamedTuple):
    """What a memory returned to a question; `error` says why nothing.

    Attributes:
        found: ids with their text, best first; None: the text is that of the document.
        seconds: that it took.
        cpu: seconds of it that the processor worked; None: a command does not tell.
    """

    found: list[tuple[str, str | None]]
    seconds: float
    cpu: float | None
    error: str = ""


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
    if ":" not in memory:
        from .memories import MEMORIES

        if memory not in MEMORIES:
            forms = ("package.module:Class", "cmd: COMMAND")
            raise UnknownNameError("memory", memory, (*MEMORIES, *forms))
    return [sys.executable, "-m", "remloom.bench.worker", memory]


class MemoryProcess:
    """A memory that runs, and the folder for what it keeps.

    Args:
        deadline: seconds for an answer.
    """

    def __init__(self, memory: str, *, deadline: float) -> None:
        self._command = command_of(memory)
        self._is_command = memory.startswith(_COMMAND)
        self._deadline = deadline
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="remloom-bench-")
        self._errors = tempfile.TemporaryFile()
        self._users = 0

    def ingest(self, user: str, documents: Sequence[Document]) -> float:
        """Hand over the documents of a user; gives the seconds it took.

        Raises:
            MemoryFailedError: it could not take them.
        """
        if self._is_command or self._process is None:
            self._end()
            self._start()
        folder = Path(self._folder.name, str(self._users))
        folder.mkdir()
        self._users += 1
        answer, seconds = self._ask(
            {"op": "ingest", "user_id": user, "folder": folder, "documents": documents},
            INGEST_FACTOR * self._deadline,
        )
        if "error" in answer:
            raise MemoryFailedError(f"could not take the documents: {answer['error']}")
        return float(answer.get("seconds", seconds))

    def retrieve(self, question: Question, k: int) -> Answer:
        """Ask a question.

        Raises:
            MemoryFailedError: it hung, died, or answered what is no answer.
        """
        asked = {"op": "retrieve", "query": question.text, "k": k, "user_id": question.user_id}
        answer, seconds = self._ask(
            {**asked, "query_timestamp": question.asked_at}, self._deadline
        )
        seconds, cpu = answer.get("seconds", seconds), answer.get("cpu")
        if "error" in answer:
            return Answer([], seconds, cpu, str(answer["error"]))
        try:
            items = [item for one in answer["results"] for item in items_of(one)]
        except (KeyError, TypeError) as error:
            return Answer([], seconds, cpu, f"an answer without results: {error}")
        return Answer([(item["id"], item["text"]) for item in items], seconds, cpu)

    def close(self) -> int | None:
        """End the process; gives the bytes it kept in its folder, None where it kept none."""
        self._end()
        kept = sum(file.stat().st_size for file in Path(self._folder.name).rglob("*"))
        had_files = any(file.is_file() for file in Path(self._folder.name).rglob("*"))
        self._folder.cleanup()
        self._errors.close()
        return kept if had_files else None

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**os.environ, **_QUIET},
                start_new_session=True,  # what it starts ends with it
            )
        except OSError as error:
            raise MemoryFailedError(
                f"could not be started: {self._command[0]}: {error.strerror}"
            ) from error
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        Thread(target=_pass_lines, args=(self._process, self._lines), daemon=True).start()

    def _ask(self, message: dict[str, Any], deadline: float) -> tuple[dict[str, Any], float]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        started = time.perf_counter()
        # one that died is known by its silence
        writing = Thread(target=_write, args=(process, message), daemon=True)
        writing.start()
        try:
            line = self._lines.get(timeout=deadline)
        except Empty:
            raise MemoryFailedError(
                f"did not answer within {deadline:g} seconds; --deadline gives it more"
            ) from None
        seconds = time.perf_counter() - started
        if not line:
            raise MemoryFailedError(self._why_it_died())
        try:
            answer = msgspec.json.decode(line)
        except msgspec.DecodeError:
            answer = None
        if not isinstance(answer, dict):
            raise MemoryFailedError(f"answered {line[:80]!r}, which is no JSON object")
        return answer, seconds

    def _why_it_died(self) -> str:
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSING)
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().rpartition("\n")[2]
        code = self._process.returncode
        ended = f"signal {-code}" if code and code < 0 else f"exit code {code}"
        return f"died with {ended}{f': {said:.200}' if said else ''}"

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_CLOSING)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _write(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    with suppress(OSError, ValueError):
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(message, enc_hook=str) + b"\n")
        process.stdin.flush()


def _pass_lines(process: subprocess.Popen[bytes], lines: SimpleQueue[bytes]) -> None:
    """Pass on what is answered, and nothing at its end."""
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put(b"")
