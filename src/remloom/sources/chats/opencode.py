"""Sessions of OpenCode: `~/.local/share/opencode/opencode.db`, and the files below `storage` of
earlier versions.

What was reverted is left out: a session names the message, and the part of it, from which on.
Sessions of sub-agents have a parent, and are left out. The format is not a published one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import SourceError
from ..decode import open_regular
from ..document import Document, Skipped, Turn
from ..entries import Note, decode
from .session import ASSISTANT, USER, CodingSession, turn

if TYPE_CHECKING:
    import apsw

PROGRAM = "OpenCode"
TABLES: Mapping[str, Sequence[str]] = {
    "session": ("id", "parent_id", "directory", "title", "revert"),
    "message": ("id", "session_id", "time_created", "data"),
    "part": ("id", "message_id", "session_id", "data"),
}
_SESSIONS = "SELECT id, directory, revert FROM session WHERE parent_id IS NULL ORDER BY id DESC"
_SESSION = "SELECT id, directory, revert FROM session WHERE parent_id IS NULL AND id = ?"
_MESSAGES = """
    SELECT message.id, message.data, part.id, part.data
    FROM message LEFT JOIN part ON part.message_id = message.id
    WHERE message.session_id = ? ORDER BY message.time_created, message.id, part.id
"""
_EDITS = ("write", "edit", "multiedit", "patch")
_SHELL = "bash"
_LARGEST = 64 * 1024 * 1024  # bytes of one file below `storage`

# a message with its id, and its parts with theirs
_Message = tuple[str, Any, list[tuple[str, Any]]]


def read_database(connection: apsw.Connection, uri: str) -> Iterator[Document | Skipped]:
    """Read each session as a chat, with the uri `<uri>#<session id>`."""
    yield from _read(connection, uri, _SESSIONS, ())


def read_session(connection: apsw.Connection, uri: str, id: str) -> Iterator[Document | Skipped]:
    """Read one session, of a database that has those of all projects."""
    yield from _read(connection, uri, _SESSION, (id,))


def _read(
    connection: apsw.Connection, uri: str, statement: str, values: tuple[str, ...]
) -> Iterator[Document | Skipped]:
    for id, folder, revert in connection.execute(statement, values):
        rows = connection.execute(_MESSAGES, (id,))
        messages = [
            (str(message), data, [(str(part), of_part) for _, _, part, of_part in some if part])
            for (message, data), some in groupby(rows, lambda row: (row[0], row[1]))
        ]
        yield _document(uri, str(id), folder, _decoded(revert), messages)


def is_record(value: Any) -> bool:
    """Whether a file of JSON is a session, a message or a part below `storage`."""
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        return False
    if value["id"].startswith("ses_"):
        return "directory" in value and "projectID" in value
    return value["id"].startswith(("msg_", "prt_")) and "sessionID" in value


def read_file(path: Path, uri: str) -> Iterator[Document | Skipped]:
    """Read a session as a chat by its file, and those of its messages and parts."""
    session = _read_json(path)
    if not isinstance(session, dict) or not str(session.get("id")).startswith("ses_"):
        yield Skipped(uri=uri, reason="of a session, and read with it")
        return
    if session.get("parentID"):
        yield Skipped(uri=uri, reason="of a sub-agent")
        return
    storage, id = path.parent.parent.parent, session["id"]
    messages: list[_Message] = []
    for file in _files(storage / "message" / id):
        parts = [(part.stem, _read_json(part)) for part in _files(storage / "part" / file.stem)]
        messages.append((file.stem, _read_json(file), parts))
    yield _document(uri, id, session.get("directory"), session.get("revert"), messages)


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*.json") if not file.is_symlink())


def _read_json(path: Path) -> Any:
    try:
        with open_regular(path, str(path)) as stream:
            return _decoded(stream.read(_LARGEST))
    except (OSError, SourceError):
        return None


def _decoded(data: Any) -> Any:
    try:
        return decode(data) if isinstance(data, str | bytes) else data
    except (ValueError, RecursionError):
        return None


def _document(
    uri: str, id: str, folder: Any, revert: Any, messages: Sequence[_Message]
) -> Document | Skipped:
    session = CodingSession(PROGRAM, id, unit="message")
    session.actions.move(folder=folder)
    for message in _taken(messages, revert if isinstance(revert, dict) else {}):
        session.entries.read(message[0], message, _turn)
        for _, part in message[2]:
            _note_action(session, _decoded(part))
    return session.document(uri)


def _taken(messages: Sequence[_Message], revert: dict[str, Any]) -> Iterator[_Message]:
    """The messages up to where a session was reverted. Ids grow with time."""
    last, part = revert.get("messageID"), revert.get("partID")
    for id, data, parts in messages:
        if not isinstance(last, str) or id < last:
            yield id, data, parts
        elif id == last and isinstance(part, str):
            yield id, data, [one for one in parts if one[0] < part]


def _turn(message: _Message, odd: Note) -> Turn | None:
    id, data, parts = message
    facts = _decoded(data)
    if not isinstance(facts, dict):
        odd("no JSON")
        return None
    role = facts.get("role")
    # a summary that takes the place of what was said
    if role not in (USER, ASSISTANT) or facts.get("summary") is True:
        return None
    said = []
    for _, data in parts:
        part = _decoded(data)
        if not isinstance(part, dict):
            odd("a part that is no JSON")
        elif part.get("type") == "text" and not (part.get("synthetic") or part.get("ignored")):
            said.append(part.get("text"))
    times = facts.get("time")
    at = times.get("created") if isinstance(times, dict) else None
    return turn(role, said, odd, id=id, at=at)


def _note_action(session: CodingSession, part: Any) -> None:
    state = part.get("state") if isinstance(part, dict) else None
    if not isinstance(state, dict) or part.get("type") != "tool":
        return
    given, facts = state.get("input"), state.get("metadata")
    if not isinstance(given, dict) or state.get("status") not in ("completed", "error"):
        return
    failed = state["status"] == "error"
    if part.get("tool") == _SHELL:
        code = facts.get("exit") if isinstance(facts, dict) else None
        session.actions.run(given.get("command"), code, failed=failed or None)
    elif part.get("tool") in _EDITS and not failed:
        session.actions.edit(given.get("filePath"))
