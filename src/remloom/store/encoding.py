"""How records are stored: their schemas, what has a column of its own in every store, the text that
is searched and embedded, and when they have expired."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import time_ns
from typing import Any

import msgspec

from ..model import Entity, Moment, Record, Resource, Row
from ..model.supersession import is_hidden

TOP = "\U0010ffff"  # sorts behind every character that a key or an id continues with
BEFORE_ALL = -(2**63)  # a time at which nothing has expired
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
SCHEMAS: dict[str, type[Resource | Entity | Moment]] = {
    "resources": Resource,
    "entities": Entity,
    "moments": Moment,
}


class _Decoders(dict[str, Callable[[bytes | str], Any]]):
    def __missing__(self, schema: str) -> Callable[[bytes | str], Any]:
        return _decode_row


_decode_row = msgspec.json.Decoder(Row).decode
# what decodes the stored body of a record; every schema but the built-in ones has rows
DECODERS = _Decoders({name: msgspec.json.Decoder(kind).decode for name, kind in SCHEMAS.items()})


# -- columns ---------------------------------------------------------------------------------------


def micros(at: datetime | None) -> int | None:
    """Microseconds since 1970 UTC."""
    return None if at is None else (at - _EPOCH) // _MICROSECOND


def moment_of(at: int | None) -> datetime | None:
    """The datetime of microseconds since 1970 UTC."""
    return None if at is None else _EPOCH + timedelta(microseconds=at)


def successor(text: str) -> str:
    """The first text behind all that begin like this one, in the order of code points.

    >>> successor("a//")
    'a/0'
    """
    return f"{text[:-1]}{chr(ord(text[-1]) + 1)}"


def type_of(record: Record) -> str | None:
    """What the type index has: an entity's or moment's type, a resource's category."""
    return (record.category if isinstance(record, Resource) else record.type) or None


def times_of(record: Record) -> tuple[int | None, int | None, int, int]:
    """(starts, ends, created, updated); what has a start but no end ends when it starts."""
    starts = ends = None
    if not isinstance(record, Entity):
        starts = micros(record.starts_at)
        ends = micros(record.ends_at) if record.ends_at else starts
    return starts, ends, micros(record.created_at) or 0, micros(record.updated_at) or 0


def now() -> int:
    """The time by which records expire, in microseconds since 1970 UTC."""
    return time_ns() // 1000


def next_revision(last: int) -> int:
    """Return the revision behind the last one given out: by the clock, so that a store which is
    restored from a backup gives none again; one more where the clock stands still."""
    return max(last + 1, now())


def has_expired(record: Record) -> bool:
    """Whether the time of a record has come: from then on no store returns it."""
    at = record.expires_at
    return at is not None and (micros(at) or 0) <= now()


# -- text ------------------------------------------------------------------------------------------


def searchable_text(record: Record) -> str:
    """Return what text search indexes: `embedded_text`, and behind it, if there is any, the context
    of a resource."""
    text = embedded_text(record)
    if text and isinstance(record, Resource) and record.context:
        return f"{text}\n{record.context}"
    return text


def embedded_text(record: Record) -> str:
    """Return what is embedded. Empty for what only its name says: FUZZY finds that."""
    if isinstance(record, Resource):
        return record.content
    if isinstance(record, Entity):
        return (
            f"{record.name}: {record.summary}" if record.summary and not is_hidden(record) else ""
        )
    if isinstance(record, Moment):
        if record.metadata and is_hidden(record):
            return ""
        tags = " ".join(record.topic_tags + record.emotion_tags + record.classifications)
        return "\n".join(part for part in (record.name, record.summary, tags) if part)
    searched = (_words(record.fields.get(name)) for name in record.searched)
    # a name that is only the handle says nothing in words
    name = record.name if record.name != record.handle else ""
    return "\n".join(part for part in (name, record.summary, *searched) if part)


def _words(value: object) -> str:
    """Return the words of a field, or of each that a list holds."""
    if isinstance(value, list):
        return " ".join(filter(None, map(_words, value)))
    return value if isinstance(value, str) else ""


def origin(record: Record) -> tuple[object, ...]:
    """Return the category and speaker of a resource: a text with others gets a new number."""
    if isinstance(record, Resource):
        return record.category, record.metadata.get("speaker")
    return ()


def content_key(resource: Resource) -> tuple[object, ...]:
    """Return what a resource says, and who: what evidence that it gives rests on."""
    return resource.content, *origin(resource)
