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
