"""The thread that does the upkeep of files while nobody uses them, one for the whole process.

It holds what it works on no longer than that, so that a database that is dropped can go.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakSet

_EVERY = 0.5  # seconds between looks
_PATIENCE = 20  # looks at nothing before the thread ends


class Kept(Protocol):
    """Something that has work to do when it is idle."""

    def tidy(self) -> bool:
        """Do some of it; False when there is none left. Raises nothing."""
        ...


class _UpkeepThread:
    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            # where the thread is not, and the lock may be held
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._kept: WeakSet[Kept] = WeakSet()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._pause = threading.Event()

    def watch(self, kept: Kept) -> None:
        with self._lock:
            self._kept.add(kept)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="remloom-upkeep", daemon=True
                )
                self._thread.start()

    def _run(self) -> None:
        unused = 0
        while True:
            self._pause.wait(_EVERY)
            with self._lock:
                some = list(self._kept)
                unused = 0 if some else unused + 1
                if unused > _PATIENCE:
                    self._thread = None
                    return
            while some:
                kept = some.pop()
                with self._lock:
                    self._kept.discard(kept)  # what is written from here on asks again
                if kept.tidy():
                    with self._lock:
                        self._kept.add(kept)
                del kept


_upkeep = _UpkeepThread()
watch = _upkeep.watch  # have `tidy` called twice a second until it has nothing left to do
