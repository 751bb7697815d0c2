"""Reranking by a language model: it is shown the passages at once, and names those that help, best
first."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ...errors import ReplyError
from ...llm import LLM
from ...llm.prompts import Quote
from .load import Passage

__all__ = ["ModelReranker"]


class Helpful(Struct, frozen=True):
    """The numbers of the passages that help, from 1, the most helpful first."""

    numbers: list[int]


class ModelReranker:
    """One call of the model for each question. See `load.Reranker`."""

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
        numbers = list(
            dict.fromkeys(number for number in helpful.numbers if 1 <= number <= len(passages))
        )
        if helpful.numbers and not numbers:
            raise ReplyError(
                f"{self.name} named passages that there are not: {helpful.numbers[:10]}",
                remedy="ask without reranking, or with a larger model",
                raw=str(helpful.numbers),
            )
        found = [0.0] * len(passages)
        for place, number in enumerate(numbers):
            found[number - 1] = float(len(passages) - place)
        return found
