"""What the programs say to their hooks, and how they take a reply: as they were recorded.

The payloads in `data` are those that the real programs sent in two sessions of one repository, and
`request` is where in the second's request to its model they put what they were told.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from remloom.hooks.answers import Answers
from remloom.hooks.clients import CLIENTS, parse, reply
from remloom.hooks.events import Event
from remloom.hooks.place import folder_of

DATA = Path(__file__).with_name("data")
TRANSCRIPTS = DATA.parent.parent / "sources" / "data" / "transcripts"
PROGRAMS = ("claude-code", "codex", "gemini", "opencode")


def recorded(client: str) -> Any:
    return json.loads((DATA / f"{client}.json").read_text())


def events(client: str) -> list[Event]:
    found = (parse(client, name, payload) for name, payload in recorded(client)["payloads"])
    return [event for event in found if event]


def transcript(client: str, tmp_path: Path) -> str:
    """A session that the program wrote down."""
    if client == "opencode":
        path = tmp_path / "opencode.db"
        connection = sqlite3.connect(path)
        connection.executescript((TRANSCRIPTS / "opencode_compacted.sql").read_text())
        ((id,),) = connection.execute("SELECT id FROM session WHERE parent_id IS NULL")
        connection.close()
        return f"{path}#{id}"
    if client == "claude-code":
        return str(TRANSCRIPTS / "claude_code.jsonl")
    target = tmp_path / client
    shutil.copytree(TRANSCRIPTS / client, target)
    return str(sorted(target.rglob("*.jsonl"))[-1])


@pytest.mark.parametrize("client", PROGRAMS)
def test_what_a_program_says_is_understood(client: str) -> None:
    said = events(client)
    first = [event for event in said if event.session == said[0].session]
    assert [event.kind for event in first][:3] == ["start", "prompt", "stop"]
    assert "use PostgreSQL for the order queue" in first[1].prompt
    assert {event.folder for event in said} == {"/home/ann/api"}
    assert len({event.session for event in said}) == 2
    assert all(event.transcript.startswith("/home/ann/.") for event in said)


@pytest.mark.parametrize("client", PROGRAMS)
def test_a_program_puts_what_it_is_told_into_its_request(client: str) -> None:
    request = json.dumps(recorded(client)["request"])
    assert "remloom-memory" in request
    assert "use PostgreSQL for the order queue" in request


@pytest.mark.parametrize("client", PROGRAMS)
def test_a_decision_of_one_session_is_told_to_the_next(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMLOOM_EMBEDDER", "none")
    folder = folder_of(tmp_path / "home")
    folder.mkdir(parents=True)
    answers = Answers(folder)
    first, *_ = events(client)
    stopped = Event(
        client=client,
        kind="stop",
        session=first.session,
        folder=first.folder,
        transcript=transcript(client, tmp_path),
    )
    try:
        answers.read(stopped)
        begun = [event for event in events(client) if event.kind == "start"][-1]
        text = answers.given(begun).text
    finally:
        answers.close()
    assert "PostgreSQL" in text
    name = next(name for name, kind in CLIENTS[client].kinds.items() if kind == "start")
    assert _told(reply(client, name, text)) == text


def _told(said: dict[str, Any]) -> Any:
    return said["text"] if "text" in said else said["hookSpecificOutput"]["additionalContext"]


def test_programs_that_were_not_run_are_understood_as_their_documentation_says() -> None:
    cursor = parse(
        "cursor",
        "stop",
        {
            "conversation_id": "c",
            "workspace_roots": ["/home/ann/api"],
            "transcript_path": "/home/ann/.cursor/c.jsonl",
            "status": "completed",
        },
    )
    assert cursor == Event(
        client="cursor",
        kind="stop",
        session="c",
        folder="/home/ann/api",
        transcript="/home/ann/.cursor/c.jsonl",
    )
    assert reply("cursor", "sessionStart", "told") == {"additional_context": "told"}
    copilot = parse("copilot", "SessionEnd", {"session_id": "s", "cwd": "/home/ann/api"})
    assert copilot
    assert copilot.transcript.endswith("/session-state/s/events.jsonl")
    assert reply("copilot", "SessionStart", "told") == {"additionalContext": "told"}


def test_what_is_not_known_is_nothing() -> None:
    assert parse("emacs", "SessionStart", {}) is None
    assert parse("claude-code", "Notification", {}) is None
    assert reply("codex", "SessionStart", "") == {}
    odd = parse("cursor", "stop", {"workspace_roots": "x", "conversation_id": ["c"]})
    assert odd
    assert odd.folder == ""
