"""The calls of models that a queue makes, and how long one of them has taken by now."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from ...deadline import Deadline
from ...embed.contract import Embedder, TokenEncoder
from ...embed.failures import answered_by
from ...errors import EmbedderError, EmbedderTimeoutError, RemloomError, VectorError
from ...store.results import Pending

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


def store_each(
    batch: Sequence[Pending],
    store: Callable[[Sequence[Pending]], object],
    *,
    probe: Callable[[], object],
) -> dict[str, RemloomError]:
    """Store what a model makes of a batch of texts; where that fails, of each by itself. Returns
    why, by the id of each text that fails alone.

    Args:
        store: makes and stores it.
        probe: asks the model for what it can do if it works at all, when every text has failed.

    Raises:
        EmbedderError, VectorError: every text fails, and so does the probe.
        EmbedderTimeoutError: it takes too long. That says nothing of the texts.
    """
    try:
        store(batch)
        return {}
    except EmbedderTimeoutError:
        raise
    except (EmbedderError, VectorError) as error:
        batch_error = error
    failures: dict[str, RemloomError] = {batch[0].id: batch_error} if len(batch) == 1 else {}
    for item in batch if len(batch) > 1 else ():
        try:
            store([item])
        except EmbedderTimeoutError:
            raise
        except (EmbedderError, VectorError) as error:
            failures[item.id] = error
    if len(failures) == len(batch):
        try:
            probe()
        except (EmbedderError, VectorError):
            raise batch_error from None
    return failures
