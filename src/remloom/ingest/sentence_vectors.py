"""The vectors of sentences that are asked for again and again: few are kept in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..deadline import NEVER, Deadline
from ..errors import EmbedderError, VectorError
from ..store.batch import Vector
from .embedding_worker import EmbeddingQueue, digest

if TYPE_CHECKING:
    from ..embed.contract import Floats


_MOST = 4096  # kept; 1.5 kB each at 384 dimensions


class SentenceVectors:
    """Gives sentences their vectors: those that are kept here, those that the store has, and the
    rest from the embedder. No words are kept."""

    def __init__(self, queue: EmbeddingQueue) -> None:
        self._queue = queue
        self._kept: OrderedDict[bytes, Floats] = OrderedDict()

    def of(self, texts: Sequence[str], deadline: Deadline = NEVER) -> dict[str, Floats]:
        """The vector of each text; one that the embedder has no window of is left out."""
        keys = {text: digest(text) for text in texts}
        # one at a time: others may take what was kept away meanwhile
        found = {
            text: vector
            for text, key in keys.items()
            if (vector := self._kept.get(key)) is not None
        }
        missing = [text for text in keys if text not in found]
        if missing:
            for text, windows in zip(missing, self._windows(missing, deadline), strict=True):
                # of a text that has several the first
                for window in windows[:1]:
                    found[text] = self._kept[keys[text]] = np.frombuffer(window.data, np.float32)
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return found

    def _windows(self, texts: Sequence[str], deadline: Deadline) -> list[tuple[Vector, ...]]:
        try:
            return self._queue.windows(texts, deadline)
        except VectorError as error:
            raise EmbedderError(f"the embedder made no vector: {error.message}") from error
