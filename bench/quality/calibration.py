"""Is a belief as sure as it is often right? Planted lives, whose values are known at any time.

    python -m bench.quality.calibration [--page]

Eight thousand slots, each with two to eight possible values, of which one holds; it changes every
500 to 1,500 days on average. 1 + Poisson(2.5) pieces of evidence come from sources as reliable as
the taxonomy says; one piece in twenty says what is not so. After 30 to 720 days it is asked what
holds.

Shows by formula how often it was right, the Brier score (mean squared error of the confidence) and
the expected calibration error in ten bins, before and after 300 answers of a user. With `--page` it
also writes the table and the plot of docs/profile-confidence.md.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from remloom.profile.beliefs.filter import Posterior, hazard_of
from remloom.profile.beliefs.reliability import (
    ENOUGH,
    Answer,
    Constants,
    Outcome,
    calibrate_by,
    learn_constants,
)
from remloom.profile.evidence.claim import Signal

from .tables import put_into_page

SLOTS = 8_000
SEED = 7
START = datetime(2024, 1, 1, tzinfo=UTC)
DOCS = Path(__file__).resolve().parents[2] / "docs"

# what the filter has to reach on this world
RIGHT = 0.78
BRIER = 0.14
ECE = 0.03
MISSPECIFIED_ECE = 0.05

_BINS = 10
_DRAWN = 30  # beliefs in a bin, below which its share says little
_AGAINST = 0.05  # the share of pieces that say what is not so
# kinds of source, signals, and how many of a hundred pieces are such
_KINDS: tuple[tuple[str, Signal, int], ...] = (
    ("edit", "correction", 5),
    ("chat", "correction", 5),
    ("chat", "explicit_preference", 20),
    ("chat", "context_signal", 10),
    ("note", "explicit_preference", 10),
    ("chat", "acceptance", 10),
    ("session", "explicit_preference", 10),
    ("chat", "implicit_behavior", 15),
    ("browsing", "implicit_behavior", 15),
)
_SHARES = [share for *_, share in _KINDS]


@dataclass(frozen=True)
class Piece:
    """What a source says of a slot."""

    value: int
    against: bool
    source: str
    signal: Signal
    day: float
    right: bool  # whether it was so when it was said


@dataclass(frozen=True)
class Life:
    """A slot: what was said of it, and what held when it was asked."""

    alternatives: int
    hazard: float  # changes per day
    pieces: list[Piece]  # by time
    asked: float  # day
    truth: int


# what it believes, and how sure it is
Guess: TypeAlias = tuple[int, float]
Formula: TypeAlias = Callable[[Life], Guess]


def lives(count: int, seed: int, *, worse: float = 0.0) -> list[Life]:
    """Plant as many slots.

    Args:
        worse: by how much sources are less reliable than the taxonomy says.
    """
    rng = random.Random(seed)
    return [_life(rng, worse) for _ in range(count)]


def _life(rng: random.Random, worse: float) -> Life:
    alternatives = rng.randint(2, 8)
    hazard = 1 / rng.uniform(500, 1_500)
    asked = rng.uniform(30, 720)
    held = _held(rng, alternatives, hazard, asked)
    days = sorted(rng.uniform(0, asked) for _ in range(1 + _poisson(rng, 2.5)))
    pieces = [_piece(rng, alternatives, _value_at(held, day), day, worse) for day in days]
    return Life(alternatives, hazard, pieces, asked, held[-1][1])


def _held(
    rng: random.Random, alternatives: int, hazard: float, until: float
) -> list[tuple[float, int]]:
    """The values that held, each with the day it began."""
    held = [(0.0, rng.randrange(alternatives))]
    while (day := held[-1][0] + rng.expovariate(hazard)) < until:
        held.append((day, _other(rng, alternatives, held[-1][1])))
    return held


def _value_at(held: Sequence[tuple[float, int]], day: float) -> int:
    return next(value for began, value in reversed(held) if began <= day)


def _piece(rng: random.Random, alternatives: int, truth: int, day: float, worse: float) -> Piece:
    source, signal, _ = rng.choices(_KINDS, _SHARES)[0]
    reliability = Constants().reliability(source=source, signal=signal) - worse
    against = rng.random() < _AGAINST
    # said against a value: it is each other one r to 1 - r times as often as the true one
    chance = reliability
    if against:
        chance = (1 - reliability) / (1 - reliability + (alternatives - 1) * reliability)
    true = rng.random() < chance
    value = truth if true else _other(rng, alternatives, truth)
    return Piece(value, against, source, signal, day, true != against)


def _other(rng: random.Random, alternatives: int, value: int) -> int:
    return (value + rng.randrange(1, alternatives)) % alternatives


def _poisson(rng: random.Random, mean: float) -> int:
    count, chance = 0, rng.random()
    while chance > math.exp(-mean):
        count += 1
        chance *= rng.random()
    return count


# formulas


def bayes(
    constants: Constants | None = None,
    *,
    humbler: float = 0.0,
    slower: float = 1.0,
    alternatives: int = 0,
    half_life: float = 0.0,
) -> Formula:
    """Make the filter, as it is or with constants that are wrong.

    Args:
        constants: default: the taxonomy.
        humbler: by how much each source is taken to be less reliable.
        slower: by what the hazard is divided.
        alternatives: how many values each slot is taken to have; 0: as many as it has.
        half_life: in days, that each slot is taken to have; 0: that of its hazard.
    """
    known = constants or Constants()

    def guess(life: Life) -> Guess:
        count = alternatives or life.alternatives
        hazard = hazard_of(half_life, count) if half_life else life.hazard / slower
        posterior = Posterior(alternatives=count, hazard=hazard)
        for piece in life.pieces:
            posterior = posterior.observe(
                str(piece.value),
                known.reliability(source=piece.source, signal=piece.signal) - humbler,
                against=piece.against,
                at=START + timedelta(days=piece.day),
            )
        value, confidence = posterior.after(START + timedelta(days=life.asked)).ranked()[0]
        return int(value), confidence

    return guess


def latest(life: Life) -> Guess:
    """The last value that was said, always equally sure."""
    said = [piece.value for piece in life.pieces if not piece.against]
    return (said or [life.pieces[-1].value])[-1], 0.5


@dataclass(frozen=True)
class Rising:
    """A number that rises with each piece for the current value and falls with each against it."""

    base: float
    rate: float
    cap: float
    loss: float
    floor: float
    half_life: float  # days
    least: float = 0.0  # what time leaves

    def __call__(self, life: Life) -> Guess:
        current, sure, since = life.pieces[0].value, 0.0, life.pieces[0].day
        for piece in life.pieces:
            if piece.value == current and not piece.against:
                sure = sure + (self.cap - sure) * self.rate if sure else self.base
            elif piece.value == current or not piece.against:
                sure = max(self.floor, sure - self.loss)
                current = piece.value
            since = piece.day
        left = 0.5 ** ((life.asked - since) / self.half_life)
        return current, max(self.least, sure * left)


def dempster_shafer(life: Life) -> Guess:
    """Belief by Dempster's rule: each piece for a value commits its reliability, faded, to it."""
    doubts: dict[int, float] = defaultdict(lambda: 1.0)
    for piece in life.pieces:
        if not piece.against:
            doubts[piece.value] *= 1 - _reliability(piece) * _left(life, piece)
    masses = {value: (1 - doubt) / doubt for value, doubt in doubts.items()}
    if not masses:
        return life.pieces[-1].value, 0.0
    value = max(masses, key=lambda one: masses[one])
    return value, masses[value] / (1 + sum(masses.values()))


