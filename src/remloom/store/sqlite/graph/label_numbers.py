"""Labels and edge types by number, and what is known of a label: its key, the other labels of its
records, how many edges it has.

The graph works on numbers; keys appear only in what it returns.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

from ....errors import UnknownNameError
from ....model import Direction, Edge, EdgeKey
from ..file.database import SqliteDatabase
from ..rows import SQL
from .edge_queries import Fetch, microseconds_at

_BUDGET = 64_000_000  # bytes that a thread remembers, as reckoned by those who add to them

# Where the edges of a node lead, in order: the labels at their far ends, what the order goes by,
# how many edges are beyond the breadth, and whether one leads to a record of several labels. A
# plain tuple: garbage collection passes over those that hold nothing it must look at, and of these
# there are a hundred thousand.
Neighbours = tuple[Sequence[int], Sequence[Any], int, bool]
_MOST_KEYS = 200_000  # label numbers whose keys are remembered


class GraphCache(threading.local):
    """One thread's memory of one tenant's graph. Labels and edge types are known by number."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        # of the file, by this thread's connection
        self._version = -1
        self._until = 0  # microseconds since 1970
        # true within `reading`: nothing can have been written
        self._is_reading = False
        self.has_dated = True  # some edge does not hold for ever
        self.has_aliases = True  # some record has several labels
        self.expired: Sequence[int] = ()  # labels that only expired records have
        self.clear()

    def clear(self) -> None:
        self.weight = 0  # bytes
        self.label_nos: dict[str, int] = {}
        # Forgotten with the rest: the number of a type that went may be given to another.
        self.edge_types: dict[int, str] = {}
        self.edge_type_nos: dict[str, int] | None = None  # of all types, by name
        # label -> the others of its records, where there are any
        self.aliases: dict[int, tuple[int, ...]] = {}
        self.unaliased: set[int] = set()  # labels whose records have no other
        self.degrees: dict[tuple[Any, ...], int] = {}
        # by what was fetched, then by node
        self.neighbours: dict[tuple[Fetch, Direction], dict[int, Neighbours]] = {}
        self.outgoing: dict[tuple[int, int], tuple[Edge, ...]] = {}
        self.edge_keys: dict[tuple[Fetch, Direction], dict[int, list[EdgeKey]]] = {}

    @contextmanager
    def reading(self) -> Iterator[apsw.Cursor]:
        """Read one state of the file, with what was read of it before. Nests."""
        with self._database.snapshot() as cursor:
            if self._is_reading:
                yield cursor
                return
            self.refresh(cursor)
            self._is_reading = True
            try:
                yield cursor
            finally:
                self._is_reading = False

    def refresh(self, cursor: apsw.Cursor) -> None:
        """Forget everything if something was written, an edge began or ended, or a record
        expired."""
        if self._is_reading:
            return
        version, now = cursor.execute("PRAGMA data_version").get, microseconds_at(None)
        if version != self._version or now >= self._until or self.weight > _BUDGET:
            self.clear()
            self._version = version
            self._until = cursor.execute(SQL.next_change, (now,)).get or sys.maxsize
            self.has_dated = bool(cursor.execute(SQL.has_dated_edges).get)
            self.has_aliases = bool(cursor.execute(SQL.has_aliases).get)
            self.expired = [label_no for (label_no,) in cursor.execute(SQL.expired_labels, (now,))]


