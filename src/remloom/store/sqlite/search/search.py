"""Search by name, text and vector: turns what the indexes answer into records. See
`components.SearchIndex`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

import apsw
from msgspec import Struct

from .... import labels as label_keys
from ....errors import LabelError, VectorError
from ....model import Record, Resource
from ....predicates import All
from ...encoding import has_expired, now
from ...predicate_sql import Compilers
from ...results import Match, with_summaries
from ...rules.provenance import show_parents
from ...rules.vector_validation import to_vector
from ...specs import MOST_SUMMARIES, NameSpec, SearchSpec
from ..file.database import SqliteDatabase
from ..graph.label_numbers import LabelNumbers
from ..rows import SQL, add_content, decode, fetch_parents
from ..select.sql_functions import bounded
from .index_manager import IndexManager

if TYPE_CHECKING:
    from ...indexes.segments import AllowedIds


_SPARE = 2  # times the limit, see `_Filter.first_limit`
_OVERFETCH = 4  # times as many are fetched when those did not suffice
# as hit; of one label, those it names before those it is an alias of, then as written
_HIT_ORDER = itemgetter(0, 1, 2)
_COSTLIER = 4  # times as much as listing a number takes to fetch its record
_FILTERS = 16  # allow-lists remembered

_Hits = list[tuple[int, float]]  # numbers and scores, best first
# how many, and which numbers are allowed (None: all)
_Search = Callable[[int, "AllowedIds | None"], _Hits]


class _Filter(Struct, frozen=True):
    """A condition on the records of hits: "texts", or "vectors", of which one record may have
    several."""

    hits: str
    condition: str = ""
    values: Sequence[Any] = ()

    def state(self, cursor: apsw.Cursor) -> Any:
        """Identify the filter and the state of the file, by this thread's connection."""
        version = cursor.execute("PRAGMA data_version").get
        return self.hits, self.condition, tuple(self.values), version, id(cursor)

    def first_limit(self, limit: int) -> int:
        """How many hits are fetched first: some may be filtered out, or be windows of one
        record."""
        is_exact = not self.condition and self.hits == "texts"
        return limit if is_exact else limit * _SPARE


def _wanted(spec: SearchSpec) -> int:
    return spec.limit + (MOST_SUMMARIES if spec.summaries else 0)


