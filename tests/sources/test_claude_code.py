"""Transcripts of Claude Code: what was said on the branch that was taken, and what was done."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory
from remloom.sources import Document, Skipped, open_source

RECORDED = Path(__file__).with_name("data") / "transcripts" / "claude_code.jsonl"
SESSION = "0b7c6a52-1111-4222-8333-944455556666"


def record(kind: str, content: Any, number: int, **fields: Any) -> dict[str, Any]:
    """A record as Claude Code writes it."""
    return {
        "parentUuid": f"u{number - 1}" if number > 1 else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ann/ferries",
        "sessionId": SESSION,
        "version": "2.0.1",
        "gitBranch": "main",
        "type": kind,
        "message": {"role": kind, "content": content},
        "uuid": f"u{number}",
        "timestamp": f"2026-01-12T09:00:{number % 60:02}.000Z",
        **fields,
    }


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


RESULT = [{"type": "tool_result", "tool_use_id": "t1", "content": "TOOL OUTPUT"}]
REMINDER = "<system-reminder>INJECTED</system-reminder>"
LINES = [
    {"type": "summary", "summary": "A MODEL'S SUMMARY", "leafUuid": "u9"},
    {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
    record("user", "INJECTED caveat", 1, isMeta=True),
    record("user", f"I always use uv here.{REMINDER}", 2),
    record("assistant", [{"type": "thinking", "thinking": "HIDDEN"}], 3),
    record("assistant", text("Noted."), 4),
    record("assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}], 5),
    record("user", RESULT, 6, toolUseResult={"stdout": "TOOL OUTPUT"}),
    record("user", [*RESULT, *text("TOOL OUTPUT")], 7),
    record("user", text("SUB-AGENT PROMPT"), 8, isSidechain=True),
    record("user", "<command-name>/clear</command-name>\n<command-args>x</command-args>", 9),
    record("user", text("[Request interrupted by user]"), 10),
    record("user", "This session is being continued from …", 11, isCompactSummary=True),
    record("user", "<user-memory-input>never amend commits</user-memory-input>", 12),
    record("user", [*text("Line <b>two</b>, please."), {"type": "image", "source": {}}], 13),
    {"type": "a-type-of-tomorrow", "sessionId": SESSION, "message": 7},
    record("user", "I always use uv here.", 2),
]
SAID = [
    ("user", "I always use uv here."),
    ("assistant", "Noted."),
    ("user", "never amend commits"),
    ("user", "Line <b>two</b>, please."),
]


def write(path: Path, lines: list[Any]) -> Path:
    written = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("\n".join(written) + "\n", encoding="utf-8")
    return path


def said(document: Document | Skipped) -> list[tuple[str, str]]:
    assert isinstance(document, Document), document
    return [(turn.message.speaker, turn.message.text) for turn in document.turns]


def test_of_a_transcript_only_what_was_typed_and_answered_is_read(tmp_path: Path):
    path = write(tmp_path / "any name.jsonl", LINES)
    (document,) = open_source(tmp_path)
    assert said(document) == SAID
    assert isinstance(document, Document)
    assert document.uri == f"{path}#{SESSION}"
    assert document.metadata["folder"] == "/home/ann/ferries"
    first = document.turns[0]
    assert (first.lines, first.message.id) == ((4, 4), "u2")
    assert first.message.at == datetime(2026, 1, 12, 9, 0, 2, tzinfo=UTC)


def test_a_transcript_of_several_sessions_is_several_chats(tmp_path: Path):
    other = record("user", "I moved to Kiel.", 20, sessionId="other")
    first, second = open_source(write(tmp_path / "a.jsonl", [*LINES, other]))
    assert said(first) == SAID
    assert said(second) == [("user", "I moved to Kiel.")]
    assert second.uri.endswith("#other")


def test_a_transcript_of_any_size_is_read_and_one_of_tools_alone_is_empty(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", LINES)
    assert len(list(open_source(path, max_bytes=100))) == 1
    (skipped,) = open_source(write(tmp_path / "b.jsonl", [LINES[0], LINES[7]]))
    assert isinstance(skipped, Skipped)
    assert (skipped.failed, skipped.reason) == (False, "nothing is said in it")


def test_lines_that_are_no_records_are_named(tmp_path: Path):
    # the last line is being written
    lines = [*LINES[:4], "{not json", "7", "[" * 100_000, '{"type": "user", "mess']
    document, skipped = open_source(write(tmp_path / "a.jsonl", lines))
    assert said(document) == SAID[:1]
    assert isinstance(skipped, Skipped)
    assert skipped.reason == "left out: line 5, 6, 7, 8: no record"


def test_a_line_far_too_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("remloom.sources.chats.json_lines._LONGEST", 5000)
    lines = [record("user", "x" * 12_000, 1), LINES[3]]
    document, skipped = open_source(write(tmp_path / "a.jsonl", [LINES[0], *lines]))
    assert said(document) == SAID[:1]
    assert isinstance(document, Document)
    assert document.turns[0].lines == (3, 3)
    assert isinstance(skipped, Skipped)
    assert skipped.reason.endswith("line 2: no record")


@pytest.mark.parametrize("value", [None, 7, "x", [], [7], {"a": 7}])
def test_records_with_fields_of_other_types_stop_nothing(tmp_path: Path, value: Any):
    fields = ("message", "uuid", "timestamp", "sessionId", "cwd", "type", "isSidechain")
    odd = [record("user", "hello", 30 + n) | {name: value} for n, name in enumerate(fields)]
    odd.append(record("user", value, 50))
    odd.append(record("user", [{"type": "text", "text": value}], 51))
    found = list(open_source(write(tmp_path / "a.jsonl", [*LINES, *odd])))
    assert said(found[0])[: len(SAID)] == SAID
    assert not any(isinstance(one, Skipped) and one.failed for one in found)


def test_many_open_tags_take_no_time(tmp_path: Path):
    words = "<system-reminder>" * 50_000
    (document,) = open_source(write(tmp_path / "a.jsonl", [record("user", words, 1)]))
    assert said(document) == [("user", words)]


def test_other_json_lines_are_read_as_before(tmp_path: Path):
    lines = [{"speaker": "Ann", "text": "hi"}, {"speaker": "Bob", "text": "yo", "type": "user"}]
    (document,) = open_source(write(tmp_path / "a.jsonl", lines))
    assert said(document) == [("Ann", "hi"), ("Bob", "yo")]


def test_a_transcript_that_grows_is_gone_on_with(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", LINES[:6])
    with Memory.open(tmp_path / "memory", embedder="none") as memory:
        assert memory.read(path).resources == 2
        write(path, LINES)
        assert memory.read(path).resources == 2
        assert [item.status for item in memory.read(path).items] == ["unchanged"]


def test_a_recorded_session_is_read_along_the_branch_that_was_taken():
    # resumed, rewound to before "use Redis", and compacted
    (document,) = open_source(RECORDED)
    assert said(document) == [
        ("user", "Please set up the port"),
        (
            "assistant",
            "We serve on port 8080, because ports below 1024 need root. The check passes now.",
        ),
        ("user", "use PostgreSQL for the queue"),
        (
            "assistant",
            "The queue is in PostgreSQL: jobs are rows, and workers take them with SKIP LOCKED.",
        ),
        ("user", "what did we decide?"),
        ("assistant", "The port is 8080 and the queue is in PostgreSQL."),
    ]
    assert isinstance(document, Document)
    assert document.title == "Please set up the port (queue)"
    assert document.metadata["branch"] == "master"
    assert [turn.actions for turn in document.turns] == [
        {
            "files": ["config.py"],
            "failed": [{"command": "python3 check.py", "exit": 1}],
            "mended": [{"command": "python3 check.py", "files": ["config.py"]}],
        },
        *[{}] * 5,
    ]


def test_what_was_rewound_to_the_first_prompt_is_not_said(tmp_path: Path):
    lines = [
        record("user", "Use Redis.", 1),
        record("assistant", text("Redis it is."), 2),
        record("user", "Use PostgreSQL.", 3, parentUuid=None),
        record("assistant", text("PostgreSQL it is."), 4),
    ]
    (document,) = open_source(write(tmp_path / "a.jsonl", lines))
    assert said(document) == [("user", "Use PostgreSQL."), ("assistant", "PostgreSQL it is.")]


def test_a_lost_line_costs_only_itself(tmp_path: Path):
    lines = [record("user", "One.", 1), record("assistant", text("Two."), 2), "{broken"]
    lines.append(record("assistant", text("Four."), 4))
    document, skipped = open_source(write(tmp_path / "a.jsonl", lines))
    assert [words for _, words in said(document)] == ["One.", "Two.", "Four."]
    assert isinstance(skipped, Skipped)


def test_what_is_typed_while_the_agent_works_is_said(tmp_path: Path):
    attachment = {"type": "queued_command", "prompt": "And in SQLite, too."}
    queued = record("attachment", "", 2, attachment=attachment)
    notice = {"type": "queued_command", "prompt": "INJECTED", "commandMode": "task-notification"}
    lines = [record("user", "Use PostgreSQL.", 1), queued]
    lines.append(record("attachment", "", 3, attachment=notice))
    (document,) = open_source(write(tmp_path / "a.jsonl", lines))
    assert said(document) == [("user", "Use PostgreSQL."), ("user", "And in SQLite, too.")]


def called(number: int, name: str, **given: str) -> dict[str, Any]:
    call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
    return record("assistant", [call], number)


def ended(number: int, call: int, output: str = "", *, failed: bool = False) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": f"t{call}", "content": output}
    return record("user", [result | {"is_error": failed}], number, toolUseResult={"x": 1})


def test_actions_say_what_failed_and_what_mended_it_in_a_later_turn(tmp_path: Path):
    test = "pytest -k x"
    lines = [
        record("user", "Mend the queue.", 1),
        called(2, "Bash", command=test),
        ended(3, 2, "Exit code 2\nE  boom", failed=True),
        record("assistant", text("It fails."), 4),
        called(5, "Edit", file_path="/home/ann/ferries/src/queue.py"),
        ended(6, 5),
        called(7, "Write", file_path="/etc/other.conf"),
        ended(8, 7, "refused", failed=True),
        called(9, "Bash", command="make"),
        ended(10, 9),
        called(11, "Bash", command=f"  {test}"),
        ended(12, 11),
        called(13, "Bash", command="ls nowhere"),
        ended(14, 13, "interrupted", failed=True),
        record("assistant", text("Mended."), 15, gitBranch="queue", cwd="/home/ann/other"),
    ]
    (document,) = open_source(write(tmp_path / "a.jsonl", lines))
    assert isinstance(document, Document)
    assert document.metadata["folder"] == "/home/ann/ferries"
    assert [turn.actions for turn in document.turns] == [
        {"failed": [{"command": test, "exit": 2}]},
        {
            "files": ["src/queue.py"],
            "mended": [{"command": test, "files": ["src/queue.py"], "commands": ["make"]}],
            "failed": [{"command": "ls nowhere"}],
        },
        {"folder": "/home/ann/other", "branch": "queue"},
    ]


def test_actions_are_bounded(tmp_path: Path):
    lines = [record("user", "Go.", 1)]
    for number in range(2, 202, 4):
        path = f"/home/ann/ferries/{number}{'x' * 1000}"
        lines += [called(number, "Write", file_path=path), ended(number + 1, number)]
        lines.append(called(number + 2, "Bash", command=f"{number} {'y' * 1000}"))
        lines.append(ended(number + 3, number + 2, "Exit code 1", failed=True))
    (document,) = open_source(write(tmp_path / "a.jsonl", lines))
    assert isinstance(document, Document)
    assert len(json.dumps(document.turns[0].actions)) < 10_000


def test_a_title_shows_no_part_of_a_secret(tmp_path: Path):
    key = "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ2sT4vW6xY8z" * 3
    prompt = f"Please put this key into the settings of the queue for me now: {key}"
    (document,) = open_source(write(tmp_path / "a.jsonl", [record("user", prompt, 1)]))
    assert isinstance(document, Document)
    assert "sk-ant" not in document.title


MEMORY = '<remloom-memory source="x">\nOn 3 May: "Use Redis."\n</remloom-memory>'


@pytest.mark.parametrize("block", [MEMORY, MEMORY[:30], f"<hook_context>{MEMORY}</hook_context>"])
def test_what_a_memory_gave_does_not_come_back_in(tmp_path: Path, block: str):
    lines = [record("user", f"Two berths.\n{block}", 1), record("assistant", text(block), 2)]
    (document,) = open_source(write(tmp_path / "a.jsonl", lines))
    assert said(document) == [("user", "Two berths.")]


def test_many_lost_lines_take_no_time(tmp_path: Path):
    lines = [record("user", f"Berth {number}.", number) for number in range(1, 16_001, 2)]
    (document,) = open_source(write(tmp_path / "a.jsonl", lines))
    assert isinstance(document, Document)
    assert len(document.turns) == 8_000
