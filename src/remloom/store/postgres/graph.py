"""Edges at labels, and walks along them: one statement each. See `components.Graph`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate, islice
from typing import Any

from ...errors import UnknownNameError
from ...model import Direction, Edge, EdgeKey, TypeCount
from ..encoding import now
from ..results import Walk, WalkStep
from ..specs import EdgeSpec, WalkSpec
from . import edge_queries
from .binary_arrays import ArrayColumn
from .database import PostgresDatabase
from .edge_queries import SIDES, at_time
from .rows import SQL, edge_of, is_short, short

_SEPARATOR = "\x1e"  # between the keys of a path: `chr(30)` in the statement; no key has it


class PostgresGraph:
    """The edges of one tenant."""

    def __init__(self, server: PostgresDatabase) -> None:
        self._server = server
        self._call = server.call
        # Whether a record of several keys was met. Few tenants have one, and only where there is
        # one are the other keys of every record looked for.
        self._aliased = False
        # the edge types there were when they were last read
        self._edge_types: Sequence[str] = ()

    def lookup(
        self,
        keys: Sequence[str],
        edges: int,
        as_of: datetime | None,
        most: Mapping[str, Any] | None,
    ) -> list[Any]:
        """Rows of a key, what `decode` and, for the newest edges, `paths_of` need, and whether
        the record has more keys: None where the key is another's handle. `most` limits how many
        have a key."""
        if not edges:
            name = "lookup"
        elif self._aliased:
            name = "lookup_aliased_with_edges"
        else:
            name = "lookup_with_edges"
        values = {"keys": ArrayColumn("t", keys), "limit": edges, **(most or {})}
        sql = edge_queries.lookup(name, some=most is not None)
        rows = self._call(sql, values | at_time(as_of))
        if edges and not self._aliased and any(row[-1] is not False for row in rows):
            self._aliased = True
            return self.lookup(keys, edges, as_of, most)
        return rows

    def edge_types(self) -> list[str]:
        edge_types = [name for (name,) in self._call(SQL.edge_types, {})]
        self._edge_types = edge_types
        return edge_types

    def edges(self, spec: EdgeSpec) -> list[Edge]:
        sql = edge_queries.edges(spec.order, spec.direction, typed=spec.rel_types is not None)
        return self._edges_of(self._call(sql, self._values(spec)))

    def stored_edges(self, keys: Sequence[str], *, direction: Direction) -> list[Edge]:
        sides = ArrayColumn("i", SIDES[direction])
        return self._edges_of(self._call(SQL.stored_edges, {"keys": _unique(keys), "sides": sides}))

    def edge_keys(self, spec: EdgeSpec) -> list[EdgeKey]:
        sql = edge_queries.edge_keys(spec.direction, typed=spec.rel_types is not None)
        # an edge may come from each of its ends
        total = None if spec.limit is None else spec.limit * len(SIDES[spec.direction])
        rows = self._call(sql, self._values(spec) | {"total": total})
        return list(islice(self._with_whole_keys(rows), spec.limit))

    def count(
        self, keys: Sequence[str], *, direction: Direction, as_of: datetime | None = None
    ) -> int:
        return self.count_by_group([keys], direction=direction, as_of=as_of)[0]

    def count_by_type(
        self, keys: Sequence[str], *, direction: Direction, as_of: datetime | None = None
    ) -> list[TypeCount]:
        directions: tuple[Direction, Direction] = ("out", "in")
        rows = self._call(
            edge_queries.counting("count_edges"), _count_values([keys], direction, as_of)
        )
        # A type whose edges are all out of force comes with none.
        counts = [TypeCount(rel, directions[side], edges) for rel, side, edges in rows if edges]
        return sorted(counts, key=lambda count: (-count.count, count.rel_type, count.direction))

    def count_by_group(
        self,
        groups: Sequence[Sequence[str]],
        *,
        direction: Direction,
        as_of: datetime | None = None,
    ) -> list[int]:
        edges: dict[int, int] = dict(
            self._call(edge_queries.counting("degrees"), _count_values(groups, direction, as_of))
        )
        return list(accumulate(edges.get(position, 0) for position in range(len(groups))))

    def all_edges(self) -> Iterator[Edge]:
        tenant = {"tenant": self._server.tenant}
        with self._server.stream() as cursor:
            # read first: the cursor is in the middle of its rows from then on
            whole = dict(cursor.connection.execute(SQL.all_whole_keys, tenant).fetchall())
            cursor.execute(SQL.all_edges, tenant)
            for src, rel, dst, *values in cursor:
                yield edge_of((whole.get(src, src), rel, whole.get(dst, dst), *values))

    def walk(self, spec: WalkSpec) -> Walk:
        typed = spec.rel_types is not None
        values = {
            "starts": _unique(spec.starts),
            "depth": spec.depth,
            "limit": spec.breadth,
            "shown": spec.limit,
            "rels": self._known(spec.rel_types),
            "side": SIDES[spec.direction][0],
            "now": now(),
        }
        sql = edge_queries.walk(spec.order, spec.direction, typed=typed, aliased=self._aliased)
        ((depth, reached, unfollowed, paths, aliased),) = self._call(
            sql, values | at_time(spec.as_of)
        )
        if aliased:  # nothing was walked
            self._aliased = True
            return self.walk(spec)
        return Walk(tuple(map(_step, paths)), reached, unfollowed, depth)

    # -- what they share ---------------------------------------------------------------------------

    def _values(self, spec: EdgeSpec) -> dict[str, Any]:
        rels = self._known(spec.rel_types)
        values = {"keys": _unique(spec.keys), "rels": rels, "limit": spec.limit}
        return values | at_time(spec.as_of)

    def _edges_of(self, rows: Iterable[Any]) -> list[Edge]:
        edges = self._with_whole_keys(rows)
        return [edge_of((*key, *values)) for key, values in edges.items()]

    def _with_whole_keys(self, rows: Iterable[Any]) -> dict[EdgeKey, Any]:
        """Rows by the edge's key, the first of each; long keys in full."""
        by_key: dict[EdgeKey, Any] = {}
        for row in rows:
            by_key.setdefault(row[:3], row[3:])
        shortened = {key for src, _, dst in by_key for key in (src, dst) if is_short(key)}
        if not shortened:
            return by_key
        whole: dict[str, str] = dict(
            self._call(SQL.whole_keys, {"keys": ArrayColumn("t", list(shortened))})
        )
        return {
            (whole.get(src, src), rel, whole.get(dst, dst)): values
            for (src, rel, dst), values in by_key.items()
        }

    def _known(self, rel_types: Sequence[str] | None) -> list[str] | None:
        """The edge types; one that was never used is refused."""
        for name in rel_types or ():
            if name in self._edge_types:
                continue
            # Types are read again before one is refused: somebody may have used it meanwhile.
            known = self.edge_types()
            if known and name not in known:
                raise UnknownNameError("edge type", name, known)
        return None if rel_types is None else list(rel_types)


def _unique(keys: Sequence[str]) -> ArrayColumn:
    return ArrayColumn("t", list(dict.fromkeys(map(short, keys))))


def _count_values(
    groups: Sequence[Sequence[str]], direction: Direction, as_of: datetime | None
) -> dict[str, Any]:
    """The parameters of a statement that counts: keys, with the position of the first group that
    each is in."""
    positions: dict[str, int] = {}
    for position, keys in enumerate(groups):
        for key in keys:
            positions.setdefault(short(key), position)
    values = {
        "keys": ArrayColumn("t", list(positions)),
        "positions": ArrayColumn("q", positions.values()),
        "sides": ArrayColumn("i", SIDES[direction]),
    }
    return values | at_time(as_of)


def _step(path: str) -> WalkStep:
    keys = tuple(path.split(_SEPARATOR))
    return WalkStep(keys[-1], len(keys) - 1, keys)
