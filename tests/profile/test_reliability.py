"""What is expected of sources, and what the answers of a user teach about them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remloom.errors import InvalidInputError, UnknownNameError
from remloom.profile.beliefs.filter import hazard_of
from remloom.profile.beliefs.reliability import (
    ENOUGH,
    Answer,
    Constants,
    Exposure,
    Outcome,
    calibrate_by,
    learn_constants,
    taxonomy,
)
from remloom.profile.evidence.claim import Signal
from remloom.profile.slots.registry import Slot

START = datetime(2024, 1, 1, tzinfo=UTC)
SIGNALS: tuple[Signal, ...] = get_args(Signal)


def outcome(right: bool, number: int = 0, confidence: float = 0.9, **changed: object) -> Outcome:
    given = {
        "source": "chat",
        "signal": "explicit_preference",
        "extractor": "rules",
        "confidence": confidence,
        "right": right,
        "at": START + timedelta(hours=number),
    }
    return msgspec.convert({**given, **changed}, Outcome)


def humble(count: int, seed: int = 7) -> list[Answer]:
    """Answers about beliefs that were right far more often than they said."""
    rng = random.Random(seed)
    said = [rng.uniform(0.3, 0.6) for _ in range(count)]
    return [(confidence, rng.random() < confidence + 0.35) for confidence in said]


# before any answer


def test_reliabilities_are_better_than_chance() -> None:
    assert set(taxonomy()["other"]) == set(SIGNALS)
    for signals in taxonomy().values():
        assert all(0.5 < reliability < 1 for reliability in signals.values())


@pytest.mark.parametrize("signal", SIGNALS)
def test_a_user_is_believed_before_a_chat_and_a_chat_before_a_page(signal: Signal) -> None:
    sources = ("edit", "chat", "note", "browsing")
    expected = [Constants().reliability(source=source, signal=signal) for source in sources]
    assert expected == sorted(expected, reverse=True)


def test_an_edit_of_the_user_is_as_good_as_it_gets() -> None:
    assert Constants().reliability(source="edit", signal="correction") == 0.98


def test_a_hedge_counts_half_as_much() -> None:
    outright = Constants().reliability(source="chat", signal="explicit_preference")
    hedged = Constants().reliability(source="chat", signal="explicit_preference", confident=False)
    assert 0.5 < hedged < outright
    odds = hedged / (1 - hedged)
    assert odds * odds == pytest.approx(outright / (1 - outright))


def test_a_source_that_nobody_named_counts_as_other() -> None:
    unknown = Constants().reliability(source="fax", signal="correction")
    assert unknown == taxonomy()["other"]["correction"]


def test_an_unknown_signal_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="signal"):
        Constants().reliability(source="chat", signal="corection")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("slot", "expected"),
    [
        (Slot(id="a", hub="preferences", label="A"), 4),
        (Slot(id="a", hub="preferences", label="A", kind="flag"), 2),
        (Slot(id="a", hub="preferences", label="A", kind="list", values=("x", "y", "z")), 2),
        (Slot(id="a", hub="preferences", label="A", kind="choice", values=("x", "y", "z")), 3),
        (Slot(id="a", hub="preferences", label="A", kind="choice", values=("x",)), 2),
        (Slot(id="a", hub="preferences", label="A", alternatives=9), 9),
    ],
)
def test_the_alternatives_of_a_slot(slot: Slot, expected: int) -> None:
    assert slot.cardinality == expected


def test_the_hazard_of_a_slot_is_that_of_its_half_life() -> None:
    slot = Slot(id="diet", hub="soft_identity", label="Diet", half_life=90)
    assert Constants().hazard(slot) == hazard_of(90, 4)


# reliabilities


def test_twenty_answers_count_as_much_as_the_taxonomy() -> None:
    learned = learn_constants([outcome(False, number) for number in range(20)])
    expected = taxonomy()["chat"]["explicit_preference"]
    now = learned.reliability(source="chat", signal="explicit_preference")
    assert now == pytest.approx(expected / 2)


def test_what_is_confirmed_becomes_more_reliable_and_what_is_rejected_less() -> None:
    before = Constants().reliability(source="chat", signal="explicit_preference")
    confirmed = learn_constants([outcome(True)])
    rejected = learn_constants([outcome(False)])
    asked = {"source": "chat", "signal": "explicit_preference"}
    assert rejected.reliability(**asked) < before < confirmed.reliability(**asked) < 1


@pytest.mark.parametrize(
    "other",
    [{"source": "note"}, {"signal": "correction"}, {"extractor": "qwen"}, {"confident": False}],
)
def test_answers_teach_of_no_other_source_signal_or_extractor(other: dict[str, object]) -> None:
    learned = learn_constants([outcome(False, number) for number in range(50)])
    asked = {"source": "chat", "signal": "explicit_preference", "extractor": "rules", **other}
    assert learned.reliability(**asked) == Constants().reliability(**asked)


def test_enough_answers_outweigh_the_taxonomy() -> None:
    outcomes = [outcome(number % 10 < 7, number) for number in range(2_000)]
    now = learn_constants(outcomes).reliability(source="chat", signal="explicit_preference")
    assert now == pytest.approx(0.7, abs=0.01)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 20), st.floats(0, 1))), st.randoms())
def test_the_order_of_answers_does_not_matter(
    seen: list[tuple[bool, int, float]], rng: random.Random
) -> None:
    outcomes = [outcome(right, number, confidence) for right, number, confidence in seen]
    shuffled = rng.sample(outcomes, len(outcomes))
    assert learn_constants(outcomes) == learn_constants(shuffled)


# hazards


def test_a_class_that_changed_as_expected_keeps_its_hazard() -> None:
    slot = Slot(id="a", hub="preferences", label="A", half_life=90)
    exposure = Exposure(stability="volatile", days=500, changes=2, hazard=0.004)
    assert learn_constants([], [exposure]).hazard(slot) == Constants().hazard(slot)


@pytest.mark.parametrize(("changes", "factor"), [(0, 0.5), (4, 1.0), (12, 2.0)])
def test_a_class_that_changed_more_often_fades_faster(changes: int, factor: float) -> None:
    slot = Slot(id="a", hub="preferences", label="A", half_life=90)
    other = Slot(id="b", hub="preferences", label="B", half_life=3650)
    exposure = Exposure(stability="volatile", days=1_000, changes=changes, hazard=0.004)
    learned = learn_constants([], [exposure])
    assert learned.hazard(slot) == pytest.approx(Constants().hazard(slot) * factor)
    assert learned.hazard(other) == Constants().hazard(other)


def test_impossible_outcomes_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="from 0 to 1"):
        Outcome(
            source="chat",
            signal="correction",
            extractor="rules",
            confidence=1.2,
            right=True,
            at=START,
        )


# calibration


def test_few_answers_calibrate_nothing() -> None:
    assert calibrate_by(humble(ENOUGH - 1)) is None
    assert Constants().calibrate(0.4) == 0.4


def test_enough_answers_calibrate_what_is_too_humble() -> None:
    calibration = calibrate_by(humble(ENOUGH))
    assert calibration is not None
    assert calibration.brier < calibration.raw_brier
    assert calibration.apply(0.45) == pytest.approx(0.8, abs=0.1)


def test_what_is_calibrated_already_stays_as_it_is() -> None:
    rng = random.Random(7)
    said = [rng.random() for _ in range(2_000)]
    assert calibrate_by([(share, rng.random() < share) for share in said]) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30), st.data())
def test_a_calibration_never_falls_and_is_never_certain(
    seen: list[Answer], data: st.DataObject
) -> None:
    # whatever was answered, these make it worth while
    calibration = calibrate_by([*seen, *humble(ENOUGH * 2)])
    assert calibration is not None
    asked = sorted(data.draw(st.lists(st.floats(0, 1), min_size=2)))
    shown = [calibration.apply(probability) for probability in asked]
    assert all(0 < share < 1 for share in shown)
    assert all(a <= b + 1e-12 for a, b in pairwise(shown))


def test_answers_that_are_all_right_make_nobody_certain() -> None:
    answers = [(0.5, True)] * ENOUGH
    calibration = calibrate_by(answers)
    assert calibration is not None
    assert 0.99 < calibration.apply(0.5) < 1


def test_the_pieces_of_one_belief_have_one_answer() -> None:
    outcomes = [outcome(True, number // 3, 0.4) for number in range(ENOUGH * 3 - 3)]
    assert learn_constants(outcomes).calibration is None
    one_more = [*outcomes, outcome(True, ENOUGH, 0.4)]
    assert learn_constants(one_more).calibration is not None


# as values


@pytest.fixture(scope="module")
def learned() -> Constants:
    outcomes = [
        outcome(right, number, share) for number, (share, right) in enumerate(humble(ENOUGH))
    ]
    hedged = outcome(False, confident=False, extractor="qwen")
    exposures = [Exposure(stability="volatile", days=1_000, changes=7, hazard=0.004)]
    return learn_constants([*outcomes, hedged], exposures)


def test_constants_survive_json(learned: Constants) -> None:
    assert msgspec.json.decode(msgspec.json.encode(learned), type=Constants) == learned


def test_what_was_learned_is_said(learned: Constants) -> None:
    said = {one.name: one for one in learned.learned()}
    assert list(said) == [
        "confidence",
        "explicit_preference, chat, rules",
        "volatile",
        "explicit_preference, chat, qwen, hedged",
    ]
    spoken = said["explicit_preference, chat, rules"]
    assert (spoken.prior, spoken.count) == (0.92, ENOUGH)
    assert spoken.now == learned.reliability(source="chat", signal="explicit_preference")
    assert (said["volatile"].prior, said["volatile"].count) == (1.0, 7)
    assert said["volatile"].now == pytest.approx(11 / 8)
    assert said["confidence"].now < said["confidence"].prior


def test_nothing_is_learned_from_nothing() -> None:
    assert learn_constants([]) == Constants()
    assert Constants().learned() == []
