"""The context of a dreaming run: the store, the model, search, and the writer of the run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..errors import (
    BudgetError,
    ModelCallsForbiddenError,
    ModelError,
    ModelNotConfiguredError,
    ModelRefusedError,
    ModelUnavailableError,
)
from ..llm import Budget, Call, Quote
from ..model import Hit, Resource
from ..predicates import And, Eq, Gte, Lte, Not, NotExists, Or, Predicate
from ..runs.failures import failed_item_entry
from ..runs.lifecycle import run_to_end
from ..runs.part import WritePart
from ..runs.run import begin_run
from ..runs.writer import Embed, Writer
from ..store.contract import Store
from ..store.specs import SearchSpec
from .progress import Progress
from .vectors import matrix

if TYPE_CHECKING:
    from ..llm import LLM


NEIGHBOURS = 5  # seed 1: k=5
_ENTITY_NEIGHBOURS = 3  # seed 1: k=3, of that entity
_MAX_GENERATION = 6
_PATIENCE = 3  # times in a row that no call at all is answered, after which a run stops
# of HTTP: the key or the model is wrong, or nothing is paid for
_REFUSED = (401, 402, 403, 404)

EmbedQuery = Callable[[str], Any]


class Limits(Struct, frozen=True):
    """How far a run looks, and how deep it goes."""

    neighbours: int = NEIGHBOURS
    entity_neighbours: int = _ENTITY_NEIGHBOURS
    # the highest generation there is: what reached it is built upon no further
    depth: int = _MAX_GENERATION


class DreamServices(Struct, frozen=True):
    """What a memory lends to its dreaming runs."""

    store: Store
    tenant: str
    llm: LLM
    model: str  # name of the embedder
    embed: Embed
    embed_query: EmbedQuery
    limits: Limits = Limits()


class DreamContext:
    """What one run works with. Its methods may be called from several threads.

    Args:
        store, tenant: whose memory.
        llm: the model; every call of the run goes through it.
        writer: the run's way to the store.
        embed_query: makes the vector of a text.
        limits: see `Limits`.
    """

    def __init__(
        self,
        store: Store,
        tenant: str,
        llm: LLM,
        writer: Writer,
        embed_query: EmbedQuery,
        limits: Limits = Limits(),  # noqa: B008 - frozen
    ) -> None:
        self.store = store
        self.tenant = tenant
        self.llm = llm
        self.writer = writer
        self.embed_query = embed_query
        self.limits = limits
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
        limit = self.limits.neighbours
        # not "below the depth": what was read has no generation stored
        conditions: list[Predicate] = [Not(Gte("generation", self.limits.depth))]
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
                # those to leave out may be the best
                limit=limit + len(exclude),
            ),
        )
        records = [match.record for match in matches if match.record.id not in exclude]
        return [record for record in records if isinstance(record, Resource)][:limit]

    def _stored_vector(self, id: str) -> Any:
        """The vector of a resource as a whole; None if it has none."""
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

    def progress(self, phase: str, done: int, total: int, name: str) -> Progress:
        """How far the run has come, with what it has asked of the model so far."""
        calls = self.writer.run.counts.get("calls", 0)
        return Progress(
            phase=phase,
            done=done,
            total=total,
            name=name,
            calls=calls,
            tokens=self.llm.spent,
        )


@contextmanager
def open_run(
    services: DreamServices,
    kind: str,
    settings: dict[str, Any],
    *,
    budget: Budget | None = None,
    dry_run: bool = False,
) -> Iterator[DreamContext]:
    """Begin or resume a run, and end it when the work inside is over; see `runs.lifecycle`.

    Raises:
        ConflictError: a run of this kind is going on.
    """
    run = begin_run(services.store, kind, settings, dry_run=dry_run)
    writer = Writer(
        services.store,
        services.tenant,
        run,
        model=services.model,
        embed=services.embed,
        dry_run=dry_run,
    )
    with run_to_end(writer):
        with services.llm.run(
            run.id, budget or Budget(), keep=not dry_run, watch=writer.watch()
        ) as llm:
            yield DreamContext(
                services.store,
                services.tenant,
                llm,
                writer,
                services.embed_query,
                services.limits,
            )
        if not dry_run:
            # before the run ends: a process that is killed here resumes it, and deletes them then
            services.llm.finish(run.id)


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
    """A resource as prompts quote it: with where it is from, its year, and how it is trusted."""
    year = str(resource.starts_at.year) if resource.starts_at else ""
    source = Hit(record=resource).source
    return Quote(resource.content, source=source, trust=resource.trust, note=year)


def is_since(resource: Resource, since: datetime | None) -> bool:
    """Whether a resource happened, or was remembered, since a time; None: since ever."""
    if since is None:
        return True
    return any(at is not None and at >= since for at in (resource.starts_at, resource.created_at))


def years_of(resources: Sequence[Resource]) -> list[int]:
    """The years that resources speak of, ascending."""
    years = {year for resource in resources for year in resource.metadata.get("years", ())}
    years.update(resource.starts_at.year for resource in resources if resource.starts_at)
    return sorted(years)


def _stops_the_run(error: ModelError) -> bool:
    if isinstance(error, ModelRefusedError):
        return error.fields.get("status") in _REFUSED
    return isinstance(error, BudgetError | ModelNotConfiguredError | ModelCallsForbiddenError)
