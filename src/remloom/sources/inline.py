"""Texts and messages that are not in a file, as documents."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from ..errors import InvalidInputError
from ..labels import storable
from ..model import Message
from .document import Document, Turn, chat_document
from .files import markdown, title_of


def from_text(
    text: str,
    *,
    uri: str,
    name: str | None = None,
    category: str = "note",
    at: datetime | None = None,
    origin: str = "",
) -> Document:
    """Make a document of a text, taken as a Markdown file is, with front matter if it has some.

    Args:
        name: its title; else that of its front matter, its first heading, or one made of `uri`.
        at: its time; else that of its front matter.
        origin: the source that it is remembered from, if others are too.

    Raises:
        InvalidInputError: no text, no `uri`, an `origin` that is none, or a time without a zone.
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidInputError("there is no text to read", remedy="give a text that is not blank")
    check_uri(uri, at)
    if origin:
        check_uri(origin)
    # lines are counted by LF alone; a byte order mark would hide a heading
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    document = markdown(uri, text)
    return replace(
        document,
        title=name or document.title,
        category=category,
        at=at or document.at,
        origin=origin,
    )


def from_messages(
    messages: Iterable[Message],
    *,
    uri: str,
    name: str | None = None,
    follows: bool = False,
) -> Document:
    """Make a document of the turns of a chat, or of what `follows` in it.

    Messages without text are left out.

    Raises:
        InvalidInputError: no message with text, no `uri`, a time without a zone, or something that
            is not a `Message`.
    """
    check_uri(uri)
    turns = []
    for number, message in enumerate(messages):
        if not isinstance(message, Message):
            raise InvalidInputError(
                f"message {number} is a {type(message).__name__}",
                remedy="give Message(speaker=…, text=…) values",
            )
        if not isinstance(message.text, str) or not isinstance(message.speaker, str):
            raise InvalidInputError(
                f"message {number} has a speaker or a text that is no text",
                remedy='give Message(speaker="Ann", text="Hi")',
            )
        check_uri(uri, message.at)
        if message.text.strip():
            turns.append(Turn(message=message))
    if not turns and not follows:
        raise InvalidInputError(
            "there is no message to read", remedy="give at least one Message with a text"
        )
    title = name or ("" if follows else title_of("", uri))
    return chat_document(uri, title, tuple(turns), {}, follows=follows)


def check_uri(uri: str, at: datetime | None = None) -> None:
    """Refuse a blank or unstorable uri, and a time without a zone.

    Raises:
        InvalidInputError: it is one of these.
    """
    if not isinstance(uri, str) or not uri.strip():
        raise InvalidInputError(
            "what is read needs a uri", remedy='say where it is from: uri="notes/monday"'
        )
    if not storable(uri):
        raise InvalidInputError(
            f"{uri[:80]!r} is not a uri", remedy="decode it as UTF-8, without NUL characters"
        )
    if at is not None and at.utcoffset() is None:
        raise InvalidInputError(
            f"the time {at.isoformat()} has no time zone",
            remedy="use an aware datetime, e.g. datetime.now(UTC)",
        )
