"""How long calls take: those that are known to be short need no thread of their own."""

from __future__ import annotations

from msgspec import Struct

from ..operations import Operation

__all__ = ["Pace"]

SHORT = 0.003  # seconds of CPU; to hand a call to a thread takes up to a third of one
WEIGHT = 0.25  # of the last call in the mean
MOST_TENANTS = 10_000  # whose means are kept


class Pace:
    """Keeps the mean time of the short operations of each tenant."""

    def __init__(self) -> None:
        self._means: dict[str, dict[str, float]] = {}

    def is_short(self, tenant: str, operation: Operation, values: Struct) -> bool:
        """Whether a call reads little, and such calls of this tenant have been short."""
        if operation.is_short is None or not operation.is_short(values):
            return False
        # the first finds out
        return self._means.get(tenant, {}).get(operation.name, SHORT) < SHORT

    def note(self, tenant: str, operation: Operation, seconds: float) -> None:
        """Note how long a call took; after one that writes, others may have to take that in."""
        if not operation.hints.read_only:
            self._means.pop(tenant, None)
        elif operation.is_short is not None:
            if len(self._means) > MOST_TENANTS:
                self._means.clear()
            means = self._means.setdefault(tenant, {})
            mean = means.get(operation.name, seconds)
            means[operation.name] = mean + (seconds - mean) * WEIGHT
