"""The heartbeat of a run: shows other processes, here or on other machines, that it is going on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import RemloomError
from .writer import Writer

INTERVAL = 60.0  # seconds; `run` takes a run for dead that was silent ten times as long


@contextmanager
def heartbeat(writer: Writer) -> Iterator[None]:
    """Save the run every minute while the work inside goes on."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(INTERVAL):
            try:
                writer.save()
            except RemloomError:
                # the run's own next write meets the error, too, and reports it
                return

    thread = threading.Thread(target=beat, name="remloom-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
