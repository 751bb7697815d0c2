"""On planted lives, whose values are known at any time, a belief is as sure as it is often right."""

from __future__ import annotations

import pytest
from bench.quality.calibration import (
    BRIER,
    ECE,
    MISSPECIFIED,
    MISSPECIFIED_ECE,
    RIGHT,
    SEED,
    Life,
    after_answers,
    answers,
    bayes,
    beta_bernoulli,
    latest,
    learned_from,
    lives,
    score,
)

from remloom.profile.beliefs.reliability import Constants


@pytest.fixture(scope="module")
def asked() -> list[Life]:
    # of fewer, even a perfect forecaster misses the bars now and then
    return lives(4_000, SEED)


@pytest.fixture(scope="module")
def told() -> list[Life]:
    return lives(300, SEED + 1)


def test_the_filter_is_right_and_knows_how_often(asked: list[Life]) -> None:
    found = score(answers(bayes(), asked))
    assert found.right >= RIGHT
    assert found.brier <= BRIER
    assert found.ece <= ECE


def test_with_wrong_constants_it_still_knows_how_often_it_is_right(asked: list[Life]) -> None:
    assert score(answers(MISSPECIFIED, asked)).ece <= MISSPECIFIED_ECE


def test_answers_of_the_user_do_not_harm_it(asked: list[Life], told: list[Life]) -> None:
    found = after_answers(bayes(), asked, told)
    assert found.brier <= BRIER
    assert found.ece <= ECE


def test_answers_of_the_user_mend_a_number_that_was_no_probability(
    asked: list[Life], told: list[Life]
) -> None:
    assert score(answers(beta_bernoulli, asked)).ece > 0.1
    assert after_answers(beta_bernoulli, asked, told).ece < 0.06


def test_it_is_right_more_often_than_the_latest_word(asked: list[Life]) -> None:
    assert score(answers(bayes(), asked)).right > score(answers(latest, asked)).right + 0.04


def test_it_learns_that_its_sources_are_worse_than_thought() -> None:
    asked = lives(2_000, SEED, worse=0.1)
    learned = learned_from(lives(300, SEED + 1, worse=0.1))
    claim = {"source": "chat", "signal": "explicit_preference"}
    assert learned.reliability(**claim) == pytest.approx(0.82, abs=0.03)
    before = score(answers(bayes(Constants()), asked))
    after = score(answers(bayes(learned), asked))
    assert after.brier < before.brier
    assert after.ece < before.ece