def beta_bernoulli(life: Life) -> Guess:
    """Faded counts for and against each value, with one of each beforehand."""
    rights: dict[int, float] = defaultdict(float)
    total = 0.0
    for piece in life.pieces:
        weight = _reliability(piece) * _left(life, piece)
        rights[piece.value] += 0.0 if piece.against else weight
        total += weight
    value = max(rights, key=lambda one: rights[one])
    return value, (1 + rights[value]) / (2 + total)


def _reliability(piece: Piece) -> float:
    return Constants().reliability(source=piece.source, signal=piece.signal)


def _left(life: Life, piece: Piece) -> float:
    return math.exp(-life.hazard * (life.asked - piece.day))


MISSPECIFIED = bayes(humbler=0.1, slower=2, alternatives=4)
FORMULAS: dict[str, Formula] = {
    "latest value, always 0.5": latest,
    "0.5, +10 % of the way to 0.95, −0.15; half-life 90 days": Rising(
        0.5, 0.1, 0.95, 0.15, 0.2, 90, 0.2
    ),
    "strength: 0.30, 0.45, 0.555, … −0.15; half-life a year": Rising(0.3, 0.3, 0.8, 0.15, 0.1, 365),
    "Dempster-Shafer, faded masses": dempster_shafer,
    "Beta-Bernoulli, faded counts": beta_bernoulli,
    "Bayes filter, half-life 90 days": bayes(half_life=90),
    "Bayes filter, reliabilities 0.10 too low, hazards half, always 4 alternatives": MISSPECIFIED,
    "**Bayes filter**": bayes(),
}


