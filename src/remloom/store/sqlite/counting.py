"""What a tenant holds, in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..contract import SCHEMAS

if TYPE_CHECKING:
    import apsw

__all__ = ["counts"]


def counts(cursor: apsw.Cursor) -> dict[str, Any]:
    """What `Store.stats` tells, as far as the tables know it."""
    by_type = cursor.execute(
        "SELECT schema, coalesce(type, ''), count(*) FROM records GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2"
    ).fetchall()
    edges = cursor.execute(
        "SELECT t.name, count(*) FROM edges e JOIN rels t USING (rel) GROUP BY 1 ORDER BY 2 DESC, 1"
    ).fetchall()
    current = cursor.execute("SELECT model, name, dims FROM models WHERE current = 1").get
    vectors = cursor.execute("SELECT count(*) FROM vectors WHERE model = ?", (current[0] if current else 0,)).get
    waiting, parked = cursor.execute(
        "SELECT count(*) FILTER (WHERE NOT parked), count(*) FILTER (WHERE parked) FROM pending"
    ).get
    thin = cursor.execute("SELECT count(*) FROM records WHERE schema = 'entities' AND thin = 1").get
    keys = cursor.execute("SELECT count(*) FROM labels").get
    noted = cursor.execute("SELECT kind, count(*) FROM journal GROUP BY 1 ORDER BY 1").fetchall()
    records: dict[str, dict[str, int]] = {schema: {} for schema in SCHEMAS}
    for schema, type, count in by_type:
        records[schema][type] = count
    return {
        "records": {schema: sum(types.values()) for schema, types in records.items()},
        "types": records,
        "thin_entities": thin,
        "keys": keys,
        "edges": sum(count for _, count in edges),
        "edge_types": dict(edges),
        "vectors": {
            "count": vectors,
            "model": current[1] if current else "",
            "dims": current[2] if current else 0,
        },
        "pending": waiting,
        "parked": parked,
        "journal": dict(noted),
    }
