"""Runs of dreaming: what they work with, how they begin and end, and what comes of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from ..engine.arguments import check_budget
from ..engine.engine import Engine
from ..errors import (
    BudgetError,
    InvalidInputError,
    ModelCallsForbiddenError,
    ModelError,
    ModelNotConfiguredError,
    ModelRefusedError,
    ModelUnavailableError,
)
from ..llm import LLM, Budget, Call, Quote
from ..model import Hit, Resource
from ..predicates import And, Eq, Gte, Lte, Not, NotExists, Or, Predicate
from ..runs.failures import FailedItem, failed_item_entry, failed_items
from ..runs.lifecycle import run_to_end
from ..runs.run import Diff, Run, begin_run
from ..runs.write_plan import WritePart
from ..runs.writer import Writer
from ..store.contract import Store
from ..store.premises import find_stale
from ..store.specs import SearchSpec
from .vectors import matrix

NEIGHBOURS = 5  # seed 1: k=5
ENTITY_NEIGHBOURS = 3  # seed 1: k=3, of that entity
_PATIENCE = 3  # times in a row that no call at all is answered, after which a run stops
# of HTTP: the key or the model is wrong, or nothing is paid for
_REFUSED = (401, 402, 403, 404)


class LearnProgress(Struct, frozen=True, kw_only=True):
    """How far a run of learning or dreaming has come."""

    phase: str  # reading | learning | dreaming
    done: int  # documents, or dreams
    total: int
    name: str = ""  # of the document, or the period
    calls: int = 0  # of the model
    tokens: int = 0


class DreamContext:
    """What one run works with. Its methods may be called from several threads.

    Args:
        llm: the model; every call of the run goes through it.
        writer: the run's way to the store.
        neighbours: how many similar records are shown with a text.

    Attributes:
        depth: the highest generation there is: what reached it is built upon no further.
    """

    def __init__(self, engine: Engine, llm: LLM, writer: Writer, neighbours: int) -> None:
        self.store = engine.store
        self.tenant = engine.tenant
        self.embed_query = engine.embed_query
        self.depth = engine.settings.dream_depth
        self.llm = llm
        self.writer = writer
        self._neighbours = neighbours
        self._failures = 0  # how often in a row no call was answered

    def find_similar(
        self,
        text: str,
        *,
        until: datetime | None = None,
        exclude: Collection[str] = (),
        exclude_uri: str = "",
        vector_of: str = "",
    ) -> list[Resource]:
        """Search the resources most like a text that may still be built upon, best first.

        Args:
            until: none of a later time. What has no time counts as known.
            exclude: ids to leave out.
            exclude_uri: a source to leave out.
            vector_of: id of the resource whose vectors stand for the text, if it has any.
        """
        limit = self._neighbours
        # not "below the depth": what was read has no generation stored
        conditions: list[Predicate] = [Not(Gte("generation", self.depth))]
        if until is not None:
            conditions.append(Or((NotExists("starts_at"), Lte("starts_at", until))))
        if exclude_uri:
            conditions.append(Not(Eq("uri", exclude_uri)))
        vector = self._stored_vector(vector_of) if vector_of else None
        if vector is None:
            vector = self.embed_query(text)
        matches = self.store.search.vector(
            vector,
            SearchSpec(
                schema="resources",
                where=And(tuple(conditions)),
                # those to leave out, or stale, may be the best
                limit=2 * limit + len(exclude),
            ),
        )
        records = [match.record for match in matches if match.record.id not in exclude]
        found = [record for record in records if isinstance(record, Resource)]
        return fresh(self.store, found)[:limit]

    def _stored_vector(self, id: str) -> Any:
        (vector,) = matrix(self.store, [id])
        return vector if vector.any() else None

    def ask_all(self, calls: Sequence[Call]) -> list[Any]:
        """Put all calls to the model at once; the reply of each, or the `ModelError` in its place.

        Raises:
            ModelError: one that the next call would meet as well: no budget left, a wrong key, an
                endpoint that did not answer several times in a row.
        """
        if not calls:
            return []
        replies = self.llm.ask_all(calls)
        self.writer.count_calls(replies)
        for reply in replies:
            if isinstance(reply, ModelError) and _stops_the_run(reply):
                raise reply
        if all(isinstance(reply, ModelUnavailableError) for reply in replies):
            self._failures += 1
        else:
            self._failures = 0
        if self._failures >= _PATIENCE:
            raise replies[0]
        return replies

    def progress(self, phase: str, done: int, total: int, name: str) -> LearnProgress:
        return LearnProgress(
            phase=phase,
            done=done,
            total=total,
            name=name,
            calls=self.writer.run.counts.get("calls", 0),
            tokens=self.llm.spent,
        )


def check_ready(engine: Engine) -> None:
    """Raise what a run would, before anything is read for it: no model, or no embedder."""
    _ = engine.required_llm, engine.embedding_queue


@contextmanager
def open_run(
    engine: Engine,
    kind: str,
    settings: dict[str, Any],
    *,
    neighbours: int,
    budget: Budget,
    dry_run: bool = False,
) -> Iterator[DreamContext]:
    """Begin or resume a run, and end it when the work inside is over; see `runs.lifecycle`."""
    llm = engine.required_llm
    writer = _begin(engine, kind, settings, dry_run=dry_run)
    with run_to_end(writer):
        with llm.run(writer.id, budget, keep=not dry_run, watch=writer.watch()) as run_llm:
            yield DreamContext(engine, run_llm, writer, neighbours)
        if not dry_run:
            # before the run ends: a process that is killed here resumes it, and deletes them then
            llm.finish(writer.id)


def _begin(engine: Engine, kind: str, settings: dict[str, Any], *, dry_run: bool) -> Writer:
    embed = engine.embedding_queue.windows if engine.embedder is not None else None
    run = begin_run(engine.store, kind, settings, dry_run=dry_run)
    return Writer(
        engine.store, engine.tenant, run, model=engine.embedder_name, embed=embed, dry_run=dry_run
    )


def ask_each(
    store: Store,
    writer: Writer,
    llm: LLM,
    calls: Mapping[str, Call],
    rests_on: Mapping[str, Sequence[str]],
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[tuple[str, Any]]:
    """Put calls, by ids of what they are about, to the model at once; gives the ids and replies of
    those that were answered. Of those that failed it is noted that they did.

    Args:
        rests_on: for each call, what its failure rests on: forgotten with it, the note goes.

    Raises:
        BudgetError: the run's budget is spent; raised behind the last of what was paid for.
    """
    replies = llm.ask_all(list(calls.values()))
    writer.count_calls(replies)
    spent: BudgetError | None = None
    for done, (id, reply) in enumerate(zip(calls, replies, strict=True), 1):
        if isinstance(reply, BudgetError):
            spent = reply
        elif isinstance(reply, ModelError):
            kind, about = writer.run.kind, rests_on[id]
            failed = failed_item_entry(store, kind, id, reply, about, run_id=writer.id)
            writer.write_each([WritePart(about, entries=(failed,))])
        else:
            yield id, reply
        if progress:
            progress(done, len(calls))
    if spent:
        raise spent


def quote_resource(resource: Resource) -> Quote:
    year = str(resource.starts_at.year) if resource.starts_at else ""
    source = Hit(record=resource).source
    return Quote(resource.content, source=source, trust=resource.trust, note=year)


def fresh(store: Store, resources: Sequence[Resource]) -> list[Resource]:
    """Those of these that are not stale: nothing is built on what may not hold any more."""
    stale = find_stale(store.records, [one.id for one in resources if one.generation])
    return [one for one in resources if one.id not in stale]


def is_since(resource: Resource, since: datetime | None) -> bool:
    """Whether a resource happened, or was remembered, since a time; None: always."""
    if since is None:
        return True
    return any(at is not None and at >= since for at in (resource.starts_at, resource.created_at))


def years_of(resources: Sequence[Resource]) -> list[int]:
    years = {year for resource in resources for year in resource.metadata.get("years", ())}
    years.update(resource.starts_at.year for resource in resources if resource.starts_at)
    return sorted(years)


def _stops_the_run(error: ModelError) -> bool:
    if isinstance(error, ModelRefusedError):
        return error.fields.get("status") in _REFUSED
    return isinstance(error, BudgetError | ModelNotConfiguredError | ModelCallsForbiddenError)


class Theme(Struct, frozen=True, kw_only=True):
    """Similar insights by name, the nearest to their centre first."""

    topics: tuple[str, ...]
    insights: tuple[str, ...]


class MaintenanceResult(Struct, frozen=True, kw_only=True):
    """What such a run did."""

    run: Run
    diff: Diff | None = None  # of a dry run: what would be written
    failed: list[FailedItem] = []  # what waits for the next run, with the reason
    themes: list[Theme] = []  # what consolidation found to belong together


def run_maintenance(
    engine: Engine,
    kind: str,
    settings: dict[str, Any],
    work: Callable[[Writer, LLM | None], list[Theme]],
    *,
    model: bool | None,
    dry_run: bool,
    budget: Budget | None,
) -> MaintenanceResult:
    """Do the work of a run, with a model or without; None as `model` asks one if there is one.

    A budget that is used up stops it; what is done by then stays.
    """
    budget = check_budget(budget)
    # asked for by name, a model that is not configured is an error
    asks_model = model or (model is None and engine.llm is not None)
    llm = engine.required_llm if asks_model else None
    if engine.embedder is not None:
        engine.embed_waiting()
    writer = _begin(engine, kind, settings, dry_run=dry_run)
    themes: list[Theme] = []
    with run_to_end(writer):
        # what such a run asks is kept as results, so no replies are kept for it
        if llm is None:
            themes = work(writer, None)
        else:
            with llm.run(writer.id, budget) as run_llm:
                themes = work(writer, run_llm)
    return MaintenanceResult(
        run=writer.run,
        diff=writer.diff if dry_run else None,
        failed=failed_items(engine.store, kind),
        themes=themes,
    )


def start_of_lookback(
    hours: float | None, since: datetime | None, now: datetime
) -> datetime | None:
    """From when on a run looks: `since`, or so many hours before now; None: at everything.

    Raises:
        InvalidInputError: hours that are not above zero, or a time without zone.
    """
    if since is not None:
        if not isinstance(since, datetime) or since.utcoffset() is None:
            raise InvalidInputError(
                f"since {since!r} is not a time with a zone",
                remedy="use datetime.now(UTC)",
            )
        return since.astimezone(UTC)
    if hours is None:
        return None
    if not isinstance(hours, int | float) or not hours > 0:
        raise InvalidInputError(
            f"hours are a number above 0, not {hours!r}",
            remedy="None looks at everything",
        )
    try:
        return now - timedelta(hours=hours)
    except OverflowError:
        # longer ago than there are years
        return None
