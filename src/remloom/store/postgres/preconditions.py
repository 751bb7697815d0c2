"""Checks what a batch expects to find in PostgreSQL. The tenant's lock is held: nothing changes before it
is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..batch import Preconditions
from ..preconditions import changed, check_records, record_ids
from .binary_arrays import Column, columns
from .rows import EDGE, edge_of
from .short_keys import short

if TYPE_CHECKING:
    from .transaction import Transaction

__all__ = ["check"]


def check(transaction: Transaction, expected: Preconditions) -> None:
    """Check that everything is as expected.

    Raises:
        GoneError, ChangedError: it is not.
    """
    if ids := record_ids(expected):
        sql = (
            "SELECT id, updated FROM remloom.records WHERE tenant_id = %s AND id = ANY (%b::text[])"
        )
        check_records(expected, dict(transaction.all(sql, Column("t", ids))))
    if expected.edges:
        by_short_keys = {
            (short(src), rel, short(dst)): edge for (src, rel, dst), edge in expected.edges.items()
        }
        rows = transaction.all(
            f"SELECT {EDGE} FROM remloom.edges e WHERE e.tenant_id = %s AND (e.src, e.rel, e.dst)"
            " IN (SELECT * FROM unnest(%b::text[], %b::text[], %b::text[]))",
            *columns("ttt", list(by_short_keys)),
        )
        stored = {(edge.src, edge.rel_type, edge.dst): edge for edge in map(edge_of, rows)}
        for triple, edge in by_short_keys.items():
            as_stored = None if edge is None else replace(edge, src=triple[0], dst=triple[2])
            if stored.get(triple) != as_stored:
                raise changed(f"the edge {' '.join(triple)!r}")
    for (namespace, key), version in expected.entries.items():
        sql = "SELECT version FROM remloom.journal WHERE tenant_id = %s AND kind = %s AND id = %s"
        rows = transaction.all(sql, namespace, key)
        if (rows[0][0] if rows else 0) != version:
            raise changed(f"the entry {namespace} {key!r}")
