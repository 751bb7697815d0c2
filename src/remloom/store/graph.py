"""Edges at labels, and walks along them. Works on label numbers; keys appear only in what is returned."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

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
_NEIGHBOURHOODS = 60_000  # lists of some nine edges that a thread remembers until the next write, about 1 kB each
_decode = msgspec.json.Decoder(dict[str, Any]).decode

_DEGREE = {
    "out": "SELECT leaves FROM degrees WHERE lid = ?",
    "in": "SELECT enters FROM degrees WHERE lid = ?",
}
_DEGREES = {
    end: f"SELECT v.value, coalesce({column}, 0) FROM json_each(?) v LEFT JOIN degrees d ON d.lid = v.value"
    for end, column in (("out", "d.leaves"), ("in", "d.enters"))
}
_BOUNDED = (
    "SELECT EXISTS (SELECT 1 FROM edges INDEXED BY edges_until WHERE valid_to IS NOT NULL)"
    " OR EXISTS (SELECT 1 FROM edges INDEXED BY edges_since WHERE valid_from IS NOT NULL)"
)
_NEXT_CHANGE = """
SELECT min(at) FROM (SELECT min(valid_to) AS at FROM edges INDEXED BY edges_until WHERE valid_to > ?1
                     UNION ALL SELECT min(valid_from) FROM edges INDEXED BY edges_since WHERE valid_from > ?1)
