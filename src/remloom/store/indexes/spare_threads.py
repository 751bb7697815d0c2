"""Work in spare threads, for what leaves the interpreter to others while it goes on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")


def _free_cores() -> int:
    """The cores that are left to others than the caller."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return (len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1) - 1


class Helpers:
    """A thread for each core but the caller's, for the whole process."""

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            # where the threads are not, and the lock may be held
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._count = _free_cores()
        self._free = threading.Semaphore(self._count)
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None

    def begin(self, work: Callable[[], _T]) -> Callable[[], _T]:
        # nobody waits for a thread: the caller has to do it all the same
        if not self._free.acquire(blocking=False):
            return work

        def do() -> _T:
            try:
                return work()
            finally:
                self._free.release()

        try:
            return self._executor().submit(do).result
        except RuntimeError:  # the interpreter is ending
            self._free.release()
            return work

    def _executor(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._count, "remloom-beside")
            return self._threads


begin = Helpers().begin
"""Begin some work where a core is free for it; what is returned gives its result, or raises what it
raises. Where none is free, that does the work."""
