"""Transcripts of Codex."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from remloom import Memory
from remloom.sources import Document, Skipped, open_source

RECORDED = Path(__file__).with_name("data") / "transcripts" / "codex"
PORT = "We serve on port 8080, because ports below 1024 need root. The check passes now."
DONE = {
    "files": ["config.py"],
    "failed": [{"command": "python3 check.py", "exit": 1}],
    "mended": [{"command": "python3 check.py", "files": ["config.py"]}],
}


def said(document: Document | Skipped) -> list[tuple[str, str]]:
    assert isinstance(document, Document), document
    return [(turn.message.speaker, turn.message.text) for turn in document.turns]


def test_a_thread_that_was_reverted_goes_on_in_another_file():
    # resumed, reverted to before "use Redis", and compacted
    skipped, document = open_source(RECORDED)
    assert isinstance(skipped, Skipped)
    assert "goes on in rollout-2026-11-30T19-30-29" in skipped.reason
    assert said(document) == [
        ("user", "Please set up the port"),
        ("assistant", PORT),
        ("user", "use PostgreSQL for the queue"),
        (
            "assistant",
            "The queue is in PostgreSQL: jobs are rows, and workers take them with SKIP LOCKED.",
        ),
        ("user", "what did we decide?"),
        ("assistant", "The port is 8080 and the queue is in PostgreSQL."),
    ]
    assert isinstance(document, Document)
    assert [turn.actions for turn in document.turns] == [DONE, *[{}] * 5]
    assert document.metadata["folder"] == "/home/ann/queue"
    assert document.metadata["branch"] == "master"
    assert len(document.metadata["commit"]) == 40


def test_a_revert_takes_back_what_was_read_before(tmp_path: Path):
    folder = tmp_path / "sessions" / "2026" / "11" / "30"
    folder.mkdir(parents=True)
    first, second = sorted(RECORDED.rglob("rollout-*.jsonl"))
    shutil.copy(first, folder)
    with Memory.open(tmp_path / "memory", embedder="none") as memory:
        report = memory.read(tmp_path / "sessions")
        assert report.resources == 4
        assert memory.search_text("Redis").records
        shutil.copy(second, folder)
        memory.read(tmp_path / "sessions")
        assert not memory.search_text("Redis").records
        (chat,) = memory.lookup("Please set up the port (queue)").records
        assert chat.record.properties["turns"] == 6
        assert memory.read(tmp_path / "sessions").resources == 0


def write(path: Path, *records: dict[str, Any]) -> Path:
    meta = {"id": "t1", "cwd": "/home/ann/queue", "git": {"branch": "main"}}
    lines = [{"type": "session_meta", "payload": meta}, *records]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def item(second: int, **payload: Any) -> dict[str, Any]:
    at = f"2026-01-12T09:00:{second:02}Z"
    return {"timestamp": at, "type": "response_item", "payload": payload}


def message(second: int, role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(second, type="message", role=role, content=[{"type": kind, "text": text}])


def test_of_earlier_versions_what_was_rolled_back_is_not_said(tmp_path: Path):
    path = write(
        tmp_path / "rollout-1.jsonl",
        message(1, "user", "<environment_context>INJECTED</environment_context>"),
        message(2, "user", "# AGENTS.md instructions for /home/ann\n\nINJECTED"),
        message(3, "developer", "INJECTED"),
        message(4, "user", "Set up the port."),
        message(5, "assistant", "Done."),
        message(6, "user", "Use Redis."),
        message(7, "assistant", "Redis it is."),
        {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}},
        message(8, "user", "Use PostgreSQL."),
    )
    (document,) = open_source(path)
    assert said(document) == [
        ("user", "Set up the port."),
        ("assistant", "Done."),
        ("user", "Use PostgreSQL."),
    ]


def test_of_earlier_versions_the_output_tells_how_a_command_ended(tmp_path: Path):
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-1\n+2\n*** End Patch"

    def call(second: int, name: str, given: Any, output: Any) -> list[dict[str, Any]]:
        id = f"c{second}"
        return [
            item(second, type="function_call", name=name, arguments=json.dumps(given), call_id=id),
            item(second, type="function_call_output", call_id=id, output=output),
        ]

    failed = json.dumps({"output": "boom", "metadata": {"exit_code": 1}})
    path = write(
        tmp_path / "rollout-1.jsonl",
        message(1, "user", "Mend it."),
        *call(2, "shell", {"command": ["bash", "-lc", "pytest -k x"]}, failed),
        *call(3, "shell", {"command": ["apply_patch", patch]}, "Exit code: 0\nOutput:\n"),
        *call(4, "shell", {"command": ["bash", "-lc", "pytest -k x"]}, "Exit code: 0\nOutput:\n"),
        *call(5, "shell", {"command": 7}, "?"),
    )
    (document,) = open_source(path)
    assert isinstance(document, Document)
    (turn,) = document.turns
    assert turn.actions == {
        "files": ["src/a.py"],
        "failed": [{"command": "pytest -k x", "exit": 1}],
        "mended": [{"command": "pytest -k x", "files": ["src/a.py"]}],
    }


def test_records_with_fields_of_other_types_stop_nothing(tmp_path: Path):
    good = message(1, "user", "Hello.")
    for number, value in enumerate([None, 7, "x", [], [7], {"a": 7}]):
        odd = [{**good, name: value} for name in ("timestamp", "type", "payload", "ordinal")]
        for name in ("id", "role", "content", "type", "internal_chat_message_metadata_passthrough"):
            odd.append({**good, "payload": {**good["payload"], name: value}})
        for name in ("item", "num_turns", "call_id", "output", "arguments"):
            for kind in ("item_completed", "thread_rolled_back", "function_call_output"):
                odd.append({"type": "event_msg", "payload": {"type": kind, name: value}})
        path = write(tmp_path / f"rollout-{number}.jsonl", good, *odd, good)
        found = list(open_source(path))
        assert not any(isinstance(one, Skipped) and one.failed for one in found), found
        assert any(isinstance(one, Document) for one in found)
