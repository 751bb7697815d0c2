"""What a user said later of a thing goes before what they said of it earlier, where the present is
asked for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remloom import Memory, Message
from remloom.retrieve.question import asks_present
from remloom.testing.embedder import WordEmbedder

BEGAN = datetime(2024, 3, 1, tzinfo=UTC)
RENT = ("My rent is 900 euros.", "Noted.", "My rent is 950 euros as of May.", "Noted too.")


@pytest.fixture
def chat(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    speakers = getattr(request, "param", ("user", "assistant"))
    turns = [
        Message(speaker=speakers[n % 2], text=text, id=f"m{n}", at=BEGAN + timedelta(days=30 * n))
        for n, text in enumerate(RENT)
    ]
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.read_chat(turns, uri="rent.json")
        memory.embed_pending()
        yield memory


def _rents(memory: Memory, question: str, **options: object) -> list[str]:
    hits = memory.recall(question, neighbours=0, **options).hits  # type: ignore[arg-type]
    return [id for hit in hits for id in hit.message_ids if id in ("m0", "m2")]


def test_what_was_said_later_comes_first_where_the_present_is_asked_for(chat: Memory) -> None:
    assert _rents(chat, "How much is my rent now?") == ["m2", "m0"]
    assert _rents(chat, "How much is my rent now?", exclude=["newer"]) == ["m0", "m2"]
    assert _rents(chat, "How much was my rent before?") == ["m0", "m2"]


@pytest.mark.parametrize("chat", [("Ann", "Ben")], indirect=True)
def test_people_among_themselves_are_left_as_they_are(chat: Memory) -> None:
    assert _rents(chat, "How much is my rent now?") == ["m0", "m2"]


@pytest.mark.parametrize(
    ("question", "present"),
    [
        ("What does a loaf cost?", True),
        ("Which car have I got now?", True),
        ("Where do I still swim?", True),
        ("What did a loaf cost earlier?", False),
        ("Which mill have I tried?", False),
        ("What should a loaf cost?", False),
        ("In which order did I bring up the mills?", False),
        ("Was kostet ein Brot?", False),
    ],
)
def test_a_question_about_how_things_are_is_told(question: str, present: bool) -> None:
    assert asks_present(question) is present
