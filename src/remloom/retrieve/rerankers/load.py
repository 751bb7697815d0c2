"""Reranking: a second look at the best candidates, by something that reads question and passage
together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from ...errors import RerankerError, UnknownNameError
from ...model import Resource
from ..candidates import Candidate, Pool, hit
from ..fusion import blend

if TYPE_CHECKING:
    from ...llm import LLM
    from ...settings import Settings

__all__ = ["LOOKED_AT", "Passage", "Reranker", "load_reranker", "rerank"]

LOOKED_AT = 30  # candidates, at least, that get a second look

_KNOWN = ("onnx:<folder>", "fastembed:<model>", "llm")


class Passage(Struct, frozen=True):
    """What is judged of a candidate."""

    id: str
    text: str  # in a chat with who says it and when
    source: str
    trust: str  # told | read | derived


class Reranker(Protocol):
    """Judges passages by the question.

    `name` is what it is called in errors. `scores` gives each passage a finite number, the higher
    the better it answers the question; only their order and distances within one call count, so any
    scale will do. It may be called from any thread, and raises `RerankerError` or `ModelError` when
    it cannot judge: never a made-up number.
    """

    @property
    def name(self) -> str: ...

    def scores(self, question: str, passages: Sequence[Passage]) -> Sequence[float]: ...


def load_reranker(name: str, settings: Settings, llm: Callable[[], LLM]) -> Reranker:
    """The reranker that a name stands for; its model is loaded when first used.

    Args:
        name: `onnx:<folder>` (a cross-encoder's `model.onnx` and `tokenizer.json`),
            `fastembed:<model>` (extra), or `llm` (the language model that is configured).
        settings: how many threads a model may use.
        llm: gives the caller of the language model.

    Raises:
        UnknownNameError: no reranker has this name.
        MissingExtraError: the extra it needs is not installed.
    """
    provider, _, model = name.partition(":")
    match provider:
        case "onnx" if model:
            from .cross_encoder import CrossEncoder

            return CrossEncoder(model, threads=settings.threads)
        case "fastembed" if model:
            from .cross_encoder import FastReranker

            return FastReranker(model, threads=settings.threads)
        case "llm" if not model:
            from .llm import ModelReranker

            return ModelReranker(llm())
    raise UnknownNameError("reranker", name, _KNOWN)


def rerank(pool: Pool, reranker: Reranker, question: str, *, count: int, weight: float) -> None:
    """Raise the best `count` candidates by what the reranker says of them, the first by `weight`,
    the last by nothing.

    Raises:
        RerankerError: it did not give one finite number for each passage.
    """
    looked_at = pool.best(count)
    if not looked_at:
        return
    scores = [
        float(score) for score in reranker.scores(question, [_passage(one) for one in looked_at])
    ]
    if len(scores) != len(looked_at) or not all(map(isfinite, scores)):
        raise RerankerError(
            f"the reranker {reranker.name} answered {len(scores)} numbers, or one that is none, to "
            f"{len(looked_at)} passages",
            remedy="ask without it",
            reranker=reranker.name,
        )
    by_id = {one.record.id: score for one, score in zip(looked_at, scores, strict=True)}
    shares = blend(by_id)
    for rank, id in enumerate(sorted(by_id, key=lambda id: -by_id[id]), 1):
        Pool.weigh(pool.candidates[id], "rerank", weight * shares[id], rank=rank, score=by_id[id])


def _passage(candidate: Candidate) -> Passage:
    record, found = candidate.record, hit(candidate)
    if not isinstance(record, Resource):
        return Passage(record.id, f"{record.name}: {record.summary}", found.source, "derived")
    said_by = record.metadata.get("speaker")
    when = f" ({record.starts_at.date().isoformat()})" if record.starts_at else ""
    text = f"{said_by}{when}: {record.content}" if said_by else record.content
    return Passage(record.id, text, found.source, record.trust)
