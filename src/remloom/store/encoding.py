"""How records are stored: their schemas, and what has a column of its own in every store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from ..model import Entity, Moment, Record, Resource, Row

TOP = "\U0010ffff"  # sorts behind every character that a key or an id continues with
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
SCHEMAS: dict[str, type[Resource | Entity | Moment]] = {
    "resources": Resource,
    "entities": Entity,
    "moments": Moment,
}


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


class _Decoders(dict[str, Callable[[bytes | str], Any]]):
    def __missing__(self, schema: str) -> Callable[[bytes | str], Any]:
        return _decode_row


_decode_row = msgspec.json.Decoder(Row).decode
# what decodes the stored body of a record; every schema but the built-in ones has rows
DECODERS = _Decoders({name: msgspec.json.Decoder(kind).decode for name, kind in SCHEMAS.items()})
