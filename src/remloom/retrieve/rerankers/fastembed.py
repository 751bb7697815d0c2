"""Cross-encoders run by fastembed (extra `fastembed`), which fetches them at first use."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ...errors import MissingExtraError, RerankerError
from ...onnx import load_onnxruntime
from .base import Passage

_BATCH = 8  # pairs of one run


class FastReranker:
    """A cross-encoder run by fastembed. See `base.Reranker`.

    Args:
        model: fastembed's name of it: "Xenova/ms-marco-MiniLM-L-6-v2".
        threads: CPU threads that the model may use.

    Raises:
        MissingExtraError: fastembed is not installed.
    """

    def __init__(self, model: str, *, threads: int = 2) -> None:
        if importlib.util.find_spec("fastembed") is None:
            raise MissingExtraError(f"the reranker fastembed:{model}", "fastembed")
        self.name = f"fastembed:{model}"
        self._model = model
        self._threads = threads
        self._loading = threading.Lock()

    def scores(self, question: str, passages: Sequence[Passage]) -> list[float]:
        with self._loading:
            encoder = self._encoder
        texts = [passage.text for passage in passages]
        scores = encoder.rerank(question, texts, batch_size=_BATCH)
        return [float(score) for score in scores]

    @cached_property
    def _encoder(self) -> Any:
        load_onnxruntime()
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        try:
            return TextCrossEncoder(self._model, threads=self._threads)
        except Exception as error:
            # whatever its download or the runtime raises
            raise RerankerError(
                f"fastembed cannot load {self._model}: {str(error).splitlines()[0][:200]}",
                remedy="it is fetched from a hub at first use: connect once, or use onnx:<folder>",
                reranker=self.name,
            ) from error
