"""Databases of other programs: recognised by their tables, read from a copy."""

from __future__ import annotations

import os
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

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
    document, skipped = open_source(tmp_path / "agents.db")
    assert said(document) == [("user", "I like tea.")]
    assert isinstance(skipped, Skipped)
    assert skipped.reason == "4 of its messages are no JSON"
