"""The REM cycle (seed 1): records of different times, the question that binds them, its answer.

Dreams come in waves. Those of a wave see the memory as it was before the wave, so that their calls
can be made at once and the outcome does not depend on which returns first; a wave is written in one
transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from ...errors import ModelError
from ...kv import Entry
from ...llm import Call
from ...model import Resource
from ...runs.failures import failed_item_entry, failed_item_key, failed_items
from ...runs.part import WritePart
from ..context import DreamContext, quote_resource, years_of
from ..periods import Period, period_bounds
from ..synthesis import Idea, Insight, derived_id, parse_insight, synthesis_call
from .sampling import SamplePool, build_pool, draw, number_of_dreams

RUN_KIND = "dream"
_RESOURCE_KIND = "rem_dream"
_WAVE = 10  # dreams


class Cycle(Struct, frozen=True, kw_only=True):
    """One REM cycle to be gone through."""

    # of the current period: a month or year such as "2021-03"; any other: see `ids`; empty: all of
    # memory
    label: str
    seed: str
    dreams: int | float | str | None = None  # see `sampling.number_of_dreams`
    # marked as dreamt about at the end; of an interrupted cycle, how far it came
    period: Period | None = None
    ids: tuple[str, ...] = ()  # of the current period, where the label is not a time

    @property
    def until(self) -> datetime | None:
        """The last instant of the period: what is later is not known yet."""
        return _end_of(self.label)

    def id(self, tenant: str) -> str:
        """The id that the cycle's dreams have in their metadata."""
        return derived_id(tenant, "cycle", self.label, self.seed)


class _DreamPlan(Struct, frozen=True):
    """A dream to come."""

    id: str
    node_ids: tuple[str, ...]
    label: str  # of the period
    seed: str

    @property
    def until(self) -> datetime | None:
        return _end_of(self.label)


class _Dream(Struct):
    """A dream in the making: each step fills in a field, or the error that ends it."""

    plan: _DreamPlan
    nodes: tuple[Resource, ...]
    question: str = ""
    related: tuple[Resource, ...] = ()
    synthesis: str = ""
    idea: Idea | None = None
    insight: Insight | None = None  # None at the end: the model said that there is nothing new
    error: ModelError | None = None

    @property
    def name(self) -> str:
        """Its question: that is what a dream is called."""
        return self.question[:200] or f"Dream {self.plan.id[:8]}"

    @property
    def seen(self) -> tuple[Resource, ...]:
        """What the model was shown last, and may quote when it refuses."""
        return self.idea.sources if self.idea else (*self.nodes, *self.related)

    @property
    def rests_on(self) -> tuple[str, ...]:
        """Ids of the records without which it means nothing."""
        shown = (*self.nodes, *self.related, *self.seen)
        return tuple(dict.fromkeys((*self.plan.node_ids, *(record.id for record in shown))))


