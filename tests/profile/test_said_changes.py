"""What has changed and what was wrong are told apart: in what holds, in history, as of a time, and
in what agents are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory, Message
from remloom.errors import InvalidInputError, RemloomError

NOW = datetime.now(UTC)
SPRING = NOW - timedelta(days=90)
WEEK = NOW - timedelta(days=7)
QUERY = "Which café near my home is open tonight?"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        messages = [
            Message(speaker="user", text="I live in Berlin.", at=SPRING),
            Message(speaker="user", text="I'm allergic to peanuts.", at=SPRING),
        ]
        memory.read_chat(messages, uri="spring.json")
        memory.profile.observe()
        yield memory


def _told(memory: Memory, slot: str) -> list[tuple[Any, ...]]:
    """What stands in the history of a slot: before, after, why, and the note; newest first."""
    return [(one.before, one.after, one.reason, one.note) for one in memory.profile.history(slot)]


def test_a_move_holds_since_its_day_and_the_old_town_until_then(memory: Memory) -> None:
    assert 'Location: "Berlin"' in memory.profile.context(QUERY).text
    since = NOW - timedelta(days=3)
    moved = memory.profile.correct(
        "location", "Lisbon", reason="changed", since=since, note="new job"
    )
    assert (moved.value, moved.since, moved.state) == ("Lisbon", since, "current")
    assert [(one.value, one.until, one.was_wrong) for one in moved.history] == [
        ("Berlin", since, False)
    ]
    assert _told(memory, "location")[0] == ("Berlin", "Lisbon", "changed", "new job")
    then = memory.profile.get("location", as_of=WEEK)
    assert then is not None
    assert (then.value, then.retracted_at) == ("Berlin", None)
    text = memory.profile.context(QUERY).text
    assert f'Location: "Lisbon" (since {since:%Y-%m-%d}, certain, before: "Berlin")' in text
    assert 'Location: "Berlin"' in memory.profile.context(QUERY, as_of=WEEK).text


def test_an_allergy_that_never_was_is_retracted_also_as_of_before(memory: Memory) -> None:
    memory.profile.correct("allergies", "almonds", was="peanuts", note="mixed up")
    assert [one.value for one in memory.profile.beliefs() if one.label == "Allergies"] == [
        "almonds"
    ]
    then = memory.profile.get("allergies", as_of=WEEK)
    assert then is not None
    assert (then.value, then.holds, then.was_wrong) == ("peanuts", True, False)
    assert then.retracted_at is not None
    assert then.retracted_at > WEEK
    assert ("peanuts", None, "wrong", "mixed up") in _told(memory, "allergies")
    text = memory.profile.context("What shall I cook?").text
    assert '- Allergies: "almonds"' in text
    assert '- Allergies: "peanuts"' not in text
    assert "never so" in memory.profile.context("What shall I cook?", as_of=WEEK).text


def test_an_allergy_that_was_outgrown_is_no_mistake(memory: Memory) -> None:
    memory.profile.retire("allergies", "peanuts", at=WEEK, note="tested")
    assert _told(memory, "allergies")[0] == ("peanuts", None, "changed", "tested")
    (then,) = (one for one in memory.profile.beliefs(as_of=SPRING + timedelta(days=1))
               if one.label == "Allergies")  # fmt: skip
    assert (then.value, then.retracted_at) == ("peanuts", None)
    text = memory.profile.context("What shall I cook?").text
    assert '- Allergies: "peanuts"' not in text
    assert 'before: "peanuts" → no longer so' in text


def test_what_is_never_so_and_ended_before_is_retracted(memory: Memory) -> None:
    memory.profile.retire("location")
    memory.profile.reject("location", "Berlin")
    then = memory.profile.get("location", as_of=WEEK)
    assert then is not None
    assert then.retracted_at is not None


def test_a_correction_of_the_same_value_retracts_nothing(memory: Memory) -> None:
    memory.profile.correct("location", "Berlin")
    then = memory.profile.get("location", as_of=WEEK)
    assert then is not None
    assert then.retracted_at is None


def test_a_favourite_ends_the_one_before(memory: Memory) -> None:
    for colour in ("blue", "green"):
        memory.profile.set("extras.favourite_colour", colour)
    assert memory.profile.show().values("extras.favourite_colour") == ["green"]
    assert _told(memory, "extras.favourite_colour")[0][:3] == ("blue", "green", "changed")


def test_what_was_said_before_an_edit_does_not_dispute_it(memory: Memory) -> None:
    late = Message(speaker="user", text="I live in Berlin.", at=NOW - timedelta(days=1))
    memory.read_chat([late], uri="late.json")
    memory.profile.observe()
    moved = memory.profile.set("location", "Lisbon", since=WEEK)
    assert (moved.value, moved.state, moved.since) == ("Lisbon", "current", WEEK)


def test_since_may_reach_back_where_nothing_else_held(memory: Memory) -> None:
    since = datetime(2019, 4, 1, tzinfo=UTC)
    assert memory.profile.set("location", "Berlin", since=since).since == since


BAD: dict[str, Callable[[Any], object]] = {
    "no reason": lambda profile: profile.correct("location", "Lisbon", reason="because"),
    "wrong since": lambda profile: profile.correct("location", "Lisbon", since=WEEK),
    "no zone": lambda profile: profile.set("location", "Lisbon", since=datetime(2026, 1, 1)),
    "to come": lambda profile: profile.correct(
        "location", "Lisbon", reason="changed", since=NOW + timedelta(days=2)
    ),
    "too early": lambda profile: profile.correct(
        "location", "Lisbon", reason="changed", since=SPRING - timedelta(days=2)
    ),
    "set too early": lambda profile: profile.set(
        "location", "Lisbon", since=SPRING - timedelta(days=2)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_is_refused_and_nothing_is_written(memory: Memory, name: str) -> None:
    before = memory.profile.show().beliefs
    with pytest.raises(InvalidInputError):
        BAD[name](memory.profile)
    assert [one.id for one in memory.profile.show().beliefs] == [one.id for one in before]


def test_an_edit_that_is_taken_back_leaves_what_was(memory: Memory) -> None:
    before = memory.profile.history("location")
    memory.profile.correct("location", "Lisbon", reason="changed", since=WEEK)
    (run,) = {one.run for one in memory.profile.why("location").evidence if one.source == "edit"}
    memory.runs.rollback(run)
    assert memory.profile.history("location") == before


def test_nothing_of_a_value_remains_that_is_forgotten_with_its_source(memory: Memory) -> None:
    memory.profile.correct("location", "Lisbon", reason="changed", since=WEEK)
    memory.profile.correct("allergies", "almonds", was="peanuts")
    memory.forget("spring.json")
    left = repr((memory.profile.show(), memory.profile.changes(), memory.profile.export()))
    assert "Berlin" not in left
    assert "I'm allergic" not in left
    assert "peanuts" not in left
    assert "Lisbon" in left


def test_an_end_stays_as_long_as_something_says_what_it_ended(memory: Memory) -> None:
    again = Message(speaker="user", text="I'm allergic to peanuts.", at=WEEK)
    memory.read_chat([again], uri="week.json")
    memory.profile.observe()
    memory.profile.reject("allergies", "peanuts")
    memory.forget("spring.json")
    assert memory.profile.get("allergies") is None
    assert _told(memory, "allergies")[0][:3] == ("peanuts", None, "wrong")
    memory.forget("week.json")
    assert "peanuts" not in repr((memory.profile.changes(), memory.profile.export()))


def test_reasons_and_times_are_exported_imported_and_copied(memory: Memory, tmp_path: Path) -> None:
    memory.profile.correct("location", "Lisbon", reason="changed", since=WEEK, note="new job")
    memory.profile.correct("allergies", "almonds", was="peanuts", note="mixed up")
    memory.profile.export(tmp_path / "me.json")
    with Memory.open(tmp_path / "other", embedder="none") as other:
        other.profile.import_(tmp_path / "me.json")
        for slot in ("location", "allergies"):
            assert _told(other, slot) == _told(memory, slot)
        then = other.profile.get("allergies", as_of=WEEK)
        assert then is not None
        assert then.retracted_at is not None
        assert then.retracted_at > WEEK


def test_two_edits_at_one_reading_of_the_clock_are_both_kept(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = datetime.now(UTC)

    class Stopped(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return at

    monkeypatch.setattr("remloom.profile.editing.datetime", Stopped)
    monkeypatch.setattr("remloom.profile.beliefs.belief_store.datetime", Stopped)
    towns = ["Lisbon", "Porto", "Faro", "Braga"]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda town: memory.profile.set("location", town), towns))
        done = list(pool.map(lambda one: _quietly(memory.profile.correct, "location", one), "AB"))
    belief = memory.profile.get("location")
    assert belief is not None
    assert belief.state == "current"
    held = [one.value for one in belief.history] + [belief.value]
    assert sorted(map(str, held)) == sorted(["Berlin", *towns, *done])
    assert len({one.since for one in belief.history} | {belief.since}) == len(held)


def _quietly(edit: Callable[..., Any], slot: str, value: str) -> str:
    try:
        edit(slot, value)
    except RemloomError as error:  # pragma: no cover - none is expected
        return str(error)
    return value
