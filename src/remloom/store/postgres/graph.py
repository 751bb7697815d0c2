"""Edges at labels, and walks along them: one statement each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

from ...errors import UnknownNameError
from ...model import Direction, Edge
from ..contract import EdgeCount, EdgeOrder, Walk
from . import edge_queries
from .binary_arrays import Column
from .database import Database
from .edge_queries import SIDES, at_time
from .rows import edge_of
from .short_keys import is_short, short
from .statements import SQL
from .traversal import WalkRow

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["Graph"]

_EdgeKey = tuple[str, str, str]  # src, rel, dst


class Graph:
    """The edges of one tenant."""

    def __init__(self, server: Database, tenant: str) -> None:
        self._server = server
        self._tenant = tenant
        # Whether a record of several keys was met. Few tenants have one, and only where there is one
        # are the other keys of every record looked for.
        self._aliased = False
        # the edge types there were when they were last read
        self._edge_types: Sequence[str] = ()

    def lookup(self, keys: Sequence[str], edges: int, as_of: datetime | None) -> list[Any]:
        """Rows of a key, what `decode` and, for the newest edges, `paths_of` need, and whether
        there are more keys."""
        if not edges:
            sql = SQL.lookup
        elif self._aliased:
            sql = SQL.lookup_aliased_with_edges
        else:
            sql = SQL.lookup_with_edges
        rows = self._call(sql, {"keys": Column("t", keys), "limit": edges} | at_time(as_of))
        if edges and not self._aliased and any(row[-1] for row in rows):
            self._aliased = True
            return self.lookup(keys, edges, as_of)
        return rows

    def rel_types(self) -> list[str]:
        edge_types = [name for (name,) in self._call(SQL.edge_types, {})]
        self._edge_types = edge_types
        return edge_types

    def edges(
        self,
        keys: Sequence[str],
        direction: Direction,
        rel_types: Sequence[str] | None,
        limit: int | None,
        order: EdgeOrder,
        as_of: datetime | None,
    ) -> list[Edge]:
        sql = edge_queries.edges(order, direction, typed=rel_types is not None)
        values = {"keys": _unique(keys), "rels": self._known(rel_types), "limit": limit}
        rows = self._call(sql, values | at_time(as_of))
        return self._edges_of(rows)

    def stored(self, keys: Sequence[str], direction: Direction) -> list[Edge]:
        """Every edge at these very keys, whatever its validity."""
        sides = Column("i", SIDES[direction])
        return self._edges_of(self._call(SQL.stored_edges, {"keys": _unique(keys), "sides": sides}))

    def edge_keys(
        self,
        keys: Sequence[str],
        direction: Direction,
        rel_types: Sequence[str] | None,
        limit: int,
        as_of: datetime | None,
    ) -> list[_EdgeKey]:
        sql = edge_queries.edge_keys(direction, typed=rel_types is not None)
        values = {
            "keys": _unique(keys),
            "rels": self._known(rel_types),
            "limit": limit,
            # an edge may come from each of its ends
            "total": limit * len(SIDES[direction]),
        }
        rows = self._call(sql, values | at_time(as_of))
        return list(islice(self._with_whole_keys(rows), limit))

    def count(
        self, keys: Sequence[str], direction: Direction, as_of: datetime | None
    ) -> list[EdgeCount]:
        values = _positions([keys]) | {"sides": Column("i", SIDES[direction])} | at_time(as_of)
        directions: tuple[Direction, Direction] = ("out", "in")
        counts = [
            EdgeCount(rel, directions[side], edges)
            for rel, side, edges in self._call(SQL.count_edges, values)
            if edges
        ]
        return sorted(counts, key=lambda count: (-count.count, count.rel_type, count.direction))

    def degrees_by(
        self, groups: Sequence[Sequence[str]], direction: Direction, as_of: datetime | None
    ) -> list[int]:
        values = _positions(groups) | {"sides": Column("i", SIDES[direction])} | at_time(as_of)
        edges = dict(self._call(SQL.degrees, values))
        return list(accumulate(edges.get(position, 0) for position in range(len(groups))))

    def all(self, cursor: Cursor[Any]) -> Iterable[Edge]:
        """Every edge, in key order, from a cursor that fetches as it goes."""
        tenant = {"tenant": self._tenant}
        # read first: the cursor is in the middle of its rows from then on
        whole = dict(cursor.connection.execute(SQL.all_whole_keys, tenant).fetchall())
        cursor.execute(SQL.all_edges, tenant)
        for src, rel, dst, *values in cursor:
            yield edge_of((whole.get(src, src), rel, whole.get(dst, dst), *values))

    def walk(
        self,
        starts: Sequence[str],
        rel_types: Sequence[str] | None,
        direction: Direction,
        depth: int,
        breadth: int | None,
        order: EdgeOrder,
        limit: int | None,
        as_of: datetime | None,
    ) -> Walk:
        typed = rel_types is not None
        values = {
            "starts": _unique(starts),
            "depth": depth,
            "limit": breadth,
            "shown": limit,
            "rels": self._known(rel_types),
            "side": SIDES[direction][0],
        }
        sql = edge_queries.walk(order, direction, typed=typed, aliased=self._aliased)
        row = WalkRow(*self._call(sql, values | at_time(as_of))[0])
        if row.aliased:
            self._aliased = True
            return self.walk(starts, rel_types, direction, depth, breadth, order, limit, as_of)
        return row.walk()

    # -- what they share ---------------------------------------------------------------------------

    def _edges_of(self, rows: Iterable[Any]) -> list[Edge]:
        """The edges of rows, each once."""
        edges = self._with_whole_keys(rows)
        return [edge_of((*key, *values)) for key, values in edges.items()]

    def _with_whole_keys(self, rows: Iterable[Any]) -> dict[_EdgeKey, Any]:
        """Rows by the edge's key, the first of each; long keys in full."""
        by_key: dict[_EdgeKey, Any] = {}
        for row in rows:
            by_key.setdefault(row[:3], row[3:])
        shortened = {key for src, _, dst in by_key for key in (src, dst) if is_short(key)}
        if not shortened:
            return by_key
        whole = dict(self._call(SQL.whole_keys, {"keys": Column("t", list(shortened))}))
        return {
            (whole.get(src, src), rel, whole.get(dst, dst)): values
            for (src, rel, dst), values in by_key.items()
        }

    def _known(self, rel_types: Sequence[str] | None) -> list[str] | None:
        """The edge types; one that was never used is refused."""
        for name in rel_types or ():
            # Types are read anew before one is refused: somebody may have used it meanwhile.
            if name not in self._edge_types and (known := self.rel_types()) and name not in known:
                raise UnknownNameError("edge type", name, known)
        return None if rel_types is None else list(rel_types)

    def _call(self, sql: str, values: Mapping[str, Any]) -> list[Any]:
        return self._server.call(self._tenant, sql, values)


def _unique(keys: Sequence[str]) -> Column:
    """Keys as they stand in columns, each once, in their order."""
    return Column("t", list(dict.fromkeys(map(short, keys))))


def _positions(groups: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Keys with the position of the first group that each is in."""
    positions: dict[str, int] = {}
    for position, keys in enumerate(groups):
        for key in keys:
            positions.setdefault(short(key), position)
    return {"keys": Column("t", list(positions)), "positions": Column("q", positions.values())}
