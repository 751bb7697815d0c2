"""Sessions of the OpenAI Agents SDK (`SQLiteSession`): what the user and the agent said.

Left out: calls of tools and what they returned, reasoning, and the texts of system and developer.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ...model import Message
from ..document import Document, Skipped, Turn
from ..parts import Entries, Note, conversation, decode, is_said, time, words

if TYPE_CHECKING:
    import apsw


_ROLES = ("user", "assistant")
_MESSAGES = """
    SELECT session_id, id, message_data, created_at FROM agent_messages ORDER BY session_id, id
"""


def read(connection: apsw.Connection, uri: str) -> Iterator[Document | Skipped]:
    """Read each session as a chat, with the uri `<uri>#<session id>`."""
    rows = connection.execute(_MESSAGES)
    for session, messages in groupby(rows, lambda row: str(row[0])):
        entries = Entries("message")
        for _, number, data, at in messages:
            entries.read(number, data, partial(_turn, id=str(number), at=at))
        of_session = f"{uri}#{session}"
        facts = {"program": "OpenAI Agents SDK", "session": session}
        yield conversation(of_session, f"Session {session}", entries, facts)


def _turn(data: Any, odd: Note, id: str, at: Any) -> Turn | None:
    """Read an item as a turn; None when it is not what the user or the agent said."""
    try:
        item = decode(data)
    except (ValueError, TypeError, RecursionError):
        odd("no JSON")
        return None
    if not isinstance(item, dict):
        odd("no message")
        return None
    # the plainest items have no type
    kind = item.get("type", "message")
    if not isinstance(kind, str):
        odd("no message")
    if kind != "message":
        return None
    if not is_said(item.get("role"), _ROLES, odd):
        return None
    text = words(item.get("content"), odd)
    if not text:
        return None
    return Turn(message=Message(speaker=item["role"], text=text, id=id, at=time(at, odd)))
