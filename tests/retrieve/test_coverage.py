"""Questions over time are answered out of several days of talk."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remloom import Memory, Message, RecallHit

BEGAN = datetime(2024, 5, 6, 18, tzinfo=UTC)
SAID = (
    (0, "I painted a harbour, then I painted a barn."),
    (0, "I painted it in blue, as I painted the barn."),
    (0, "I painted a fence as well, and so on."),
    (9, "Yesterday at last there was an owl that I painted for my aunt, on the old wooden door."),
)


@pytest.fixture
def paintings(tmp_path: Path) -> Memory:
    memory = Memory.open(tmp_path, embedder="none")
    messages = [
        Message(speaker="Ann", text=text, id=f"m{n}", at=BEGAN + timedelta(days=days, minutes=n))
        for n, (days, text) in enumerate(SAID)
    ]
    memory.read_chat(messages, uri="chat.json")
    return memory


def parts(hits: tuple[RecallHit, ...] | list[RecallHit]) -> dict[str, float]:
    """What the part took from each hit, by message."""
    return {
        hit.message_ids[0]: reason.share
        for hit in hits
        for reason in hit.reasons
        if reason.part == "coverage"
    }


def test_each_better_turn_of_a_day_lowers_the_next_one_of_it(paintings: Memory) -> None:
    with paintings as memory:
        hits = memory.recall("What has Ann painted?", abstain=False).hits
        taken = parts(hits)
        first = next(hit.message_ids[0] for hit in hits if hit.message_ids[0] != "m3")
        assert first not in taken
        assert "m3" not in taken
        assert sorted(taken.values()) == pytest.approx([-0.16, -0.08])
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("question", "exclude"),
    [("What is painted blue?", ()), ("What has Ann painted?", ("coverage",))],
)
def test_other_questions_and_those_without_it_are_answered_by_fit_alone(
    paintings: Memory, question: str, exclude: tuple[str, ...]
) -> None:
    with paintings as memory:
        assert not parts(memory.recall(question, abstain=False, exclude=exclude).hits)
