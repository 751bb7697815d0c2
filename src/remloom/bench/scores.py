"""How well evidence was found: of each question, and of many.

frac@k is the share of a question's evidence among the first k ids that were returned, each counted
once; all@k is whether all of it is there; MRR the reciprocal rank of the first. "budget" is the
share of the evidence in what was returned, from the first on, until a budget of tokens is used up:
an id costs the tokens of its document, or those of its text if they are more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..retrieve.prompt_context import count_tokens
from .data import BenchQuestion

MEASURES = ("frac@5", "frac@10", "all@10", "frac@20", "MRR", "budget")
_RESAMPLES = 2000
_MOST_PIECES = 3  # of evidence, told apart


class MemoryAnswer(NamedTuple):
    """What a memory returned to a question; `error` says why nothing.

    Attributes:
        found: ids with their text, best first, at most k; None: an id alone.
        cpu: seconds that the processor worked; None: a command does not tell.
        more: whether more than k were returned.
    """

    question: BenchQuestion
    found: list[tuple[str, str | None]]
    seconds: float
    cpu: float | None
    error: str = ""
    more: bool = False

    @property
    def pieces(self) -> str:
        """How much evidence there is: "1", "2", "3+"."""
        count = len(self.question.gold)
        return str(count) if count < _MOST_PIECES else f"{_MOST_PIECES}+"


def score(answer: MemoryAnswer, sizes: Mapping[str, int], budget: int) -> list[float]:
    """Score an answer by each of `MEASURES`; `sizes` are the tokens of the documents, by id."""
    gold = answer.question.gold
    # what is of no document takes a rank, too
    distinct = dict.fromkeys(id or at for at, (id, _) in enumerate(answer.found))
    ranks = [rank for rank, id in enumerate(distinct) if id in gold]
    read: set[str] = set()
    for id, text in answer.found:
        whole = 0 if id in read else sizes.get(id, 0)
        budget -= max(whole, count_tokens(text or "", None))
        if budget < 0:
            break
        read.add(id)
    at5, at10, at20 = (sum(rank < k for rank in ranks) / len(gold) for k in (5, 10, 20))
    first = 1 / (ranks[0] + 1) if ranks else 0.0
    return [at5, at10, float(at10 == 1), at20, first, len(gold & read) / len(gold)]


def means(scores: Sequence[Sequence[float]]) -> dict[str, float]:
    """The mean by each measure, and how many `questions` there are."""
    values = np.mean(scores, axis=0).tolist()
    return {"questions": len(scores), **dict(zip(MEASURES, values, strict=True))}


def differences(
    scores: Sequence[Sequence[float]], first: Sequence[Sequence[float]]
) -> dict[str, dict[str, float]]:
    """How much higher each mean is than that of another memory on the same questions, and the ends
    `low` and `high` of a 95 % interval (paired bootstrap over questions, percentiles)."""
    apart = np.array(scores) - np.array(first)
    random = np.random.default_rng(7)
    drawn = [apart[random.integers(0, len(apart), len(apart))].mean(0) for _ in range(_RESAMPLES)]
    low, high = np.percentile(drawn, (2.5, 97.5), axis=0).tolist()
    rows = zip(MEASURES, apart.mean(0).tolist(), low, high, strict=True)
    return {name: {"mean": mean, "low": low, "high": high} for name, mean, low, high in rows}
