"""What is learned at once, and in which order: documents, or days of a chat, the oldest first. What
is undated follows. Ties are broken by uri."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...kv import Entry
from ...model import Resource
from ...model.premises import premises_of
from ...predicates import Eq, Query
from ...runs.failures import FailedItem
from ...runs.memos import holds, memo
from ...store.contract import Store

LEARNED = "learned"  # namespace: of each resource by its id, that it was learned
_PASSAGE_WORDS = 300  # of a chat's turns that are one passage
# The steps of a passage: implanting it, listing what it teaches of which entities, and implanting
# one such learning. "": any of them.
Step: TypeAlias = Literal["", "implant", "entities", "entity"]


class EntityLearning(Struct, frozen=True):
    """What a section teaches of an entity, and which of its passages do."""

    entity: str
    learning: str
    passages: tuple[str, ...]  # ids
    premises: tuple[tuple[str, str], ...] = ()  # what the passages said


class PendingSteps(Struct, frozen=True, omit_defaults=True, rename={"learnings": "told"}):
    """The steps that are still to be done about a passage."""

    # of the passage's resources: a passage of others has nothing to do with it
    ids: tuple[str, ...] = ()
    premises: dict[str, str] = {}  # what these said
    implant: bool = True
    entities: bool = True
    # learnings that were not implanted
    learnings: tuple[EntityLearning, ...] = ()


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


class LessonSection(Struct, frozen=True):
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
        return tuple(id for passage in self.passages for id in passage.ids)


def unlearned_lessons(store: Store, uris: Collection[str] | None = None) -> list[Lesson]:
    """What was read, in order, but for what was learned before; None: from all sources."""
    learned = {entry.key: entry for entry in store.kv.list(LEARNED)}
    # by source and day; not the resources themselves: there may be very many
    grouped: dict[tuple[str, str], list[tuple[int, str, datetime | None]]] = {}
    for resource in _read_resources(store, uris):
        if not holds(learned.get(resource.id), premises_of([resource])):
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
    return [
        memo(LEARNED, one.id, premises_of([one]), (one.id,), run=run) for one in passage.resources
    ]


def cut_passages(
    store: Store,
    ids: Sequence[str],
    pending: Mapping[str, PendingSteps] = {},
) -> list[LearnPassage]:
    """The passages of these resources, in order; those in `pending` with the steps left to do."""
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
    # a chat may be cut elsewhere than when it failed, or say something else: all is done again
    if steps is None or steps.ids != passage.ids:
        return passage
    if steps.premises and steps.premises != premises_of(passage.resources):
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
    # a document is learned as a whole
    if not resource.speaker or not resource.starts_at:
        return ""
    return resource.starts_at.date().isoformat()


def _order(lesson: Lesson) -> tuple[bool, float, str]:
    at = lesson.at
    return at is None, at.timestamp() if at else 0.0, lesson.uri


def pending_steps(
    resources: Sequence[Resource],
    failed: Collection[tuple[Step, EntityLearning | None]],
) -> PendingSteps:
    """What is left of a passage of these resources when these steps failed."""
    ids, premises = tuple(one.id for one in resources), premises_of(resources)
    steps = {step for step, _ in failed}
    if "" in steps:
        return PendingSteps(ids, premises)
    learnings = dict.fromkeys(learning for _, learning in failed if learning)
    return PendingSteps(
        ids,
        premises,
        implant="implant" in steps,
        entities="entities" in steps,
        learnings=tuple(learnings),
    )


def pending_by_passage(items: Iterable[FailedItem]) -> dict[str, PendingSteps]:
    return {
        item.item: msgspec.convert(item.details["rest"], PendingSteps)
        for item in items
        if "rest" in item.details
    }


def join_learnings(keyed: Iterable[tuple[str, EntityLearning]]) -> dict[str, EntityLearning]:
    """Learnings by the keys of their entities, those of one entity as one."""
    joined: dict[str, EntityLearning] = {}
    for key, learning in keyed:
        known = joined.get(key)
        if known is None:
            joined[key] = learning
        elif learning != known:
            joined[key] = replace(
                known,
                learning=f"{known.learning} {learning.learning}",
                passages=tuple(dict.fromkeys((*known.passages, *learning.passages))),
                premises=tuple(dict(known.premises + learning.premises).items()),
            )
    return joined
