"""What was found in a passage goes when it becomes other words, or somebody else's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from remloom import Memory, Message, Resource
from remloom.testing.models import ScriptedModel, ScriptedReply

MARCH = datetime(2026, 3, 2, 9, tzinfo=UTC)
HOME = "environment.location_region"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        yield memory


def only_text(memory: Memory) -> Resource:
    resources = [one for one in memory.admin.records("resources") if isinstance(one, Resource)]
    (text,) = [one for one in resources if one.kind != "evidence"]
    return text


def homes(memory: Memory, subject: str = "") -> list[object]:
    return list(memory.profile.show(subject).values(HOME))


def test_a_turn_that_was_somebody_elses_is_not_the_users(memory: Memory) -> None:
    turn = Message(id="1", speaker="user", text="I live in Oslo.", at=MARCH)
    memory.read_chat([turn], uri="a.json")
    memory.profile.observe()
    assert homes(memory) == ["Oslo"]
    memory.read_chat([replace(turn, speaker="Ana")], uri="a.json")
    assert homes(memory) == [], "with the turn, and not at the next scan"
    memory.profile.observe()
    assert (homes(memory), homes(memory, "Ana")) == ([], ["Oslo"])


def test_a_text_that_is_written_over_is_looked_at_again(memory: Memory) -> None:
    memory.read_text("I live in Oslo.", uri="me.md")
    memory.profile.observe()
    memory.write([replace(only_text(memory), content="I live in Bonn.")])
    assert homes(memory) == []
    memory.profile.observe()
    assert homes(memory) == ["Bonn"]


def test_what_changes_beside_the_words_takes_nothing_back(memory: Memory) -> None:
    memory.read_text("I live in Oslo.", uri="me.md")
    memory.profile.observe()
    memory.write([replace(only_text(memory), name="About me", context="of a diary")])
    assert homes(memory) == ["Oslo"]
    assert not memory.profile.observe().run.counts


def test_a_models_claims_go_with_the_words_too_and_it_is_asked_again(tmp_path: Path) -> None:
    asked: list[int] = []

    def reply(_: object) -> ScriptedReply:
        asked.append(1)
        return {"items": []}

    with Memory.open(tmp_path / "home", embedder="none", llm=ScriptedModel(reply)) as memory:
        memory.read_text("I live in Oslo.", uri="me.md")
        memory.profile.observe()
        memory.write([replace(only_text(memory), content="I live in Bonn.")])
        memory.profile.observe(model=False)
        memory.profile.observe()
        assert (homes(memory), len(asked)) == (["Bonn"], 2)


def test_a_scan_of_a_file_says_whose_words_it_has(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "me.md"
    file.write_text("I live in Oslo.\n")
    memory.read(file)
    memory.profile.observe()
    assert homes(memory) == [], "a document is anybody's"
    memory.profile.observe(file)
    assert homes(memory) == ["Oslo"]
    # who reads it says nothing of whose words it has
    assert [item.status for item in memory.read(file).items] == ["unchanged"]
    file.write_text("I live in Bonn.\n")
    memory.read(file)
    memory.profile.observe()
    assert homes(memory) == ["Bonn"]
    memory.profile.observe(file, category="document")
    assert homes(memory) == []
    memory.profile.observe(file)
    memory.read(file, category="handbook")
    assert (homes(memory), only_text(memory).category) == ([], "handbook")


def test_a_scan_of_a_folder_leaves_what_says_itself_what_it_is(
    memory: Memory, tmp_path: Path
) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    (folder / "table.csv").write_text("name,home\nI,I live in Oslo.\n")
    (folder / "me.md").write_text("I live in Bonn.\n")
    memory.read(folder)
    report = memory.profile.observe(folder).read
    assert report is not None
    statuses = {Path(item.uri).name: item.status for item in report.items}
    assert statuses == {"table.csv": "unchanged", "me.md": "read"}
    assert homes(memory) == ["Bonn"]
