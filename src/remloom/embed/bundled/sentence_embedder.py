"""What the embedders that run here have in common: texts to tokens, token vectors to one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..model_card import ModelCard
from ..windows import split
from .model_files import ModelFiles
from .transformer import OnnxTransformer

if TYPE_CHECKING:
    from ..contract import Floats


class SentenceEmbedder:
    """An embedder whose model runs on this machine (see `contract.Embedder`).

    Args:
        model_dir: folder with the model's files; the package's that carries them when empty.
        threads: CPU threads that one run of the model may use.
    """

    name: ClassVar[str]
    dims: ClassVar[int]
    max_tokens: ClassVar[int]
    model_card: ClassVar[ModelCard]
    files: ClassVar[ModelFiles]
    graph: ClassVar[str]
    query_prefix: ClassVar[str] = ""

    def __init__(self, model_dir: str | Path = "", *, threads: int = 2) -> None:
        self._model = OnnxTransformer(
            self.files,
            graph=self.graph,
            max_tokens=self.max_tokens,
            model_dir=model_dir,
            threads=threads,
        )

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        import numpy as np

        vectors = np.zeros((len(texts), self.dims), dtype=np.float32)
        for batch, states in self._model.run([self._model.tokens(text) for text in texts]):
            pooled = self._pool(states)
            vectors[batch] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return vectors

    def embed_query(self, text: str) -> Floats:
        vector: Floats = self.embed_documents([self.query_prefix + text])[0]
        return vector

    def windows(self, text: str) -> list[tuple[int, int]]:
        limit = self.max_tokens - 2  # the model's start and end tokens
        if len(text) <= limit:  # no token is shorter than a character
            return split(text, (), limit)
        return split(text, self._model.token_ends(text), limit)

    def _pool(self, states: Floats) -> Floats:
        """One vector a text, of any length, from those of its tokens."""
        raise NotImplementedError
