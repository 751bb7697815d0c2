"""Chats from JSON exports: several programs' shapes, one sequence of turns.

Known shapes: a list of messages; an object with such a list; Slack (`user`, `text`, `ts`);
Telegram; ChatGPT (`mapping`); Claude (`chat_messages`); numbered sessions (`session_1`,
`session_1_date_time`); JSON lines of messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..model import Message
from ..text import dates
from .document import Turn

__all__ = ["Chat", "from_json", "from_json_lines"]

_LISTS = (
    "messages",
    "chat_messages",
    "conversation",
    "turns",
    "dialogue",
    "dialog",
    "chat",
    "history",
)
_TITLES = ("name", "title", "sample_id", "channel", "topic")
_IDS = ("id", "dia_id", "message_id", "uuid", "client_msg_id", "_id", "ts")
_TEXTS = ("text", "content", "message", "body", "msg", "parts")
_TIMES = (
    "at",
    "timestamp",
    "ts",
    "time",
    "date",
    "datetime",
    "created_at",
    "create_time",
    "sent_at",
    "createdAt",
)
_SPEAKERS = ("speaker", "sender", "from", "speaker_name", "sender_name")
_WEAK_SPEAKERS = (
    "author",
    "user_name",
    "username",
    "name",
    "user",
    "user_profile",
)  # many a record has these: need a time
_ROLES = frozenset(
    (
        "user",
        "assistant",
        "system",
        "tool",
        "human",
        "ai",
        "model",
        "bot",
        "developer",
        "customer",
        "agent",
    )
)
_SESSION = re.compile(r"session_(\d+)")
# share of entries that may be something else (joins, deleted messages) in a list of messages
_MOST_BROKEN = 0.2


class Chat(Struct, frozen=True, kw_only=True):
    """One conversation of an export."""

    turns: tuple[Turn, ...]
    title: str = ""
    id: str = ""
    # entries that are no messages, or say nothing: their lines in JSON lines, else from 1
    odd: tuple[int, ...] = ()


def from_json(value: Any, text: str) -> list[Chat]:
    """The chats in a decoded JSON document; none when it is something else.

    `text` is the document itself: the line on which each message's text stands is looked up in it.
    """
    chats = list(_chats(value))
    places = _Places(text)
    return [
        replace(chat, turns=tuple(places.placed(turn) for turn in chat.turns)) for chat in chats
    ]


def from_json_lines(values: list[tuple[int, Any]]) -> list[Chat]:
    """The chats in JSON lines, given with their line numbers: a message a line, or a conversation a
    line."""
    objects = [value for _, value in values]
    if _is_messages(objects):
        chat = _listed(objects)
        lines = [line for number, (line, _) in enumerate(values, 1) if number not in chat.odd]
        turns = tuple(
            replace(turn, lines=(line, line)) for turn, line in zip(chat.turns, lines, strict=True)
        )
        return [Chat(turns=turns, odd=tuple(values[number - 1][0] for number in chat.odd))]
    return [
        replace(chat, turns=tuple(replace(turn, lines=(line, line)) for turn in chat.turns))
        for line, value in values
        for chat in _chats(value)
    ]


def _listed(items: list[Any]) -> Chat:
    """A list of messages."""
    found = [(number, _turn(item)) for number, item in enumerate(items, 1)]
    return Chat(
        turns=tuple(turn for _, turn in found if turn),
        odd=tuple(number for number, turn in found if turn is None),
    )


def _chats(value: Any) -> Iterator[Chat]:
    if isinstance(value, list):
        if _is_messages(value):
            yield _listed(value)
        elif value and all(isinstance(item, dict) for item in value):
            for item in value:
                yield from _chats(item)
        return
    if not isinstance(value, dict):
        return
    chat = Chat(turns=())
    if isinstance(value.get("mapping"), dict):
        chat = Chat(turns=tuple(_mapped(value["mapping"], value.get("current_node"))))
    for name in _LISTS:
        inner = value.get(name)
        if not chat.turns and isinstance(inner, list) and _is_messages(inner):
            chat = _listed(inner)
        elif not chat.turns and isinstance(inner, dict):
            chat = _sessions(inner)
    chat = chat if chat.turns else _sessions(value)
    if chat.turns:
        title = next(
            (str(value[name]) for name in _TITLES if isinstance(value.get(name), str | int)), ""
        )
        identity = next(
            (
                str(value[name])
                for name in ("id", "conversation_id", "uuid", "sample_id")
                if value.get(name)
            ),
            "",
        )
        yield replace(chat, title=title, id=identity)


def _is_messages(items: list[Any]) -> bool:
    good = sum(1 for item in items if _looks_like_message(item))
    return good > 0 and len(items) - good <= _MOST_BROKEN * len(items)


def _looks_like_message(item: Any) -> bool:
    if not isinstance(item, dict) or not any(name in item for name in _TEXTS):
        return False
    if any(item.get(name) for name in _SPEAKERS):
        return True
    if str(item.get("role", "")).lower() in _ROLES:
        return True
    return any(item.get(name) for name in _WEAK_SPEAKERS) and any(name in item for name in _TIMES)


def _turn(item: Any, at: datetime | None = None, session: str = "") -> Turn | None:
    """The turn that an entry is; None for one that says nothing."""
    if not _looks_like_message(item):
        return None
    text = next((found for name in _TEXTS if (found := _text(item.get(name)))), "")
    caption = item.get("blip_caption") or item.get("caption")
    if isinstance(caption, str) and caption.strip():
        text = f"{text} [image: {caption.strip()}]".strip()
    if not text:
        return None
    speaker = next(
        (found for name in (*_SPEAKERS, *_WEAK_SPEAKERS) if (found := _name(item.get(name)))), ""
    )
    when = next((time for name in _TIMES if (time := dates.parse(item.get(name)))), at)
    identity = next((str(item[name]) for name in _IDS if item.get(name) not in (None, "")), "")
    message = Message(
        speaker=speaker or str(item.get("role", "")).strip(), text=text, id=identity, at=when
    )
    return Turn(message=message, session=session)


def _text(value: Any) -> str:
    """Text that may be a string, a list of parts, or an object with either."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return "".join(part if isinstance(part, str) else _text(part) for part in value).strip()
    if isinstance(value, dict):
        return next(
            (
                found
                for name in ("text", "parts", "content", "result")
                if (found := _text(value.get(name)))
            ),
            "",
        )
    return ""


