"""A chat that goes on: what is appended to it, by one or by several."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from remloom import Memory, Message
from remloom.errors import ChangedError, InvalidInputError
from remloom.store.batch import Batch
from remloom.store.results import Written
from steps import steps

NINE = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home", embedder="none") as opened:
        yield opened


def turn(number: int, text: str, speaker: str = "Ann") -> Message:
    return Message(id=f"m{number}", speaker=speaker, text=text, at=NINE + timedelta(minutes=number))


def said(memory: Memory, uri: str = "chats/1") -> list[str]:
    return [
        text
        for (text,) in memory.sql(
            f"SELECT content FROM resources WHERE uri = '{uri}' ORDER BY ordinal"
        ).rows
    ]


def test_what_is_appended_follows_what_was_read(memory: Memory) -> None:
    memory.read_chat(
        [turn(1, "Which database?"), turn(2, "TiDB.", "Bob")], uri="chats/1", name="Stand-up"
    )
    memory.read_chat([turn(3, "Since when?")], uri="chats/1", append=True)
    assert said(memory) == ["Which database?", "TiDB.", "Since when?"]
    (moment,) = memory.get_moments_by_type("conversation")
    assert (moment.ends_at, len(moment.resource_refs)) == (NINE + timedelta(minutes=3), 3)
    # it keeps the name it had
    assert memory.lookup("Stand-up #3").records[0].content == "Since when?"
    assert memory.admin.check() == []


def test_appending_equals_reading_the_whole(memory: Memory, tmp_path: Path) -> None:
    whole = [
        turn(number, f"Turn {number} about Project Aurora.", "AnnBob"[number % 2 * 3 :][:3])
        for number in range(9)
    ]
    for one in whole:
        memory.read_chat([one], uri="chats/1", append=True)
    with Memory.open(tmp_path / "other", embedder="none") as other:
        other.read_chat(whole, uri="chats/1")
        for schema in ("resources", "entities", "moments"):
            sql = f"SELECT name FROM {schema} ORDER BY name"
            assert memory.sql(sql).rows == other.sql(sql).rows
        assert memory.admin.stats().edges == other.admin.stats().edges


def test_appending_the_same_again_changes_nothing_and_an_id_is_said_once(memory: Memory) -> None:
    memory.read_chat([turn(1, "One."), turn(2, "Two.")], uri="chats/1", append=True)
    again = memory.read_chat([turn(2, "Two.")], uri="chats/1", append=True)
    assert [item.status for item in again.items] == ["unchanged"]
    memory.read_chat([turn(1, "One, corrected."), turn(3, "Three.")], uri="chats/1", append=True)
    assert said(memory) == ["One, corrected.", "Two.", "Three."]


def test_several_append_at_once_and_no_turn_is_lost(memory: Memory) -> None:
    def talk(who: int) -> None:
        for number in range(4):
            memory.read_chat(
                [turn(10 * who + number, f"{who}.{number}")], uri="chats/1", append=True
            )

    threads = [threading.Thread(target=talk, args=(who,)) for who in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said(memory)) == sorted(
        f"{who}.{number}" for who in range(3) for number in range(4)
    )
    assert memory.admin.check() == []


def exported(memory: Memory) -> bytes:
    stream = io.BytesIO()
    memory.admin.export(stream)
    return stream.getvalue()


def test_a_forgotten_turn_does_not_come_back(memory: Memory) -> None:
    memory.read_chat([turn(1, "My code is PLUGH."), turn(2, "Noted.")], uri="chats/1")
    memory.dreams.moments(model=False, hours=None)
    memory.forget(memory.search_text("PLUGH").records[0].id)
    # neither as the context of a turn beside it, nor in a moment
    assert b"PLUGH" not in exported(memory)
    memory.read_chat([turn(3, "Thanks.")], uri="chats/1", append=True)
    assert said(memory) == ["Noted.", "Thanks."]
    memory.dreams.moments(model=False, hours=None)
    assert memory.search_text("PLUGH").records == []
    assert b"PLUGH" not in exported(memory)


def test_only_a_chat_from_messages_can_be_appended_to(memory: Memory, tmp_path: Path) -> None:
    memory.read_text("A note.", uri="notes/1")
    with pytest.raises(InvalidInputError, match="'notes/1' is not a chat"):
        memory.read_chat([turn(1, "Hello.")], uri="notes/1", append=True)
    file = tmp_path / "chat.txt"
    file.write_text(
        "[2026-01-12 10:00] Sarah: Hello there.\n[2026-01-12 10:01] Tom: Good morning.\n"
    )
    memory.read(file)
    with pytest.raises(InvalidInputError, match="read from a file"):
        memory.read_chat([turn(1, "Hello.")], uri=str(file), append=True)
    assert memory.lookup("chat #1").records[0].content == "Hello there."


def test_a_long_session_has_several_moments_of_bounded_size_however_it_was_read(
    memory: Memory, tmp_path: Path
) -> None:
    talk = [turn(number, f"Turn {number} about Project Aurora.") for number in range(150)]
    talk += [
        replace(one, id=f"late{one.id}", at=one.at + timedelta(days=1))
        for one in talk[:3]
        if one.at
    ]
    memory.read_chat(talk[:70], uri="chats/1")
    for one in talk[70:130]:
        memory.read_chat([one], uri="chats/1", append=True)
    memory.read_chat(talk[130:], uri="chats/1", append=True)
    with Memory.open(tmp_path / "other", embedder="none") as other:
        other.read_chat(talk, uri="chats/1")
        told: list[list[tuple[Any, ...]]] = []
        for one in (memory, other):
            told.append([])
            for m in one.get_moments_by_type("conversation"):
                told[-1].append(
                    (m.name, m.starts_at, m.ends_at, m.topic_tags, m.speakers, len(m.resource_refs))
                )
        contexts = [
            [turn.context for turn in one.admin.store.records.chunks("chats/1")]
            for one in (memory, other)
        ]
    assert contexts[0] == contexts[1]
    assert told[0] == told[1]
    assert [(name.split(", ", 1)[1], size) for name, *_, size in told[0]] == [
        ("session 1, 2026-03-02", 64),
        ("session 1 (2), 2026-03-02", 64),
        ("session 1 (3), 2026-03-02", 22),
        ("session 2, 2026-03-03", 3),
    ]
    assert memory.admin.check() == []


@pytest.mark.parametrize("again", ["whole", "append"])
def test_what_a_chat_grew_by_costs_what_was_added(memory: Memory, again: str) -> None:
    """Steps of SQLite's virtual machine, which no busy machine changes."""
    spent = []
    for size in (100, 2_000):
        talk = [turn(number, f"Turn {number} about item {number}.") for number in range(size + 20)]
        memory.read_chat(talk[:size], uri=f"chats/{size}")
        memory.admin.optimize()
        memory.read_chat(talk[: size + 1], uri=f"chats/{size}", append=True)
        with steps(memory) as counted:
            for number in range(size + 1, size + 20):
                given = talk[number : number + 1] if again == "append" else talk[: number + 1]
                assert (
                    memory.read_chat(given, uri=f"chats/{size}", append=again == "append").resources
                    == 1
                )
        spent.append(counted.writing if again == "whole" else counted.all)
    assert spent[1] < 1.3 * spent[0]


