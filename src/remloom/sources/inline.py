"""Texts and messages that are not in a file, as documents."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from ..errors import InvalidInputError
from ..labels import storable
from ..model import Message
from .document import Document, Turn, chat_document
from .texts import markdown, title_of

_TEXT = "text"
_MAX_WHOLE = 2**63  # what is kept as a whole number is below


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
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidInputError("there is no text to read", remedy="give a text that is not blank")
    check_uri(uri, at)
    if origin:
        check_uri(origin)
    # lines are counted by LF alone; a byte order mark would hide a heading
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    document = markdown(Document(uri=uri, title=title_of(uri), text=text))
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
    """Make a document of the turns of a chat, or of what `follows` in it. Messages without text are
    left out."""
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
    title = name or ("" if follows else title_of(uri))
    return chat_document(uri, title, tuple(turns), {}, follows=follows)


def check_uri(uri: str, at: datetime | None = None) -> None:
    """Refuse a blank or unstorable uri, and a time without a zone."""
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


def from_rows(rows: Iterable[Mapping[str, Any]], *, uri: str, name: str) -> Document:
    """Make a document of rows: the line of each is its `text`; its other values are `columns`.

    Line ends in a text become blanks. Values that JSON does not have become texts, and so do whole
    numbers of more than 64 bits; what is not a number (NaN) is none.

    >>> from_rows([{"text": "a\\nb", "year": 1999}], uri="rows:x", name="x").columns
    {'year': (1999,)}

    Args:
        rows: mappings, or a DataFrame of pandas or polars.

    Raises:
        InvalidInputError: a row is not a mapping or has no `text`, or no row has a text.
    """
    check_uri(uri)
    texts: list[str] = []
    values: list[dict[str, Any]] = []
    for number, row in enumerate(_mappings(rows), 1):
        if not isinstance(row, Mapping) or _TEXT not in row:
            raise InvalidInputError(
                f"row {number} has no `text`", remedy="give mappings with a `text`, a row a line"
            )
        texts.append(_line(_value(row[_TEXT])))
        values.append({str(key): _value(row[key]) for key in row if key != _TEXT})
    if not any(texts):
        raise InvalidInputError("there is no text in the rows", remedy="give rows with a `text`")
    names = dict.fromkeys(key for row in values for key in row)
    return Document(
        uri=uri,
        title=name,
        text="\n".join(texts),
        category="table",
        columns={key: tuple(row.get(key) for row in values) for key in names},
    )


def _mappings(rows: Any) -> Iterable[Any]:
    """The rows of a DataFrame, of pandas or of polars; of anything else the rows themselves."""
    if hasattr(rows, "to_dicts"):
        return list(rows.to_dicts())
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):
        return list(rows.to_dict("records"))
    if isinstance(rows, Mapping | str) or not isinstance(rows, Iterable):
        raise InvalidInputError(
            f"a {type(rows).__name__} is no list of rows", remedy='give [{"text": …}, …]'
        )
    return list(rows)


def _line(value: Any) -> str:
    """A text as one line, with the blanks that it begins with."""
    return " ".join(str("" if value is None else value).splitlines()).rstrip()


def _value(value: Any) -> Any:
    """A value as JSON has it."""
    if hasattr(value, "item") and not isinstance(value, str | bytes):
        # a number of numpy
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not -_MAX_WHOLE <= value < _MAX_WHOLE:
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
