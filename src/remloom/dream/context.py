"""What every cycle thinks with: the store, the model, what is near a text, and the run it writes
for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
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
from ..llm import Call, Quote
from ..model import Hit, Resource
from ..predicates import And, Eq, Gte, Lte, Not, NotExists, Or, Predicate
from ..runs.writer import Writer
from ..store.contract import Store
from .vectors import matrix

if TYPE_CHECKING:
    from ..llm import LLM

__all__ = ["DEPTH", "NEIGHBOURS", "DreamContext", "Limits", "quote", "years"]

NEIGHBOURS = 5  # seed 1: k=5
PATIENCE = 3  # times in a row that no call at all is answered, after which a run stops
ABOUT_ENTITY = 3  # seed 1: k=3, of that entity
DEPTH = 6  # the highest generation there is: what reached it is built upon no further
_REFUSED = (401, 402, 403, 404)  # of HTTP: the key or the model is wrong, or nothing is paid for

EmbedQuery = Callable[[str], Any]


class Limits(Struct, frozen=True):
    """How far a cycle looks, and how deep it goes."""

    neighbours: int = NEIGHBOURS
    about_entity: int = ABOUT_ENTITY
    depth: int = DEPTH


class DreamContext:
    """One run's means of thinking. Its methods may be called from several threads.

    Args:
        store, tenant: whose memory.
        llm: the model; every call of the run goes through it.
        writer: the run's way to the store.
        embed_query: the vector of a text.
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
        self._down = 0  # how often in a row nothing was answered

    def near(
        self,
        text: str,
        *,
        k: int | None = None,
        until: datetime | None = None,
        without: Collection[str] = (),
        outside: str = "",
        of: str = "",
    ) -> list[Resource]:
        """The resources most like a text, best first, that may still be built upon.

        Args:
            k: how many; default `Limits.neighbours`.
            until: none of a later time. What has no time counts as known.
            without: ids to leave out.
            outside: a uri to leave out.
            of: id of the resource whose vectors stand for the text, if it has any.
        """
        k = k or self.limits.neighbours
        # what was read has none
        parts: list[Predicate] = [Not(Gte("generation", self.limits.depth))]
        if until is not None:
            parts.append(Or((NotExists("starts_at"), Lte("starts_at", until))))
        if outside:
            parts.append(Not(Eq("uri", outside)))
        vector = self._stored(of) if of else None
        if vector is None:
            vector = self.embed_query(text)
        found = self.store.search_vector(
            vector,
            schema="resources",
            where=And(tuple(parts)),
            limit=k + len(without),
            min_score=None,
        )
        return [
            match.record
            for match in found
            if isinstance(match.record, Resource) and match.record.id not in without
        ][:k]

    def _stored(self, id: str) -> Any:
        """The direction of a resource as a whole, if it has one stored."""
        (vector,) = matrix(self.store, [id])
        return vector if vector.any() else None

    def ask_all(self, calls: Sequence[Call]) -> list[Any]:
        """Replies, each a value or the `ModelError` in its place.

        Raises:
            ModelError: one that the next call would meet as well: no budget left, a wrong key, an
                endpoint that did not answer several times in a row.
        """
        if not calls:
            return []
        replies = self.llm.ask_all(calls)
        self.writer.count_calls(replies)
        for reply in replies:
            if isinstance(reply, ModelError) and _hopeless(reply):
                raise reply
        down = all(isinstance(reply, ModelUnavailableError) for reply in replies)
        self._down = self._down + 1 if down else 0
        if self._down >= PATIENCE:
            raise replies[0]
        return replies


def _hopeless(error: ModelError) -> bool:
    if isinstance(error, ModelRefusedError):
        return error.fields.get("status") in _REFUSED
    return isinstance(error, BudgetError | ModelNotConfiguredError | ModelCallsForbiddenError)


def quote(resource: Resource) -> Quote:
    """A resource as it stands in a prompt: where it is from, its year, how far it is to be trusted."""
    year = str(resource.starts_at.year) if resource.starts_at else ""
    return Quote(
        resource.content, source=Hit(record=resource).source, trust=resource.trust, note=year
    )


def years(resources: Sequence[Resource]) -> list[int]:
    """The years these speak of, ascending."""
    found = {year for resource in resources for year in resource.metadata.get("years", ())}
    return sorted(found | {resource.starts_at.year for resource in resources if resource.starts_at})
