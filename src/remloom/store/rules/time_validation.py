"""Checks of times: aware, and no end before its start."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

from ...errors import InvalidInputError
from ...model import Edge, Entity, Moment, Record, Resource, Row

WRITABLE: tuple[type[Struct], ...] = (Resource, Entity, Moment, Row, Edge)
_TIMES: dict[type, tuple[str, ...]] = {
    kind: tuple(
        name for name in kind.__struct_fields__ if name.endswith("_at") or name.startswith("valid_")
    )
    for kind in WRITABLE
}
# fields of which the second is not before the first
_SPANS: dict[type, tuple[tuple[str, str], ...]] = {
    kind: tuple(
        span for span in (("starts_at", "ends_at"), ("valid_from", "valid_to")) if span[0] in fields
    )
    for kind, fields in _TIMES.items()
}


def times_in_utc(item: Record | Edge) -> dict[str, datetime]:
    """Return those times of an item that are to be converted to UTC, by field.

    Raises:
        InvalidInputError: a time without a time zone, or outside the years 1 to 9999; an end before
            its start.
    """
    converted = {}
    for name in _TIMES[type(item)]:
        at = getattr(item, name)
        # Nearly all are in UTC already.
        if at is not None and not (type(at) is datetime and at.tzinfo is UTC):
            converted[name] = _to_utc(name, at)
    for first, last in _SPANS[type(item)]:
        starts, ends = getattr(item, first), getattr(item, last)
        if starts is not None and ends is not None and ends < starts:
            raise InvalidInputError(
                f"{last} {ends.isoformat()} is before {first} {starts.isoformat()}"
            )
    return converted


def _to_utc(name: str, at: object) -> datetime:
    if not isinstance(at, datetime):
        raise InvalidInputError(f"{name} must be a datetime, not {type(at).__name__}")
    if at.tzinfo is None or at.utcoffset() is None:
        raise InvalidInputError(
            f"{name} {at.isoformat()} has no time zone",
            remedy="use an aware datetime, e.g. datetime.now(UTC)",
        )
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise InvalidInputError(
            f"{name} {at.isoformat()} is outside the years 1 to 9999 in UTC"
        ) from None
