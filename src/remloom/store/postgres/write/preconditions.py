"""Checks what a batch expects to find in PostgreSQL. The tenant's lock is held: nothing changes
before it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...batch import Preconditions
from ...rules.expiry import now
from ...rules.preconditions import changed, check_records, record_ids
from ..binary_arrays import ArrayColumn, columns
from ..rows import edge_of, short
from ..statements import SQL

if TYPE_CHECKING:
    from .transaction import Transaction


def check(transaction: Transaction, expected: Preconditions) -> None:
    """Check that everything is as expected.

    Raises:
        GoneError, ChangedError: it is not.
    """
    ids = record_ids(expected)
    if ids:
        updated = dict(transaction.rows(SQL.update_times, ids=ArrayColumn("t", ids), now=now()))
        check_records(expected, updated)
    if expected.edges:
        _check_edges(transaction, expected)
    for (namespace, key), version in expected.entries.items():
        rows = transaction.rows(SQL.kv_version, namespace=namespace, key=key)
        stored = rows[0][0] if rows else 0
        if stored != version:
            raise changed(f"the entry {namespace} {key!r}")


def _check_edges(transaction: Transaction, expected: Preconditions) -> None:
    by_short_keys = {
        (short(src), rel, short(dst)): edge for (src, rel, dst), edge in expected.edges.items()
    }
    kinds = {"src": "t", "rel": "t", "dst": "t"}
    rows = transaction.rows(SQL.edges_by_key, **columns(kinds, list(by_short_keys)))
    stored = {edge.key: edge for edge in map(edge_of, rows)}
    for key, edge in by_short_keys.items():
        src, _, dst = key
        as_stored = None if edge is None else replace(edge, src=src, dst=dst)
        if stored.get(key) != as_stored:
            raise changed(f"the edge {' '.join(key)!r}")
