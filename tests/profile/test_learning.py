"""The user's answers teach how far what is trusted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remloom import Memory, Message

OCTOBER = datetime(2026, 10, 1, 9, tzinfo=UTC)
ALLERGENS = ("peanuts", "shellfish", "milk", "eggs", "soy", "sesame", "celery", "mustard")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory that has read of an allergy a day."""
    with Memory.open(tmp_path, embedder="none") as memory:
        turns = [
            Message(speaker="user", text=f"I'm allergic to {what}.", at=OCTOBER + timedelta(day))
            for day, what in enumerate(ALLERGENS)
        ]
        memory.read_chat(turns, uri="allergies.json")
        memory.profile.observe()
        yield memory


def confidence(memory: Memory, value: str) -> float:
    return memory.profile.why("allergies", value).belief.confidence


def test_a_source_that_is_always_rejected_is_believed_less_in_all_else_it_said(
    memory: Memory,
) -> None:
    before = confidence(memory, "mustard")
    for value in ALLERGENS[:6]:
        memory.profile.reject("allergies", value)
    assert confidence(memory, "mustard") < before - 0.1
    (learned,) = [one for one in memory.profile.learned() if one.kind == "reliability"]
    assert (learned.name, learned.count) == ("explicit_preference, chat, rules", 6)
    assert learned.now < learned.prior


def test_a_source_that_is_confirmed_is_believed_more(memory: Memory) -> None:
    before = confidence(memory, "mustard")
    for value in ALLERGENS[:6]:
        memory.profile.confirm("allergies", value)
    assert confidence(memory, "mustard") > before


def test_nothing_is_learned_before_the_first_answer(memory: Memory) -> None:
    assert memory.profile.learned() == []
    memory.profile.set("location_region", "Porto")
    assert memory.profile.learned() == [], "what the user sets is no answer"


def test_an_answer_that_is_taken_back_teaches_nothing_after_the_next(memory: Memory) -> None:
    for value in ALLERGENS[:6]:
        memory.profile.reject("allergies", value)
    for run in memory.runs.list("profile"):
        memory.runs.rollback(run.id)
    memory.profile.confirm("allergies", "peanuts")
    learned = [one.count for one in memory.profile.learned() if one.kind == "reliability"]
    assert learned == [1]
