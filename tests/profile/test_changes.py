"""A profile follows a person who changes, and nothing else of it does."""

from __future__ import annotations

import pytest
from bench.quality.profile import AFTER, BEFORE, choices, measure
from bench.quality.profile_context import judge_contexts
from bench.quality.profile_lives import BARS, load
from bench.quality.profile_requests import judge_requests, known, load_requests

LIVES = ("ben", "eli", "fay")  # lists and what is given up, changes of a minute, scopes


def test_the_lives_hold_enough_changes_to_judge_by() -> None:
    turns = [turn for life in load().values() for turn in life]
    assert sum(len(turn.get("changes", ())) for turn in turns) >= 60


def test_the_new_value_holds_the_old_one_does_not_and_nothing_else_moves() -> None:
    lives = load()
    score = measure({name: lives[name] for name in LIVES})
    assert score.collateral == []
    assert score.wrong == []
    assert all(score.share(name) >= bar for name, bar in BARS.items())


def test_an_agent_that_asks_is_given_what_holds_with_the_turn_that_said_so() -> None:
    lives = load()
    score = judge_contexts({name: lives[name] for name in LIVES}, "chat")
    assert score.wrong == []


def test_an_agent_that_does_not_say_what_for_is_mostly_given_it() -> None:
    lives = load()
    score = judge_contexts({name: lives[name] for name in LIVES})
    assert score.share("current") >= 0.8
    assert score.share("retired") == 1


def test_requests_are_given_what_they_need_and_little_that_is_out_of_place() -> None:
    with known() as memory:
        given = judge_requests(memory, load_requests())
    assert given.unsafe == []
    assert given.low() == []


def test_what_is_learnt_from_choices_foresees_the_next_one() -> None:
    before, after = choices()
    assert before >= BEFORE
    assert after >= AFTER


@pytest.mark.parametrize("seed", [1, 2])
def test_a_changed_preference_is_learnt_whoever_chooses(seed: int) -> None:
    assert choices(seed)[1] >= AFTER
