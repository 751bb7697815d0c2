"""Reliability: how often what a source says is so, how often it changes, and what answers teach.

The taxonomy of `reliabilities.toml` and the half-lives of slots are where it starts. Each time the
user confirms, corrects or rejects a belief, the sources that spoke for it were right or wrong; each
time a value changed, its class of slots is a little less stable than was thought.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct

from ...errors import InvalidInputError, UnknownNameError
from ..evidence.claim import Signal
from ..slots.slot import Slot, Stability
from .filter import hazard_of

_UNNAMED = "other"  # stands for what the taxonomy does not name
_PRIOR_ANSWERS = 20  # the taxonomy counts as much as so many answers
_PRIOR_CHANGES = 4  # the half-life of a slot counts as much as so many changes


ENOUGH = 300  # answers, below which a calibration does more harm than good
_FOLDS = 5  # a fifth of the answers is held out, each in its turn

# how sure it was, and whether it was right
Answer: TypeAlias = tuple[float, bool]
# a confidence, and how often what had it was right
Knot: TypeAlias = tuple[float, float]


class Outcome(Struct, frozen=True, kw_only=True):
    """What the user's answer says of one piece of evidence.

    Args:
        source: the kind of source that it came from: chat, note, ….
        signal: how it was said.
        extractor: what found it: "rules", or the name of a model.
        confidence: how sure the filter was before the user answered, without calibration. The
            pieces of one belief share its answer: of those of one time and one confidence, one
            alone counts for the calibration.
        right: whether it was so when it was said; what has changed since was right.
        at: when the user answered.
        confident: False for what only a hedge said.
    """

    source: str
    signal: Signal
    extractor: str
    confidence: float
    right: bool
    at: datetime
    confident: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.confidence <= 1:
            raise InvalidInputError(f"a confidence lies from 0 to 1, not at {self.confidence}")


class Exposure(Struct, frozen=True, kw_only=True):
    """For how long a slot was watched, and how often its value changed."""

    stability: Stability
    days: float  # from its first evidence to its last
    changes: int
    hazard: float  # what was expected, in changes per day


class Reliability(Struct, frozen=True, kw_only=True):
    """How often one kind of claim, found by one extractor, was right."""

    source: str
    signal: Signal
    extractor: str
    confident: bool
    right: int
    wrong: int

    @property
    def name(self) -> str:
        hedged = [] if self.confident else ["hedged"]
        return ", ".join([self.signal, self.source, self.extractor, *hedged])

    @property
    def prior(self) -> float:
        return _expected(self.source, self.signal, self.confident)

    @property
    def value(self) -> float:
        """The mean of its Beta posterior: the taxonomy counts as 20 answers."""
        answers = self.right + self.wrong
        return (_PRIOR_ANSWERS * self.prior + self.right) / (_PRIOR_ANSWERS + answers)


class Hazard(Struct, frozen=True, kw_only=True):
    """How often slots of one class changed, and how often they were expected to."""

    stability: Stability
    changes: int
    expected: float

    @property
    def factor(self) -> float:
        """By what the hazards of its slots are multiplied: the mean of a Gamma posterior."""
        return (_PRIOR_CHANGES + self.changes) / (_PRIOR_CHANGES + self.expected)


class Learned(Struct, frozen=True, kw_only=True):
    """One thing that was learned, for people.

    Args:
        kind: reliability, the share of claims that are right; hazard, by what the expected number
            of changes is multiplied; calibration, the Brier score of answers that were held out.
        name: of what: "correction, chat, rules", "volatile", "confidence".
        prior: what it was.
        now: what it is.
        count: from how many answers, or changes.
    """

    kind: Literal["reliability", "hazard", "calibration"]
    name: str
    prior: float
    now: float
    count: int


class Constants(Struct, frozen=True, kw_only=True):
    """The numbers that beliefs are computed with; without arguments, those before any answer.

    It is what `learn_constants` makes of answers, and can be kept as JSON.

    >>> round(Constants().reliability(source="chat", signal="correction"), 2)
    0.96
    """

    reliabilities: tuple[Reliability, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    calibration: Calibration | None = None

    def reliability(
        self,
        *,
        source: str,
        signal: Signal,
        extractor: str = "rules",
        confident: bool = True,
    ) -> float:
        """Return how often such a claim is so, between 0 and 1. A source that the taxonomy does
        not name counts as "other"; a hedge moves the odds by the square root alone."""
        kind = (source, signal, extractor, confident)
        for known in self.reliabilities:
            if kind == (known.source, known.signal, known.extractor, known.confident):
                return known.value
        return _expected(source, signal, confident)

    def hazard(self, slot: Slot) -> float:
        """Return how often a slot changes, per day: by its half-life, and what its class did."""
        expected = hazard_of(slot.half_life, slot.cardinality)
        for known in self.hazards:
            if known.stability == slot.stability:
                return expected * known.factor
        return expected

    def calibrate(self, probability: float) -> float:
        return self.calibration.apply(probability) if self.calibration else probability

    def learned(self) -> list[Learned]:
        """Return what answers taught, the most often answered first."""
        found = [
            Learned(
                kind="reliability",
                name=known.name,
                prior=known.prior,
                now=known.value,
                count=known.right + known.wrong,
            )
            for known in self.reliabilities
        ]
        found += [
            Learned(kind="hazard", name=one.stability, prior=1.0, now=one.factor, count=one.changes)
            for one in self.hazards
        ]
        if self.calibration:
            found.append(
                Learned(
                    kind="calibration",
                    name="confidence",
                    prior=self.calibration.raw_brier,
                    now=self.calibration.brier,
                    count=self.calibration.answers,
                )
            )
        return sorted(found, key=lambda one: (-one.count, one.kind, one.name))


def learn_constants(outcomes: Iterable[Outcome], exposures: Iterable[Exposure] = ()) -> Constants:
    """Learn reliabilities, hazards and calibration from all answers and changes there were.

    The same answers give the same constants, in whatever order they come.
    """
    answered = list(outcomes)
    return Constants(
        reliabilities=_reliabilities(answered),
        hazards=_hazards(exposures),
        calibration=calibrate_by(_answers(answered)),
    )


@cache
def taxonomy() -> dict[str, dict[Signal, float]]:
    text = files(__package__).joinpath("reliabilities.toml").read_text("utf-8")
    return msgspec.toml.decode(text, type=dict[str, dict[Signal, float]])


def _expected(source: str, signal: Signal, confident: bool) -> float:
    known = taxonomy()
    signals = known[_UNNAMED] | known.get(source, {})
    reliability = signals.get(signal)
    if reliability is None:
        raise UnknownNameError("signal", signal, tuple(signals))
    if confident:
        return reliability
    odds = math.sqrt(reliability / (1 - reliability))
    return odds / (1 + odds)


def _reliabilities(outcomes: Iterable[Outcome]) -> tuple[Reliability, ...]:
    counts = Counter(
        (outcome.source, outcome.signal, outcome.extractor, outcome.confident, outcome.right)
        for outcome in outcomes
    )
    kinds = sorted({kind[:-1] for kind in counts})
    return tuple(
        Reliability(
            source=source,
            signal=signal,
            extractor=extractor,
            confident=confident,
            right=counts[source, signal, extractor, confident, True],
            wrong=counts[source, signal, extractor, confident, False],
        )
        for source, signal, extractor, confident in kinds
    )


def _hazards(exposures: Iterable[Exposure]) -> tuple[Hazard, ...]:
    changes: Counter[Stability] = Counter()
    expected: dict[Stability, list[float]] = {}
    for exposure in exposures:
        changes[exposure.stability] += exposure.changes
        days = expected.setdefault(exposure.stability, [])
        days.append(exposure.days * exposure.hazard)
    return tuple(
        Hazard(stability=stability, changes=changes[stability], expected=math.fsum(parts))
        for stability, parts in sorted(expected.items())
    )


def _answers(outcomes: Iterable[Outcome]) -> list[Answer]:
    """What the user answered, by time; several pieces of one belief have one answer."""
    answers: dict[tuple[datetime, float], bool] = {}
    for outcome in outcomes:
        answered = outcome.at, outcome.confidence
        # one that was partly wrong was wrong, in whatever order its pieces come
        answers[answered] = answers.get(answered, True) and outcome.right
    return [(confidence, right) for (_, confidence), right in sorted(answers.items())]


class Calibration(Struct, frozen=True, kw_only=True):
    """A curve that never falls, from the filter's probability to how often it was right."""

    knots: tuple[Knot, ...]  # by probability; between them it is straight, outside them level
    answers: int  # that it was learned from
    brier: float  # mean squared error of answers that were held out, with it
    raw_brier: float  # the same without it

    def apply(self, probability: float) -> float:
        return _at(self.knots, probability)


def calibrate_by(answers: Sequence[Answer]) -> Calibration | None:
    """Learn a calibration of answers by time; None if there are too few, or if it does not lower
    the Brier score of answers that it was not learned from."""
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
    """Fit the curve that never falls and has the least squared error, by pooling adjacent
    violators: neighbours of which the first was right more often become one."""
    blocks: list[_Block] = []
    for probability, some in groupby(sorted(_with_surprises(answers)), key=itemgetter(0)):
        rights = [right for _, right in some]
        block = _Block(probability * len(rights), sum(rights), len(rights))
        while blocks and blocks[-1].share >= block.share:
            block = blocks.pop().merged(block)
        blocks.append(block)
    return tuple((block.probabilities / block.answers, block.share) for block in blocks)


def _with_surprises(answers: Sequence[Answer]) -> list[Answer]:
    """The answers with one more at each end that went against it: so no confidence becomes 0 or
    1, however uniform the answers are."""
    lowest, highest = min(answers)[0], max(answers)[0]
    return [(lowest, True), *answers, (highest, False)]


def _at(knots: Sequence[Knot], probability: float) -> float:
    probabilities, shares = zip(*knots, strict=True)
    return float(np.interp(probability, probabilities, shares))
