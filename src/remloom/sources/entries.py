"""Entries of a conversation as turns: an odd one costs nothing but itself, and is named.

Each format says in a function what one of its entries is; `Entries` calls it, so that whatever an
entry holds, the others are read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias

from ..model.records import NOBODY, role_of
from ..text import dates
from .document import Document, Skipped, Turn, chat_document

# takes what is odd about an entry: "a part that is not text"
Note: TypeAlias = Callable[[str], None]

_TEXTS = ("text", "input_text", "output_text")  # types of the parts that are words
_LISTED = 10  # positions that are named one by one
_POSITION = 60  # characters of a position that are shown
_DIGITS = 300  # of a whole number that is read as one


class Entries:
    """The turns of one conversation, and what is left out; `unit` names an entry: "line",
    "message"."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._odd: dict[tuple[str, str], list[str]] = {}  # unit and what is odd -> positions
        self.turns: list[Turn] = []

    def read(self, position: object, entry: Any, read: Callable[[Any, Note], Turn | None]) -> None:
        """Read an entry by a function that gives its turn, if it has one, and notes what is odd."""
        odd = partial(self.leave_out, position)
        try:
            turn = read(entry, odd)
        except Exception as error:
            # whatever is wrong with an entry, it is of this one and not of the others
            odd(f"cannot be read ({type(error).__name__})")
            return
        if turn:
            self.turns.append(turn)

    def leave_out(self, position: object, problem: str, unit: str = "") -> None:
        """Name an entry of which something is left out, or all."""
        positions = self._odd.setdefault((unit or self._unit, problem), [])
        shown = str(position)[:_POSITION]
        if shown not in positions[-1:]:
            positions.append(shown)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What is left out, with its positions: `line 3, 7: a time that is none`."""
        return tuple(
            f"{unit} {', '.join(positions[:_LISTED])}{', …' if positions[_LISTED:] else ''}: {odd}"
            for (unit, odd), positions in self._odd.items()
        )


def conversation(
    uri: str, title: str, entries: Entries, facts: dict[str, Any], *, id: str = ""
) -> Document | Skipped:
    """The chat of these entries; skipped if nothing is said in it. `id`: see
    `Document.conversation`."""
    if not entries.turns:
        return Skipped(uri=uri, reason="; ".join(("nothing is said in it", *entries.left_out)))
    return chat_document(
        uri, title, tuple(entries.turns), facts, conversation=id, left_out=entries.left_out
    )


def words(content: Any, odd: Note = lambda problem: None) -> str:
    """Join what was said; calls of tools, what they returned, thoughts and files are left out.

    >>> said = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yes."}, "No.", 7]
    >>> words(said, print)
    a part that is no text
    'Yes.\\nNo.'
    """
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, list):
        odd("what it says is no text")
        return ""
    texts = (_text(part, odd) for part in content)
    return "\n".join(text for text in texts if text)


def _text(part: Any, odd: Note) -> str:
    if isinstance(part, list):
        return words(part, odd)
    if isinstance(part, dict):
        kind = part.get("type")
        if isinstance(kind, str) and kind not in _TEXTS:
            return ""
        part = part.get("text") if kind else None
    if isinstance(part, str):
        return part.strip()
    odd("a part that is no text")
    return ""


def time(value: Any, odd: Note) -> datetime | None:
    """Read the time of an entry, if it has one."""
    at = None if value is None or value == "" else dates.parse(value)
    if at is None and value is not None and value != "":
        odd("a time that is none")
    return at


def is_message(role: Any, roles: tuple[str, ...], odd: Note) -> bool:
    """Whether a role is one of those whose words are read; else it is a tool's or the system's."""
    if role in roles:
        return True
    if not isinstance(role, str) or role_of(role) != NOBODY:
        odd("its role is none that is known")
    return False


def decode(text: str | bytes) -> Any:
    """Decode JSON as programs write it: with NaN, numbers of any size, and control characters.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, strict=False, parse_int=_whole)


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS else float(digits)
