"""Edges at labels, counted and walked. See `components.Graph`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from datetime import datetime
from itertools import accumulate, islice
from typing import Any, cast

import apsw
import msgspec

from ....model import Direction, Edge, EdgeKey, TypeCount
from ...results import Walk
from ...specs import NEWEST, EdgeSpec, WalkSpec
from ..file.database import SqliteDatabase
from ..file.error_translation import translate
from ..rows import SQL, edge_of
from .edge_queries import (
    Fetch,
    ends_of,
    fetch_for,
    has_ties,
    in_force,
    microseconds_at,
    own_column,
)
from .label_numbers import LabelNumbers
from .traversal import walk

_STREAM_CACHE = 8  # MB
_AT_ONCE = 64  # labels whose edges are fetched together
_decode_lists = msgspec.json.Decoder(list[list[Any]]).decode


class SqliteGraph:
    """The edges of one tenant."""

    def __init__(self, database: SqliteDatabase, labels: LabelNumbers) -> None:
        self._database = database
        self._labels = labels
        self._cache = labels.cache

    def reading(self) -> AbstractContextManager[apsw.Cursor]:
        """Read one state of the file, with what this thread read of the graph before. Nests."""
        return self._cache.reading()

    # -- edges -------------------------------------------------------------------------------------

    def edges(self, spec: EdgeSpec) -> list[Edge]:
        with self._cache.reading() as cursor:
            fetch, at = self._fetch(cursor, spec), microseconds_at(spec.as_of)
            rows: dict[Any, Any] = {}
            for label_no in self._labels.find_with_aliases(cursor, spec.keys):
                for row in self._rows(cursor, [label_no], spec.direction, fetch, at):
                    rows.setdefault(row[:3], row)
            return [self._edge(cursor, row) for row in rows.values()]

    def stored_edges(self, keys: Sequence[str], *, direction: Direction) -> list[Edge]:
        values = (msgspec.json.encode(list(dict.fromkeys(keys))).decode(),)
        rows: dict[Any, Any] = {}
        with self._database.snapshot() as cursor:
            for end in ends_of(direction):
                sql = SQL.stored_edges_out if end == "out" else SQL.stored_edges_in
                rows.update((row[:3], row) for row in cursor.execute(sql, values))
        return [edge_of(row[0], row[1], row[2], row) for row in rows.values()]

    def edge_keys(self, spec: EdgeSpec) -> list[EdgeKey]:
        with self._cache.reading() as cursor:
            fetch, at = self._fetch(cursor, spec), microseconds_at(spec.as_of)
            known = {}
            if spec.as_of is None:
                known = self._cache.edge_keys.setdefault((fetch, spec.direction), {})
            # With both directions an edge may come from each of its ends.
            twice = spec.direction == "both"
            keys: list[EdgeKey] = []
            label_nos = self._labels.find_with_aliases(cursor, spec.keys)
            for first in range(0, len(label_nos), _AT_ONCE):
                some = label_nos[first : first + _AT_ONCE]
                unknown = [label_no for label_no in some if label_no not in known]
                if unknown:
                    known |= self._edge_keys(cursor, unknown, spec.direction, fetch, at)
                for label_no in some:
                    keys += known[label_no]
                if spec.limit is not None and len(keys) >= spec.limit * (1 + twice):
                    break
            return list(islice(dict.fromkeys(keys), spec.limit))

    def outgoing(
        self, cursor: apsw.Cursor, label_nos: Sequence[int], limit: int, as_of: datetime | None
    ) -> tuple[Edge, ...]:
        """Return the newest edges that leave a record's labels, in force at `as_of`, or now."""
        cache = self._cache
        if as_of is None:
            cache.refresh(cursor)
            known = cache.outgoing.get((label_nos[0], limit)) if len(label_nos) == 1 else None
            if known is not None:
                return known
        fetch = fetch_for(NEWEST, None, limit, as_of is None)
        by_key = self._labels.sort_by_key(cursor, label_nos)
        rows = self._rows(cursor, by_key, "out", fetch, microseconds_at(as_of))
        edges = tuple([self._edge(cursor, row) for row in rows])
        if as_of is None and len(label_nos) == 1:
            cache.outgoing[label_nos[0], limit] = edges
            cache.weight += 200 + 200 * len(edges)
        return edges

    def all_edges(self) -> Iterator[Edge]:
        connecting = self._database.connections.open(_STREAM_CACHE, query_only=True)
        with closing(connecting) as connection, translate(self._database.path):
            for row in connection.execute(SQL.all_edges):
                yield edge_of(row[8], row[9], row[10], row)

    def edge_types(self) -> list[str]:
        with self._cache.reading() as cursor:
            return list(self._labels.edge_type_names(cursor))

    # -- counts ------------------------------------------------------------------------------------

    def count(
        self, keys: Sequence[str], *, direction: Direction, as_of: datetime | None = None
    ) -> int:
        labels = self._labels
        with self._cache.reading() as cursor:
            fetch, at = fetch_for(NEWEST, None, None, as_of is None), microseconds_at(as_of)
            label_nos = labels.find_with_aliases(cursor, keys)
            total = 0
            for end in ends_of(direction):
                labels.load_degrees(cursor, label_nos, end, fetch)
                total += sum(labels.degree(cursor, no, end, fetch, at) for no in label_nos)
            # those with both ends here were counted twice
            if direction == "both":
                sql = SQL.fill("inner_edges", in_force=in_force(as_of is None))
                total -= cursor.execute(sql, (str(label_nos), at)).get
            return total

    def count_by_group(
        self,
        groups: Sequence[Sequence[str]],
        *,
        direction: Direction,
        as_of: datetime | None = None,
    ) -> list[int]:
        if direction == "both":  # an edge between two groups is at both
            together = accumulate(groups, lambda before, keys: [*before, *keys])
            return [self.count(keys, direction=direction, as_of=as_of) for keys in together]
        return list(
            accumulate(self.count(keys, direction=direction, as_of=as_of) for keys in groups)
        )

    def count_by_type(
        self, keys: Sequence[str], *, direction: Direction, as_of: datetime | None = None
    ) -> list[TypeCount]:
        with self._cache.reading() as cursor:
            label_nos = self._labels.find_with_aliases(cursor, keys)
            counts = []
            for end in ends_of(direction):
                sql = SQL.fill(
                    "count_by_type",
                    end=end,
                    own=own_column(end),
                    in_force=in_force(as_of is None),
                )
                rows = cursor.execute(sql, (str(label_nos), microseconds_at(as_of))).fetchall()
                for type_no, count in rows:
                    name = self._labels.edge_type(cursor, type_no)
                    counts.append(TypeCount(name, cast(Direction, end), count))
            return sorted(counts, key=lambda count: (-count.count, count.rel_type, count.direction))

    # -- walks -------------------------------------------------------------------------------------

    def walk(self, spec: WalkSpec) -> Walk:
        with self._cache.reading() as cursor:
            return walk(self._labels, cursor, spec)

    # -- rows of edges -----------------------------------------------------------------------------

    def _fetch(self, cursor: apsw.Cursor, spec: EdgeSpec) -> Fetch:
        types = self._labels.edge_type_numbers(cursor, spec.rel_types)
        return fetch_for(spec.order, types, spec.limit, spec.as_of is None)

    def _rows(
        self,
        cursor: apsw.Cursor,
        label_nos: Collection[int],
        direction: Direction,
        fetch: Fetch,
        at: int,
    ) -> list[Any]:
        """Fetch the edges at the labels of one record, which come in key order, each once."""
        by = 8  # the position of what the order goes by
        rows: list[Any] = []
        for statements in (fetch.quick, fetch.exact):
            parts = [
                cursor.execute(statements.edges[end], (at, label_no)).fetchall()
                for end in ends_of(direction)
                for label_no in label_nos
            ]
            if len(parts) == 1:
                rows = parts[0]
            else:
                once = {row[:3]: row for part in parts for row in part}
                rows = fetch.merged(once.values(), by)
            if not has_ties([row[by:] for row in rows]):
                break
        return rows[: fetch.limit]

    def _edge_keys(
        self,
        cursor: apsw.Cursor,
        label_nos: Sequence[int],
        direction: Direction,
        fetch: Fetch,
        at: int,
    ) -> dict[int, list[EdgeKey]]:
        rows = _key_rows(cursor, label_nos, direction, fetch, at)
        # Only where edges tie are the keys looked up that tell which comes first.
        tied = [no for no, found in rows.items() if has_ties([row[3:] for row in found])]
        if tied:
            rows |= _key_rows(cursor, tied, direction, fetch, at, exact=True)
        labels = self._labels
        ends = {end for found in rows.values() for row in found for end in (row[0], row[2])}
        labels.load_keys(cursor, ends)
        self._cache.weight += sum(200 + 72 * len(found) for found in rows.values())
        return {
            label_no: [
                (
                    labels.key(cursor, src),
                    labels.edge_type(cursor, type_no),
                    labels.key(cursor, dst),
                )
                for src, type_no, dst, *_ in found[: fetch.limit]
            ]
            for label_no, found in rows.items()
        }

    def _edge(self, cursor: apsw.Cursor, row: Any) -> Edge:
        labels = self._labels
        src, type_no, dst = row[:3]
        rel_type = labels.edge_type(cursor, type_no)
        return edge_of(labels.key(cursor, src), rel_type, labels.key(cursor, dst), row)


def _key_rows(
    cursor: apsw.Cursor,
    label_nos: Sequence[int],
    direction: Direction,
    fetch: Fetch,
    at: int,
    *,
    exact: bool = False,
) -> dict[int, list[Any]]:
    """Fetch (src, rel, dst), what the order goes by and what tells ties apart, of the edges at each
    of these labels."""
    statements = fetch.exact if exact else fetch.quick
    ends = ends_of(direction)
    rows: dict[int, list[Any]] = {label_no: [] for label_no in label_nos}
    for end in ends:
        for label_no, lists in cursor.execute(statements.edge_keys[end], (at, str(label_nos))):
            rows[label_no] += zip(*_decode_lists(lists), strict=True)
    if len(ends) == 1:
        return rows
    return {
        label_no: fetch.merged({row[:3]: row for row in found}.values(), 3)
        for label_no, found in rows.items()
    }
