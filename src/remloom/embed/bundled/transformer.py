"""Transformer models run by ONNX Runtime from files on this machine: no network, no key.

The weights come with packages, of which nothing is run; the graph is one of ours (`graphs/`,
written by `bench/graphs.py`), which takes half to a third of the time of those that the packages
have."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ...errors import EmbedderError
from ...local_models import load_onnxruntime, verified

if TYPE_CHECKING:
    from ..contract import Bytes, Floats


_GRAPHS = Path(__file__).parent / "graphs"
_BATCH_TOKENS = 512  # of one run of the model; on a CPU larger batches are slower


class ModelFiles(Struct, frozen=True, kw_only=True):
    """Where the files of a model are, and what they must be."""

    model: str  # its name
    package: str  # the package that has them, as it is imported
    digests: Mapping[str, str]  # path within the folder -> sha256
    remedy: str  # how to get them
    folder: str = ""  # within the package
    tokenizer: ModelFiles | None = None  # those of its tokenizer, where another package has them

    def find(self, model_dir: str | Path = "") -> dict[str, Path]:
        """Find the files, by the last part of their path, in the package or in `model_dir`, flat or
        as the package has them; raises EmbedderError where one is missing, or is another."""
        folder = Path(model_dir).expanduser() if model_dir else self._package_folder()
        files = self.tokenizer.find(model_dir) if self.tokenizer else {}
        for inner, digest in self.digests.items():
            name = inner.rpartition("/")[2]
            candidates = (folder / inner, folder / name)
            path = next((candidate for candidate in candidates if candidate.is_file()), None)
            if path is None:
                raise EmbedderError(
                    f"the model {self.model} lacks {name} in {folder}",
                    remedy=self.remedy,
                    path=str(folder),
                )
            if not verified(path, digest):
                raise EmbedderError(
                    f"{path} is not the file of {self.model} that Remloom knows "
                    "(its sha256 differs)",
                    remedy=self.remedy,
                    path=str(path),
                    sha256=digest,
                )
            files[name] = path
        return files

    def _package_folder(self) -> Path:
        # finds the folder; runs nothing of the package
        spec = importlib.util.find_spec(self.package)
        for location in (spec.submodule_search_locations or ()) if spec else ():
            folder = Path(location) / self.folder
            if folder.is_dir():
                return folder
        raise EmbedderError(f"the model {self.model} is not installed", remedy=self.remedy)


class OnnxTransformer:
    """A model that gives each token of a text a vector. Its files are loaded when first used.

    Args:
        graph: that runs it, by its name in `graphs/`.
        max_tokens: that the model sees, with those that it begins and ends a text with.
        model_dir: folder with the files; default the package that brings them.
        threads: CPU threads that one run of the model may use.
    """

    def __init__(
        self,
        files: ModelFiles,
        *,
        graph: str,
        max_tokens: int,
        model_dir: str | Path = "",
        threads: int = 2,
    ) -> None:
        self.max_tokens = max_tokens
        self._files = files
        self._graph = graph
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

    def run(self, ids: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], Floats]]:
        """Run the model over texts given by their tokens, some at a time, in any order.

        Yields positions in `ids`, and the vectors of their tokens (texts x tokens x dimensions).
        """
        import numpy as np

        # texts of one length together: padding would be computed like any other token
        lengths: dict[int, list[int]] = {}
        for number, text in enumerate(ids):
            lengths.setdefault(len(text), []).append(number)
        for length, numbers in lengths.items():
            size = max(1, _BATCH_TOKENS // length)
            for start in range(0, len(numbers), size):
                batch = numbers[start : start + size]
                tokens = np.array([ids[number] for number in batch], np.int64)
                yield batch, self._session.run(None, {"input_ids": tokens})[0]

    def _path(self, name: str) -> str:
        if self._paths is None:
            self._paths = self._files.find(self._model_dir)
        return str(self._paths[name])

    @property
    def tokenizer(self) -> Any:
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
            with self._lock:
                if self._loaded_session is None:
                    self._loaded_session = self._load()
        return self._loaded_session

    def _load(self) -> Any:
        onnxruntime = load_onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors only
        # a thread that waits for work by spinning takes the time of the others
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # where the graph finds its weights
        options.add_session_config_entry(
            "session.model_external_initializers_file_folder_path",
            str(Path(self._path("model.onnx")).parent),
        )
        graph = (_GRAPHS / f"{self._graph}.onnx").read_bytes()
        try:
            return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            # the runtime has no error class of its own
            raise EmbedderError(
                f"{self._files.model} cannot be loaded: {str(error)[:200]}",
                remedy=self._files.remedy,
            ) from error


_LARGEST = 200_000  # multiplications that one thread does alone


def products(rows: Floats | Bytes, columns: Floats) -> Floats:
    """The product of each row (rows, dims) with each column (columns, dims), by one thread:
    float32, shape (rows, columns)."""
    import numpy as np

    turned = np.ascontiguousarray(columns.T)
    found = np.empty((len(rows), len(columns)), np.float32)
    # A larger product is shared out by OpenBLAS among threads, which spin and wait for each other
    # for ten times as long as the product takes.
    size = max(1, _LARGEST // columns.size)
    for first in range(0, len(rows), size):
        some = rows[first : first + size].astype(np.float32, copy=False)
        np.matmul(some, turned, out=found[first : first + size])
    return found
