"""What a batch expects to find in an embedded store, and edges as they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ...model import Direction, Edge
from ..contract import Preconditions
from ..encoding import moment_of
from ..preconditions import changed, compare, ids_of

if TYPE_CHECKING:
    import apsw

__all__ = ["edges_at", "expect"]

_EDGE = """
SELECT s.key, t.name, d.key, e.weight, e.created, e.valid_from, e.valid_to, e.properties FROM {start}
JOIN labels s ON s.lid = e.src JOIN rels t ON t.rel = e.rel JOIN labels d ON d.lid = e.dst
"""
_AT = {
    end: _EDGE.format(
        start="json_each(?) v CROSS JOIN labels l ON l.key = v.value"
        f" CROSS JOIN edges e INDEXED BY edges_{end} ON e.{near} = l.lid"
    )
    for end, near in (("out", "src"), ("in", "dst"))
}
_ONE = (
    _EDGE.format(start="edges e") + " WHERE e.src = (SELECT lid FROM labels WHERE key = ?)"
    " AND e.rel = (SELECT rel FROM rels WHERE name = ?) AND e.dst = (SELECT lid FROM labels WHERE key = ?)"
)


def edges_at(cursor: apsw.Cursor, keys: Sequence[str], direction: Direction) -> list[Edge]:
    """See `contract.Store.stored_edges`."""
    ends = ("out", "in") if direction == "both" else (direction,)
    wanted = _json(list(dict.fromkeys(keys)))
    found = {row[:3]: row for end in ends for row in cursor.execute(_AT[end], (wanted,))}
    return [_edge(row) for row in found.values()]


def expect(cursor: apsw.Cursor, expected: Preconditions) -> None:
    """Look whether everything is as expected.

    Raises:
        GoneError, ChangedError: it is not.
    """
    if ids := ids_of(expected):
        sql = "SELECT r.id, r.updated FROM json_each(?) v CROSS JOIN records r ON r.id = v.value"
        compare(expected, dict(cursor.execute(sql, (_json(ids),)).fetchall()))
    for place, edge in expected.edges.items():
        row = cursor.execute(_ONE, place).fetchone()
        if (_edge(row) if row else None) != edge:
            raise changed(f"the edge {' '.join(place)!r}")
    for (kind, id), version in expected.notes.items():
        if (
            cursor.execute("SELECT version FROM journal WHERE kind=? AND id=?", (kind, id)).get or 0
        ) != version:
            raise changed(f"the journal entry {kind} {id!r}")


def _edge(row: Any) -> Edge:
    src, rel, dst, weight, created, since, until, properties = row
    return Edge(
        src=src, rel_type=rel, dst=dst, weight=weight, created_at=moment_of(created), valid_from=moment_of(since),
        valid_to=moment_of(until), properties=msgspec.json.decode(properties) if properties else {},
    )  # fmt: skip


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
