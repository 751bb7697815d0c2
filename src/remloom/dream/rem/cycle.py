"""The REM cycle (seed 1): records of different times, the question that binds them, and what its
answer reveals.

Dreams come in waves. Those of a wave see the memory as it was before the wave, so that their calls
can be made at once and the outcome does not depend on which returns first; a wave is written in one
transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...errors import GoneError, ModelError
from ...llm import Call
from ...model import Resource
from ...runs.failures import failed_item_entry, failed_item_key, failed_items
from ...store.contract import JournalEntry
from ..context import DreamContext, quote, years
from ..learn.periods import Period, bounds
from ..synthesis import Idea, asking, identity, insight
from .sampling import Pool, how_many, pool, sample

__all__ = ["KIND", "WAVE", "Cycle", "rem"]

KIND = "rem_dream"  # of resource
WAVE = 10  # dreams


class Cycle(Struct, frozen=True, kw_only=True):
    """One REM cycle to be gone through."""

    # of the current period: a month or year such as "2021-03"; any other: see `ids`; empty: all of
    # memory
    label: str
    seed: str
    dreams: int | float | str | None = None  # see `sampling.how_many`
    # noted as dreamt about at the end; of an interrupted cycle, how far it came
    period: Period | None = None
    ids: tuple[str, ...] = ()  # of the current period, where the label does not tell


class _Plan(Struct, frozen=True):
    """A dream to come."""

    id: str
    nodes: tuple[str, ...]
    label: str
    seed: str


class _Dream(Struct, frozen=True):
    """A dream as far as it has come; at last an insight, nothing, or an error."""

    plan: _Plan
    nodes: tuple[Resource, ...]
    question: str = ""
    related: tuple[Resource, ...] = ()
    synthesis: str = ""
    error: ModelError | None = None


def rem(
    mind: DreamContext, cycle: Cycle, *, done: Callable[[int, int], None] | None = None
) -> list[str]:
    """Dream; ids of the dreams. What an earlier run had to park is dreamt first.

    `done(dreams, of)` is called after each wave.
    """
    found = _pool(mind, cycle)
    waiting = list(_parked(mind))
    count = how_many(cycle.dreams, found) if len(found.all) > 1 else 0
    plans = list(_plans(mind, cycle, found, count))
    total = len(waiting) + len(plans)
    period, ids, over = cycle.period and cycle.period.of(mind.writer.run.id), [], 0
    begun = period.waves if period else 0
    waves = [(0, wave) for wave in _in_waves(waiting)]
    waves += [(number, wave) for number, wave in enumerate(_in_waves(plans), 1) if number > begun]
    last = -(-len(plans) // WAVE)
    for number, wave in waves:
        if period is not None and number:
            period = replace(period, waves=number, dreamt=number == last)
        ids += _wave(mind, cycle, wave, period)
        over += len(wave)
        if done:
            done(over, total)
    if period is not None and not period.dreamt:
        mind.writer.write(entries=[replace(period, dreamt=True).entry])
    return ids


def _in_waves(plans: Sequence[_Plan]) -> list[Sequence[_Plan]]:
    return [plans[start : start + WAVE] for start in range(0, len(plans), WAVE)]


def _pool(mind: DreamContext, cycle: Cycle) -> Pool:
    span = bounds(cycle.label)

    def current(record: Resource) -> bool:
        if cycle.ids:
            return record.id in members
        return span is None or bool(record.starts_at and span[0] <= record.starts_at <= span[1])

    def own(record: Resource) -> bool:
        return record.kind == KIND and record.metadata.get("cycle") == _cycle_id(mind, cycle)

    members = frozenset(cycle.ids)
    until = span[1] if span else None
    return pool(mind.store, current=current, until=until, depth=mind.limits.depth, without=own)


def _plans(mind: DreamContext, cycle: Cycle, found: Pool, count: int) -> Iterator[_Plan]:
    taken: set[frozenset[str]] = set()
    for number in range(count):
        nodes = sample(found, f"{cycle.label}\n{cycle.seed}\n{number}", taken=taken)
        if len(nodes) < 2:
            return
        taken.add(frozenset(nodes))
        yield _Plan(
            identity(mind.tenant, "dream", cycle.label, cycle.seed, str(number), *nodes),
            nodes,
            cycle.label,
            cycle.seed,
        )


def _wave(
    mind: DreamContext, cycle: Cycle, plans: Sequence[_Plan], period: Period | None
) -> list[str]:
    """Dream the dreams of a wave together, and write them."""
    dreams = [_Dream(plan, nodes) for plan in plans if len(nodes := _nodes(mind, plan)) > 1]
    dreams = _each(mind, dreams, _ask_question, _with_question)
    dreams = [
        dream if dream.error else replace(dream, related=_related(mind, dream)) for dream in dreams
    ]
    dreams = _each(mind, dreams, _ask_synthesis, _with_synthesis)
    return _implant(mind, cycle, dreams, period)


def _ask_question(dream: _Dream) -> Call:
    return Call(
        "question", {"passages": [quote(node) for node in dream.nodes]}, subjects=dream.plan.nodes
    )


def _with_question(dream: _Dream, reply: str) -> _Dream:
    return replace(dream, question=" ".join(reply.split()).strip("\"'“”*_` "))


def _ask_synthesis(dream: _Dream) -> Call:
    seen = (*dream.nodes, *dream.related)
    return Call(
        "dream",
        {
            "question": dream.question,
            "passages": [quote(node) for node in dream.nodes],
            "related": [quote(near) for near in dream.related],
        },
        subjects=tuple(resource.id for resource in seen),
    )


def _with_synthesis(dream: _Dream, reply: str) -> _Dream:
    return replace(dream, synthesis=reply)


def _each(
    mind: DreamContext,
    dreams: Sequence[_Dream],
    call: Callable[[_Dream], Call],
    take: Callable[[_Dream, str], _Dream],
) -> list[_Dream]:
    """The next step of every dream that has not failed."""
    replies = iter(mind.ask_all([call(dream) for dream in dreams if not dream.error]))
    return [dream if dream.error else _stepped(dream, next(replies), take) for dream in dreams]


def _stepped(dream: _Dream, reply: Any, take: Callable[[_Dream, str], _Dream]) -> _Dream:
    return replace(dream, error=reply) if isinstance(reply, ModelError) else take(dream, reply)


def _related(mind: DreamContext, dream: _Dream) -> tuple[Resource, ...]:
    return tuple(mind.near(dream.question, until=_until(dream), without=dream.plan.nodes))


def _until(dream: _Dream) -> datetime | None:
    span = bounds(dream.plan.label)
    return span[1] if span else None


def _implant(
    mind: DreamContext, cycle: Cycle, dreams: Sequence[_Dream], period: Period | None
) -> list[str]:
    """Hold each synthesis against what is known, and write what is new in one transaction."""
    records: list[Resource] = []
    notes: list[JournalEntry] = [period.entry] if period else []
    struck: list[tuple[str, str]] = []
    ideas = [
        Idea(
            dream.synthesis,
            (*dream.nodes, *dream.related),
            tuple(mind.near(dream.synthesis, until=_until(dream))),
        )
        for dream in dreams
        if not dream.error
    ]
    replies = iter(zip(ideas, mind.ask_all([asking(idea) for idea in ideas]), strict=True))
    nothing = 0
    for dream in dreams:
        error: ModelError | None = dream.error
        # what the model was told, and may have said in its refusal
        told = (*dream.nodes, *dream.related)
        if error is None:
            idea, reply = next(replies)
            told = idea.sources
            if isinstance(reply, ModelError):
                error = reply
            elif (found := insight(idea, reply)) is None:
                nothing += 1
            else:
                own = {
                    "question": dream.question,
                    "years": years(dream.nodes),
                    "period": dream.plan.label,
                    "nodes": [node.id for node in dream.nodes],
                    "cycle": _cycle_id(mind, cycle),
                }
                records.append(
                    Resource(
                        id=dream.plan.id,
                        name=_name(dream),
                        content=found.text,
                        category="dream",
                        kind=KIND,
                        trust="derived",
                        generation=found.generation,
                        parents=found.parents,
                        starts_at=found.at,
                        metadata=own,
                    )
                )
        if error is not None:
            details = {
                "nodes": list(dream.plan.nodes),
                "label": dream.plan.label,
                "seed": dream.plan.seed,
            }
            notes.append(
                failed_item_entry(
                    mind.store,
                    "dream",
                    dream.plan.id,
                    error,
                    tuple(dict.fromkeys((*dream.plan.nodes, *(resource.id for resource in told)))),
                    name=_name(dream),
                    details=details,
                    run_id=mind.writer.run.id,
                )
            )
        else:
            struck.append(failed_item_key("dream", dream.plan.id))
    mind.writer.count(rem_dream=len(records), nothing=nothing)
    while True:
        try:
            return mind.writer.write(records, entries=notes, deleted=struck)
        except GoneError as error:  # forgotten while it was dreamt about
            gone = set(error.fields["ids"])
            standing = [record for record in records if not gone & set(record.parents)]
            mind.writer.count(
                rem_dream=len(standing) - len(records), forgotten=len(records) - len(standing)
            )
            records, notes = standing, [note for note in notes if not gone & set(note.subjects)]


def _name(dream: _Dream) -> str:
    """What a dream is called: its question."""
    return dream.question[:200] or f"Dream {dream.plan.id[:8]}"


def _nodes(mind: DreamContext, plan: _Plan) -> tuple[Resource, ...]:
    found = (mind.store.get("resources", id) for id in plan.nodes)
    return tuple(node for node in found if isinstance(node, Resource) and node.content.strip())


def _parked(mind: DreamContext) -> Iterator[_Plan]:
    for item in failed_items(mind.store, "dream"):
        yield _Plan(
            item.item, tuple(item.details["nodes"]), item.details["label"], item.details["seed"]
        )


def _cycle_id(mind: DreamContext, cycle: Cycle) -> str:
    return identity(mind.tenant, "cycle", cycle.label, cycle.seed)
