"""The steps of reading (seed 1): implant a passage, list what it teaches of which entities, implant
each of these learnings.

All passages of a section are compared with the memory as it was before the section, so that their
calls run at once and the outcome does not depend on which returns first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ... import labels
from ...errors import CutOffError, FullReplyError, ModelError
from ...llm import Call, Quote
from ...llm.prompts import hint
from ...model import Entity, Record, Resource
from ...model.premises import premises_of
from ...runs.failures import describe_failure
from ...store.contract import Store
from ...store.specs import EdgeSpec
from ...text.sentences import middle
from ..context import ENTITY_NEIGHBOURS, DreamContext, fresh, quote_resource
from ..synthesis import Idea, is_word_nothing, parse_insight, synthesis_call
from ..vectors import matrix
from .lessons import EntityLearning, LearnPassage, LessonSection, Step, join_learnings
from .outcomes import ABOUT, StepOutcome, entity_insight_id, synthesis_id

_RECENT = 12  # insights of an entity among which the nearest are looked for


class Learning(Struct, frozen=True):
    """What a passage teaches of an entity or concept."""

    # what the model is asked for; longer words are taken, too
    entity: Annotated[str, hint(maxLength=80)]
    learning: Annotated[str, hint(maxLength=400)]


Learnings: TypeAlias = list[Learning]


def implant_passages(
    context: DreamContext, section: LessonSection
) -> tuple[list[StepOutcome], list[EntityLearning]]:
    """Ask how each passage relates to what was known before it, and what it teaches of entities.

    Returns: the outcomes (of listing entities, only failures), and the learnings, each entity once.
    """
    to_implant = [passage for passage in section.passages if passage.pending.implant]
    to_list = [passage for passage in section.passages if passage.pending.entities]
    ideas = [_idea(context, passage, section.at) for passage in to_implant]
    implant_calls = [synthesis_call(idea) for idea in ideas if idea.neighbours]
    list_calls = [entities_call(passage, passage.text) for passage in to_list]

    # all of them in flight at once
    replies = context.ask_all([*implant_calls, *list_calls])

    outcomes = _passage_outcomes(to_implant, ideas, replies[: len(implant_calls)])
    answered = _answered(context, to_list, replies[len(implant_calls) :])
    listed, failed = _parse_learnings(answered)
    # those that an earlier run listed, but failed to implant, come first
    waiting = [
        (labels.key(learning.entity), learning)
        for passage in section.passages
        for learning in passage.pending.learnings
    ]
    learnings = join_learnings([*waiting, *listed])
    return [*outcomes, *failed], _by_known_names(context.store, learnings)


def implant_learnings(
    context: DreamContext, section: LessonSection, learnings: Sequence[EntityLearning]
) -> list[StepOutcome]:
    """Ask what each learning adds to what was known of its entity.

    The first learning of an entity is its first insight, as it stands.
    """
    by_id = {passage.id: passage for passage in section.passages}
    ideas: list[Idea] = []
    known = _known_of_entities(context, learnings, section.at)
    for learning, neighbours in zip(learnings, known, strict=True):
        sources = [by_id[id] for id in learning.passages if id in by_id]
        parents = tuple(resource for passage in sources for resource in passage.resources)
        own = {resource.id for resource in parents}
        premises = tuple(pair for pair in learning.premises if pair[0] in own)
        ideas.append(Idea(learning.learning, parents, tuple(neighbours), premises))
    pairs = [(one, idea) for one, idea in zip(learnings, ideas, strict=True) if idea.neighbours]
    replies = iter(context.ask_all([_learning_call(one, idea) for one, idea in pairs]))
    outcomes = []
    for learning, idea in zip(learnings, ideas, strict=True):
        reply = next(replies) if idea.neighbours else idea.text
        # all of its passages were forgotten meanwhile
        if not idea.parents:
            continue
        outcome = _outcome(learning.passages, idea, reply, "entity")
        failed = outcome.state == "failed"
        outcomes.append(
            replace(outcome, entity=learning.entity, learning=learning if failed else None)
        )
    return outcomes


def _idea(context: DreamContext, passage: LearnPassage, at: datetime | None) -> Idea:
    """A passage, and what was known before it that is like it, but from its own document."""
    neighbours = context.find_similar(
        passage.text,
        until=at,
        # its synthesis may be there, of an interrupted run
        exclude={*passage.ids, synthesis_id(context, passage)},
        exclude_uri=passage.resources[0].uri,
        vector_of=passage.id if len(passage.ids) == 1 else "",
    )
    return Idea(passage.text, passage.resources, tuple(neighbours))


def _passage_outcomes(
    passages: Sequence[LearnPassage],
    ideas: Sequence[Idea],
    answers: Iterable[Any],
) -> list[StepOutcome]:
    replies = iter(answers)
    outcomes = []
    for passage, idea in zip(passages, ideas, strict=True):
        if idea.neighbours:
            outcomes.append(_outcome(passage.ids[:1], idea, next(replies), "implant"))
        else:
            outcomes.append(StepOutcome(passage.ids[:1], "alone"))
    return outcomes


def _outcome(passages: Sequence[str], idea: Idea, reply: Any, step: Step) -> StepOutcome:
    if isinstance(reply, ModelError):
        return StepOutcome(
            tuple(passages),
            "failed",
            reason=describe_failure(reply),
            step=step,
            seen=tuple(resource.id for resource in idea.sources),
        )
    insight = parse_insight(idea, reply)
    return StepOutcome(tuple(passages), "learned" if insight else "nothing", insight)


def entities_call(passage: LearnPassage, text: str) -> Call:
    quoted: Quote = replace(quote_resource(passage.resources[0]), text=text)
    slots = {"passage": quoted}
    return Call("entities", slots, returns=Learnings, subjects=passage.ids, lists_all=True)


def _answered(
    context: DreamContext, passages: Sequence[LearnPassage], replies: Sequence[Any]
) -> list[tuple[LearnPassage, Any]]:
    """The replies about passages. A text that teaches more than a reply may list is asked about in
    halves, down to a sentence."""
    answered: list[tuple[LearnPassage, Any]] = []
    waiting = [(passage, passage.text) for passage in passages]
    while waiting:
        again: list[tuple[LearnPassage, str]] = []
        for (passage, text), reply in zip(waiting, replies, strict=True):
            cut = middle(text) if isinstance(reply, FullReplyError | CutOffError) else 0
            if cut:
                again += [(passage, text[:cut]), (passage, text[cut:])]
            else:
                answered.append((passage, reply))
        waiting = again
        replies = context.ask_all([entities_call(*one) for one in waiting])
    return answered


def _parse_learnings(
    answered: Iterable[tuple[LearnPassage, Any]],
) -> tuple[list[tuple[str, EntityLearning]], list[StepOutcome]]:
    """The learnings in the replies, by the keys of their entities; and the calls that failed."""
    learnings, failed = [], []
    for passage, reply in answered:
        if isinstance(reply, ModelError):
            reason = describe_failure(reply)
            failed.append(StepOutcome(passage.ids[:1], "failed", reason=reason, step="entities"))
        listed = getattr(reply, "items", ()) if isinstance(reply, ModelError) else reply
        for key, learning in usable_learnings(listed).items():
            learnings.append((key, _of_passage(learning, passage)))
    return learnings, failed


def usable_learnings(learnings: Iterable[Learning]) -> dict[str, Learning]:
    """The learnings that name and say something, by key; of each name the first."""
    usable: dict[str, Learning] = {}
    for learning in learnings:
        name = " ".join(learning.entity.split())
        text, key = learning.learning.strip(), labels.try_key(name)
        if key and not is_word_nothing(text) and key not in usable:
            usable[key] = Learning(name, text)
    return usable


def by_known_names(
    store: Store, listed: Mapping[str, Learning], passage: LearnPassage
) -> list[EntityLearning]:
    """What a passage teaches, under the names that memory knows its entities by."""
    learnings = {key: _of_passage(learning, passage) for key, learning in listed.items()}
    return _by_known_names(store, learnings)


def _of_passage(learning: Learning, passage: LearnPassage) -> EntityLearning:
    premises = tuple(premises_of(passage.resources).items())
    return EntityLearning(learning.entity, learning.learning, (passage.id,), premises)


def _by_known_names(
    store: Store,
    learnings: dict[str, EntityLearning],
) -> list[EntityLearning]:
    """The learnings under the names that memory knows their entities by: it may know an alias."""
    records_by_key = store.records.lookup(list(learnings), edges=0) if learnings else {}
    renamed = []
    for key, learning in learnings.items():
        entities = [record for record in records_by_key[key] if isinstance(record, Entity)]
        names = [entity.name for entity in entities if not entity.thin]
        name = names[0] if names else learning.entity
        renamed.append((labels.key(name), replace(learning, entity=name)))
    return list(join_learnings(renamed).values())


def _learning_call(learning: EntityLearning, idea: Idea) -> Call:
    return synthesis_call(
        idea,
        task="entity_synthesis",
        slots={
            "entity": learning.entity,
            "learning": idea.text,
            "entity_neighbors": [quote_resource(resource) for resource in idea.neighbours],
        },
    )


def _known_of_entities(
    context: DreamContext,
    learnings: Sequence[EntityLearning],
    at: datetime | None,
) -> list[list[Resource]]:
    """For each learning the insights about its entity that are most like it, from before."""
    store = context.store
    with store.snapshot():
        if not learnings or ABOUT not in store.graph.edge_types():
            return [[] for _ in learnings]
        sources = []
        for learning in learnings:
            key = labels.key(learning.entity)
            edges = store.graph.edge_keys(
                EdgeSpec([key], direction="in", rel_types=[ABOUT], limit=_RECENT)
            )
            sources.append([src for src, _, _ in edges])
        every = [src for group in sources for src in group]
        records_by_key = store.records.lookup(every, edges=0)
    known = []
    for learning, group in zip(learnings, sources, strict=True):
        records = [record for src in group for record in records_by_key[src]]
        known.append(_nearest_insights(context, learning, at, records))
    return known


def _nearest_insights(
    context: DreamContext,
    learning: EntityLearning,
    at: datetime | None,
    records: Iterable[Record],
) -> list[Resource]:
    # it may be there, of an interrupted run
    own = entity_insight_id(context, learning.entity, learning.passages)
    resources = [record for record in records if isinstance(record, Resource)]
    insights = {
        record.id: record
        for record in fresh(context.store, resources)
        if record.id != own and _is_known_insight(record, context.depth, at)
    }
    if len(insights) <= ENTITY_NEIGHBOURS:
        return sorted(insights.values(), key=lambda record: record.id)
    return _most_similar(context, learning.learning, list(insights.values()))


def _is_known_insight(record: Resource, depth: int, at: datetime | None) -> bool:
    if record.kind != "entity_insight" or not record.content or record.generation >= depth:
        return False
    return at is None or record.starts_at is None or record.starts_at <= at


def _most_similar(context: DreamContext, text: str, records: Sequence[Resource]) -> list[Resource]:
    import numpy as np

    query = np.asarray(context.embed_query(text), np.float32)
    scores = matrix(context.store, [record.id for record in records]) @ query
    by_id = dict(zip((record.id for record in records), scores.tolist(), strict=True))
    ranked = sorted(records, key=lambda record: (-by_id[record.id], record.id))
    return ranked[:ENTITY_NEIGHBOURS]
