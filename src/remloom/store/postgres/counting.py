"""What a tenant holds, in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..contract import SCHEMAS

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["counts"]


def counts(cursor: Cursor[Any], tenant: str) -> dict[str, Any]:
    """What `Store.stats` tells of a tenant, but for what its provider is."""

    def fetch(sql: str) -> list[Any]:
        return cursor.execute(sql, (tenant,)).fetchall()

    by_type = fetch(
        "SELECT schema, coalesce(type, ''), count(*), count(*) FILTER (WHERE thin) FROM remloom.records"
        " WHERE tenant_id = %s GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2"
    )
    edges = fetch("SELECT rel, count(*) FROM remloom.edges WHERE tenant_id = %s GROUP BY 1 ORDER BY 2 DESC, 1")
    model = fetch("SELECT model, name, dims FROM remloom.models WHERE tenant_id = %s AND current")
    number, name, dims = model[0] if model else (0, "", 0)
    ((vectors, exact),) = fetch(
        "SELECT count(*), count(*) FILTER (WHERE NOT indexed) FROM remloom.vectors"
        f" WHERE tenant_id = %s AND model = {number}"
    )
    ((waiting, parked),) = fetch(
        "SELECT count(*) FILTER (WHERE NOT parked), count(*) FILTER (WHERE parked) FROM remloom.pending"
        " WHERE tenant_id = %s"
    )
    ((keys,),) = fetch("SELECT count(DISTINCT key) FROM remloom.names WHERE tenant_id = %s")
    noted = fetch("SELECT kind, count(*) FROM remloom.journal WHERE tenant_id = %s GROUP BY 1 ORDER BY 1")
    ((size,),) = fetch("SELECT coalesce(sum(pg_column_size(r.*)), 0) FROM remloom.records r WHERE tenant_id = %s")
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
        "bytes": int(size),
    }
