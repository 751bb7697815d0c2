"""What is learned at once, and in which order: a document, or a day of a chat, by its time.

Dated lessons come first, the oldest first (those of one time by where they were read); undated ones
follow, by where they were read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from ...kv import Entry
from ...model import Resource
from ...predicates import Eq, Query
from ...store.contract import Store
from .pending import PendingSteps

# namespace of the entries that say that a resource, by its id, was learned
LEARNED = "learned"
_PASSAGE_WORDS = 300  # of a chat's turns that are one passage


class Lesson(Struct, frozen=True):
    """What is learned at once: resources that were read, in order."""

    uri: str
    at: datetime | None
    ids: tuple[str, ...]


class LearnPassage(Struct, frozen=True):
    """A text to learn from: a chunk of a document, or some turns of a chat in a row."""

    resources: tuple[Resource, ...]
    pending: PendingSteps = PendingSteps()

    @property
    def id(self) -> str:
        return self.resources[0].id

    @property
    def name(self) -> str:
        return self.resources[0].name

    @property
    def text(self) -> str:
        if self.resources[0].speaker:
            turns = [f"{turn.speaker}: {turn.content}" for turn in self.resources]
            return "\n".join(turns)
        return "\n\n".join(resource.content for resource in self.resources)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(resource.id for resource in self.resources)


class Section(Struct, frozen=True):
    """The passages of a lesson that are learned together."""

    uri: str
    passages: tuple[LearnPassage, ...]
    ends_lesson: bool

    @property
    def at(self) -> datetime | None:
        """The time of its first resource; None: it is undated."""
        resources = [resource for passage in self.passages for resource in passage.resources]
        times = [resource.starts_at for resource in resources if resource.starts_at]
        return min(times, default=None)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the resources."""
        return tuple(id for passage in self.passages for id in passage.ids)


def unlearned_lessons(store: Store, uris: Collection[str] | None = None) -> list[Lesson]:
    """What was read, in order, but for what was learned before; None: from all sources."""
    learned = {entry.key for entry in store.kv.list(LEARNED)}
    # by source and day; not the resources themselves: there may be very many
    grouped: dict[tuple[str, str], list[tuple[int, str, datetime | None]]] = {}
    for resource in _read_resources(store, uris):
        if resource.id not in learned:
            group = grouped.setdefault((resource.uri or resource.id, _day(resource)), [])
            group.append((resource.ordinal, resource.id, resource.starts_at))
    lessons = []
    for (uri, _), parts in grouped.items():
        parts.sort(key=lambda part: part[:2])
        times = [at for _, _, at in parts if at]
        ids = tuple(id for _, id, _ in parts)
        lessons.append(Lesson(uri, min(times, default=None), ids))
    return sorted(lessons, key=_order)


def learned_entries(passage: LearnPassage, run: str) -> list[Entry]:
    """The entries that say that a run learned a passage."""
    data = msgspec.json.encode({"run": run})
    return [Entry(LEARNED, id, data, (id,)) for id in passage.ids]


def cut_passages(
    store: Store,
    ids: Sequence[str],
    pending: Mapping[str, PendingSteps] = {},
) -> list[LearnPassage]:
    """The passages of these resources, in order; those in `pending` with the steps left to do.

    What was forgotten by now is left out.
    """
    groups: list[list[Resource]] = []
    words = 0
    for id in ids:
        resource = store.records.get("resources", id)
        if not isinstance(resource, Resource) or not resource.content.strip():
            continue
        count = len(resource.content.split())
        # turns are short: some in a row make a passage
        continues = bool(groups and resource.speaker and groups[-1][0].speaker)
        if continues and words + count <= _PASSAGE_WORDS:
            groups[-1].append(resource)
            words += count
        else:
            groups.append([resource])
            words = count
    return [_with_pending(LearnPassage(tuple(group)), pending) for group in groups]


def _with_pending(passage: LearnPassage, pending: Mapping[str, PendingSteps]) -> LearnPassage:
    steps = pending.get(passage.id)
    # a chat may be cut elsewhere than when it failed: then all is to be done again
    if steps is None or steps.ids != passage.ids:
        return passage
    return LearnPassage(passage.resources, steps)


def _read_resources(store: Store, uris: Collection[str] | None) -> Iterable[Resource]:
    """The resources that were read, not derived, and that have words."""
    records: Iterable[object]
    if uris is None:
        records = store.records.all("resources")
    else:
        records = (
            record
            for uri in uris
            for record in store.records.query("resources", Query().filter(Eq("uri", uri)))
        )
    for record in records:
        if isinstance(record, Resource) and not record.generation and record.content.strip():
            yield record


def _day(resource: Resource) -> str:
    """The day of a chat's turn; a document is learned as a whole."""
    if not resource.speaker or not resource.starts_at:
        return ""
    return resource.starts_at.date().isoformat()


def _order(lesson: Lesson) -> tuple[bool, float, str]:
    at = lesson.at
    return at is None, at.timestamp() if at else 0.0, lesson.uri
