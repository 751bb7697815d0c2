"""Edges at labels, and walks along them: one statement each."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

from ...errors import UnknownNameError
from ...model import Direction, Edge
from ..contract import EdgeCount, EdgeOrder, Step, Walk
from ..encoding import micros
from .binary_arrays import Column
from .database import Database
from .edge_queries import NEAR, Fetch, counted, ends, others
from .rows import COLUMNS, EDGE, edge_of
from .short_keys import is_short, short
from .traversal import MARK, SEVERAL, walking

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["Graph"]

_Triple = tuple[str, str, str]

# what `EDGE` needs besides
_WHOLE = ", e.src, e.dst, e.weight, e.created, e.valid_from, e.valid_to, e.properties"

# Keys with their places, and the other keys of their records with a place of theirs.
_FAMILY = f"""
WITH family AS MATERIALIZED (
  SELECT k.key COLLATE "C" AS key, k.place FROM unnest(%(keys)b::text[], %(places)b::bigint[]) k (key, place)
  UNION ALL
  SELECT o.key, {{}} FROM unnest(%(keys)b::text[], %(places)b::bigint[]) k (key, place)
  CROSS JOIN LATERAL ({others("k.key")}) o WHERE o.key <> ALL (%(keys)b::text[]) GROUP BY o.key
)"""
_BEHIND = _FAMILY.format("cardinality(%(keys)b::text[])")
_BESIDE = _FAMILY.format("min(k.place)")
# Edges with both ends in the family are counted at each: one less, at the later place.
_INNER = """
SELECT greatest(f.place, g.place) AS place, -1 AS edges FROM family f CROSS JOIN LATERAL (
  SELECT e.dst FROM remloom.edges e WHERE e.tenant_id = t.tenant AND e.src = f.key
    AND remloom.in_force(e, %(at)s, %(past)s) OFFSET 0) e JOIN family g ON g.key = e.dst
