"""The same text from several sources: kept with each, shown once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from remloom import Memory, Message, Resource
from remloom.testing.embedder import WordEmbedder

TEXT = "The kettle in the hut is descaled on Fridays."


@pytest.fixture(params=["sqlite", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    home = str(tmp_path) if request.param == "sqlite" else request.getfixturevalue("postgres")
    with Memory.open(home, tenant=f"copies-{uuid4().hex[:8]}", embedder=WordEmbedder()) as memory:
        yield memory


def _everywhere(memory: Memory, text: str, limit: int = 10) -> dict[str, list[tuple[str, ...]]]:
    """For each way of searching, the sources of each hit: its own, then those of its copies."""
    found = {
        "search": memory.search(text, limit=limit).records,
        "statement": memory.query(f'SEARCH "{text}" LIMIT {limit}').records,
        "search_text": memory.search_text(text, limit=limit).records,
        "search_resources": memory.search_resources(text, limit=limit),
        "recall": memory.recall(text, limit=limit).hits,
        "iterated": memory.recall(text, limit=limit, mode="iterated").hits,
    }
    return {way: [(hit.uri, *sorted(hit.copies)) for hit in hits] for way, hits in found.items()}


def test_a_text_of_two_sources_is_shown_once_and_cites_both(memory: Memory) -> None:
    for uri in ("a.md", "b.md", "c.md"):
        memory.read_text(TEXT, uri=uri)
    memory.read_text("The kettle in the hall is blue.", uri="d.md")
    for way, found in _everywhere(memory, "kettle hut descaled fridays").items():
        first = found[0]
        assert {source.partition(":")[0] for source in first} == {"a.md", "b.md", "c.md"}, way
        assert [source for source, *_ in found[1:]] == ["d.md"], way
    assert "also in" in memory.context("When is the kettle in the hut descaled?")


def test_copies_take_no_place_from_other_texts(memory: Memory) -> None:
    for number in range(6):
        memory.read_text(TEXT, uri=f"copy{number}.md")
    memory.read_text("The kettle in the hall is blue.", uri="other.md")
    for way, found in _everywhere(memory, "kettle hut descaled fridays", limit=2).items():
        assert [len(sources) for sources in found] == [6, 1], way


def test_forgetting_one_source_leaves_the_text_of_the_other(memory: Memory) -> None:
    memory.read_text(TEXT, uri="a.md")
    memory.read_text(TEXT, uri="b.md")
    assert memory.forget("a.md").verified
    assert {tuple(found) for found in _everywhere(memory, "kettle descaled").values()} == {
        (("b.md",),)
    }


def test_a_turn_that_was_said_twice_was_said_twice(memory: Memory) -> None:
    messages = [
        Message(speaker=who, text="The kettle is descaled.", id=f"m{n}")
        for n, who in enumerate("AB")
    ]
    memory.read_chat(messages, uri="chat")
    assert len(memory.search_text("kettle descaled").records) == 2
    assert {hit.message_ids for hit in memory.recall("Is the kettle descaled?").hits} == {
        ("m0",),
        ("m1",),
    }


def test_notes_of_different_times_are_no_copies(memory: Memory) -> None:
    for day in (1, 2):
        at = datetime(2024, 5, day, tzinfo=UTC)
        memory.write([Resource(name=f"Diary {day}", content="Slept badly again.", starts_at=at)])
    assert len(memory.search_text("slept badly").records) == 2


def test_a_text_at_hand_is_taken_with_its_front_matter(memory: Memory) -> None:
    text = f"---\ntitle: Kettle care\ndate: 2023-11-12\nauthor: Dana Ruiz\n---\n\n{TEXT}"
    memory.read_text(text, uri="kettle.md")
    hit = memory.search_text("kettle", schema="resources").records[0]
    assert (hit.name, hit.content, hit.lines) == ("Kettle care", TEXT, (7, 7))
    assert hit.record.starts_at == datetime(2023, 11, 12, tzinfo=UTC)
    assert ("kettle-care", "authored_by", "dana-ruiz") in memory.traverse(
        "Kettle care"
    ).edge_summary
    assert not memory.search_text("title", schema="resources").records
