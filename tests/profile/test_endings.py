"""What is said later in plain words ends what was said before of the same matter, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remloom import Memory, Message

SPRING = datetime(2026, 3, 2, 9, tzinfo=UTC)
JUNE = SPRING + timedelta(days=90)
RAMEN, PHO = "My favourite dish is ramen.", "My favourite dish is pho."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        yield memory


def say(memory: Memory, text: str, at: datetime, uri: str = "") -> None:
    memory.read_chat([Message(speaker="user", text=text, at=at)], uri=uri or f"{at:%m}.json")


def holding(memory: Memory, as_of: datetime | None = None) -> set[str]:
    return {str(one.value) for one in memory.profile.beliefs(as_of=as_of)}


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (RAMEN, PHO),
        ("I play tennis every Sunday.", "I no longer play tennis."),
        ("I love tennis.", "I don't play tennis any more."),
        ("Je joue au hockey.", "Je ne joue plus au hockey."),
    ],
)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_the_later_ends_the_earlier_in_whichever_order_they_are_read(
    memory: Memory, earlier: str, later: str, is_reversed: bool
) -> None:
    turns = [(earlier, SPRING), (later, JUNE)]
    for text, at in reversed(turns) if is_reversed else turns:
        say(memory, text, at)
        memory.profile.observe()
    assert holding(memory) == {later}
    assert holding(memory, SPRING + timedelta(days=1)) == {earlier}
    changes = {one.before: one for one in memory.profile.changes() if one.after is None}
    assert (changes[earlier].at, changes[earlier].reason) == (JUNE, "changed")
    given = memory.profile.context("What do you know about me?")
    assert earlier not in {line.value for line in given.lines}


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (RAMEN, "My favourite drink is tea."),
        ("I can't stand liver.", "I can't stand olives."),
        ("I play tennis every Sunday.", "I love tennis."),
        ("I love tennis.", "I no longer eat meat."),
    ],
)
def test_of_two_matters_and_of_what_may_both_be_neither_ends(
    memory: Memory, earlier: str, later: str
) -> None:
    say(memory, earlier, SPRING)
    say(memory, later, JUNE)
    memory.profile.observe()
    assert earlier in holding(memory)


def test_what_is_said_again_after_its_end_holds_again(memory: Memory) -> None:
    say(memory, RAMEN, SPRING)
    say(memory, PHO, JUNE)
    memory.profile.observe()
    say(memory, RAMEN, JUNE + timedelta(days=60))
    memory.profile.observe()
    assert holding(memory) == {RAMEN}


@pytest.fixture
def changed(memory: Memory) -> Memory:
    say(memory, RAMEN, SPRING, "spring.json")
    memory.profile.observe()
    say(memory, PHO, JUNE, "june.json")
    memory.profile.observe()
    assert holding(memory) == {PHO}
    return memory


def test_an_end_is_taken_back_with_its_scan(changed: Memory) -> None:
    changed.runs.rollback(changed.runs.list(kind="observe", limit=1)[0].id)
    assert holding(changed) == {RAMEN}


def test_an_end_goes_with_the_words_that_said_it(changed: Memory) -> None:
    assert changed.forget("june.json").verified
    assert holding(changed) == {RAMEN}


def test_nothing_of_what_has_ended_remains_once_it_is_forgotten(changed: Memory) -> None:
    assert changed.forget("spring.json").verified
    assert "ramen" not in changed.profile.export()
    assert holding(changed) == {PHO}


def test_an_end_goes_where_what_it_ended_says_something_else(changed: Memory) -> None:
    say(changed, "I have a dog named Rex.", SPRING, "spring.json")
    changed.profile.observe()
    assert "ramen" not in changed.profile.export()


def test_what_was_set_by_hand_is_ended_by_hand_alone(memory: Memory) -> None:
    memory.profile.set("own_words.likes", RAMEN, since=SPRING)
    say(memory, PHO, JUNE)
    memory.profile.observe()
    assert holding(memory) == {RAMEN, PHO}
