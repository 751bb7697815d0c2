"""Refresh: what was made of something that says something else by now is made again of what that
says today, generation by generation, by the step that made it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeAlias, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from ..engine.arguments import Progress
from ..engine.engine import Engine
from ..engine.fetching import find_by_id
from ..errors import BudgetError, ModelError
from ..llm import LLM, Budget, Call, Quote
from ..model import Edge, Moment, Record, Resource
from ..model.premises import SUPERSEDED, Stale, says
from ..runs.confirm import lost_premises
from ..runs.failures import describe_failure
from ..runs.run import Diff, Run, retry
from ..runs.write_plan import WritePart
from ..runs.writer import Writer
from ..store.contract import Store
from ..store.premises import find_stale, named
from ..store.rules.provenance import may_rest_on_others
from .affinity import judge_again, outdated_pairs, reason_of
from .consolidate import SUMMARY, cluster_of, edges_of, restored_duplicates, sum_up_again
from .context import quote_resource, run_maintenance, years_of
from .learn.lessons import LearnPassage
from .learn.outcomes import insight_name
from .learn.steps import by_known_names, entities_call, usable_learnings
from .moments.links import MADE_BY, RULES, as_they_are, retired
from .moments.llm import describe_again
from .rem_cycle import dream_again, dream_name
from .remake import describe_left
from .sampling import REM_DREAM
from .synthesis import Idea, Insight, in_place_of, parse_insight, synthesis_call

_AT_ONCE = 8  # records made again together
Outcome: TypeAlias = Literal["again", "same", "retired", "yours", "waits", "failed"]


class Refreshed(Struct, frozen=True, kw_only=True):
    """What became of something stale.

    Outcomes: made again with another text; found to say the same; retired, as nothing follows from
    what is left; yours, which no run made, so that only you can mend or `confirm` it; waits for one
    of those, or for a model; failed, as a call of the model did.
    """

    id: str  # of an affinity, those of both resources
    name: str
    kind: str  # of a resource; "moment" or "affinity"
    outcome: Outcome
    why: str  # it was stale
    before: str = ""  # what it said
    after: str = ""  # what it says now, or would; empty: that, or nothing
    by: str = ""  # id of what took its place
    reason: str = ""  # that it failed for


class RefreshResult(Struct, frozen=True, kw_only=True):
    """What a call of `refresh` did; of a dry run, what it would do."""

    run: Run
    stale: list[Refreshed] = []  # and what became of it
    diff: Diff | None = None  # of a dry run: what would be written


class _NoModelError(Exception):
    """There is no model to ask."""


_Shown: TypeAlias = Resource | Moment
_Made: TypeAlias = Resource | ModelError | _NoModelError | None


def refresh(
    engine: Engine,
    ids: Sequence[str] | None,
    *,
    model: bool | None,
    dry_run: bool,
    budget: Budget | None,
    progress: Progress | None,
) -> RefreshResult:
    """Make again what is stale; see `Dreams.refresh`."""
    store = engine.store
    items: list[Refreshed] = []
    if ids is not None:
        ids = [find_by_id(store, id).id for id in ids]

    def work(writer: Writer, llm: LLM | None) -> list[Any]:
        _Refresh(engine, writer, llm, items).run(ids, progress)
        return []

    done = run_maintenance(
        engine,
        "refresh",
        {"ids": list(ids) if ids is not None else None},
        work,
        model=model,
        dry_run=dry_run,
        budget=budget,
    )
    return RefreshResult(run=done.run, stale=items, diff=done.diff)


class _Refresh:
    """One run: what it found stale, and what became of that so far."""

    def __init__(
        self, engine: Engine, writer: Writer, llm: LLM | None, items: list[Refreshed]
    ) -> None:
        self._store: Store = engine.store
        self._tenant = engine.tenant
        self._writer = writer
        self._llm = llm
        self._items = items
        self._stale: dict[str, Stale] = {}
        self._same: set[str] = set()  # found to say the same
        self._open: set[str] = set()  # still stale when the run is over
        # what took the place of what was made again, or of what is retired
        self._successors: dict[str, Resource | None] = {}

    def run(self, ids: Sequence[str] | None, progress: Progress | None) -> None:
        restored = restored_duplicates(self._store) if ids is None else []
        self._writer.write_each(WritePart((one.id,), (one,)) for one in restored)
        self._writer.count(restored=len(restored))
        waiting = {one.id: one for one in self._find(ids)}
        total = len(waiting)
        while waiting:
            wave = [one for one in waiting.values() if waiting.keys().isdisjoint(self._below(one))]
            # in a circle, those of the lowest generation
            wave = wave or _lowest(waiting.values())
            for one in wave:
                del waiting[one.id]
            self._make_again([one for one in wave if self._is_due(one)])
            if progress:
                progress(total - len(waiting), total)
        self._judge_again(ids)

    def _find(self, ids: Sequence[str] | None) -> list[_Shown]:
        """What is stale of these, and of what they rest on; None: of all that was derived."""
        records = list(_derived(self._store) if ids is None else self._with_below(ids))
        below = (id for one in records for id in self._below(one))
        reads = self._store.records
        self._stale = named(reads, find_stale(reads, (*(one.id for one in records), *below)))
        return [one for one in records if one.id in self._stale]

    def _with_below(self, ids: Iterable[str]) -> Iterator[_Shown]:
        seen: dict[str, None] = {}
        waiting = list(ids)
        while waiting:
            id = waiting.pop()
            record = self._store.records.get(None, id)
            if id in seen or record is None or not _is_shown(record):
                continue
            seen[id] = None
            yield record
            waiting += self._below(record)

    def _below(self, record: _Shown) -> Sequence[str]:
        if isinstance(record, Moment):
            return record.resource_refs
        return self._store.records.parents(record.id)

    def _is_due(self, record: _Shown) -> bool:
        """Whether it is still stale: a premise that turned out to say the same ends it."""
        below = [id for id in self._below(record) if id in self._stale]
        return self._stale[record.id].reason != "below" or not self._same.issuperset(below)

    def _today(self, id: str) -> list[Resource]:
        """What stands for a premise now: it, what amends it, or what replaced it."""
        seen: set[str] = set()
        while id and id not in seen:
            seen.add(id)
            record = self._store.records.get("resources", id)
            if id in self._successors:
                record = self._successors[id]
            if not isinstance(record, Resource):
                return []
            superseded = record.metadata.get(SUPERSEDED)
            if not isinstance(superseded, dict):
                amended = record.metadata.get("amended")
                by = str(amended.get("by", "")) if isinstance(amended, dict) else ""
                return [record, *(one for one in (self._today(by) if by else ()) if one.content)]
            id = str(superseded.get("by") or "")
        return []

    def _premises(self, ids: Iterable[str]) -> tuple[Resource, ...]:
        return tuple({one.id: one for id in ids for one in self._today(id)}.values())

    # -- making again ------------------------------------------------------------------------------

    def _make_again(self, records: Sequence[_Shown]) -> None:
        makeable: list[Resource] = []
        moments: dict[tuple[str, ...], list[Moment]] = {}
        for record in records:
            premises = self._premises(self._below(record))
            if any(one.id in self._open for one in premises):
                self._leave(record, "waits")
            elif isinstance(record, Moment) and MADE_BY in record.metadata:
                by = str(record.metadata[MADE_BY])
                key = (by, record.id) if by == RULES else (by, *record.resource_refs)
                moments.setdefault(key, []).append(record)
            elif isinstance(record, Resource) and _maker(record) is not None:
                makeable.append(record)
            else:
                self._leave(record, "yours")
        for group in moments.values():
            self._describe_again(group)
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="remloom-refresh") as threads:
            made = list(threads.map(self._try, makeable))
        for record, result in zip(makeable, made, strict=True):
            self._write(record, result)
        spent = next((one for one in made if isinstance(one, BudgetError)), None)
        if spent:
            raise spent

    def _try(self, record: Resource) -> _Made:
        make = _maker(record)
        assert make is not None  # noqa: S101 - asked before
        try:
            return make(self, record)
        except (ModelError, _NoModelError) as error:
            return error

    def _write(self, record: Resource, made: _Made) -> None:
        if isinstance(made, _NoModelError | ModelError):
            is_waiting = isinstance(made, _NoModelError | BudgetError)
            self._leave(record, "waits" if is_waiting else "failed", made)
            return
        gone = tuple(lost_premises(self._store, record.id))
        if made is None:
            part = WritePart((record.id,), outdated={record.id: ""})
            self._settle(record, part, "retired", None)
            return
        new, outdated = in_place_of(self._tenant, made, [record])
        edges: tuple[Edge, ...] = ()
        if new.kind == SUMMARY:
            edges = tuple(edges_of(new, self._premises(new.parents or ())))
        part = WritePart(
            (record.id, *(new.parents or ())), (new,), edges, deleted=gone, outdated=outdated
        )
        if outdated:
            part = replace(part, deleted=())
        self._settle(record, part, "again" if outdated else "same", new)

    def _settle(
        self, record: Resource, part: WritePart, outcome: Outcome, new: Resource | None
    ) -> None:
        if not retry(lambda: self._put(record, replace(part, counts={outcome: 1}))):
            return  # it, or what it rests on, was forgotten or changed meanwhile
        self._successors[record.id] = new
        if outcome == "same":
            self._same.add(record.id)
        after = new.content if new and outcome == "again" else ""
        by = new.id if new and outcome == "again" else ""
        self._items.append(self._item(record, outcome, after=after, by=by))

    def _put(self, record: Resource, part: WritePart) -> bool:
        """Write what becomes of a record, unless somebody wrote over it or replaced it meanwhile:
        that stays."""
        now = self._store.records.get("resources", record.id)
        if now is not None and says(now) != says(record):
            self._leave(record, "waits")
            return False
        expected = {} if now is None else {record.id: now.revision}
        return bool(self._writer.write_each([part], expected_records=expected))

    def _leave(self, record: _Shown, outcome: Outcome, error: Exception | None = None) -> None:
        self._open.add(record.id)
        self._writer.count(**{outcome: 1})
        reason = describe_failure(error) if error and outcome == "failed" else ""
        self._items.append(self._item(record, outcome, reason=reason))

    def _item(self, record: _Shown, outcome: Outcome, **rest: str) -> Refreshed:
        return Refreshed(
            id=record.id,
            name=record.name,
            kind=record.kind if isinstance(record, Resource) else "moment",
            outcome=outcome,
            why=str(self._stale[record.id]),
            before=record.content if isinstance(record, Resource) else record.summary,
            **rest,
        )

    def _ask(self, call: Call) -> Any:
        if self._llm is None:
            raise _NoModelError
        (reply,) = self._llm.ask_all([call])
        self._writer.count_calls([reply])
        if isinstance(reply, ModelError):
            raise reply
        return reply

    # -- by maker ----------------------------------------------------------------------------------

    def _synthesis(self, record: Resource) -> Resource | None:
        own, others = self._passage(record)
        if not own or not others:
            return None
        idea = Idea(LearnPassage(own).text, own, others)
        insight = parse_insight(idea, self._ask(synthesis_call(idea)))
        return _made(record, insight, insight_name("", LearnPassage(own).name))

    def _entity_insight(self, record: Resource) -> Resource | None:
        own, others = self._passage(record)
        entity = str(record.metadata.get("entity", ""))
        if not own or not entity:
            return None
        passage = LearnPassage(own)
        listed = usable_learnings(self._ask(entities_call(passage, passage.text)))
        known = {one.entity: one for one in by_known_names(self._store, listed, passage)}
        keys = {labels.key(name): one for name, one in known.items()}
        learning = keys.get(labels.key(entity))
        if learning is None:
            return None
        idea = Idea(learning.learning, own, others)
        slots: dict[str, str | Quote | Sequence[str | Quote]] = {
            "entity": entity,
            "learning": idea.text,
            "entity_neighbors": [quote_resource(one) for one in others],
        }
        call = synthesis_call(idea, task="entity_synthesis", slots=slots)
        insight = parse_insight(idea, self._ask(call) if others else idea.text)
        return _made(record, insight, insight_name(entity, passage.name))

    def _dream(self, record: Resource) -> Resource | None:
        node_ids = [str(id) for id in record.metadata.get("nodes", ())]
        nodes = self._premises(node_ids)
        own = {one.id for one in nodes}
        others = [one for one in self._premises(self._below(record)) if one.id not in own]
        if len(nodes) < 2:
            return None
        question, insight = dream_again(self._ask, record, nodes, tuple(others))
        made = _made(record, insight, dream_name(question, record.id))
        if made is None:
            return None
        told = {"question": question, "nodes": [one.id for one in nodes], "years": years_of(nodes)}
        return replace(made, metadata={**made.metadata, **told})

    def _summary(self, record: Resource) -> Resource | None:
        cluster = cluster_of(self._store, record, self._premises(self._below(record)))
        return None if cluster is None else sum_up_again(self._ask, record, cluster)

    def _passage(self, record: Resource) -> tuple[tuple[Resource, ...], tuple[Resource, ...]]:
        """What stands for the passage that an insight is of, and for what it was compared with."""
        stored = (self._store.records.get("resources", id) for id in self._below(record))
        before = [one for one in stored if isinstance(one, Resource)]
        read = [one for one in before if not one.generation]
        own = [one for one in read if record.name.endswith(one.name)][:1]
        if record.kind == "entity_insight":
            own = read
        elif own and own[0].uri:
            # a passage may be several turns; what it was compared with is of other sources
            own = [one for one in read if one.uri == own[0].uri]
        passage = self._premises(one.id for one in own)
        ids = {one.id for one in passage}
        everything = self._premises(one.id for one in before)
        return passage, tuple(one for one in everything if one.id not in ids)

    # -- moments and affinities --------------------------------------------------------------------

    def _describe_again(self, group: Sequence[Moment]) -> None:
        """Describe what happened again, of the resources that a group of moments is of."""
        moment = group[0]
        resources = self._premises(moment.resource_refs)
        if resources and moment.metadata[MADE_BY] != RULES:
            if self._llm is None:
                for one in group:
                    self._leave(one, "waits")
                return
            try:
                moments = describe_again(self._store, self._writer, self._llm, group, resources)
            except BudgetError:
                for one in group:
                    self._leave(one, "waits")
                raise
            except ModelError as error:
                for one in group:
                    self._leave(one, "failed", error)
                return
        elif resources:
            described = describe_left(self._store, moment, resources)
            moments = [replace(described, name=moment.name)]
            self._writer.write_each([WritePart(self._below(moment), tuple(moments))])
        else:
            moments = []
            found = as_they_are(self._store, group)
            self._writer.write_each(WritePart((one.id,), (retired(one),)) for one in found)
        by_id = {one.id: one for one in moments}
        left = [one for one in moments if one.id not in {former.id for former in group}]
        for one in group:
            now = by_id.get(one.id) or (left.pop(0) if left else None)
            self._tell_moment(one, now)

    def _tell_moment(self, before: Moment, now: Moment | None) -> None:
        outcome: Outcome = "retired" if now is None else "again"
        if now is not None and now.id == before.id and now.summary == before.summary:
            outcome = "same"
            self._same.add(before.id)
        self._writer.count(**{outcome: 1})
        after = now.summary if now and outcome == "again" else ""
        by = now.id if now and now.id != before.id else ""
        self._items.append(self._item(before, outcome, after=after, by=by))

    def _judge_again(self, ids: Sequence[str] | None) -> None:
        pairs = outdated_pairs(self._store)
        if ids is not None:
            pairs = [pair for pair in pairs if not set(ids).isdisjoint(pair.split("/"))]
        before = {pair: reason_of(self._store, pair) for pair in pairs}
        after: dict[str, str | None] = {}
        try:
            if self._llm is not None:
                for pair, verdict in judge_again(self._store, self._writer, self._llm, pairs):
                    after[pair] = verdict.reason if verdict.related else None
        finally:
            self._items += [_told_pair(pair, before[pair], after.get(pair, ...)) for pair in pairs]


def _told_pair(pair: str, before: str, after: Any) -> Refreshed:
    outcome: Outcome = "waits"
    if after is not ...:
        outcome = "retired" if after is None else "same" if after == before else "again"
    return Refreshed(
        id=pair,
        name=pair,
        kind="affinity",
        outcome=outcome,
        why="one of both changed",
        before=before,
        after=str(after) if outcome == "again" else "",
    )


_MAKERS: Mapping[str, Callable[[_Refresh, Resource], Resource | None]] = {
    "synthesis": _Refresh._synthesis,
    "entity_insight": _Refresh._entity_insight,
    REM_DREAM: _Refresh._dream,
    SUMMARY: _Refresh._summary,
}


def _maker(record: Resource) -> Callable[[_Refresh, Resource], Resource | None] | None:
    # what a caller wrote, no run did
    return _MAKERS.get(record.kind) if record.metadata.get("run") else None


def _made(record: Resource, insight: Insight | None, name: str) -> Resource | None:
    if insight is None:
        return None
    return replace(
        record,
        # the old one may quote what a premise said
        name=name,
        content=insight.text,
        generation=insight.generation,
        parents=insight.parents,
        premises=insight.premises,
        starts_at=insight.at,
        metadata={**record.metadata, "years": list(insight.years)},
    )


def _derived(store: Store) -> Iterator[_Shown]:
    """Every record that was derived and is shown, but evidence: `observe` looks at passages."""
    for schema in ("resources", "moments"):
        yield from filter(_is_shown, store.records.all(schema))


def _is_shown(record: Record) -> TypeGuard[_Shown]:
    if isinstance(record, Moment):
        return SUPERSEDED not in record.metadata
    if not isinstance(record, Resource) or record.kind == "evidence":
        return False
    return may_rest_on_others(record) and SUPERSEDED not in record.metadata


def _lowest(records: Iterable[_Shown]) -> list[_Shown]:
    ordered = sorted(records, key=_generation)
    return [one for one in ordered if _generation(one) == _generation(ordered[0])]


def _generation(record: _Shown) -> int:
    return record.generation if isinstance(record, Resource) else 1
