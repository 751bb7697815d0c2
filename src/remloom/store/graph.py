"""Edges at labels, and walks along them. Works on label numbers; keys appear only in what is returned."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from heapq import nlargest, nsmallest
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ..errors import UnknownNameError
from ..model import Direction, Edge
from .contract import EdgeCount, EdgeOrder, Step, Walk
from .database import Database
from .rows import micros, moment_of

if TYPE_CHECKING:
    import apsw

__all__ = ["Graph"]

_COLUMNS = "e.src, e.rel, e.dst, e.weight, e.created, e.valid_from, e.valid_to"
_ORDERS = {
    "created_at": "e.created", "weight": "e.weight", "valid_from": "e.valid_from", "valid_to": "e.valid_to",
    "rel_type": "(SELECT name FROM rels t WHERE t.rel = e.rel)",
}  # fmt: skip
_CACHE = 200_000  # label numbers whose keys are remembered
_decode = msgspec.json.Decoder(dict[str, Any]).decode

_OUTGOING = (  # %s: the condition of time
    f"SELECT {_COLUMNS}, e.properties FROM edges e INDEXED BY edges_out WHERE e.src = ?2 AND %s"
    " ORDER BY e.created DESC LIMIT ?3"
)

_NEXT_CHANGE = """
SELECT min(at) FROM (SELECT min(valid_to) AS at FROM edges INDEXED BY edges_until WHERE valid_to > ?1
                     UNION ALL SELECT min(valid_from) FROM edges INDEXED BY edges_since WHERE valid_from > ?1)
