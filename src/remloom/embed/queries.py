"""A cache of the vectors of recent questions: agents ask the same several times."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .contract import Embedder
from .known_models import model_card_of
from .model_card import ModelCard

if TYPE_CHECKING:
    from .contract import Floats

__all__ = ["CachedQueries"]


class CachedQueries:
    """An embedder that keeps the vectors of its last `size` different questions."""

    def __init__(self, embedder: Embedder, size: int = 512) -> None:
        self._embedder = embedder
        self._size = size
        self._vectors: OrderedDict[str, Floats] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dims(self) -> int:
        return self._embedder.dims

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    @property
    def model_card(self) -> ModelCard | None:
        return model_card_of(self._embedder)

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        return self._embedder.embed_documents(texts)

    def embed_query(self, text: str) -> Floats:
        with self._lock:
            if text in self._vectors:
                self._vectors.move_to_end(text)
                return self._vectors[text]
        # outside the lock: another thread may ask for another text meanwhile
        vector = self._embedder.embed_query(text)
        # It is handed out again, so nobody may change it.
        vector.setflags(write=False)
        with self._lock:
            self._vectors[text] = vector
            if len(self._vectors) > self._size:
                self._vectors.popitem(last=False)
        return vector

    def windows(self, text: str) -> list[tuple[int, int]]:
        return self._embedder.windows(text)
