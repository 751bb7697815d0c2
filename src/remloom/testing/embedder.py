"""An embedder and a token encoder for tests: quick, deterministic, and understanding nothing but
equal words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..embed.contract import Bytes, Floats


_WORD = re.compile(r"\w+")


class WordEmbedder:
    """Hashes each word of a text to a direction and adds them up.

    Texts that share words are alike, texts that share none are nearly not. Where it differs from a
    real embedder: synonyms are strangers, word order does not count, and no text is too long for
    it.
    """

    def __init__(self, name: str = "words-256", dims: int = 256) -> None:
        self.name = name
        self.dims = dims
        self.max_tokens = 1_000_000

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        # numpy cannot stack nothing
        if not texts:
            return np.empty((0, self.dims), np.float32)
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Floats:
        # so that a text without words has a direction too
        total = np.full(self.dims, 1e-3, np.float32)
        for word in _WORD.findall(text.casefold()):
            total += _direction(word, self.dims)
        return np.asarray(total / np.linalg.norm(total), np.float32)

    def windows(self, text: str) -> list[tuple[int, int]]:
        return [(0, len(text))] if text else []


class WordTokenEncoder:
    """Gives each word of a text a direction of its own.

    A text fits a question by how many of the question's words it has. Where it differs from a real
    token encoder: synonyms are strangers, and a word means the same beside any other.
    """

    def __init__(self, name: str = "word-tokens-64", dims: int = 64) -> None:
        self.name = name
        self.dims = dims

    def encode_documents(self, texts: Sequence[str]) -> list[Bytes]:
        return [np.rint(self._rows(text) * 127).astype(np.int8) for text in texts]

    def encode_query(self, text: str) -> Floats:
        rows = self._rows(text)
        return rows if len(rows) else np.full((1, self.dims), self.dims**-0.5, np.float32)

    def _rows(self, text: str) -> Floats:
        directions = [_direction(word, self.dims) for word in _WORD.findall(text.casefold())]
        rows = np.array(directions, np.float32).reshape(-1, self.dims)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def _direction(word: str, dims: int) -> Floats:
    # a hash of its own: that of Python differs from process to process
    seed = int.from_bytes(blake2b(word.encode(), digest_size=8).digest())
    return np.random.default_rng(seed).standard_normal(dims, dtype=np.float32)