"""

_Row = tuple[int, int, int, float, int, int | None, int | None]
_Reached = tuple[int, int, _Row]  # label, depth, the edge that reached it


class Graph:
    """The edges of one tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keys: dict[int, str] = {}  # numbers are never reused, so an entry is never wrong
        self._rels: dict[int, str] = {}
        self._counted = _Degrees()

    # -- names of numbers ------------------------------------------------------------------------------------

    def lids(self, cursor: apsw.Cursor, keys: Iterable[str]) -> list[int]:
        """Numbers of the keys that exist, in order."""
        found = (cursor.execute("SELECT lid FROM labels WHERE key=?", (key,)).get for key in keys)
        return [lid for lid in dict.fromkeys(found) if lid is not None]

    def all_lids(self, cursor: apsw.Cursor, keys: Iterable[str]) -> list[int]:
        """The same, and those of every other label of their records."""
        lids = self.lids(cursor, keys)
        more = self.families(cursor, lids)
        return list(dict.fromkeys([*lids, *(other for others in more.values() for other in others)]))

    def key(self, cursor: apsw.Cursor, lid: int) -> str:
        key = self._keys.get(lid)
        if key is None:
            if len(self._keys) >= _CACHE:
                self._keys.clear()
            key = self._keys[lid] = cursor.execute("SELECT key FROM labels WHERE lid=?", (lid,)).get or ""
        return key

    def rel(self, cursor: apsw.Cursor, number: int) -> str:
        name = self._rels.get(number)
        if name is None:
            name = self._rels[number] = cursor.execute("SELECT name FROM rels WHERE rel=?", (number,)).get
        return name

    def rel_types(self) -> list[str]:
        return [name for (name,) in self._database.reader.execute("SELECT name FROM rels ORDER BY name")]

    def families(self, cursor: apsw.Cursor, lids: Sequence[int]) -> dict[int, list[int]]:
        """The other labels of the records that have these labels; labels that stand alone are left out."""
        found: dict[int, list[int]] = {}
        rows = cursor.execute(
            "SELECT a.lid, b.lid FROM json_each(?) v CROSS JOIN names a ON a.lid = v.value"
            " CROSS JOIN names b ON b.rid = a.rid AND b.lid <> a.lid",
            (str(lids) if isinstance(lids, list) else str(list(lids)),),
        )
        for lid, other in rows:
            found.setdefault(lid, []).append(other)
        return found

    # -- edges -----------------------------------------------------------------------------------------------

    def edges(
        self,
        keys: Sequence[str],
        direction: Direction,
        rel_types: Sequence[str] | None,
        limit: int | None,
        order: EdgeOrder,
        as_of: datetime | None,
    ) -> list[Edge]:
        with self._database.snapshot() as cursor:
            rels = self._rel_numbers(cursor, rel_types)
            fetch = _Fetch(order, rels, limit, as_of, "e.properties")
            found: dict[tuple[int, int, int], Any] = {}
            for lid in self.all_lids(cursor, keys):
                mine: list[Any] = []
                for end in _ends(direction):
                    mine.extend(cursor.execute(fetch.sql(end), fetch.bind(lid)).fetchall())
                if direction == "both":
                    mine = fetch.sorted(mine, self, cursor)[:limit]
                found.update((row[:3], row) for row in mine if row[:3] not in found)
            return [self._edge(cursor, row, row[7]) for row in found.values()]

    def count(self, keys: Sequence[str], direction: Direction, as_of: datetime | None) -> list[EdgeCount]:
        with self._database.snapshot() as cursor:
            at = micros(as_of or datetime.now(UTC))
            lids = self.all_lids(cursor, keys)
            counts = []
            for end in _ends(direction):
                rows = cursor.execute(
                    f"SELECT e.rel, count(*) FROM json_each(?2) v CROSS JOIN edges e INDEXED BY edges_{end}"
                    f" ON e.{_near(end)} = v.value WHERE {_in_force(as_of)} GROUP BY e.rel",
                    (at, str(lids)),
                ).fetchall()
                counts += [EdgeCount(self.rel(cursor, rel), cast(Direction, end), n) for rel, n in rows]
            return sorted(counts, key=lambda count: (-count.count, count.rel_type, count.direction))

    def edge_keys(
        self,
        keys: Sequence[str],
        direction: Direction,
        rel_types: Sequence[str] | None,
        limit: int,
        as_of: datetime | None,
    ) -> list[tuple[str, str, str]]:
        with self._database.snapshot() as cursor:
            fetch = _Fetch(EdgeOrder(), self._rel_numbers(cursor, rel_types), limit, as_of, "")
            found: dict[tuple[int, int, int], None] = {}
            for lid in self.all_lids(cursor, keys):
                for end in _ends(direction):
                    found.update((row[:3], None) for row in cursor.execute(fetch.sql(end), fetch.bind(lid)))
                if len(found) >= limit:
                    break
            return [
                (self.key(cursor, src), self.rel(cursor, rel), self.key(cursor, dst))
                for src, rel, dst in islice(found, limit)
            ]

    def degrees(self, keys: Sequence[str], direction: Direction, as_of: datetime | None) -> int:
        """How many edges there are at these keys, of any type, each counted once."""
        with self._database.snapshot() as cursor:
            fetch = _Fetch(EdgeOrder(), None, None, as_of, "")
            self._forget_degrees(cursor)
            lids = self.all_lids(cursor, keys)
            total = sum(self._degree(cursor, lid, end, fetch) for lid in lids for end in _ends(direction))
            if direction == "both":  # those with both ends here were counted twice
                total -= cursor.execute(
                    "SELECT count(*) FROM json_each(?2) v CROSS JOIN edges e INDEXED BY edges_out ON e.src = v.value"
                    f" WHERE e.dst IN (SELECT value FROM json_each(?2)) AND {_in_force(as_of)}",
                    (micros(as_of or datetime.now(UTC)), str(lids)),
                ).get
            return total

    def outgoing(self, cursor: apsw.Cursor, rid: int, limit: int, as_of: datetime | None = None) -> tuple[Edge, ...]:
        """The newest edges that leave a record's labels, in force at `as_of`, or now."""
        sql = _OUTGOING_NOW if as_of is None else _OUTGOING % _in_force(as_of)
        at = micros(as_of or datetime.now(UTC))
        lids = cursor.execute("SELECT lid FROM names WHERE rid = ?", (rid,)).fetchall()
        rows = [row for (lid,) in lids for row in cursor.execute(sql, (at, lid, limit))]
        if len(lids) > 1:
            rows = sorted(rows, key=itemgetter(4), reverse=True)[:limit]
        return tuple(self._edge(cursor, row, row[7]) for row in rows)

    def all(self, cursor: apsw.Cursor) -> Iterable[Edge]:
        rows = cursor.execute(
            f"SELECT {_COLUMNS}, e.properties, s.key, t.name, d.key FROM edges e JOIN labels s ON s.lid = e.src"
            " JOIN rels t USING (rel) JOIN labels d ON d.lid = e.dst ORDER BY s.key, t.name, d.key"
        )
        for row in rows:
            yield _as_edge(row, row[8], row[9], row[10], row[7])

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
        with self._database.snapshot() as cursor:
            rels = self._rel_numbers(cursor, rel_types)
            self._forget_degrees(cursor)
            fetch = _Fetch(order, rels, breadth, as_of, "")
            ends = _ends(direction)
            frontier = self.lids(cursor, starts)
            seen = set(frontier)
            origin: dict[int, int] = {}  # label -> label it was reached from
            reached: list[_Reached] = []
            unfollowed = level = 0
            while frontier and level < depth:
                families = self.families(cursor, frontier)
                for others in families.values():
                    seen.update(others)
                level += 1
                following: list[int] = []
                for node in frontier:
                    rows, left = self._follow(cursor, [node, *families.get(node, ())], ends, fetch)
                    unfollowed += left
                    for row in rows:
                        other = row[2] if row[0] == node else row[0]
                        if other not in seen:
                            seen.add(other)
                            following.append(other)
                            origin[other] = node
                            reached.append((other, level, row))
                frontier = following
            kept = fetch.best(reached, limit, self, cursor)
            steps = tuple(self._step(cursor, label, depth, row, origin) for label, depth, row in kept)
            return Walk(steps, len(reached), unfollowed, reached[-1][1] if reached else 0)

    def _step(self, cursor: apsw.Cursor, label: int, depth: int, row: _Row, origin: dict[int, int]) -> Step:
        path = [label]
        while path[-1] in origin:
            path.append(origin[path[-1]])
        return Step(
            self.key(cursor, label), depth, tuple(self.key(cursor, lid) for lid in reversed(path)), self._edge(cursor, row, None)
        )

    def _follow(
        self, cursor: apsw.Cursor, family: list[int], ends: tuple[str, ...], fetch: _Fetch
    ) -> tuple[list[_Row], int]:
        """The edges of one node in order, at most `breadth`, and how many there are beyond."""
        if len(family) == 1 and len(ends) == 1:
            node, end = family[0], ends[0]
            rows = cursor.execute(fetch.sql(end), fetch.bind(node)).fetchall()
            if fetch.limit is None or len(rows) < fetch.limit:
                return rows, 0
            return rows, self._degree(cursor, node, end, fetch) - len(rows)
        found: list[_Row] = []
        total = 0
        own = set(family)
        for node in family:
            for end in ends:
                rows = cursor.execute(fetch.sql(end), fetch.bind(node)).fetchall()
                full = fetch.limit is not None and len(rows) == fetch.limit
                total += self._degree(cursor, node, end, fetch) if full else len(rows)
                found += [_from(row, family[0], own) for row in rows]
        kept = fetch.sorted(found, self, cursor)[: fetch.limit]
        return kept, max(0, total - len(kept))

    def _degree(self, cursor: apsw.Cursor, lid: int, end: str, fetch: _Fetch) -> int:
        """Edges at one end of a label. Counting a hub costs as much as a walk, so counts are kept until a write."""
        key = (lid, end, fetch.rels, fetch.as_of)
        known = self._counted.known
        degree = known.get(key)
        if degree is None:
            degree = known[key] = cursor.execute(fetch.count(end), fetch.bind(lid)).get
        return degree

    def _forget_degrees(self, cursor: apsw.Cursor) -> None:
        """To be called once in each snapshot before degrees are asked for."""
        counted = self._counted
        version, now = cursor.execute("PRAGMA data_version").get, micros(datetime.now(UTC)) or 0
        if version != counted.version or now >= counted.until:
            counted.known = {}
            counted.version = version
            counted.until = cursor.execute(_NEXT_CHANGE, (now,)).get or sys.maxsize

    def _rel_numbers(self, cursor: apsw.Cursor, names: Sequence[str] | None) -> tuple[int, ...] | None:
        if names is None:
            return None
        known = dict(cursor.execute("SELECT name, rel FROM rels").fetchall())
        for name in names:
            if name not in known and known:
                raise UnknownNameError("edge type", name, list(known))
        return tuple(known[name] for name in names if name in known)

    def _edge(self, cursor: apsw.Cursor, row: Any, properties: str | None) -> Edge:
        return _as_edge(
            row, self.key(cursor, row[0]), self.rel(cursor, row[1]), self.key(cursor, row[2]), properties
        )


