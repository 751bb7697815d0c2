"""The calls of models that a queue makes, and how long one of them has taken by now."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from ...deadline import Deadline
from ...embed.contract import Embedder, TokenEncoder
from ...embed.failures import answered_by

_T = TypeVar("_T")
_LONG = 30.0  # seconds from which it is said that a call takes long


class ModelCalls:
    """The calls that are under way, by any thread."""

    def __init__(self) -> None:
        self._begun: dict[object, tuple[float, str]] = {}  # monotonic time, and who is asked

    def answer(
        self, model: Embedder | TokenEncoder, work: Callable[[], _T], deadline: Deadline
    ) -> _T:
        """Return what a model answers; see `answered_by`."""
        call = object()
        self._begun[call] = time.monotonic(), model.name
        try:
            return answered_by(model, work, deadline)
        finally:
            del self._begun[call]

    @property
    def delay(self) -> str:
        """Says how long the longest has taken, when that is long; else ""."""
        began, name = min(self._begun.copy().values(), default=(time.monotonic(), ""))
        waited = time.monotonic() - began
        return f"has waited {waited:.0f} s for {name}" if waited >= _LONG else ""
