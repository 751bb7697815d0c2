"""The embedding queue at work: texts waiting in the store become vectors, in the background or on
demand. A text that fails three times is parked with the reason. When every text of a batch fails,
and one that any embedder can take, the run stops with the error and nothing is parked."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import chain
from operator import index
from weakref import WeakSet

from ..deadline import NEVER, Deadline
from ..embed.answers import text_vectors, turn_of
from ..embed.contract import Embedder
from ..errors import EmbedderError, RemloomError
from ..store.batch import Vector, VectorBatch
from ..store.contract import Store
from ..store.results import Pending
from ..text.sentences import count_words, sentence_ends
from .token_worker import BATCH, PROBE, ModelCalls, Progress, TokenQueue, store_each

_DIGEST = 16  # bytes
_FLOAT = 4  # bytes
_JOIN_TIMEOUT = 30.0  # seconds that `close` waits for the batch at hand
_SENTENCE = 3  # words from which a sentence has a window of its own

_log = logging.getLogger(__name__)


class EmbeddingQueue:
    """Embeds what one store has queued. One run at a time; any thread may start it.

    Args:
        embedder: None: only token vectors are made.
        tokens: makes the token vectors of what is embedded, after its vectors.
    """

    def __init__(
        self, store: Store, embedder: Embedder | None, tokens: TokenQueue | None = None
    ) -> None:
        self._store = store
        self._explicit_embedder = embedder
        self._tokens = tokens
        self._error: RemloomError | None = None  # why the last background run stopped
        self._stop = threading.Event()
        self._begin()
        _queues.add(self)

    def _begin(self) -> None:
        self._calls = ModelCalls()
        self._running = threading.Lock()
        self._starting = threading.Lock()  # of what follows
        self._work_available = False
        self._thread: threading.Thread | None = None

    def restart(self) -> None:
        """Forget, in a process that was forked, the thread, which is not there, and the locks that
        it may hold."""
        self._begin()
        if self._tokens is not None:
            self._tokens.restart()

    @property
    def trouble(self) -> str:
        """Why the last background run stopped, or what one has long waited for; else ""."""
        of_tokens = self._tokens.calls.delay if self._tokens is not None else ""
        error = str(self._error) if self._error is not None else ""
        return self._calls.delay or of_tokens or error

    @property
    def _embedder(self) -> Embedder:
        if self._explicit_embedder is None:
            raise EmbedderError(
                "this memory was opened without an embedder",
                remedy="set REMLOOM_EMBEDDER=minilm, or open it with one",
            )
        return self._explicit_embedder

    def run(self, progress: Progress | None = None) -> int:
        """Embed all queued texts, then make their token vectors; returns how many texts.
        `progress(done, total)` after each batch. Raises EmbedderError; what is queued stays so."""
        ids = self._run_vectors(progress)
        self._encode(ids, progress)
        return len(ids)

    def run_all(self, progress: Progress | None = None) -> int:
        """As `run`, but make all token vectors that are lacking; without an embedder returns how
        many texts have some now."""
        done = len(self._run_vectors(progress))
        encoded = self._tokens.run(progress) if self._tokens is not None else 0
        return encoded if self._explicit_embedder is None else done

    def unpark(self) -> None:
        """Queue what was parked again."""
        self._store.vectors.unpark()
        if self._tokens is not None:
            self._tokens.unpark()

    def run_first(self, limit: int, deadline: Deadline = NEVER) -> None:
        """Embed the first `limit` queued texts, without token vectors; raises EmbedderTimeoutError
        at the deadline."""
        done = 0
        while done < limit and (batch := self._run_batch(min(BATCH, limit - done), deadline)):
            done += len(batch)

    def _run_vectors(self, progress: Progress | None) -> list[str]:
        if self._explicit_embedder is None:
            return []
        done: list[str] = []
        total = self._store.vectors.queue_lengths()[0] if progress else 0
        while batch := self._run_batch(BATCH):
            done += [item.id for item in batch]
            if progress:
                progress(len(done), max(total, len(done)))
        return done

    def _run_batch(self, size: int, deadline: Deadline = NEVER) -> Sequence[Pending]:
        if self._stop.is_set():
            return ()
        with turn_of(self._running, self._embedder, deadline):
            batch = self._store.vectors.pending(size)
            if batch:
                self._embed(batch, deadline)
        return batch

    def _encode(self, ids: Sequence[str], progress: Progress | None) -> None:
        if self._tokens is None:
            return
        for first in range(0, len(ids), BATCH):
            if self._stop.is_set():
                return
            some = ids[first : first + BATCH]
            self._tokens.encode(some)
            if progress:
                progress(first + len(some), len(ids))

    def embed(self, ids: Sequence[str]) -> None:
        """Embed what waits of these records, and make their token vectors, now; raises what stays
        queued."""
        for first in range(0, len(ids) if self._explicit_embedder is not None else 0, BATCH):
            some = ids[first : first + BATCH]
            batch = self._store.vectors.pending(BATCH, ids=some)
            if not batch:
                continue
            self._embed(batch)
            waiting = self._store.vectors.pending(BATCH, ids=some)
            if failed := [item for item in waiting if item.error]:
                raise EmbedderError(
                    f"{len(failed)} of {len(batch)} texts could not be embedded: {failed[0].error}",
                    remedy="they are written, and found by words; embed_pending() tries again",
                )
        if self._tokens is not None:
            self._tokens.encode(ids)

    def windows(self, texts: Sequence[str], deadline: Deadline = NEVER) -> list[tuple[Vector, ...]]:
        """The windows of texts that are not queued, for who writes them together with their
        vectors."""
        some = [Pending(str(position), text) for position, text in enumerate(texts)]
        found = self._vectors(some, deadline)
        return [found[str(position)] for position in range(len(texts))]

    def start(self) -> None:
        """Embed in the background until the queue is empty. While that is going on, what was queued
        meanwhile is looked for once more at its end."""
        with self._starting:
            self._work_available = True
            if self._thread is not None or self._stop.is_set():
                return
            self._thread = threading.Thread(
                target=self._work, name="remloom-embedding", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Finish the batch at hand and stop. What is still queued waits for the next opening; so
        does what a model that hangs was given."""
        self._stop.set()
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join(_JOIN_TIMEOUT)
            if thread.is_alive():
                _log.warning(
                    "an embedder or token encoder has not come back within %g seconds, and is "
                    "left to itself: the texts that it was given wait for the next opening",
                    _JOIN_TIMEOUT,
                )

    def move(self, progress: Progress | None = None) -> int:
        """Embed every text with this embedder, if there is one, then let its vectors serve instead
        of others; make the token vectors that are lacking or damaged."""
        done = 0
        if self._explicit_embedder is not None:
            done = self.embed_all(progress)
            self.adopt()
            # what it refused, and what was written meanwhile
            self._run_vectors(None)
        self.move_tokens(progress)
        return done

    def embed_all(self, progress: Progress | None = None) -> int:
        """Embed every text with this embedder, while the vectors of another one serve; returns how
        many. What it refuses is left to the queue, where `adopt` puts what has no vectors."""
        done = seen = 0

        def store(batch: Sequence[Pending]) -> None:
            nonlocal done
            done += self._store_vectors(batch, current=False)

        total = sum(self._store.admin.stats().records.values()) if progress else 0
        # a blank text stays without vectors: what was seen is not asked for again
        while batch := self._store.vectors.unembedded(self._embedder.name, BATCH, after=seen):
            seen = batch[-1].version
            with self._running:
                store_each(batch, store, probe=partial(self._probe, current=False))
            if progress:
                progress(done, max(total, done))
        return done

    def adopt(self) -> None:
        """Let the vectors of this embedder serve instead of others."""
        self._store.vectors.adopt(self._embedder.name)

    def move_tokens(self, progress: Progress | None = None) -> None:
        """Make the token vectors that are lacking, and drop those of other encoders."""
        if self._tokens is not None:
            self._tokens.move(progress)

    def _work(self) -> None:
        while self._has_work():
            try:
                self._run_everything()
                self._error = None
            except RemloomError as error:
                self._error = error
            except BaseException as error:
                self._error = EmbedderError(f"it stopped with {type(error).__name__}: {error}")
                with self._starting:
                    self._thread = None
                raise

    def _has_work(self) -> bool:
        """Whether something was queued since the last look; if not, the thread is given up."""
        with self._starting:
            is_wanted, self._work_available = self._work_available, False
            if not is_wanted:
                self._thread = None
            return is_wanted

    def _run_everything(self) -> None:
        self.run()
        if self._tokens is None:
            return
        # those of texts from before; new texts get their vectors first
        while not self._stop.is_set() and self._tokens.run_batch():
            self.run()

    def _embed(self, batch: Sequence[Pending], deadline: Deadline = NEVER) -> None:
        """Store the vectors of a batch; a text that fails alone is parked."""
        store = partial(self._store_vectors, deadline=deadline)
        probe = partial(self._probe, deadline=deadline)
        for id, reason in store_each(batch, store, probe=probe).items():
            self._store.vectors.park(id, str(reason))

    def _probe(self, *, current: bool = True, deadline: Deadline = NEVER) -> None:
        """See whether the embedder works, and the store takes its vectors; raises why not."""
        embedder = self._embedder

        def ask() -> int:
            _windows(embedder, PROBE)
            return int(text_vectors(embedder, [PROBE]).shape[1])

        dims = self._calls.answer(embedder, ask, deadline)
        self._store.vectors.put(VectorBatch({}, model=embedder.name, dims=dims, current=current))

    def _store_vectors(
        self, batch: Sequence[Pending], *, current: bool = True, deadline: Deadline = NEVER
    ) -> int:
        """Embed a batch; returns how many texts have vectors. `current`: as those that serve."""
        vectors = self._vectors(batch, deadline)
        self._store.vectors.put(
            VectorBatch(
                vectors,
                model=self._embedder.name,
                dims=_dims_of(vectors, self._embedder.name),
                current=current,
                versions={item.id: item.version for item in batch},
            )
        )
        return sum(map(bool, vectors.values()))

    def _vectors(
        self, batch: Sequence[Pending], deadline: Deadline = NEVER
    ) -> dict[str, tuple[Vector, ...]]:
        embedder = self._embedder

        def divide() -> dict[str, list[tuple[int, int]]]:
            return {item.id: _windows(embedder, item.text) for item in batch}

        spans = self._calls.answer(embedder, divide, deadline)
        texts: dict[str, list[str]] = {}
        for item in batch:
            texts[item.id] = [item.text[start:end] for start, end in spans[item.id]]
        digests = {text: digest(text) for text in chain.from_iterable(texts.values())}
        model = embedder.name
        known = self._store.vectors.cached(list(digests.values()), model=model)
        missing = [text for text, digest in digests.items() if digest not in known]
        if missing:
            work = partial(text_vectors, embedder, missing)
            rows = self._calls.answer(embedder, work, deadline)
            for text, row in zip(missing, rows, strict=True):
                known[digests[text]] = row.tobytes()
        windows: dict[str, tuple[Vector, ...]] = {}
        for item in batch:
            pairs = zip(spans[item.id], texts[item.id], strict=True)
            windows[item.id] = tuple(
                Vector(start, end, known[digests[text]], digests[text])
                for (start, end), text in pairs
            )
        return windows