# scores


@dataclass
class Bin:
    """Answers of about one confidence."""

    count: int = 0
    right: int = 0
    confidence: float = 0.0  # their sum

    @property
    def said(self) -> float:
        return self.confidence / self.count

    @property
    def was(self) -> float:
        return self.right / self.count


@dataclass
class Score:
    """How often answers were right, and how well that was known."""

    right: float
    brier: float
    ece: float
    bins: list[Bin] = field(default_factory=list)


def answers(formula: Formula, asked: Sequence[Life]) -> list[Answer]:
    """How sure the formula is of each, and whether it was right."""
    guesses = ((formula(life), life.truth) for life in asked)
    return [(confidence, value == truth) for (value, confidence), truth in guesses]


def score(given: Sequence[Answer]) -> Score:
    bins = [Bin() for _ in range(_BINS)]
    for confidence, right in given:
        one = bins[min(_BINS - 1, int(confidence * _BINS))]
        one.count += 1
        one.right += right
        one.confidence += confidence
    filled = [one for one in bins if one.count]
    return Score(
        right=sum(right for _, right in given) / len(given),
        brier=sum((confidence - right) ** 2 for confidence, right in given) / len(given),
        ece=sum(one.count * abs(one.was - one.said) for one in filled) / len(given),
        bins=filled,
    )


def after_answers(formula: Formula, asked: Sequence[Life], told: Sequence[Life]) -> Score:
    """The score once the user has answered about other slots; without gain nothing changes."""
    calibration = calibrate_by(answers(formula, told))
    given = answers(formula, asked)
    if calibration is None:
        return score(given)
    return score([(calibration.apply(confidence), right) for confidence, right in given])


def learned_from(told: Sequence[Life]) -> Constants:
    """What the filter learns of its sources from answers about these slots."""
    guess = bayes()
    outcomes = []
    for number, life in enumerate(told):
        _, confidence = guess(life)
        outcomes += [
            Outcome(
                source=piece.source,
                signal=piece.signal,
                extractor="rules",
                confidence=confidence,
                right=piece.right,
                at=START + timedelta(minutes=number),
            )
            for piece in life.pieces
        ]
    return Constants(reliabilities=learn_constants(outcomes).reliabilities)


# what is shown


def main() -> None:
    parser = argparse.ArgumentParser(description="Is a belief as sure as it is often right?")
    parser.add_argument("--page", action="store_true", help="write the page's figures")
    arguments = parser.parse_args()
    asked, told = lives(SLOTS, SEED), lives(ENOUGH, SEED + 1)
    sections = {"formulas": _formula_table(asked, told), "learning": _learning_table()}
    print("\n\n".join(sections.values()))
    if arguments.page:
        put_into_page(sections, DOCS / "profile-confidence.md")
        _plot(asked)
        print("written: docs/profile-confidence.md, docs/img/calibration.svg")
    _check(score(answers(bayes(), asked)), score(answers(MISSPECIFIED, asked)))


