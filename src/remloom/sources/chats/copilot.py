"""Sessions of Copilot CLI: `~/.copilot/session-state/<id>/events.jsonl`.

A rewind names the event from which on all was taken back.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ..document import Document, Skipped, Turn
from ..entries import Entries, Note
from .json_lines import read_lines
from .session import ASSISTANT, USER, CodingSession, nothing_said, turn

PROGRAM = "Copilot CLI"
_SPEAKERS = {"user.message": USER, "assistant.message": ASSISTANT}
_EDITS = ("edit", "create", "str_replace", "str_replace_editor", "write")
_SHELLS = ("bash", "powershell")

_Event = tuple[int, dict[str, Any]]  # line, and the event in it


def is_record(value: Any) -> bool:
    """Whether a line is the first event of a session."""
    if not isinstance(value, dict) or value.get("type") != "session.start":
        return False
    return isinstance(value.get("data"), dict) and "sessionId" in value["data"]


def read(path: Path, uri: str) -> Iterator[Document | Skipped]:
    """Read a session as a chat, with the uri `<uri>#<session id>`."""
    broken = Entries("line")
    events: list[_Event] = []
    positions: dict[str, int] = {}
    for number, event in read_lines(path, uri):
        if not isinstance(event, dict) or not isinstance(event.get("data"), dict):
            broken.leave_out(number, "no event")
        elif event.get("type") == "session.snapshot_rewind":
            del events[positions.get(str(event["data"].get("upToEventId")), len(events)) :]
        else:
            positions[str(event.get("id"))] = len(events)
            events.append((number, event))
    started: dict[str, Any] = next((event["data"] for _, event in events if is_record(event)), {})
    session = CodingSession(PROGRAM, str(started.get("sessionId") or path.parent.name))
    calls: dict[str, dict[str, Any]] = {}
    for number, event in events:
        session.entries.read(number, event, partial(_turn, line=number))
        _note_actions(session, event, calls)
    if session.entries.turns or session.entries.left_out:
        yield session.document(uri)
    else:
        yield from nothing_said(uri)
    if broken.left_out:
        yield Skipped(uri=uri, reason=f"left out: {'; '.join(broken.left_out)}")


def _turn(event: dict[str, Any], odd: Note, line: int) -> Turn | None:
    speaker = _SPEAKERS.get(str(event.get("type")))
    data = event["data"]
    # of a sub-agent, or put in by a skill or the program
    if speaker is None or data.get("parentToolCallId"):
        return None
    source = data.get("source")
    if speaker == USER and isinstance(source, str) and source not in ("", "user"):
        return None
    id = str(event.get("id") or "")
    return turn(speaker, data.get("content"), odd, id=id, at=event.get("timestamp"), line=line)


def _note_actions(
    session: CodingSession, event: dict[str, Any], calls: dict[str, dict[str, Any]]
) -> None:
    kind, data = event.get("type"), event["data"]
    if kind in ("session.start", "session.resume", "session.context_changed"):
        context = data.get("context")
        context = context if isinstance(context, dict) else data
        session.actions.move(
            folder=context.get("cwd"),
            branch=context.get("branch"),
            commit=context.get("headCommit"),
        )
    elif kind == "tool.execution_start":
        calls[str(data.get("toolCallId"))] = data
    elif kind == "tool.execution_complete" and isinstance(data.get("success"), bool):
        call = calls.pop(str(data.get("toolCallId")), {})
        given = call.get("arguments")
        if not isinstance(given, dict):
            return
        if call.get("toolName") in _SHELLS:
            _note_command(session, given, data)
        elif call.get("toolName") in _EDITS and data["success"]:
            session.actions.edit(given.get("path") or given.get("file_path"))


def _note_command(session: CodingSession, given: dict[str, Any], data: dict[str, Any]) -> None:
    """A command that fails is a call that succeeds, whose last line tells the exit code."""
    result = data.get("result")
    content = result.get("content") if isinstance(result, dict) else result
    last = content.rstrip().rpartition("\n")[2] if isinstance(content, str) else ""
    told = last.strip("<>").rpartition("exit code ")[2].split()
    code = int(told[0]) if told and "exit code " in last and told[0].isdigit() else None
    failed = None if code is not None and data["success"] else not data["success"]
    session.actions.run(given.get("command"), code, failed=failed)
