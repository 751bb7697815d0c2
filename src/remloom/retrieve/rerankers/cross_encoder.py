"""Cross-encoders: small models that read a question and a passage together and say how well they
fit."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ...errors import MissingExtraError, RerankerError
from .load import Passage

__all__ = ["CrossEncoder", "FastReranker"]

MAX_TOKENS = 512  # of question and passage together; the longer of the two is cut
_BATCH = 8  # pairs of one run


class CrossEncoder:
    """A cross-encoder run by ONNX Runtime from a folder: no network. See `load.Reranker`.

    Args:
        folder: has `tokenizer.json` and `model.onnx` (that one may be in `onnx/`), as exports of
            `cross-encoder/ms-marco-MiniLM-L6-v2` and `BAAI/bge-reranker-base` do.
        threads: CPU threads that one run of the model may use.

    Raises:
        RerankerError: a file is not there.
    """

    def __init__(self, folder: str | Path, *, threads: int = 2) -> None:
        self._folder = Path(folder).expanduser()
        self._threads = threads
        self._loading = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None
        self.name = f"onnx:{self._folder.name}"
        self._tokenizer_file = self._file("tokenizer.json")
        self._model_file = self._file("model.onnx", "onnx/model.onnx")

    def scores(self, question: str, passages: Sequence[Passage]) -> list[float]:
        tokenizer, session = self._model
        pairs = tokenizer.encode_batch([(question, passage.text) for passage in passages])
        # the like-sized pad least
        order = sorted(range(len(pairs)), key=lambda number: len(pairs[number].ids))
        found = [0.0] * len(pairs)
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            for number, score in zip(
                batch, self._run(session, [pairs[number] for number in batch]), strict=True
            ):
                found[number] = score
        return found

    def _run(self, session: Any, pairs: Sequence[Any]) -> list[float]:
        import numpy as np

        length = max(len(pair.ids) for pair in pairs)
        inputs = {name: np.zeros((len(pairs), length), np.int64) for name in _INPUTS}
        for row, pair in enumerate(pairs):
            size = len(pair.ids)
            for name, values in zip(
                _INPUTS, (pair.ids, pair.attention_mask, pair.type_ids), strict=True
            ):
                inputs[name][row, :size] = values
        wanted = {one.name for one in session.get_inputs()}
        logits = np.asarray(
            session.run(None, {name: inputs[name] for name in _INPUTS if name in wanted})[0]
        )
        if logits.shape == (len(pairs), 2):  # "does not answer", "answers"
            logits = logits[:, 1] - logits[:, 0]
        if logits.size != len(pairs):
            raise RerankerError(
                f"{self._model_file} answers shape {logits.shape} to {len(pairs)} pairs: it is no cross-encoder",
                remedy="give the folder of a model that has one output for a pair",
                reranker=self.name,
            )
        return [float(value) for value in logits.reshape(-1)]

    @property
    def _model(self) -> tuple[Any, Any]:
        with self._loading:
            if self._loaded is None:
                import onnxruntime
                from tokenizers import Tokenizer

                try:
                    tokenizer = Tokenizer.from_file(str(self._tokenizer_file))
                    options = onnxruntime.SessionOptions()
                    options.intra_op_num_threads = self._threads
                    options.inter_op_num_threads = 1
                    options.log_severity_level = 3  # errors only
                    session = onnxruntime.InferenceSession(
                        str(self._model_file), options, providers=["CPUExecutionProvider"]
                    )
                except Exception as error:
                    # neither library has an error class of its own
                    raise RerankerError(
                        f"the cross-encoder in {self._folder} cannot be loaded: {str(error).splitlines()[0][:200]}",
                        remedy="give the folder of an ONNX export with its tokenizer.json",
                        reranker=self.name,
                    ) from error
                tokenizer.no_padding()
                tokenizer.enable_truncation(MAX_TOKENS)
                self._loaded = tokenizer, session
            return self._loaded

    def _file(self, *places: str) -> Path:
        found = next((path for place in places if (path := self._folder / place).is_file()), None)
        if found is None:
            raise RerankerError(
                f"{self._folder} has no {places[0]}",
                remedy="give the folder of an ONNX export of a cross-encoder, with its tokenizer.json",
                reranker=self.name,
            )
        return found


class FastReranker:
    """A cross-encoder run by fastembed (extra `fastembed`), which fetches it from a hub at first
    use.

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
        return [
            float(score)
            for score in encoder.rerank(
                question, [passage.text for passage in passages], batch_size=_BATCH
            )
        ]

    @cached_property
    def _encoder(self) -> Any:
        from fastembed.rerank.cross_encoder import TextCrossEncoder

        try:
            return TextCrossEncoder(self._model, threads=self._threads)
        except Exception as error:  # whatever its download or the runtime raises
            raise RerankerError(
                f"fastembed cannot load {self._model}: {str(error).splitlines()[0][:200]}",
                remedy="it is fetched from a hub at first use: connect once, or use onnx:<folder>",
                reranker=self.name,
            ) from error


_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
