"""The reading cycle's steps (seed 1): what a passage means beside what is known, whom it tells of,
and what that adds.

A lesson is taken section by section. All passages of a section are held against the memory as it
was before it, so that their calls can be made at once and the outcome does not depend on which
returns first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ... import labels
from ...errors import GoneError, LabelError, ModelError
from ...llm import Call, Quote
from ...model import Edge, Entity, Record, Resource
from ...runs.failures import describe_failure, failed_item_entry, failed_item_key
from ...store.contract import JournalEntry
from ..context import DreamContext, quote
from ..synthesis import Idea, Insight, asking, identity, insight, is_nothing
from ..vectors import matrix
from .pending import EntityLearning, Step, joined, left
from .units import Passage, learned

__all__ = [
    "ABOUT",
    "SECTION",
    "Learning",
    "StepOutcome",
    "entities",
    "entity_implants",
    "implants",
    "implants_and_entities",
    "store",
]

SECTION = 16  # passages thought about together at most
ABOUT = "about"  # the edge from an insight to its entity
_RECENT = 12  # insights of an entity among which the nearest are looked for


class Learning(Struct, frozen=True):
    """What a passage teaches of an entity or concept."""

    # asked for; what is longer is taken, too
    entity: Annotated[str, Meta(extra_json_schema={"maxLength": 80})]
    learning: Annotated[str, Meta(extra_json_schema={"maxLength": 400})]


Learnings: TypeAlias = list[Learning]


class StepOutcome(Struct, frozen=True, omit_defaults=True):
    """What became of one question to the model, or why none was put.

    `nothing`: the model said so. `alone`: there is nothing to hold it against yet.
    """

    passages: tuple[str, ...]  # whose it is
    state: Literal["learned", "nothing", "alone", "failed"] = "learned"
    insight: Insight | None = None
    entity: str = ""
    reason: str = ""  # of failing
    step: Step = ""  # that failed
    # ids of what the model was told then, and may have quoted in its refusal
    seen: tuple[str, ...] = ()
    told: EntityLearning | None = None  # that was not held against what is known of its entity


def implants(
    mind: DreamContext, passages: Sequence[Passage], at: datetime | None
) -> list[StepOutcome]:
    """How each passage relates to what was known before it."""
    some = _unimplanted(passages)
    ideas = _ideas(mind, some, at)
    return _thoughts(some, ideas, mind.ask_all(_implanting(ideas)))


def entities(
    mind: DreamContext, passages: Sequence[Passage]
) -> tuple[list[EntityLearning], list[StepOutcome]]:
    """What the passages teach of whom, each entity once; and the passages of which the model did
    not tell."""
    return _told(mind, passages, mind.ask_all(_telling(_untold(passages))))


def implants_and_entities(
    mind: DreamContext, passages: Sequence[Passage], at: datetime | None
) -> tuple[list[StepOutcome], list[EntityLearning], list[StepOutcome]]:
    """Both, their calls at once."""
    some = _unimplanted(passages)
    ideas = _ideas(mind, some, at)
    asked = _implanting(ideas)
    replies = mind.ask_all([*asked, *_telling(_untold(passages))])
    return _thoughts(some, ideas, replies[: len(asked)]), *_told(
        mind, passages, replies[len(asked) :]
    )


def entity_implants(
    mind: DreamContext,
    passages: Sequence[Passage],
    queue: Sequence[EntityLearning],
    at: datetime | None,
) -> list[StepOutcome]:
    """What each learning adds to what was known of its entity. The first one of an entity stands as
    it is."""
    by_id = {passage.id: passage for passage in passages}
    ideas = []
    for told, known in zip(queue, _known_of(mind, queue, at), strict=True):
        parents = tuple(
            resource for id in told.passages if id in by_id for resource in by_id[id].resources
        )
        ideas.append(Idea(told.learning, parents, tuple(known)))
    replies = iter(
        mind.ask_all(
            [
                asking(
                    idea,
                    task="entity_synthesis",
                    slots={
                        "entity": told.entity,
                        "learning": idea.text,
                        "entity_neighbors": [quote(near) for near in idea.neighbours],
                    },
                )
                for told, idea in zip(queue, ideas, strict=True)
                if idea.neighbours
            ]
        )
    )
    return [
        _thought_of(
            told,
            _thought(
                told.passages, idea, next(replies) if idea.neighbours else idea.text, "entity"
            ),
        )
        for told, idea in zip(queue, ideas, strict=True)
        if idea.parents
    ]


def store(
    mind: DreamContext,
    uri: str,
    passages: Sequence[Passage],
    thoughts: Sequence[StepOutcome],
    also: Sequence[JournalEntry] = (),
) -> list[str]:
    """Write what was thought about passages, and that they were learned, in one transaction; names
    of the insights.

    A passage with a failed call is parked with the reason; what else came of it is kept. `also` is
    noted with it.
    """
    known = {passage.id for passage in passages}
    if forgotten := {id for thought in thoughts for id in thought.passages} - known:
        passages, thoughts = _without(forgotten, passages, thoughts)
    try:
        return _store(mind, uri, passages, thoughts, also)
    except GoneError as error:
        return store(mind, uri, *_without(set(error.fields["ids"]), passages, thoughts), also)


def _without(
    forgotten: Collection[str], passages: Sequence[Passage], thoughts: Sequence[StepOutcome]
) -> tuple[list[Passage], list[StepOutcome]]:
    """What is left when records were forgotten while they were thought about. What rested on them
    is to be thought again."""
    left = [passage for passage in passages if not {*passage.ids} & {*forgotten}]
    known = {passage.id for passage in left}
    found = []
    for thought in thoughts:
        own = tuple(id for id in thought.passages if id in known)
        rested = (
            (*thought.insight.parents,)
            if thought.insight
            else (*thought.told.passages,)
            if thought.told
            else ()
        )
        if own and {*rested, *thought.seen} & {*forgotten}:
            found.append(
                StepOutcome(own, "failed", reason="what it rests on was forgotten meanwhile")
            )
        elif own:
            found.append(replace(thought, passages=own))
    return left, found


def _store(
    mind: DreamContext,
    uri: str,
    passages: Sequence[Passage],
    thoughts: Sequence[StepOutcome],
    also: Sequence[JournalEntry],
) -> list[str]:
    by_id = {passage.id: passage for passage in passages}
    failures: dict[str, list[StepOutcome]] = {}
    for thought in thoughts:
        for id in thought.passages if thought.state == "failed" else ():
            failures.setdefault(id, []).append(thought)
    records: list[Resource] = []
    edges: list[Edge] = []
    for thought in thoughts:
        if thought.insight is not None:
            record = _record(mind, by_id[thought.passages[0]], thought, thought.insight)
            records.append(record)
            if thought.entity:
                about = {"dst_name": thought.entity}
                edges.append(
                    Edge(
                        src=record.name,
                        rel_type=ABOUT,
                        dst=thought.entity,
                        weight=0.8,
                        properties=about,
                    )
                )
    notes: list[JournalEntry] = [*also]
    struck: list[tuple[str, str]] = []
    for passage in passages:
        if passage.id in failures:
            failed = failures[passage.id]
            rest = left(passage.ids, [(thought.step, thought.told) for thought in failed])
            told_by = (id for told in rest.told for id in told.passages)
            seen = (id for thought in failed for id in thought.seen)
            notes.append(
                failed_item_entry(
                    mind.store,
                    "learn",
                    passage.id,
                    failed[-1].reason,
                    tuple(
                        dict.fromkeys(
                            (*passage.ids, *(id for by in told_by for id in _ids(by_id, by)), *seen)
                        )
                    ),
                    name=passage.name,
                    details={"uri": uri, "rest": msgspec.to_builtins(rest)},
                    run_id=mind.writer.id,
                )
            )
        else:
            notes += learned(passage, mind.writer.id)
            struck.append(failed_item_key("learn", passage.id))
    counts = {
        "passages": len(passages) - len(failures),
        "nothing": sum(thought.state == "nothing" for thought in thoughts),
        "synthesis": sum(not record.metadata.get("entity") for record in records),
        "entity_insight": sum(bool(record.metadata.get("entity")) for record in records),
    }
    mind.writer.count(**counts)
    try:
        mind.writer.write(records, edges, entries=notes, deleted=struck)
    except GoneError:
        mind.writer.count(**{name: -number for name, number in counts.items()})
        raise
    return [record.name for record in records]


def _ids(by_id: Mapping[str, Passage], id: str) -> tuple[str, ...]:
    """Of the resources of a passage."""
    return by_id[id].ids if id in by_id else (id,)


def _ideas(mind: DreamContext, passages: Sequence[Passage], at: datetime | None) -> list[Idea]:
    """Each passage, and what was known before it that is like it."""
    return [
        Idea(
            passage.text,
            passage.resources,
            tuple(
                mind.near(
                    passage.text,
                    until=at,
                    without={*passage.ids, _synthesis_id(mind, passage)},
                    outside=passage.resources[0].uri,
                    of=passage.id if len(passage.ids) == 1 else "",
                )
            ),
        )
        for passage in passages
    ]


def _unimplanted(passages: Sequence[Passage]) -> list[Passage]:
    return [passage for passage in passages if passage.rest.implant]


def _untold(passages: Sequence[Passage]) -> list[Passage]:
    return [passage for passage in passages if passage.rest.entities]


def _implanting(ideas: Iterable[Idea]) -> list[Call]:
    return [asking(idea) for idea in ideas if idea.neighbours]


def _thoughts(
    passages: Sequence[Passage], ideas: Sequence[Idea], answers: Iterable[Any]
) -> list[StepOutcome]:
    replies = iter(answers)
    return [
        _thought(passage.ids[:1], idea, next(replies), "implant")
        if idea.neighbours
        else StepOutcome(passage.ids[:1], "alone")
        for passage, idea in zip(passages, ideas, strict=True)
    ]


def _telling(passages: Iterable[Passage]) -> list[Call]:
    return [
        Call("entities", {"passage": _quote(passage)}, returns=Learnings, subjects=passage.ids)
        for passage in passages
    ]


def _told(
    mind: DreamContext, passages: Sequence[Passage], replies: Iterable[Any]
) -> tuple[list[EntityLearning], list[StepOutcome]]:
    told = [(labels.key(item.entity), item) for passage in passages for item in passage.rest.told]
    failed = []
    for passage, reply in zip(_untold(passages), replies, strict=True):
        if isinstance(reply, ModelError):
            failed.append(
                StepOutcome(
                    passage.ids[:1], "failed", reason=describe_failure(reply), step="entities"
                )
            )
            continue
        told += [
            (key, EntityLearning(learning.entity, learning.learning, (passage.id,)))
            for key, learning in _useful(reply)
        ]
    return _by_their_names(mind, joined(told)), failed


def _thought(passages: Sequence[str], idea: Idea, reply: Any, step: Step) -> StepOutcome:
    if isinstance(reply, ModelError):
        seen = tuple(resource.id for resource in idea.sources)
        return StepOutcome(
            tuple(passages), "failed", reason=describe_failure(reply), step=step, seen=seen
        )
    found = insight(idea, reply)
    return StepOutcome(tuple(passages), "learned" if found else "nothing", found)


def _thought_of(told: EntityLearning, thought: StepOutcome) -> StepOutcome:
    return replace(thought, entity=told.entity, told=told if thought.state == "failed" else None)


def _record(mind: DreamContext, passage: Passage, thought: StepOutcome, found: Insight) -> Resource:
    metadata: dict[str, Any] = {"years": list(found.years)}
    if thought.entity:
        metadata["entity"] = thought.entity
        id = identity(mind.tenant, "insight", labels.key(thought.entity), *thought.passages)
    else:
        id = _synthesis_id(mind, passage)
    return Resource(
        id=id,
        name=f"{thought.entity}, from {passage.name}"
        if thought.entity
        else f"Synthesis of {passage.name}",
        content=found.text,
        category="insight",
        kind="entity_insight" if thought.entity else "synthesis",
        trust="derived",
        generation=found.generation,
        parents=found.parents,
        starts_at=found.at,
        related_entities=(thought.entity,) if thought.entity else (),
        metadata=metadata,
    )


def _synthesis_id(mind: DreamContext, passage: Passage) -> str:
    return identity(mind.tenant, "synthesis", *passage.ids)


def _quote(passage: Passage) -> Quote:
    return replace(quote(passage.resources[0]), text=passage.text)


def _useful(learnings: Iterable[Learning]) -> list[tuple[str, Learning]]:
    """The learnings that name something and say something, by key, each name once, the first ones."""
    found: dict[str, Learning] = {}
    for learning in learnings:
        name, said = " ".join(learning.entity.split()), learning.learning.strip()
        try:
            key = labels.key(name)
        except LabelError:
            continue
        if not is_nothing(said) and key not in found:
            found[key] = Learning(name, said)
    return list(found.items())


def _by_their_names(mind: DreamContext, told: dict[str, EntityLearning]) -> list[EntityLearning]:
    """The learnings under the names that the memory knows their entities by, where these are known
    by another one."""
    known = mind.store.lookup(list(told), edges=0) if told else {}
    named = []
    for key, item in told.items():
        entities = (
            record.name for record in known[key] if isinstance(record, Entity) and not record.thin
        )
        name = next(entities, item.entity)
        named.append((labels.key(name), replace(item, entity=name)))
    return list(joined(named).values())


def _known_of(
    mind: DreamContext, queue: Sequence[EntityLearning], at: datetime | None
) -> list[list[Resource]]:
    """For each entity the insights about it that are most like what was learned now, from before."""
    with mind.store.snapshot():
        if not queue or ABOUT not in mind.store.rel_types():
            return [[] for _ in queue]
        sources = []
        for told in queue:
            key = labels.key(told.entity)
            edges = mind.store.edge_keys([key], direction="in", rel_types=[ABOUT], limit=_RECENT)
            sources.append([src for src, _, _ in edges])
        named = mind.store.lookup([src for some in sources for src in some], edges=0)
    return [
        _nearest(mind, told, at, [named[src] for src in some])
        for told, some in zip(queue, sources, strict=True)
    ]


def _nearest(
    mind: DreamContext, told: EntityLearning, at: datetime | None, named: Sequence[Sequence[Record]]
) -> list[Resource]:
    own = identity(mind.tenant, "insight", labels.key(told.entity), *told.passages)
    found = {
        record.id: record
        for records in named
        for record in records
        if isinstance(record, Resource)
        and record.kind == "entity_insight"
        and record.content
        and record.generation < mind.limits.depth
        and record.id != own
        and (at is None or record.starts_at is None or record.starts_at <= at)
    }
    if len(found) <= mind.limits.about_entity:
        return sorted(found.values(), key=lambda record: record.id)
    return _most_like(mind, told.learning, list(found.values()))


def _most_like(mind: DreamContext, text: str, records: Sequence[Resource]) -> list[Resource]:
    import numpy as np

    query = np.asarray(mind.embed_query(text), np.float32)
    scores = matrix(mind.store, [record.id for record in records]) @ query
    ranked = sorted(
        zip(scores.tolist(), records, strict=True), key=lambda pair: (-pair[0], pair[1].id)
    )
    return [record for _, record in ranked[: mind.limits.about_entity]]
