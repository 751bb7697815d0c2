"""Databases of other programs: recognised by their tables, read from a copy."""

from __future__ import annotations

import os
import pickle
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from remloom import Memory
from remloom.sources import Document, Skipped, open_source

DATA = Path(__file__).parent / "data"
MESSAGES = """
    CREATE TABLE agent_messages (
        id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT, created_at TIMESTAMP
    )
"""
SAID = """INSERT INTO agent_messages VALUES (1, 's', '{"role": "user", "content": "I like tea."}', 0)"""


def said(document: Document | Skipped) -> list[tuple[str, str]]:
    assert isinstance(document, Document), document
    return [(turn.message.speaker, turn.message.text) for turn in document.turns]


def reason(path: Path) -> str:
    (skipped,) = open_source(path)
    assert isinstance(skipped, Skipped), skipped
    assert skipped.failed
    return skipped.reason


def test_sessions_of_the_openai_agents_sdk_have_what_was_said_and_no_tools():
    path = DATA / "openai_agents.db"
    harbour, kitchen = open_source(path)
    assert said(harbour) == [
        ("user", "I always take the early ferry. When does it go on Monday?"),
        ("assistant", "There are two ferries."),
    ]
    assert said(kitchen) == [("user", "I am allergic to peanuts."), ("assistant", "Noted.")]
    assert isinstance(harbour, Document)
    assert harbour.uri == f"{path}#harbour"
    assert harbour.turns[0].message.at == datetime(2026, 1, 12, 9, 0, 1, tzinfo=UTC)
    assert harbour.turns[0].message.id == "1"


def test_threads_of_langgraph_have_what_was_said_and_no_tools():
    path = DATA / "langgraph.db"
    harbour, kitchen = open_source(path)
    assert said(harbour) == [
        ("user", "I always take the early ferry."),
        ("assistant", "Let me look."),
        ("assistant", "Answer 4."),
        ("user", "I moved to Kiel."),
        ("assistant", "Answer 6."),
    ]
    assert isinstance(harbour, Document)
    assert harbour.uri == f"{path}#harbour"
    assert harbour.turns[3].message.id == "harbour-I mo"
    assert said(kitchen)[0] == ("user", "I am allergic to peanuts.")


def test_messages_of_langgraph_have_the_times_at_which_they_were_written():
    harbour, _ = open_source(DATA / "langgraph.db")
    assert isinstance(harbour, Document)
    times = [turn.message.at for turn in harbour.turns]
    # all of them a few milliseconds apart, within the second of the making
    assert times == sorted(times, key=str)
    assert len(set(times)) == len(times)
    with sqlite3.connect(DATA / "langgraph.db") as connection:
        ((last,),) = connection.execute(
            "SELECT max(checkpoint) FROM checkpoints WHERE checkpoint_id = "
            "(SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = 'harbour')"
        )
    assert times[-1] is not None
    assert times[-1].isoformat()[:19].encode() in last


def langgraph(path: Path, kind: str, checkpoint: bytes) -> None:
    """A database of one checkpoint."""
    with sqlite3.connect(DATA / "langgraph.db") as real:
        tables = [
            sql for (sql,) in real.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        ]
    with sqlite3.connect(path) as connection:
        for sql in tables:
            connection.execute(sql)
        connection.execute(
            "INSERT INTO checkpoints VALUES ('t', '', 'c1', NULL, ?, ?, '{}')", (kind, checkpoint)
        )