_queues: WeakSet[EmbeddingQueue] = WeakSet()


def _restart() -> None:
    for queue in _queues:
        queue.restart()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restart)


def digest(text: str) -> bytes:
    """The key of a text among vectors."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:_DIGEST]


def _windows(embedder: Embedder, text: str) -> list[tuple[int, int]]:
    """The windows of a text, and its sentences, which the vector of the whole blurs, if it is
    one."""
    spans = [(index(start), index(end)) for start, end in embedder.windows(text)]
    for start, end in spans:
        if not 0 <= start <= end <= len(text):
            raise EmbedderError(
                f"{embedder.name} answered a window of the characters {start} to {end} of a text "
                f"of {len(text)}",
                remedy="check the embedder",
            )
    ends = sentence_ends(text) if len(spans) == 1 else []
    if len(ends) > 1:
        sentences = zip([0, *ends], ends, strict=False)
        long = [span for span in sentences if count_words(text[slice(*span)]) >= _SENTENCE]
        spans = [*spans, *long]
    return [(start, end) for start, end in spans if text[start:end].strip()]


def _dims_of(vectors: Mapping[str, Sequence[Vector]], model: str) -> int:
    """The one length of vectors, some of which may be known from before; 0 when there are none."""
    lengths = {len(window.data) // _FLOAT for windows in vectors.values() for window in windows}
    if len(lengths) > 1:
        few, many = min(lengths), max(lengths)
        raise EmbedderError(
            f"{model} made vectors of {few} dimensions, and of {many}",
            remedy="give the embedder another name when its dimensions change",
        )
    return max(lengths, default=0)
