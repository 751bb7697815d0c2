"""What a session begins with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory, Resource
from remloom.hooks import brief
from remloom.hooks.project import Project
from remloom.retrieve.prompt_context import count_tokens

PROJECT = Project(tenant="api", title="api")
BEGUN = datetime(2026, 3, 2, 10, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory.open(tmp_path, embedder="none")


def session(
    memory: Memory, number: int, *said: tuple[str, str], actions: dict[str, Any] | None = None
) -> list[str]:
    """A session as it is stored when a transcript is read."""
    title = f"Session {number}"
    turns = [
        Resource(
            name=f"{title} #{ordinal}",
            content=text,
            category="chat",
            uri=f"/s.jsonl#{number}",
            ordinal=ordinal,
            starts_at=BEGUN + timedelta(days=number, minutes=ordinal),
            metadata={"title": title, "speaker": speaker, "role": speaker}
            | ({"actions": actions} if actions and ordinal == len(said) - 1 else {}),
        )
        for ordinal, (speaker, text) in enumerate(said)
    ]
    return list(memory.write(turns))


def test_it_quotes_what_the_user_decided_and_how_it_ended(memory: Memory) -> None:
    session(
        memory,
        1,
        ("user", "From now on all amounts are integers of cents. Never floats."),
        ("assistant", "Let's use floats for the tax then."),
        ("user", "Can you add a test for the empty list?"),
    )
    session(memory, 2, ("user", "Run the tests again."), ("assistant", "They pass."))
    text = brief.make(memory, PROJECT).text
    decided, ended, sessions = text.split("\n\n")[1:]
    assert 'From now on all amounts are integers of cents. Never floats."' in decided
    assert "2026-03-03" in decided
    assert "floats for the tax" not in decided
    assert "empty list" not in decided
    assert 'the user: "Run the tests again."' in ended
    assert 'then the agent: "They pass."' in ended
    assert sessions.index("Session 2") < sessions.index("Session 1")


def test_it_has_what_failed_and_was_not_mended(memory: Memory) -> None:
    failed = {"failed": [{"command": "make lint", "exit": 2}, {"command": "make test", "exit": 1}]}
    session(memory, 1, ("user", "Go on."), ("assistant", "It fails."), actions=failed)
    mended = {"mended": [{"command": "make test", "files": ["src/a.py"]}], "files": ["src/a.py"]}
    session(memory, 2, ("user", "Go on."), ("assistant", "Mended."), actions=mended)
    text = brief.make(memory, PROJECT).text
    assert "`make lint` (exit 2)" in text
    assert "make test" not in text
    assert "src/a.py" in text


def test_it_fits_what_clients_take(memory: Memory) -> None:
    for number in range(40):
        rule = f"From now on the service {number} never writes to the table of another. " * 30
        session(memory, number, ("user", rule), ("assistant", rule))
    given = brief.make(memory, PROJECT)
    assert count_tokens(given.text, None) <= brief.TOKENS
    assert len(given.text) <= brief.CHARACTERS
    assert "Session 39" in given.text
    assert "Session 38" in given.text


def test_nothing_is_said_of_a_project_that_is_not_known(memory: Memory) -> None:
    given = brief.make(memory, PROJECT)
    assert (given.text, given.ids) == ("", ())


def test_it_holds_as_long_as_its_turns_are_as_they_were(memory: Memory) -> None:
    first, *_ = session(memory, 1, ("user", "From now on only cents."), ("assistant", "Good."))
    given = brief.make(memory, PROJECT)
    assert brief.still_holds(memory, given)
    memory.forget(first)
    assert not brief.still_holds(memory, given)
