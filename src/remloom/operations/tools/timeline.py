"""The tool `timeline`: what happened, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta, Struct

from ... import labels
from ...memory.memory import Memory
from ...model import Moment
from ...model.supersession import is_hidden
from ...predicates import Exists, Gte, Lt, Query
from ...store.premises import find_among, finder_of
from ..bounds import Limit, Time, parse_time
from ..operation import Progress, tool
from .passage import Passage, quote_all

_PAGE = 200  # moments read at once


class TimelineTakes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `timeline`."""

    start: Time = ""
    end: Annotated[Time, Meta(description="before this")] = ""
    about: Annotated[str, Meta(max_length=1000, description="a name")] = ""
    limit: Limit = 20


class Timeline(Struct, frozen=True, kw_only=True):
    """The newest moments of a period, oldest first, and whether there are `more` before them."""

    moments: list[Passage]
    more: bool


def _timeline(memory: Memory, values: TimelineTakes, progress: Progress | None) -> Timeline:
    """List what happened, in order: conversations, meetings, events, of a period or of somebody;
    the newest when there are more than the limit.
    """
    query = Query().filter(Exists("starts_at")).order_by("starts_at", "desc")
    if start := parse_time(values.start, "start"):
        query = query.filter(Gte("starts_at", start))
    if end := parse_time(values.end, "end"):
        query = query.filter(Lt("starts_at", end))
    key = labels.key(values.about) if values.about.strip() else ""
    moments = []
    for moment in _read(memory, query):
        if not key or key in _keys_of(moment):
            moments.append(moment)
        if len(moments) > values.limit:
            break
    newest = moments[: values.limit][::-1]
    stale = find_among(newest, finder_of(memory.admin.store.records))
    return Timeline(
        moments=[_passage(memory, moment, str(stale.get(moment.id, ""))) for moment in newest],
        more=len(moments) > values.limit,
    )


def _read(memory: Memory, query: Query) -> Iterator[Moment]:
    skip = 0
    while True:
        page = memory.query_moments(query.limit(_PAGE).offset(skip))
        yield from (moment for moment in page if not is_hidden(moment))
        if len(page) < _PAGE:
            return
        skip += _PAGE


def _keys_of(moment: Moment) -> set[str]:
    """The keys of what a moment is about: itself, persons, topics, entities."""
    persons = (person.name for person in moment.present_persons)
    names: tuple[Any, ...] = (moment.name, *persons, *moment.topic_tags, *moment.entity_refs)
    return {labels.key(name) for name in names if name.strip(" \"'")}


def _passage(memory: Memory, moment: Moment, stale: str) -> Passage:
    """A moment; where it has no summary, what the first of its texts says that was not replaced."""
    passage = Passage.of(moment, stale=stale)
    if passage.text:
        return passage
    texts = map(memory.get_resource, moment.resource_refs)
    first = next((text for text in texts if not is_hidden(text)), None)
    if first is None:
        return passage
    return Passage.of(moment, before=Passage.of(first).text, stale=stale)


def _text(value: Timeline) -> str:
    if not value.moments:
        return "Nothing is remembered of that time."
    earlier = "There is more before this: give an earlier end.\n" if value.more else ""
    return earlier + quote_all(value.moments)


TIMELINE = tool(
    _timeline,
    text=_text,
    aliases={"since": "start", "from": "start", "until": "end", "to": "end", "label": "about"},
)