def run_cycle(
    context: DreamContext,
    cycle: Cycle,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Dream; returns the ids of the dreams. Those at which an earlier run failed are dreamt first.

    `progress(done, total)` is called after each wave, with numbers of dreams.
    """
    pool = _pool(context, cycle)
    retries = list(_failed_plans(context))
    count = number_of_dreams(cycle.dreams, pool) if len(pool.all) > 1 else 0
    plans = list(_plan_dreams(context, cycle, pool, count))
    period = cycle.period.for_run(context.writer.id) if cycle.period else None
    total = len(retries) + len(plans)
    ids: list[str] = []
    done = 0

    def dream(wave: Sequence[_DreamPlan]) -> None:
        nonlocal done
        ids.extend(_dream_wave(context, cycle, wave, period))
        done += len(wave)
        if progress:
            progress(done, total)

    for wave in _in_waves(retries):
        dream(wave)
    waves = _in_waves(plans)
    waves_before = period.waves if period else 0
    for number, wave in enumerate(waves, 1):
        if number > waves_before:
            if period is not None:
                period = replace(period, waves=number, dreamt=number == len(waves))
            dream(wave)
    if period is not None and not period.dreamt:
        context.writer.write((), entries=[replace(period, dreamt=True).entry])
    return ids


# -- what is dreamt about ------------------------------------------------------------------------


def _pool(context: DreamContext, cycle: Cycle) -> SamplePool:
    bounds = period_bounds(cycle.label)
    members = frozenset(cycle.ids)
    cycle_id = cycle.id(context.tenant)

    def is_current(record: Resource) -> bool:
        if members:
            return record.id in members
        if bounds is None:
            return True
        return record.starts_at is not None and bounds[0] <= record.starts_at <= bounds[1]

    def is_own(record: Resource) -> bool:
        return record.kind == _RESOURCE_KIND and record.metadata.get("cycle") == cycle_id

    return build_pool(
        context.store,
        is_current=is_current,
        until=cycle.until,
        depth=context.limits.depth,
        # an interrupted cycle draws from what there was before it
        exclude=is_own,
    )


def _plan_dreams(
    context: DreamContext,
    cycle: Cycle,
    pool: SamplePool,
    count: int,
) -> Iterator[_DreamPlan]:
    drawn: set[frozenset[str]] = set()
    for number in range(count):
        node_ids = draw(pool, f"{cycle.label}\n{cycle.seed}\n{number}", drawn_before=drawn)
        if len(node_ids) < 2:
            return
        drawn.add(frozenset(node_ids))
        id = derived_id(context.tenant, "dream", cycle.label, cycle.seed, str(number), *node_ids)
        yield _DreamPlan(id, node_ids, cycle.label, cycle.seed)


def _failed_plans(context: DreamContext) -> Iterator[_DreamPlan]:
    for item in failed_items(context.store, RUN_KIND):
        details = item.details
        yield _DreamPlan(item.item, tuple(details["nodes"]), details["label"], details["seed"])


def _in_waves(plans: Sequence[_DreamPlan]) -> list[Sequence[_DreamPlan]]:
    return [plans[start : start + _WAVE] for start in range(0, len(plans), _WAVE)]


# -- the steps of a wave -------------------------------------------------------------------------


def _dream_wave(
    context: DreamContext,
    cycle: Cycle,
    plans: Sequence[_DreamPlan],
    period: Period | None,
) -> list[str]:
    """Take the dreams of a wave through their steps, then write them; returns their ids.

    A dream that fails at one step takes no part in the next ones.
    """
    dreams = _load_nodes(context, plans)
    _ask_questions(context, dreams)
    _search_related(context, dreams)
    _synthesise(context, dreams)
    _implant(context, dreams)
    return _write(context, cycle, dreams, period)


def _load_nodes(context: DreamContext, plans: Sequence[_DreamPlan]) -> list[_Dream]:
    """The dreams of which at least two records still stand."""
    dreams = []
    for plan in plans:
        records = [context.store.records.get("resources", id) for id in plan.node_ids]
        resources = [record for record in records if isinstance(record, Resource)]
        nodes = tuple(resource for resource in resources if resource.content.strip())
        if len(nodes) > 1:
            dreams.append(_Dream(plan, nodes))
    return dreams


def _ask_questions(context: DreamContext, dreams: Sequence[_Dream]) -> None:
    """Ask for the question that binds the records of each dream."""
    for dream, reply in _ask_for_each(context, dreams, _question_call):
        dream.question = " ".join(reply.split()).strip("\"'“”*_` ")


def _search_related(context: DreamContext, dreams: Sequence[_Dream]) -> None:
    """Search memory with the question of each dream."""
    for dream in _unfailed(dreams):
        related = context.find_similar(
            dream.question,
            until=dream.plan.until,
            exclude=dream.plan.node_ids,
        )
        dream.related = tuple(related)


def _synthesise(context: DreamContext, dreams: Sequence[_Dream]) -> None:
    """Ask what the records of each dream reveal with its question in view."""
    for dream, reply in _ask_for_each(context, dreams, _synthesis_call):
        dream.synthesis = reply


def _implant(context: DreamContext, dreams: Sequence[_Dream]) -> None:
    """Ask what each synthesis adds to what is known."""
    for dream in _unfailed(dreams):
        neighbours = context.find_similar(dream.synthesis, until=dream.plan.until)
        parents = (*dream.nodes, *dream.related)
        dream.idea = Idea(dream.synthesis, parents, tuple(neighbours))
    for dream, reply in _ask_for_each(context, dreams, _implant_call):
        assert dream.idea is not None  # noqa: S101 - set above
        dream.insight = parse_insight(dream.idea, reply)


def _ask_for_each(
    context: DreamContext,
    dreams: Sequence[_Dream],
    make_call: Callable[[_Dream], Call],
) -> Iterator[tuple[_Dream, str]]:
    """Put the calls of all dreams to the model at once; gives those that were answered."""
    open_dreams = _unfailed(dreams)
    replies = context.ask_all([make_call(dream) for dream in open_dreams])
    for dream, reply in zip(open_dreams, replies, strict=True):
        if isinstance(reply, ModelError):
            dream.error = reply
        else:
            yield dream, reply


def _unfailed(dreams: Sequence[_Dream]) -> list[_Dream]:
    return [dream for dream in dreams if dream.error is None]


def _question_call(dream: _Dream) -> Call:
    passages = [quote_resource(node) for node in dream.nodes]
    return Call("question", {"passages": passages}, subjects=dream.plan.node_ids)


def _synthesis_call(dream: _Dream) -> Call:
    return Call(
        "dream",
        {
            "question": dream.question,
            "passages": [quote_resource(node) for node in dream.nodes],
            "related": [quote_resource(resource) for resource in dream.related],
        },
        subjects=tuple(resource.id for resource in dream.seen),
    )


def _implant_call(dream: _Dream) -> Call:
    assert dream.idea is not None  # noqa: S101 - made before its call
    return synthesis_call(dream.idea)


# -- what is written -----------------------------------------------------------------------------


def _write(
    context: DreamContext,
    cycle: Cycle,
    dreams: Sequence[_Dream],
    period: Period | None,
) -> list[str]:
    """Write the dreams of a wave, what failed, and how far the period came, in one transaction."""
    done = _unfailed(dreams)
    parts = [
        WritePart(
            dream.rests_on,
            (_record(context, cycle, dream, dream.insight),) if dream.insight else (),
            deleted=(failed_item_key(RUN_KIND, dream.plan.id),),
            counts={"rem_dream": 1} if dream.insight else {"nothing": 1},
        )
        for dream in done
    ]
    parts += [
        WritePart(dream.rests_on, entries=(_failure(context, dream, dream.error),))
        for dream in dreams
        if dream.error
    ]
    context.writer.count(rem_dream=0, nothing=0)
    # what was forgotten while it was dreamt about takes its dreams with it
    written = context.writer.write_each(parts, entries=[period.entry] if period else [])
    return [record.id for part in written for record in part.records]


def _record(context: DreamContext, cycle: Cycle, dream: _Dream, insight: Insight) -> Resource:
    return Resource(
        id=dream.plan.id,
        name=dream.name,
        content=insight.text,
        category="dream",
        kind=_RESOURCE_KIND,
        trust="derived",
        generation=insight.generation,
        parents=insight.parents,
        starts_at=insight.at,
        metadata={
            "question": dream.question,
            "years": years_of(dream.nodes),
            "period": dream.plan.label,
            "nodes": [node.id for node in dream.nodes],
            "cycle": cycle.id(context.tenant),
        },
    )


def _failure(context: DreamContext, dream: _Dream, error: ModelError) -> Entry:
    plan = dream.plan
    return failed_item_entry(
        context.store,
        RUN_KIND,
        plan.id,
        error,
        dream.rests_on,
        name=dream.name,
        details={"nodes": list(plan.node_ids), "label": plan.label, "seed": plan.seed},
        run_id=context.writer.id,
    )


def _end_of(label: str) -> datetime | None:
    bounds = period_bounds(label)
    return bounds[1] if bounds else None
