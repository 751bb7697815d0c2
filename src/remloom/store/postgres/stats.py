"""What a tenant holds, in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..contract import SCHEMAS

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["counts", "queued"]


_SOME = 1_000  # records whose size tells that of all


def queued(cursor: Cursor[Any], tenant: str) -> tuple[int, int]:
    """How many texts wait for their vectors, and how many are parked. It costs what it counts."""
    found = cursor.execute(
        "SELECT count(*) FILTER (WHERE NOT parked), count(*) FILTER (WHERE parked) FROM remloom.pending"
        " WHERE tenant_id = %s",
        (tenant,),
    ).fetchall()
    return found[0]  # type: ignore[no-any-return]


def counts(cursor: Cursor[Any], tenant: str) -> dict[str, Any]:
    """What `Store.stats` tells of a tenant, but for what its provider is."""

    def fetch(sql: str) -> list[Any]:
        return cursor.execute(sql, (tenant,)).fetchall()

    # Each counts along an index that has all it asks for; only the size is estimated, from some of
    # the rows.
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
    waiting, parked = queued(cursor, tenant)
    ((keys,),) = fetch(
        "SELECT count(*) FROM (SELECT DISTINCT key FROM remloom.names WHERE tenant_id = %s) k"
    )
    noted = fetch(
        "SELECT kind, count(*) FROM remloom.journal WHERE tenant_id = %s GROUP BY 1 ORDER BY 1"
    )
    ((size,),) = fetch(
        "SELECT coalesce(avg(pg_column_size(body) + coalesce(pg_column_size(content), 0) + 150), 0)"
        f" FROM (SELECT body, content FROM remloom.records WHERE tenant_id = %s LIMIT {_SOME}) r"
    )
    records: dict[str, dict[str, int]] = {schema: {} for schema in SCHEMAS}
    for schema, type, count, _ in by_type:
        records[schema][type] = count
    return {
        "records": {schema: sum(types.values()) for schema, types in records.items()},
        "types": records,
        "thin_entities": sum(thin for _, _, _, thin in by_type),
        "keys": keys,
        "edges": sum(count for _, count in edges),
        "edge_types": dict(edges),
        "vectors": {
            "count": vectors,
            "model": name,
            "dims": dims,
            "exact_share": round(exact / vectors, 4) if vectors else None,
        },
        "pending": waiting,
        "parked": parked,
        "journal": dict(noted),
        "bytes": int(size * sum(count for _, _, count, _ in by_type)),
    }