class _Degrees(threading.local):
    """Degrees counted by one thread: right until something is written, or an edge begins or ends."""

    def __init__(self) -> None:
        self.known: dict[tuple[Any, ...], int] = {}
        self.version = -1  # of the file, as this thread's connection tells it
        self.until = 0  # microseconds since 1970


class _Fetch:
    """The statements that fetch or count the edges at one end of a label, in one order, of some types, at one time."""

    def __init__(
        self, order: EdgeOrder, rels: tuple[int, ...] | None, limit: int | None, as_of: datetime | None, more: str
    ) -> None:
        self.order = order
        self.rels = rels
        self.limit = limit
        self.as_of = as_of
        self._at = micros(as_of or datetime.now(UTC))
        self._columns = f"{_COLUMNS}, {more}" if more else _COLUMNS
        types = "" if rels is None else f" AND e.rel IN ({', '.join(map(str, rels))})"
        self._where = {end: f"e.{_near(end)} = ?2 AND {_in_force(as_of)}{types}" for end in ("out", "in")}
        self._sql = {end: self._fetching(end) for end in ("out", "in")}

    def _fetching(self, end: str) -> str:
        if self.order.field not in _ORDERS and self.order.field != "dst":
            raise UnknownNameError("edge field", self.order.field, [*_ORDERS, "dst"])
        by = _ORDERS.get(self.order.field) or f"(SELECT key FROM labels l WHERE l.lid = e.{_far(end)})"
        down = "DESC" if self.order.order == "desc" else "ASC"
        return (
            f"SELECT {self._columns} FROM edges e INDEXED BY edges_{end} WHERE {self._where[end]}"
            f" ORDER BY {by} {down}{'' if self.limit is None else f' LIMIT {self.limit}'}"
        )

    def sql(self, end: str) -> str:
        return self._sql[end]

    def count(self, end: str) -> str:
        return f"SELECT count(*) FROM edges e INDEXED BY edges_{end} WHERE {self._where[end]}"

    def bind(self, lid: int) -> tuple[int | None, int]:
        return (self._at, lid)

    def sorted(self, rows: list[Any], graph: Graph, cursor: apsw.Cursor) -> list[Any]:
        return sorted(rows, key=self._value(graph, cursor), reverse=self.order.order == "desc")

    def best(
        self, reached: list[_Reached], limit: int | None, graph: Graph, cursor: apsw.Cursor
    ) -> list[_Reached]:
        """What was reached, by the order of its edge; ties as they were reached."""
        value = self._value(graph, cursor)
        down = self.order.order == "desc"
        if limit is not None and limit < len(reached):
            pick = nlargest if down else nsmallest
            return pick(limit, reached, key=lambda step: value(step[2]))
        return sorted(reached, key=lambda step: value(step[2]), reverse=down)

    def _value(self, graph: Graph, cursor: apsw.Cursor) -> Callable[[Any], Any]:
        match self.order.field:
            case "created_at":
                return itemgetter(4)
            case "weight":
                return itemgetter(3)
            case "rel_type":
                return lambda row: graph.rel(cursor, row[1])
            case "dst":
                return lambda row: graph.key(cursor, row[2])
            case field:
                at = 5 if field == "valid_from" else 6
                return lambda row: (row[at] is not None, row[at])


