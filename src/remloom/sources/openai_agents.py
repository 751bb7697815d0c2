"""Sessions of the OpenAI Agents SDK (`SQLiteSession`): what the user and the agent said.

Left out: calls of tools and what they returned, reasoning, and the texts of system and developer.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec

from ..model import Message
from ..text import dates
from .document import Document, Skipped, Turn, chat_document
from .parts import words

if TYPE_CHECKING:
    import apsw

__all__ = ["read"]

_ROLES = ("user", "assistant")
_MESSAGES = """
    SELECT session_id, id, message_data, created_at FROM agent_messages ORDER BY session_id, id
"""


def read(connection: apsw.Connection, uri: str) -> Iterator[Document | Skipped]:
    """Read each session as a chat, with the uri `<uri>#<session id>`."""
    rows = connection.execute(_MESSAGES)
    for session, messages in groupby(rows, lambda row: str(row[0])):
        turns: list[Turn] = []
        broken = 0
        for _, number, data, at in messages:
            try:
                item = msgspec.json.decode(data)
            except (msgspec.DecodeError, TypeError, RecursionError, UnicodeDecodeError):
                broken += 1
                continue
            turn = _turn(item, str(number), at)
            if turn:
                turns.append(turn)
        of_session = f"{uri}#{session}"
        if turns:
            facts = {"program": "OpenAI Agents SDK", "session": session}
            yield chat_document(of_session, f"Session {session}", tuple(turns), facts)
        if broken:
            yield Skipped(uri=of_session, reason=f"{broken} of its messages are no JSON")


def _turn(item: Any, id: str, at: Any) -> Turn | None:
    """Read an item as a turn; None when it is not what the user or the agent said."""
    if not isinstance(item, dict) or item.get("role") not in _ROLES:
        return None
    # the plainest items have no type
    if item.get("type", "message") != "message":
        return None
    text = words(item.get("content"))
    if not text:
        return None
    return Turn(message=Message(speaker=item["role"], text=text, id=id, at=dates.parse(at)))
