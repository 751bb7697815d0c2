"""The vectors of a question, each made once for all tenants that are asked it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from ..embed.contract import Embedder
from ..errors import EmbedderMismatchError
from ..store.contract import Store

__all__ = ["QueryVectors"]


class QueryVectors:
    """Embeds one question, and what is left of it without its time and names.

    Args:
        embedder: gives the embedder for vectors of a name, or None when there is none.
    """

    def __init__(self, embedder: Callable[[str], Embedder | None]) -> None:
        self._embedder = embedder
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
        return lambda text: self._vector(embedder, text)

    def _vector(self, embedder: Embedder, text: str) -> Any:
        with self._lock:
            key = (embedder.name, text)
            if key not in self._vectors:
                self._vectors[key] = embedder.embed_query(text)
            return self._vectors[key]