class Fires:
    """Deletes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.remove, (str(self._path),)


def test_a_pickled_checkpoint_is_refused_and_nothing_of_it_runs(tmp_path: Path):
    (tmp_path / "victim").touch()
    langgraph(tmp_path / "p.db", "pickle", pickle.dumps(Fires(tmp_path / "victim")))
    assert reason(tmp_path / "p.db") == "a checkpoint of type 'pickle': only msgpack is read"
    assert (tmp_path / "victim").exists()


@pytest.mark.parametrize("code", range(8))
def test_a_checkpoint_cannot_have_anything_called(tmp_path: Path, code: int):
    (tmp_path / "victim").touch()
    victim = str(tmp_path / "victim")
    encode = msgspec.msgpack.encode
    for values in (victim, [victim], {"path": victim}):
        call = msgspec.msgpack.Ext(code, encode(("os", "remove", values, "__call__")))
        path = tmp_path / f"{code}-{type(values).__name__}.db"
        langgraph(path, "msgpack", encode({"channel_values": {"messages": [call]}}))
        list(open_source(path))
    assert (tmp_path / "victim").exists()


def test_a_damaged_checkpoint_fails_and_other_threads_are_read(tmp_path: Path):
    shutil.copy(DATA / "langgraph.db", tmp_path / "agents.db")
    with sqlite3.connect(tmp_path / "agents.db") as connection:
        connection.execute(
            "UPDATE checkpoints SET checkpoint = x'c1ff' WHERE thread_id = 'harbour'"
        )
    skipped, kitchen = open_source(tmp_path / "agents.db")
    assert isinstance(skipped, Skipped)
    assert (skipped.failed, skipped.reason) == (True, "a checkpoint that is damaged")
    assert len(said(kitchen)) == 3


def test_a_database_is_read_into_memory_once(tmp_path: Path):
    with Memory.open(tmp_path, embedder="none") as memory:
        report = memory.read(DATA / "openai_agents.db")
        assert [item.status for item in report.items] == ["read", "read"]
        assert memory.search_text("peanuts").records[0].uri.endswith("openai_agents.db#kitchen")
        again = memory.read(DATA / "openai_agents.db")
        assert [item.status for item in again.items] == ["unchanged", "unchanged"]


def test_what_is_only_in_the_log_of_an_open_database_is_read(tmp_path: Path):
    path = tmp_path / "agents.db"
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute(MESSAGES)
    writer.execute(SAID)
    writer.commit()
    # a lock that keeps everybody else out of the original
    writer.execute("PRAGMA locking_mode = EXCLUSIVE")
    writer.execute("BEGIN EXCLUSIVE")
    before = sorted(os.listdir(tmp_path))
    (document,) = open_source(path)
    assert said(document) == [("user", "I like tea.")]
    assert sorted(os.listdir(tmp_path)) == before
    writer.close()


def test_inside_a_folder_a_database_is_read_only_if_its_name_matches(tmp_path: Path):
    shutil.copy(DATA / "openai_agents.db", tmp_path / "agents.db")
    (skipped,) = open_source(tmp_path)
    assert isinstance(skipped, Skipped)
    assert not skipped.failed
    assert "name the file" in skipped.reason
    assert len(list(open_source(tmp_path, glob="*.db"))) == 2


def test_a_database_of_another_kind_fails_with_its_tables(tmp_path: Path):
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE invoices (id)")
    assert "its tables: invoices" in reason(tmp_path / "other.db")
    assert "OpenAI Agents SDK" in reason(tmp_path / "other.db")


def test_a_table_that_lacks_a_column_is_another_kind(tmp_path: Path):
    with sqlite3.connect(tmp_path / "old.db") as connection:
        connection.execute("CREATE TABLE agent_messages (id, session_id)")
    assert "of no kind that can be read" in reason(tmp_path / "old.db")


def test_a_view_is_not_taken_for_a_table(tmp_path: Path):
    with sqlite3.connect(tmp_path / "view.db") as connection:
        connection.execute(
            "CREATE VIEW agent_messages AS SELECT 1 AS id, 's' AS session_id, "
            "load_extension('evil') AS message_data, 0 AS created_at"
        )
    assert "of no kind that can be read" in reason(tmp_path / "view.db")


def test_damaged_and_truncated_databases_fail(tmp_path: Path):
    whole = (DATA / "openai_agents.db").read_bytes()
    (tmp_path / "cut.db").write_bytes(whole[:5000])
    assert "cannot be read" in reason(tmp_path / "cut.db")
    (tmp_path / "noise.db").write_bytes(whole[:100] + os.urandom(20_000))
    assert "cannot be read" in reason(tmp_path / "noise.db")


def test_a_message_that_is_no_json_is_named_and_the_others_are_read(tmp_path: Path):
    with sqlite3.connect(tmp_path / "agents.db") as connection:
        connection.execute(MESSAGES)
        connection.execute(SAID)
        for data in (
            "{not json",
            "[" * 100_000,
            b"\xff",
            None,
            "7",
            '{"role": "user", "content": 5}',
        ):
            connection.execute(
                "INSERT INTO agent_messages VALUES (NULL, 's', ?, '2026-01-12')", (data,)
            )
    (document,) = open_source(tmp_path / "agents.db")
    assert said(document) == [("user", "I like tea.")]
    assert isinstance(document, Document)
    assert document.left_out[1:] == (
        "message 2, 3, 4, 5: no JSON",
        "message 6: no message",
        "message 7: what it says is no text",
    )
