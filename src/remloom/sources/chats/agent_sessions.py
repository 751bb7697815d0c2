"""Sessions of agents that frameworks keep in SQLite: checkpoints of LangGraph (`SqliteSaver`), and
sessions of the OpenAI Agents SDK (`SQLiteSession`).

Read is what the user and the agent said: of LangGraph, the channel `messages` of a thread's newest
checkpoint. Its own serializer imports and calls what a file names; here values are decoded as data.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from ...errors import SourceError
from ...model import Message
from ..document import Document, Skipped, Turn
from ..entries import Entries, Note, conversation, decode, is_message, time, words

if TYPE_CHECKING:
    import apsw

_SPEAKERS = {"human": "user", "user": "user", "ai": "assistant", "assistant": "assistant"}
_NDARRAY, _DELTA = 6, 7  # codes of extension types
_CONSTRUCTED = 2  # where (module, class, values, …) has the values
# Ids of checkpoints are UUIDs that grow with time.
_NEWEST = """
    SELECT thread_id, type, checkpoint, max(checkpoint_id) FROM checkpoints
    WHERE checkpoint_ns = '' GROUP BY thread_id ORDER BY thread_id
"""
_WRITES = """
    SELECT checkpoint_id, value FROM writes
    WHERE thread_id = ? AND checkpoint_ns = '' AND channel = 'messages' AND type = 'msgpack'
    ORDER BY checkpoint_id, idx
"""
_GREGORIAN = datetime(1582, 10, 15, tzinfo=UTC)  # from which the time of a UUID counts


_ROLES = ("user", "assistant")
_MESSAGES = """
    SELECT session_id, id, message_data, created_at FROM agent_messages ORDER BY session_id, id
"""


def read_langgraph_checkpoints(
    connection: apsw.Connection, uri: str
) -> Iterator[Document | Skipped]:
    """Read each thread as a chat, with the uri `<uri>#<thread id>`."""
    for thread, kind, data, _ in connection.execute(_NEWEST):
        of_thread = f"{uri}#{thread}"
        try:
            messages = _messages(kind, data)
        except SourceError as error:
            yield Skipped(uri=of_thread, reason=error.message, failed=True)
            continue
        times = _times(connection, thread)
        entries = Entries("message")
        for number, message in enumerate(messages, 1):
            entries.read(number, message, partial(_turn, times=times))
        facts = {"program": "LangGraph", "session": str(thread)}
        yield conversation(of_thread, f"Thread {thread}", entries, facts)


def _messages(kind: Any, data: Any) -> list[Any]:
    if kind != "msgpack":
        # what is pickled runs code when it is read
        raise SourceError(f"a checkpoint of type {kind!r}: only msgpack is read")
    try:
        checkpoint = _decode(data)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise SourceError("a checkpoint that is damaged") from error
    values = checkpoint.get("channel_values") if isinstance(checkpoint, dict) else None
    messages = values.get("messages") if isinstance(values, dict) else None
    return messages if isinstance(messages, list) else []


def _times(connection: apsw.Connection, thread: Any) -> dict[str, datetime]:
    """When each message was first written, by its id."""
    times: dict[str, datetime] = {}
    for checkpoint_id, data in connection.execute(_WRITES, (thread,)):
        at = _time(checkpoint_id)
        try:
            written = _decode(data)
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
            continue
        if at:
            for message in written if isinstance(written, list) else [written]:
                if isinstance(message, dict) and message.get("id"):
                    times.setdefault(str(message["id"]), at)
    return times


def _turn(message: Any, odd: Note, times: dict[str, datetime]) -> Turn | None:
    if not isinstance(message, dict):
        odd("no message")
        return None
    role = message.get("type") or message.get("role")
    if not is_message(role, tuple(_SPEAKERS), odd):
        return None
    speaker, text = _SPEAKERS[str(role)], words(message.get("content"), odd)
    if not text:
        return None
    id = str(message.get("id") or "")
    return Turn(message=Message(speaker=speaker, text=text, id=id, at=times.get(id)))


def _decode(data: Any) -> Any:
    return msgspec.msgpack.decode(data, ext_hook=_values)


def _values(code: int, data: memoryview) -> Any:
    """The values that an object was made of, in place of the object."""
    if code == _NDARRAY:
        return None
    decoded = _decode(data)
    if code == _DELTA:
        return decoded
    return decoded[_CONSTRUCTED] if isinstance(decoded, list) and decoded[_CONSTRUCTED:] else None


def _time(checkpoint_id: Any) -> datetime | None:
    """The time in a UUID of version 6: 60 bits of 100 ns, the highest first."""
    try:
        number = UUID(str(checkpoint_id)).int
        ticks = (number >> 80) << 12 | (number >> 64) & 0xFFF
        return _GREGORIAN + timedelta(microseconds=ticks // 10)
    except (ValueError, OverflowError):
        return None


def read_openai_sessions(connection: apsw.Connection, uri: str) -> Iterator[Document | Skipped]:
    """Read each session as a chat, with the uri `<uri>#<session id>`."""
    rows = connection.execute(_MESSAGES)
    for session, messages in groupby(rows, lambda row: str(row[0])):
        entries = Entries("message")
        for _, number, data, at in messages:
            entries.read(number, data, partial(_message_turn, id=str(number), at=at))
        of_session = f"{uri}#{session}"
        facts = {"program": "OpenAI Agents SDK", "session": session}
        yield conversation(of_session, f"Session {session}", entries, facts)


def _message_turn(data: Any, odd: Note, id: str, at: Any) -> Turn | None:
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
    if not is_message(item.get("role"), _ROLES, odd):
        return None
    text = words(item.get("content"), odd)
    if not text:
        return None
    return Turn(message=Message(speaker=item["role"], text=text, id=id, at=time(at, odd)))
