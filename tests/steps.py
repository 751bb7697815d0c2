"""Counting what SQLite does, in steps of its virtual machine: a measure of cost that no busy
machine changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw

from remloom import Memory

_EVERY = 10  # steps between two counts


class Steps:
    """What was counted so far."""

    def __init__(self) -> None:
        self.reading = self.writing = 0

    @property
    def all(self) -> int:
        return self.reading + self.writing


@contextmanager
def steps(memory: Memory) -> Iterator[Steps]:
    """Count the steps of every connection that the memory has open."""
    database: Any = memory.admin.store._database  # type: ignore[attr-defined]
    found = Steps()

    def reading() -> bool:
        found.reading += _EVERY
        return False

    def writing() -> bool:
        found.writing += _EVERY
        return False

    connections = list(database.connections._open)
    for connection in connections:
        _set(connection, writing if connection is database._writer._connection else reading)
    try:
        yield found
    finally:
        for connection in connections:
            _set(connection, None)


def _set(connection: apsw.Connection, handler: Callable[[], bool] | None) -> None:
    while True:
        try:
            connection.set_progress_handler(handler, _EVERY)
            return
        except apsw.ThreadingViolationError:
            # the thread that puts indexes in order has it
            time.sleep(0.001)
