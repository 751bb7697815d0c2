"""What is read without what is to be kept nowhere: private parts, and secrets.

It comes before everything else that is made of a document, so that no chunk, name, title, digest or
error has any of it. Line ends stay: lines are cited as before.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from msgspec.structs import replace

from ..sources import Document, Skipped, Turn
from ..sources.texts import title_of
from ..text.edits import Edited
from ..text.private import find_private, without_private
from ..text.secrets import Masked, find_secrets, mask_with_origins, names_password

_MASKED_PASSWORD = "[secret: password]"  # noqa: S105 - a mask
_DELIMITERS = {"text/csv": ",", "text/tab-separated-values": "\t"}
_AT_ONCE = 64  # turns that are looked at together
_SHORTEST = 4  # characters of a private part, or of a secret, that are looked for elsewhere
# secrets so short that a digest of one would tell it
_SHORT_KINDS = frozenset(("password", "PIN"))


class Redaction:
    """Takes out private parts and, if `masks`, masks secrets; `masked` counts those."""

    def __init__(self, masks: bool) -> None:
        self._masks = masks
        self.masked = 0

    def document(self, document: Document) -> Document:
        """Return a document as it may be kept."""
        left_out = list(document.left_out)
        edited = without_private(document.text)
        masked = self._masked(self._table(document.media_type, edited.text))
        turns = tuple(self._turns(document.turns))
        hidden = _Hidden(document, edited, masked)
        title = hidden.without(document.title)
        if edited.befores and edited.befores[-1][1] == len(document.text):
            line = document.text.count("\n", 0, edited.befores[-1][0]) + 1
            left_out.append(f"what is private from line {line} on")
        return replace(
            document,
            uri=self._name(document.uri),
            origin=self._name(document.origin),
            conversation=self._name(document.conversation),
            title=self._value(title or (document.title and title_of(document.uri))),
            text=masked.text,
            turns=turns,
            body=masked.moved(edited.moved(document.body)),
            pages=tuple(masked.moved(edited.moved(page)) for page in document.pages),
            authors=tuple(
                self._value(author) for author in map(hidden.without, document.authors) if author
            ),
            metadata=self._value(hidden.without(document.metadata)),
            columns={
                self._value(name): self._column(name, values)
                for name, values in document.columns.items()
            },
            left_out=tuple(self._value(piece) for piece in left_out),
        )

    def skipped(self, skipped: Skipped) -> Skipped:
        """Return what is said of a source that was not read, as it may be said."""
        reason = self._value(skipped.reason)
        return replace(skipped, uri=self._name(skipped.uri), reason=reason)

    def _table(self, media_type: str, text: str) -> str:
        """A table, with each value of a column of passwords masked."""
        delimiter = _DELIMITERS.get(media_type, "") if self._masks else ""
        header, *lines = text.split("\n") if delimiter else [""]
        names = next(csv.reader([header], delimiter=delimiter or ","), [])
        columns = [number for number, name in enumerate(names) if names_password(name.strip())]
        if not columns:
            return text
        masked = [header]
        for line in lines:
            cells = _cells(line, delimiter)
            for column in columns:
                if column < len(cells) and cells[column].strip():
                    cells[column] = _MASKED_PASSWORD
                    self.masked += 1
            masked.append(delimiter.join(cells))
        return "\n".join(masked)

    def _turns(self, turns: Sequence[Turn]) -> Iterator[Turn]:
        for start in range(0, len(turns), _AT_ONCE):
            some = turns[start : start + _AT_ONCE]
            # most have none, and one look at all is faster than a look at each
            if self._has_any("\n\n".join(text for turn in some for text in _texts(turn))):
                made = map(self._turn, some)
                # nothing is left of one that is private as a whole
                yield from (turn for turn in made if turn.message.text.strip())
            else:
                yield from some

    def _turn(self, turn: Turn) -> Turn:
        message = turn.message
        made = replace(
            message,
            speaker=self._value(message.speaker),
            text=self._value(message.text),
            id=self._name(message.id),
            role=self._value(message.role),
        )
        session, actions = self._name(turn.session), self._value(turn.actions)
        if made == message and session == turn.session and actions == turn.actions:
            return turn
        return replace(turn, message=made, session=session, actions=actions)

    def _has_any(self, text: str) -> bool:
        return bool(find_private(text) or (self._masks and find_secrets(text)))

    def _masked(self, text: str) -> Masked:
        if not self._masks:
            return Masked(text)
        masked = mask_with_origins(text)
        self.masked += masked.secrets
        return masked

    def _value(self, value: Any, name: str = "") -> Any:
        """A value of JSON; `name`: what it is called, which may tell that it is a secret."""
        if isinstance(value, str):
            value = without_private(value).text
        if isinstance(value, str | int) and not isinstance(value, bool):
            if self._masks and value not in ("", 0) and names_password(name):
                self.masked += 1
                return _MASKED_PASSWORD
            said = f"{name}: " if name else ""
            masked = self._masked(f"{said}{value}")
            is_same = not masked.secrets or not masked.text.startswith(said)
            return value if is_same else masked.text[len(said) :]
        if isinstance(value, Mapping):
            return {self._value(str(key)): self._value(one, str(key)) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._value(one, name) for one in value)
        return value

    def _column(self, name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
        is_named = self._masks and names_password(name)
        together = "\n\n".join(str(one) for one in values if isinstance(one, str | int))
        if not is_named and not self._has_any(together):
            return values
        return tuple(self._value(value, name) for value in values)

    def _name(self, name: str) -> str:
        """A name of a source or message. Where secrets alone tell two apart, a few bits of their
        digest still do."""
        masked = self._masked(without_private(name).text)
        if not masked.secrets or not _SHORT_KINDS.isdisjoint(kind for kind, _ in masked.found):
            return masked.text
        secrets = "\n".join(secret for _, secret in masked.found)
        digest = sha256(secrets.encode("utf-8", "replace")).hexdigest()
        return f"{masked.text}~{digest[:4]}"


class _Hidden:
    """What a text no longer says, and so no title, author or fact made of it may say."""

    def __init__(self, document: Document, edited: Edited, masked: Masked) -> None:
        text = document.text
        self._private = [_plain(text[start:end]) for start, end in edited.befores]
        self._kept = _plain(masked.text) if self._private else ""
        self._secrets = [found for found in masked.found if len(found[1]) >= _SHORTEST]

    def without(self, value: Any) -> Any:
        if not self._private and not self._secrets:
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int) and not isinstance(value, bool):
            text = self._text(str(value))
            return value if text == str(value) else text
        if isinstance(value, Mapping):
            return {key: self.without(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.without(one) for one in value)
        return value

    def _text(self, value: str) -> str:
        plain = _plain(value)
        is_private = len(plain) >= _SHORTEST and any(plain in part for part in self._private)
        if is_private and plain not in self._kept:
            return ""
        for kind, secret in self._secrets:
            value = value.replace(secret, f"[secret: {kind}]")
        return value


def _cells(line: str, delimiter: str) -> list[str]:
    """The cells of a line as they are written, with their quotes."""
    cells = [""]
    for piece in line.split(delimiter):
        # an odd number of quotes: it goes on behind the delimiter
        if cells[-1].count('"') % 2:
            cells[-1] += delimiter + piece
        else:
            cells.append(piece)
    return cells[1:]


def _texts(turn: Turn) -> Iterator[str]:
    message = turn.message
    yield from (message.speaker, message.role, message.id, turn.session, message.text)
    if turn.actions:
        yield from _strings(turn.actions)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield str(key)
            yield from _strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one)


def _plain(text: str) -> str:
    return " ".join(text.split())
