"""Search: names by trigrams, texts by BM25, vectors by HNSW. See `components.Search`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ... import labels
from ...errors import LabelError, VectorError
from ...predicates import All, And, Predicate
from ..indexes.name_similarity import GOOD, Found, words_of
from ..results import Match
from ..schemas import check_schema
from ..specs import NameSpec, SearchSpec
from ..vector_validation import to_vector
from . import bm25_index
from .compilers import Compilers
from .database import Database
from .halfvec import Half
from .rows import COLUMNS, decode
from .short_keys import short
from .trigram_index import OF_TYPE, Names
from .vector_search import Near, Nearest, Serving, serving

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["PostgresSearch"]

# times the limit is asked of an index first when hits may be filtered out or be windows of one
# record
_OVERFETCH = 4


class PostgresSearch:
    """Search over one tenant.

    Args:
        ef: candidates that an HNSW search keeps.
    """

    def __init__(self, server: Database, tenant: str, compilers: Compilers, ef: int) -> None:
        self._server = server
        self._tenant = tenant
        self._compilers = compilers
        self._ef = ef
        self._serving: Serving | None = None  # as it was at the last search

    # -- names -------------------------------------------------------------------------------------

    def names(self, text: str, spec: NameSpec) -> list[Match]:
        type, threshold, limit = spec.type, spec.threshold, spec.limit
        try:
            key = labels.key(text)
        except LabelError:
            return []
        found, numbers = Found(limit, None), _Numbers()
        words = words_of(key, asked=True)
        with self._server.read(self._tenant) as cursor:
            names = Names(cursor, self._tenant, key, words, type)
            tail = names.tail()
            found.add(numbers.of([*tail, *names.near()]), key, (), threshold)
            good = sum(score >= GOOD for _, score in found.best())
            if good < limit and words:
                # Where something is what was meant, only names that have every word are worth
                # adding.
                likely = [name for name in tail if not good or all(map(name.__contains__, words))]
                more = names.with_all_words() if good else names.with_some_words()
                found.add(numbers.of([*likely, *more]), key, words, threshold)
            named = list(numbers)
            best = [(named[number], score) for number, score in found.best()]
            return self._records(cursor, best, type, limit)

    def _records(
        self, cursor: Cursor[Any], best: Sequence[tuple[str, float]], type: str | None, limit: int
    ) -> list[Match]:
        """The records that have these names, in their order, each once."""
        if not best:
            return []
        rows = cursor.execute(
            f"SELECT n.key, coalesce(n.label, n.key), r.id, {COLUMNS} FROM remloom.names n JOIN remloom.records r"
            " ON r.tenant_id = n.tenant_id AND r.id = n.id WHERE n.tenant_id = %(tenant)s AND n.key = ANY (%(keys)s)"
            f"{f' AND {OF_TYPE}' if type else ''} ORDER BY n.rank, r.seq",
            {"tenant": self._tenant, "keys": [short(name) for name, _ in best], "type": type},
        ).fetchall()
        by_key: dict[str, list[Any]] = {}
        for key, *row in rows:
            by_key.setdefault(key, []).append(row)
        found: dict[str, Match] = {}
        for name, score in best:
            for matched, id, schema, body, content in by_key.get(short(name), ()):
                if id not in found:
                    found[id] = Match(decode(schema, body, content), score, matched)
        return list(found.values())[:limit]

    # -- texts -------------------------------------------------------------------------------------

    def text(self, text: str, spec: SearchSpec) -> list[Match]:
        where, limit = spec.where, spec.limit
        condition, values = self._condition(spec.schema, where)
        with self._server.filtering(self._tenant, where) as cursor:
            numbers, scores = bm25_index.score(cursor, self._tenant, text)
            matches: list[Match] = []
            start, count = 0, limit if not condition else limit * _OVERFETCH
            while start < len(numbers) and len(matches) < limit:
                some = numbers[start : start + count].tolist()
                rows = cursor.execute(
                    f"SELECT r.doc, {COLUMNS} FROM remloom.records r"
                    f" WHERE r.tenant_id = %s AND r.doc = ANY (%s){condition}",
                    (self._tenant, some, *values),
                ).fetchall()
                records = {doc: row for doc, *row in rows}
                matches += [
                    Match(decode(*records[doc]), float(score))
                    for doc, score in zip(some, scores[start : start + count], strict=True)
                    if doc in records
                ]
                start, count = start + count, count * _OVERFETCH
            return matches[:limit]

    # -- vectors -----------------------------------------------------------------------------------

    def vector(self, vector: Sequence[float], spec: SearchSpec) -> list[Match]:
        schema, where, limit = check_schema(spec.schema or ""), spec.where, spec.limit
        min_score = spec.min_score
        data, dims = to_vector(vector, what="the query")
        condition, values = self._condition(None, where, schema)
        ef = max(self._ef, limit)

        def asked(of: Serving) -> Nearest:
            return Nearest(self._tenant, schema, of, Half(data), condition, values, ef)

        best = None
        if not condition and self._serving is not None and self._serving.dims == dims:
            best = self._at_once(asked(self._serving), self._serving, limit)
        if best is None:
            with self._server.filtering(self._tenant, where) as cursor:
                self._serving = serving(cursor, self._tenant, ef)
                if self._serving is None:
                    return []
                if dims != self._serving.dims:
                    raise VectorError(
                        f"the query has {dims} dimensions, this memory's vectors {self._serving.dims}",
                        remedy="embed the query with the embedder of this memory",
                    )
                best = _best(asked(self._serving), cursor, limit)
        matches = [
            Match(
                decode(near.schema, near.body, near.content),
                1.0 - near.distance,
                f"{near.first}:{near.last}",
            )
            for near in best.values()
            if min_score is None or 1.0 - near.distance >= min_score
        ]
        return matches[:limit]

    def _at_once(self, nearest: Nearest, of: Serving, limit: int) -> dict[str, Near] | None:
        """The records nearest, in one round trip; None if another model serves by now, or more is
        to be asked for."""
        found = nearest.at_once(self._server, limit)
        if found is None:
            return None
        best = _first_windows(found)
        return best if len(best) == limit or (len(found) < limit and not of.indexed) else None

    def _condition(
        self, schema: str | None, where: Predicate | None, compiled_as: str | None = None
    ) -> tuple[str, list[Any]]:
        """What is to be added to the WHERE of a statement over the records `r`."""
        text, values = "", list[Any]()
        if schema is not None:
            text, values = " AND r.schema = %s", [schema]
        if where is not None and not isinstance(where, All):
            as_schema = compiled_as or schema or "resources"
            sql, more = self._compilers.of(as_schema).compile(
                where if as_schema == schema else And((where,))
            )
            text, values = f"{text} AND ({sql})", [*values, *more]
        return text, values


def _best(nearest: Nearest, cursor: Cursor[Any], limit: int) -> dict[str, Near]:
    """The records nearest; more windows are asked for only where several of a record are among
    them: that is dear."""
    count = limit
    while True:
        found = nearest.best(cursor, count)
        best = _first_windows(found)
        if len(best) >= limit or len(found) < count:
            return best
        count *= _OVERFETCH


def _first_windows(found: Iterable[Near]) -> dict[str, Near]:
    """The first window of each record."""
    best: dict[str, Near] = {}
    for window in found:
        best.setdefault(window.id, window)
    return best


class _Numbers(dict[str, int]):
    """Names by number, in order, as `Found` takes them."""

    def of(self, names: Iterable[str]) -> list[tuple[int, str]]:
        """Each of these once."""
        return [(self.setdefault(name, len(self)), name) for name in dict.fromkeys(names)]