def test_a_whole_chat_with_more_turns_writes_only_those_and_an_edited_one_is_read_anew(
    memory: Memory,
) -> None:
    talk = [turn(number, f"Turn {number}.") for number in range(30)]
    memory.read_chat(talk[:20], uri="chats/1")
    first = memory.admin.store.records.chunks("chats/1")[0]
    assert memory.read_chat(talk, uri="chats/1").resources == 10
    assert memory.admin.store.records.chunks("chats/1")[0] == first
    assert memory.read_chat(talk, uri="chats/1").items[0].status == "unchanged"
    talk[3] = replace(talk[3], speaker="Eve")
    assert memory.read_chat(talk, uri="chats/1").items[0].status == "read"
    assert memory.lookup("Eve").records[0].type == "person"
    assert memory.read_chat(talk[:5], uri="chats/1").items[0].status == "read"
    assert said(memory) == [one.text for one in talk[:5]]
    assert memory.admin.check() == []


def test_of_many_who_append_at_once_none_is_refused(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However unlucky one is: when others are always faster, nobody else may write for that long."""
    memory.read_chat([turn(0, "We begin.")], uri="chats/1")
    written, lost = memory.admin.store.write, []

    def too_late(batch: Batch) -> Written:
        if batch.expected and batch.expected.records:
            lost.append(batch)
            raise ChangedError("somebody was faster")
        return written(batch)

    monkeypatch.setattr(memory.admin.store, "write", too_late)
    for number in (1, 2):
        assert (
            memory.read_chat(
                [turn(number, f"Turn {number}.")], uri="chats/1", append=True
            ).resources
            == 1
        )
    assert (
        memory.read_chat([turn(2, "Turn 2.")], uri="chats/1", append=True).items[0].status
        == "unchanged"
    )
    assert lost
    assert said(memory) == ["We begin.", "Turn 1.", "Turn 2."]
    assert memory.admin.check() == []
