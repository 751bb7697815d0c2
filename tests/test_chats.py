"""A chat that goes on: what is appended to it, by one or by several."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from remloom import Memory, Message
from remloom.errors import InvalidInputError

NINE = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home", embedder="none") as opened:
        yield opened


def turn(number: int, text: str, speaker: str = "Ann") -> Message:
    return Message(id=f"m{number}", speaker=speaker, text=text, at=NINE + timedelta(minutes=number))


def said(memory: Memory, uri: str = "chats/1") -> list[str]:
    return [text for (text,) in memory.sql(f"SELECT content FROM resources WHERE uri = '{uri}' ORDER BY ordinal").rows]


def test_what_is_appended_follows_what_was_read(memory: Memory) -> None:
    memory.read_chat([turn(1, "Which database?"), turn(2, "TiDB.", "Bob")], uri="chats/1", name="Stand-up")
    memory.read_chat([turn(3, "Since when?")], uri="chats/1", append=True)
    assert said(memory) == ["Which database?", "TiDB.", "Since when?"]
    (moment,) = memory.get_moments_by_type("conversation")
    assert (moment.ends_at, len(moment.resource_refs)) == (NINE + timedelta(minutes=3), 3)
    assert memory.lookup("Stand-up #3").records[0].content == "Since when?"  # it keeps the name it had
    assert memory.check() == []


def test_appending_equals_reading_the_whole(memory: Memory, tmp_path: Path) -> None:
    whole = [
        turn(number, f"Turn {number} about Project Aurora.", "AnnBob"[number % 2 * 3 :][:3]) for number in range(9)
    ]
    for one in whole:
        memory.read_chat([one], uri="chats/1", append=True)
    with Memory.open(tmp_path / "other", embedder="none") as other:
        other.read_chat(whole, uri="chats/1")
        for schema in ("resources", "entities", "moments"):
            sql = f"SELECT name FROM {schema} ORDER BY name"
            assert memory.sql(sql).rows == other.sql(sql).rows
        assert memory.stats()["edges"] == other.stats()["edges"]


def test_appending_the_same_again_changes_nothing_and_an_id_is_said_once(memory: Memory) -> None:
    memory.read_chat([turn(1, "One."), turn(2, "Two.")], uri="chats/1", append=True)
    again = memory.read_chat([turn(2, "Two.")], uri="chats/1", append=True)
    assert [item.status for item in again.items] == ["unchanged"]
    memory.read_chat([turn(1, "One, corrected."), turn(3, "Three.")], uri="chats/1", append=True)
    assert said(memory) == ["One, corrected.", "Two.", "Three."]


def test_several_append_at_once_and_no_turn_is_lost(memory: Memory) -> None:
    def talk(who: int) -> None:
        for number in range(4):
            memory.read_chat([turn(10 * who + number, f"{who}.{number}")], uri="chats/1", append=True)

    threads = [threading.Thread(target=talk, args=(who,)) for who in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said(memory)) == sorted(f"{who}.{number}" for who in range(3) for number in range(4))
    assert memory.check() == []


def test_a_forgotten_turn_does_not_come_back(memory: Memory) -> None:
    memory.read_chat([turn(1, "My code is PLUGH."), turn(2, "Noted.")], uri="chats/1")
    memory.forget(memory.search_text("PLUGH").records[0].id)
    memory.read_chat([turn(3, "Thanks.")], uri="chats/1", append=True)
    assert said(memory) == ["Noted.", "Thanks."]


def test_only_a_chat_from_messages_can_be_appended_to(memory: Memory, tmp_path: Path) -> None:
    memory.read_text("A note.", uri="notes/1")
    with pytest.raises(InvalidInputError, match="'notes/1' is no chat"):
        memory.read_chat([turn(1, "Hello.")], uri="notes/1", append=True)
    file = tmp_path / "chat.txt"
    file.write_text("[2026-01-12 10:00] Sarah: Hello there.\n[2026-01-12 10:01] Tom: Good morning.\n")
    memory.read(file)
    with pytest.raises(InvalidInputError, match="read from a file"):
        memory.read_chat([turn(1, "Hello.")], uri=str(file), append=True)
    assert memory.lookup("chat #1").records[0].content == "Hello there."
