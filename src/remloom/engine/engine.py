"""The engine of an open memory: its store and settings, and what is loaded when first needed.

The services of `Memory` are given an engine and keep nothing else open. The engine does not know
them, so a memory that is dropped without `close` is released at once, not by the cyclic garbage
collector.
"""

from __future__ import annotations

import atexit
import threading
import weakref
from contextlib import ExitStack
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..deadline import Deadline
from ..errors import (
    EmbedderError,
    EmbedderMismatchError,
    ModelNotConfiguredError,
    VectorError,
)
from .closing import OpenResources, hand_over, register, unregister
from .hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..embed.contract import Embedder, TokenEncoder
    from ..ingest.embedding_worker import EmbeddingQueue
    from ..ingest.linking import Linker
    from ..ingest.sentence_vectors import SentenceVectors
    from ..ingest.token_worker import TokenQueue
    from ..llm import LLM, Model
    from ..query.late_interaction import LateInteraction
    from ..settings import Settings
    from ..store.contract import Store
    from .arguments import Progress


_T = TypeVar("_T")

_EMBED_FIRST = 64  # queued texts that a search embeds first rather than answer without them


class _loaded_once(cached_property[_T]):
    """A property of an engine that is made when it is first needed, by one thread: the others wait.

    Of two, one would be lost, and never closed.
    """

    if not TYPE_CHECKING:  # it has the type of `cached_property`

        def __get__(self, engine: Engine, owner: type[Engine] | None = None) -> _T:
            with engine._loading:
                return super().__get__(engine, owner)


