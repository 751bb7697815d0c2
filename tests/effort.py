"""How much work something is, in a unit that a slow or busy machine does not change: the processor
time of a piece of Python, taken just before and after."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["LITTLE", "effort"]

# What a piece of work may take that is to be done at once: what grows as a square, or worse, takes
# a hundred times that.
LITTLE = 100.0


def effort(work: Callable[[], object]) -> float:
    """Do some work, and return how many times that of the piece of Python it took, which is some 30
    ms on a usual machine."""
    before = _seconds(_piece)
    took = _seconds(work)
    return took / max(before, _seconds(_piece))


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _piece() -> None:
    total = 0
    for number in range(400_000):
        total += number % 7
