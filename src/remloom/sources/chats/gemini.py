"""Transcripts of Gemini CLI: `~/.gemini/tmp/*/chats/session-*.jsonl`, and `.json` of earlier
versions.

A message is written again when more is known of it, and all of them when a session is resumed or
compressed. `$rewindTo` takes one back, with those after it. The format is not a published one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import SourceError
from ..decode import open_regular
from ..document import Document, Skipped, Turn
from ..entries import Entries, Note, decode
from .json_lines import read_lines
from .session import ASSISTANT, USER, CodingSession, nothing_said, turn

PROGRAM = "Gemini CLI"
_SPEAKERS = {"user": USER, "gemini": ASSISTANT}
_EDITS = ("write_file", "replace", "edit")
_SHELL = "run_shell_command"
_EXIT = re.compile(r"^Exit Code: (\d+)$", re.MULTILINE)
# what the program lets the model say to a summary
_ANSWER_TO_SUMMARY = "Got it. Thanks for the additional context!"
_ROOT = ".project_root"  # beside `chats`: names the folder of the project
_LONGEST_ROOT = 4096  # bytes

_Message = tuple[int, dict[str, Any]]  # line, and the message in it


def is_record(value: Any) -> bool:
    """Whether a value is the first line of such a transcript, or a whole one."""
    if not isinstance(value, dict) or not isinstance(value.get("sessionId"), str):
        return False
    return "projectHash" in value and "startTime" in value


def read(path: Path, uri: str) -> Iterator[Document | Skipped]:
    """Read a session as a chat, with the uri `<uri>#<session id>`."""
    broken = Entries("line")
    facts: dict[str, Any] = {}
    messages: dict[str, _Message] = {}
    for number, record in _records(path, uri):
        if isinstance(record, dict):
            _take(number, record, messages, facts)
        else:
            broken.leave_out(number, "no record")
    if facts.get("kind", "main") != "main" or not messages:
        yield from nothing_said(uri)
    else:
        session = CodingSession(PROGRAM, str(facts.get("sessionId") or path.stem))
        session.actions.move(folder=_folder(path, facts))
        for number, message in messages.values():
            session.entries.read(number, message, partial(_turn, line=number))
            _note_actions(session, message)
        yield session.document(uri, cited=path.suffix == ".jsonl")
    if broken.left_out:
        yield Skipped(uri=uri, reason=f"left out: {'; '.join(broken.left_out)}")


def _records(path: Path, uri: str) -> Iterator[tuple[int, Any]]:
    if path.suffix != ".json":
        yield from read_lines(path, uri)
        return
    with open_regular(path, uri) as stream:
        yield 1, decode(stream.read())


def _take(
    number: int, record: dict[str, Any], messages: dict[str, _Message], facts: dict[str, Any]
) -> None:
    """Take what a record changes: one message, all of them, or what is known of the session."""
    changed = record.get("$set")
    if "$rewindTo" in record:
        ids = list(messages)
        first = ids.index(record["$rewindTo"]) if record["$rewindTo"] in ids else 0
        for id in ids[first:]:
            del messages[id]
    elif isinstance(changed, dict):
        _take_again(number, changed, messages)
        facts |= {name: value for name, value in changed.items() if name != "messages"}
    elif isinstance(record.get("id"), str) and "type" in record:
        line = messages[record["id"]][0] if record["id"] in messages else number
        messages[record["id"]] = (line, record)
    else:
        _take_again(number, record, messages)
        facts |= {name: value for name, value in record.items() if name != "messages"}


def _take_again(number: int, record: dict[str, Any], messages: dict[str, _Message]) -> None:
    """Take messages of which most are known: those of a session that is resumed or compressed."""
    listed = record.get("messages")
    for message in listed if isinstance(listed, list) else ():
        if isinstance(message, dict) and isinstance(message.get("id"), str):
            messages.setdefault(message["id"], (number, message))


def _turn(message: dict[str, Any], odd: Note, line: int) -> Turn | None:
    speaker = _SPEAKERS.get(str(message.get("type")))
    if speaker is None:
        return None
    # what is shown is what was typed, without the files that it refers to
    content = message.get("displayContent") or message.get("content")
    parts = content if isinstance(content, list) else [content]
    said = [part.get("text", "") if isinstance(part, dict) else part for part in parts]
    if speaker == ASSISTANT and said == [_ANSWER_TO_SUMMARY]:
        return None
    return turn(speaker, said, odd, id=message["id"], at=message.get("timestamp"), line=line)


def _note_actions(session: CodingSession, message: dict[str, Any]) -> None:
    calls = message.get("toolCalls")
    for call in calls if isinstance(calls, list) else ():
        given = call.get("args") if isinstance(call, dict) else None
        if not isinstance(given, dict) or call.get("status") not in ("success", "error"):
            continue
        failed = call["status"] == "error"
        if call.get("name") == _SHELL:
            code = _exit_code(call.get("result"))
            session.actions.run(given.get("command"), code, failed=failed or bool(code))
        elif call.get("name") in _EDITS and not failed:
            session.actions.edit(given.get("file_path"))


def _exit_code(result: Any) -> int:
    """The exit code that the model was told of; none is told for 0."""
    for part in result if isinstance(result, list) else ():
        response = part.get("functionResponse") if isinstance(part, dict) else None
        told = response.get("response") if isinstance(response, dict) else None
        output = told.get("output") if isinstance(told, dict) else None
        codes = _EXIT.findall(output) if isinstance(output, str) else []
        if codes:
            return int(codes[-1])
    return 0


def _folder(path: Path, facts: dict[str, Any]) -> str:
    """The project's folder, as the program notes it beside the chats."""
    try:
        with open_regular(path.parent.parent / _ROOT, "") as stream:
            return stream.read(_LONGEST_ROOT).decode().strip()
    except (OSError, ValueError, SourceError):
        listed = facts.get("directories")
        return str(listed[0]) if isinstance(listed, list) and listed else ""
