"""Edges at labels, and walks along them: one statement each, most of them a function of the database."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

from ...errors import UnknownNameError
from ...model import Direction, Edge
from ..columns import micros
from ..contract import EdgeCount, EdgeOrder, Step, Walk
from .keys import is_short, short
from .rows import EDGE, edge_of
from .server import Server

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["Graph", "moment"]

_ORDERS = {
    "created_at": "created", "weight": "weight", "rel_type": "rel", "valid_from": "valid_from", "valid_to": "valid_to",
    "dst": "dst",
}  # fmt: skip
_NEAR = {"out": "src", "in": "dst"}
_SIDE = {"out": 0, "in": 1}
_FAR = {"out": "dst", "in": "src"}
_IN_FORCE = "remloom.in_force(e, %s, %s)"
# Every key of the records that have one of these, in the order of the first.
_FAMILY = """
SELECT k.key, k.place, 0 AS rank FROM unnest(%s::text[]) WITH ORDINALITY k (key, place)
UNION SELECT b.key, 0, 1 + min(k.place) FROM unnest(%s::text[]) WITH ORDINALITY k (key, place)
JOIN remloom.names a ON a.tenant_id = %s AND a.key = k.key
JOIN remloom.names b ON b.tenant_id = a.tenant_id AND b.id = a.id AND b.key <> a.key
GROUP BY b.key ORDER BY rank, place
"""


class Graph:
    """The edges of one tenant."""

    def __init__(self, server: Server, tenant: str) -> None:
        self._server = server
        self._tenant = tenant

    def rel_types(self) -> list[str]:
        return [rel for (rel,) in self._server.fetch(self._tenant, _RELS, (self._tenant,))]

    def edges(
        self,
        keys: Sequence[str],
        direction: Direction,
        rel_types: Sequence[str] | None,
        limit: int | None,
        order: EdgeOrder,
        as_of: datetime | None,
    ) -> list[Edge]:
        with self._server.read(self._tenant) as cursor:
            self._check(cursor, rel_types)
            rows = self._at(cursor, keys, direction, rel_types, limit, order, as_of)
            return self._whole(cursor, rows)

    def stored(self, keys: Sequence[str], direction: Direction) -> list[Edge]:
        """Every edge at these very keys, whatever its validity."""
        ends = " OR ".join(f"e.{_NEAR[end]} = ANY (%s::text[])" for end in _ends(direction))
        wanted = list({short(key) for key in keys})
        with self._server.read(self._tenant) as cursor:
            rows = cursor.execute(
                f"SELECT 0, {EDGE} FROM remloom.edges e WHERE e.tenant_id = %s AND ({ends})",
                (self._tenant, *[wanted for _ in _ends(direction)]),
            ).fetchall()
            return self._whole(cursor, rows)

    def edge_keys(
        self,
        keys: Sequence[str],
        direction: Direction,
        rel_types: Sequence[str] | None,
        limit: int,
        as_of: datetime | None,
    ) -> list[tuple[str, str, str]]:
        with self._server.read(self._tenant) as cursor:
            self._check(cursor, rel_types)
            rows = [
                row
                for end in _ends(direction)
                for row in self._at(cursor, keys, end, rel_types, limit, EdgeOrder(), as_of)
            ]
            rows.sort(key=itemgetter(0))
            edges = self._whole(cursor, rows)
            return list(islice(dict.fromkeys((edge.src, edge.rel_type, edge.dst) for edge in edges), limit))

    def count(self, keys: Sequence[str], direction: Direction, as_of: datetime | None) -> list[EdgeCount]:
        with self._server.read(self._tenant) as cursor:
            family = self._family(cursor, keys)
            counts = []
            for end in _ends(direction):
                rows = cursor.execute(
                    f"SELECT e.rel, count(*) FROM remloom.edges e WHERE e.tenant_id = %s AND e.{_NEAR[end]} = ANY (%s)"
                    f" AND {_IN_FORCE} GROUP BY e.rel",
                    (self._tenant, family, *moment(as_of)),
                ).fetchall()
                counts += [EdgeCount(rel, end, count) for rel, count in rows]
            return sorted(counts, key=lambda count: (-count.count, count.rel_type, count.direction))

    def degrees(self, keys: Sequence[str], direction: Direction, as_of: datetime | None) -> int:
        with self._server.read(self._tenant) as cursor:
            family = self._family(cursor, keys)
            sides = [_SIDE[end] for end in _ends(direction)]
            row = cursor.execute(
                "SELECT coalesce(sum(remloom.degree(%s, k.key, s.side, NULL, %s, %s)), 0)::bigint"
                " FROM unnest(%s::text[]) k (key), unnest(%s::integer[]) s (side)",
                (self._tenant, *moment(as_of), family, sides),
            ).fetchone()
            total = int(row[0]) if row else 0
            if direction == "both":  # those with both ends here were counted twice
                row = cursor.execute(
                    "SELECT count(*) FROM remloom.edges e WHERE e.tenant_id = %s AND e.src = ANY (%s) AND e.dst"
                    " = ANY (%s)"
                    f" AND {_IN_FORCE}",
                    (self._tenant, family, family, *moment(as_of)),
                ).fetchone()
                total -= int(row[0]) if row else 0
            return total

    def all(self, cursor: Cursor[Any]) -> Iterable[Edge]:
        """Every edge, in key order, from a cursor that fetches as it goes."""
        wholes = dict(cursor.connection.execute(
            "SELECT key, label FROM remloom.names WHERE tenant_id = %s AND label IS NOT NULL", (self._tenant,)
        ).fetchall())  # fmt: skip
        cursor.execute(
            f"SELECT {EDGE} FROM remloom.edges e WHERE e.tenant_id = %s ORDER BY e.src, e.rel, e.dst", (self._tenant,)
        )
        for row in cursor:
            src, rel, dst, *rest = row
            yield edge_of((wholes.get(src, src), rel, wholes.get(dst, dst), *rest))

    # -- walking ---------------------------------------------------------------------------------------------

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
        function = f"walk_{_column(order)}_{order.order}"
        values = (
            self._tenant, [short(key) for key in starts], None if rel_types is None else list(rel_types),
            direction != "in", direction != "out", depth, breadth, limit, *moment(as_of),
        )  # fmt: skip
        if rel_types is not None:
            with self._server.read(self._tenant) as cursor:
                self._check(cursor, rel_types)
        rows = self._server.call(
            self._tenant,
            f"SELECT w.path, w.depth, w.reached, w.unfollowed FROM remloom.{function}("
            "%s, %s::text[], %s::text[], %s, %s, %s, %s, %s, %s, %s) w",
            values,
        )
        _, deepest, reached, unfollowed = rows[0]
        return Walk(
            tuple([Step(path[-1], level, tuple(path)) for path, level, _, _ in rows[1:]]), reached, unfollowed, deepest
        )

    # -- what they share -------------------------------------------------------------------------------------

    def _at(
        self,
        cursor: Cursor[Any],
        keys: Sequence[str],
        direction: Direction,
        rel_types: Sequence[str] | None,
        limit: int | None,
        order: EdgeOrder,
        as_of: datetime | None,
    ) -> list[Any]:
        """The edges at these keys and the others of their records, `limit` for each: the key's place, then `EDGE`."""
        way = "DESC NULLS LAST" if order.order == "desc" else "ASC NULLS FIRST"
        if (column := _column(order)) == "created":
            way = order.order.upper()  # never unset; in the plain order the index gives it
        parts = []
        for end in _ends(direction):
            by = _FAR[end] if column == "dst" else column
            parts.append(
                f"(SELECT e.*, e.{by} AS by FROM remloom.edges e WHERE e.tenant_id = %(tenant)s AND"
                f" e.{_NEAR[end]} = k.key"
                " AND remloom.in_force(e, %(at)s, %(past)s) AND (%(rels)s::text[] IS NULL OR e.rel = ANY"
                " (%(rels)s::text[]))"
                f" ORDER BY e.{by} {way} LIMIT %(limit)s)"
            )
        at, past = moment(as_of)
        return cursor.execute(
            f"SELECT k.place, {EDGE} FROM unnest(%(keys)s::text[]) WITH ORDINALITY k (key, place) CROSS JOIN LATERAL ("
            f"SELECT * FROM ({' UNION ALL '.join(parts)}) x ORDER BY x.by {way} LIMIT %(limit)s) e ORDER BY"
            f" k.place, e.by {way}",
            {
                "tenant": self._tenant, "keys": self._family(cursor, keys), "at": at, "past": past,
                "rels": None if rel_types is None else list(rel_types), "limit": limit,
            },
        ).fetchall()  # fmt: skip

    def _family(self, cursor: Cursor[Any], keys: Sequence[str]) -> list[str]:
        wanted = list(dict.fromkeys(short(key) for key in keys))
        rows = cursor.execute(_FAMILY, (wanted, wanted, self._tenant)).fetchall()
        return list(dict.fromkeys(key for key, _, _ in rows))

    def _whole(self, cursor: Cursor[Any], rows: Sequence[Any]) -> list[Edge]:
        """The edges of such rows, each once, with long keys in full."""
        shortened = {key for row in rows for key in (row[1], row[3]) if is_short(key)}
        wholes: dict[str, str] = {}
        if shortened:
            sql = "SELECT key, label FROM remloom.names WHERE tenant_id = %s AND key = ANY (%s)"
            wholes = dict(cursor.execute(sql, (self._tenant, list(shortened))).fetchall())
        distinct: dict[tuple[str, str, str], Edge] = {}
        for _, src, rel, dst, *rest in rows:
            if (src, rel, dst) not in distinct:
                distinct[src, rel, dst] = edge_of((wholes.get(src, src), rel, wholes.get(dst, dst), *rest))
        return list(distinct.values())

    def _check(self, cursor: Cursor[Any], rel_types: Sequence[str] | None) -> None:
        if rel_types is None:
            return
        known = [rel for (rel,) in cursor.execute(_RELS, (self._tenant,)).fetchall()]
        for name in rel_types:
            if name not in known and known:
                raise UnknownNameError("edge type", name, known)


_RELS = "SELECT rel FROM remloom.rels WHERE tenant_id = %s ORDER BY rel"


def moment(as_of: datetime | None) -> tuple[int, bool]:
    """Microseconds since 1970, of now when there is no time; and whether it was asked for."""
    return (time.time_ns() // 1000, False) if as_of is None else (micros(as_of) or 0, True)


def _ends(direction: Direction) -> tuple[Direction, ...]:
    return cast("tuple[Direction, ...]", ("out", "in") if direction == "both" else (direction,))


def _column(order: EdgeOrder) -> str:
    if order.field not in _ORDERS:
        raise UnknownNameError("edge field", order.field, list(_ORDERS))
    return _ORDERS[order.field]
