"""A second look at the best candidates, by a reranker: and the contract of rerankers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isfinite
from typing import Protocol

from msgspec import Struct

from ..deadline import Deadline, Overdue, within
from ..errors import RemloomError, RerankerError
from ..model import Resource, Row, trust_of
from .candidates import Candidate, Candidates
from .scores import blend

LOOKED_AT = 30  # candidates, at least, that get a second look


class Passage(Struct, frozen=True):
    """The part of a candidate that is judged."""

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


def rerank(
    candidates: Candidates,
    reranker: Reranker,
    question: str,
    *,
    count: int,
    weight: float,
    seconds: float,
) -> str:
    """Raise the best `count` candidates by the reranker's scores, from `weight` down to nothing.

    Returns why nothing was raised, if it took longer than `seconds`; else an empty string.

    Raises:
        RerankerError: it failed, or did not give one finite number for each passage.
    """
    looked_at = candidates.best(count)
    if not looked_at:
        return ""
    passages = [_passage(candidate) for candidate in looked_at]
    try:
        scoring = partial(_scores, reranker, question, passages)
        scores = within(Deadline.after(seconds), reranker, scoring)
    except Overdue as overdue:
        return f"no second look: the reranker {reranker.name} {overdue}"
    by_id = {one.record.id: score for one, score in zip(looked_at, scores, strict=True)}
    shares = blend(by_id)
    for rank, id in enumerate(sorted(by_id, key=lambda id: -by_id[id]), 1):
        candidates[id].add_share("rerank", weight * shares[id], rank=rank, score=by_id[id])
    return ""


def _scores(reranker: Reranker, question: str, passages: Sequence[Passage]) -> list[float]:
    """What a reranker answers; one of somebody else's may raise, or answer, anything."""
    try:
        scores = [float(score) for score in reranker.scores(question, passages)]
    except RemloomError:
        raise
    except Exception as error:
        raise RerankerError(
            f"the reranker {reranker.name} failed: {type(error).__name__}: {error}",
            remedy="ask without it",
            reranker=reranker.name,
        ) from error
    if len(scores) != len(passages) or not all(map(isfinite, scores)):
        raise RerankerError(
            f"the reranker {reranker.name} answered {len(scores)} numbers, or one that is "
            f"not a number, to {len(passages)} passages",
            remedy="ask without it",
            reranker=reranker.name,
        )
    return scores


def _passage(candidate: Candidate) -> Passage:
    record, source = candidate.record, candidate.as_hit().source
    if not isinstance(record, Resource):
        content = record.text if isinstance(record, Row) else record.summary
        return Passage(record.id, f"{record.name}: {content}", source, trust_of(record))
    text = record.content
    if record.speaker:
        when = f" ({record.starts_at.date().isoformat()})" if record.starts_at else ""
        text = f"{record.speaker}{when}: {text}"
    return Passage(record.id, text, source, record.trust)
