"""The reading cycle's steps (seed 1): what a passage means beside what is known, whom it tells of, and what that adds.

A lesson is taken section by section. All passages of a section are held against the memory as it was before it, so that
their calls can be made at once and the outcome does not depend on which returns first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from .. import labels
from ..errors import LabelError, ModelError
from ..llm import Call, Quote
from ..model import Edge, Entity, Resource
from ..store.contract import JournalEntry
from .implant import Idea, Insight, asking, identity, insight, is_nothing
from .lessons import Passage, learned
from .mind import Mind, quote
from .parked import park, place, reason
from .vectors import matrix

__all__ = ["ABOUT", "SECTION", "Learning", "Thought", "Told", "entities", "entity_implants", "implants", "store"]

SECTION = 16  # passages thought about together at most
ABOUT = "about"  # the edge from an insight to its entity
_RECENT = 12  # insights of an entity among which the nearest are looked for


class Learning(Struct, frozen=True):
    """What a passage teaches of an entity or concept: the form of the model's reply.

    The bounds are part of what is asked for: a small model held to a schema would otherwise go on for ever.
    """

    entity: Annotated[str, Meta(max_length=120)]
    learning: Annotated[str, Meta(max_length=600)]


Learnings: TypeAlias = Annotated[list[Learning], Meta(max_length=12)]


class Told(Struct, frozen=True):
    """What a section teaches of an entity, and which of its passages do."""

    entity: str
    learning: str
    passages: tuple[str, ...]


class Thought(Struct, frozen=True, omit_defaults=True):
    """What became of one question to the model, or why none was put.

    `nothing`: the model said so. `alone`: there is nothing to hold it against yet.
    """

    passages: tuple[str, ...]  # whose it is
    state: Literal["learned", "nothing", "alone", "failed"] = "learned"
    insight: Insight | None = None
    entity: str = ""
    reason: str = ""  # of failing


def implants(mind: Mind, passages: Sequence[Passage], at: datetime | None) -> list[Thought]:
    """How each passage relates to what was known before it."""
    ideas = [
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
    replies = iter(mind.ask_all([asking(idea) for idea in ideas if idea.neighbours]))
    return [
        _thought(passage.ids[:1], idea, next(replies)) if idea.neighbours else Thought(passage.ids[:1], "alone")
        for passage, idea in zip(passages, ideas, strict=True)
    ]


def entities(mind: Mind, passages: Sequence[Passage]) -> tuple[list[Told], list[Thought]]:
    """What the passages teach of whom, each entity once; and the passages of which the model did not tell."""
    calls = [
        Call("entities", {"passage": _quote(passage)}, returns=Learnings, subjects=passage.ids) for passage in passages
    ]
    told: dict[str, Told] = {}
    failed = []
    for passage, reply in zip(passages, mind.ask_all(calls), strict=True):
        if isinstance(reply, ModelError):
            failed.append(Thought(passage.ids[:1], "failed", reason=reason(reply)))
            continue
        for key, learning in _useful(reply):
            known = told.get(key)
            told[key] = (
                replace(known, learning=f"{known.learning} {learning.learning}", passages=(*known.passages, passage.id))
                if known
                else Told(learning.entity, learning.learning, (passage.id,))
            )
    return _by_their_names(mind, told), failed


def entity_implants(
    mind: Mind, passages: Sequence[Passage], queue: Sequence[Told], at: datetime | None
) -> list[Thought]:
    """What each learning adds to what was known of its entity. The first one of an entity stands as it is."""
    by_id = {passage.id: passage for passage in passages}
    ideas = []
    for told in queue:
        parents = tuple(resource for id in told.passages if id in by_id for resource in by_id[id].resources)
        ideas.append(Idea(told.learning, parents, tuple(_known_of(mind, told, at))))
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
        replace(_thought(told.passages, idea, next(replies) if idea.neighbours else idea.text), entity=told.entity)
        for told, idea in zip(queue, ideas, strict=True)
        if idea.parents
    ]


def store(
    mind: Mind, uri: str, passages: Sequence[Passage], thoughts: Sequence[Thought], also: Sequence[JournalEntry] = ()
) -> list[str]:
    """Write what was thought about passages, and that they were learned, in one transaction; names of the insights.

    A passage with a failed call is parked with the reason; what else came of it is kept. `also` is noted with it.
    """
    by_id = {passage.id: passage for passage in passages}
    failures = {id: thought.reason for thought in thoughts if thought.state == "failed" for id in thought.passages}
    records: list[Resource] = []
    edges: list[Edge] = []
    for thought in thoughts:
        if thought.insight is not None:
            record = _record(mind, by_id[thought.passages[0]], thought, thought.insight)
            records.append(record)
            if thought.entity:
                about = {"dst_name": thought.entity}
                edges.append(Edge(src=record.name, rel_type=ABOUT, dst=thought.entity, weight=0.8, properties=about))
    notes: list[JournalEntry] = [*also]
    struck: list[tuple[str, str]] = []
    for passage in passages:
        if passage.id in failures:
            notes.append(
                park(
                    mind.store,
                    "learn",
                    passage.id,
                    failures[passage.id],
                    passage.ids,
                    name=passage.name,
                    details={"uri": uri},
                )
            )
        else:
            notes += learned(passage, mind.writer.run.id)
            struck.append(place("learn", passage.id))
    mind.writer.count(
        passages=len(passages) - len(failures),
        parked=len(failures),
        nothing=sum(thought.state == "nothing" for thought in thoughts),
        synthesis=sum(not record.metadata.get("entity") for record in records),
        entity_insight=sum(bool(record.metadata.get("entity")) for record in records),
    )
    mind.writer.write(records, edges, journal=notes, struck=struck)
    return [record.name for record in records]


def _thought(passages: Sequence[str], idea: Idea, reply: Any) -> Thought:
    if isinstance(reply, ModelError):
        return Thought(tuple(passages), "failed", reason=reason(reply))
    found = insight(idea, reply)
    return Thought(tuple(passages), "learned" if found else "nothing", found)


def _record(mind: Mind, passage: Passage, thought: Thought, found: Insight) -> Resource:
    metadata: dict[str, Any] = {"years": list(found.years)}
    if thought.entity:
        metadata["entity"] = thought.entity
        id = identity(mind.tenant, "insight", labels.key(thought.entity), *thought.passages)
    else:
        id = _synthesis_id(mind, passage)
    return Resource(
        id=id,
        name=f"{thought.entity}, from {passage.name}" if thought.entity else f"Synthesis of {passage.name}",
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


def _synthesis_id(mind: Mind, passage: Passage) -> str:
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


def _by_their_names(mind: Mind, told: dict[str, Told]) -> list[Told]:
    """The learnings under the names that the memory knows their entities by, where these are known by another one."""
    known = mind.store.lookup(list(told), edges=0) if told else {}
    found: dict[str, Told] = {}
    for key, item in told.items():
        name = next(
            (record.name for record in known[key] if isinstance(record, Entity) and not record.thin), item.entity
        )
        same = found.get(labels.key(name))
        found[labels.key(name)] = (
            replace(
                same,
                learning=f"{same.learning} {item.learning}",
                passages=tuple(dict.fromkeys((*same.passages, *item.passages))),
            )
            if same
            else replace(item, entity=name)
        )
    return list(found.values())


def _known_of(mind: Mind, told: Told, at: datetime | None) -> list[Resource]:
    """The insights about an entity that are most like what was learned now, from before."""
    if ABOUT not in mind.store.rel_types():
        return []
    edges = mind.store.edge_keys([labels.key(told.entity)], direction="in", rel_types=[ABOUT], limit=_RECENT)
    if not edges:
        return []
    own = identity(mind.tenant, "insight", labels.key(told.entity), *told.passages)
    found = {
        record.id: record
        for records in mind.store.lookup([src for src, _, _ in edges], edges=0).values()
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


def _most_like(mind: Mind, text: str, records: Sequence[Resource]) -> list[Resource]:
    import numpy as np

    query = np.asarray(mind.embed_query(text), np.float32)
    scores = matrix(mind.store, [record.id for record in records]) @ query
    ranked = sorted(zip(scores.tolist(), records, strict=True), key=lambda pair: (-pair[0], pair[1].id))
    return [record for _, record in ranked[: mind.limits.about_entity]]
