"""Recall of what is said in summaries alone: of entities, moments and rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remloom import Entity, Memory, Message, Moment, Resource, Row
from remloom.testing.embedder import WordEmbedder

QUESTION = "How do I repair leaking gates?"
SUMMARY = "How to repair leaking gates."


@pytest.fixture(params=["sqlite", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    where = tmp_path if request.param == "sqlite" else request.getfixturevalue("postgres")
    with Memory.open(where, tenant=tmp_path.name, embedder="none") as opened:
        yield opened


def _names(memory: Memory, question: str) -> list[str]:
    return [hit.record.name for hit in memory.recall(question).hits]


def test_an_entity_is_recalled_by_the_words_of_its_summary(memory: Memory) -> None:
    memory.write([
        Entity(name="Drain a lock", type="task", summary=SUMMARY),
        Resource(name="note", content="The heron sleeps on one leg."),
    ])  # fmt: skip
    assert _names(memory, QUESTION) == ["Drain a lock"]
    assert "repair leaking gates" in memory.context(QUESTION)


def test_a_moment_and_a_row_are_recalled_by_their_summaries_too(memory: Memory) -> None:
    memory.schemas.register(
        schema_name="jobs", fields={"number": "integer"}, entity_types=["job"], handle=["number"]
    )
    at = datetime(2024, 5, 1, tzinfo=UTC)
    memory.write([
        Moment(name="Wednesday", starts_at=at, ends_at=at, summary="We mended the copper kettle."),
        Row(schema="jobs", fields={"number": 7}, summary="Varnish the oak rudder."),
    ])  # fmt: skip
    assert _names(memory, "Who mended the copper kettle?") == ["Wednesday"]
    assert _names(memory, "Is there varnish on the oak rudder?") == ["job-7"]


def test_a_summary_comes_beside_the_text_that_answers(memory: Memory) -> None:
    memory.write([
        Resource(name="note", content="To repair leaking gates, drain the lock first."),
        Entity(name="Sluice", type="task", summary="How to repair leaking things."),
        Entity(name="Dana", type="person", summary="Repairs the gates of the lock."),
    ])  # fmt: skip
    assert set(_names(memory, QUESTION)) == {"note", "Sluice", "Dana"}
    assert _names(memory, "Who is Dana?")[0] == "Dana"


def test_of_many_summaries_one_takes_a_place_of_ten_from_the_texts(memory: Memory) -> None:
    notes = [Resource(name=f"note {n}", content=f"Repair gate {n} that leaks.") for n in range(20)]
    memory.write(notes)
    before = _names(memory, QUESTION)
    summaries = [Entity(name=f"Gate {n}", type="gate", summary=SUMMARY) for n in range(20)]
    memory.write(summaries)
    after = _names(memory, QUESTION)
    assert len(after) == len(before) == 10
    assert [name for name in after if name in before] == before[:9]
    (summary,) = (name for name in after if name not in before)
    assert summary.startswith("Gate")


def test_what_has_no_summary_changes_no_hit(memory: Memory) -> None:
    at = datetime(2024, 5, 1, tzinfo=UTC)
    turns = [
        Message(speaker="Ann", text="The gates leak again.", at=at),
        Message(speaker="Ben", text="How do we repair the leaking gates, Ann?", at=at),
        Message(speaker="Ann", text="We drain the lock, as for every repair.", at=at),
    ]
    memory.read_chat(turns, uri="chat.json")
    before = _names(memory, QUESTION)
    memory.write([
        Entity(name="Sluice", type="task"),
        Moment(name="Leaking gates", starts_at=at, ends_at=at, topic_tags=("repair", "gates")),
    ])  # fmt: skip
    assert before
    assert _names(memory, QUESTION) == before


def test_a_question_that_no_summary_answers_is_not_answered_by_one(memory: Memory) -> None:
    memory.write([Entity(name="Drain a lock", type="task", summary=SUMMARY)])
    assert memory.recall("Who designed the cathedral of Reykjavik?").abstained


def test_a_filter_is_over_texts_alone(memory: Memory) -> None:
    memory.write([Entity(name="Drain a lock", type="task", summary=SUMMARY)])
    assert memory.recall(QUESTION, where="category = 'manual'").abstained


def test_summaries_are_recalled_by_their_vectors(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=WordEmbedder()) as memory:
        memory.write([Entity(name="Drain a lock", type="task", summary=SUMMARY)], wait=True)
        hits = memory.recall(QUESTION, exclude=["text"]).hits
    assert [hit.record.name for hit in hits] == ["Drain a lock"]
    assert {reason.part for reason in hits[0].reasons} == {"vector"}


_WORDS = st.lists(
    st.text("bcdfgklmnprstvz", min_size=5, max_size=9), min_size=3, max_size=6, unique=True
)


@given(_WORDS)
@settings(deadline=None, max_examples=20)
def test_whatever_a_summary_says_is_recalled_by_it(words: list[str]) -> None:
    said = " ".join(words)
    with tempfile.TemporaryDirectory() as home, Memory.open(home, embedder="none") as memory:
        memory.write([
            Entity(name="Qo", type="task", summary=said),
            Resource(name="note", content="heron quay oxbow"),
        ])  # fmt: skip
        assert _names(memory, said) == ["Qo"]


def test_a_summary_that_takes_no_place_is_no_trouble_to_what_is_far(tmp_path: Path) -> None:
    """With an embedder whose model card says what is far, both would leave it out."""
    summaries = {
        "Quark": "A subatomic particle that makes up protons.",
        "Basalt": "A dark volcanic rock.",
        "Sonnet": "A poem of fourteen lines.",
        "Piston": "A part of a combustion engine.",
        "Fjord": "A narrow inlet of the sea.",
    }
    said = [
        "My favourite restaurant is the Blue Lemon.", "I had pasta at the restaurant.",
        "We could eat somewhere tonight.", "I love sushi.", "The kids want burgers.",
        "I booked a table.", "The waiter was kind.", "Their menu is short.", "I cook at home.",
        "Lunch was late.", "Breakfast was fine.", "Coffee there is awful.",
    ]  # fmt: skip
    with Memory.open(tmp_path, embedder="minilm", token_encoder="none") as memory:
        memory.write(
            [Entity(name=name, type="thing", summary=one) for name, one in summaries.items()]
        )
        memory.read_chat([Message(speaker="Bob", text=text) for text in said], uri="c")
        memory.embed_pending()
        for options in ({}, {"limit": 1}, {"fusion": "rrf"}):
            assert memory.recall("Where does Bob like to eat?", **options).hits


def test_summaries_that_thousands_of_records_have_are_found_among_the_first(
    memory: Memory,
) -> None:
    memory.write([
        Entity(name=f"Shop {n}", type="shop", summary=f"A shop in the harbour town, number {n}.")
        for n in range(400)
    ])  # fmt: skip
    memory.write([Resource(name="note", content="We saw a boat in the harbour.")])
    found = [hit.record for hit in memory.recall("What did we see in the harbour?").hits]
    assert "note" in [record.name for record in found]
    assert len(found) <= 6
