"""Calibration: what a confidence came true at, learned from answers of the user."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct

ENOUGH = 300  # answers, below which a calibration does more harm than good
_FOLDS = 5  # a fifth of the answers is held out, each in its turn

# how sure it was, and whether it was right
Answer: TypeAlias = tuple[float, bool]
# a confidence, and how often what had it was right
Knot: TypeAlias = tuple[float, float]


class Calibration(Struct, frozen=True, kw_only=True):
    """A curve that never falls, from the filter's probability to how often it was right.

    Args:
        knots: its points, by probability; between them it is straight, outside them level.
        answers: how many it was learned from.
        brier: the mean squared error of answers that were held out, with it.
        raw_brier: the same without it.
    """

    knots: tuple[Knot, ...]
    answers: int
    brier: float
    raw_brier: float

    def apply(self, probability: float) -> float:
        """Return how often what had this probability was right."""
        return _at(self.knots, probability)


def calibrate_by(answers: Sequence[Answer]) -> Calibration | None:
    """Learn a calibration; None if there are too few answers or it would not help.

    It is kept only if it lowers the Brier score of answers that it was not learned from.

    Args:
        answers: by time.
    """
    if len(answers) < ENOUGH:
        return None
    raw, calibrated = 0.0, 0.0
    for fold in range(_FOLDS):
        kept = [answer for place, answer in enumerate(answers) if place % _FOLDS != fold]
        knots = _isotonic(kept)
        for probability, right in answers[fold::_FOLDS]:
            raw += (probability - right) ** 2
            calibrated += (_at(knots, probability) - right) ** 2
    if calibrated >= raw:
        return None
    return Calibration(
        knots=_isotonic(answers),
        answers=len(answers),
        brier=calibrated / len(answers),
        raw_brier=raw / len(answers),
    )


class _Block(NamedTuple):
    """Neighbouring answers that are held to be equally likely."""

    probabilities: float  # their sum
    right: int
    answers: int

    def merged(self, other: _Block) -> _Block:
        return _Block(
            self.probabilities + other.probabilities,
            self.right + other.right,
            self.answers + other.answers,
        )

    @property
    def share(self) -> float:
        return self.right / self.answers


def _isotonic(answers: Sequence[Answer]) -> tuple[Knot, ...]:
    """Fit the curve that never falls and has the least squared error.

    By pooling adjacent violators: neighbours of which the first was right more often become one.
    """
    blocks: list[_Block] = []
    for probability, some in groupby(sorted(_with_surprises(answers)), key=itemgetter(0)):
        rights = [right for _, right in some]
        block = _Block(probability * len(rights), sum(rights), len(rights))
        while blocks and blocks[-1].share >= block.share:
            block = blocks.pop().merged(block)
        blocks.append(block)
    return tuple((block.probabilities / block.answers, block.share) for block in blocks)


def _with_surprises(answers: Sequence[Answer]) -> list[Answer]:
    """The answers with one more at each end that went against it.

    So no confidence becomes 0 or 1, however uniform the answers are.
    """
    lowest, highest = min(answers)[0], max(answers)[0]
    return [(lowest, True), *answers, (highest, False)]


def _at(knots: Sequence[Knot], probability: float) -> float:
    probabilities, shares = zip(*knots, strict=True)
    return float(np.interp(probability, probabilities, shares))
