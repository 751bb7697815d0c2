"""The heartbeat of a run: how another process, or another machine, knows that it is still going on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import RemloomError
from .writer import Writer

__all__ = ["beating"]

EVERY = 60.0  # seconds; `runs` counts a run as dead that was silent ten times as long


@contextmanager
def beating(writer: Writer) -> Iterator[None]:
    """Store the run every minute, however long the model thinks."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(EVERY):
            try:
                writer.save()
            except RemloomError:
                # the run's own next write meets it, too, and tells
                return

    thread = threading.Thread(target=beat, name="remloom-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
