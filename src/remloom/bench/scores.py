"""How well evidence was found: of each question, and of many.

frac@k is the share of a question's evidence among the first k ids that were returned, each counted
once; all@k is whether all of it is there; MRR the reciprocal rank of the first. "budget" is the
share of the evidence in the texts that were returned, from the first on, until a budget of tokens
is used up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from msgspec import Struct

from ..retrieve.prompt_context import count_tokens
from .data import Question
from .process import Answer

MEASURES = ("frac@5", "frac@10", "all@10", "frac@20", "MRR", "budget")
_RESAMPLES = 2000
_MOST_PIECES = 3  # of evidence, told apart


class QuestionScore(Struct):
    """A question that has an answer, and how it went.

    Attributes:
        values: of `MEASURES`.
    """

    kind: str
    pieces: str  # of evidence: "1", "2", "3+"
    values: tuple[float, ...]


class Group(Struct, frozen=True):
    """Means over questions."""

    questions: int
    scores: dict[str, float]


def score(
    question: Question, answer: Answer, texts: Mapping[str, str], budget: int
) -> QuestionScore:
    """Score an answer; `texts` has those of the documents, by id."""
    # what is of no document takes a rank, too
    distinct = dict.fromkeys(id or at for at, (id, _) in enumerate(answer.found))
    found = [rank for rank, id in enumerate(distinct) if id in question.gold]
    wanted = len(question.gold)

    def fraction(k: int) -> float:
        return sum(rank < k for rank in found) / wanted

    values = (
        fraction(5),
        fraction(10),
        float(fraction(10) == 1),
        fraction(20),
        1 / (found[0] + 1) if found else 0.0,
        len(question.gold & _within(answer, texts, budget)) / wanted,
    )
    pieces = str(wanted) if wanted < _MOST_PIECES else f"{_MOST_PIECES}+"
    return QuestionScore(question.kind, pieces, values)


def _within(answer: Answer, texts: Mapping[str, str], budget: int) -> Collection[str]:
    read = set()
    for id, text in answer.found:
        budget -= count_tokens(texts.get(id, "") if text is None else text, None)
        if budget < 0:
            break
        read.add(id)
    return read


def group(scores: Sequence[QuestionScore]) -> Group:
    means = np.mean([one.values for one in scores], axis=0)
    return Group(len(scores), dict(zip(MEASURES, means.tolist(), strict=True)))


def groups(
    scores: Sequence[QuestionScore], by: Callable[[QuestionScore], str]
) -> dict[str, Group]:
    """Means by what `by` says of each question; the groups in the order of their names."""
    names = sorted(Counter(map(by, scores)))
    return {name: group([one for one in scores if by(one) == name]) for name in names}


def differences(
    scores: Sequence[QuestionScore], first: Sequence[QuestionScore]
) -> dict[str, tuple[float, float, float]]:
    """How much higher each mean is than that of another memory on the same questions, and the
    ends of a 95 % interval (paired bootstrap over questions, percentiles)."""
    apart = np.array([one.values for one in scores]) - np.array([one.values for one in first])
    random = np.random.default_rng(7)
    means = np.array(
        [apart[random.integers(0, len(apart), len(apart))].mean(axis=0) for _ in range(_RESAMPLES)]
    )
    low, high = np.percentile(means, (2.5, 97.5), axis=0)
    rows = zip(apart.mean(axis=0).tolist(), low.tolist(), high.tolist(), strict=True)
    return dict(zip(MEASURES, rows, strict=True))
