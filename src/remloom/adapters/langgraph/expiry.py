"""Expiry of items: how long one is kept after it was put, or last read."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from langgraph.store.base import TTLConfig

from ...errors import InvalidInputError, NotFoundError, RemloomError, StoreClosedError
from ...memory import Memory

INTERVAL = 5.0  # minutes between two sweeps, where nothing else is said

_logger = logging.getLogger(__name__)


def time_after(minutes: float | None) -> datetime | None:
    """The time when what is put now expires; None: never.

    Raises:
        InvalidInputError: it is no number of minutes.
    """
    if minutes is None:
        return None
    try:
        return datetime.now(UTC) + timedelta(minutes=minutes)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"a ttl is a number of minutes, not {minutes!r}", remedy="ttl=60.0, or None for never"
        ) from error


def refresh(memory: Memory, ids: Iterable[str]) -> None:
    """Let the time of items begin anew, of those that have one; several of one length at once."""
    by_length: dict[float, list[str]] = {}
    for id in dict.fromkeys(ids):
        try:
            minutes = memory.get_resource(id).metadata.get("ttl")
        except NotFoundError:
            # it has expired since it was read
            continue
        if minutes is not None:
            by_length.setdefault(minutes, []).append(id)
    for minutes, some in by_length.items():
        memory.admin.set_expiry(some, time_after(minutes))


class Sweeper:
    """A thread that erases what has expired, from time to time.

    What it erases is returned by nothing any more; without it, it only takes up room.

    Args:
        minutes: between two sweeps; default that of the configuration, or `INTERVAL`.
    """

    def __init__(self, memory: Memory, config: TTLConfig | None, minutes: float | None) -> None:
        interval = minutes or (config or {}).get("sweep_interval_minutes") or INTERVAL
        self._memory = memory
        self._seconds = interval * 60
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="remloom-sweeper", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def stop(self, timeout: float | None = None) -> bool:
        """Stop after the sweep that is being done; whether it has stopped within the time."""
        self._stopped.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            try:
                self._memory.admin.sweep()
            except StoreClosedError:
                return
            except RemloomError as error:
                # the next sweep tries again
                _logger.warning("what has expired was not erased: %s", error)
