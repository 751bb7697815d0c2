"""The queue of token vectors at work: texts that lack theirs get them, after their vectors; and the
calls of models that both queues make. A text that fails three times is parked, a broken model stops
the run with its error."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from ..deadline import NEVER, Deadline
from ..embed.answers import answered_by, text_tokens, turn_of
from ..embed.contract import Embedder, TokenEncoder
from ..errors import EmbedderError, EmbedderTimeoutError, RemloomError, VectorError
from ..store.batch import TokenVectorBatch
from ..store.contract import Store
from ..store.results import Pending

BATCH = 32  # texts between two commits
PROBE = "A short text."  # one that any model can take
_LONG = 30.0  # seconds from which it is said that a call takes long

_T = TypeVar("_T")

Progress = Callable[[int, int], None]


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
        probe: asks the model for what it can do if it works at all, when every text has failed; if
            that fails too, the error is raised. So is that it takes too long.
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


class TokenQueue:
    """Makes the token vectors that a store lacks. Any thread may run it, several at once too."""

    def __init__(self, store: Store, encoder: TokenEncoder) -> None:
        self._store = store
        self._encoder = encoder
        self._stop = threading.Event()
        self.restart()

    def restart(self) -> None:
        """Forget what was under way: after a fork it is in the other process."""
        self.calls = ModelCalls()
        # of two who encode at once, both would do the same texts
        self._encoding = threading.Lock()

    def run(self, progress: Progress | None = None) -> int:
        """Encode all that waits; returns how many texts. `progress(done, total)` after each
        batch."""
        done = 0
        total, _ = (
            self._store.token_vectors.queue_lengths(self._encoder.name) if progress else (0, 0)
        )
        while count := self.run_batch():
            done += count
            if progress:
                progress(done, max(total, done))
        return done

    def move(self, progress: Progress | None = None) -> None:
        """Encode all that waits, and what is damaged again; then drop the token vectors of other
        encoders. Without being asked, processes with different ones would undo each other's
        work."""
        self._store.token_vectors.discard_damaged(self._encoder.name)
        self.run(progress)
        if not self._store.token_vectors.pending(self._encoder.name, 1):
            self._store.token_vectors.drop(keep=self._encoder.name)

    def run_batch(self) -> int:
        """Encode some of what waits; returns how many texts, 0 when none waits or it was closed."""
        if self._stop.is_set():
            return 0
        with self._encoding:
            return self._encode(self._store.token_vectors.pending(self._encoder.name, BATCH))

    def encode(self, ids: Sequence[str], deadline: Deadline = NEVER) -> None:
        """Encode what waits of these records, now; raises EmbedderTimeoutError at the deadline."""
        name = self._encoder.name
        for first in range(0, len(ids), BATCH):
            if self._stop.is_set():
                return
            some = ids[first : first + BATCH]
            with turn_of(self._encoding, self._encoder, deadline):
                self._encode(self._store.token_vectors.pending(name, BATCH, ids=some), deadline)

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
        arrays = self.calls.answer(encoder, partial(text_tokens, encoder, texts), deadline)
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
        """See whether the encoder works, and the store takes its vectors; raises why not."""
        encoder = self._encoder
        work = partial(text_tokens, encoder, [PROBE])
        (array,) = self.calls.answer(encoder, work, deadline)
        self._store.token_vectors.put(TokenVectorBatch({}, model=encoder.name, dims=array.shape[1]))
