"""What is learned at once, and in which order: a document, or a day of a chat, by its time.

Dated lessons come first, the oldest first (those of one time by where they were read); undated ones
follow, by where they were read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from ...model import Resource
from ...predicates import Eq, Query
from ...store.contract import JournalEntry, Store
from .pending import PendingSteps

__all__ = ["LEARNED", "Lesson", "Passage", "learned", "lessons", "passages"]

# kind of the journal entries that say of a resource, by its id, that it was learned
LEARNED = "learned"
PASSAGE_WORDS = 300  # of a chat's turns that are one passage


class Lesson(Struct, frozen=True):
    """What is learned at once: resources that were read, in order."""

    uri: str
    at: datetime | None
    ids: tuple[str, ...]


class Passage(Struct, frozen=True):
    """A text to think about: a chunk of a document, or some turns of a chat in a row."""

    resources: tuple[Resource, ...]
    rest: PendingSteps = PendingSteps()

    @property
    def id(self) -> str:
        return self.resources[0].id

    @property
    def name(self) -> str:
        return self.resources[0].name

    @property
    def text(self) -> str:
        if _speaker(self.resources[0]):
            return "\n".join(f"{_speaker(turn)}: {turn.content}" for turn in self.resources)
        return "\n\n".join(resource.content for resource in self.resources)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(resource.id for resource in self.resources)


def lessons(store: Store, uris: Collection[str] | None = None) -> list[Lesson]:
    """What was read (all of it, or from these places) and was not learned yet, in order."""
    done = {item.id for item in store.journal(LEARNED)}
    found: dict[tuple[str, str], list[tuple[datetime | None, int, str]]] = {}
    for resource in _read(store, uris):
        if resource.id not in done:
            day = (
                resource.starts_at.date().isoformat()
                if _speaker(resource) and resource.starts_at
                else ""
            )
            place = (resource.uri or resource.id, day)
            found.setdefault(place, []).append((resource.starts_at, resource.ordinal, resource.id))
    ordered = []
    for (uri, _), parts in found.items():
        parts.sort(key=lambda part: (part[1], part[2]))
        times = [at for at, _, _ in parts if at]
        ordered.append(Lesson(uri, min(times, default=None), tuple(id for _, _, id in parts)))
    ordered.sort(
        key=lambda lesson: (
            lesson.at is None,
            lesson.at.timestamp() if lesson.at else 0.0,
            lesson.uri,
        )
    )
    return ordered


def learned(passage: Passage, run: str) -> list[JournalEntry]:
    """The journal entries that say so."""
    data = msgspec.json.encode({"run": run})
    return [JournalEntry(LEARNED, id, data, subjects=(id,)) for id in passage.ids]


def passages(
    store: Store, ids: Sequence[str], rests: Mapping[str, PendingSteps] = {}
) -> list[Passage]:
    """The passages of these resources, in order, with what is left of those in `rests`. What is
    gone by now is left out."""
    found: list[list[Resource]] = []
    words = 0
    for id in ids:
        resource = store.get("resources", id)
        if not isinstance(resource, Resource) or not resource.content.strip():
            continue
        count = len(resource.content.split())
        if (
            found
            and _speaker(resource)
            and _speaker(found[-1][0])
            and words + count <= PASSAGE_WORDS
        ):
            found[-1].append(resource)
            words += count
        else:
            found.append([resource])
            words = count
    whole = [Passage(tuple(part)) for part in found]
    known = [rests.get(passage.id) for passage in whole]
    return [
        Passage(passage.resources, rest) if rest and rest.ids == passage.ids else passage
        for passage, rest in zip(whole, known, strict=True)
    ]


def _read(store: Store, uris: Collection[str] | None) -> Iterable[Resource]:
    """The resources that were read or told, and that have words."""
    if uris is None:
        records: Iterable[object] = store.records("resources")
    else:
        records = (
            record
            for uri in uris
            for record in store.query("resources", Query().filter(Eq("uri", uri)))
        )
    for record in records:
        if isinstance(record, Resource) and not record.generation and record.content.strip():
            yield record


def _speaker(resource: Resource) -> str:
    return str(resource.metadata.get("speaker") or "")
