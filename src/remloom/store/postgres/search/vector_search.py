"""The windows nearest to a vector: from the HNSW index where there is one, exactly where a filter
keeps few."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..binary_arrays import Half
from ..database import PostgresDatabase, TenantCursor
from ..rows import SQL

# Records that a filter keeps: up to this many are compared one by one, which is quicker than a
# graph, and exact.
_FEW = 5_000
_MOST = 1_000  # candidates that an HNSW search may keep
_PARAMETER = re.compile(r"%s|%%")


class Serving(NamedTuple):
    """The model whose vectors are searched."""

    model: int
    dims: int
    indexed: bool  # whether vectors of this tenant are in the HNSW index


class VectorQuery(NamedTuple):
    """What is searched, and where."""

    schema: str
    vector: Half
    condition: str  # over the records `r`, with `values` in the places of %s; empty: no filter
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
    """One search, which can be asked for more and more windows."""

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
        # Few of what the graph has near are this tenant's, or pass the filter.
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
