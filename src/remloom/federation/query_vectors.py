"""The vectors and token vectors of a question, made once for all tenants that are asked it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from ..embed.contract import Embedder, TokenEncoder
from ..embed.failures import answered_by
from ..errors import EmbedderMismatchError
from ..store.contract import Store

__all__ = ["QueryTokens", "QueryVectors"]


class QueryVectors:
    """Embeds one question, and what is left of it without its time and names.

    Args:
        embedder: gives the embedder for vectors of a name, or None when there is none.
        seconds: that a vector may take; None: as long as it takes.
    """

    def __init__(
        self, embedder: Callable[[str], Embedder | None], seconds: float | None = None
    ) -> None:
        self._embedder = embedder
        self._seconds = seconds
        self._vectors: dict[tuple[str, str], Any] = {}  # numpy arrays
        self._lock = Lock()

    def for_store(self, store: Store) -> Callable[[str], Sequence[float] | None]:
        """Return what embeds a text for a store: None where it has no vectors, or there is no
        embedder.

        Raises:
            EmbedderMismatchError: its vectors were made by another embedder.
        """
        stored = store.vectors.model()
        embedder = self._embedder(stored[0] if stored else "")
        if embedder is None or stored is None:
            return lambda text: None
        if stored[0] and stored[0] != embedder.name:
            raise EmbedderMismatchError(
                f"its vectors were made by {stored[0]}, not by {embedder.name}",
                remedy="run `remloom reembed` there",
                stored=stored[0],
                given=embedder.name,
            )
        return lambda text: answered_by(
            embedder.name, lambda: self._vector(embedder, text), self._seconds
        )

    def _vector(self, embedder: Embedder, text: str) -> Any:
        with self._lock:
            key = (embedder.name, text)
            if key not in self._vectors:
                self._vectors[key] = embedder.embed_query(text)
            return self._vectors[key]


class QueryTokens:
    """A token encoder that encodes the texts of one question once."""

    def __init__(self, encoder: TokenEncoder) -> None:
        self.name = encoder.name
        self.dims = encoder.dims
        self.languages: tuple[str, ...] = tuple(getattr(encoder, "languages", ()))
        self.encode_documents = encoder.encode_documents
        self._encode = encoder.encode_query
        self._encoded: dict[str, Any] = {}  # numpy arrays
        self._lock = Lock()

    def encode_query(self, text: str) -> Any:
        with self._lock:
            if text not in self._encoded:
                self._encoded[text] = self._encode(text)
            return self._encoded[text]
