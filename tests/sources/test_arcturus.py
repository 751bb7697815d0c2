"""Sessions of Arcturus."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from remloom.sources import Document, Skipped, open_source


def said(document: Document | Skipped) -> list[tuple[str, str]]:
    assert isinstance(document, Document), document
    return [(turn.message.speaker, turn.message.text) for turn in document.turns]


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