def _formula_table(asked: Sequence[Life], told: Sequence[Life]) -> str:
    rows = [
        "| formula | right | Brier | ECE | Brier, ECE after 300 answers |",
        "|---|---|---|---|---|",
    ]
    for name, formula in FORMULAS.items():
        raw, after = score(answers(formula, asked)), after_answers(formula, asked, told)
        rows.append(
            f"| {name} | {raw.right:.3f} | {raw.brier:.3f} | {raw.ece:.3f}"
            f" | {after.brier:.3f}, {after.ece:.3f} |"
        )
    return "\n".join(rows)


def _learning_table() -> str:
    asked = lives(SLOTS, SEED, worse=0.1)
    rows = ["| answers of the user | right | Brier | ECE |", "|---|---|---|---|"]
    for count in (0, 100, 300, 1_000):
        constants = learned_from(lives(count, SEED + 1, worse=0.1))
        found = score(answers(bayes(constants), asked))
        rows.append(f"| {count:,} | {found.right:.3f} | {found.brier:.3f} | {found.ece:.3f} |")
    return "\n".join(rows)


def _check(filtered: Score, misspecified: Score) -> None:
    """Fail if a bar is not reached."""
    bars = {
        f"right {filtered.right:.3f} is below {RIGHT}": filtered.right < RIGHT,
        f"Brier {filtered.brier:.3f} is above {BRIER}": filtered.brier > BRIER,
        f"ECE {filtered.ece:.3f} is above {ECE}": filtered.ece > ECE,
        f"misspecified ECE {misspecified.ece:.3f} is above {MISSPECIFIED_ECE}": (
            misspecified.ece > MISSPECIFIED_ECE
        ),
    }
    missed = [bar for bar, is_missed in bars.items() if is_missed]
    if missed:
        raise SystemExit("\n".join(missed))


def _plot(asked: Sequence[Life]) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.hashsalt": "remloom", "font.size": 9})
    drawn = {
        "Bayes filter": ("**Bayes filter**", "tab:blue"),
        "with wrong constants": (
            "Bayes filter, reliabilities 0.10 too low, hazards half, always 4 alternatives",
            "tab:orange",
        ),
        "strength, taken for a probability": (
            "strength: 0.30, 0.45, 0.555, … −0.15; half-life a year",
            "tab:gray",
        ),
    }
    figure, (above, below) = pyplot.subplots(
        2, 1, figsize=(6, 6), height_ratios=(3, 1), sharex=True, layout="constrained"
    )
    above.plot((0, 1), (0, 1), color="black", linewidth=0.8, linestyle=":")
    for label, (name, colour) in drawn.items():
        bins = score(answers(FORMULAS[name], asked)).bins
        found = [one for one in bins if one.count >= _DRAWN]
        said, was = [one.said for one in found], [one.was for one in found]
        above.errorbar(
            said,
            was,
            yerr=[_spread(one) for one in found],
            color=colour,
            label=label,
            marker="o",
            markersize=4,
            linewidth=1.2,
        )
    found = score(answers(bayes(), asked)).bins
    counts = [one.count for one in found]
    bars = below.bar([one.said for one in found], counts, width=0.06, color="tab:blue")
    below.bar_label(bars, fmt="{:,.0f}", fontsize=7)
    above.set(ylabel="share that was right", xlim=(0, 1), ylim=(0, 1))
    below.set(xlabel="confidence", ylabel="beliefs", ylim=(0, max(counts) * 1.2))
    above.legend(frameon=False, fontsize=8)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / "img" / "calibration.svg", metadata={"Date": None})


def _spread(one: Bin) -> float:
    """Two standard errors of the share that was right."""
    return 2 * math.sqrt(one.was * (1 - one.was) / one.count)


if __name__ == "__main__":
    main()
