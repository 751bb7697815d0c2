"""Supersession: a text that another one takes the place of, or amends.

An agent or a person says so as they write the new one; no likeness and no text that was read does.
(A run hides what it derived under the same key, without a reason: that changes nothing that is
said.)
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .records import Moment, Record, Resource

# keys of metadata: of the older text, and of the newer one
SUPERSEDED = "superseded"  # by, reason, since, at, content, context; of a run: by, run, content
AMENDED = "amended"  # by, at
REPLACES = "replaces"  # the id of the older one
AMENDS = "amends"  # the same
MARKS = (SUPERSEDED, AMENDED, REPLACES, AMENDS)
_R = TypeVar("_R", Resource, Moment)
ReplaceReason: TypeAlias = Literal["changed", "wrong"]


class Superseded(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What took the place of a text, and why. No search finds it any more, nor the moment that
    reading made of it alone, which has the same mark."""

    by: str  # the id of the newer one
    reason: ReplaceReason  # it held until `since`, or it never did
    since: datetime
    at: datetime  # when that was said
    content: str = ""  # of the older one
    context: str = ""


class Amended(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What adds to a text. Both are found; the older one is not all there is to say."""

    by: str  # the id of the newest amendment
    at: datetime
    earlier: tuple[str, ...] = ()  # ids of those before, oldest first


def superseded_of(record: Record) -> Superseded | None:
    """Return what somebody said took the place of a record; None: nobody did, though a run may
    have hidden it."""
    found: Superseded | None = _mark(record, SUPERSEDED, Superseded)
    return found


def amended_of(record: Record) -> Amended | None:
    """Return what somebody said amends a record, if anything does."""
    found: Amended | None = _mark(record, AMENDED, Amended)
    return found


def ended_at_of(record: Record) -> datetime | None:
    """Return since when a text does not hold, or is not all there is to say, as was said."""
    superseded, amended = superseded_of(record), amended_of(record)
    if superseded is not None:
        return superseded.since
    return amended.at if amended is not None else None


def successor_of(record: Record) -> str:
    """Return the id of what replaces or amends a record, or an empty string."""
    mark = superseded_of(record) or amended_of(record)
    return mark.by if mark is not None else ""


def is_hidden(record: Record) -> bool:
    """Whether a record is no part of what is remembered now: a text that was superseded, by word
    or by a run, or the moment of one."""
    if isinstance(record, Resource):
        return SUPERSEDED in record.metadata
    return superseded_of(record) is not None


def said_text(record: Resource) -> str:
    """Return the text of a resource, also of one that is superseded."""
    marks = _marks(record)
    if SUPERSEDED not in marks:
        return record.content
    hidden = marks[SUPERSEDED]
    content = hidden.get("content") if isinstance(hidden, Mapping) else None
    return content if isinstance(content, str) else record.content


def without_mark(record: _R, *keys: str) -> _R:
    """Return a record as it was before it had these marks; a text that was superseded says it
    again."""
    marks = {key: value for key, value in record.metadata.items() if key not in keys}
    superseded = superseded_of(record)
    is_text = isinstance(record, Resource) and superseded is not None
    if superseded is None or not is_text or SUPERSEDED not in keys:
        return replace(record, metadata=marks)
    content, context = superseded.content, superseded.context
    return replace(record, metadata=marks, content=content, context=context)


def _mark(record: Record, key: str, kind: type[Any]) -> Any:
    marks = _marks(record)
    if key not in marks or not isinstance(value := marks[key], Mapping):
        return None
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        # of a run, or somebody's own
        return None


def _marks(record: Record) -> Mapping[str, Any]:
    if not isinstance(record, (Resource, Moment)):
        return {}
    # as it was given: it may be anything
    metadata: Any = record.metadata
    return metadata if type(metadata) is dict or isinstance(metadata, Mapping) else {}
