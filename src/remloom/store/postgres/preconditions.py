"""What a batch expects to find in PostgreSQL. The tenant's lock is held: nothing changes before it
is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..contract import Preconditions
from ..preconditions import changed, compare, ids_of
from .binary_arrays import Column, columns
from .rows import EDGE, edge_of
from .short_keys import short

if TYPE_CHECKING:
    from .transaction import Transaction

__all__ = ["expect"]


def expect(transaction: Transaction, expected: Preconditions) -> None:
    """Look whether everything is as expected.

    Raises:
        GoneError, ChangedError: it is not.
    """
    if ids := ids_of(expected):
        sql = (
            "SELECT id, updated FROM remloom.records WHERE tenant_id = %s AND id = ANY (%b::text[])"
        )
        compare(expected, dict(transaction.all(sql, Column("t", ids))))
    if expected.edges:
        places = {
            (short(src), rel, short(dst)): edge for (src, rel, dst), edge in expected.edges.items()
        }
        rows = transaction.all(
            f"SELECT {EDGE} FROM remloom.edges e WHERE e.tenant_id = %s AND (e.src, e.rel, e.dst)"
            " IN (SELECT * FROM unnest(%b::text[], %b::text[], %b::text[]))",
            *columns("ttt", list(places)),
        )
        found = {(edge.src, edge.rel_type, edge.dst): edge for edge in map(edge_of, rows)}
        for place, edge in places.items():
            wanted = None if edge is None else replace(edge, src=place[0], dst=place[2])
            if found.get(place) != wanted:
                raise changed(f"the edge {' '.join(place)!r}")
    for (kind, id), version in expected.notes.items():
        sql = "SELECT version FROM remloom.journal WHERE tenant_id = %s AND kind = %s AND id = %s"
        rows = transaction.all(sql, kind, id)
        if (rows[0][0] if rows else 0) != version:
            raise changed(f"the journal entry {kind} {id!r}")