"""


class Graph:
    """The edges of one tenant."""

    kin = False  # a record of several keys was met: from then on they are looked for

    def __init__(self, server: Database, tenant: str) -> None:
        self._server = server
        self._tenant = tenant
        # edge types that were there when they were last asked for
        self._rels: Sequence[str] = ()

    def lookup(self, keys: Sequence[str], edges: int, as_of: datetime | None) -> list[Any]:
        """Rows of a key, what `decode` and, for the newest edges, `paths_of` need, and whether
        there are more keys."""
        values = {"keys": Column("t", keys), "limit": edges} | moment(as_of)
        rows = self._call(_lookup(bool(edges), self.kin), values)
        if edges and not self.kin and any(row[-1] for row in rows):
            self.kin = True
            return self.lookup(keys, edges, as_of)
        return rows

    def rel_types(self) -> list[str]:
        sql = "SELECT r.rel FROM remloom.rels r WHERE r.tenant_id = t.tenant ORDER BY r.rel"
        rels = [rel for (rel,) in self._call(sql, {})]
        self._rels = rels
        return rels

    def edges(
        self,
        keys: Sequence[str],
        direction: Direction,
        rel_types: Sequence[str] | None,
        limit: int | None,
        order: EdgeOrder,
        as_of: datetime | None,
    ) -> list[Edge]:
        fetch = Fetch(order, direction, rel_types is not None, columns=_WHOLE)
        found = self._at(keys, fetch, EDGE, rel_types, limit, None, as_of)
        return [edge_of((*triple, *rest)) for triple, rest in found.items()]

    def stored(self, keys: Sequence[str], direction: Direction) -> list[Edge]:
        """Every edge at these very keys, whatever its validity."""
        near = " OR ".join(f"e.{NEAR[end]} = ANY (%(keys)b::text[])" for end in ends(direction))
        rows = self._call(
            f"SELECT {EDGE} FROM remloom.edges e WHERE e.tenant_id = t.tenant AND ({near})",
            {"keys": Column("t", list({short(key) for key in keys}))},
        )
        found = self._whole({row[:3]: row[3:] for row in rows})
        return [edge_of((*triple, *rest)) for triple, rest in found.items()]

    def edge_keys(
        self,
        keys: Sequence[str],
        direction: Direction,
        rel_types: Sequence[str] | None,
        limit: int,
        as_of: datetime | None,
    ) -> list[_Triple]:
        fetch = Fetch(EdgeOrder(), direction, rel_types is not None, columns=", e.src, e.dst")
        total = limit * len(ends(direction))  # an edge may come from each of its ends
        return list(
            islice(
                self._at(keys, fetch, "e.src, e.rel, e.dst", rel_types, limit, total, as_of), limit
            )
        )

    def count(
        self, keys: Sequence[str], direction: Direction, as_of: datetime | None
    ) -> list[EdgeCount]:
        rows = self._call(
            f"{_BESIDE} SELECT c.rel, c.side, sum(c.edges)::bigint FROM family f CROSS JOIN LATERAL"
            f" ({counted('= f.key', direction, typed=False, past=as_of is not None)}) c GROUP BY c.rel, c.side",
            _places([keys]) | moment(as_of),
        )
        counts = [EdgeCount(rel, ends("both")[side], edges) for rel, side, edges in rows if edges]
        return sorted(counts, key=lambda count: (-count.count, count.rel_type, count.direction))

    def degrees_by(
        self, groups: Sequence[Sequence[str]], direction: Direction, as_of: datetime | None
    ) -> list[int]:
        at_key = counted("= f.key", direction, typed=False, past=as_of is not None)
        counts = f"SELECT f.place, c.edges FROM family f CROSS JOIN LATERAL ({at_key}) c"
        if direction == "both":
            counts += f" UNION ALL {_INNER}"
        rows = self._call(
            f"{_BESIDE} SELECT c.place, sum(c.edges)::bigint FROM ({counts}) c GROUP BY c.place",
            _places(groups) | moment(as_of),
        )
        edges = dict(rows)
        return list(accumulate(edges.get(place, 0) for place in range(len(groups))))

    def all(self, cursor: Cursor[Any]) -> Iterable[Edge]:
        """Every edge, in key order, from a cursor that fetches as it goes."""
        wholes = dict(cursor.connection.execute(
            "SELECT key, label FROM remloom.names WHERE tenant_id = %s AND label IS NOT NULL", (self._tenant,)
        ).fetchall())  # fmt: skip
        cursor.execute(
            f"SELECT {EDGE} FROM remloom.edges e WHERE e.tenant_id = %s ORDER BY e.src, e.rel, e.dst",
            (self._tenant,),
        )
        for row in cursor:
            src, rel, dst, *rest = row
            yield edge_of((wholes.get(src, src), rel, wholes.get(dst, dst), *rest))

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
        values = {
            "starts": Column("t", list(dict.fromkeys(map(short, starts)))), "depth": depth, "limit": breadth,
            "shown": limit, "rels": self._types(rel_types),
        } | moment(as_of)  # fmt: skip
        fetch = Fetch(order, direction, rel_types is not None, SEVERAL if self.kin else "")
        ((deepest, reached, unfollowed, paths, kin),) = self._call(
            walking(fetch, as_of is not None), values
        )
        if kin:
            self.kin = True
            return self.walk(starts, rel_types, direction, depth, breadth, order, limit, as_of)
        steps = []
        for path in paths:
            keys = tuple(path.split(MARK))
            steps.append(Step(keys[-1], len(keys) - 1, keys))
        return Walk(tuple(steps), reached, unfollowed, deepest)

    # -- what they share ---------------------------------------------------------------------------

    def _at(
        self,
        keys: Sequence[str],
        fetch: Fetch,
        columns: str,
        rel_types: Sequence[str] | None,
        limit: int | None,
        total: int | None,
        as_of: datetime | None,
    ) -> dict[_Triple, Any]:
        """These columns of the edges at these keys and the others of their records, `limit` for
        each key."""
        rels = self._types(rel_types)
        rows = self._call(
            f"{_BEHIND} SELECT {columns} FROM (SELECT * FROM family ORDER BY place, key OFFSET 0) f CROSS JOIN LATERAL"
            f" ({fetch.at('f.key', once=True)}) e ORDER BY f.place, f.key, {fetch.rank} LIMIT %(total)s",
            _places([[key] for key in keys])
            | {"rels": rels, "limit": limit, "total": total}
            | moment(as_of),
        )
        found: dict[_Triple, Any] = {}
        for row in rows:
            found.setdefault(row[:3], row[3:])
        return self._whole(found)

    def _whole(self, found: dict[_Triple, Any]) -> dict[_Triple, Any]:
        """The same, with long keys in full."""
        shortened = {key for src, _, dst in found for key in (src, dst) if is_short(key)}
        if not shortened:
            return found
        those = "n.tenant_id = t.tenant AND n.key = ANY (%(keys)b::text[])"
        sql = f"SELECT n.key, n.label FROM remloom.names n WHERE {those}"
        wholes = dict(self._call(sql, {"keys": Column("t", list(shortened))}))
        return {
            (wholes.get(src, src), rel, wholes.get(dst, dst)): row
            for (src, rel, dst), row in found.items()
        }

    def _types(self, rel_types: Sequence[str] | None) -> list[str] | None:
        """The edge types asked for; one that was never used is refused."""
        for name in rel_types or ():
            if name not in self._rels and (known := self.rel_types()) and name not in known:
                raise UnknownNameError("edge type", name, known)
        return None if rel_types is None else list(rel_types)

    def _call(self, sql: str, values: Mapping[str, Any]) -> list[Any]:
        return self._server.call(self._tenant, sql, values)


@cache
def _lookup(edges: bool, kin: bool) -> str:
    """The statement that finds records by key."""
    newest = Fetch(EdgeOrder(), "out", kin="n.kin" if kin else "", columns=_WHOLE).at("n.key")
    paths = f"(SELECT json_agg(json_build_array({EDGE})) FROM ({newest}) e)" if edges else "NULL"
    return (
        f"SELECT n.key, {COLUMNS}, {paths} AS paths, n.kin FROM remloom.names n"
        " JOIN remloom.records r ON r.tenant_id = t.tenant AND r.id = n.id"
        " WHERE n.tenant_id = t.tenant AND n.key = ANY (%(keys)b::text[]) ORDER BY n.rank, r.seq"
    )


def moment(as_of: datetime | None) -> dict[str, Any]:
    """`at`: microseconds since 1970, of now when there is no time; `past`: whether it was asked
    for."""
    if as_of is None:
        return {"at": time.time_ns() // 1000, "past": False}
    return {"at": micros(as_of) or 0, "past": True}


def _places(groups: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Keys with the number of the first group that each is in."""
    places: dict[str, int] = {}
    for place, keys in enumerate(groups):
        for key in keys:
            places.setdefault(short(key), place)
    return {"keys": Column("t", list(places)), "places": Column("q", places.values())}
