"""The queue of token vectors at work: texts that lack theirs get them, after their vectors.

What fails is treated as in the embedding queue: a text that fails three times is parked, a broken
encoder stops the run with its error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

from ...deadline import NEVER, Deadline
from ...embed.answers import text_tokens
from ...embed.contract import TokenEncoder
from ...embed.failures import turn_of
from ...store.batch import TokenVectorBatch
from ...store.contract import Store
from ...store.results import Pending
from .model_calls import ModelCalls, store_each

_BATCH = 32  # texts between two commits
_PROBE = "A short text."  # one that any encoder can take

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
        self.restart()

    def restart(self) -> None:
        """Forget what was under way: after a fork it is in the other process."""
        self._calls = ModelCalls()
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
        """Encode all that waits, and what is damaged again; then drop the token vectors of other
        encoders.

        Only who asks for a move drops them: processes with different encoders would otherwise make
        each other's again and again.

        Raises:
            EmbedderError: as `run`.
        """
        self._store.token_vectors.discard_damaged(self._encoder.name)
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

    def encode(self, ids: Sequence[str], deadline: Deadline = NEVER) -> None:
        """Encode what waits of these records, now.

        Raises:
            EmbedderTimeoutError: not all are encoded by the deadline.
            EmbedderError: the encoder does not work.
        """
        name = self._encoder.name
        for first in range(0, len(ids), _BATCH):
            if self._stop.is_set():
                return
            some = ids[first : first + _BATCH]
            with turn_of(self._encoding, self._encoder, deadline):
                self._encode(self._store.token_vectors.pending(name, _BATCH, ids=some), deadline)

    @property
    def delay(self) -> str:
        """What it has waited for, and how long, when that is long; else ""."""
        return self._calls.delay

    def unpark(self) -> None:
        """Let every text that failed too often wait again."""
        self._store.token_vectors.unpark(self._encoder.name)

    def close(self) -> None:
        """Finish the batch at hand and stop."""
        self._stop.set()

    def _encode(self, batch: Sequence[Pending], deadline: Deadline = NEVER) -> int:
        store = partial(self._store_vectors, deadline=deadline)
        failed = store_each(batch, store, probe=partial(self._probe, deadline)) if batch else {}
        for id, reason in failed.items():
            self._store.token_vectors.park(id, str(reason), model=self._encoder.name)
        return len(batch)

    def _store_vectors(self, batch: Sequence[Pending], *, deadline: Deadline) -> None:
        encoder = self._encoder
        texts = [item.text for item in batch]
        arrays = self._calls.answer(encoder, partial(text_tokens, encoder, texts), deadline)
        self._store.token_vectors.put(
            TokenVectorBatch(
                vectors={
                    item.id: array.tobytes() for item, array in zip(batch, arrays, strict=True)
                },
                model=encoder.name,
                dims=arrays[0].shape[1],
                versions={item.id: item.version for item in batch},
            )
        )

    def _probe(self, deadline: Deadline) -> None:
        """See whether the encoder works, and the store takes its token vectors.

        Raises:
            EmbedderError, VectorError: why not.
        """
        encoder = self._encoder
        work = partial(text_tokens, encoder, [_PROBE])
        (array,) = self._calls.answer(encoder, work, deadline)
        self._store.token_vectors.put(TokenVectorBatch({}, model=encoder.name, dims=array.shape[1]))
