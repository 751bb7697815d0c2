"""What a tenant holds, in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..contract import SCHEMAS

if TYPE_CHECKING:
    import apsw

__all__ = ["counts", "queued"]


def queued(cursor: apsw.Cursor) -> tuple[int, int]:
    """How many texts wait for their vectors, and how many are parked. It costs what it counts."""
    waiting = cursor.execute("SELECT count(*) FROM pending WHERE parked = 0").get
    return waiting, cursor.execute("SELECT count(*) FROM pending").get - waiting


def counts(cursor: apsw.Cursor) -> dict[str, Any]:
    """What `Store.stats` tells, as far as the tables know it.

    The records are counted type by type along an index, a tenth of a microsecond each: tallies kept
    by triggers would make every write a tenth dearer. Nothing else reads more than the pages of a
    small index.
    """
    by_type = cursor.execute(
        "SELECT schema, type, count(*) FROM records GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2"
    ).fetchall()
    edges = cursor.execute("SELECT name, edges FROM rels ORDER BY 2 DESC, 1").fetchall()
    models = cursor.execute("SELECT model, name, dims, current FROM models").fetchall()
    current = next((found for found in models if found[3]), None)
    if len(models) > 1:  # one is moved to
        sql = "SELECT count(*) FROM vectors WHERE model = ?"
        vectors = cursor.execute(sql, (current[0] if current else 0,)).get
    else:
        vectors = cursor.execute("SELECT count(*) FROM vectors").get if current else 0
    waiting, parked = queued(cursor)
    thin = cursor.execute("SELECT count(*) FROM records WHERE schema = 'entities' AND thin = 1").get
    keys = cursor.execute("SELECT count(*) FROM labels").get
    noted = cursor.execute("SELECT kind, count(*) FROM journal GROUP BY 1 ORDER BY 1").fetchall()
    records: dict[str, dict[str, int]] = {schema: {} for schema in SCHEMAS}
    for schema, type, count in by_type:
        records[schema][type or ""] = count
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
