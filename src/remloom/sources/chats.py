"""Chats from JSON exports: several programs' shapes, one sequence of turns.

Known shapes: a list of messages; an object with such a list; Slack (`user`, `text`, `ts`);
Telegram; ChatGPT (`mapping`); Claude (`chat_messages`); numbered sessions (`session_1`,
`session_1_date_time`); JSON lines of messages.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from datetime import datetime
from operator import itemgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..model import Message
from ..model.roles import ASSISTANT, USER, role_of
from ..text import dates
from . import arcturus, conversations
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
# Many other records have these: what has one of them is a message only if it has a time.
_WEAK_SPEAKERS = ("author", "user_name", "username", "name", "user", "user_profile")
_BY_USER = ("isCreatedByUser", "is_user", "is_human")  # LibreChat and others: True or False
_CHAT_IDS = ("id", "conversation_id", "uuid", "sample_id")
_NAME_FIELDS = ("real_name", "display_name", "name", "username", "role")
_TEXT_PARTS = ("text", "parts", "content", "result")
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
# a string of JSON, and the colon behind a key
_STRING = re.compile(r'"(?P<string>[^"\\]*(?:\\.[^"\\]*)*)"(?P<colon>\s*:)?', re.DOTALL)
# share of entries that may be something else (joins, deleted messages) in a list of messages
_MOST_BROKEN = 0.2
_TITLE = 80  # characters of a question that name a session
_SAMPLE = 60  # characters of a message by which it is found in the document


class Chat(Struct, frozen=True, kw_only=True):
    """One conversation of an export."""

    turns: tuple[Turn, ...]
    title: str = ""
    id: str = ""
    # entries that are not messages, or say nothing: their lines in JSON lines, else from 1
    odd: tuple[int, ...] = ()


def from_json(value: Any, text: str) -> list[Chat]:
    """Find the chats in a decoded JSON document; none when it is something else.

    `text` is the document itself, in which the line of each message is looked up.
    """
    chats = list(_chats(value))
    finder = _LineFinder(text, (turn for chat in chats for turn in chat.turns))
    return [replace(chat, turns=tuple(map(finder.with_line, chat.turns))) for chat in chats]


def from_json_lines(values: list[tuple[int, Any]]) -> list[Chat]:
    """Find the chats in JSON lines, given with their numbers.

    A line is a message, or a whole conversation.
    """
    if _is_messages([value for _, value in values]):
        turns: list[Turn] = []
        odd: list[int] = []
        for line, value in values:
            turn = _turn(value)
            if turn is None:
                odd.append(line)
            else:
                turns.append(replace(turn, lines=(line, line)))
        return [Chat(turns=tuple(turns), odd=tuple(odd))]
    chats: list[Chat] = []
    odd = []
    for line, value in values:
        found = list(_chats(value))
        for chat in found:
            of_line = tuple(replace(turn, lines=(line, line)) for turn in chat.turns)
            chats.append(replace(chat, turns=of_line))
        if not found:
            odd.append(line)
    if chats and odd:
        chats[-1] = replace(chats[-1], odd=(*chats[-1].odd, *odd))
    return chats


def _chat_of(turns: list[Turn | None]) -> Chat:
    """A chat of these entries, counted from 1; those without a turn are odd."""
    odd = tuple(number for number, turn in enumerate(turns, 1) if turn is None)
    return Chat(turns=tuple(turn for turn in turns if turn), odd=odd)


def _chats(value: Any) -> Iterator[Chat]:
    if isinstance(value, list):
        if _is_messages(value):
            yield _chat_of([_turn(item) for item in value])
        elif value and all(isinstance(item, dict) for item in value):
            for item in value:
                yield from _chats(item)
        return
    if not isinstance(value, dict):
        return
    session = arcturus.turns(value)
    if session:
        yield Chat(turns=session, title=_title(session), id=arcturus.session_id(value))
        return
    chat = _conversation(value)
    if chat.turns:
        titles = (str(value[name]) for name in _TITLES if isinstance(value.get(name), str | int))
        ids = (str(value[name]) for name in _CHAT_IDS if value.get(name))
        yield replace(chat, title=next(titles, ""), id=next(ids, ""))


def _title(turns: tuple[Turn, ...]) -> str:
    """Call a session by what was asked first."""
    return " ".join(turns[0].message.text[:_TITLE].split())


def _conversation(value: dict[str, Any]) -> Chat:
    """The chat that an object is; without turns if it is something else."""
    if conversations.program(value):
        turns = conversations.turns(value)
        if turns:
            return Chat(turns=turns)
    for name in _LISTS:
        inner = value.get(name)
        chat = Chat(turns=())
        if isinstance(inner, list) and _is_messages(inner):
            chat = _chat_of([_turn(item) for item in inner])
        elif isinstance(inner, dict):
            chat = _sessions(inner)
        if chat.turns:
            return chat
    return _sessions(value)


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
    """Read an entry as a turn; None if it says nothing."""
    if not _looks_like_message(item):
        return None
    text = _first(_text(item.get(name)) for name in _TEXTS)
    caption = item.get("blip_caption") or item.get("caption")
    if isinstance(caption, str) and caption.strip():
        text = f"{text} [image: {caption.strip()}]".strip()
    if not text:
        return None
    speaker = _first(_name(item.get(name)) for name in (*_SPEAKERS, *_WEAK_SPEAKERS))
    role = str(item.get("role") or "").strip()
    speaker = speaker or role
    times = (dates.parse(item.get(name)) for name in _TIMES)
    ids = (str(item[name]) for name in _IDS if item.get(name) not in (None, ""))
    message = Message(
        speaker=speaker,
        text=text,
        id=next(ids, ""),
        at=next((time for time in times if time), at),
        role=_role(item, role) if speaker != role else "",
    )
    return Turn(message=message, session=session)


def _role(item: dict[str, Any], stated: str) -> str:
    """The role that an entry states in words, or by a mark of what the user wrote."""
    marks = (item.get(name) for name in _BY_USER)
    by_user = next((mark for mark in marks if isinstance(mark, bool)), None)
    if by_user is not None:
        return USER if by_user else ASSISTANT
    return stated if role_of(stated) else ""


def _first(texts: Iterable[str]) -> str:
    """The first that is not empty."""
    return next((text for text in texts if text), "")


def _text(value: Any) -> str:
    """Read a text that may be a string, a list of parts, or an object with either."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return "".join(part if isinstance(part, str) else _text(part) for part in value).strip()
    if isinstance(value, dict):
        return _first(_text(value.get(name)) for name in _TEXT_PARTS)
    return ""


