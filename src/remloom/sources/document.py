"""Files as they are given to be read, documents as sources yield them, and what was skipped."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from ..model import Message


class File(Struct, frozen=True):
    """A file that a library converts."""

    uri: str  # where it was read
    data: bytes
    suffix: str  # of its name, lower case
    title: str  # of the document when it does not say


class Turn(Struct, frozen=True, kw_only=True):
    """One message of a chat, with where it stood."""

    message: Message
    lines: tuple[int, int] | None = None  # first and last line in the source, from 1
    session: str = ""  # of sources that say which session a turn belongs to
    # what a coding agent did after it, JSON-ready: see `sources.chats.actions`
    actions: dict[str, Any] = {}


class Document(Struct, frozen=True, kw_only=True):
    """Something that was read: a text, or the turns of a chat.

    Offsets and lines refer to `text`, which holds every character of the source, front matter
    included. Where the source had no lines of its own (a PDF), `lined` is false and none are cited.
    """

    uri: str  # absolute path, or whatever names the place
    origin: str = ""  # the source that it was remembered from, with others
    title: str
    text: str = ""
    turns: tuple[Turn, ...] = ()  # not empty: a chat, and `text` is not read
    # the turns follow those read from this `uri` before; an empty title is the one they had
    follows: bool = False
    # "<program>/<id>" of a conversation that is the same in whichever export it comes
    conversation: str = ""
    # the conversation as its program has it now: turns that are not in it were taken back
    current: bool = False
    body: int = 0  # offset in `text` where the content begins, after any front matter
    lined: bool = True
    # offsets in `text` at which its pages begin, where they are known (PDF)
    pages: tuple[int, ...] = ()
    media_type: str = "text/plain"  # text/markdown | text/plain | text/csv | ...
    category: str = "document"  # document | table | chat | note | ...
    at: datetime | None = None  # when it was written, or what time it is about
    authors: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}  # JSON-ready facts: front matter, encoding, ...
    # of an image: a small JPEG of it for a model that sees, if one is to be shown it
    preview: bytes = b""
    # of rows of a program: JSON-ready values, one a line
    columns: dict[str, tuple[Any, ...]] = {}
    # what the source has and the document has not, with its place: "line 7: no JSON"
    left_out: tuple[str, ...] = ()


class Skipped(Struct, frozen=True, kw_only=True):
    """Something that was not read, and why."""

    uri: str
    reason: str
    # true: it could not be read as what it claims to be; false: it is nothing to read
    failed: bool = False


def chat_document(
    uri: str,
    title: str,
    turns: tuple[Turn, ...],
    metadata: dict[str, Any],
    *,
    follows: bool = False,
    conversation: str = "",
    left_out: tuple[str, ...] = (),
) -> Document:
    """Make a document of the turns of a chat; its time is that of the earliest."""
    times = [turn.message.at for turn in turns if turn.message.at]
    return Document(
        uri=uri,
        title=title,
        turns=turns,
        follows=follows,
        conversation=conversation,
        media_type="application/x-chat",
        category="chat",
        at=min(times, default=None),
        metadata=metadata,
        left_out=left_out,
    )
