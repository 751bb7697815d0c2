"""How long calls take: those that are known to be short need no thread of their own."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec import Struct

from ..operations import Operation

SHORT = 0.003  # seconds of CPU; to hand a call to a thread takes up to a third of one
WEIGHT = 0.25  # of the last call in the mean
MOST_TENANTS = 10_000  # whose means are kept
MOST_MEANS = 100  # of one tenant
# Times as long as a call was, that all calls like it have a thread: one that was taken for short,
# and is not, keeps everybody waiting, and may come again.
REST = 100


class Pace:
    """Keeps the mean time of the short operations of each tenant.

    Those on another schema are others: an index is built by the first that needs it.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._means: dict[str, dict[tuple[str, str], float]] = {}
        self._rests: dict[tuple[str, str], float] = {}

    def is_short(self, tenant: str, operation: Operation, values: Struct) -> bool:
        """Whether a call reads little, and such calls of this tenant have been short."""
        if operation.is_short is None or not operation.is_short(values):
            return False
        if self._rests and self._clock() < self._rests.get((tenant, operation.name), 0.0):
            return False
        # the first finds out
        means = self._means.get(tenant, {})
        return means.get(_kind(operation, values), SHORT) < SHORT

    def note(self, tenant: str, operation: Operation, values: Struct, seconds: float) -> None:
        """Note how long a call took; after one that writes, others may have to take that in."""
        if not operation.hints.read_only:
            self._means.pop(tenant, None)
        elif operation.is_short is not None and operation.is_short(values):
            self._add(tenant, operation, values, seconds)

    def note_at_once(
        self, tenant: str, operation: Operation, values: Struct, seconds: float
    ) -> None:
        """Note how long a call took that `is_short` has let through: all others waited for it."""
        self._add(tenant, operation, values, seconds)
        if seconds >= SHORT:
            if len(self._rests) > MOST_TENANTS:
                self._rests.clear()
            self._rests[tenant, operation.name] = self._clock() + REST * seconds

    def _add(self, tenant: str, operation: Operation, values: Struct, seconds: float) -> None:
        if len(self._means) > MOST_TENANTS:
            self._means.clear()
        means = self._means.setdefault(tenant, {})
        if len(means) > MOST_MEANS:
            means.clear()
        kind = _kind(operation, values)
        mean = means.get(kind, seconds)
        means[kind] = mean + (seconds - mean) * WEIGHT


def _kind(operation: Operation, values: Struct) -> tuple[str, str]:
    return operation.name, str(getattr(values, "schema", "") or "")
