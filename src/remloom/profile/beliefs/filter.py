"""A Bayes filter over the values of a slot: how sure it is, and how that fades.

A user has one of K values at a time and now and then changes it. What sources say makes a value
likelier or less so; time moves everything back towards 1/K. Both have closed forms, so a belief is
computed again from its evidence whenever it is asked for, without steps of time in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

Level: TypeAlias = Literal["tentative", "established", "confident"]

# strength, as the seed has it
_BASE = 0.30  # after the first piece of evidence
_RATE = 0.30  # of the way to the cap, for each further one
_CAP = 0.80
_CONTRADICTION = 0.15  # what a piece against takes away
_FLOOR = 0.10

_ESTABLISHED = 3  # independent pieces
_CONFIDENT = 5

# nobody is certain of anything: probabilities keep this far from 0 and from 1
_DOUBT = 1e-12
_SECONDS_A_DAY = 86_400.0


class Posterior(Struct, frozen=True, kw_only=True):
    """How likely each value of a slot is, given what was observed until `at`.

    It is a value: `after` and `observe` return another one. Values that nobody mentioned share what
    is left. Where more are mentioned than there are alternatives, there are as many as mentioned.

    Args:
        alternatives: K, how many values were likely beforehand; at least 2, which is also that of a
            filter for "holds" and "does not hold".
        hazard: how often the value changes, per day, from 0: never.
        values: the values that were mentioned, each with the natural logarithm of how many times
            likelier it is than one that was not.
        at: until when it was observed; None: there was nothing yet.

    >>> tea = Posterior(alternatives=4).observe("tea", 0.9)
    >>> round(tea.probability("tea"), 3)
    0.9
    >>> tea.observe("coffee", 0.9).observe("coffee", 0.8).ranked()[0][0]
    'coffee'
    """

    alternatives: int
    hazard: float = 0.0
    values: dict[str, float] = {}
    at: datetime | None = None

    def after(self, when: datetime) -> Posterior:
        """Return what is left of it at a later time.

        Every probability moves towards 1/K, by `1/K + (p - 1/K) e^(-h t K/(K-1))` after t days. A
        time before `at` counts as no time.
        """
        if self.at is not None and when <= self.at:
            return self
        return replace(self, values=self._faded_values(when), at=when)

    def observe(
        self,
        value: str,
        reliability: float,
        *,
        against: bool = False,
        at: datetime | None = None,
    ) -> Posterior:
        """Return what follows from one more piece of evidence.

        For a value: its probability times r, each other one times (1-r)/(K-1). Against it: its own
        times 1-r, each other one times r. The order of pieces of the same time does not matter.

        Args:
            value: the value that it speaks of.
            reliability: r, how often what such a source says is so, between 0 and 1. Below 1/K (and
                below 1/2 for one against) it speaks for the opposite.
            against: whether it says that the value is not so.
            at: when it was said; time passes until then. None: no time passes.
        """
        now = self if at is None else self.after(at)
        # relative to a value that nobody mentioned: so what is said of one moves no other
        odds = math.log(reliability) - math.log1p(-reliability)
        change = -odds if against else odds + math.log(self.alternatives - 1)
        changed = {**now.values, value: now.values.get(value, 0.0) + change}
        return replace(now, values=changed)

    def probability(self, value: str, when: datetime | None = None) -> float:
        """Return how likely it is that the slot has this value; never quite 0 or 1.

        Of a value that nobody mentioned: as likely as each of its kind.

        Args:
            when: as `after(when)` has it; default without time passing.
        """
        if when is not None and value not in self.values:
            # one more than there are alternatives counts only once it is asked for
            return self.after(when).probability(value)
        weights = {value: 0.0, **self.values}
        total = _log_total(weights.values(), self._unmentioned(weights))
        likely = math.exp(weights[value] - total)
        if when is not None and self.at is not None and when > self.at:
            days = (when - self.at).total_seconds() / _SECONDS_A_DAY
            count = max(self.alternatives, len(weights))
            kept = math.exp(-self.hazard * days * count / (count - 1))
            likely = 1 / count + (likely - 1 / count) * kept
        return min(max(likely, _DOUBT), 1 - _DOUBT)

    def ranked(self) -> list[tuple[str, float]]:
        """Return the values that were mentioned with their probabilities, the likeliest first."""
        # likelier ones may both be as good as certain: their weights still tell them apart
        in_order = sorted(self.values, key=lambda value: (-self.values[value], value))
        return [(value, self.probability(value)) for value in in_order]

    def _unmentioned(self, weights: dict[str, float]) -> int:
        return max(0, self.alternatives - len(weights))

    def _faded_values(self, when: datetime) -> dict[str, float]:
        if self.at is None or not self.values or not self.hazard:
            return self.values
        days = (when - self.at).total_seconds() / _SECONDS_A_DAY
        count = max(self.alternatives, len(self.values))
        log_kept = -self.hazard * days * count / (count - 1)
        # a hazard too small for its product with time to be told from 0
        if not log_kept:
            return self.values
        # in logarithms: after many observations the probabilities themselves are 0 and 1
        total = _log_total(self.values.values(), self._unmentioned(self.values))
        evened = math.log(-math.expm1(log_kept)) - math.log(count) + total
        base = _log_sum(evened, log_kept)
        return {
            value: _log_sum(evened, log_kept + weight) - base
            for value, weight in self.values.items()
        }


def hazard_of(half_life_days: float, alternatives: int) -> float:
    """Return the hazard, per day, at which half of what is known is gone after so many days.

    Source: `p - 1/K` halves every `ln 2 (K-1)/(K h)` days.

    >>> round(hazard_of(365, 2), 5)
    0.00095
    """
    return math.log(2) * (alternatives - 1) / (alternatives * half_life_days)


def strength(pieces: Iterable[bool]) -> float:
    """Return how much evidence there is, from 0 to 0.8: not how likely it is that it is so.

    The nth piece for it brings it to `0.8 - 0.5 * 0.7^(n-1)`; one against takes 0.15, down to 0.1.
    Source: seed 4, belief updates.

    Args:
        pieces: in order of time, whether each is for it (True) or against.

    >>> [round(strength([True] * n), 4) for n in range(1, 5)]
    [0.3, 0.45, 0.555, 0.6285]
    """
    reached = 0.0
    for is_for in pieces:
        if is_for:
            reached = reached + (_CAP - reached) * _RATE if reached else _BASE
        else:
            # what never was above the floor is not raised to it
            reached = min(reached, max(_FLOOR, reached - _CONTRADICTION))
    return reached


def level(independent: int) -> Level:
    """Name how well something is supported, by how many pieces do not depend on each other."""
    if independent >= _CONFIDENT:
        return "confident"
    return "established" if independent >= _ESTABLISHED else "tentative"


def _log_total(weights: Iterable[float], unmentioned: int) -> float:
    """The logarithm of the sum of all weights; each value that was not mentioned weighs 1."""
    logs = list(weights)
    if unmentioned:
        logs.append(math.log(unmentioned))
    highest = max(logs)
    return highest + math.log(math.fsum(math.exp(weight - highest) for weight in logs))


def _log_sum(first: float, second: float) -> float:
    """The logarithm of the sum of two numbers that are given by theirs."""
    higher, lower = max(first, second), min(first, second)
    return higher + math.log1p(math.exp(lower - higher))
