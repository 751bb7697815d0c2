"""Search: names by trigrams, texts by BM25, vectors by HNSW. See `components.SearchIndex`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from msgspec.structs import replace

from ... import labels
from ...errors import LabelError, VectorError
from ...model import Resource
from ...predicates import All, And, Predicate
from ..encoding import has_expired, now, searchable_text
from ..indexes.name_similarity import GOOD_SCORE, NameMatches, split_name
from ..predicate_sql import Compilers
from ..results import Match, with_summaries
from ..rules.provenance import show_parents
from ..rules.vector_validation import to_vector
from ..specs import MOST_SUMMARIES, NameSpec, SearchSpec
from .binary_arrays import Half
from .database import PostgresDatabase, TenantCursor
from .indexes import bm25_index
from .indexes.trigram_index import NameCandidates
from .rows import SQL, decode, short

# times the limit is asked of an index first when hits may be filtered out or be windows of one
# record
_OVERFETCH = 4
# Records that a filter keeps: up to this many are compared one by one, which is quicker than a
# graph, and exact.
_FEW = 5_000
_MOST = 1_000  # candidates that an HNSW search may keep
_HAS_SUMMARY = " AND r.body ->> 'summary' <> ''"
_PARAMETER = re.compile(r"%s|%%")


class PostgresSearch:
    """Search over one tenant.

    Args:
        ef: candidates that an HNSW search keeps.
    """

    def __init__(self, server: PostgresDatabase, compilers: Compilers, ef: int) -> None:
        self._server = server
        self._compilers = compilers
        self._reader = compilers.definitions.reader
        self._ef = ef
        self._serving: Serving | None = None  # as it was at the last search

    # -- names -------------------------------------------------------------------------------------

    def names(self, text: str, spec: NameSpec) -> list[Match]:
        try:
            key = labels.key(text)
        except LabelError:
            return []
        limit, found = spec.limit, -1
        while True:
            matches = self._named(key, replace(spec, limit=limit))
            present = [match for match in matches if not has_expired(match.record)]
            if len(present) >= min(len(matches), spec.limit) or len(matches) == found:
                return present[: spec.limit]
            # What expired took the places of others.
            found, limit = len(matches), limit * _OVERFETCH

    def _named(self, key: str, spec: NameSpec) -> list[Match]:
        """Find the records that are called like a key, those that have expired too."""
        top = NameMatches(spec.limit, None)
        numbers = _Numbers()
        words = split_name(key, query=True)
        with self._server.read() as cursor:
            names = NameCandidates(cursor, key, words, spec.type)
            tail = names.tail()
            top.add(numbers.of([*tail, *names.similar()]), key, (), spec.threshold)
            good = sum(score >= GOOD_SCORE for _, score in top.best())
            if good < spec.limit and words:
                # Where something is what was meant, only names that have every word are worth
                # adding.
                likely = [name for name in tail if not good or all(map(name.__contains__, words))]
                more = names.with_all_words() if good else names.with_some_words()
                top.add(numbers.of([*likely, *more]), key, words, spec.threshold)
            by_number = list(numbers)
            best = [(by_number[number], score) for number, score in top.best()]
            return self._records(cursor, best, spec)

    def _records(
        self, cursor: TenantCursor, best: Sequence[tuple[str, float]], spec: NameSpec
    ) -> list[Match]:
        if not best:
            return []
        sql = SQL.records_named_of_type if spec.type else SQL.records_named
        keys = [short(name) for name, _ in best]
        read_record = self._reader()
        by_key: dict[str, list[Any]] = {}
        for key, *row in cursor.rows(sql, keys=keys, type=spec.type):
            by_key.setdefault(key, []).append(row)
        matches: dict[str, Match] = {}
        for name, score in best:
            for matched, id, schema, body, content in by_key.get(short(name), ()):
                if id not in matches:
                    matches[id] = Match(read_record(decode(schema, body, content)), score, matched)
        return self._shown(list(matches.values())[: spec.limit])

    # -- texts -------------------------------------------------------------------------------------

    def text(self, text: str, spec: SearchSpec) -> list[Match]:
        if spec.schema is not None:
            self._compilers.definitions.of(spec.schema)
        condition, values = self._condition(spec.schema, spec.where)
        later = SQL.fill("texts_by_number", condition=condition), values
        if spec.summaries:
            others = f"r.schema = ANY (%s){_HAS_SUMMARY}"
            condition = f" AND (({condition.removeprefix(' AND ')}) OR {others})"
            values = [*values, list(spec.summaries)]
        sql = SQL.fill("texts_by_number", condition=condition)
        matches: list[Match] = []
        left = spec.limit
        read_record = self._reader()
        with self._server.filtering(spec.where) as cursor:
            numbers, scores = bm25_index.score(cursor, text)
            start = 0
            count = spec.limit * _OVERFETCH if condition else spec.limit
            # More and more at a time, until enough of them meet the condition.
            while start < len(numbers) and left > 0:
                batch = numbers[start : start + count].tolist()
                rows = cursor.execute(sql, (cursor.tenant, batch, *values)).fetchall()
                records = {text_no: row for text_no, *row in rows}
                for text_no, score in zip(batch, scores[start : start + count], strict=True):
                    if text_no not in records:
                        continue
                    record = read_record(decode(*records[text_no]))
                    if not has_expired(record):
                        matches.append(Match(record, float(score)))
                        left -= not spec.summaries or record.schema == spec.schema
                start += count
                count *= _OVERFETCH
                # summaries are found among the first alone: thousands may have the words
                sql, values = later
        return self._shown(with_summaries(matches, spec))

    def having_all(self, text: str, limit: int) -> list[Resource]:
        condition, values = self._condition("resources", None)
        sql = SQL.fill("texts_by_number", condition=condition)
        read_record = self._reader()
        found: list[Any] = []
        with self._server.read() as cursor:
            having, unasked = bm25_index.having_all(cursor, text, limit)
            numbers = having.tolist()
            while numbers and len(found) < limit:
                batch, numbers = numbers[:limit], numbers[limit:]
                rows = cursor.execute(sql, (cursor.tenant, batch, *values)).fetchall()
                records = [read_record(decode(*row)) for _, *row in sorted(rows, key=itemgetter(0))]
                found += [
                    record
                    for record in records
                    if not has_expired(record)
                    and unasked <= bm25_index.terms_in(searchable_text(record))
                ]
        return found[:limit]

    # -- vectors -----------------------------------------------------------------------------------

    def vector(self, vector: Sequence[float], spec: SearchSpec) -> list[Match]:
        found = self._near(vector, spec)
        for schema in spec.summaries:
            beside = SearchSpec(MOST_SUMMARIES, schema, min_score=spec.min_score)
            # an entity without a summary has no vector
            found += self._near(vector, beside, "" if schema == "entities" else _HAS_SUMMARY)
        return with_summaries(sorted(found, key=lambda match: -match.score), spec)

    def _near(self, vector: Sequence[float], spec: SearchSpec, also: str = "") -> list[Match]:
        schema = spec.schema or ""
        self._compilers.definitions.of(schema)
        data, dims = to_vector(vector, what="the query")
        condition, values = self._condition(None, spec.where, schema)
        condition += also
        ef = max(self._ef, spec.limit)
        query = VectorQuery(schema, Half(data), condition, values, ef)
        nearest = self._at_once(query, dims, spec.limit)
        if nearest is None:
            nearest = self._in_transaction(query, dims, spec)
        matches = self._matches(nearest.values(), spec.min_score)
        if any(has_expired(match.record) for match in matches):
            # What expired took the places of others.
            condition += " AND (r.expires IS NULL OR r.expires > %s)"
            query = query._replace(condition=condition, values=[*values, now()])
            nearest = self._in_transaction(query, dims, spec)
            matches = self._matches(nearest.values(), spec.min_score)
        return [match for match in matches if not has_expired(match.record)][: spec.limit]

    def begin_vector(self, vector: Sequence[float], spec: SearchSpec) -> Callable[[], list[Match]]:
        return partial(self.vector, vector, spec)

    def _at_once(self, query: VectorQuery, dims: int, limit: int) -> dict[str, StoredWindow] | None:
        """Fetch the nearest window of each record in one round trip; None if that is not enough:
        there is a filter, another model serves than at the last search, or too few records came."""
        serving = self._serving
        if query.condition or serving is None or serving.dims != dims:
            return None
        windows = NearestWindows(query, serving).fetch_at_once(self._server, limit)
        if windows is None:
            return None
        nearest = _first_windows(windows)
        is_all = len(windows) < limit and not serving.indexed
        return nearest if len(nearest) == limit or is_all else None

    def _in_transaction(
        self, query: VectorQuery, dims: int, spec: SearchSpec
    ) -> dict[str, StoredWindow]:
        """Fetch the nearest window of each record, however many trips it takes."""
        with self._server.filtering(spec.where) as cursor:
            self._serving = read_serving(cursor, query.ef)
            if self._serving is None:
                return {}
            if dims != self._serving.dims:
                raise VectorError(
                    f"the query has {dims} dimensions, this memory's vectors {self._serving.dims}",
                    remedy="embed the query with the embedder of this memory",
                )
            search = NearestWindows(query, self._serving)
            count = spec.limit
            while True:
                windows = search.fetch(cursor, count)
                nearest = _first_windows(windows)
                if len(nearest) >= spec.limit or len(windows) < count:
                    return nearest
                # Several windows of a record are among them. To ask for more at first would make
                # every search slower.
                count *= _OVERFETCH

    def _matches(self, windows: Iterable[StoredWindow], min_score: float | None) -> list[Match]:
        read_record = self._reader()
        matches = []
        for window in windows:
            score = 1.0 - window.distance
            if min_score is None or score >= min_score:
                record = read_record(decode(window.schema, window.body, window.content))
                matches.append(Match(record, score, f"{window.first}:{window.last}"))
        return self._shown(matches)

    def _shown(self, matches: list[Match]) -> list[Match]:
        def fetch_parents(ids: list[str]) -> list[Any]:
            return self._server.fetch(SQL.parents_of_all, ids=ids)

        show_parents((match.record for match in matches), fetch_parents)
        return matches

    def _condition(
        self, schema: str | None, where: Predicate | None, compiled_as: str | None = None
    ) -> tuple[str, list[Any]]:
        """What is to be added to the WHERE of a statement over the records `r`, and its values."""
        condition = ""
        values: list[Any] = []
        if schema is not None:
            condition = " AND r.schema = %s"
            values.append(schema)
        if where is not None and not isinstance(where, All):
            compiler = self._compilers.of(compiled_as or schema or "resources")
            # Among records of every schema a condition is one of several.
            sql, compared = compiler.compile(where if schema is not None else And((where,)))
            condition += f" AND ({sql})"
            values += compared
        return condition, values


def _first_windows(windows: Iterable[StoredWindow]) -> dict[str, StoredWindow]:
    first: dict[str, StoredWindow] = {}
    for window in windows:
        kept = first.setdefault(window.id, window)
        if window.content is not None:
            first[window.id] = kept._replace(content=window.content)
    return first


class _Numbers(dict[str, int]):
    """Numbers of names, given out in order."""

    def of(self, names: Iterable[str]) -> list[tuple[int, str]]:
        return [(self.setdefault(name, len(self)), name) for name in dict.fromkeys(names)]


# -- windows ---------------------------------------------------------------------------------------


class Serving(NamedTuple):
    """The model whose vectors are searched."""

    model: int
    dims: int
    indexed: bool  # whether vectors of this tenant are in the HNSW index


class VectorQuery(NamedTuple):
    """What is searched, and where."""

    schema: str
    vector: Half
    condition: str  # over the records `r`, with `values` for each %s; empty: no filter
    values: list[Any]
    ef: int  # candidates that an HNSW search keeps


class StoredWindow(NamedTuple):
    """A window, how far away it is, and the row of its record; the content, which may be long,
    with one of the windows of a record only."""

    id: str
    first: int
    last: int
    distance: float
    schema: str
    body: bytes
    content: str | None


def read_serving(cursor: TenantCursor, ef: int) -> Serving | None:
    """Read which model serves, and set how this transaction searches the HNSW index."""
    rows = cursor.rows(SQL.serving_model, ef=ef, most=_MOST)
    return Serving(*rows[0][:3]) if rows else None


class NearestWindows:
    """One search, for more and more windows."""

    def __init__(self, query: VectorQuery, serving: Serving) -> None:
        self._serving = serving
        self._condition, named_values = _with_names(query.condition, query.values)
        self._ef = query.ef
        self._values = named_values | {
            "schema": query.schema,
            "model": serving.model,
            "dims": serving.dims,
            "query": query.vector,
            "ef": query.ef,
            "most": _MOST,
        }

    def fetch(self, cursor: TenantCursor, count: int) -> list[StoredWindow]:
        if self._condition:
            nearest = self._among_few(cursor, count)
            if nearest is not None:
                return nearest
        indexed = self._serving.indexed
        if indexed:
            self._widen(cursor, count)
        nearest = self._windows(cursor, self._first(count))
        if len(nearest) == count or not indexed:
            return nearest
        # Few of the nearest in the graph are this tenant's, or pass the filter.
        if self._condition:
            return self._windows(cursor, self._fill("nearest_among_all", count))
        return self._windows(cursor, self._fill("nearest_of_all", count))

    def fetch_at_once(self, server: PostgresDatabase, count: int) -> list[StoredWindow] | None:
        """Fetch the nearest windows in one round trip, without a filter; None if another model
        serves."""
        if self._serving.indexed:
            sql = self._fill("nearest_indexed_at_once", count, dims=str(self._serving.dims))
        else:
            sql = self._fill("nearest_exact_at_once", count)
        rows = server.call(sql, self._values)
        if not rows or rows[0][:3] != self._serving:
            return None
        # Where nothing is near there is one row, of the model alone.
        return [StoredWindow(*row[3:]) for row in rows if row[3] is not None]

    def _among_few(self, cursor: TenantCursor, count: int) -> list[StoredWindow] | None:
        """Fetch the nearest windows of the records that the filter keeps; None if they are many."""
        sql = self._fill("nearest_among_few", count, few=str(_FEW))
        rows = cursor.rows(sql, **self._values)
        if rows[0][0] > _FEW:
            return None
        return [StoredWindow(*row[1:]) for row in rows if row[1] is not None]

    def _widen(self, cursor: TenantCursor, count: int) -> None:
        """Let the HNSW search keep at least `count` candidates, as far as it can."""
        candidates = min(count, _MOST)
        if self._ef < candidates:
            self._ef = candidates
            cursor.execute(SQL.set_candidates, {"ef": candidates})

    def _first(self, count: int) -> str:
        name = "nearest_indexed" if self._serving.indexed else "nearest_exact"
        if self._condition:
            name += "_filtered"
        dims = {"dims": str(self._serving.dims)} if self._serving.indexed else {}
        return self._fill(name, count, **dims)

    def _fill(self, name: str, count: int, **words: str) -> str:
        # The planner has to know the number: which index is quicker depends on it.
        words["count"] = str(count)
        if self._condition:
            words["condition"] = self._condition
        return SQL.fill(name, **words)

    def _windows(self, cursor: TenantCursor, sql: str) -> list[StoredWindow]:
        return [StoredWindow(*row) for row in cursor.rows(sql, **self._values)]


def _with_names(condition: str, values: list[Any]) -> tuple[str, dict[str, Any]]:
    """Name the parameters of a condition, so that it may stand in a statement more than once."""
    names = [f"value_{position}" for position in range(len(values))]
    unused = iter(names)
    named = _PARAMETER.sub(
        lambda match: f"%({next(unused)})s" if match[0] == "%s" else match[0], condition
    )
    return named, dict(zip(names, values, strict=True))
