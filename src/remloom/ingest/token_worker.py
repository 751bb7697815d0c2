"""The queue of token vectors at work: texts that lack theirs get them, after their vectors.

What fails is treated as in the embedding queue: a text that fails three times is parked, a broken
encoder stops the run with its error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..embed.contract import TokenEncoder
from ..embed.failures import answered_by, turn_of
from ..errors import EmbedderError
from ..store.batch import TokenVectorBatch
from ..store.contract import Store
from ..store.results import Pending
from .parking import store_or_park

if TYPE_CHECKING:
    from ..embed.contract import Bytes

__all__ = ["TokenQueue"]

_BATCH = 32  # texts between two commits

Progress = Callable[[int, int], None]


class TokenQueue:
    """Makes the token vectors that a store lacks. Any thread may run it, several at once too.

    Args:
        store: where the queue is.
        encoder: makes them; its first use may load a model.
    """

    def __init__(self, store: Store, encoder: TokenEncoder) -> None:
        self._store = store
        self._encoder = encoder
        self._stop = threading.Event()
        # of two who encode at once, both would do the same texts
        self._encoding = threading.Lock()

    def run(self, progress: Progress | None = None) -> int:
        """Encode all that waits; returns how many texts. `progress(done, total)` after each batch.

        Raises:
            EmbedderError: the encoder does not work. What waits goes on waiting.
        """
        done = 0
        total, _ = (
            self._store.token_vectors.queue_lengths(self._encoder.name) if progress else (0, 0)
        )
        while count := self.run_batch():
            done += count
            if progress:
                progress(done, max(total, done))
        return done

    def move(self, progress: Progress | None = None) -> int:
        """Encode all that waits, then drop the token vectors of other encoders.

        Only who asks for a move drops them: processes with different encoders would otherwise make
        each other's anew, again and again.

        Raises:
            EmbedderError: as `run`.
        """
        done = self.run(progress)
        if not self._store.token_vectors.pending(self._encoder.name, 1):
            self._store.token_vectors.drop(keep=self._encoder.name)
        return done

    def run_batch(self) -> int:
        """Encode some of what waits; returns how many texts, 0 when none waits or it was closed."""
        if self._stop.is_set():
            return 0
        with self._encoding:
            return self._encode(self._store.token_vectors.pending(self._encoder.name, _BATCH))

    def encode(self, ids: Sequence[str], seconds: float | None = None) -> None:
        """Encode what waits of these records, now.

        Args:
            seconds: that a batch may take; None: as long as it takes.

        Raises:
            EmbedderError: the encoder does not work, or takes too long.
        """
        name = self._encoder.name
        for first in range(0, len(ids), _BATCH):
            if self._stop.is_set():
                return
            some = ids[first : first + _BATCH]
            with turn_of(self._encoding, name, seconds):
                self._encode(self._store.token_vectors.pending(name, _BATCH, ids=some), seconds)

    def unpark(self) -> None:
        """Let every text that failed too often wait again."""
        self._store.token_vectors.unpark(self._encoder.name)

    def close(self) -> None:
        """Finish the batch at hand and stop."""
        self._stop.set()

    def _encode(self, batch: Sequence[Pending], seconds: float | None = None) -> int:
        if batch:
            store_or_park(batch, partial(self._store_vectors, seconds=seconds), self._park)
        return len(batch)

    def _store_vectors(self, batch: Sequence[Pending], *, seconds: float | None) -> None:
        encoder = self._encoder
        texts = [item.text for item in batch]

        def work() -> list[Bytes]:
            return _checked(encoder.encode_documents(texts), len(batch), encoder)

        pairs = list(zip(batch, answered_by(encoder.name, work, seconds), strict=True))
        self._store.token_vectors.put(
            TokenVectorBatch(
                vectors={item.id: array.tobytes() for item, array in pairs},
                model=encoder.name,
                dims=encoder.dims,
                versions={item.id: item.version for item in batch},
            )
        )

    def _park(self, id: str, error: str) -> None:
        self._store.token_vectors.park(id, error, model=self._encoder.name)


def _checked(answered: Any, count: int, encoder: TokenEncoder) -> list[Bytes]:
    """The arrays of texts, or an error: an encoder must not poison the index."""
    import numpy as np

    arrays = list(answered)
    fit = [
        isinstance(array, np.ndarray)
        and array.dtype == np.int8
        and array.ndim == 2
        and array.shape[1] == encoder.dims
        for array in arrays
    ]
    if len(arrays) != count or not all(fit):
        raise EmbedderError(
            f"{encoder.name} answered {sum(fit)} arrays of bytes of {encoder.dims} dimensions a "
            f"token to {count} texts",
            remedy="check the token encoder",
        )
    return arrays
