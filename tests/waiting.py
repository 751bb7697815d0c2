"""Waiting for what is to happen, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["PATIENCE", "until"]

# Seconds after which something is taken for broken. Nothing that works is to come near it, on any
# machine: a test never says how long something takes.
PATIENCE = 300.0


def until(holds: Callable[[], object], what: str = "it did not happen") -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.01)
