"""A view of a store that has only what was granted: to those who ask, the rest does not exist.

Recall and LOOKUP ask it like any store. Its records show what they say themselves and nothing that
points to others; it has no edges. There is no SQL, no traversal and no writing in it.

A store's index scores a text with the statistics of all texts, a turn of a chat with the turns
next to it, and a name by the passes in which it was found: all of it would tell of what was not
granted. So records are scored by what they say themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec.structs import replace

from .. import labels
from ..errors import ForbiddenError, InvalidInputError
from ..model import Entity, Moment, Record, Resource, Row
from ..model.premises import Stale
from ..predicates import All, And, In, Not, Or, Predicate, Query, VectorSimilar
from ..retrieve.scores import score_texts
from ..sql.columns import RENAMED
from ..store.batch import Vector
from ..store.contract import Store
from ..store.definitions import Schemas
from ..store.encoding import SCHEMAS
from ..store.indexes.name_similarity import NameMatches, split_name
from ..store.premises import find_stale, named
from ..store.results import Match, with_summaries
from ..store.specs import MOST_SUMMARIES, EdgeSpec, NameSpec, SearchSpec

_AT_ONCE = 500  # ids of one query
_POOL = 300  # records with words of a question that are ranked again, at least
_DEEP = 4  # times the limit, if that is more
_MOST_NAMES = 200  # names like one that are looked through
_OFFERED = 0.3  # likeness of them, at least
# Fields that point from a record to others, or quote them. A condition on one of them would tell,
# answer by answer, what it holds.
UNSHOWN = frozenset({
    "aliases", "context", "embedding", "entity_refs", "graph_paths", "parent_moment", "parents",
    "premises", "present_persons", "related_entities", "resource_refs",
})  # fmt: skip


class GrantedStore:
    """What some grants show of a store. It reads what `Recaller` and `Executor` read of one.

    Args:
        conditions: for each schema that was granted, which of its records.
    """

    def __init__(self, store: Store, conditions: Mapping[str, Predicate]) -> None:
        registered = store.schemas()
        # a schema may have been dropped since
        known = {*SCHEMAS, *registered}
        scope = _Scope(store, {name: conditions[name] for name in conditions if name in known})
        self.granted = frozenset(scope.conditions)
        self._registered = {name: registered[name] for name in registered if name in self.granted}
        self.records = _Records(scope)
        self.search = _Search(scope)
        self.graph = _NoGraph()
        self.vectors = _Vectors(scope)
        self.token_vectors = _TokenVectors(scope)
        self.snapshot = store.snapshot
        self._scope = scope

    def schemas(self) -> Schemas:
        """The definitions of the registered schemas that were granted."""
        return self._registered

    def find_stale(self, ids: Iterable[str]) -> dict[str, Stale]:
        """Find which of some granted records are stale; of why, only the reason where what changed,
        or what lies between, was not granted."""
        records = self._scope.store.records
        found = find_stale(records, ids)
        on_the_way = {id for one in found.values() for id in (*one.path, one.by) if id}
        granted = {*self._scope.granted(list(on_the_way))}
        seen = {
            id: one
            for id, one in found.items()
            if granted.issuperset((*one.path, *filter(None, [one.by])))
        }
        hidden = {id: Stale(reason=found[id].reason) for id in found.keys() - seen.keys()}
        return named(records, seen) | named(records, hidden)


class _Scope:
    """The store, and which of its records were granted."""

    def __init__(self, store: Store, conditions: Mapping[str, Predicate]) -> None:
        self.store = store
        self.conditions = conditions

    def narrowed(self, schema: str, where: Predicate | None) -> Predicate:
        """The condition of a granted schema, and another one that was asked for."""
        granted = self.conditions[schema]
        if where is None:
            return granted
        columns = {*self.store.sql.columns(schema)}
        if (definition := self.store.schemas().get(schema)) is not None:
            columns.update(definition.renamed)
        return And((granted, permitted(where, columns)))

    def granted(self, ids: Sequence[str]) -> list[str]:
        """Those of some ids whose records were granted."""
        found: list[str] = []
        for schema, condition in self.conditions.items():
            for start in range(0, len(ids), _AT_ONCE):
                query = Query().filter(In("id", ids[start : start + _AT_ONCE])).filter(condition)
                found += [record.id for record in self.store.records.query(schema, query)]
        return found

    def among(self, records: Iterable[Record]) -> list[Record]:
        """The records that were granted, as they are shown, in their order."""
        records = list(records)
        granted = {*self.granted([record.id for record in records])}
        return [_shown(record) for record in records if record.id in granted]


class _Records:
    def __init__(self, scope: _Scope) -> None:
        self._scope = scope
        self._records = scope.store.records

    def get(self, schema: str | None, id: str) -> Record | None:
        found = self._records.get(schema, id)
        return next(iter(self._scope.among([found] if found is not None else [])), None)

    def of(self, ids: Sequence[str]) -> dict[str, Record]:
        return {one.id: one for one in self._scope.among(self._records.of(ids).values())}

    def lookup(
        self,
        keys: Sequence[str],
        *,
        edges: int = 0,
        as_of: datetime | None = None,
        limit: int | None = None,
        own: bool = False,
    ) -> dict[str, list[Record]]:
        # those that were not granted take none of the places
        found = self._records.lookup(keys, edges=0, own=own)
        every = {record.id: record for some in found.values() for record in some}
        shown = {record.id: record for record in self._scope.among(every.values())}
        return {
            key: [shown[one.id] for one in some if one.id in shown and _goes_by(one, key)][:limit]
            for key, some in found.items()
        }

    def query(self, schema: str, query: Query) -> list[Record]:
        if schema not in self._scope.conditions:
            return []
        narrowed = replace(query, where=self._scope.narrowed(schema, query.where))
        return [_shown(record) for record in self._records.query(schema, narrowed)]

    def referring(self, ids: Sequence[str]) -> list[Moment]:
        # each turn of a session would have to be looked for among what was granted
        return []

    def moments_between(self, start: datetime, end: datetime) -> list[Moment]:
        found = self._scope.among(self._records.moments_between(start, end))
        return [moment for moment in found if isinstance(moment, Moment)]

    def complete(self, prefix: str, limit: int) -> list[str]:
        # the first names of the whole store would crowd out those that were granted
        return []


class _Search:
    def __init__(self, scope: _Scope) -> None:
        self._scope = scope
        self._search = scope.store.search

    def names(self, text: str, spec: NameSpec) -> list[Match]:
        # names that were not granted take none of the places
        wide = replace(spec, limit=_MOST_NAMES, threshold=min(_OFFERED, spec.threshold))
        found = self._scope.among(match.record for match in self._search.names(text, wide))
        return score_names(text, found, spec.threshold)[: spec.limit]

    def vector(self, vector: Sequence[float], spec: SearchSpec) -> list[Match]:
        found = self._nearest(vector, spec)
        for schema in spec.summaries:
            # what was granted of them is found as of any schema
            beside = replace(spec, schema=schema, where=None, limit=MOST_SUMMARIES, summaries=())
            found += self._nearest(vector, beside)
        return with_summaries(sorted(found, key=lambda match: -match.score), spec)

    def _nearest(self, vector: Sequence[float], spec: SearchSpec) -> list[Match]:
        if spec.schema is None or spec.schema not in self._scope.conditions:
            return []
        where = self._scope.narrowed(spec.schema, spec.where)
        found = self._search.vector(vector, replace(spec, where=where, summaries=()))
        return [replace(match, record=_shown(match.record)) for match in found]

    def begin_vector(self, vector: Sequence[float], spec: SearchSpec) -> Callable[[], list[Match]]:
        return partial(self.vector, vector, spec)

    def text(self, text: str, spec: SearchSpec) -> list[Match]:
        pool: list[Record] = []
        for schema in self._scope.conditions:
            if spec.schema in (None, schema) or schema in spec.summaries:
                where = None if schema in spec.summaries else spec.where
                count = max(_POOL, _DEEP * spec.limit)
                narrowed = SearchSpec(count, schema, self._scope.narrowed(schema, where))
                found = self._search.text(text, narrowed)
                pool += [_shown(match.record) for match in found]
        return with_summaries(score_texts(text, pool), spec)


class _NoGraph:
    """The edges of a memory, none of which is granted."""

    def edge_types(self) -> list[str]:
        return []

    def count(self, keys: Sequence[str], **_options: Any) -> int:
        return 0

    def edge_keys(self, spec: EdgeSpec) -> list[Any]:
        return []

    def edges(self, spec: EdgeSpec) -> list[Any]:
        return []


class _Vectors:
    def __init__(self, scope: _Scope) -> None:
        self._scope = scope

    def model(self) -> tuple[str, int] | None:
        return self._scope.store.vectors.model()

    def of(self, ids: Sequence[str]) -> dict[str, list[Vector]]:
        return self._scope.store.vectors.of(self._scope.granted(ids))


class _TokenVectors:
    def __init__(self, scope: _Scope) -> None:
        self._scope = scope

    def models(self) -> list[tuple[str, int]]:
        return self._scope.store.token_vectors.models()

    def of(self, ids: Sequence[str], *, model: str) -> dict[str, bytes]:
        return self._scope.store.token_vectors.of(self._scope.granted(ids), model=model)


def _goes_by(record: Record, key: str) -> bool:
    return any(labels.key(name) == key for name in names_of(record) if name.strip())


def _shown(record: Record) -> Record:
    """A record without what points to others, or quotes them."""
    if isinstance(record, Resource):
        pointers = {"context": "", "related_entities": (), "parents": (), "premises": {}}
        return replace(record, graph_paths=(), rests_on=(), **pointers)
    if isinstance(record, Entity):
        return replace(record, aliases=(), graph_paths=())
    if isinstance(record, Moment):
        present = tuple(replace(person, id="") for person in record.present_persons)
        return replace(
            record,
            premises={},
            present_persons=present,
            resource_refs=(),
            entity_refs=(),
            parent_moment="",
            graph_paths=(),
        )
    return replace(record, related_entities=(), graph_paths=())


def permitted(where: Predicate, columns: Collection[str]) -> Predicate:
    """Return a condition with the full paths of its fields.

    A bare name that is not a column means a key of the record's own JSON: whether any record of the
    store has such a key is not looked up.

    Args:
        columns: of the schema that it is for.

    Raises:
        ForbiddenError: it asks for a field that is not shown.
        InvalidInputError: it has a `VectorSimilar`.
    """
    match where:
        case All():
            return where
        case And() | Or():
            parts = tuple(permitted(part, columns) for part in where.predicates)
            return replace(where, predicates=parts)
        case Not():
            return Not(permitted(where.predicate, columns))
        case VectorSimilar():
            raise InvalidInputError(
                "VectorSimilar is no condition for other tenants", remedy="search for the text"
            )
        case _:
            return replace(where, field=_path(where.field, columns))


def _path(name: str, columns: Collection[str]) -> str:
    name = RENAMED.get(name, name)
    root = name.partition(".")[0]
    if root.casefold() in UNSHOWN:
        raise ForbiddenError(
            f"other tenants do not show {root!r}", remedy="ask for what their records say"
        )
    if root in columns:
        return name
    return f"{'properties' if 'properties' in columns else 'metadata'}.{name}"


def names_of(record: Record) -> tuple[str, ...]:
    """List the names that a record goes by. An alias of an entity may come from anywhere: it is
    none of them; those of a row are its own fields."""
    if isinstance(record, Row):
        return tuple(dict.fromkeys((record.handle, record.name, *record.aliases)))
    return (record.name,)


def score_names(text: str, records: Sequence[Record], threshold: float) -> list[Match]:
    """Rank the records whose best name is like a text, best first; ties by name, then by id."""
    key = labels.key(text)
    words = split_name(key, query=True)
    matches = []
    for record in records:
        keys = [labels.key(name) for name in names_of(record) if name.strip()]
        found = NameMatches(1, None)
        found.add(list(enumerate(keys)), key, words, threshold)
        for number, score in found.best():
            matches.append(Match(record, score, keys[number]))
    return sorted(matches, key=lambda match: (-match.score, match.matched, match.record.id))
