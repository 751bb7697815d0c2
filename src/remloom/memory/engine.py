"""A tenant's memory while it is open: its store, its settings, and the engines that are loaded when
first needed."""

from __future__ import annotations

import atexit
import os
import weakref
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from ..embed import check_name
from ..errors import (
    EmbedderError,
    EmbedderMismatchError,
    InvalidInputError,
    ModelNotConfiguredError,
)
from ..settings import Settings
from ..store.backends import place
from ..store.contract import Store
from .closing import Held, abandoned, opened, released

if TYPE_CHECKING:
    from ..embed.contract import Embedder
    from ..ingest.embedding_worker import EmbeddingQueue
    from ..llm import LLM, Model

__all__ = ["Opened"]

_AT_ONCE = 64  # queued texts that a SEARCH embeds first rather than answer without them


class Opened:
    """What every part of `Memory` stands on."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        embedder: Embedder | str | None,
        model: Model | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._given_embedder = embedder
        self._given_model = model
        self._held = Held(store, repr(self))
        self._unclosed = weakref.finalize(self, abandoned, self._held)
        self._unclosed.atexit = False  # see `_close_all`
        opened(self._held)
        _opened.add(self)

    @classmethod
    def open(
        cls,
        home_or_url: str | os.PathLike[str] | None = None,
        *,
        tenant: str | None = None,
        key: str | None = None,
        embedder: Embedder | str | None = None,
        llm: Model | str | None = None,
        settings: Settings | None = None,
        create: bool = True,
    ) -> Self:
        """Open a tenant's memory; made when it is not there yet.

        Args:
            home_or_url: the folder that holds the tenants, or `postgresql://…`; default the setting
                `home`.
            tenant: default the setting `tenant`, which is "default".
            key: the master key; with it a new tenant is encrypted. Default the setting `key`.
            embedder: a name ("minilm", "openai:<model>", "fastembed:<model>", "none") or an
                `Embedder`; default the setting `embedder`. Loaded when it is first needed.
            llm: a name ("openai:gpt-5-mini", "local:smollm2", …) or a `llm.Model`; default the
                setting `llm_model`.
                Opened when it is first needed.
            settings: all settings as one value, instead of environment and TOML.
            create: False refuses a tenant that is not there.

        Raises:
            UnknownNameError: no embedder has this name.
            TenantNotFoundError: there is no such tenant and `create` is False.
            WrongKeyError: the key does not open this tenant.
            CorruptStoreError, SchemaVersionError, ReadOnlyStoreError, StoreBusyError: see
                `remloom.errors`.
        """
        url = os.fspath(home_or_url) if home_or_url is not None else None
        if not (embedder is None or isinstance(embedder, str) or hasattr(embedder, "embed_query")):
            raise InvalidInputError(
                f"a {type(embedder).__name__} is no embedder",
                remedy="give a name such as 'minilm', or an Embedder",
            )
        if not (llm is None or isinstance(llm, str) or hasattr(llm, "complete")):
            raise InvalidInputError(
                f"a {type(llm).__name__} is no language model",
                remedy="give a name such as 'local:smollm2', or a Model",
            )
        model, named = (None, llm) if isinstance(llm, str) else (llm, None)
        if settings is None:
            settings = Settings.load(home=url, tenant=tenant, key=key, llm_model=named)
        else:
            given = {"home": url, "tenant": tenant, "key": key, "llm_model": named}
            settings = msgspec.structs.replace(
                settings, **{k: v for k, v in given.items() if v is not None}
            )
        embedder = embedder if embedder is not None else settings.embedder
        if isinstance(embedder, str):
            check_name(embedder)
        return cls(place(settings).open(settings, create=create), settings, embedder, model)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.tenant!r} in {self._settings.shown_home!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish what is being written and release the files. Queued texts wait for the next
        opening."""
        try:
            self._held.close()
        finally:
            _opened.discard(self)
            if self._unclosed.detach():  # the first time
                released(self._held)

    @property
    def tenant(self) -> str:
        """Whose memory this is."""
        return self._settings.tenant

    @property
    def settings(self) -> Settings:
        """The settings it was opened with."""
        return self._settings

    @property
    def embedder(self) -> Embedder | None:
        """The embedder, loaded if it was not yet; None when there is none.

        Raises:
            EmbedderError, MissingExtraError, UnknownNameError: it cannot be loaded.
        """
        return self._embedder

    @property
    def llm(self) -> LLM | None:
        """The language model, opened if it was not yet; None when none is set.

        Raises:
            SettingsError, MissingExtraError: it cannot be opened.
        """
        return self._llm if self._given_model is not None or self._settings.llm_model else None

    @cached_property
    def _llm(self) -> LLM:
        from ..llm import LLM, open_llm, open_model

        model = self._given_model if self._given_model is not None else open_llm(self._settings)
        if model is None:
            raise ModelNotConfiguredError
        opening = partial(open_model, settings=self._settings)
        kv = self._store.kv if self._store.capabilities.writable else None
        owned = self._given_model is None
        self._held.llm = LLM(model, settings=self._settings, kv=kv, opening=opening, owned=owned)
        return self._held.llm

    @cached_property
    def _embedder(self) -> Embedder | None:
        if not isinstance(self._given_embedder, str):
            return self._given_embedder
        from ..embed import load

        return load(self._given_embedder, self._settings)

    @cached_property
    def _model_name(self) -> str:
        return self._embedder.name if self._embedder is not None else ""

    @cached_property
    def _queue(self) -> EmbeddingQueue:
        if self._embedder is None:
            raise EmbedderError(
                "this memory was opened without an embedder",
                remedy="set REMLOOM_EMBEDDER=minilm, or open it with one",
            )
        from ..ingest.embedding_worker import EmbeddingQueue

        self._held.queue = EmbeddingQueue(self._store, self._embedder)
        return self._held.queue

    def _embed_query(self, text: str) -> Any:
        """The vector of a question, once the few texts that still wait for theirs have them."""
        queue = self._queue
        stored = self._store.vectors.model()
        if stored and stored[0] and stored[0] != self._model_name:
            raise EmbedderMismatchError(
                f"this memory's vectors were made by {stored[0]}, not by {self._model_name}",
                remedy="run `remloom reembed`, or open it with the embedder it was written with",
                stored=stored[0], given=self._model_name,
            )  # fmt: skip
        waiting = len(self._store.vectors.pending(_AT_ONCE + 1))
        if 0 < waiting <= _AT_ONCE and self._store.capabilities.writable:
            queue.run(_AT_ONCE)
        elif not waiting and stored is None and self._store.vectors.unembedded(self._model_name, 1):
            raise EmbedderError(
                "what this memory holds was written without an embedder, and has no vectors yet",
                remedy="run `remloom reembed`, or call embed_pending()",
            )
        assert self._embedder is not None  # noqa: S101 - _queue would have raised
        return self._embedder.embed_query(text)


_opened: weakref.WeakSet[Opened] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Background threads must not be inside a library when the interpreter goes away under them."""
    for memory in list(_opened):
        memory.close()
