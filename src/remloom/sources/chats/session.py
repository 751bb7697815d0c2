"""A session of a coding agent as a chat, and what every program's transcripts have in common."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from msgspec.structs import replace

from ...model import Message
from ..document import Document, Skipped, Turn
from ..entries import Entries, Note, conversation, time, words
from .actions import Actions
from .injected import title_of, typed

USER, ASSISTANT = "user", "assistant"


class CodingSession:
    """The turns of a session, and what was done between them."""

    def __init__(self, program: str, id: str, *, unit: str = "line") -> None:
        self.program = program
        self.id = id
        self.entries = Entries(unit)
        self.actions = Actions(self.entries)

    def document(self, uri: str, *, cited: bool = True, current: bool = True) -> Document | Skipped:
        """The chat, with the uri `<uri>#<session id>`. `cited`: its lines are those of one file;
        `current`: see `Document.current`."""
        self.actions.keep()
        turns = self.entries.turns
        if not cited:
            turns[:] = [replace(turn, lines=None) for turn in turns]
        start = self.actions.start
        prompts = (turn.message.text for turn in turns if turn.message.speaker == USER)
        name = title_of(next(prompts, ""))
        folder = PurePath(start.get("folder", "")).name
        title = f"{name} ({folder})" if name and folder else name or folder or "Session"
        facts = {"program": self.program, "session": self.id, **start}
        facts.setdefault("folder", "")
        known_as = f"{self.program}/{self.id}"
        found = conversation(f"{uri}#{self.id}", title, self.entries, facts, id=known_as)
        return replace(found, current=current) if isinstance(found, Document) else found


def turn(
    speaker: str, content: Any, odd: Note, *, id: str = "", at: Any = None, line: int = 0
) -> Turn | None:
    """A turn of what was typed, or answered in words; None: nothing was."""
    text = typed(words(content, odd))
    if not text:
        return None
    message = Message(speaker=speaker, text=text, id=id, at=time(at, odd))
    return Turn(message=message, lines=(line, line) if line else None)


def nothing_said(uri: str) -> Iterator[Skipped]:
    yield Skipped(uri=uri, reason="nothing is said in it")
