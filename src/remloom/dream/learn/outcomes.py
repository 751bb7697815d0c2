"""Writing what came of a section: insights, failures, and that its passages were learned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ... import labels
from ...errors import GoneError
from ...kv import Entry, label_ref
from ...model import Edge, Resource
from ...runs.failures import failed_item_entry, failed_item_key
from ...store.contract import Store
from ..context import DreamContext
from ..synthesis import Insight, derived_id, in_place_of
from .lessons import (
    EntityLearning,
    LearnPassage,
    LessonSection,
    Step,
    learned_entries,
    pending_steps,
)

RUN_KIND = "learn"
ABOUT = "about"  # the edge from an insight to its entity
_ABOUT_WEIGHT = 0.8


class StepOutcome(Struct, frozen=True):
    """What became of one step.

    "nothing": the model said that there is nothing new. "alone": nothing is known yet to compare
    the passage with, so the model was not asked.
    """

    passages: tuple[str, ...]  # ids of the passages that it is about
    state: Literal["learned", "nothing", "alone", "failed"] = "learned"
    insight: Insight | None = None
    entity: str = ""
    # of a step that failed:
    reason: str = ""
    step: Step = ""
    # ids of what the model was shown, and may quote when it refuses
    seen: tuple[str, ...] = ()
    learning: EntityLearning | None = None  # that was not implanted

    @property
    def rests_on(self) -> set[str]:
        """The records and labels, as `WritePart.names`, without which it means nothing."""
        ids = set(self.seen)
        if self.entity:
            ids.add(label_ref(labels.key(self.entity)))
        if self.insight:
            ids.update(self.insight.parents)
        elif self.learning:
            ids.update(self.learning.passages)
        return ids


def write_outcomes(
    context: DreamContext,
    section: LessonSection,
    outcomes: Sequence[StepOutcome],
    entries: Sequence[Entry],
) -> None:
    """Write the outcomes of a section, entries, and that its passages were learned, in one
    transaction.

    A passage with a failed step waits for the next run; what else came of it is kept.
    """
    passages: Sequence[LearnPassage] = section.passages
    known = {passage.id for passage in passages}
    forgotten = {id for outcome in outcomes for id in outcome.passages} - known
    if forgotten:
        passages, outcomes = _without(forgotten, passages, outcomes)
    passages, outcomes = list(passages), list(outcomes)
    while True:
        try:
            _write(context, section.uri, passages, outcomes, entries)
        except GoneError as error:
            # records were forgotten since the model was asked about them
            gone = set(error.fields["names"])
            left = _without(gone, passages, outcomes)
            if left == (passages, outcomes):
                # an insight of before, by its own id or name: to be thought of again
                left = passages, [_undone(outcome.passages) for outcome in outcomes]
            passages, outcomes = left
        else:
            return


def synthesis_id(context: DreamContext, passage: LearnPassage) -> str:
    return derived_id(context.tenant, "synthesis", *passage.ids)


def entity_insight_id(context: DreamContext, entity: str, passage_ids: Sequence[str]) -> str:
    return derived_id(context.tenant, "insight", labels.key(entity), *passage_ids)


def _without(
    forgotten: Collection[str],
    passages: Sequence[LearnPassage],
    outcomes: Sequence[StepOutcome],
) -> tuple[list[LearnPassage], list[StepOutcome]]:
    """What is left without forgotten records. A step that rested on them is to be done again."""
    gone = set(forgotten)
    kept = [passage for passage in passages if gone.isdisjoint(passage.ids)]
    known = {passage.id for passage in kept}
    left = []
    for outcome in outcomes:
        ids = tuple(id for id in outcome.passages if id in known)
        if not ids:
            continue
        if gone.isdisjoint(outcome.rests_on):
            left.append(replace(outcome, passages=ids))
        else:
            left.append(_undone(ids))
    return kept, left


def _undone(passages: tuple[str, ...]) -> StepOutcome:
    return StepOutcome(passages, "failed", reason="what it rests on was forgotten meanwhile")


def _write(
    context: DreamContext,
    uri: str,
    passages: Sequence[LearnPassage],
    outcomes: Sequence[StepOutcome],
    entries: Sequence[Entry],
) -> None:
    by_id = {passage.id: passage for passage in passages}
    failures: dict[str, list[StepOutcome]] = {}
    for outcome in outcomes:
        if outcome.state == "failed":
            for id in outcome.passages:
                failures.setdefault(id, []).append(outcome)
    records, edges, outdated = _insights(context, by_id, outcomes)
    written = [*entries]
    deleted = []
    for passage in passages:
        if passage.id in failures:
            written.append(_failure(context, uri, by_id, passage, failures[passage.id]))
        else:
            written += learned_entries(passage, context.writer.id)
            deleted.append(failed_item_key(RUN_KIND, passage.id))
    of_entities = sum(1 for record in records if record.metadata.get("entity"))
    counts = {
        "passages": len(passages) - len(failures),
        "nothing": sum(outcome.state == "nothing" for outcome in outcomes),
        "synthesis": len(records) - of_entities,
        "entity_insight": of_entities,
    }
    rests_on = {id for outcome in outcomes for id in outcome.rests_on}
    context.writer.write(
        rests_on,
        records,
        edges,
        outdated=outdated,
        entries=written,
        deleted=deleted,
        counts=counts,
    )


def _insights(
    context: DreamContext,
    by_id: Mapping[str, LearnPassage],
    outcomes: Sequence[StepOutcome],
) -> tuple[list[Resource], list[Edge], dict[str, str]]:
    """The insights, their edges, and the ids of those of before that they take the place of."""
    records, edges = [], []
    outdated: dict[str, str] = {}
    for outcome in outcomes:
        if outcome.insight is None:
            continue
        record = _record(context, by_id[outcome.passages[0]], outcome, outcome.insight)
        former = former_insights(context.store, record, outcome.passages)
        record, others = in_place_of(context.tenant, record, former)
        outdated |= others
        records.append(record)
        if outcome.entity:
            edge = Edge(
                src=record.name,
                rel_type=ABOUT,
                dst=outcome.entity,
                weight=_ABOUT_WEIGHT,
                properties={"dst_name": outcome.entity},
            )
            edges.append(edge)
    return records, edges, outdated


def former_insights(store: Store, record: Resource, passages: Iterable[str]) -> list[Resource]:
    """What the step that made a record made of the same passages when they said something else."""
    ids = dict.fromkeys(
        (record.id, *(id for one in passages for id in store.records.children(one)))
    )
    stored = (store.records.get("resources", id) for id in ids)
    return [
        one
        for one in stored
        if isinstance(one, Resource)
        and (one.kind, one.name) == (record.kind, record.name)
        and one.premises != record.premises
    ]


def insight_name(entity: str, passage: str) -> str:
    """What an insight of a passage is called; of an entity, if there is one."""
    return f"{entity}, from {passage}" if entity else f"Synthesis of {passage}"


def _record(
    context: DreamContext,
    passage: LearnPassage,
    outcome: StepOutcome,
    insight: Insight,
) -> Resource:
    entity = outcome.entity
    metadata: dict[str, Any] = {"years": list(insight.years)}
    if entity:
        metadata["entity"] = entity
        id = entity_insight_id(context, entity, outcome.passages)
    else:
        id = synthesis_id(context, passage)
    return Resource(
        id=id,
        name=insight_name(entity, passage.name),
        content=insight.text,
        category="insight",
        kind="entity_insight" if entity else "synthesis",
        trust="derived",
        generation=insight.generation,
        parents=insight.parents,
        premises=insight.premises,
        starts_at=insight.at,
        related_entities=(entity,) if entity else (),
        metadata=metadata,
    )


def _failure(
    context: DreamContext,
    uri: str,
    by_id: Mapping[str, LearnPassage],
    passage: LearnPassage,
    failed: Sequence[StepOutcome],
) -> Entry:
    pending = pending_steps(
        passage.resources, [(outcome.step, outcome.learning) for outcome in failed]
    )
    about = dict.fromkeys(passage.ids)
    # a learning quotes all passages that it is from
    for learning in pending.learnings:
        for id in learning.passages:
            about |= dict.fromkeys(by_id[id].ids if id in by_id else (id,))
    for outcome in failed:
        about |= dict.fromkeys(outcome.seen)
    return failed_item_entry(
        context.store,
        RUN_KIND,
        passage.id,
        failed[-1].reason,
        tuple(about),
        name=passage.name,
        details={"uri": uri, "rest": msgspec.to_builtins(pending)},
        run_id=context.writer.id,
    )
