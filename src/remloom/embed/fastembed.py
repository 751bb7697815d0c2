"""Models run by fastembed (extra `fastembed`), which fetches them from a hub at first use."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import EmbedderError, MissingExtraError, UnknownNameError
from ..local_models import load_onnxruntime
from ..text.sentences import approximate_windows
from .answers import unit_rows
from .model_card import identity, prefixes

if TYPE_CHECKING:
    from .contract import Floats


_BATCH = 16  # texts of one run


class FastEmbedder:
    """An embedder run by fastembed; `model` is its name there, with or without the maker:
    "nomic-embed-text-v1.5"."""

    max_tokens = 512

    def __init__(self, model: str, *, threads: int = 2) -> None:
        if importlib.util.find_spec("fastembed") is None:
            raise MissingExtraError(f"the embedder fastembed:{model}", "fastembed")
        self.name = identity(model)
        self._model = model
        self._threads = threads
        self._lock = threading.Lock()
        self._described: dict[str, Any] | None = None
        self._loaded: Any = None
        self._document_prefix, self._query_prefix = prefixes(model)

    @property
    def dims(self) -> int:
        return int(self._description["dim"])

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        import numpy as np

        if not len(texts):
            return np.zeros((0, self.dims), dtype=np.float32)
        prefixed = [self._document_prefix + text for text in texts]
        values = list(self._embedding.embed(prefixed, batch_size=_BATCH))
        return unit_rows(values, count=len(texts), dims=self.dims, model=self)

    def embed_query(self, text: str) -> Floats:
        values = list(self._embedding.embed([self._query_prefix + text]))
        vector: Floats = unit_rows(values, count=1, dims=self.dims, model=self)[0]
        return vector

    def windows(self, text: str) -> list[tuple[int, int]]:
        return approximate_windows(text, self.max_tokens)

    @property
    def _description(self) -> dict[str, Any]:
        if self._described is None:
            load_onnxruntime()
            from fastembed import TextEmbedding

            models = {str(one["model"]): one for one in TextEmbedding.list_supported_models()}
            # with its maker, as fastembed lists it, or without
            names = (name for name in models if self._model in (name, name.rpartition("/")[2]))
            name = next(names, None)
            if name is None:
                raise UnknownNameError("fastembed model", self._model, list(models))
            self._described = models[name]
        return self._described

    @property
    def _embedding(self) -> Any:
        with self._lock:
            if self._loaded is None:
                load_onnxruntime()
                from fastembed import TextEmbedding

                try:
                    self._loaded = TextEmbedding(
                        str(self._description["model"]), threads=self._threads
                    )
                except Exception as error:
                    # whatever its download or the runtime raises
                    message = str(error).splitlines()[0][:200]
                    raise EmbedderError(
                        f"fastembed cannot load {self._model}: {message}",
                        remedy="it is fetched from a hub at first use: connect once, "
                        "or use the embedder minilm",
                        model=self._model,
                    ) from error
            return self._loaded
