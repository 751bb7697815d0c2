"""Documents without what no store can keep: an odd piece costs nothing but itself."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from .. import labels
from ..sources import Document, Turn
from ..store.rules.json_values import DEEPEST, LARGEST

_SHOWN = 5  # pieces that are named one by one
_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")
_INSTEAD = "\ufffd"  # of a character that cannot be kept


def cleaned(document: Document) -> tuple[Document, str]:
    """Return a document as it can be stored, and what was left out of it, or of its source.

    U+FFFD replaces half a surrogate pair and a NUL.
    Authors and speakers who cannot be a label are nobody. Whole numbers of more than 64 bits become
    texts; numbers that JSON has not, what is nested too deeply, and times before the year 1 or
    after 9999 in UTC, none.

    >>> from remloom.model import Message
    >>> turn = Turn(message=Message(speaker="''", text="Hi"))
    >>> print(cleaned(Document(uri="chat", title="Chat", turns=(turn,)))[1])
    "''", who speaks in turn 1, which is no name
    """
    left_out = list(document.left_out)
    turns = tuple(_turn(number, turn, left_out) for number, turn in enumerate(document.turns, 1))
    at = _time(document.at, "its time", [] if turns else left_out)
    if at is None and turns:
        at = min((turn.message.at for turn in turns if turn.message.at), default=None)
    made = replace(
        document,
        uri=_text(document.uri, "its uri", left_out),
        conversation=_text(document.conversation, "its id", []),
        at=at,
        title=_value(document.title, "its title", left_out),
        text=_text(document.text, "its text", left_out),
        turns=turns,
        authors=_authors(document.authors, left_out),
        metadata=_value(document.metadata, "its metadata", left_out),
        columns=_value(document.columns, "its columns", left_out),
    )
    pieces = list(dict.fromkeys(left_out))
    more = f"; {len(pieces) - _SHOWN:,} more" if len(pieces) > _SHOWN else ""
    return made, "; ".join(pieces[:_SHOWN]) + more


def _turn(number: int, turn: Turn, left_out: list[str]) -> Turn:
    message = turn.message
    where = f"turn {number}"
    speaker = _value(message.speaker, where, left_out)
    if speaker.strip() and not labels.is_label(speaker):
        left_out.append(f"{_shown(speaker)}, who speaks in {where}, which is no name")
        speaker = ""
    made = replace(
        message,
        speaker=speaker if speaker.strip() else "",
        text=_text(message.text, where, left_out),
        id=_value(message.id, where, left_out),
        role=_value(message.role, where, left_out),
        at=_time(message.at, where, left_out),
    )
    session = _value(turn.session, where, left_out)
    if made == message and session == turn.session:
        return turn
    return replace(turn, message=made, session=session)


def _time(at: datetime | None, where: str, left_out: list[str]) -> datetime | None:
    try:
        if at is not None and at.tzinfo is not None:
            at.astimezone(UTC)
        return at
    except OverflowError:
        left_out.append(f"the time {at} of {where}, which no calendar has in UTC")
        return None


def _authors(authors: tuple[str, ...], left_out: list[str]) -> tuple[str, ...]:
    kept = []
    for author in authors:
        if labels.is_label(author):
            kept.append(author)
        else:
            left_out.append(f"the author {_shown(author)}, which is no name")
    return tuple(kept)


def _text(text: str, where: str, left_out: list[str]) -> str:
    """A text without what is not a character, of the same length."""
    if labels.storable(text):
        return text
    left_out.append(f"a NUL in {where}" if "\0" in text else f"half a surrogate pair in {where}")
    return _NOT_STORABLE.sub(_INSTEAD, text)


def _value(value: Any, where: str, left_out: list[str], depth: int = 0) -> Any:
    if isinstance(value, str):
        return _text(value, where, left_out)
    if isinstance(value, dict | list | tuple):
        if depth >= DEEPEST - 1:
            left_out.append(f"what is nested too deeply in {where}")
            return None
        if isinstance(value, dict):
            return {
                _value(str(key), where, left_out): _value(one, where, left_out, depth + 1)
                for key, one in value.items()
            }
        return type(value)(_value(one, where, left_out, depth + 1) for one in value)
    if isinstance(value, float) and not math.isfinite(value):
        left_out.append(f"{value} in {where}")
        return None
    if isinstance(value, int) and not -LARGEST - 1 <= value <= LARGEST:
        return str(value)
    return value


def _shown(text: str) -> str:
    return repr(text[:40])