class SqliteSearch:
    """Search over one tenant."""

    def __init__(
        self,
        database: SqliteDatabase,
        indexes: IndexManager,
        compilers: Compilers,
        labels: LabelNumbers,
    ) -> None:
        self._database = database
        self._indexes = indexes
        self._compilers = compilers
        self._reader = compilers.definitions.reader
        self._labels = labels
        # by `_Filter.state`; None: asked for once
        self._allowed: OrderedDict[Any, AllowedIds | None] = OrderedDict()

    # -- names -------------------------------------------------------------------------------------

    def names(self, text: str, spec: NameSpec) -> list[Match]:
        try:
            key = label_keys.key(text)
        except LabelError:
            return []
        index = self._indexes.names()
        with self._database.snapshot() as cursor:

            def has_record(label_no: int) -> bool:
                values = (label_no, now(), spec.type)
                return bool(cursor.execute(SQL.label_has_record, values).get)

            def find(accept: Callable[[int], bool] | None) -> list[tuple[int, float]]:
                return index.search(key, threshold=spec.threshold, limit=spec.limit, accept=accept)

            hits = find(has_record if spec.type else None)
            rows = self._rows_of_labels(cursor, hits, spec.type)
            # What expired took the places of others.
            if spec.type is None and any(has_expired(record) for *_, record in rows):
                hits = find(has_record)
                rows = self._rows_of_labels(cursor, hits, spec.type)
            best: dict[int, Match] = {}
            for position, _, record_no, record in rows:
                if record_no not in best and not has_expired(record):
                    label_no, score = hits[position]
                    best[record_no] = Match(record, score, self._labels.key(cursor, label_no))
            return list(best.values())[: spec.limit]

    def _rows_of_labels(
        self, cursor: apsw.Cursor, hits: _Hits, type: str | None
    ) -> list[tuple[int, int, int, Record]]:
        """The records of labels that were hit: position of the hit, rank of the label, number."""
        label_nos = str([label_no for label_no, _ in hits])
        if type is None:
            rows = cursor.execute(SQL.records_of_labels, (label_nos,)).fetchall()
        else:
            rows = cursor.execute(SQL.records_of_labels_and_type, (label_nos, type)).fetchall()
        if len(rows) > 1:
            rows.sort(key=_HIT_ORDER)
        read_record = self._reader()
        found = [
            (position, rank, number, read_record(decode(*row)))
            for position, rank, number, *row in rows
        ]
        show_parents((record for *_, record in found), partial(fetch_parents, cursor))
        return found

    # -- texts -------------------------------------------------------------------------------------

    def text(self, text: str, spec: SearchSpec) -> list[Match]:
        index = self._indexes.terms()

        def ask(count: int, allow: AllowedIds | None) -> _Hits:
            return index.search(text, limit=count, allow=allow)

        return self._search_beside(ask, len(index), "texts", spec)

    def having_all(self, text: str, limit: int) -> list[Resource]:
        numbers = self._indexes.terms().having_all(text)
        hits = [(number, 0.0) for number in numbers.tolist()]
        resources = _Filter("texts", "r.schema = 'resources'")
        with self._database.snapshot() as cursor:
            matches, _ = self._records(cursor, hits, len(hits), resources, limit)
        return [match.record for match in matches]  # type: ignore[misc]

    # -- vectors -----------------------------------------------------------------------------------

    def vector(self, vector: Sequence[float], spec: SearchSpec) -> list[Match]:
        return self.begin_vector(vector, spec)()

    def begin_vector(self, vector: Sequence[float], spec: SearchSpec) -> Callable[[], list[Match]]:
        import numpy as np

        data, dims = to_vector(vector, what="the query")
        index = self._indexes.vectors()
        if index is None:
            return list
        if dims != index.dims:
            raise VectorError(
                f"the query has {dims} dimensions, this memory's vectors {index.dims}",
                remedy="embed the query with the embedder of this memory",
            )
        query = np.frombuffer(data, np.float32)
        filter = self._filter("vectors", spec)
        first = filter.first_limit(_wanted(spec))
        allowed = self._allowed.get(filter.state(self._database.reader))
        pending = index.begin_search(query, first, allow=allowed)

        def ask(count: int, allow: AllowedIds | None) -> _Hits:
            if count == first and allow is allowed:
                numbers, scores = pending()
            else:
                numbers, scores = index.search(query, count, allow=allow)
            return list(zip(numbers.tolist(), scores.tolist(), strict=True))

        def finish() -> list[Match]:
            matches = self._search_beside(ask, len(index), "vectors", spec)
            if spec.min_score is None:
                return matches
            return [match for match in matches if match.score >= spec.min_score]

        return finish

    # -- filters -----------------------------------------------------------------------------------

    def _filter(self, hits: str, spec: SearchSpec) -> _Filter:
        parts: list[str] = []
        values: list[Any] = []
        if spec.schema is not None:
            self._compilers.definitions.of(spec.schema)
            parts.append(f"r.schema = '{spec.schema}'")
        if spec.where is not None and not isinstance(spec.where, All):
            sql, values = self._compilers.of(spec.schema or "resources").compile(spec.where)
            parts.append(f"({sql})")
        return _Filter(hits, " AND ".join(parts), values)

    def _search_beside(self, ask: _Search, size: int, hits: str, spec: SearchSpec) -> list[Match]:
        """Search for records, and for summaries beside them among the hits that are fetched
        first."""
        filter = self._filter(hits, spec)
        if not spec.summaries:
            return self._search(ask, size, filter, spec.limit)
        for name in spec.summaries:
            self._compilers.definitions.of(name)
        names = ", ".join(f"'{name}'" for name in spec.summaries)
        having = _Filter(hits, f"r.schema IN ({names}) AND r.body ->> '$.summary' <> ''")
        count = filter.first_limit(_wanted(spec))
        with self._database.snapshot() as cursor, bounded():
            first = ask(count, None)

            def ask_again(wanted: int, allow: AllowedIds | None) -> _Hits:
                if wanted > count:
                    return ask(wanted, allow)
                return (first if allow is None else ask(count, allow))[:wanted]

            found = self._search(ask_again, size, filter, spec.limit)
            beside, _ = self._records(cursor, first, count, having, MOST_SUMMARIES)
        matches = sorted([*found, *beside], key=attrgetter("score"), reverse=True)
        return with_summaries(matches, spec)

    def _search(self, ask: _Search, size: int, filter: _Filter, limit: int) -> list[Match]:
        """Return the `limit` best records that pass the filter.

        An index knows no filter. A few more than asked for are fetched and filtered, and, when that
        leaves too few, once as many as should suffice by what passed of those. Only then, or at
        once when that would be too many, is the filter turned into the list of all numbers it
        allows, so that no filter costs recall. The list is kept until something is written; a
        filter that comes a second time until then gets its list, and is quick from then on.
        """
        count = filter.first_limit(limit)
        with self._database.snapshot() as cursor, bounded():
            state = filter.state(cursor)
            allow = self._allowed.get(state)
            if allow is None:
                matches, is_final = self._records(cursor, ask(count, None), count, filter, limit)
                if is_final:
                    return matches
                wider = _SPARE * count * limit // len(matches) if matches else size
                is_new = bool(filter.condition) and state not in self._allowed
                if is_new and wider * _COSTLIER < size:
                    self._allowed[state] = None  # it has come once
                    matches, is_final = self._records(
                        cursor, ask(wider, None), wider, filter, limit
                    )
                    if is_final:
                        return matches
                if filter.condition:
                    allow = self._list_allowed(cursor, filter)
                else:
                    count *= _OVERFETCH
            # All hits are allowed from here on: only windows of one record, and what has expired,
            # leave too few.
            unfiltered = _Filter(filter.hits)
            while True:
                matches, is_final = self._records(
                    cursor, ask(count, allow), count, unfiltered, limit
                )
                if is_final or count >= size:
                    return matches
                count *= _OVERFETCH

    def _list_allowed(self, cursor: apsw.Cursor, filter: _Filter) -> AllowedIds:
        import numpy as np

        from ...indexes.segments import AllowedIds

        sql = SQL.fill(f"allowed_{filter.hits}", filter=filter.condition)
        rows = cursor.execute(sql, filter.values).fetchall()
        allowed = AllowedIds(np.sort(np.fromiter((row[0] for row in rows), np.int64, len(rows))))
        self._allowed[filter.state(cursor)] = allowed
        while len(self._allowed) > _FILTERS:
            self._allowed.popitem(last=False)
        return allowed

    def _records(
        self, cursor: apsw.Cursor, hits: _Hits, requested: int, filter: _Filter, limit: int
    ) -> tuple[list[Match], bool]:
        """Return the records of hits, best first, and whether these are all that can be had: there
        are as many as wanted, or the index had no more to give than these."""
        condition = f"WHERE {filter.condition}" if filter.condition else ""
        sql = SQL.fill(f"records_of_{filter.hits}", filter=condition)
        numbers = str([number for number, _ in hits])
        best: dict[int, tuple[Record, float, str]] = {}
        apart: list[int] = []
        found = cursor.execute(sql, (numbers, *filter.values))
        for position, first, last, record_no, schema, body, is_apart in found:
            if record_no not in best:
                record = decode(schema, body, None)
                if record.expires_at is not None and has_expired(record):
                    continue
                window = f"{first}:{last}" if filter.hits == "vectors" else ""
                best[record_no] = record, hits[position][1], window
                if is_apart:
                    apart.append(record_no)
                if len(best) == limit:
                    break
        if apart:
            for record_no, content in cursor.execute(SQL.contents, (str(apart),)):
                add_content(best[record_no][0], content)
        # the cursor is free again: definitions are read with it
        read_record = self._reader()
        matches = [
            Match(read_record(record), score, window) for record, score, window in best.values()
        ]
        show_parents((match.record for match in matches), partial(fetch_parents, cursor))
        return matches, len(best) == limit or len(hits) < requested
