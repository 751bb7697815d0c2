"""Chats from JSON exports: several programs' shapes, one sequence of turns.

Known shapes: a list of messages; an object with such a list; Slack (`user`, `text`, `ts`);
Telegram; ChatGPT (`mapping`); Claude (`chat_messages`); numbered sessions (`session_1`,
`session_1_date_time`); JSON lines of messages.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from operator import itemgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...model import Message
from ...model.records import ASSISTANT, USER, role_of
from ...text import dates
from ..document import Turn
from ..entries import Entries, Note, time
from . import conversations

_LISTS = (
    "messages", "chat_messages", "conversation", "turns", "dialogue", "dialog", "chat",
    "history",
)  # fmt: skip
_TITLES = ("name", "title", "sample_id", "channel", "topic")
_IDS = ("id", "dia_id", "message_id", "uuid", "client_msg_id", "_id", "ts")
_TEXTS = ("text", "content", "message", "body", "msg", "parts")
_TIMES = (
    "at", "timestamp", "ts", "time", "date", "datetime", "created_at", "create_time",
    "sent_at", "createdAt",
)  # fmt: skip
_SPEAKERS = ("speaker", "sender", "from", "speaker_name", "sender_name")
# Many other records have these: what has one of them is a message only if it has a time.
_WEAK_SPEAKERS = ("author", "user_name", "username", "name", "user", "user_profile")
_BY_USER = ("isCreatedByUser", "is_user", "is_human")  # LibreChat and others: True or False
_CHAT_IDS = ("id", "conversation_id", "uuid", "sample_id")
_NAME_FIELDS = ("real_name", "display_name", "name", "username", "role")
_TEXT_PARTS = ("text", "parts", "content", "result")
_ROLES = frozenset((
    "user", "assistant", "system", "tool", "human", "ai", "model", "bot", "developer",
    "customer", "agent",
))  # fmt: skip
_SESSION = re.compile(r"session_(\d+)")
# a string of JSON, and the colon behind a key
_STRING = re.compile(r'"(?P<string>[^"\\]*(?:\\.[^"\\]*)*)"(?P<colon>\s*:)?', re.DOTALL)
# what an entry of a list of messages has, if only with nothing in it
_FIELDS = ("role", *_BY_USER, *_SPEAKERS, *_WEAK_SPEAKERS, *_TIMES)
_NO_MESSAGE = "no message, or nothing is said in it"
_TITLE = 80  # characters of a question that name a session
_SAMPLE = 60  # characters of a message by which it is found in the document


class Chat(Struct, frozen=True, kw_only=True):
    """One conversation of an export."""

    entries: Entries
    title: str = ""
    id: str = ""


def from_json(value: Any, text: str) -> list[Chat]:
    """Find the chats in decoded JSON, and the lines of their messages in its `text`; none in
    something else."""
    chats = list(_chats(value))
    finder = _LineFinder(text, (turn for chat in chats for turn in chat.entries.turns))
    for chat in chats:
        chat.entries.turns = list(map(finder.with_line, chat.entries.turns))
    return chats


def from_json_lines(values: list[tuple[int, Any]], broken: Sequence[int] = ()) -> list[Chat]:
    """Find the chats in numbered JSON lines, each a message or a whole conversation; `broken` are
    the numbers of lines that are no JSON."""
    if _is_messages([value for _, value in values]):
        entries = Entries("line")
        for line, value in values:
            entries.read(line, value, partial(_turn, lines=(line, line)))
        chats = [Chat(entries=entries)]
    else:
        chats = _conversations(values, "line")
    for line in broken:
        if chats:
            chats[-1].entries.leave_out(line, "no JSON", "line")
    return chats


def _conversations(values: Iterable[tuple[int, Any]], unit: str) -> list[Chat]:
    """The chats of a list, or of lines; what else is in it is left out of the last."""
    chats: list[Chat] = []
    odd: dict[int, str] = {}
    for position, value in values:
        found: list[Chat] = []
        try:
            if isinstance(value, dict) or unit == "line":
                found = list(_chats(value))
        except Exception as error:
            # whatever is wrong with it, it is of this one and not of the others
            odd[position] = f"cannot be read ({type(error).__name__})"
        if unit == "line":
            for chat in found:
                turns = chat.entries.turns
                chat.entries.turns = [replace(turn, lines=(position, position)) for turn in turns]
        if not found:
            odd.setdefault(position, "no conversation")
        chats += found
    for position, problem in odd.items():
        if chats:
            chats[-1].entries.leave_out(position, problem, unit)
    return chats


def _chats(value: Any) -> Iterator[Chat]:
    if isinstance(value, list):
        if _is_messages(value):
            yield Chat(entries=_read(value))
        else:
            yield from _conversations(enumerate(value, 1), "entry")
        return
    if not isinstance(value, dict):
        return
    session = conversations.entries_of_arcturus(value)
    if session and session.turns:
        # called by what was asked first
        title = " ".join(session.turns[0].message.text[:_TITLE].split())
        yield Chat(entries=session, title=title, id=conversations.id_of_arcturus(value))
        return
    entries = _conversation(value)
    if entries and entries.turns:
        titles = (str(value[name]) for name in _TITLES if isinstance(value.get(name), str | int))
        ids = (str(value[name]) for name in _CHAT_IDS if value.get(name))
        yield Chat(entries=entries, title=next(titles, ""), id=next(ids, ""))


def _conversation(value: dict[str, Any]) -> Entries | None:
    """The entries of the chat that an object is; without turns, or None, if it is none."""
    if conversations.program(value):
        entries = conversations.entries(value)
        if entries.turns:
            return entries
    for name in _LISTS:
        inner = value.get(name)
        found = None
        if isinstance(inner, list) and _is_messages(inner):
            found = _read(inner)
        elif isinstance(inner, dict):
            found = _sessions(inner)
        if found and found.turns:
            return found
    return _sessions(value)


def _is_messages(items: list[Any]) -> bool:
    """Whether half of the objects of a list, or more, are messages; what is none is odd."""
    records = [item for item in items if isinstance(item, dict)]
    good = sum(1 for item in records if _looks_like_message(item))
    return good > 0 and good * 2 >= len(records)


def _looks_like_message(item: dict[str, Any]) -> bool:
    if not any(name in item for name in _TEXTS):
        return False
    if any(item.get(name) for name in _SPEAKERS):
        return True
    role = item.get("role")
    if isinstance(role, str) and role.lower() in _ROLES:
        return True
    return any(item.get(name) for name in _WEAK_SPEAKERS) and any(name in item for name in _TIMES)


def _read(items: list[Any]) -> Entries:
    entries = Entries("entry")
    for number, item in enumerate(items, 1):
        entries.read(number, item, _turn)
    return entries


def _turn(
    item: Any,
    odd: Note,
    at: datetime | None = None,
    session: str = "",
    lines: tuple[int, int] | None = None,
) -> Turn | None:
    if not isinstance(item, dict) or not any(name in item for name in _FIELDS):
        odd(_NO_MESSAGE)
        return None
    text = _first(_text(item.get(name)) for name in _TEXTS)
    caption = item.get("blip_caption") or item.get("caption")
    if isinstance(caption, str) and caption.strip():
        text = f"{text} [image: {caption.strip()}]".strip()
    if not text:
        odd(_NO_MESSAGE)
        return None
    speaker = _first(_name(item.get(name)) for name in (*_SPEAKERS, *_WEAK_SPEAKERS))
    role = item.get("role")
    role = role.strip() if isinstance(role, str) else ""
    speaker = speaker or role
    ids = (str(item[name]) for name in _IDS if item.get(name) not in (None, ""))
    message = Message(
        speaker=speaker,
        text=text,
        id=next(ids, ""),
        at=_time(item, odd) or at,
        role=_role(item, role) if speaker != role else "",
    )
    return Turn(message=message, session=session, lines=lines)


def _time(item: dict[str, Any], odd: Note) -> datetime | None:
    """The first time that an entry has, if one of those that it states is one."""
    problems: list[str] = []
    times = (time(item.get(name), problems.append) for name in _TIMES)
    at = next((at for at in times if at), None)
    if at is None and problems:
        odd(problems[0])
    return at


def _role(item: dict[str, Any], stated: str) -> str:
    """The role that an entry states in words, or by a mark of what the user wrote."""
    flags = (item.get(name) for name in _BY_USER)
    by_user = next((mark for mark in flags if isinstance(mark, bool)), None)
    if by_user is not None:
        return USER if by_user else ASSISTANT
    return stated if role_of(stated) else ""


def _first(texts: Iterable[str]) -> str:
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


def _sessions(value: dict[str, Any]) -> Entries:
    """Numbered sessions, one after another; the entries are counted through all of them."""
    numbers: dict[str, int] = {}
    for name in value:
        match = _SESSION.fullmatch(name)
        if match and isinstance(value[name], list):
            numbers[name] = int(match[1])
    entries = Entries("entry")
    count = 0
    for name in sorted(numbers, key=lambda name: (numbers[name], name)):
        at = dates.parse(value.get(f"{name}_date_time") or value.get(f"{name}_date"))
        for item in value[name]:
            count += 1
            entries.read(count, item, partial(_turn, at=at, session=name))
    return entries


class _LineFinder:
    """Finds the lines of a JSON document on which the messages of turns begin: its strings."""

    def __init__(self, text: str, turns: Iterable[Turn]) -> None:
        # where the strings begin that begin as messages do, with their lines; ascending
        self._positions: dict[str, list[tuple[int, int]]] = {_sample(turn): [] for turn in turns}
        self._offset = -1  # of the message found last
        line, counted = 1, 0
        for match in _STRING.finditer(text):
            if match["colon"]:
                continue
            string = match["string"]
            value = json.loads(f'"{string}"', strict=False) if "\\" in string else string
            positions = self._positions.get(value.strip()[:_SAMPLE])
            if positions is not None:
                line += text.count("\n", counted, match.start())
                counted = match.start()
                positions.append((counted, line))

    def with_line(self, turn: Turn) -> Turn:
        """The turn with its line: of the next string that fits, as most come in order, or the
        first."""
        positions = self._positions[_sample(turn)]
        if not positions:
            return turn
        after = bisect_right(positions, self._offset, key=itemgetter(0))
        self._offset, line = positions[after % len(positions)]
        return replace(turn, lines=(line, line))


def _sample(turn: Turn) -> str:
    return turn.message.text[:_SAMPLE]
