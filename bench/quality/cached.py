"""What was computed once is not computed again: vectors, kept on disk, and searches, kept in
memory.

The files are in the system's temporary folder, never in the repository.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple, replace

from remloom.embed import load, load_token_encoder
from remloom.query.late_interaction import LateInteraction, TokenQuestion
from remloom.settings import Settings

FOLDER = Path(tempfile.gettempdir()) / "remloom-quality"


class CachedEmbedder:
    """An embedder by name (see `remloom.embed.load`), and every vector it ever made."""

    def __init__(self, name: str = "minilm") -> None:
        embedder = load(name, Settings.load())
        assert embedder is not None, "the benchmark needs an embedder"
        self._embedder = embedder
        self.name, self.max_tokens = embedder.name, embedder.max_tokens
        # the number changes when vectors of one name are computed another way
        self._file = FOLDER / f"{name.replace('/', '_').replace(':', '_')}-2.pickle"
        self._vectors: dict[str, Any] = (
            pickle.loads(self._file.read_bytes()) if self._file.exists() else {}
        )
        self._saved = len(self._vectors)

    @property
    def dims(self) -> int:
        return len(next(iter(self._vectors.values()))) if self._vectors else self._embedder.dims

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return self._all("d:", texts, lambda new: self._embedder.embed_documents(new))

    def embed_query(self, text: str) -> Any:
        return self._all(
            "q:", [text], lambda new: [self._embedder.embed_query(one) for one in new]
        )[0]

    def windows(self, text: str) -> list[tuple[int, int]]:
        return self._embedder.windows(text)

    def _all(self, kind: str, texts: Sequence[str], embed: Any) -> Any:
        new = list(dict.fromkeys(text for text in texts if kind + text not in self._vectors))
        if new:
            self._vectors.update(zip((kind + text for text in new), embed(new), strict=True))
        return np.array([self._vectors[kind + text] for text in texts], np.float32)

    def save(self) -> None:
        """Keep what is new for the next run."""
        if len(self._vectors) > self._saved:
            FOLDER.mkdir(exist_ok=True)
            self._file.write_bytes(pickle.dumps(self._vectors))
            self._saved = len(self._vectors)


class CachedTokens:
    """A token encoder by name, and all token vectors of documents that it ever made."""

    def __init__(self, name: str = "colbert") -> None:
        encoder = load_token_encoder(name, Settings.load())
        assert encoder is not None, "the benchmark needs a token encoder"
        self._encoder = encoder
        self.name, self.dims = encoder.name, encoder.dims
        self.languages = ("en",)
        self._file = FOLDER / f"{encoder.name}.pickle"
        self._made: dict[str, Any] = (
            pickle.loads(self._file.read_bytes()) if self._file.exists() else {}
        )
        self._saved = len(self._made)
        self._asked: dict[str, Any] = {}

    def encode_documents(self, texts: Sequence[str]) -> list[Any]:
        new = list(dict.fromkeys(text for text in texts if "d:" + text not in self._made))
        if new:
            made = self._encoder.encode_documents(new)
            self._made.update(zip(("d:" + text for text in new), made, strict=True))
        return [self._made["d:" + text] for text in texts]

    def encode_query(self, text: str) -> Any:
        if text not in self._asked:
            self._asked[text] = self._encoder.encode_query(text)
        return self._asked[text]

    def save(self) -> None:
        """Keep what is new for the next run."""
        if len(self._made) > self._saved:
            FOLDER.mkdir(exist_ok=True)
            self._file.write_bytes(pickle.dumps(self._made))
            self._saved = len(self._made)


class Remembered:
    """A store whose components answer the same question from memory: trying other weights costs no
    second search."""

    def __init__(self, store: Any) -> None:
        self.records = _Component(store.records)
        self.graph = _Component(store.graph)
        self.search = _Component(store.search)
        self.vectors = _Component(store.vectors)
        self.token_vectors = store.token_vectors  # see `RememberedLate`
        self.kv = _Component(store.kv)
        self.snapshot = store.snapshot
        self.schemas = store.schemas


class RememberedLate(LateInteraction):
    """Late interaction that scores a record for a text only once."""

    def __init__(self, store: Any, encoder: CachedTokens) -> None:
        super().__init__(store, encoder)
        self._known: dict[str, dict[str, float]] = {}

    def scores(self, question: TokenQuestion, ids: Sequence[str]) -> dict[str, float]:
        known = self._known.setdefault(question.text, {})
        known |= super().scores(question, [id for id in ids if id not in known])
        return {id: known[id] for id in ids if id in known}


class _Component:
    """One component of a store."""

    def __init__(self, component: Any) -> None:
        self._component = component
        self._answers: dict[Any, Any] = {}
        self._records: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._component, name)

        def call(*args: Any, **options: Any) -> Any:
            key = (
                name,
                *map(_key, args),
                *((option, _key(value)) for option, value in options.items()),
            )
            if key not in self._answers:
                answer = method(*args, **options)
                if name in ("names", "vector", "text"):
                    answer = [
                        replace(one, record=self._records.setdefault(one.record.id, one.record))
                        for one in answer
                    ]
                self._answers[key] = answer
            return self._answers[key]

        return call


def _key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, Struct):
        return (type(value), *map(_key, astuple(value)))
    return tuple(value) if isinstance(value, list | tuple) else value