"""

_End = tuple[int, Any]  # the label at the other end of an edge, and what the order goes by


class _Near(NamedTuple):
    """Where the edges of one node lead, in order."""

    ends: list[_End]
    unfollowed: int  # edges beyond the breadth
    aliased: bool  # some of them lead to a record of several labels


class Graph:
    """The edges of one tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keys: dict[int, str] = {}  # numbers are never reused, so an entry is never wrong
        self._rels: dict[int, str] = {}
        self._seen = _Seen()

    # -- names of numbers ------------------------------------------------------------------------------------

    def lids(self, cursor: apsw.Cursor, keys: Iterable[str]) -> list[int]:
        """Numbers of the keys that exist, in order."""
        known = self._seen.lids
        found = []
        for key in keys:
            lid = known.get(key)
            if lid is None:
                lid = cursor.execute("SELECT lid FROM labels WHERE key=?", (key,)).get
                if lid is None:
                    continue
                known[key] = lid
            found.append(lid)
        return list(dict.fromkeys(found))

    def all_lids(self, cursor: apsw.Cursor, keys: Iterable[str]) -> list[int]:
        """The same, and those of every other label of their records."""
        lids = self.lids(cursor, keys)
        self._know_families(cursor, lids)
        families = self._seen.families
        return list(dict.fromkeys([*lids, *(other for lid in lids for other in families[lid])]))

    def key(self, cursor: apsw.Cursor, lid: int) -> str:
        key = self._keys.get(lid)
        if key is None:
            if len(self._keys) >= _CACHE:
                self._keys.clear()
            key = self._keys[lid] = cursor.execute("SELECT key FROM labels WHERE lid=?", (lid,)).get or ""
        return key

    def _know_keys(self, cursor: apsw.Cursor, lids: set[int]) -> None:
        """Learn the keys of many labels at once."""
        unknown = [lid for lid in lids if lid not in self._keys]
        if len(unknown) > 1:
            rows = cursor.execute(
                "SELECT l.lid, l.key FROM json_each(?) v CROSS JOIN labels l ON l.lid = v.value", (str(unknown),)
            )
            self._keys.update(rows)

    def rel(self, cursor: apsw.Cursor, number: int) -> str:
        name = self._rels.get(number)
        if name is None:
            name = self._rels[number] = cursor.execute("SELECT name FROM rels WHERE rel=?", (number,)).get
        return name

    def rel_types(self) -> list[str]:
        return [name for (name,) in self._database.reader.execute("SELECT name FROM rels ORDER BY name")]

    def _know_families(self, cursor: apsw.Cursor, lids: Sequence[int]) -> None:
        """Learn the other labels of the records that have these labels."""
        families = self._seen.families
        unknown = list(dict.fromkeys(lid for lid in lids if lid not in families))
        if not unknown:
            return
        families.update((lid, ()) for lid in unknown)
        rows = cursor.execute(
            "SELECT a.lid, b.lid FROM json_each(?) v CROSS JOIN names a ON a.lid = v.value AND a.total > 1"
            " CROSS JOIN names b ON b.rid = a.rid AND b.lid <> a.lid",
            (str(unknown),),
        )
        for lid, other in rows:
            families[lid] = (*families[lid], other)

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
        with self.reading() as cursor:
            fetch = _Fetch(order, self._rel_numbers(cursor, rel_types), limit, as_of)
            found: dict[tuple[int, int, int], Any] = {}
            for lid in self.all_lids(cursor, keys):
                rows = [row for end in _ends(direction) for row in cursor.execute(fetch.edges[end], (fetch.at, lid))]
                if direction == "both":
                    rows = fetch.sorted(rows)[:limit]
                found.update((row[:3], row) for row in rows if row[:3] not in found)
            return [self._edge(cursor, row) for row in found.values()]

    def count(self, keys: Sequence[str], direction: Direction, as_of: datetime | None) -> list[EdgeCount]:
        with self.reading() as cursor:
            lids = self.all_lids(cursor, keys)
            counts = []
            for end in _ends(direction):
                rows = cursor.execute(
                    f"SELECT e.rel, count(*) FROM json_each(?2) v CROSS JOIN edges e INDEXED BY edges_{end}"
                    f" ON e.{_near(end)} = v.value WHERE {_in_force(as_of is None)} GROUP BY e.rel",
                    (_instant(as_of), str(lids)),
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
        with self.reading() as cursor:
            fetch = _Fetch(EdgeOrder(), self._rel_numbers(cursor, rel_types), limit, as_of)
            known = self._seen.triples if as_of is None else {}
            places: list[tuple[int, str]] = []
            new: dict[tuple[int, str], list[Any]] = {}
            count = 0
            for lid in self.all_lids(cursor, keys):
                for end in _ends(direction):
                    place = lid, fetch.triples[end]
                    if place not in known:
                        new[place] = cursor.execute(place[1], (fetch.at, lid)).fetchall()
                    places.append(place)
                    count += len(new[place] if place in new else known[place])
                if count >= 2 * limit:  # an edge comes at most twice, from its two ends
                    break
            self._know_keys(cursor, {end for rows in new.values() for row in rows for end in (row[0], row[2])})
            for place, rows in new.items():
                known[place] = {
                    (self.key(cursor, row[0]), self.rel(cursor, row[1]), self.key(cursor, row[2])): None for row in rows
                }
                self._seen.weight += 1 + len(rows) // 9
            found: dict[tuple[str, str, str], None] = {}
            for place in places:
                found.update(known[place])
            return list(islice(found, limit))

    def degrees(self, keys: Sequence[str], direction: Direction, as_of: datetime | None) -> int:
        """How many edges there are at these keys, of any type, each counted once."""
        with self.reading() as cursor:
            fetch = _Fetch(EdgeOrder(), None, None, as_of)
            lids = self.all_lids(cursor, keys)
            total = sum(self._degree(cursor, lid, end, fetch) for lid in lids for end in _ends(direction))
            if direction == "both":  # those with both ends here were counted twice
                total -= cursor.execute(
                    "SELECT count(*) FROM json_each(?2) v CROSS JOIN edges e INDEXED BY edges_out ON e.src = v.value"
                    f" WHERE e.dst IN (SELECT value FROM json_each(?2)) AND {_in_force(as_of is None)}",
                    (fetch.at, str(lids)),
                ).get
            return total

    def outgoing(
        self, cursor: apsw.Cursor, lids: Sequence[int], limit: int, as_of: datetime | None
    ) -> tuple[Edge, ...]:
        """The newest edges that leave a record's labels, in force at `as_of`, or now."""
        if as_of is None:
            self._refresh(cursor)
            known = self._seen.outgoing.get((lids[0], limit)) if len(lids) == 1 else None
            if known is not None:
                return known
        sql, at = _OUTGOING[as_of is None], _instant(as_of)
        rows = [row for lid in lids for row in cursor.execute(sql, (at, lid, limit)).fetchall()]
        if len(lids) > 1:
            rows = sorted(rows, key=_created, reverse=True)[:limit]
        edges = tuple([self._edge(cursor, row) for row in rows])
        if as_of is None and len(lids) == 1:
            self._seen.outgoing[lids[0], limit] = edges
            self._seen.weight += 1 + len(edges) // 5
        return edges

    def all(self, cursor: apsw.Cursor) -> Iterable[Edge]:
        rows = cursor.execute(
            f"SELECT {_COLUMNS}, e.properties, s.key, t.name, d.key FROM edges e JOIN labels s ON s.lid = e.src"
            " JOIN rels t USING (rel) JOIN labels d ON d.lid = e.dst ORDER BY s.key, t.name, d.key"
        )
        for row in rows:
            yield _as_edge(row, row[8], row[9], row[10])

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
        with self.reading() as cursor:
            fetch = _Fetch(order, self._rel_numbers(cursor, rel_types), breadth, as_of)
            families = self._seen.families
            around = self._seen.around(direction, fetch)
            beginning, frontier = self.lids(cursor, starts), []
            self._know_families(cursor, beginning)
            origin: dict[int, int] = {}  # every label seen -> that it was reached from; 0: none
            for node in beginning:
                if node not in origin:
                    origin.update(dict.fromkeys((node, *families[node]), 0))
                    frontier.append(node)
            reached: list[_End] = []
            unfollowed = level = deepest = 0
            while frontier and level < depth:
                level += 1
                known = len(reached)
                self._look_around(cursor, frontier, _ends(direction), fetch, around)
                for node in frontier:
                    near = around[node]
                    unfollowed += near.unfollowed
                    for end in near.ends:
                        other = end[0]
                        if other not in origin:
                            origin[other] = node
                            reached.append(end)
                            if near.aliased:  # a record is reached once, under whichever label
                                for label in families[other]:
                                    origin.setdefault(label, node)
                frontier = [other for other, _ in reached[known:]]
                if frontier:
                    deepest = level
            steps = tuple(self._step(cursor, label, origin) for label, _ in fetch.best(reached, limit))
            return Walk(steps, len(reached), unfollowed, deepest)

    def _step(self, cursor: apsw.Cursor, label: int, origin: dict[int, int]) -> Step:
        path = [label]
        while before := origin[path[-1]]:
            path.append(before)
        path.reverse()
        keys = tuple(self.key(cursor, lid) for lid in path)
        return Step(keys[-1], len(keys) - 1, keys)

    def _look_around(
        self,
        cursor: apsw.Cursor,
        nodes: Sequence[int],
        ends: tuple[str, ...],
        fetch: _Fetch,
        around: dict[int, _Near],
    ) -> None:
        """Learn where the edges of these nodes lead, of those that are not in `around` yet."""
        families = self._seen.families
        missing = [node for node in nodes if node not in around]
        found = {
            (lid, end): cursor.execute(fetch.ends[end], (fetch.at, lid)).fetchall()
            for node in missing
            for lid in (node, *families[node])
            for end in ends
        }
        for end in ends:  # beyond what was fetched there may be more
            full = [lid for (lid, at), rows in found.items() if at == end and len(rows) == fetch.limit]
            self._know_degrees(cursor, full, end, fetch)
        self._know_families(cursor, [other for rows in found.values() for other, _ in rows])
        for node in missing:
            rows: list[_End] = []
            total = 0
            for lid in (node, *families[node]):
                for end in ends:
                    part = found[lid, end]
                    full_here = len(part) == fetch.limit
                    total += self._degree(cursor, lid, end, fetch) if full_here else len(part)
                    rows = rows + part if rows else part
            if families[node] or len(ends) > 1:
                rows = fetch.sorted(rows)[: fetch.limit]
            around[node] = _Near(rows, total - len(rows), any(families[other] for other, _ in rows))
        self._seen.weight += len(missing)

    def _know_degrees(self, cursor: apsw.Cursor, lids: Sequence[int], end: str, fetch: _Fetch) -> None:
        """Learn how many edges there are at one end of many labels, where every one of them counts."""
        if fetch.counted and not self._seen.bounded:
            known = self._seen.degrees
            unknown = [lid for lid in lids if (lid, end, None, None) not in known]
            for lid, degree in cursor.execute(_DEGREES[end], (str(unknown),)):
                known[lid, end, None, None] = degree

    def _degree(self, cursor: apsw.Cursor, lid: int, end: str, fetch: _Fetch) -> int:
        """Edges at one end of a label: as counted when they were made, if every one of them counts, else one by one."""
        key = (lid, end, fetch.rels, fetch.as_of)
        known = self._seen.degrees
        degree = known.get(key)
        if degree is None:
            if fetch.counted and not self._seen.bounded:
                degree = cursor.execute(_DEGREE[end], (lid,)).get or 0
            else:
                degree = cursor.execute(fetch.count[end], (fetch.at, lid)).get
            known[key] = degree
        return degree

    def _rel_numbers(self, cursor: apsw.Cursor, names: Sequence[str] | None) -> tuple[int, ...] | None:
        if names is None:
            return None
        known = dict(cursor.execute("SELECT name, rel FROM rels").fetchall())
        for name in names:
            if name not in known and known:
                raise UnknownNameError("edge type", name, list(known))
        return tuple(known[name] for name in names if name in known)

    def _edge(self, cursor: apsw.Cursor, row: Any) -> Edge:
        return _as_edge(row, self.key(cursor, row[0]), self.rel(cursor, row[1]), self.key(cursor, row[2]))

    @contextmanager
    def reading(self) -> Iterator[apsw.Cursor]:
        """One state of the file, and what was seen of it. Nests."""
        with self._database.snapshot() as cursor:
            if self._seen.held:
                yield cursor
                return
            self._refresh(cursor)
            self._seen.held = True
            try:
                yield cursor
            finally:
                self._seen.held = False

    def _refresh(self, cursor: apsw.Cursor) -> None:
        """Empty what this thread has seen if something was written since, or an edge began or ended."""
        seen, now = self._seen, _instant(None)
        if seen.held:
            return
        version = cursor.execute("PRAGMA data_version").get
        if version != seen.version or now >= seen.until or seen.weight > _NEIGHBOURHOODS:
            seen.clear()
            seen.version = version
            seen.until = cursor.execute(_NEXT_CHANGE, (now,)).get or sys.maxsize
            seen.bounded = bool(cursor.execute(_BOUNDED).get)


class _Seen(threading.local):
    """What one thread has read of the graph: right until something is written, or an edge begins or ends."""

    def __init__(self) -> None:
        self.version = -1  # of the file, as this thread's connection tells it
        self.until = 0  # microseconds since 1970
        self.bounded = True  # some edge does not hold for ever
        self.held = False  # within `reading`: nothing can have been written
        self.clear()

    def clear(self) -> None:
        self.weight = 0  # in lists of some nine edges
        self.lids: dict[str, int] = {}
        self.families: dict[int, tuple[int, ...]] = {}
        self.degrees: dict[tuple[Any, ...], int] = {}
        self.near: dict[tuple[Direction, str], dict[int, _Near]] = {}
        self.outgoing: dict[tuple[int, int], tuple[Edge, ...]] = {}
        self.triples: dict[tuple[int, str], dict[tuple[str, str, str], None]] = {}

    def around(self, direction: Direction, fetch: _Fetch) -> dict[int, _Near]:
        """Where nodes lead, as far as it was seen by the same fetch; nothing is kept of the past."""
        return self.near.setdefault((direction, fetch.ends["out"]), {}) if fetch.as_of is None else {}


class _Fetch:
    """The statements that fetch or count the edges at one end of a label: in one order, of some types, at one time.

    `edges` gives whole edges, `triples` (src, rel, dst), `ends` the other end and what the order goes by, `count`
    how many there are. Each takes the time and the label. All but the first are answered from an index alone,
    unless the order is by weight.
    """

    def __init__(
        self, order: EdgeOrder, rels: tuple[int, ...] | None, limit: int | None, as_of: datetime | None
    ) -> None:
        if order.field not in _ORDERS and order.field != "dst":
            raise UnknownNameError("edge field", order.field, [*_ORDERS, "dst"])
        self.rels = rels
        self.limit = limit
        self.as_of = as_of
        self.counted = rels is None and as_of is None  # `degrees` tells how many there are
        self.at = _instant(as_of)
        self._down = order.order == "desc"
        self._value = _last_value if order.field.startswith("valid") else itemgetter(1)
        self.edges, self.triples, self.ends, self.count = _statements(
            order.field, self._down, rels, limit, as_of is None
        )

    def sorted(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Rows of several fetches in the order, which goes by their last value; unset values are lowest."""
        return sorted(rows, key=_last_value, reverse=self._down)

    def best(self, reached: list[_End], limit: int | None) -> list[_End]:
        """What was reached, in the order of the edges that reached it; ties as they were reached."""
        return sorted(reached, key=self._value, reverse=self._down)[:limit]


def _last_value(row: tuple[Any, ...]) -> tuple[bool, Any]:
    return row[-1] is not None, row[-1]


@lru_cache(maxsize=256)
def _statements(
    field: str, down: bool, rels: tuple[int, ...] | None, limit: int | None, now: bool
) -> tuple[dict[str, str], ...]:
    types = "" if rels is None else f" AND e.rel IN ({', '.join(map(str, rels))})"
    cut = "" if limit is None else f" LIMIT {limit}"
    statements: tuple[dict[str, str], ...] = ({}, {}, {}, {})
    for end in ("out", "in"):
        by = _ORDERS.get(field) or f"(SELECT key FROM labels l WHERE l.lid = e.{_far(end)})"
        place = f"FROM edges e INDEXED BY edges_{end} WHERE e.{_near(end)} = ?2 AND {_in_force(now)}{types}"
        ordered = f"{place} ORDER BY {by} {'DESC' if down else 'ASC'}{cut}"
        for kind, columns in enumerate(
            (f"{_COLUMNS}, e.properties, {by}", f"e.src, e.rel, e.dst, {by}", f"e.{_far(end)}, {by}")
        ):
            statements[kind][end] = f"SELECT {columns} {ordered}"
        statements[3][end] = f"SELECT count(*) {place}"
    return statements


def _ends(direction: Direction) -> tuple[str, ...]:
    return ("out", "in") if direction == "both" else (direction,)


def _near(end: str) -> str:
    return "src" if end == "out" else "dst"


def _far(end: str) -> str:
    return "dst" if end == "out" else "src"


def _in_force(now: bool) -> str:
    """In force at parameter 1. An edge asked for in the past began, if nothing else is said, when it was made."""
    since = "" if now else " AND (e.valid_from IS NOT NULL OR e.created <= ?1)"
    return f"(e.valid_to IS NULL OR e.valid_to > ?1) AND (e.valid_from IS NULL OR e.valid_from <= ?1){since}"


def _instant(as_of: datetime | None) -> int:
    """Microseconds since 1970, of now when there is no time."""
    return time.time_ns() // 1000 if as_of is None else micros(as_of) or 0


_created = itemgetter(4)
_OUTGOING = {
    now: f"SELECT {_COLUMNS}, e.properties FROM edges e INDEXED BY edges_out WHERE e.src = ?2 AND {_in_force(now)}"
    " ORDER BY e.created DESC LIMIT ?3"
    for now in (True, False)
}


def _as_edge(row: Any, src: str, rel: str, dst: str) -> Edge:
    properties = row[7]
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