class Engine:
    """One tenant's open store with its settings, embedder, language model and embedding queue.

    Args:
        embedder: an embedder, or the name of one, which is loaded when it is first needed.
        token_encoder: likewise; None: the one that the settings name, or else that which stands
            beside an embedder with a name.
        model: the language model; None: the one that the settings name.
        label: names the memory in a warning when it was not closed.
        hooks: what features add.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        embedder: Embedder | str | None,
        model: Model | None = None,
        *,
        token_encoder: TokenEncoder | str | None = None,
        label: str = "a memory",
        hooks: Hooks,
    ) -> None:
        self.hooks = hooks
        self.store = store
        self.settings = settings
        self._embedder_setting = embedder
        self._token_encoder_setting = token_encoder or settings.token_encoder or None
        self._model_setting = model
        # of databases that are followed, by name of the source; their passwords are kept nowhere
        # else, and go with the memory
        self.source_urls: dict[str, str] = {}
        # one may need another
        self._loading = threading.RLock()
        self._resources = OpenResources(store, label)
        self._finalizer = weakref.finalize(self, hand_over, self._resources)
        # at the end of the interpreter `_close_all` closes instead
        self._finalizer.atexit = False
        register(self._resources)
        _open_engines.add(self)

    def close(self) -> None:
        """Finish what is being written and release threads and files. Closing twice is fine."""
        try:
            self._resources.close()
        finally:
            _open_engines.discard(self)
            if self._finalizer.detach():  # the first time
                unregister(self._resources)

    @property
    def tenant(self) -> str:
        return self.settings.tenant

    # -- embedding ---------------------------------------------------------------------------------

    @_loaded_once
    def embedder(self) -> Embedder | None:
        """The embedder, loaded if it was not yet; None when there is none."""
        if not isinstance(self._embedder_setting, str):
            return self._embedder_setting
        from ..embed import load
        from ..settings import DEFAULT_EMBEDDER

        name = self._embedder_setting or self._kept_embedder() or DEFAULT_EMBEDDER
        return load(name, self.settings)

    @_loaded_once
    def embedder_name(self) -> str:
        """The embedder's name; "" when there is none."""
        return self.embedder.name if self.embedder is not None else ""

    @_loaded_once
    def token_encoder(self) -> TokenEncoder | None:
        """The token encoder, loaded if it was not yet; None when there is none."""
        given = self._token_encoder_setting
        if given is not None and not isinstance(given, str):
            return given
        from ..embed import default_token_encoder, load_token_encoder

        if given is not None:
            return load_token_encoder(given, self.settings)
        # a caller that brings an embedder of its own says what goes with it
        if not isinstance(self._embedder_setting, str) or self._embedder_setting == "none":
            return None
        made_by = [name for name, _ in self.store.token_vectors.models()]
        return default_token_encoder(self.settings, made_by)

    @property
    def token_encoder_name(self) -> str:
        return self.token_encoder.name if self.token_encoder is not None else ""

    @_loaded_once
    def late_interaction(self) -> LateInteraction | None:
        """What scores records by their token vectors; None when there is no token encoder."""
        if self.token_encoder is None:
            return None
        from ..query.late_interaction import LateInteraction

        tokens = self._token_queue
        return LateInteraction(
            self.store,
            self.token_encoder,
            tokens.encode if tokens is not None else None,
            is_requested=self._token_encoder_setting is not None,
        )

    @_loaded_once
    def embedding_queue(self) -> EmbeddingQueue:
        """The queue of texts that wait for their vectors, and their token vectors.

        Raises:
            EmbedderError: there is neither an embedder nor a token encoder.
        """
        if not self.embeds:
            raise _no_embedder()
        self._resources.queue = self._queue_of(self.embedder)
        return self._resources.queue

    @_loaded_once
    def sentence_vectors(self) -> SentenceVectors:
        """The vectors of sentences.

        Raises:
            EmbedderError: there is neither an embedder nor a token encoder.
        """
        from ..ingest.sentence_vectors import SentenceVectors

        return SentenceVectors(self.embedding_queue)

    def _queue_of(self, embedder: Embedder | None) -> EmbeddingQueue:
        from ..ingest.embedding_worker import EmbeddingQueue

        return EmbeddingQueue(self.store, embedder, self._token_queue)

    @cached_property
    def linker(self) -> Linker:
        """What links texts that were read before to what was named later."""
        from ..ingest.linking import Linker

        return Linker(self.store, self.tenant)

    @_loaded_once
    def _token_queue(self) -> TokenQueue | None:
        """The one queue of texts that wait for their token vectors; None when there is no token
        encoder."""
        from ..ingest.token_worker import TokenQueue

        if self.token_encoder is not None:
            self._resources.tokens = TokenQueue(self.store, self.token_encoder)
        return self._resources.tokens

    def deadline(self) -> Deadline:
        """By when the embedder and the token encoder are to have answered a question of now."""
        return Deadline.after(self.settings.embedder_timeout or None)

    @property
    def embeds(self) -> bool:
        return self.embedder is not None or self.token_encoder is not None

    def has_waiting(self) -> bool:
        """Whether a text waits for what can be made of it."""
        self.follow_store()
        if self.embedder is not None and self.store.vectors.pending(1):
            return True
        encoder = self.token_encoder
        return encoder is not None and bool(self.store.token_vectors.pending(encoder.name, 1))

    @property
    def embedding_error(self) -> str:
        """Why embedding in the background stopped, or what it has long waited for; else ""."""
        queue = self._resources.queue
        return queue.trouble if queue is not None else ""

    def move_to(self, embedder: Embedder | str, progress: Progress | None = None) -> int:
        """Embed every text with another embedder, and use that one from then on; returns how many.

        Until all are done this memory is asked with the one it has.
        """
        from ..embed import load

        new = load(embedder, self.settings) if isinstance(embedder, str) else embedder
        moving = self._queue_of(new)
        done = moving.embed_all(progress)
        # together: no question is asked with one of them of the vectors of the other
        with self._loading:
            moving.adopt()
            # where none was asked for, the one whose vectors serve goes on to be taken
            has_kept = isinstance(embedder, str) and bool(self._kept_embedder())
            if self._embedder_setting != "" or not has_kept:
                self._embedder_setting = embedder
            queue = self._drop_embedder()
        if queue is not None:
            queue.close()
        # what was written while the last texts were moved
        self.embedding_queue.run()
        moving.move_tokens(progress)
        return done

    def follow_store(self) -> None:
        """Take the embedder whose vectors serve, if none was asked for: another process may have
        moved this memory to it."""
        stored = self.store.vectors.model() if self._embedder_setting == "" else None
        if not stored or stored[0] == self.embedder_name:
            return
        with self._loading:
            # another thread may have been first
            has_moved = stored[0] != self.embedder_name and bool(self._kept_embedder())
            queue = self._drop_embedder() if has_moved else None
        if queue is not None:
            queue.close()

    def ask(self, work: Callable[[], _T]) -> _T:
        """Do what may ask by meaning; again, if the memory was moved to another embedder.

        The question's vector may be of the one, and those it was compared with of the other.
        """
        before = self.store.vectors.model()
        while True:
            try:
                found = work()
            except (EmbedderMismatchError, VectorError):
                if self.store.vectors.model() == before:
                    raise
            else:
                if self.store.vectors.model() == before:
                    return found
            before = self.store.vectors.model()

    def _kept_embedder(self) -> str:
        """The bundled embedder that made this memory's vectors; "" when none did."""
        from ..embed import kept_name

        stored = self.store.vectors.model()
        return kept_name(stored[0]) if stored else ""

    def _drop_embedder(self) -> EmbeddingQueue | None:
        """Drop the embedder, and return its queue: it is closed when `_loading` is given back, for
        that takes as long as a batch does."""
        for name in ("embedder", "embedder_name"):
            self.__dict__.pop(name, None)
        queue: EmbeddingQueue | None = self.__dict__.pop("embedding_queue", None)
        self.__dict__.pop("sentence_vectors", None)
        return queue

    def load_embedder(self) -> None:
        """Load the embedder before a transaction begins: it takes longer than one should."""
        _ = self.embedder_name

    def embed_waiting(self) -> None:
        """Embed the texts that wait, if any do."""
        if self.store.vectors.pending(1):
            self.embedding_queue.run()

    def embed_in_background(self) -> None:
        """Begin to embed the texts that wait, if any do."""
        if self.has_waiting():
            self.embedding_queue.start()

    def embed_query(self, text: str, deadline: Deadline | None = None) -> Any:
        """Embed a question, after the few texts that still wait for their vectors.

        Args:
            deadline: for both; default that of a question of now.

        Raises:
            EmbedderMismatchError: this memory's vectors were made by another embedder.
            EmbedderTimeoutError: the embedder takes longer.
            EmbedderError: there is no embedder, it does not work, or nothing has a vector yet.
        """
        from ..embed.answers import answered_by, question_vector

        deadline = deadline or self.deadline()
        self.follow_store()
        # together: another thread may move this memory to another one meanwhile
        with self._loading:
            embedder, name, queue = self.embedder, self.embedder_name, self.embedding_queue
            stored = self.store.vectors.model()
        if embedder is None:
            raise _no_embedder()
        if stored and stored[0] and stored[0] != name:
            raise EmbedderMismatchError(
                f"this memory's vectors were made by {stored[0]}, not by {name}",
                remedy="run `remloom reembed --embedder NAME` to move it to that one, or leave the "
                "embedder out to ask with the one it has",
                stored=stored[0],
                given=name,
            )
        waiting = len(self.store.vectors.pending(_EMBED_FIRST + 1))
        if 0 < waiting <= _EMBED_FIRST and self.store.capabilities.writable:
            queue.run_first(_EMBED_FIRST, deadline)
        elif not waiting and stored is None and self.store.vectors.unembedded(name, 1):
            raise EmbedderError(
                "what this memory holds was written without an embedder, and has no vectors yet",
                remedy="run `remloom reembed`, or call embed_pending()",
            )
        return answered_by(embedder, partial(question_vector, embedder, text), deadline)

    def try_embed_query(self, text: str, deadline: Deadline | None = None) -> Any:
        """Embed a question; None when there is no embedder."""
        return self.embed_query(text, deadline) if self.embedder is not None else None

    # -- language model ----------------------------------------------------------------------------

    @property
    def llm(self) -> LLM | None:
        if self._model_setting is None and not self.settings.llm_model:
            return None
        return self.required_llm

    @property
    def may_call_model(self) -> bool:
        from ..settings import calls_forbidden

        is_set = self._model_setting is not None or bool(self.settings.llm_model)
        return is_set and not calls_forbidden(self.settings)

    @_loaded_once
    def required_llm(self) -> LLM:
        """The language model.

        Raises:
            ModelNotConfiguredError: none is set.
        """
        from ..llm import LLM, open_llm, open_model

        model = self._model_setting if self._model_setting is not None else open_llm(self.settings)
        if model is None:
            raise ModelNotConfiguredError
        self._resources.llm = LLM(
            model,
            settings=self.settings,
            # what cannot be written has no ledger
            kv=self.store.kv if self.store.capabilities.writable else None,
            opening=partial(open_model, settings=self.settings),
            owned=self._model_setting is None,
        )
        return self._resources.llm


def _no_embedder() -> EmbedderError:
    return EmbedderError(
        "this memory was opened without an embedder",
        remedy="set REMLOOM_EMBEDDER=minilm, or open it with one",
    )


_open_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Close every engine: no thread may be inside a library when the interpreter ends."""
    with ExitStack() as closing:
        for engine in _open_engines:
            closing.callback(engine.close)
