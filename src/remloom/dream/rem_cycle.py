"""The REM cycle (seed 1): records of different times, the question that binds them, its answer.

The dreams of a wave see the memory as it was before the wave, so that their calls run at once and
the outcome does not depend on which returns first; a wave is written in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..engine.arguments import check_budget, check_limit
from ..engine.engine import Engine
from ..errors import InvalidInputError, ModelError
from ..kv import Entry
from ..llm import Budget, Call
from ..model import Record, Resource
from ..predicates import Exists, Query
from ..runs.failures import FailedItem, failed_item_entry, failed_item_key, failed_items
from ..runs.rollback import created_ids
from ..runs.run import Run
from ..runs.write_plan import WritePart
from ..store.contract import Store
from .context import (
    DreamContext,
    LearnProgress,
    check_ready,
    fresh,
    open_run,
    quote_resource,
    years_of,
)
from .periods import Period, period_bounds, stored_period
from .sampling import (
    REM_DREAM,
    Cycle,
    DreamPlan,
    SamplePool,
    number_of_dreams,
    plan_dreams,
    sample_pool,
)
from .synthesis import Idea, Insight, in_place_of, parse_insight, synthesis_call

RUN_KIND = "dream"
_WAVE = 10  # dreams


class DreamResult(Struct, frozen=True, kw_only=True):
    """What a call of `dream` did."""

    run: Run
    dreams: list[Resource] = []  # those written, or, of a dry run, those that would be
    failed: list[FailedItem] = []  # what waits for the next run, with the reason


class _Dream(Struct):
    """A dream in the making: each step fills in a field, or the error that ends it."""

    plan: DreamPlan
    nodes: tuple[Resource, ...]
    question: str = ""
    related: tuple[Resource, ...] = ()
    synthesis: str = ""
    idea: Idea | None = None
    insight: Insight | None = None  # None at the end: the model said that there is nothing new
    error: ModelError | None = None

    @property
    def name(self) -> str:
        return dream_name(self.question, self.plan.id)

    @property
    def seen(self) -> tuple[Resource, ...]:
        """What the model was shown last, and may quote when it refuses."""
        return self.idea.sources if self.idea else (*self.nodes, *self.related)

    @property
    def rests_on(self) -> tuple[str, ...]:
        """Ids of the records without which it means nothing."""
        shown = (*self.nodes, *self.related, *self.seen)
        return tuple(dict.fromkeys((*self.plan.node_ids, *(record.id for record in shown))))


def dream(
    engine: Engine,
    dreams: int | float | str | None,
    *,
    seed: str | None,
    period: str | None,
    dry_run: bool,
    budget: Budget | None,
    neighbours: int,
    progress: Callable[[LearnProgress], None] | None,
) -> DreamResult:
    """Dream once; see `Memory.dream`."""
    budget = check_budget(budget)
    check_limit(neighbours)
    check_ready(engine)
    engine.embed_waiting()
    if period is not None and period_bounds(period) is None:
        raise InvalidInputError(
            f"{period!r} is not a month or year",
            remedy="write it like 2021-03, or 2021",
        )
    # refuse what is not a number before a run begins
    number_of_dreams(dreams, SamplePool((), ()))
    settings = {"dreams": dreams, "seed": seed, "period": period, "neighbours": neighbours}
    store = engine.store
    label = period or _latest_year(store)
    with open_run(
        engine, RUN_KIND, settings, neighbours=neighbours, budget=budget, dry_run=dry_run
    ) as context:
        run_id = context.writer.id
        cycle = Cycle(
            label=label,
            seed=seed or run_id,
            dreams=dreams,
            # not a period of reading, but how far this run came
            period=None if dry_run else stored_period(store, f"dream {run_id}"),
        )
        run_cycle(context, cycle, progress)
    run = context.writer.run
    records: Sequence[Record | None]
    if dry_run:
        records = context.writer.diff.records
    else:
        records = [store.records.get("resources", id) for id in created_ids(store, run.id)]
    written = [record for record in records if isinstance(record, Resource)]
    return DreamResult(run=run, dreams=written, failed=failed_items(store, RUN_KIND))


def _latest_year(store: Store) -> str:
    latest = Query().filter(Exists("starts_at")).order_by("starts_at", "desc").limit(1)
    records = store.records.query("resources", latest)
    at = records[0].starts_at if records and isinstance(records[0], Resource) else None
    return f"{at.year:04}" if at else ""


def run_cycle(
    context: DreamContext,
    cycle: Cycle,
    progress: Callable[[LearnProgress], None] | None,
) -> None:
    """Dream, first those dreams at which an earlier run failed; reports after each wave."""
    pool = sample_pool(context, cycle)
    retries = _in_waves([*_failed_plans(context)])
    count = number_of_dreams(cycle.dreams, pool) if len(pool.all) > 1 else 0
    waves = _in_waves([*plan_dreams(context, cycle, pool, count)])
    period = cycle.period.for_run(context.writer.id) if cycle.period else None
    waves_before = period.waves if period else 0
    done, total = 0, sum(map(len, (*retries, *waves)))
    for number, wave in enumerate((*retries, *waves), 1 - len(retries)):
        if 0 < number <= waves_before:
            continue
        if period is not None and number > 0:
            period = replace(period, waves=number, dreamt=number == len(waves))
        _dream_wave(context, cycle, wave, period)
        done += len(wave)
        if progress:
            progress(context.progress("dreaming", done, total, cycle.label))
    if period is not None and not period.dreamt:
        context.writer.write((), entries=[replace(period, dreamt=True).entry])


def _failed_plans(context: DreamContext) -> Iterator[DreamPlan]:
    for item in failed_items(context.store, RUN_KIND):
        details = item.details
        yield DreamPlan(item.item, tuple(details["nodes"]), details["label"], details["seed"])


def _in_waves(plans: Sequence[DreamPlan]) -> list[Sequence[DreamPlan]]:
    return [plans[start : start + _WAVE] for start in range(0, len(plans), _WAVE)]


def _dream_wave(
    context: DreamContext,
    cycle: Cycle,
    plans: Sequence[DreamPlan],
    period: Period | None,
) -> None:
    """Take the dreams of a wave through their steps, then write them."""
    dreams = _load_nodes(context, plans)
    _ask_questions(context, dreams)
    _search_related(context, dreams)
    _synthesise(context, dreams)
    _implant(context, dreams)
    _write(context, cycle, dreams, period)


def _load_nodes(context: DreamContext, plans: Sequence[DreamPlan]) -> list[_Dream]:
    """The dreams of which at least two records still stand."""
    dreams = []
    for plan in plans:
        records = [context.store.records.get("resources", id) for id in plan.node_ids]
        resources = [record for record in records if isinstance(record, Resource)]
        nodes = tuple(one for one in fresh(context.store, resources) if one.content.strip())
        if len(nodes) > 1:
            dreams.append(_Dream(plan, nodes))
    return dreams


def _ask_questions(context: DreamContext, dreams: Sequence[_Dream]) -> None:
    for dream, reply in _ask_for_each(context, dreams, _question_call):
        dream.question = _as_question(reply)


def _search_related(context: DreamContext, dreams: Sequence[_Dream]) -> None:
    for dream in _unfailed(dreams):
        related = context.find_similar(
            dream.question,
            until=dream.plan.until,
            exclude=dream.plan.node_ids,
        )
        dream.related = tuple(related)


def _synthesise(context: DreamContext, dreams: Sequence[_Dream]) -> None:
    for dream, reply in _ask_for_each(context, dreams, _synthesis_call):
        dream.synthesis = reply


def _implant(context: DreamContext, dreams: Sequence[_Dream]) -> None:
    for dream in _unfailed(dreams):
        neighbours = context.find_similar(dream.synthesis, until=dream.plan.until)
        parents = (*dream.nodes, *dream.related)
        dream.idea = Idea(dream.synthesis, parents, tuple(neighbours))
    for dream, reply in _ask_for_each(context, dreams, _implant_call):
        assert dream.idea is not None  # noqa: S101 - set above
        dream.insight = parse_insight(dream.idea, reply)


def dream_name(question: str, id: str) -> str:
    """What a dream is called: its question, else by its id."""
    return question[:200] or f"Dream {id[:8]}"


def dream_again(
    ask: Callable[[Call], str],
    record: Resource,
    nodes: tuple[Resource, ...],
    others: tuple[Resource, ...],
) -> tuple[str, Insight | None]:
    """Dream once more of these records, with the others that the dream rests on; returns the
    question, and what came of it."""
    plan = DreamPlan(record.id, tuple(one.id for one in nodes), "", "")
    dream = _Dream(plan, nodes, related=others)
    dream.question = _as_question(ask(_question_call(dream)))
    dream.idea = Idea(ask(_synthesis_call(dream)), nodes, others)
    return dream.question, parse_insight(dream.idea, ask(_implant_call(dream)))


def _as_question(reply: str) -> str:
    return " ".join(reply.split()).strip("\"'“”*_` ")


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


def _write(
    context: DreamContext,
    cycle: Cycle,
    dreams: Sequence[_Dream],
    period: Period | None,
) -> None:
    """Write the dreams of a wave, what failed, and how far the period came, in one transaction."""
    done = _unfailed(dreams)
    parts = [_part(context, cycle, dream, dream.insight) for dream in done]
    parts += [
        WritePart(dream.rests_on, entries=(_failure(context, dream, dream.error),))
        for dream in dreams
        if dream.error
    ]
    context.writer.count(rem_dream=0, nothing=0)
    # what was forgotten while it was dreamt about takes its dreams with it
    context.writer.write_each(parts, entries=[period.entry] if period else [])


def _part(context: DreamContext, cycle: Cycle, dream: _Dream, insight: Insight | None) -> WritePart:
    done = (failed_item_key(RUN_KIND, dream.plan.id),)
    if insight is None:
        return WritePart(dream.rests_on, deleted=done, counts={"nothing": 1})
    stored = context.store.records.get("resources", dream.plan.id)
    record = _record(context, cycle, dream, insight)
    record, outdated = in_place_of(
        context.tenant, record, [stored] if isinstance(stored, Resource) else []
    )
    return WritePart(
        dream.rests_on, (record,), deleted=done, outdated=outdated, counts={"rem_dream": 1}
    )


def _record(context: DreamContext, cycle: Cycle, dream: _Dream, insight: Insight) -> Resource:
    return Resource(
        id=dream.plan.id,
        name=dream.name,
        content=insight.text,
        category="dream",
        kind=REM_DREAM,
        trust="derived",
        generation=insight.generation,
        parents=insight.parents,
        premises=insight.premises,
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
