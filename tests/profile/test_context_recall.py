"""What is known of the user, beside and within what is recalled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remloom import Entity, Memory, RecallOptions, Resource
from remloom.retrieve.prompt_context import count_tokens


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.profile.set("allergies", "peanuts")
        memory.profile.set("dietary_style", "vegetarian")
        memory.profile.set("cuisine_affinities.dislikes", "Ramen")
        memory.profile.set("cuisine_affinities.likes", "Pizza")
        memory.profile.set("verbosity", "concise")
        memory.profile.set("primary_languages", "Python")
        memory.profile.set("frameworks.backend", "FastAPI")
        memory.profile.set("tone", "direct")
        memory.profile.set("humor_tolerance", "low")
        places = {"Ramen": "Ramen dinner by the river", "Pizza": "Pizza dinner by the river"}
        memory.write([Entity(name=name, type="food") for name in places])
        memory.write(
            [
                Resource(name=name, content=text, uri=f"{name}.md", related_entities=(name,))
                for name, text in places.items()
            ]
        )
        yield memory


def test_a_context_begins_with_what_is_known_of_the_user(memory: Memory) -> None:
    question = "Where should we have dinner by the river?"
    plain = memory.context(question)
    text = memory.context(question, profile=True, purpose="recommend")
    assert "peanuts" not in plain
    assert '- Diet: "vegetarian"' in text
    assert text.index("peanuts") < text.index("Pizza dinner by the river")


@pytest.mark.parametrize("budget", [60, 150, 300, 1500])
def test_the_two_share_the_budget(memory: Memory, budget: int) -> None:
    question = "Where should we have dinner by the river?"
    options = RecallOptions(budget_tokens=budget, profile=True)
    text = memory.context(question, options)
    abstained = count_tokens("Nothing remembered answers this (nothing fits the budget).\n", None)
    assert count_tokens(text, None) <= budget + abstained
    if budget >= 150:
        assert "peanuts" in text
        assert "by the river" in text


def test_what_the_user_likes_is_recalled_first_and_what_is_given_by_hand_goes_before(
    memory: Memory,
) -> None:
    question = "Where should we have dinner by the river?"
    names = [hit.name for hit in memory.recall(question, profile=True, purpose="recommend").hits]
    assert names == ["Pizza", "Ramen"]
    preferences = {"Ramen": 1.0, "Pizza": -1.0}
    hits = memory.recall(question, profile=True, preferences=preferences).hits
    assert [hit.name for hit in hits] == ["Ramen", "Pizza"]


def test_what_is_liked_in_the_users_own_words_counts_too(memory: Memory) -> None:
    for slot in ("dislikes", "likes"):
        memory.profile.forget(f"cuisine_affinities.{slot}")
    memory.profile.set("own_words.dislikes", "I can't stand pizza")
    memory.profile.set("own_words.likes", "ramen, every day of the week")
    question = "Where should we have dinner by the river?"
    hits = memory.recall(question, profile=True, purpose="recommend").hits
    assert [hit.name for hit in hits] == ["Ramen", "Pizza"]


def test_the_seeds_text_has_memories_and_preferences(memory: Memory) -> None:
    memory.profile.set("own_words.answers", "two sentences, always")
    text = memory.profile.get_remme_context(
        "Where should we have dinner by the river?", purpose="recommend"
    )
    memories, _, preferences = text.partition("\nUSER PREFERENCES:\n")
    assert memories.startswith('USER MEMORIES:\n- "')
    assert "Ramen dinner by the river" in memories
    assert preferences.splitlines() == [
        '- Verbosity: "concise"',
        '- Dietary: "vegetarian", never: "peanuts"',
        '- Tech Stack: "Python", "FastAPI"',
        '- Communication: "direct", humor="low"',
        '- Answers: "two sentences, always"',
    ]


def test_the_seeds_text_gives_nothing_to_other_people(memory: Memory) -> None:
    text = memory.profile.get_remme_context("Write a letter to my landlord", purpose="letter")
    assert "- Dietary: not known\n" in text
    assert "peanuts" not in text
