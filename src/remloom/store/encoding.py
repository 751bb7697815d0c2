"""What of a record has a column of its own in every store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ..model import Entity, Record, Resource

TOP = "\U0010ffff"  # sorts behind every character that a key or an id continues with
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


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