def _ends(direction: Direction) -> tuple[str, ...]:
    return ("out", "in") if direction == "both" else (direction,)


def _near(end: str) -> str:
    return "src" if end == "out" else "dst"


def _far(end: str) -> str:
    return "dst" if end == "out" else "src"


def _in_force(as_of: datetime | None) -> str:
    """In force at parameter 1. An edge asked for in the past began, if nothing else is said, when it was made."""
    since = "" if as_of is None else " AND (e.valid_from IS NOT NULL OR e.created <= ?1)"
    return f"(e.valid_to IS NULL OR e.valid_to > ?1) AND (e.valid_from IS NULL OR e.valid_from <= ?1){since}"


_OUTGOING_NOW = _OUTGOING % _in_force(None)


def _from(row: Any, node: int, family: set[int]) -> Any:
    """The edge as seen from a node of several labels: its own end is the node."""
    return (node, *row[1:]) if row[0] in family else (row[0], row[1], node, *row[3:])


def _as_edge(row: Any, src: str, rel: str, dst: str, properties: str | None) -> Edge:
    return Edge(
        src=src,
        rel_type=rel,
        dst=dst,
        weight=row[3],
        properties=_decode(properties) if properties else {},
        created_at=moment_of(row[4]),
        valid_from=moment_of(row[5]),
        valid_to=moment_of(row[6]),
    )
