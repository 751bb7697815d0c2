"""Chats of Cursor: agents' transcripts, `~/.cursor/projects/*/agent-transcripts/**/*.jsonl`, and
`globalStorage/state.vscdb`.

In a transcript what the user typed is within `<user_query>`; no line has an id or a time. In the
database a chat lists its bubbles, those of the branch that is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..document import Document, Skipped, Turn
from ..entries import Entries, Note, decode
from .json_lines import read_lines
from .session import ASSISTANT, USER, CodingSession, nothing_said, turn

if TYPE_CHECKING:
    import apsw

PROGRAM = "Cursor"
TABLES: Mapping[str, Sequence[str]] = {"cursorDiskKV": ("key", "value")}
_CHATS = "SELECT key, value FROM cursorDiskKV WHERE key GLOB 'composerData:*' ORDER BY key"
_BUBBLE = "SELECT value FROM cursorDiskKV WHERE key = ?"
_TYPES = {1: USER, 2: ASSISTANT}
_EDITS = ("Write", "StrReplace", "Edit", "MultiEdit", "Delete", "ApplyPatch")
_QUERY = "<user_query>"


def is_record(value: Any) -> bool:
    """Whether a line is what a user typed, as transcripts have it."""
    if not isinstance(value, dict) or value.get("role") != USER:
        return False
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return any(isinstance(text, str) and _QUERY in text for text in texts)


def read(path: Path, uri: str) -> Iterator[Document | Skipped]:
    """Read a transcript as a chat, with the uri `<uri>#<its id>`."""
    session = CodingSession(PROGRAM, path.stem)
    broken = Entries("line")
    for number, record in read_lines(path, uri):
        if not isinstance(record, dict) or not isinstance(record.get("message"), dict):
            broken.leave_out(number, "no record")
            continue
        id = f"{path.stem}-{number}"
        session.entries.read(number, record, partial(_turn, id=id, line=number))
        _note_actions(session, record["message"].get("content"))
    if session.entries.turns or session.entries.left_out:
        yield session.document(uri)
    else:
        yield from nothing_said(uri)
    if broken.left_out:
        yield Skipped(uri=uri, reason=f"left out: {'; '.join(broken.left_out)}")


def _turn(record: dict[str, Any], odd: Note, id: str, line: int) -> Turn | None:
    role = record.get("role")
    if role not in (USER, ASSISTANT):
        return None
    return turn(role, record["message"].get("content"), odd, id=id, line=line)


def _note_actions(session: CodingSession, content: Any) -> None:
    """Note the files that were edited. How commands ended, a transcript does not say."""
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict) or part.get("type") != "tool_use":
            continue
        given = part.get("input")
        if part.get("name") in _EDITS and isinstance(given, dict):
            session.actions.edit(given.get("path") or given.get("file_path"))


def read_database(connection: apsw.Connection, uri: str) -> Iterator[Document | Skipped]:
    """Read each chat, with the uri `<uri>#<its id>`; those in which nothing is said are none."""
    for key, value in connection.execute(_CHATS):
        chat = _decoded(value)
        listed = chat.get("fullConversationHeadersOnly") if isinstance(chat, dict) else None
        if not isinstance(listed, list):
            continue
        id = str(key).partition(":")[2]
        session = CodingSession(PROGRAM, id, unit="bubble")
        for position, header in enumerate(listed, 1):
            name = header.get("bubbleId") if isinstance(header, dict) else None
            row = connection.execute(_BUBBLE, (f"bubbleId:{id}:{name}",)).fetchone()
            if row:
                bubble = _decoded(row[0])
                session.entries.read(position, bubble, partial(_bubble_turn, id=name))
        if session.entries.turns:
            yield session.document(uri)


def _bubble_turn(bubble: Any, odd: Note, id: Any) -> Turn | None:
    if not isinstance(bubble, dict):
        odd("no JSON")
        return None
    speaker = _TYPES.get(bubble.get("type", 0))
    text = bubble.get("text")
    if speaker is None or not text:
        return None
    return turn(speaker, text, odd, id=str(id), at=bubble.get("createdAt"))


def _decoded(value: Any) -> Any:
    try:
        return decode(value) if isinstance(value, str | bytes) else None
    except (ValueError, RecursionError):
        return None
