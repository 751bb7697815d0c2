"""Edges at labels. Works on label numbers; keys appear only in what is returned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ...errors import UnknownNameError
from ...model import Direction, Edge
from ..contract import EdgeCount, EdgeOrder
from ..encoding import moment_of
from .database import Database
from .edge_queries import COLUMNS, Fetch, ends, fetch_of, in_force, instant, near, tied
from .graph_cache import Seen, Triple

if TYPE_CHECKING:
    import apsw

__all__ = ["Graph"]

_CACHE = 200_000  # label numbers whose keys are remembered
_NEWEST = EdgeOrder()
_decode = msgspec.json.Decoder(dict[str, Any]).decode

_DEGREE = {
    "out": "SELECT leaves FROM degrees WHERE lid = ?",
    "in": "SELECT enters FROM degrees WHERE lid = ?",
}
_DEGREES = {
    end: f"SELECT v.value, coalesce({column}, 0) FROM json_each(?) v LEFT JOIN degrees d ON d.lid = v.value"
    for end, column in (("out", "d.leaves"), ("in", "d.enters"))
}
_FAMILIES = (
    "SELECT a.lid, b.lid FROM json_each(?) v CROSS JOIN names a INDEXED BY names_aliased ON a.lid = v.value"
    " AND a.total > 1 CROSS JOIN names b ON b.rid = a.rid AND b.lid <> a.lid"
)


class Graph:
    """The edges of one tenant."""

    def __init__(self, database: Database) -> None:
        # numbers are never reused, so an entry is never wrong
        self._keys: dict[int, str] = {}
        self.seen = Seen(database)

    # -- names of numbers --------------------------------------------------------------------------

    def lids(self, cursor: apsw.Cursor, keys: Iterable[str]) -> list[int]:
        """Numbers of the keys that exist, in order."""
        known = self.seen.lids
        found = []
        for key in keys:
            lid = known.get(key)
            if lid is None:
                lid = cursor.execute("SELECT lid FROM labels WHERE key=?", (key,)).get
                if lid is None:
                    continue
                known[key] = lid
                self.seen.weight += 200
            found.append(lid)
        return list(dict.fromkeys(found))

    def all_lids(self, cursor: apsw.Cursor, keys: Iterable[str]) -> list[int]:
        """The same, and behind them those of every other label of their records."""
        lids = self.lids(cursor, keys)
        self.know_families(cursor, lids)
        families = self.seen.families
        others = {other for lid in lids for other in families.get(lid, ())}
        return [*lids, *self.by_key(cursor, others.difference(lids))]

    def by_key(self, cursor: apsw.Cursor, lids: Collection[int]) -> Collection[int]:
        """Labels in the order of their keys."""
        return sorted(lids, key=lambda lid: self.key(cursor, lid)) if len(lids) > 1 else lids

    def key(self, cursor: apsw.Cursor, lid: int) -> str:
        key = self._keys.get(lid)
        if key is None:
            if len(self._keys) >= _CACHE:
                self._keys.clear()
            key = self._keys[lid] = (
                cursor.execute("SELECT key FROM labels WHERE lid=?", (lid,)).get or ""
            )
        return key

    def _know_keys(self, cursor: apsw.Cursor, lids: set[int]) -> None:
        """Learn the keys of many labels at once."""
        unknown = [lid for lid in lids if lid not in self._keys]
        if len(unknown) > 1:
            rows = cursor.execute(
                "SELECT l.lid, l.key FROM json_each(?) v CROSS JOIN labels l ON l.lid = v.value",
                (str(unknown),),
            )
            self._keys.update(rows)

    def rel(self, cursor: apsw.Cursor, number: int) -> str:
        known = self.seen.rels
        name = known.get(number)
        if name is None:
            name = known[number] = cursor.execute(
                "SELECT name FROM rels WHERE rel=?", (number,)
            ).get
        return name

    def rel_types(self) -> list[str]:
        with self.seen.reading() as cursor:
            return [name for (name,) in cursor.execute("SELECT name FROM rels ORDER BY name")]

    def rel_numbers(
        self, cursor: apsw.Cursor, names: Sequence[str] | None
    ) -> tuple[int, ...] | None:
        if names is None:
            return None
        known = dict(cursor.execute("SELECT name, rel FROM rels").fetchall())
        for name in names:
            if name not in known and known:
                raise UnknownNameError("edge type", name, list(known))
        return tuple(known[name] for name in names if name in known)

    def know_families(self, cursor: apsw.Cursor, lids: Iterable[int]) -> None:
        """Learn the other labels of the records that have these labels."""
        seen = self.seen
        if not seen.aliased:
            return
        unknown = {lid for lid in lids if lid not in seen.alone and lid not in seen.families}
        if unknown:
            for lid, other in cursor.execute(_FAMILIES, (str(list(unknown)),)):
                seen.families[lid] = (*seen.families.get(lid, ()), other)
            seen.alone |= unknown - seen.families.keys()
            seen.weight += 80 * len(unknown)

    # -- edges -------------------------------------------------------------------------------------

    def edges(
        self,
        keys: Sequence[str],
        direction: Direction,
        rel_types: Sequence[str] | None,
        limit: int | None,
        order: EdgeOrder,
        as_of: datetime | None,
    ) -> list[Edge]:
        with self.seen.reading() as cursor:
            fetch, at = (
                fetch_of(order, self.rel_numbers(cursor, rel_types), limit, as_of is None),
                instant(as_of),
            )
            found: dict[Any, Any] = {}
            for lid in self.all_lids(cursor, keys):
                for row in self._rows(cursor, [lid], direction, fetch, at):
                    found.setdefault(row[:3], row)
            return [self._edge(cursor, row) for row in found.values()]

    def count(
        self, keys: Sequence[str], direction: Direction, as_of: datetime | None
    ) -> list[EdgeCount]:
        with self.seen.reading() as cursor:
            lids = self.all_lids(cursor, keys)
            counts = []
            for end in ends(direction):
                rows = cursor.execute(
                    f"SELECT e.rel, count(*) FROM json_each(?2) v CROSS JOIN edges e INDEXED BY edges_{end}"
                    f" ON e.{near(end)} = v.value WHERE {in_force(as_of is None)} GROUP BY e.rel",
                    (instant(as_of), str(lids)),
                ).fetchall()
                counts += [
                    EdgeCount(self.rel(cursor, rel), cast(Direction, end), n) for rel, n in rows
                ]
            return sorted(counts, key=lambda count: (-count.count, count.rel_type, count.direction))

    def edge_keys(
        self,
        keys: Sequence[str],
        direction: Direction,
        rel_types: Sequence[str] | None,
        limit: int,
        as_of: datetime | None,
    ) -> list[Triple]:
        with self.seen.reading() as cursor:
            fetch, at = (
                fetch_of(_NEWEST, self.rel_numbers(cursor, rel_types), limit, as_of is None),
                instant(as_of),
            )
            known = self.seen.triples if as_of is None else {}
            found: list[Triple] = []
            twice = direction == "both"  # then an edge may come from each of its ends
            for lid in self.all_lids(cursor, keys):
                place = lid, direction, fetch
                if place not in known:
                    rows = self._rows(cursor, [lid], direction, fetch, at, whole=False)
                    known[place] = self._triples(cursor, rows)
                found += known[place]
                if len(found) >= limit * (1 + twice):
                    break
            return list(islice(dict.fromkeys(found), limit)) if twice else found[:limit]

    def _rows(
        self,
        cursor: apsw.Cursor,
        lids: Collection[int],
        direction: Direction,
        fetch: Fetch,
        at: int,
        *,
        whole: bool = True,
    ) -> list[Any]:
        """The edges at the labels of one record, which come in key order: rows that begin with
        `COLUMNS`, or the first three of them, each once."""
        by = 8 if whole else 3  # the place of what the order goes by
        rows: list[Any] = []
        for statements in (fetch.quick, fetch.exact):
            sql = statements.edges if whole else statements.triples
            parts = [
                cursor.execute(sql[end], (at, lid)).fetchall()
                for end in ends(direction)
                for lid in lids
            ]
            if len(parts) == 1:
                rows = parts[0]
            else:
                rows = fetch.merged({row[:3]: row for part in parts for row in part}.values(), by)
            if not tied([row[by:] for row in rows]):
                break
        return rows[: fetch.limit]

    def _triples(self, cursor: apsw.Cursor, rows: list[Any]) -> list[Triple]:
        self._know_keys(cursor, {end for row in rows for end in (row[0], row[2])})
        self.seen.weight += 200 + 72 * len(rows)
        return [
            (self.key(cursor, row[0]), self.rel(cursor, row[1]), self.key(cursor, row[2]))
            for row in rows
        ]

    def degrees(self, keys: Sequence[str], direction: Direction, as_of: datetime | None) -> int:
        """How many edges there are at these keys, of any type, each counted once."""
        with self.seen.reading() as cursor:
            fetch, at = fetch_of(_NEWEST, None, None, as_of is None), instant(as_of)
            lids = self.all_lids(cursor, keys)
            total = 0
            for end in ends(direction):
                self.know_degrees(cursor, lids, end, fetch)
                total += sum(self.degree(cursor, lid, end, fetch, at) for lid in lids)
            # those with both ends here were counted twice
            if direction == "both":
                total -= cursor.execute(
                    "SELECT count(*) FROM json_each(?2) v CROSS JOIN edges e INDEXED BY edges_out ON e.src = v.value"
                    f" WHERE e.dst IN (SELECT value FROM json_each(?2)) AND {in_force(as_of is None)}",
                    (at, str(lids)),
                ).get
            return total

    def know_degrees(
        self, cursor: apsw.Cursor, lids: Sequence[int], end: str, fetch: Fetch
    ) -> None:
        """Learn how many edges there are at one end of many labels, where every one of them counts."""
        if fetch.counted and not self.seen.bounded:
            known = self.seen.degrees
            unknown = [lid for lid in lids if (lid, end, None, None) not in known]
            if unknown:
                for lid, degree in cursor.execute(_DEGREES[end], (str(unknown),)):
                    known[lid, end, None, None] = degree

    def degree(self, cursor: apsw.Cursor, lid: int, end: str, fetch: Fetch, at: int) -> int:
        """Edges at one end of a label: as counted when they were made, if every one of them counts,
        else one by one."""
        key = (lid, end, fetch.rels, None if fetch.now else at)
        known = self.seen.degrees
        degree = known.get(key)
        if degree is None:
            if fetch.counted and not self.seen.bounded:
                degree = cursor.execute(_DEGREE[end], (lid,)).get or 0
            else:
                degree = cursor.execute(fetch.quick.counts[end], (at, lid)).get
            known[key] = degree
            self.seen.weight += 200
        return degree

    def outgoing(
        self, cursor: apsw.Cursor, lids: Sequence[int], limit: int, as_of: datetime | None
    ) -> tuple[Edge, ...]:
        """The newest edges that leave a record's labels, in force at `as_of`, or now."""
        seen = self.seen
        if as_of is None:
            seen.refresh(cursor)
            known = seen.outgoing.get((lids[0], limit)) if len(lids) == 1 else None
            if known is not None:
                return known
        rows = self._rows(
            cursor,
            self.by_key(cursor, lids),
            "out",
            fetch_of(_NEWEST, None, limit, as_of is None),
            instant(as_of),
        )
        edges = tuple([self._edge(cursor, row) for row in rows])
        if as_of is None and len(lids) == 1:
            seen.outgoing[lids[0], limit] = edges
            seen.weight += 200 + 200 * len(edges)
        return edges

    def all(self, cursor: apsw.Cursor) -> Iterable[Edge]:
        rows = cursor.execute(
            f"SELECT {COLUMNS}, s.key, t.name, d.key FROM edges e JOIN labels s ON s.lid = e.src"
            " JOIN rels t USING (rel) JOIN labels d ON d.lid = e.dst ORDER BY s.key, t.name, d.key"
        )
        for row in rows:
            yield _as_edge(row, row[8], row[9], row[10])

    def _edge(self, cursor: apsw.Cursor, row: Any) -> Edge:
        return _as_edge(
            row, self.key(cursor, row[0]), self.rel(cursor, row[1]), self.key(cursor, row[2])
        )


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
