"""Sessions of Copilot CLI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from remloom.sources import Document, Skipped, open_source


def event(number: int, kind: str, **data: Any) -> dict[str, Any]:
    at = f"2026-01-12T09:00:{number:02}Z"
    parent = f"e{number - 1}" if number else None
    return {"type": kind, "data": data, "id": f"e{number}", "timestamp": at, "parentId": parent}


START = event(
    0,
    "session.start",
    sessionId="s1",
    version=1,
    producer="copilot-agent",
    context={"cwd": "/home/ann/queue", "branch": "main"},
)


def write(tmp_path: Path, *events: Any) -> Path:
    path = tmp_path / "session-state" / "s1" / "events.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, [START, *events])))
    return path


def called(number: int, name: str, given: Any, success: bool, content: str) -> list[Any]:
    of = {"toolCallId": f"c{number}"}
    result = {"content": content}
    return [
        event(number, "tool.execution_start", **of, toolName=name, arguments=given),
        event(number, "tool.execution_complete", **of, success=success, result=result),
    ]


def test_a_session_has_what_was_said_and_done_and_not_what_was_rewound(tmp_path: Path):
    path = write(
        tmp_path,
        event(1, "user.message", content="Set up the port.", transformedContent="INJECTED"),
        event(2, "system.message", content="INJECTED"),
        *called(3, "bash", {"command": "make"}, True, "boom\n<exited with exit code 2>"),
        *called(4, "edit", {"path": "/home/ann/queue/config.py"}, True, ""),
        *called(5, "create", {"path": "/home/ann/queue/no.py"}, False, "refused"),
        *called(6, "bash", {"command": "make"}, True, "ok\n<exited with exit code 0>"),
        event(7, "assistant.message", content="Done.", toolRequests=[]),
        event(8, "assistant.message", content="", toolRequests=[{"toolCallId": "c9"}]),
        event(9, "user.message", content="Use Redis."),
        event(10, "assistant.message", content="Redis it is."),
        event(11, "session.snapshot_rewind", upToEventId="e9", eventsRemoved=2),
        event(
            12,
            "user.message",
            content="Use PostgreSQL.<system_notification>INJECTED</system_notification>",
        ),
        event(13, "user.message", content="INJECTED", source="skill-pdf"),
        event(14, "assistant.message", content="INJECTED", parentToolCallId="c1"),
        event(15, "assistant.message", content="PostgreSQL it is."),
    )
    (document,) = open_source(path)
    assert isinstance(document, Document)
    assert [(turn.message.speaker, turn.message.text) for turn in document.turns] == [
        ("user", "Set up the port."),
        ("assistant", "Done."),
        ("user", "Use PostgreSQL."),
        ("assistant", "PostgreSQL it is."),
    ]
    assert document.turns[0].actions == {
        "files": ["config.py"],
        "failed": [{"command": "make", "exit": 2}],
        "mended": [{"command": "make", "files": ["config.py"]}],
    }
    assert document.metadata["branch"] == "main"
    assert document.turns[0].lines == (2, 2)


def test_events_with_fields_of_other_types_stop_nothing(tmp_path: Path):
    good = event(1, "user.message", content="Hello.")
    for value in (None, 7, "x", [], [7], {"a": 7}):
        odd: list[Any] = [{**good, name: value} for name in good]
        odd += [
            event(2, kind, content=value, toolCallId=value, arguments=value, result=value)
            for kind in ("user.message", "assistant.message", "tool.execution_start")
        ]
        odd += called(3, "bash", value, True, value)  # type: ignore[arg-type]
        odd.append(event(4, "session.context_changed", context=value, cwd=value))
        odd.append(event(5, "session.snapshot_rewind", upToEventId=value))
        found = list(open_source(write(tmp_path, *odd, good)))
        assert not any(isinstance(one, Skipped) and one.failed for one in found), found
        assert any(isinstance(one, Document) for one in found)