class LabelNumbers:
    """The numbered labels of one tenant; `cache` is what this thread has read of the graph."""

    def __init__(self, database: SqliteDatabase) -> None:
        # of every thread: label numbers are never reused, so an entry is never wrong
        self._keys: dict[int, str] = {}
        self.cache = GraphCache(database)

    # -- keys --------------------------------------------------------------------------------------

    def find(self, cursor: apsw.Cursor, keys: Iterable[str]) -> list[int]:
        """Return the numbers of those keys that exist, in order."""
        known = self.cache.label_nos
        before = len(known)
        unique = list(dict.fromkeys(keys))
        unknown = [key for key in unique if key not in known]
        if len(unknown) == 1:
            label_no = cursor.execute(SQL.label_no, unknown).get
            if label_no is not None:
                known[unknown[0]] = label_no
        elif unknown:
            known.update(cursor.execute(SQL.label_nos, (json.dumps(unknown),)))
        self.cache.weight += 200 * (len(known) - before)
        return [known[key] for key in unique if key in known]

    def find_with_aliases(self, cursor: apsw.Cursor, keys: Iterable[str]) -> list[int]:
        """Return the same, and behind them the other labels of their records, by key."""
        label_nos = self.find(cursor, keys)
        self.load_aliases(cursor, label_nos)
        aliases = self.cache.aliases
        others = {other for label_no in label_nos for other in aliases.get(label_no, ())}
        return [*label_nos, *self.sort_by_key(cursor, others.difference(label_nos))]

    def sort_by_key(self, cursor: apsw.Cursor, label_nos: Collection[int]) -> Collection[int]:
        if len(label_nos) <= 1:
            return label_nos
        return sorted(label_nos, key=lambda label_no: self.key(cursor, label_no))

    def key(self, cursor: apsw.Cursor, label_no: int) -> str:
        key = self._keys.get(label_no)
        if key is None:
            if len(self._keys) >= _MOST_KEYS:
                self._keys.clear()
            key = cursor.execute(SQL.label_key, (label_no,)).get or ""
            self._keys[label_no] = key
        return key

    def load_keys(self, cursor: apsw.Cursor, label_nos: set[int]) -> None:
        unknown = [label_no for label_no in label_nos if label_no not in self._keys]
        if len(unknown) > 1:
            self._keys.update(cursor.execute(SQL.label_keys, (str(unknown),)))

    def load_aliases(self, cursor: apsw.Cursor, label_nos: Iterable[int]) -> None:
        """Load the other labels of the records that have these labels."""
        cache = self.cache
        if not cache.has_aliases:
            return
        unknown = {
            label_no
            for label_no in label_nos
            if label_no not in cache.unaliased and label_no not in cache.aliases
        }
        if unknown:
            for label_no, other in cursor.execute(SQL.aliases, (str(list(unknown)),)):
                cache.aliases[label_no] = (*cache.aliases.get(label_no, ()), other)
            cache.unaliased |= unknown - cache.aliases.keys()
            cache.weight += 80 * len(unknown)

    # -- edge types --------------------------------------------------------------------------------

    def edge_type(self, cursor: apsw.Cursor, number: int) -> str:
        known = self.cache.edge_types
        name = known.get(number)
        if name is None:
            name = cursor.execute(SQL.edge_type, (number,)).get
            known[number] = name
        return name

    def edge_type_numbers(
        self, cursor: apsw.Cursor, names: Sequence[str] | None
    ) -> tuple[int, ...] | None:
        """Return the numbers of edge types, None for all; UnknownNameError if one was never
        used."""
        if names is None:
            return None
        numbers = self.edge_type_names(cursor)
        for name in names:
            if name not in numbers and numbers:
                raise UnknownNameError("edge type", name, list(numbers))
        return tuple(numbers[name] for name in names if name in numbers)

    def edge_type_names(self, cursor: apsw.Cursor) -> dict[str, int]:
        """Return the numbers of all edge types, by name, in their order."""
        if self.cache.edge_type_nos is None:
            self.cache.edge_type_nos = dict(cursor.execute(SQL.edge_types).fetchall())
        return self.cache.edge_type_nos

    # -- degrees -----------------------------------------------------------------------------------

    def load_degrees(
        self, cursor: apsw.Cursor, label_nos: Sequence[int], end: str, fetch: Fetch
    ) -> None:
        """Load the number of edges at one end of many labels, for a fetch that counts them all."""
        if fetch.counts_all and not self.cache.has_dated:
            known = self.cache.degrees
            unknown = [no for no in label_nos if (no, end, None, None) not in known]
            if unknown:
                sql = SQL.degrees_out if end == "out" else SQL.degrees_in
                for label_no, degree in cursor.execute(sql, (str(unknown),)):
                    known[label_no, end, None, None] = degree

    def degree(self, cursor: apsw.Cursor, label_no: int, end: str, fetch: Fetch, at: int) -> int:
        """Count the edges at one end of a label: as counted when they were made, if every one of
        them counts, else one by one."""
        cache_key = (label_no, end, fetch.edge_types, None if fetch.now else at)
        known = self.cache.degrees
        degree = known.get(cache_key)
        if degree is None:
            if fetch.counts_all and not self.cache.has_dated:
                sql = SQL.degree_out if end == "out" else SQL.degree_in
                degree = cursor.execute(sql, (label_no,)).get or 0
            else:
                degree = cursor.execute(fetch.quick.counts[end], (at, label_no)).get
            known[cache_key] = degree
            self.cache.weight += 200
        return degree
