"""Finding records by likeness: names, texts, vectors. Turns what the derived indexes answer into
records."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ... import labels
from ...errors import LabelError, VectorError
from ...predicates import All, Predicate
from ..contract import Match
from ..predicate_sql import Compiler, known
from ..validation import to_vector
from .database import Database
from .index_manager import Derived
from .rows import COLUMNS, decode
from .sql_functions import bounded

if TYPE_CHECKING:
    import apsw
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Likeness"]

# times the limit is asked of an index first when hits may be filtered out or be windows of one
# record
_SPARE = 2
_OVERFETCH = 4  # times as many are asked for when those did not suffice
# as found; of one label, those it names before those it is an alias of, then as written
_PLACE = itemgetter(0, 1, 2)
_COSTLIER = 4  # times as much as listing a number takes to fetch its record
_FILTERS = 16  # allow-lists remembered


class Likeness:
    """FUZZY and SEARCH over one tenant."""

    def __init__(
        self,
        database: Database,
        derived: Derived,
        compiler: Callable[[str], Compiler],
        key: Callable[[apsw.Cursor, int], str],
    ) -> None:
        self._database = database
        self._derived = derived
        self._compiler = compiler
        self._key = key  # of a label number
        # None: asked for once
        self._allowed: OrderedDict[Any, NDArray[np.int64] | None] = OrderedDict()

    # -- names -------------------------------------------------------------------------------------

    def fuzzy(self, text: str, type: str | None, threshold: float, limit: int) -> list[Match]:
        try:
            key = labels.key(text)
        except LabelError:
            return []
        index = self._derived.names()
        typed = [] if type is None else [type]
        with self._database.snapshot() as cursor:
            accept = (
                None
                if type is None
                else (lambda lid: bool(cursor.execute(_HAS_TYPE, (lid, type)).get))
            )
            found = index.search(key, threshold=threshold, limit=limit, accept=accept)
            sql = _NAMED_TYPE if typed else _NAMED
            rows = cursor.execute(sql, [str([lid for lid, _ in found]), *typed]).fetchall()
            best: dict[int, Match] = {}
            for place, _, rid, *row in rows if len(rows) <= 1 else sorted(rows, key=_PLACE):
                if rid not in best:
                    lid, score = found[place]
                    best[rid] = Match(decode(*row), score, self._key(cursor, lid))
            return list(best.values())[:limit]

    # -- texts -------------------------------------------------------------------------------------

    def text(
        self, text: str, schema: str | None, where: Predicate | None, limit: int
    ) -> list[Match]:
        index = self._derived.terms()

        def ask(count: int, allow: Any) -> list[tuple[int, float]]:
            return index.search(text, limit=count, allow=allow)

        return self._search(ask, len(index), "doc", schema, where, limit)

    # -- vectors -----------------------------------------------------------------------------------

    def vector(
        self,
        vector: Sequence[float],
        schema: str,
        where: Predicate | None,
        limit: int,
        min_score: float | None,
    ) -> list[Match]:
        import numpy as np

        data, dims = to_vector(vector, what="the query")
        index = self._derived.vectors()
        if index is None:
            return []
        if dims != index.dims:
            raise VectorError(
                f"the query has {dims} dimensions, this memory's vectors {index.dims}",
                remedy="embed the query with the embedder of this memory",
            )
        query = np.frombuffer(data, np.float32)

        def ask(count: int, allow: Any) -> list[tuple[int, float]]:
            ids, scores = index.search(query, count, allow=allow)
            return list(zip(ids.tolist(), scores.tolist(), strict=True))

        found = self._search(ask, len(index), "vid", schema, where, limit)
        return (
            found if min_score is None else [match for match in found if match.score >= min_score]
        )

    # -- what they share ---------------------------------------------------------------------------

    def _search(
        self,
        ask: Callable[[int, Any], list[tuple[int, float]]],
        size: int,
        number: str,
        schema: str | None,
        where: Predicate | None,
        limit: int,
    ) -> list[Match]:
        """The `limit` best records that pass the filter.

        An index knows no filter. A few more than asked for are fetched and filtered, and, when that
        leaves too few, once as many as should suffice by what passed of those. Only then, or at
        once when that would be too many, is the filter turned into the list of all numbers it
        allows, so that no filter costs recall. The list is kept until something is written; a
        filter that comes a second time until then gets its list, and is quick from then on.
        """
        condition, values = self._condition(schema, where)
        count = limit if not condition and number == "doc" else limit * _SPARE
        with self._database.snapshot() as cursor, bounded():
            place = self._filter(cursor, number, condition, values)
            allow = self._allowed.get(place)
            if allow is None:
                matches, exhausted = self._records(
                    cursor, ask(count, None), count, number, condition, values, limit
                )
                if len(matches) == limit or exhausted:
                    return matches
                wider = _SPARE * count * limit // len(matches) if matches else size
                if condition and place not in self._allowed and wider * _COSTLIER < size:
                    self._allowed[place] = None  # it has come once
                    found = ask(wider, None)
                    matches, exhausted = self._records(
                        cursor, found, wider, number, condition, values, limit
                    )
                    if len(matches) == limit or exhausted:
                        return matches
                if condition:
                    allow = self._allow(cursor, number, condition, values)
                else:
                    count *= _OVERFETCH
            while True:
                matches, exhausted = self._records(
                    cursor, ask(count, allow), count, number, "", [], limit
                )
                if len(matches) == limit or exhausted or count >= size:
                    return matches
                count *= _OVERFETCH

    def _records(
        self,
        cursor: apsw.Cursor,
        found: list[tuple[int, float]],
        asked: int,
        number: str,
        condition: str,
        values: list[Any],
        limit: int,
    ) -> tuple[list[Match], bool]:
        """The records of what an index found, best first, and whether it had no more to give."""
        sql = _BY_NUMBER[number] + (f" WHERE {condition}" if condition else "")
        best: dict[int, Match] = {}
        for place, first, last, rid, *row in cursor.execute(
            sql, (str([item for item, _ in found]), *values)
        ):
            if rid not in best:
                best[rid] = Match(
                    decode(*row), found[place][1], f"{first}:{last}" if number == "vid" else ""
                )
                if len(best) == limit:
                    break
        return list(best.values()), len(found) < asked

    def _condition(self, schema: str | None, where: Predicate | None) -> tuple[str, list[Any]]:
        parts: list[str] = []
        values: list[Any] = []
        if schema is not None:
            parts.append(f"r.schema = '{known(schema)}'")
        if where is not None and not isinstance(where, All):
            sql, values = self._compiler(schema or "resources").compile(where)
            parts.append(f"({sql})")
        return " AND ".join(parts), values

    def _allow(
        self, cursor: apsw.Cursor, number: str, condition: str, values: list[Any]
    ) -> NDArray[np.int64]:
        """Every number that passes the filter, ascending."""
        import numpy as np

        source = "records r" if number == "doc" else _PLACES
        column = "r.doc" if number == "doc" else "v.vid"
        rows = cursor.execute(
            f"SELECT {column} FROM {source} WHERE {column} IS NOT NULL AND {condition}", values
        ).fetchall()
        allowed = np.sort(np.fromiter((row[0] for row in rows), np.int64, len(rows)))
        self._allowed[self._filter(cursor, number, condition, values)] = allowed
        while len(self._allowed) > _FILTERS:
            self._allowed.popitem(last=False)
        return allowed

    def _filter(self, cursor: apsw.Cursor, number: str, condition: str, values: list[Any]) -> Any:
        """What a filter is known by: itself, and the state of the file as this thread's connection
        tells it."""
        return (
            number,
            condition,
            tuple(values),
            cursor.execute("PRAGMA data_version").get,
            id(cursor),
        )


_NAMED = (
    f"SELECT f.key, n.rank, {COLUMNS} FROM json_each(?1) f CROSS JOIN names n ON n.lid = f.value"
    " CROSS JOIN records r ON r.rid = n.rid"
)
_OF_TYPE = "(r.type = ?2 OR r.schema = ?2 OR substr(r.type, 1, length(?2) + 1) = ?2 || '/')"
_NAMED_TYPE = f"{_NAMED} WHERE {_OF_TYPE}"
_HAS_TYPE = f"SELECT EXISTS (SELECT 1 FROM names n CROSS JOIN records r ON r.rid = n.rid WHERE n.lid = ?1 AND {_OF_TYPE})"
# a record is looked at once
_PLACES = "records r CROSS JOIN vectors v INDEXED BY vectors_rid ON v.rid = r.rid"
# One statement for all that an index found, in its order.
_BY_NUMBER = {
    "doc": f"SELECT f.key, 0, 0, {COLUMNS} FROM json_each(?) f CROSS JOIN records r ON r.doc = f.value",
    "vid": f"SELECT f.key, v.first, v.last, {COLUMNS} FROM json_each(?) f CROSS JOIN vectors v INDEXED BY vectors_place"
    " ON v.vid = f.value CROSS JOIN records r ON r.rid = v.rid",
}
