"""Transcripts of Gemini CLI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from remloom.sources import Document, Skipped, open_source

RECORDED = Path(__file__).with_name("data") / "transcripts" / "gemini"
META = {
    "sessionId": "s1",
    "projectHash": "0f",
    "startTime": "2026-01-12T09:00:00Z",
    "lastUpdated": "2026-01-12T09:00:00Z",
    "kind": "main",
}


def said(document: Document | Skipped) -> list[tuple[str, str]]:
    assert isinstance(document, Document), document
    return [(turn.message.speaker, turn.message.text) for turn in document.turns]


def message(number: int, kind: str, text: Any) -> dict[str, Any]:
    content = [{"text": text}] if kind == "user" else text
    at = f"2026-01-12T09:00:{number:02}Z"
    return {"id": f"m{number}", "timestamp": at, "type": kind, "content": content}


def write(path: Path, *records: Any) -> Path:
    path.write_text("\n".join(map(json.dumps, [META, *records])))
    return path


def test_a_recorded_session_that_was_resumed_is_read_once():
    (document,) = open_source(RECORDED)
    port = "We serve on port 8080, because ports below 1024 need root. The check passes now."
    assert said(document) == [
        ("user", "Please set up the port"),
        ("assistant", port),
        # typed without a terminal, it is a prompt like others
        ("user", "/compress"),
        ("assistant", port),
        ("user", "use PostgreSQL for the queue"),
        (
            "assistant",
            "The queue is in PostgreSQL: jobs are rows, and workers take them with SKIP LOCKED.",
        ),
    ]
    assert isinstance(document, Document)
    assert document.metadata["folder"] == "/home/ann/queue"
    assert document.turns[0].actions == {
        "files": ["config.py"],
        "failed": [{"command": "python3 check.py", "exit": 1}],
        "mended": [{"command": "python3 check.py", "files": ["config.py"]}],
    }
    times = [turn.message.at for turn in document.turns]
    assert times == sorted(time for time in times if time)


def test_what_was_rewound_is_not_said_nor_what_a_summary_says(tmp_path: Path):
    kept = [message(1, "user", "Set up the port."), message(2, "gemini", "Done.")]
    summary = [
        message(7, "user", "<state_snapshot>INJECTED</state_snapshot>"),
        message(8, "gemini", "Got it. Thanks for the additional context!"),
    ]
    path = write(
        tmp_path / "session-1.jsonl",
        *kept,
        message(3, "user", "Use Redis."),
        message(4, "gemini", "Redis it is."),
        {"$rewindTo": "m3"},
        message(5, "user", "<hook_context>INJECTED</hook_context>Use PostgreSQL."),
        message(6, "gemini", "PostgreSQL it is."),
        {"$set": {"messages": summary}},
        message(9, "info", "INJECTED"),
        message(10, "user", "Thanks.\n--- Content from referenced files ---\nINJECTED"),
    )
    (document,) = open_source(path)
    assert said(document) == [
        ("user", "Set up the port."),
        ("assistant", "Done."),
        ("user", "Use PostgreSQL."),
        ("assistant", "PostgreSQL it is."),
        ("user", "Thanks."),
    ]


def test_of_earlier_versions_a_session_is_one_value_of_json(tmp_path: Path):
    messages = [message(1, "user", "Set up the port."), message(2, "gemini", "Done.")]
    path = tmp_path / "session-1.json"
    path.write_text(json.dumps({**META, "messages": messages}, indent=2))
    (document,) = open_source(path)
    assert said(document) == [("user", "Set up the port."), ("assistant", "Done.")]


def test_a_sub_agent_is_left_out(tmp_path: Path):
    path = tmp_path / "session-1.jsonl"
    path.write_text(
        "\n".join(map(json.dumps, [{**META, "kind": "subagent"}, message(1, "user", "x")]))
    )
    (skipped,) = open_source(path)
    assert isinstance(skipped, Skipped)


def test_messages_with_fields_of_other_types_stop_nothing(tmp_path: Path):
    good = message(1, "user", "Hello.")
    for number, value in enumerate([None, 7, "x", [], [7], {"a": 7}]):
        odd = [
            {**good, "id": f"o{name}", name: value}
            for name in ("id", "timestamp", "type", "content", "toolCalls", "displayContent")
        ]
        odd += [{"$rewindTo": f"{value}"}, {"$set": value}, {"$set": {"messages": value}}]
        calls = [{"name": "run_shell_command", "status": "success", "args": value, "result": value}]
        odd.append({**good, "id": "calls", "toolCalls": calls})
        path = write(tmp_path / f"session-{number}.jsonl", *odd, good)
        found = list(open_source(path))
        assert not any(isinstance(one, Skipped) and one.failed for one in found), found
        assert any(isinstance(one, Document) for one in found)
