"""Checks what a batch expects to find in an embedded store; edges as they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ....model import Direction, Edge
from ...batch import Preconditions
from ...encoding import moment_of
from ...rules.expiry import now
from ...rules.preconditions import changed, check_records, record_ids
from ..edge_queries import ends_of
from ..statements import SQL

if TYPE_CHECKING:
    import apsw


def edges_at(cursor: apsw.Cursor, keys: Sequence[str], direction: Direction) -> list[Edge]:
    """List every edge at these very keys. See `components.GraphReads.stored_edges`."""
    values = (_json(list(dict.fromkeys(keys))),)
    rows: dict[Any, Any] = {}
    for end in ends_of(direction):
        sql = SQL.stored_edges_out if end == "out" else SQL.stored_edges_in
        rows.update((row[:3], row) for row in cursor.execute(sql, values))
    return [_edge(row) for row in rows.values()]


def check(cursor: apsw.Cursor, expected: Preconditions) -> None:
    """Check that everything is as expected.

    Raises:
        GoneError, ChangedError: it is not.
    """
    if ids := record_ids(expected):
        rows = cursor.execute(SQL.update_times, (_json(ids), now())).fetchall()
        check_records(expected, dict(rows))
    for triple, edge in expected.edges.items():
        row = cursor.execute(SQL.stored_edge, triple).fetchone()
        if (_edge(row) if row else None) != edge:
            raise changed(f"the edge {' '.join(triple)!r}")
    for (namespace, key), version in expected.entries.items():
        stored = cursor.execute(SQL.entry_version, (namespace, key)).get or 0
        if stored != version:
            raise changed(f"the entry {namespace} {key!r}")


def _edge(row: Any) -> Edge:
    src, rel, dst, weight, created, since, until, properties = row
    return Edge(
        src=src,
        rel_type=rel,
        dst=dst,
        weight=weight,
        created_at=moment_of(created),
        valid_from=moment_of(since),
        valid_to=moment_of(until),
        properties=msgspec.json.decode(properties) if properties else {},
    )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
