"""Supersession: a text that another one takes the place of, or amends.

An agent or a person says so as they write the new one; no likeness and no text that was read does.
(A run hides what it derived under the same key, without a reason: that changes nothing that is
said.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .records import Entity, Moment, Record, Resource

# keys of metadata, or of the properties of an entity: of the older text, and of the newer one
SUPERSEDED = "superseded"  # by, reason, since, at, content, context; of a run: by, run, content
AMENDED = "amended"  # by, at
REPLACES = "replaces"  # the id of the older one
AMENDS = "amends"  # the same
EARLIER = 100  # a text with more amendments names the newest
MARKS = (SUPERSEDED, AMENDED, REPLACES, AMENDS)
_R = TypeVar("_R", Resource, Moment, Entity)
_M = TypeVar("_M", Moment, Entity)
ReplaceReason: TypeAlias = Literal["changed", "wrong"]


class Superseded(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What took the place of a text, and why. Nothing that asks of the present finds it any more,
    nor the moment and the source that reading made of it alone, which have the same mark."""

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
    earlier: tuple[str, ...] = ()  # ids of those before, oldest first, the newest `EARLIER`


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
    superseded = superseded_of(record)
    marks = {key: value for key, value in _marks(record).items() if key not in keys}
    bare = _with_marks(record, marks)
    if superseded is None or not isinstance(bare, Resource) or SUPERSEDED not in keys:
        return bare
    return replace(bare, content=superseded.content, context=superseded.context)


def before_replaced(record: Record) -> Record:
    """Return a record as whoever read it knows it: a text as it was before it was replaced."""
    if isinstance(record, Resource) and superseded_of(record) is not None:
        return without_mark(record, SUPERSEDED)
    return record


def marked_as(made: _M, texts: Iterable[Resource]) -> _M:
    """Return what reading made of some texts with the newest of their marks, if all of them were
    replaced; else without one."""
    newest: Superseded | None = None
    for text in texts:
        if (mark := superseded_of(text)) is None:
            return without_mark(made, SUPERSEDED) if superseded_of(made) else made
        newest = mark if newest is None or newest.at <= mark.at else newest
    if newest is None:
        return made
    shown = msgspec.to_builtins(replace(newest, content="", context=""))
    return _with_marks(made, {**_marks(made), SUPERSEDED: shown})


def without_context(record: Resource) -> Resource:
    """Return a text that was replaced without the context that it had."""
    if (mark := superseded_of(record)) is None or not mark.context:
        return record
    shown = msgspec.to_builtins(replace(mark, context=""))
    return replace(record, metadata={**record.metadata, SUPERSEDED: shown})


def _with_marks(record: _R, marks: dict[str, Any]) -> _R:
    if isinstance(record, Entity):
        return replace(record, properties=marks)
    return replace(record, metadata=marks)


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
    marks: Any = None
    if isinstance(record, (Resource, Moment)):
        marks = record.metadata
    elif isinstance(record, Entity):
        marks = record.properties
    # as it was given: it may be anything
    return marks if type(marks) is dict or isinstance(marks, Mapping) else {}
