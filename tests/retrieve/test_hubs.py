"""What thousands of records share, and what thousands of edges lead to, costs a question no more
than what few do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remloom import Edge, Entity, Memory, Resource
from remloom.store.specs import MOST_NAMESAKES
from steps import steps


def named_note(memory: Memory, first: int, count: int) -> None:
    texts = (f"Text {n} of the otters." for n in range(first, first + count))
    memory.write([Resource(name="note", content=text) for text in texts])


@pytest.mark.parametrize(
    "ask",
    [
        lambda memory: memory.recall("What does the note say of otters?"),
        lambda memory: memory.recall("And of the note?", history=["Which note is about otters?"]),
        lambda memory: memory.recall("What was said of Ann?"),
        lambda memory: memory.admin.describe("note"),
    ],
    ids=["recall", "a conversation", "what names somebody", "describe"],
)
def test_what_thousands_share_is_a_word(tmp_path: Path, ask: Callable[[Memory], Any]) -> None:
    costs = []
    with Memory.open(tmp_path, embedder="none", token_encoder="none") as memory:
        memory.write([Entity(name="Ann"), Edge(src="note", rel_type="entity", dst="Ann")])
        for first, count in ((0, 2 * MOST_NAMESAKES), (2 * MOST_NAMESAKES, 6 * MOST_NAMESAKES)):
            named_note(memory, first, count)
            memory.admin.optimize()
            with steps(memory) as counted:
                ask(memory)
            costs.append(counted.all)
    assert 0 < costs[1] < 2 * costs[0]


def test_a_name_of_a_few_is_named_and_that_of_thousands_is_not(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none", token_encoder="none") as memory:
        memory.write([Resource(name="memo", content="The memo is about bees.")])
        named_note(memory, 0, MOST_NAMESAKES + 1)

        def parts(question: str) -> set[str]:
            return {reason.part for hit in memory.recall(question).hits for reason in hit.reasons}

        assert "entity" in parts("What does the memo say?")
        assert "entity" not in parts("What does the note say of otters?")
        assert len(memory.recall("What does the note say of otters?").hits) == 10
        assert len(memory.admin.describe("note").records) == MOST_NAMESAKES
        assert len(memory.lookup("note").records) == MOST_NAMESAKES + 1


@pytest.mark.parametrize("leaves", [True, False], ids=["edges out", "edges in"])
def test_a_question_costs_no_more_for_what_has_more_relations(tmp_path: Path, leaves: bool) -> None:
    costs = []
    with Memory.open(tmp_path, embedder="none", token_encoder="none") as memory:
        memory.write([Entity(name="Ann"), Resource(name="memo", content="Ann's bees.")])
        for first, last in ((0, 2_000), (2_000, 8_000)):
            ends = [("Ann", f"friend {n}") for n in range(first, last)]
            memory.write(
                [
                    Edge(src=src, rel_type="knows", dst=dst, weight=0.5)
                    for src, dst in (ends if leaves else (end[::-1] for end in ends))
                ]
            )
            memory.admin.optimize()
            with steps(memory) as counted:
                memory.recall("What do the friends of Ann say?")
            costs.append(counted.all)
    assert 0 < costs[1] < 1.5 * costs[0]


def test_of_very_many_relations_the_newest_are_followed_of_others_the_heaviest(
    tmp_path: Path,
) -> None:
    def related(memory: Memory) -> set[str]:
        answer = memory.recall("Who are the friends of Ann?", limit=50)
        return {dst for hit in answer.hits for src, _, dst in hit.path if src == "ann"}

    with Memory.open(tmp_path, embedder="none", token_encoder="none") as memory:
        memory.write([Entity(name="Ann")])
        for n in range(60):
            memory.write(
                [
                    Resource(name=f"memo {n}", content=f"Friend {n} keeps bees."),
                    Edge(src="Ann", rel_type="knows", dst=f"friend {n}", weight=1 - n / 100),
                    Edge(src=f"memo {n}", rel_type="mentions", dst=f"friend {n}"),
                ]
            )
        assert related(memory) == {f"friend-{n}" for n in range(20)}
        memory.write(
            [Edge(src=f"other {n}", rel_type="likes", dst="Ann", weight=0.1) for n in range(1_000)]
        )
        memory.write([Edge(src="Ann", rel_type="owns", dst="friend 59", weight=0.1)])
        assert related(memory) == {"friend-59"}
