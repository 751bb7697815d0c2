"""Chats of Cursor."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from remloom.sources import Document, Skipped, open_source


def said(document: Document | Skipped) -> list[tuple[str, str]]:
    assert isinstance(document, Document), document
    return [(turn.message.speaker, turn.message.text) for turn in document.turns]


def record(role: str, *parts: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    return {"role": role, "message": {"content": content}}


def test_of_a_transcript_what_was_typed_and_answered_is_read(tmp_path: Path):
    info = "<user_info>INJECTED</user_info>"
    edit = {"type": "tool_use", "name": "StrReplace", "input": {"path": "/home/ann/queue/a.py"}}
    lines = [
        record("user", f"{info}\n<user_query>\nSet up the port.\n</user_query>"),
        record("assistant", "I look at it.", edit),
        record("user", f"{info}<user_query>Use PostgreSQL.</user_query>{info}"),
        record("assistant", "PostgreSQL it is."),
    ]
    path = tmp_path / "agent-transcripts" / "c1" / "c1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(map(json.dumps, lines)))
    (document,) = open_source(tmp_path)
    assert said(document) == [
        ("user", "Set up the port."),
        ("assistant", "I look at it."),
        ("user", "Use PostgreSQL."),
        ("assistant", "PostgreSQL it is."),
    ]
    assert isinstance(document, Document)
    assert document.uri == f"{path}#c1"
    assert document.turns[1].actions == {"files": ["/home/ann/queue/a.py"]}
    assert document.turns[2].message.id == "c1-3"


def database(path: Path, rows: dict[str, Any]) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB)")
    connection.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB)")
    pairs = [(key, json.dumps(value).encode()) for key, value in rows.items()]
    connection.executemany("INSERT INTO cursorDiskKV VALUES (?, ?)", pairs)
    connection.commit()
    connection.close()
    return path


def test_of_the_database_the_bubbles_that_a_chat_lists_are_read(tmp_path: Path):
    rows = {
        "composerData:c1": {
            "fullConversationHeadersOnly": [{"bubbleId": id} for id in ("b1", "b3", "b4", "b5")]
        },
        "composerData:empty": {"fullConversationHeadersOnly": []},
        "bubbleId:c1:b1": {
            "type": 1,
            "text": "Set up the port.",
            "createdAt": "2026-01-12T09:00:00Z",
        },
        "bubbleId:c1:b2": {"type": 2, "text": "ABANDONED"},
        "bubbleId:c1:b3": {"type": 2, "text": "", "toolFormerData": {"name": "edit_file"}},
        "bubbleId:c1:b4": {"type": 2, "text": "Done."},
    }
    (document,) = open_source(database(tmp_path / "state.vscdb", rows))
    assert said(document) == [("user", "Set up the port."), ("assistant", "Done.")]
    assert isinstance(document, Document)
    assert document.conversation == "Cursor/c1"


@pytest.mark.parametrize("value", [None, 7, "x", [], [7], {"a": 7}])
def test_values_of_other_types_stop_nothing(tmp_path: Path, value: Any):
    rows = {
        "composerData:c1": {
            "fullConversationHeadersOnly": [value, {"bubbleId": "b1"}, {"bubbleId": value}]
        },
        "composerData:c2": value,
        "composerData:c3": {"fullConversationHeadersOnly": value},
        "bubbleId:c1:b1": {"type": 1, "text": value},
    }
    found = list(open_source(database(tmp_path / "state.vscdb", rows)))
    assert not any(isinstance(one, Skipped) and one.failed for one in found)
