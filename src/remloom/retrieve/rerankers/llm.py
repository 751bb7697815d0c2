"""Reranking by a language model: it sees all passages at once and names those that help."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ...errors import ReplyError
from ...llm import LLM
from ...llm.prompts import Quote
from .base import Passage


class Helpful(Struct, frozen=True):
    """The numbers of the passages that help, from 1, the most helpful first."""

    numbers: list[int]


class ModelReranker:
    """One call of the model for each question. See `base.Reranker`."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self.name = llm.name

    def scores(self, question: str, passages: Sequence[Passage]) -> list[float]:
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