def _name(value: Any) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, dict):
        names = ("real_name", "display_name", "name", "username", "role")
        return next((found for name in names if (found := _name(value.get(name)))), "")
    return ""


def _mapped(mapping: dict[str, Any], current: Any) -> Iterator[Turn]:
    """ChatGPT: a tree of messages; the branch that ends in `current`, or else all of them by time."""
    branch: list[Any] = []
    node = mapping.get(str(current)) if current else None
    while isinstance(node, dict) and len(branch) <= len(mapping):
        branch.append(node)
        node = mapping.get(str(node.get("parent")))
    if not branch:
        nodes = [
            node
            for node in mapping.values()
            if isinstance(node, dict) and isinstance(node.get("message"), dict)
        ]
        branch = sorted(
            nodes,
            key=lambda node: str(dates.parse(node["message"].get("create_time"))),
            reverse=True,
        )
    for node in reversed(branch):
        turn = _turn(_with_role(node.get("message")))
        if turn and turn.message.speaker not in ("system", "tool"):
            yield turn


def _with_role(message: Any) -> Any:
    if isinstance(message, dict) and isinstance(message.get("author"), dict):
        return {
            **message,
            "role": message["author"].get("role", ""),
            "author": message["author"].get("name"),
        }
    return message


def _sessions(value: dict[str, Any]) -> Chat:
    """Numbered sessions, one after another; the entries are counted through all of them."""
    numbered = sorted(
        (int(found[1]), name)
        for name in value
        if (found := _SESSION.fullmatch(name)) and isinstance(value[name], list)
    )
    turns: list[Turn | None] = []
    for _, name in numbered:
        at = dates.parse(value.get(f"{name}_date_time") or value.get(f"{name}_date"))
        turns += [_turn(item, at, name) for item in value[name]]
    odd = tuple(number for number, turn in enumerate(turns, 1) if turn is None)
    return Chat(turns=tuple(turn for turn in turns if turn), odd=odd)


class _Places:
    """Finds the line on which each message's text begins; messages come in the order of the
    document."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._offset = 0
        self._line = 1

    def placed(self, turn: Turn) -> Turn:
        sample = turn.message.text[:60]
        for ascii_only in (False, True):
            offset = self._text.find(
                json.dumps(sample, ensure_ascii=ascii_only)[1:-1], self._offset
            )
            if offset >= 0:
                self._line += self._text.count("\n", self._offset, offset)
                self._offset = offset
                return replace(turn, lines=(self._line, self._line))
        return turn
