"""The filter over the values of a slot: its closed forms, its properties, and its limits."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remloom.profile.beliefs.filter import Posterior, hazard_of, level, strength

START = datetime(2024, 1, 1, tzinfo=UTC)
VALUES = ["tea", "coffee", "water", "milk", "mate", "juice"]

# at its extremes a probability is all rounding; there the limits are tested, not the laws
reliabilities = st.floats(0.01, 0.99)
alternatives = st.integers(2, 8)
hazards = st.floats(0, 0.1)
days = st.floats(0, 5_000)
pieces = st.tuples(st.sampled_from(VALUES), reliabilities, st.booleans())
timed_pieces = st.tuples(st.sampled_from(VALUES), reliabilities, st.booleans(), days)


def day(number: float) -> datetime:
    return START + timedelta(days=number)


def observed(posterior: Posterior, *seen: tuple[str, float, bool]) -> Posterior:
    for value, reliability, against in seen:
        posterior = posterior.observe(value, reliability, against=against)
    return posterior


def replayed(posterior: Posterior, seen: list[tuple[str, float, bool, float]]) -> Posterior:
    for value, reliability, against, at in sorted(seen, key=lambda piece: piece[3]):
        posterior = posterior.observe(value, reliability, against=against, at=day(at))
    return posterior


def everything(posterior: Posterior) -> list[float]:
    return [posterior.probability(value) for value in VALUES]


def heard(posterior: Posterior, value: str) -> Posterior:
    """The same, but that the value was mentioned: beyond the alternatives it makes one more."""
    return msgspec.structs.replace(posterior, values={value: 0.0, **posterior.values})


def rest(posterior: Posterior) -> float:
    """How likely it is that the slot has a value that nobody mentioned."""
    return 1 - sum(probability for _, probability in posterior.ranked())


@st.composite
def posteriors(draw: st.DrawFn) -> Posterior:
    empty = Posterior(alternatives=draw(alternatives), hazard=draw(hazards), at=START)
    return observed(empty, *draw(st.lists(pieces, max_size=6)))


# closed forms


@pytest.mark.parametrize("count", [2, 3, 4, 12])
def test_nothing_is_known_beforehand(count: int) -> None:
    empty = Posterior(alternatives=count)
    assert empty.probability("tea") == pytest.approx(1 / count)
    assert rest(empty) == pytest.approx(1)
    assert empty.ranked() == []


@pytest.mark.parametrize("count", [2, 4, 9])
@pytest.mark.parametrize("reliability", [0.55, 0.8, 0.98])
def test_one_piece_of_evidence_is_as_sure_as_its_source(count: int, reliability: float) -> None:
    said = Posterior(alternatives=count).observe("tea", reliability)
    assert said.probability("tea") == pytest.approx(reliability)
    assert rest(said) == pytest.approx(1 - reliability)
    assert said.probability("coffee") == pytest.approx((1 - reliability) / (count - 1))


def test_evidence_multiplies_as_the_formula_says() -> None:
    said = observed(Posterior(alternatives=4), ("tea", 0.9, False), ("coffee", 0.8, False))
    tea, coffee, other = 0.9 * 0.2 / 3, 0.1 / 3 * 0.8, 0.1 / 3 * 0.2 / 3
    total = tea + coffee + 2 * other
    assert said.ranked() == [
        ("tea", pytest.approx(tea / total)),
        ("coffee", pytest.approx(coffee / total)),
    ]
    assert rest(said) == pytest.approx(2 * other / total)


def test_evidence_against_multiplies_as_the_formula_says() -> None:
    said = Posterior(alternatives=4).observe("tea", 0.9, against=True)
    total = 0.1 + 3 * 0.9
    assert said.probability("tea") == pytest.approx(0.1 / total)
    assert said.probability("coffee") == pytest.approx(0.9 / total)


def test_of_two_alternatives_one_against_is_one_for_the_other() -> None:
    against = Posterior(alternatives=2).observe("holds", 0.9, against=True)
    assert against.probability("holds") == pytest.approx(0.1)
    assert rest(against) == pytest.approx(0.9)


@pytest.mark.parametrize("count", [2, 4])
def test_what_is_known_fades_as_the_formula_says(count: int) -> None:
    said = Posterior(alternatives=count, hazard=0.002).observe("tea", 0.9, at=START)
    later = said.after(day(100))
    left = math.exp(-0.002 * 100 * count / (count - 1))
    expected = 1 / count + (0.9 - 1 / count) * left
    assert later.probability("tea") == pytest.approx(expected)
    assert rest(later) == pytest.approx(1 - expected)
    assert later.at == day(100)


@pytest.mark.parametrize("count", [2, 4, 10])
def test_half_of_what_is_known_is_gone_after_a_half_life(count: int) -> None:
    said = Posterior(alternatives=count, hazard=hazard_of(90, count))
    later = said.observe("tea", 0.95, at=START).after(day(90))
    assert later.probability("tea") - 1 / count == pytest.approx((0.95 - 1 / count) / 2)


def test_the_worked_example_of_a_change_of_mind() -> None:
    drinks = Posterior(alternatives=4, hazard=hazard_of(365, 4))
    drinks = drinks.observe("coffee", 0.9, at=day(0)).observe("coffee", 0.9, at=day(30))
    assert drinks.probability("coffee") > 0.98
    changed = drinks.observe("tea", 0.95, at=day(400))
    assert changed.ranked()[0][0] == "tea"
    assert changed.probability("coffee") > changed.probability("milk")


def test_a_closed_slot_of_which_all_was_said_has_no_rest() -> None:
    said = observed(Posterior(alternatives=2), ("tea", 0.9, False), ("coffee", 0.6, False))
    assert rest(said) == pytest.approx(0)
    assert sum(dict(said.ranked()).values()) == pytest.approx(1)


def test_more_values_than_alternatives_make_more_alternatives() -> None:
    said = observed(Posterior(alternatives=2), *((value, 0.7, False) for value in VALUES))
    assert everything(said) == pytest.approx([1 / len(VALUES)] * len(VALUES))
    assert rest(said) == pytest.approx(0)


def test_the_seeds_numbers_of_strength() -> None:
    reached = [strength([True] * count) for count in range(1, 7)]
    assert reached == pytest.approx([0.30, 0.45, 0.555, 0.6285, 0.680, 0.716], abs=1e-3)
    assert reached == pytest.approx([0.8 - 0.5 * 0.7**n for n in range(6)])


def test_a_contradiction_takes_strength_but_not_below_the_floor() -> None:
    assert strength([True, True, False]) == pytest.approx(0.30)
    assert strength([True, False]) == pytest.approx(0.15)
    assert strength([True, False, False, False]) == pytest.approx(0.10)
    assert strength([True, False, False, True]) == pytest.approx(0.10 + 0.7 * 0.3)


def test_without_evidence_there_is_no_strength() -> None:
    assert strength([]) == 0
    assert strength([False]) == 0
    assert strength([False, True]) == pytest.approx(0.30)


def test_strength_never_passes_its_cap() -> None:
    assert 0.79 < strength([True] * 10_000) <= 0.8


def test_levels_begin_at_one_three_and_five_independent_pieces() -> None:
    assert [level(count) for count in range(1, 7)] == [
        "tentative",
        "tentative",
        "established",
        "established",
        "confident",
        "confident",
    ]


# properties


@given(posteriors(), st.permutations(range(4)), st.lists(pieces, min_size=4, max_size=4))
def test_the_order_of_evidence_of_one_time_does_not_matter(
    start: Posterior, order: list[int], seen: list[tuple[str, float, bool]]
) -> None:
    one = observed(start, *seen)
    other = observed(start, *(seen[number] for number in order))
    assert everything(one) == pytest.approx(everything(other))


@given(posteriors(), st.sampled_from(VALUES), st.floats(0.51, 0.99))
def test_evidence_for_a_value_makes_it_likelier(
    start: Posterior, value: str, reliability: float
) -> None:
    start = heard(start, value)
    said = start.observe(value, reliability)
    assert said.probability(value) >= start.probability(value)
    assert said.values[value] > start.values[value]
    for other in start.values.keys() - {value}:
        assert said.probability(other) <= start.probability(other) * (1 + 1e-12)


@given(posteriors(), st.sampled_from(VALUES), st.floats(0.51, 0.99))
def test_evidence_against_a_value_makes_it_less_likely(
    start: Posterior, value: str, reliability: float
) -> None:
    start = heard(start, value)
    said = start.observe(value, reliability, against=True)
    assert said.probability(value) <= start.probability(value)
    assert said.values[value] < start.values[value]
    for other in start.values.keys() - {value}:
        assert said.probability(other) >= start.probability(other) * (1 - 1e-12)


@given(posteriors(), st.sampled_from(VALUES), reliabilities)
def test_evidence_for_and_against_of_one_reliability_leave_two_alternatives_as_they_were(
    start: Posterior, value: str, reliability: float
) -> None:
    if start.alternatives == 2:
        both = start.observe(value, reliability).observe(value, reliability, against=True)
        assert everything(both) == pytest.approx(everything(heard(start, value)))


@given(posteriors(), days)
def test_time_moves_everything_towards_evenness_and_never_past_it(
    start: Posterior, passed: float
) -> None:
    later = start.after(day(passed))
    even = 1 / max(start.alternatives, len(start.values))
    for value in start.values:
        before, now = start.probability(value), later.probability(value)
        assert min(before, even) - 1e-9 <= now <= max(before, even) + 1e-9


@given(posteriors(), days, days)
def test_time_may_pass_in_parts(start: Posterior, first: float, second: float) -> None:
    whole = start.after(day(first + second))
    parts = start.after(day(first)).after(day(first + second))
    assert everything(parts) == pytest.approx(everything(whole), abs=1e-9)


@given(posteriors(), days)
def test_time_that_goes_backwards_is_no_time(start: Posterior, passed: float) -> None:
    assert start.after(START - timedelta(days=passed)) == start


@given(posteriors(), days)
def test_probabilities_are_never_certain_and_make_one(start: Posterior, passed: float) -> None:
    later = start.after(day(passed))
    assert all(0 < probability < 1 for probability in everything(later))
    total = rest(later) + sum(probability for _, probability in later.ranked())
    assert total == pytest.approx(1, abs=1e-9)


@given(st.lists(timed_pieces, min_size=1, max_size=8, unique_by=lambda piece: piece[3]), st.data())
def test_forgetting_a_piece_is_never_having_seen_it(
    seen: list[tuple[str, float, bool, float]], data: st.DataObject
) -> None:
    empty = Posterior(alternatives=4, hazard=0.001)
    forgotten = data.draw(st.integers(0, len(seen) - 1))
    kept = [piece for number, piece in enumerate(seen) if number != forgotten]
    shuffled = data.draw(st.permutations(kept))
    assert replayed(empty, shuffled) == replayed(empty, kept)


@given(posteriors(), st.sampled_from(VALUES), reliabilities)
def test_observing_changes_no_posterior_that_was_there(
    start: Posterior, value: str, reliability: float
) -> None:
    before = dict(start.values)
    start.observe(value, reliability, at=day(10))
    assert start.values == before


@given(posteriors())
def test_a_posterior_survives_json(start: Posterior) -> None:
    assert msgspec.json.decode(msgspec.json.encode(start), type=Posterior) == start


# limits


def test_a_hundred_thousand_observations_leave_it_able_to_change_its_mind() -> None:
    sure = Posterior(alternatives=4, hazard=hazard_of(365, 4), at=START)
    for _ in range(100_000):
        sure = sure.observe("tea", 0.98)
    assert 0.999 < sure.probability("tea") < 1
    assert 0 < sure.probability("coffee") < 0.001
    faded = sure.after(day(365))
    assert faded.probability("tea") == pytest.approx(0.25 + 0.75 / 2)
    assert faded.observe("coffee", 0.98).ranked()[0][0] == "coffee"


@pytest.mark.parametrize("reliability", [5e-324, 1e-9, 0.5, 1 - 1e-16])
@pytest.mark.parametrize("against", [False, True])
def test_every_reliability_is_safe_over_a_hundred_years(reliability: float, against: bool) -> None:
    said = Posterior(alternatives=4, hazard=0.01, at=START)
    for _ in range(1_000):
        said = said.observe("tea", reliability, against=against)
    for passed in (1e-6, 1, 36_525):
        assert all(0 < probability < 1 for probability in everything(said.after(day(passed))))
    assert said.after(day(36_525)).probability("tea") == pytest.approx(0.25)


def test_what_never_changes_does_not_fade() -> None:
    said = Posterior(alternatives=4).observe("tea", 0.9, at=START)
    assert said.after(day(36_525)).probability("tea") == pytest.approx(0.9)


@pytest.mark.parametrize("hazard", [5e-324, 1e-300, 1e300])
def test_extreme_hazards_are_safe(hazard: float) -> None:
    said = Posterior(alternatives=2, hazard=hazard).observe("tea", 0.9, at=START)
    assert 0.5 <= said.after(day(36_525)).probability("tea") <= 0.9 + 1e-9


def test_what_lasts_for_ever_has_no_hazard() -> None:
    assert hazard_of(math.inf, 4) == 0


@given(posteriors(), days, st.sampled_from(VALUES))
def test_one_value_fades_as_all_of_them_do(start: Posterior, passed: float, value: str) -> None:
    when = START + timedelta(days=passed)
    assert start.probability(value, when) == pytest.approx(start.after(when).probability(value))
