"""Transcripts of coding agents, and sessions of Arcturus."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory
from remloom.sources import Document, Skipped, open_source

SESSION = "0b7c6a52-1111-4222-8333-944455556666"


def record(kind: str, content: Any, number: int, **fields: Any) -> dict[str, Any]:
    """A record as Claude Code writes it."""
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ann/ferries",
        "sessionId": SESSION,
        "version": "2.0.1",
        "gitBranch": "main",
        "type": kind,
        "message": {"role": kind, "content": content},
        "uuid": f"u{number}",
        "timestamp": f"2026-01-12T09:00:{number:02}.000Z",
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
    monkeypatch.setattr("remloom.sources.chats.coding_transcripts._LONGEST", 5000)
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


# -- Arcturus ------------------------------------------------------------------------------------

GRAPH = {
    "directed": True,
    "graph": {
        "session_id": "17001",
        "original_query": "Which ferry fits a vegetarian?",
        "created_at": "2026-01-12T09:00:00+00:00",
    },
    "nodes": [
        {"id": "ROOT", "agent": "System", "description": "Initial Query", "output": None},
        {
            "id": "T001",
            "agent": "RetrieverAgent",
            "description": "A PLAN",
            "output": {"boats": ["Ida"]},
        },
        {
            "id": "T002",
            "agent": "FormatterAgent",
            "description": "A PLAN",
            "output": "Take the Ida.",
        },
        {"id": "T003", "agent": "CoderAgent", "description": "A PLAN", "output": ""},
        7,
    ],
    "links": [],
}


def test_a_session_of_arcturus_has_the_question_and_the_outputs(tmp_path: Path):
    (tmp_path / "session_17001.json").write_text(json.dumps(GRAPH))
    (document,) = open_source(tmp_path)
    assert said(document) == [
        ("user", "Which ferry fits a vegetarian?"),
        ("assistant", '{"boats": ["Ida"]}'),
        ("assistant", "Take the Ida."),
    ]
    assert isinstance(document, Document)
    assert document.title == "Which ferry fits a vegetarian?"
    assert document.turns[0].message.at == datetime(2026, 1, 12, 9, tzinfo=UTC)
    assert document.turns[2].message.id == "T002"


@pytest.mark.parametrize("repeated", [False, True])
def test_a_session_summary_of_arcturus_has_its_question_once(tmp_path: Path, repeated: bool):
    asked = [{"role": "user", "content": "Any ferry?"}] * repeated
    history = [
        *asked,
        {"role": "assistant", "content": "Nine."},
        {"role": "system", "content": "x"},
        None,
    ]
    value = {"query": "Any ferry?", "history": history, "summary": "There are nine ferries."}
    (tmp_path / "session_1.json").write_text(json.dumps(value))
    (document,) = open_source(tmp_path)
    assert said(document) == [
        ("user", "Any ferry?"),
        ("assistant", "Nine."),
        ("assistant", "There are nine ferries."),
    ]


@pytest.mark.parametrize("value", [None, 7, "", [], {"a": 7}])
def test_sessions_of_arcturus_with_fields_of_other_types_stop_nothing(tmp_path: Path, value: Any):
    shapes = [
        {**GRAPH, "nodes": value},
        {**GRAPH, "graph": value},
        {**GRAPH, "graph": {"original_query": value}},
        {"query": value, "history": [], "summary": ""},
        {"query": "x", "history": value, "summary": value},
    ]
    for number, shape in enumerate(shapes):
        (tmp_path / f"session_{number}.json").write_text(json.dumps(shape))
    assert not any(isinstance(one, Skipped) and one.failed for one in open_source(tmp_path))
