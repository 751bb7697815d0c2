"""What each thread has read of the graph: right until something is written, an edge begins or
ends, or a record expires."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ....model import Direction, Edge, EdgeKey
from ..edge_queries import Fetch, microseconds_at
from ..file.database import SqliteDatabase
from ..statements import SQL

if TYPE_CHECKING:
    import apsw


BUDGET = 64_000_000  # bytes that a thread remembers, as reckoned by those who add to them

# Where the edges of a node lead, in order: the labels at their far ends, what the order goes by,
# how many edges are beyond the breadth, and whether one leads to a record of several labels. A
# plain tuple: garbage collection passes over those that hold nothing it must look at, and of these
# there are a hundred thousand.
Neighbours = tuple[Sequence[int], Sequence[Any], int, bool]


class GraphCache(threading.local):
    """One thread's memory of one tenant's graph. Labels and edge types are known by number."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        # of the file, as this thread's connection tells it
        self._version = -1
        self._until = 0  # microseconds since 1970
        # true within `reading`: nothing can have been written
        self._is_reading = False
        self.has_dated = True  # some edge does not hold for ever
        self.has_aliases = True  # some record has several labels
        self.expired: Sequence[int] = ()  # labels that only expired records have
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
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
        """Forget everything if something was written since, an edge began or ended, or a record
        expired."""
        if self._is_reading:
            return
        version, now = cursor.execute("PRAGMA data_version").get, microseconds_at(None)
        if version != self._version or now >= self._until or self.weight > BUDGET:
            self.clear()
            self._version = version
            self._until = cursor.execute(SQL.next_change, (now,)).get or sys.maxsize
            self.has_dated = bool(cursor.execute(SQL.has_dated_edges).get)
            self.has_aliases = bool(cursor.execute(SQL.has_aliases).get)
            self.expired = [label_no for (label_no,) in cursor.execute(SQL.expired_labels, (now,))]
