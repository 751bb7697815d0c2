"""Transcripts of coding agents in a memory: they grow, are rewound, and come again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from remloom import Memory
from remloom.model import Resource
from remloom.testing.embedder import WordEmbedder

RECORDED = Path(__file__).parent / "sources" / "data" / "transcripts"
KEY = "a key of some length"
STORES = ("sqlite", "sqlite-with-key", "postgres")
SESSION = "0b7c6a52-1111-4222-8333-944455556666"


def record(number: int, kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "message": {"role": kind, "content": content},
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number > 1 else None,
        "sessionId": SESSION,
        "cwd": "/home/ann/queue",
        "gitBranch": "main",
        "timestamp": f"2026-01-12T{9 + number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z",
        **fields,
    }


def said(number: int) -> dict[str, Any]:
    kind = "user" if number % 2 else "assistant"
    return record(number, kind, f"Turn {number} is about the berth {number}.")


def command(number: int, line: str, *, failed: bool = False) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": line}}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "is_error": failed}
    result["content"] = "Exit code 1" if failed else ""
    return [record(number, "assistant", [call]), record(number + 1, "user", [result])]


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


@pytest.fixture(params=STORES)
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    home = tmp_path / "m" if request.param != "postgres" else request.getfixturevalue("postgres")
    key = KEY if request.param == "sqlite-with-key" else None
    with Memory.open(home, tenant=uuid4().hex, key=key, embedder="none") as opened:
        yield opened


def turns(memory: Memory) -> list[Resource]:
    found = [one for one in memory.admin.records("resources") if isinstance(one, Resource)]
    return sorted(found, key=lambda one: (one.uri, one.ordinal))


def test_a_transcript_that_grew_is_appended_to(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, [said(number) for number in range(1, 201)])
    assert memory.read(path).resources == 200
    before = {turn.id: turn.revision for turn in turns(memory)}
    write(path, [said(number) for number in range(1, 203)])
    report = memory.read(path)
    assert (report.resources, [item.status for item in report.items]) == (2, ["read"])
    after = turns(memory)
    assert len(after) == 202
    # only the last one has another context now
    changed = [turn.ordinal for turn in after if turn.revision != before.get(turn.id)]
    assert changed == [199, 200, 201]
    assert [item.status for item in memory.read(path).items] == ["unchanged"]


def test_what_is_done_after_the_last_words_is_kept_with_them(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    lines = [said(1), said(2), said(3)]
    memory.read(write(path, lines))
    lines += command(4, "pytest -k x", failed=True)
    report = memory.read(write(path, lines))
    assert report.resources == 0
    failed = [{"command": "pytest -k x", "exit": 1}]
    assert turns(memory)[2].metadata["actions"] == {"failed": failed}
    assert [item.status for item in memory.read(path).items] == ["unchanged"]
    lines += [*command(6, "pytest -k x"), said(8)]
    memory.read(write(path, lines))
    last, new = turns(memory)[2:]
    mended = [{"command": "pytest -k x"}]
    assert last.metadata["actions"] == {"failed": failed, "mended": mended}
    assert "actions" not in new.metadata
    assert [item.status for item in memory.read(path).items] == ["unchanged"]


def test_a_rewound_turn_goes_when_the_transcript_is_read_again(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    lines = [said(1), said(2), record(3, "user", "Use Redis."), record(4, "assistant", "Redis.")]
    memory.read(write(path, lines))
    lines.append(record(5, "user", "Use PostgreSQL.", parentUuid="u2"))
    memory.read(write(path, lines))
    assert [turn.content for turn in turns(memory)][2:] == ["Use PostgreSQL."]


def test_a_session_that_is_resumed_in_another_file_is_one_chat(
    memory: Memory, tmp_path: Path
) -> None:
    folder = tmp_path / "projects"
    write(folder / "-home-ann-queue" / "a.jsonl", [said(1), said(2)])
    memory.read(folder)
    write(folder / "-home-ann-worktree" / "b.jsonl", [said(1), said(2), said(3)])
    report = memory.read(folder)
    assert sorted(item.status for item in report.items) == ["read", "unchanged"]
    assert [turn.content[:6] for turn in turns(memory)] == ["Turn 1", "Turn 2", "Turn 3"]
    assert {item.status for item in memory.read(folder).items} == {"unchanged"}
    assert len(turns(memory)) == 3


def test_what_was_worked_through_before_is_taken_in_once(memory: Memory, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(RECORDED, home)
    first = memory.read(home)
    assert [item.uri for item in first.items if item.status == "failed"] == []
    assert first.resources == 6 * 3
    everything = repr(turns(memory))
    assert "INJECTED" not in everything
    assert "Redis" not in everything
    again = memory.read(home)
    assert (again.resources, again.edges) == (0, 0)
    assert {item.status for item in again.items} == {"unchanged", "skipped"}


def test_actions_are_kept_and_their_secrets_masked(memory: Memory, tmp_path: Path) -> None:
    key = "ghp_" + "aB3dE5gH7jK9mN1pQ2sT4vW6xY8z" * 2
    lines = [said(1), *command(2, f"curl -H 'Authorization: {key}' x", failed=True)]
    memory.read(write(tmp_path / "a.jsonl", lines))
    (turn,) = turns(memory)
    (failure,) = turn.metadata["actions"]["failed"]
    assert failure == {"command": "curl -H 'Authorization: [secret: GitHub token]' x", "exit": 1}


def test_of_what_grew_only_what_is_new_is_embedded(tmp_path: Path) -> None:
    embedded: list[str] = []

    class Counting(WordEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> Any:
            embedded.extend(texts)
            return super().embed_documents(texts)

    path = tmp_path / "a.jsonl"
    with Memory.open(tmp_path / "m", embedder=Counting()) as memory:
        memory.read(write(path, [said(number) for number in range(1, 101)]))
        embedded.clear()
        memory.read(write(path, [said(number) for number in range(1, 103)]))
        memory.embed_pending()
    assert len([text for text in embedded if "Turn" in text]) <= 4


def test_what_a_transcript_grew_by_costs_no_look_at_other_chats(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    memory.read(write(path, [said(1), said(2)]))

    def refuse(*_: object) -> None:
        raise AssertionError("all chats were looked through")

    monkeypatch.setattr("remloom.ingest.chat_append.ExportedChats._uris", property(refuse))
    assert memory.read(write(path, [said(1), said(2), said(3)])).resources == 1
