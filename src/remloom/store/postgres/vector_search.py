"""The windows nearest to a vector: from the HNSW index where there is one, exactly where a filter
keeps few."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from .halfvec import Half
from .rows import COLUMNS

if TYPE_CHECKING:
    from psycopg import Cursor

    from .database import Database

__all__ = ["Near", "Nearest", "Serving", "serving"]

# records that a filter keeps: so many are compared one by one, which is quicker than a graph, and
# exact
_FEW = 5_000
_MOST = 1_000  # candidates that an HNSW search may keep
# The model that serves, of which a search takes the tenant, the number and the dimensions from `s`;
# and, in the same trip, how the HNSW index is to be searched until the transaction ends.
_SERVING = (
    "SELECT m.model, m.dims, m.indexed, m.tenant_id AS tenant, set_config('hnsw.iterative_scan', 'strict_order', true),"
    f" set_config('hnsw.ef_search', least(%(ef)s::integer, {_MOST})::text, true)"
    " FROM remloom.models m WHERE m.tenant_id = {} AND m.current OFFSET 0"
)
_KNOWN = "SELECT %(model)s::integer AS model, %(dims)s::integer AS dims, %(tenant)s::text AS tenant OFFSET 0"
_OURS = (
    "v.tenant_id = s.tenant AND v.model = s.model AND v.schema = %(schema)s AND s.dims = %(dims)s"
)


class Serving(NamedTuple):
    """The model whose vectors are searched."""

    model: int
    dims: int
    indexed: bool  # whether vectors of this tenant are in the HNSW index


def serving(cursor: Cursor[Any], tenant: str, ef: int) -> Serving | None:
    """The one there is."""
    row = cursor.execute(_SERVING.format("%(tenant)s"), {"tenant": tenant, "ef": ef}).fetchone()
    return Serving(*row[:3]) if row else None


class Near(NamedTuple):
    """A window, how far away it is, and the row of its record."""

    id: str
    first: int
    last: int
    distance: float
    schema: str
    body: bytes
    content: str | None


class Nearest:
    """One search, of which more and more may be asked.

    Args:
        condition: over the records `r`, with its values; empty when there is no filter.
        ef: candidates that an HNSW search keeps.
    """

    def __init__(
        self,
        tenant: str,
        schema: str,
        serving: Serving,
        query: Half,
        condition: str,
        values: list[Any],
        ef: int,
    ) -> None:
        self._serving = serving
        self._condition, named = _named(condition, values)
        self._values = named | {
            "tenant": tenant, "schema": schema, "model": serving.model, "dims": serving.dims, "query": query, "ef": ef,
        }  # fmt: skip
        self._ef = ef

    def best(self, cursor: Cursor[Any], count: int) -> list[Near]:
        """The nearest windows, nearest first."""
        if self._condition:
            found, kept = self._among(cursor, count, _FEW)
            if kept <= _FEW:
                return found
        if self._serving.indexed and self._ef < min(count, _MOST):
            self._ef = min(count, _MOST)
            cursor.execute("SELECT set_config('hnsw.ef_search', %s, true)", (str(self._ef),))
        found = self._ask(cursor, self._first(count), count)
        if len(found) == count or not self._serving.indexed:
            return found
        # Few of what the graph has near are this tenant's, or pass the filter.
        if self._condition:
            return self._among(cursor, count, None)[0]
        return self._ask(cursor, self._exact("", count), count)

    def _among(self, cursor: Cursor[Any], count: int, most: int | None) -> tuple[list[Near], int]:
        """The nearest among the records that the filter keeps, and how many it keeps; none when
        more than `most`."""
        limit, few = (
            ("", "true")
            if most is None
            else (f" LIMIT {most + 1}", f"(SELECT kept FROM number) <= {most}")
        )
        rows = cursor.execute(
            "WITH kept AS MATERIALIZED (SELECT r.id FROM remloom.own_records r WHERE r.tenant_id = %(tenant)s"
            f" AND r.schema = %(schema)s{self._condition}{limit}), number AS MATERIALIZED (SELECT count(*) AS"
            " kept FROM kept), n AS MATERIALIZED (SELECT v.id, v.first, v.last, v.data <=> %(query)b::halfvec AS"
            " distance FROM kept CROSS JOIN LATERAL (SELECT v.* FROM remloom.vectors v WHERE v.tenant_id = %(tenant)s"
            f" AND v.id = kept.id AND v.model = %(model)s OFFSET 0) v WHERE {few}"
            f" ORDER BY 4 LIMIT {count}) SELECT number.kept, n.*, {COLUMNS} FROM number LEFT JOIN n ON true"
            " LEFT JOIN remloom.records r ON r.tenant_id = %(tenant)s AND r.id = n.id ORDER BY n.distance",
            self._values,
        ).fetchall()
        return [Near(*row[1:]) for row in rows if row[1] is not None], rows[0][0]

    def _graph(self, count: int) -> str:
        dims = self._serving.dims
        cast = f"::halfvec({dims})"
        joined = (
            "JOIN remloom.own_records r ON r.tenant_id = v.tenant_id AND r.id = v.id"
            if self._condition
            else ""
        )
        return (
            f"SELECT v.id, v.first, v.last, v.data{cast} <=> %(query)b{cast} AS distance FROM remloom.own_vectors v"
            f" {joined} WHERE {_OURS} AND v.indexed AND v.dims = {dims}{self._condition}"
            f" ORDER BY v.data{cast} <=> %(query)b{cast} LIMIT {count}"
        )

    def _exact(self, part: str, count: int) -> str:
        kept = (
            " CROSS JOIN LATERAL (SELECT FROM remloom.own_records r WHERE r.tenant_id = v.tenant_id AND r.id = v.id"
            f"{self._condition} OFFSET 0) r"
        )
        return (
            "SELECT v.id, v.first, v.last, v.data <=> %(query)b::halfvec AS distance FROM (SELECT * FROM"
            f" remloom.own_vectors v WHERE {_OURS}{part} OFFSET 0) v{kept if self._condition else ''}"
            f" ORDER BY 4 LIMIT {count}"
        )

    def _first(self, count: int) -> str:
        """From the index, and among what is not in it yet."""
        tail = self._exact(" AND NOT v.indexed", count)
        return f"({self._graph(count)}) UNION ALL ({tail})" if self._serving.indexed else tail

    def _ask(self, cursor: Cursor[Any], near: str, count: int) -> list[Near]:
        rows = cursor.execute(
            f"SELECT n.* FROM ({_KNOWN}) s CROSS JOIN LATERAL ({_records(near, count)}) n ORDER BY n.distance",
            self._values,
        ).fetchall()
        return [Near(*row) for row in rows]

    def at_once(self, server: Database, count: int) -> list[Near] | None:
        """The same in one statement, when there is no filter; None if another model serves by now."""
        rows = server.call(
            self._values["tenant"],
            f"SELECT s.model, s.dims, s.indexed, n.* FROM ({_SERVING.format('t.tenant')}) s"
            f" LEFT JOIN LATERAL ({_records(self._first(count), count)}) n ON true ORDER BY n.distance",
            self._values,
        )
        if not rows or rows[0][:3] != self._serving:
            return None
        return [Near(*row[3:]) for row in rows if row[3] is not None]


def _records(near: str, count: int) -> str:
    """The nearest of these windows, with their records."""
    return (
        f"SELECT n.*, {COLUMNS} FROM (SELECT * FROM ({near}) n ORDER BY distance LIMIT {count}) n"
        " JOIN remloom.records r ON r.tenant_id = s.tenant AND r.id = n.id"
    )


def _named(condition: str, values: list[Any]) -> tuple[str, dict[str, Any]]:
    """A condition whose parameters have names, so that it may stand in a statement more than once."""
    names = iter(range(len(values)))
    text = re.sub(
        r"%s|%%", lambda found: f"%(v{next(names)})s" if found[0] == "%s" else found[0], condition
    )
    return text, {f"v{at}": value for at, value in enumerate(values)}
