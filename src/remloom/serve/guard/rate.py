"""How often a key may call: a token bucket for each."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from ...errors import LimitError

BURST = 10.0  # seconds' worth of calls that may come at once
MOST_KEYS = 10_000  # whose buckets are kept


class RateLimit:
    """Counts the calls of each key.

    Args:
        rate: calls a second; 0: no limit.
        clock: in seconds, never going back.
    """

    def __init__(self, rate: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        # calls left, and when that was so; the ones used longest ago first
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key_id: str) -> None:
        """Count a call.

        Raises:
            LimitError: there were too many; `retry_after` says when the next may come.
        """
        if self._rate <= 0:
            return
        most = max(1.0, self._rate * BURST)
        now = self._clock()
        left, since = self._buckets.pop(key_id, (most, now))
        left = min(most, left + (now - since) * self._rate)
        if left >= 1:
            self._keep(key_id, (left - 1, now))
            return
        self._keep(key_id, (left, now))
        wait = math.ceil((1 - left) / self._rate)
        raise LimitError(
            f"more than {self._rate:g} calls a second with one key",
            remedy=f"try again in {wait} s; the setting serve_rate is the limit",
            retry_after=wait,
        )

    def _keep(self, key_id: str, bucket: tuple[float, float]) -> None:
        self._buckets[key_id] = bucket
        if len(self._buckets) > MOST_KEYS:
            self._buckets.popitem(last=False)
