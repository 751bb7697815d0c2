"""Calibration: what a confidence came true at, learned from answers of the user."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

__all__ = ["ENOUGH", "Answer", "Calibration", "calibrate_by"]

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


class _Block:
    """Neighbouring answers that are held to be equally likely."""

    def __init__(self) -> None:
        self.probabilities = 0.0  # their sum
        self.right = 0
        self.count = 0

    def add(self, probability: float, right: bool) -> None:
        self.probabilities += probability
        self.right += right
        self.count += 1

    def merge(self, other: _Block) -> None:
        self.probabilities += other.probabilities
        self.right += other.right
        self.count += other.count

    @property
    def share(self) -> float:
        return self.right / self.count

    @property
    def knot(self) -> Knot:
        return self.probabilities / self.count, self.share


def _isotonic(answers: Sequence[Answer]) -> tuple[Knot, ...]:
    """Fit the curve that never falls and has the least squared error.

    By pooling adjacent violators: neighbours of which the first was right more often become one.
    """
    blocks: list[_Block] = []
    for block in _by_probability(_with_surprises(answers)):
        blocks.append(block)
        while len(blocks) > 1 and blocks[-2].share >= blocks[-1].share:
            last = blocks.pop()
            blocks[-1].merge(last)
    return tuple(block.knot for block in blocks)


def _with_surprises(answers: Sequence[Answer]) -> list[Answer]:
    """The answers with one more at each end that went against it.

    So no confidence becomes 0 or 1, however uniform the answers are.
    """
    lowest, highest = min(answers)[0], max(answers)[0]
    return [(lowest, True), *answers, (highest, False)]


def _by_probability(answers: Iterable[Answer]) -> list[_Block]:
    """One block for each probability, in order."""
    blocks: dict[float, _Block] = {}
    for probability, right in sorted(answers):
        blocks.setdefault(probability, _Block()).add(probability, right)
    return list(blocks.values())


def _at(knots: Sequence[Knot], probability: float) -> float:
    place = bisect_right(knots, probability, key=lambda knot: knot[0])
    if place == 0:
        return knots[0][1]
    if place == len(knots):
        return knots[-1][1]
    (left, low), (right, high) = knots[place - 1], knots[place]
    return low + (high - low) * (probability - left) / (right - left)
