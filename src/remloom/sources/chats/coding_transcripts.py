"""Transcripts of coding agents: the JSON lines of Claude Code (`~/.claude/projects/**/*.jsonl`).

Read is what the user typed, without what the program adds, and what the agent answered in words.
The format is not a published one: records of unknown types are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from msgspec import Struct

from ...errors import SourceError
from ...model import Message
from ..decode import open_regular
from ..document import Document, Skipped, Turn
from ..entries import Entries, Note, conversation, decode, time, words

_LOOKED_AT = 20  # lines by which a transcript is recognised
_LONGEST = 32 * 1024 * 1024  # bytes of a line; tools may return much
_SPEAKERS = ("user", "assistant")
# a record with one of these is not what was said by the user, or by the agent to the user
_NOT_MESSAGES = (
    "isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly",
    "isApiErrorMessage", "toolUseResult",
)  # fmt: skip
# what the program adds to the user's words is between such tags
_ADDED = (
    "system-reminder", "command-name", "command-message", "command-args", "command-contents",
    "local-command-stdout", "local-command-stderr", "local-command-caveat", "bash-input",
    "bash-stdout", "bash-stderr", "task-notification", "ide_opened_file", "ide_selection",
    "ide_diagnostics",
)  # fmt: skip
_INTERRUPTED = "[Request interrupted by user"


class _Session(Struct):
    folder: str  # in which the agent worked
    entries: Entries


def is_transcript(path: Path) -> bool:
    """Whether a file of JSON lines is such a transcript, by its first records."""
    try:
        with open_regular(path, str(path)) as stream:
            for _ in range(_LOOKED_AT):
                if _is_record(_decode(stream.readline(_LONGEST))):
                    return True
    except (OSError, SourceError):
        pass
    return False


def read(path: Path, uri: str) -> Iterator[Document | Skipped]:
    """Read each session as a chat, with the uri `<uri>#<session id>`; it is one, mostly."""
    sessions: dict[str, _Session] = {}
    seen: set[tuple[str, str]] = set()
    broken = Entries("line")
    with open_regular(path, uri) as stream:
        for number, record in _records(stream):
            if not isinstance(record, dict):
                broken.leave_out(number, "no record")
                continue
            name = str(record.get("sessionId") or path.stem)
            session = sessions.get(name)
            if session is None:
                session = _Session(str(record.get("cwd") or ""), Entries("line"))
            session.entries.read(number, record, partial(_turn, number=number, seen=seen))
            if session.entries.turns or session.entries.left_out:
                sessions.setdefault(name, session)
    for name, session in sessions.items():
        facts = {"program": "Claude Code", "session": name, "folder": session.folder}
        title = f"{PurePath(session.folder).name or 'Session'} {name}"
        yield conversation(f"{uri}#{name}", title, session.entries, facts)
    if not sessions:
        yield Skipped(uri=uri, reason="nothing is said in it")
    if broken.left_out:
        yield Skipped(uri=uri, reason=f"left out: {'; '.join(broken.left_out)}")


def _records(stream: Any) -> Iterator[tuple[int, Any]]:
    """Yield the lines, from 1, decoded; None for one that is not JSON or far too long."""
    number = 0
    while line := stream.readline(_LONGEST):
        number += 1
        if len(line) == _LONGEST and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = stream.readline(_LONGEST)
            yield number, None
        elif line.strip():
            yield number, _decode(line)


def _decode(line: bytes) -> Any:
    try:
        return decode(line)
    except (ValueError, RecursionError):
        return None


def _is_record(value: Any) -> bool:
    """Whether a line says which session it is of, and who speaks; or is a title of one."""
    if not isinstance(value, dict):
        return False
    if value.get("type") == "summary":
        return "leafUuid" in value
    if value.get("type") not in _SPEAKERS or not isinstance(value.get("message"), dict):
        return False
    return isinstance(value.get("sessionId"), str) and "uuid" in value


def _turn(
    record: dict[str, Any], odd: Note, number: int, seen: set[tuple[str, str]]
) -> Turn | None:
    """Read a line as a turn. `seen` has ids and words of the turns so far: a session that is
    resumed has them once more."""
    speaker, message = record.get("type"), record.get("message")
    if not isinstance(speaker, str):
        odd("no record")
    if speaker not in _SPEAKERS or any(record.get(mark) for mark in _NOT_MESSAGES):
        return None
    if not isinstance(message, dict):
        odd("no message")
        return None
    content = message.get("content")
    if speaker == "user" and _is_tool_result(content):
        return None
    text = words(content, odd)
    if speaker == "user":
        text = _typed(text)
    if not text:
        return None
    id = str(record.get("uuid") or "")
    if id:
        if (id, text) in seen:
            return None
        seen.add((id, text))
    parsed = Message(speaker=speaker, text=text, id=id, at=time(record.get("timestamp"), odd))
    return Turn(message=parsed, lines=(number, number))


def _is_tool_result(content: Any) -> bool:
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, dict) and part.get("type") == "tool_result" for part in parts)


def _typed(text: str) -> str:
    """What the user typed of a text."""
    for tag in _ADDED:
        opening, closing = f"<{tag}>", f"</{tag}>"
        while (start := text.find(opening)) >= 0:
            end = text.find(closing, start)
            if end < 0:
                break
            text = text[:start] + text[end + len(closing) :]
    # what a user tells the agent to remember
    text = text.replace("<user-memory-input>", "").replace("</user-memory-input>", "").strip()
    return "" if text.startswith(_INTERRUPTED) else text
