"""Gives memory that is free back while a statement runs.

A sorter keeps a small piece of each row, and each may be cut from the place of a long text that is
free again: the next long text fits in none of them, and the process grows by one a row.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from typing import Any

_EVERY = 0.02  # seconds between looks
_GROWN = 32_000_000  # bytes more than at the last look that gave back


class MemoryWatch:
    """What the process had in memory as one statement began, or as it last gave back."""

    def __init__(self, now: float) -> None:
        self._next = now + _EVERY
        self._before = 0

    def look(self, now: float) -> None:
        """Give back what is free, if the process has grown; `now` in monotonic seconds."""
        if now < self._next:
            return
        self._next = now + _EVERY
        size = _resident()
        if not self._before:
            self._before = size
        elif size > self._before + _GROWN and (trim := _trim()) is not None:
            trim(0)
            self._before = _resident()


@cache
def _trim() -> Callable[[int], Any] | None:
    """The C library's function that does it, where it has one."""
    try:
        found: Callable[[int], Any] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
    return found


def _resident() -> int:
    """Bytes that this process has in memory; 0 where that is not known."""
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