def _name(value: Any) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, dict):
        return _first(_name(value.get(name)) for name in _NAME_FIELDS)
    return ""


def _sessions(value: dict[str, Any]) -> Chat:
    """Numbered sessions, one after another; the entries are counted through all of them."""
    numbers: dict[str, int] = {}
    for name in value:
        match = _SESSION.fullmatch(name)
        if match and isinstance(value[name], list):
            numbers[name] = int(match[1])
    turns: list[Turn | None] = []
    for name in sorted(numbers, key=lambda name: (numbers[name], name)):
        at = dates.parse(value.get(f"{name}_date_time") or value.get(f"{name}_date"))
        turns += [_turn(item, at, name) for item in value[name]]
    return _chat_of(turns)


class _LineFinder:
    """Finds the lines of a JSON document on which messages begin: each is one of its strings.

    Args:
        text: the document.
        turns: whose messages will be asked for.
    """

    def __init__(self, text: str, turns: Iterable[Turn]) -> None:
        # where the strings begin that begin as messages do, with their lines; ascending
        self._places: dict[str, list[tuple[int, int]]] = {_sample(turn): [] for turn in turns}
        self._offset = -1  # of the message found last
        line, counted = 1, 0
        for match in _STRING.finditer(text):
            if match["colon"]:
                continue
            string = match["string"]
            value = json.loads(f'"{string}"', strict=False) if "\\" in string else string
            places = self._places.get(value.strip()[:_SAMPLE])
            if places is not None:
                line += text.count("\n", counted, match.start())
                counted = match.start()
                places.append((counted, line))

    def with_line(self, turn: Turn) -> Turn:
        """The turn with its line, if its text is a string of the document: most come in its order,
        so it is the next that fits, or else the first."""
        places = self._places[_sample(turn)]
        if not places:
            return turn
        after = bisect_right(places, self._offset, key=itemgetter(0))
        self._offset, line = places[after % len(places)]
        return replace(turn, lines=(line, line))


def _sample(turn: Turn) -> str:
    return turn.message.text[:_SAMPLE]
