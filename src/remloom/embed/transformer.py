"""Transformer models run by ONNX Runtime from files on this machine: no network, no key."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import EmbedderError
from .model_files import ModelFiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .contract import Floats

__all__ = ["Transformer"]

BATCH_TOKENS = 512  # padded tokens of one run of the model; on a CPU larger batches are slower


class Transformer:
    """A model that gives each token of a text a vector. Its files are loaded when first used.

    Args:
        files: where they are.
        max_tokens: that the model sees, with those that it begins and ends a text with.
        model_dir: folder with the files; default the package that brings them.
        threads: CPU threads that one run of the model may use.
    """

    def __init__(
        self, files: ModelFiles, *, max_tokens: int, model_dir: str | Path = "", threads: int = 2
    ) -> None:
        self.max_tokens = max_tokens
        self._files = files
        self._model_dir = model_dir
        self._threads = threads
        self._lock = threading.Lock()
        self._paths: dict[str, Path] | None = None
        self._loaded_tokenizer: Any = None
        self._loaded_session: Any = None

    def tokens(self, text: str) -> list[int]:
        """The numbers of a text's tokens; what is cut off keeps its end token."""
        ids: list[int] = self.tokenizer.encode(text).ids
        return ids if len(ids) <= self.max_tokens else [*ids[: self.max_tokens - 1], ids[-1]]

    def token_ends(self, text: str) -> list[int]:
        """The character offset where each token of a text ends."""
        offsets = self.tokenizer.encode(text, add_special_tokens=False).offsets
        return [end for _, end in offsets]

    def run(
        self, ids: Sequence[Sequence[int]]
    ) -> Iterator[tuple[list[int], Floats, NDArray[np.int64]]]:
        """Run the model over texts given by their tokens, some at a time, in any order.

        Yields positions in `ids`, the vectors of their tokens (texts x tokens x dimensions), and
        which tokens are theirs (1) or padding (0).
        """
        # texts of like length together: padding is computed like any other token
        order = sorted(range(len(ids)), key=lambda number: len(ids[number]), reverse=True)
        start = 0
        while start < len(order):
            size = max(1, BATCH_TOKENS // len(ids[order[start]]))
            batch = order[start : start + size]
            states, mask = self._run([ids[number] for number in batch])
            yield batch, states, mask
            start += size

    def _run(self, ids: Sequence[Sequence[int]]) -> tuple[Floats, NDArray[np.int64]]:
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
        return states, mask

    def _path(self, name: str) -> str:
        if self._paths is None:
            self._paths = self._files.find(self._model_dir)
        return str(self._paths[name])

    @property
    def tokenizer(self) -> Any:
        """The tokenizer, loaded."""
        if self._loaded_tokenizer is None:
            from tokenizers import Tokenizer

            # looked at again inside the lock: another thread may have loaded it meanwhile
            with self._lock:
                if self._loaded_tokenizer is None:
                    tokenizer = Tokenizer.from_file(self._path("tokenizer.json"))
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
                    try:
                        self._loaded_session = onnxruntime.InferenceSession(
                            self._path("model.onnx"), options, providers=["CPUExecutionProvider"]
                        )
                    except EmbedderError:
                        raise
                    except Exception as error:
                        # the runtime has no error class of its own
                        raise EmbedderError(
                            f"{self._files.model} cannot be loaded: {str(error)[:200]}",
                            remedy=self._files.remedy,
                        ) from error
        return self._loaded_session
