"""Which embedder's vectors a tenant has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..embedding_model import chosen

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["register_model"]


def register_model(
    cursor: Cursor[Any], tenant: str, name: str, dims: int, *, current: bool = True
) -> int:
    """The number of an embedder, registered with its dimension; see `store.embedding_model.chosen`."""
    rows = cursor.execute(
        "SELECT model, name, dims, current FROM remloom.models WHERE tenant_id = %s", (tenant,)
    ).fetchall()
    number, fresh = chosen(rows, name, dims, current=current)
    if fresh:
        cursor.execute(
            "INSERT INTO remloom.models VALUES (%s, %s, %s, %s, %s)",
            (tenant, number, name, dims, current),
        )
    return number
