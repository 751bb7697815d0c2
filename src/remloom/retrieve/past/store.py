"""A view of a store as it was at a time, which recall asks like any store.

It goes by when something was written here: what was written later is not there, a text that was
replaced or written over since says what it said, and an edge is there if it was in force. The
indexes hold what is now; of what said something else, which is little, the words are compared here,
and the meaning of the likeliest. What is not kept cannot be seen: what a file or chat said before
it was read again, what was forgotten, and edges that were deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec.structs import replace

from ...model import Direction, Edge, EdgeKey, Moment, RecallHit, Record, Resource, is_written_after
from ...model.premises import Stale
from ...predicates import And, Lte, Query
from ...store.as_of import lookup_at, retracted_at
from ...store.batch import Vector
from ...store.contract import Store
from ...store.premises import find_stale, named
from ...store.results import Match, with_summaries
from ...store.specs import EdgeSpec, NameSpec, SearchSpec
from ..scores import score_texts
from .former import MOST_CHANGED, FormerTexts, VectorsOf

_SPARE = 20  # names that are looked at beyond those that are wanted


class PastStore:
    """What a store held at a time. It reads what `Recaller` reads of one. One is for one question.

    Args:
        question: what is asked.
        vectors_of: gives the vectors of former texts; None: they are found by their words alone.
    """

    def __init__(
        self, store: Store, at: datetime, question: str, vectors_of: VectorsOf | None = None
    ) -> None:
        self.at = at
        self._store = store
        self._former = FormerTexts(store, at, question, vectors_of)
        self.records = _Records(store, self._former)
        self.search = _Search(store, self._former)
        self.graph = _Graph(store, at)
        self.vectors = _Vectors(store, self._former)
        self.token_vectors = _TokenVectors(store, self._former)
        self.snapshot = store.snapshot
        self.schemas = store.schemas
        with store.snapshot():
            self._former.look_through()

    @property
    def note(self) -> str:
        """What is not seen of that time; or nothing."""
        if self._former.are_all:
            return ""
        return (
            f"of more than {MOST_CHANGED:,} records that changed since, "
            "not all were looked at as they were"
        )

    def find_stale(self, ids: Iterable[str]) -> dict[str, Stale]:
        """Which of some records did not hold any more at that time, as is known now."""
        records = self._store.records
        return named(records, find_stale(records, ids, as_of=self.at))

    def told(self, hits: Sequence[RecallHit]) -> list[RecallHit]:
        """Hits with what is known of them now: that they were retracted later, or that what they
        said is not kept. Neighbours of which this is so are left out, and what a text quotes of
        them."""
        return list(map(self._told, hits))

    def _told(self, hit: RecallHit) -> RecallHit:
        record = hit.record
        is_later = is_written_after(record, self.at)
        if is_later and isinstance(record, Resource) and record.is_chunk:
            record = replace(record, context="")
        return replace(
            hit,
            record=record,
            written_later=is_later,
            retracted_at=retracted_at(self._store, hit.id, self.at),
            before=self._sound(hit.before),
            after=self._sound(hit.after),
        )

    def _sound(self, beside: Sequence[Resource]) -> tuple[Resource, ...]:
        return tuple(
            one
            for one in beside
            if not is_written_after(one, self.at)
            and retracted_at(self._store, one.id, self.at) is None
        )


class _Records:
    def __init__(self, store: Store, former: FormerTexts) -> None:
        self._store = store
        self._records = store.records
        self._former = former

    def get(self, schema: str | None, id: str) -> Record | None:
        found = self._records.get(schema, id)
        return None if found is None else self._former.record(found)

    def lookup(
        self,
        keys: Sequence[str],
        *,
        edges: int = 0,
        as_of: datetime | None = None,
        limit: int | None = None,
        own: bool = False,
    ) -> dict[str, list[Record]]:
        at = self._former.at
        found = lookup_at(self._store, keys, at, edges=edges, limit=limit, own=own)
        return {key: records[:limit] for key, records in found.items()}

    def query(self, schema: str, query: Query) -> list[Record]:
        early = Lte("created_at", self._former.at)
        where = early if query.where is None else And((query.where, early))
        return self._former.records(self._records.query(schema, replace(query, where=where)))

    def referring(self, ids: Sequence[str]) -> list[Moment]:
        return self._moments(self._records.referring(ids))

    def moments_between(self, start: datetime, end: datetime) -> list[Moment]:
        return self._moments(self._records.moments_between(start, end))

    def complete(self, prefix: str, limit: int) -> list[str]:
        # names of now: what they mean is looked up as it was
        return self._records.complete(prefix, limit)

    def _moments(self, found: Sequence[Moment]) -> list[Moment]:
        return [one for one in self._former.records(found) if isinstance(one, Moment)]


class _Search:
    def __init__(self, store: Store, former: FormerTexts) -> None:
        self._search = store.search
        self._former = former

    def names(self, text: str, spec: NameSpec) -> list[Match]:
        found = self._search.names(text, replace(spec, limit=spec.limit + _SPARE))
        return self._as_they_were(found)[: spec.limit]

    def text(self, text: str, spec: SearchSpec) -> list[Match]:
        found = self._found(partial(self._search.text, text), spec)
        beside = [match.record for match in found]
        former = self._former.matches(text, spec, beside)
        if former:
            # on the scale of the index, which knows all texts
            factor = _factor(found, score_texts(text, beside))
            found += [replace(match, score=match.score * factor) for match in former]
        return _best(found, spec)

    def vector(self, vector: Sequence[float], spec: SearchSpec) -> list[Match]:
        found = self._found(partial(self._search.vector, vector), spec)
        return _best([*found, *self._former.nearest(vector, spec)], spec)

    def begin_vector(self, vector: Sequence[float], spec: SearchSpec) -> Callable[[], list[Match]]:
        return partial(self.vector, vector, spec)

    def _found(self, search: Callable[[SearchSpec], list[Match]], spec: SearchSpec) -> list[Match]:
        """What the index finds, as far as it said that then."""
        early = Lte("created_at", self._former.at)
        where = early if spec.where is None else And((spec.where, early))
        found = search(replace(spec, where=where))
        known = {match.record.id for match in found}
        # what takes the place of another may have held before it was written
        found += [match for match in search(spec) if match.record.id not in known]
        for match in found:
            self._former.follow(match.record)
        return self._as_they_were(found)

    def _as_they_were(self, found: Sequence[Match]) -> list[Match]:
        return [
            replace(match, record=past)
            for match in found
            if self._former.says_the_same(match.record)
            and (past := self._former.record(match.record)) is not None
        ]


class _Graph:
    """The edges that were in force."""

    def __init__(self, store: Store, at: datetime) -> None:
        self._graph = store.graph
        self._at = at

    def edge_types(self) -> list[str]:
        return self._graph.edge_types()

    def edges(self, spec: EdgeSpec) -> list[Edge]:
        return self._graph.edges(replace(spec, as_of=self._at))

    def edge_keys(self, spec: EdgeSpec) -> list[EdgeKey]:
        return self._graph.edge_keys(replace(spec, as_of=self._at))

    def count(self, keys: Sequence[str], *, direction: Direction, **_options: Any) -> int:
        return self._graph.count(keys, direction=direction, as_of=self._at)


class _Vectors:
    def __init__(self, store: Store, former: FormerTexts) -> None:
        self._vectors = store.vectors
        self._former = former

    def model(self) -> tuple[str, int] | None:
        return self._vectors.model()

    def of(self, ids: Sequence[str]) -> dict[str, list[Vector]]:
        found = self._vectors.of([id for id in ids if not self._former.is_former(id)])
        former = {id: self._former.windows(id) for id in ids if self._former.is_former(id)}
        return found | {id: windows for id, windows in former.items() if windows}


class _TokenVectors:
    def __init__(self, store: Store, former: FormerTexts) -> None:
        self._vectors = store.token_vectors
        self._former = former

    def models(self) -> list[tuple[str, int]]:
        return self._vectors.models()

    def of(self, ids: Sequence[str], *, model: str) -> dict[str, bytes]:
        same = [id for id in ids if not self._former.is_former(id)]
        return self._vectors.of(same, model=model)


def _best(found: Iterable[Match], spec: SearchSpec) -> list[Match]:
    return with_summaries(sorted(found, key=lambda match: -match.score), spec)


def _factor(found: Iterable[Match], scored: Iterable[Match]) -> float:
    """How much higher an index scores texts than `score_texts` scores the same among themselves."""
    own = {match.record.id: match.score for match in scored}
    scores = [(match.score, own[match.record.id]) for match in found if match.record.id in own]
    total = sum(one for _, one in scores)
    return sum(one for one, _ in scores) / total if total else 1.0
