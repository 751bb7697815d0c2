"""A cache of the vectors of recent questions: agents ask the same several times."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .contract import Embedder, TokenEncoder
from .known_models import model_card_of
from .model_card import ModelCard

if TYPE_CHECKING:
    from .contract import Bytes, Floats


class _Recent:
    """What was made of the last `size` different texts, by any thread."""

    def __init__(self, make: Callable[[str], Floats], size: int) -> None:
        self._make = make
        self._size = size
        self._made: OrderedDict[str, Floats] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, text: str) -> Floats:
        """What was made of a text, made now if it is not among them."""
        with self._lock:
            if text in self._made:
                self._made.move_to_end(text)
                return self._made[text]
        # outside the lock: another thread may ask for another text meanwhile
        made = self._make(text)
        # It is handed out again, so nobody may change it.
        made.setflags(write=False)
        with self._lock:
            self._made[text] = made
            if len(self._made) > self._size:
                self._made.popitem(last=False)
        return made


class CachedQueries:
    """An embedder that keeps the vectors of its last `size` different questions."""

    def __init__(self, embedder: Embedder, size: int = 512) -> None:
        self._embedder = embedder
        self._recent = _Recent(embedder.embed_query, size)

    @property
    def model(self) -> Embedder:
        """The embedder itself."""
        return self._embedder

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
        return self._recent.of(text)

    def windows(self, text: str) -> list[tuple[int, int]]:
        return self._embedder.windows(text)


class CachedTokenQueries:
    """A token encoder that keeps the vectors of its last `size` different questions."""

    def __init__(self, encoder: TokenEncoder, size: int = 512) -> None:
        self._encoder = encoder
        self._recent = _Recent(encoder.encode_query, size)

    @property
    def model(self) -> TokenEncoder:
        """The encoder itself."""
        return self._encoder

    @property
    def name(self) -> str:
        return self._encoder.name

    @property
    def dims(self) -> int:
        return self._encoder.dims

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(getattr(self._encoder, "languages", ()))

    def encode_documents(self, texts: Sequence[str]) -> list[Bytes]:
        return self._encoder.encode_documents(texts)

    def encode_query(self, text: str) -> Floats:
        return self._recent.of(text)
