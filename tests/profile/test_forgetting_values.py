"""Forgetting what is believed: one value, its marks, and what still says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remloom import Memory, Message
from remloom.profile.service import Profiles

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
TOWNS = ("Narvik", "Lisbon", "Berlin", "Porto")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        yield memory


def say(memory: Memory, text: str, day: int) -> str:
    [id] = memory.read_chat(
        [Message(speaker="user", text=text, at=AT + timedelta(days=day), id=f"m{day}")],
        uri=f"chat-{day}.json",
    ).ids
    memory.profile.observe()
    return id


def test_one_value_is_forgotten_and_what_was_believed_besides_stays(memory: Memory) -> None:
    first, second = say(memory, "I live in Narvik.", 0), say(memory, "I moved to Lisbon.", 30)
    receipt = memory.profile.forget("location", "Narvik", dry_run=True)
    assert first in receipt.named_in
    assert second not in receipt.named_in
    receipt = memory.profile.forget("location", "Narvik")
    assert receipt.verified
    assert first in receipt.named_in
    assert second not in receipt.named_in
    belief = memory.profile.get("location")
    assert belief is not None
    assert (belief.value, [one.value for one in belief.history]) == ("Lisbon", [])
    # what was said before does not bring it back, what is said again does
    memory.profile.bootstrap()
    assert [one.after for one in memory.profile.history("location")] == ["Lisbon"]
    memory.profile.set("location", "Narvik")
    assert memory.profile.get("location").value == "Narvik"  # type: ignore[union-attr]
    receipt = memory.profile.forget("location")
    assert set(receipt.named_in) >= {first, second}
    assert memory.profile.get("location") is None


@settings(max_examples=20, deadline=None)
@given(
    towns=st.lists(st.sampled_from(TOWNS), min_size=1, max_size=5, unique=True),
    at=st.integers(0, 4),
)
def test_whatever_value_is_forgotten_only_that_is_gone(
    tmp_path_factory: pytest.TempPathFactory, towns: list[str], at: int
) -> None:
    gone = towns[at % len(towns)]
    with Memory.open(tmp_path_factory.mktemp("home"), embedder="none") as memory:
        for town in towns:
            memory.profile.set("location", town)
        memory.profile.forget("location", gone)
        known = [change.after for change in memory.profile.history("location")]
        assert set(known) - {None} == set(towns) - {gone}


def test_what_is_said_again_after_it_was_hidden_and_forgotten_is_not_hidden(
    memory: Memory,
) -> None:
    say(memory, "I'm allergic to peanuts.", 0)
    memory.profile.hide("allergies", "peanuts")
    memory.profile.forget("allergies", "peanuts")
    memory.profile.set("allergies", "peanuts")
    assert "peanuts" in str(memory.profile.context("What is for lunch?"))


def test_a_change_lowers_no_source_and_a_mistake_does(memory: Memory) -> None:
    say(memory, "I live in Berlin. I'm vegetarian.", 0)
    memory.profile.observe()
    sure = memory.profile.get("dietary_style").confidence  # type: ignore[union-attr]
    moved = memory.profile.correct("location", "Lisbon", reason="changed", note="moved")
    assert (moved.value, [one.value for one in moved.history]) == ("Lisbon", ["Berlin"])
    after = memory.profile.get("dietary_style").confidence  # type: ignore[union-attr]
    assert after == pytest.approx(sure, abs=1e-4)
    assert memory.profile.learned() == []
    say(memory, "I live in Porto.", 60)
    memory.profile.set("location", "Porto")
    memory.profile.correct("dietary_style", "vegan")
    assert [one.kind for one in memory.profile.learned()].count("reliability") == 1


def test_an_item_of_a_list_that_has_changed_was_so_until_then(memory: Memory) -> None:
    say(memory, "I like jazz.", 0)
    memory.profile.set("hobbies", "chess")
    memory.profile.correct("hobbies", "go", was="chess", reason="changed")
    hobbies = {str(one.value): one for one in memory.profile.show().beliefs if "hobb" in one.slot}
    assert hobbies["go"].holds
    assert not hobbies["chess"].holds
    assert hobbies["chess"].until is not None


@pytest.mark.parametrize("query", ["", "Where do I live?"])
def test_what_never_was_so_is_told_to_no_agent_and_what_has_changed_is(
    memory: Memory, query: str
) -> None:
    memory.profile.set("location", "Lisbon")
    memory.profile.correct("location", "Porto")
    assert "Lisbon" not in memory.profile.context(query).text
    (held,) = memory.profile.get("location").history  # type: ignore[union-attr]
    assert (held.value, held.was_wrong) == ("Lisbon", True)

    memory.profile.correct("location", "Braga", reason="changed")
    assert 'before: "Porto"' in memory.profile.context(query).text

    memory.profile.reject("location", "Braga")
    assert "Braga" not in memory.profile.context(query).text


Steps = Callable[[Profiles], object]
GIVEN = "Lisbon"


@pytest.mark.parametrize(
    ("steps", "is_told"),
    [
        # what was wrong stays so, whatever is set on the same day
        ([lambda p: p.correct("location", "Porto"), lambda p: p.set("location", "Porto", hard=True)], False),
        ([lambda p: p.retire("location"), lambda p: p.reject("location", GIVEN)], False),
        # what was true stays so, whatever is confirmed on the same day
        ([lambda p: p.correct("location", "Porto", reason="changed"), lambda p: p.correct("location", "Porto")], True),
        # wrong once, and true later
        ([lambda p: p.correct("location", "Porto"), lambda p: p.set("location", GIVEN),
          lambda p: p.correct("location", "Faro", reason="changed")], True),
        # behind what was wrong stands what was so before it
        ([lambda p: p.correct("location", "Oslo", reason="changed"), lambda p: p.correct("location", "Porto")], True),
    ],
)  # fmt: skip
def test_each_time_that_a_value_held_was_right_or_wrong_by_itself(
    memory: Memory, steps: list[Steps], is_told: bool
) -> None:
    memory.profile.set("location", GIVEN)
    for step in steps:
        step(memory.profile)
    told = memory.profile.context("Where do I live?").text + memory.profile.context("").text
    assert (GIVEN in told) == is_told


def test_that_an_allergy_is_no_longer_given_is_told_though_it_was_wrong(memory: Memory) -> None:
    memory.profile.set("allergies", "peanuts")
    memory.profile.reject("allergies", "peanuts")
    assert "peanuts" in memory.profile.context("What is for lunch?").text
