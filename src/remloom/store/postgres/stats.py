"""Counts what a tenant holds.

Each counts along an index that has all it asks for; only the size is estimated, from some of the
rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..stats import Stats, VectorStats, by_schema

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["collect", "queue_lengths"]


_SOME = 1_000  # records whose size tells that of all


def queue_lengths(cursor: Cursor[Any], tenant: str) -> tuple[int, int]:
    """Count the texts that wait for their vectors, and those parked. It costs what it counts."""
    rows = cursor.execute(
        "SELECT count(*) FILTER (WHERE NOT parked), count(*) FILTER (WHERE parked) FROM remloom.pending"
        " WHERE tenant_id = %s",
        (tenant,),
    ).fetchall()
    return rows[0]  # type: ignore[no-any-return]


def collect(cursor: Cursor[Any], tenant: str) -> Stats:
    """Count what a tenant holds."""

    def fetch(sql: str) -> list[Any]:
        return cursor.execute(sql, (tenant,)).fetchall()

    by_type = fetch(
        "SELECT schema, coalesce(type, ''), count(*), count(*) FILTER (WHERE thin) FROM remloom.records"
        " WHERE tenant_id = %s GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2"
    )
    edges = fetch("SELECT rel, edges FROM remloom.rels WHERE tenant_id = %s ORDER BY 2 DESC, 1")
    model = fetch("SELECT model, name, dims FROM remloom.models WHERE tenant_id = %s AND current")
    number, name, dims = model[0] if model else (0, "", 0)
    of_model = f"remloom.vectors WHERE tenant_id = %s AND model = {number}"
    ((vectors,),) = fetch(f"SELECT count(*) FROM {of_model}")
    ((exact,),) = fetch(f"SELECT count(*) FROM {of_model} AND NOT indexed")
    waiting, parked = queue_lengths(cursor, tenant)
    ((keys,),) = fetch(
        "SELECT count(*) FROM (SELECT DISTINCT key FROM remloom.names WHERE tenant_id = %s) k"
    )
    entries = fetch(
        "SELECT kind, count(*) FROM remloom.journal WHERE tenant_id = %s GROUP BY 1 ORDER BY 1"
    )
    ((size,),) = fetch(
        "SELECT coalesce(avg(pg_column_size(body) + coalesce(pg_column_size(content), 0) + 150), 0)"
        f" FROM (SELECT body, content FROM remloom.records WHERE tenant_id = %s LIMIT {_SOME}) r"
    )
    exact_share = round(exact / vectors, 4) if vectors else None
    return Stats(
        types=by_schema((schema, type, count) for schema, type, count, _ in by_type),
        thin_entities=sum(thin for _, _, _, thin in by_type),
        keys=keys,
        edge_types=dict(edges),
        vectors=VectorStats(vectors, name, dims, exact_share),
        pending=waiting,
        parked=parked,
        entries=dict(entries),
        encrypted=False,  # Remloom does not encrypt what it keeps in PostgreSQL
        bytes=int(size * sum(count for _, _, count, _ in by_type)),
    )
