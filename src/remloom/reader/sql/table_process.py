"""Queries in a process of their own, which can be ended whatever they do.

Such a process takes a third of a second to begin and holds the lines once more, so only queries
that may take long in one step run there.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from msgspec import Struct

from ...errors import InvalidInputError, RemloomError
from ..result import Rows
from .line_columns import LineSource

_STARTING = 60.0  # seconds to load the lines
_GRACE = 0.5  # seconds that the engine is given to end by itself


class Task(Struct, frozen=True):
    """A query, and what it reads."""

    sources: Sequence[LineSource]
    table: str
    text: str
    fix: bool
    most: int
    ranked: Sequence[Sequence[Any]]  # the lines that each search in it finds
    seconds: float


class TableProcess:
    """A process that answers one query."""

    def __init__(self) -> None:
        paths = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from remloom.reader.sql.tables import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": paths},
            # an interrupt at the terminal is for the parent to handle
            start_new_session=True,
        )
        self._is_late = False

    def interrupt(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream:
                    stream.close()

    def run(self, task: Task) -> Rows | RemloomError | None:
        """The answer to a query, or its error; None: it took too long, and was ended."""
        source, target = self._process.stdout, self._process.stdin
        assert source is not None  # noqa: S101 - pipes, both
        assert target is not None  # noqa: S101
        with suppress(OSError, EOFError, pickle.UnpicklingError):
            with self._ended_after(_STARTING):
                pickle.dump(task, target)
                target.flush()
                source.read(1)
            with self._ended_after(task.seconds + _GRACE):
                answer: Rows | RemloomError = pickle.load(source)  # noqa: S301 - of our own process
                return answer
        if self._is_late:
            return None
        self._process.kill()
        return InvalidInputError(
            "the process of the query ended before it answered"
            f" (status {self._process.wait()}): is there memory for the lines once more?",
            remedy="try again; if it ends again, read fewer lines: line_num BETWEEN 1 AND 1000",
        )

    @contextmanager
    def _ended_after(self, seconds: float) -> Iterator[None]:
        def end() -> None:
            self._is_late = True
            self._process.kill()

        watch = threading.Timer(seconds, end)
        watch.daemon = True
        watch.start()
        try:
            yield
        finally:
            watch.cancel()
