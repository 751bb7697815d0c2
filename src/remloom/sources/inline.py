"""Texts and messages that are at hand rather than in a file, as documents."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from ..errors import InvalidInputError
from ..labels import storable
from ..model import Message
from .document import Document, Turn
from .files import markdown, title_of

__all__ = ["check_uri", "from_messages", "from_text"]


def from_text(
    text: str,
    *,
    uri: str,
    name: str | None = None,
    category: str = "note",
    at: datetime | None = None,
) -> Document:
    """A text as a document, taken as a Markdown file is: with front matter, if it has some. Its
    title is `name`, what its front matter or its first heading says, or made from `uri`; its time
    `at`, or what the front matter says.

    Raises:
        InvalidInputError: no text, no `uri`, or a time without a zone.
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidInputError("there is no text to read", remedy="give a text that is not blank")
    check_uri(uri, at)
    found = markdown(uri, text.replace("\r\n", "\n").replace("\r", "\n"))
    return replace(found, title=name or found.title, category=category, at=at or found.at)


def from_messages(
    messages: Iterable[Message], *, uri: str, name: str | None = None, follows: bool = False
) -> Document:
    """The turns of a chat, or what `follows` in it, as a document. Messages without text are left
    out.

    Raises:
        InvalidInputError: no message with text, no `uri`, a time without a zone, or something that
            is no `Message`.
    """
    check_uri(uri)
    turns = []
    for number, message in enumerate(messages):
        if not isinstance(message, Message):
            raise InvalidInputError(
                f"message {number} is a {type(message).__name__}",
                remedy="give Message(speaker=…, text=…) values",
            )
        check_uri(uri, message.at)
        if message.text.strip():
            turns.append(Turn(message=message))
    if not turns and not follows:
        raise InvalidInputError(
            "there is no message to read", remedy="give at least one Message with a text"
        )
    times = [turn.message.at for turn in turns if turn.message.at]
    return Document(
        uri=uri,
        title=name or ("" if follows else title_of("", uri)),
        turns=tuple(turns),
        follows=follows,
        media_type="application/x-chat",
        category="chat",
        at=min(times) if times else None,
    )


def check_uri(uri: str, at: datetime | None = None) -> None:
    """Refuse what is no uri of something that is read, and a time without a zone.

    Raises:
        InvalidInputError: it is one of these.
    """
    if not isinstance(uri, str) or not uri.strip():
        raise InvalidInputError(
            "what is read needs a uri", remedy='say where it is from: uri="notes/monday"'
        )
    if not storable(uri):
        raise InvalidInputError(
            f"{uri[:80]!r} is no uri", remedy="decode it as UTF-8, without NUL characters"
        )
    if at is not None and at.utcoffset() is None:
        raise InvalidInputError(
            f"the time {at.isoformat()} has no time zone",
            remedy="use an aware datetime, e.g. datetime.now(UTC)",
        )
