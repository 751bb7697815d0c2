"""What each thread has read of the graph: right until something is written, or an edge begins or
ends."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...model import Direction, Edge
from .database import Database
from .edge_queries import Fetch, instant

if TYPE_CHECKING:
    import apsw

__all__ = ["Near", "Seen", "Triple"]

BUDGET = 64_000_000  # bytes that a thread remembers, as reckoned by those who add to them

_BOUNDED = (
    "SELECT EXISTS (SELECT 1 FROM edges INDEXED BY edges_until WHERE valid_to IS NOT NULL)"
    " OR EXISTS (SELECT 1 FROM edges INDEXED BY edges_since WHERE valid_from IS NOT NULL)"
)
_NEXT_CHANGE = """
SELECT min(at) FROM (SELECT min(valid_to) AS at FROM edges INDEXED BY edges_until WHERE valid_to > ?1
                     UNION ALL SELECT min(valid_from) FROM edges INDEXED BY edges_since WHERE valid_from > ?1)
"""
_ALIASED = "SELECT EXISTS (SELECT 1 FROM names INDEXED BY names_aliased WHERE total > 1)"

# Where the edges of a node lead, in order: the labels at their other ends, what the order goes by,
# how many edges are beyond the breadth, and whether one leads to a record of several labels. A
# plain tuple: garbage collection passes over those that hold nothing it must look at, and of these
# there are a hundred thousand.
Near = tuple[Sequence[int], Sequence[Any], int, bool]
Triple = tuple[str, str, str]  # the keys of an edge and its type


class Seen(threading.local):
    """One thread's memory of one tenant's graph."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # of the file, as this thread's connection tells it
        self._version = -1
        self._until = 0  # microseconds since 1970
        # within `reading`: nothing can have been written
        self._held = False
        self.bounded = True  # some edge does not hold for ever
        self.aliased = True  # some record has several labels
        self.clear()

    def clear(self) -> None:
        self.weight = 0  # bytes
        self.lids: dict[str, int] = {}
        # of a type that went, another may have the number
        self.rels: dict[int, str] = {}
        # label -> the others of its records, where there are any
        self.families: dict[int, tuple[int, ...]] = {}
        self.alone: set[int] = set()  # labels whose records have no other
        self.degrees: dict[tuple[Any, ...], int] = {}
        self.near: dict[tuple[Fetch, Direction], dict[int, Near]] = {}  # … -> node -> …
        self.outgoing: dict[tuple[int, int], tuple[Edge, ...]] = {}
        self.triples: dict[tuple[int, Direction, Fetch], list[Triple]] = {}

    @contextmanager
    def reading(self) -> Iterator[apsw.Cursor]:
        """One state of the file, and what was seen of it. Nests."""
        with self._database.snapshot() as cursor:
            if self._held:
                yield cursor
                return
            self.refresh(cursor)
            self._held = True
            try:
                yield cursor
            finally:
                self._held = False

    def refresh(self, cursor: apsw.Cursor) -> None:
        """Forget everything if something was written since, or an edge began or ended."""
        if self._held:
            return
        version, now = cursor.execute("PRAGMA data_version").get, instant(None)
        if version != self._version or now >= self._until or self.weight > BUDGET:
            self.clear()
            self._version = version
            self._until = cursor.execute(_NEXT_CHANGE, (now,)).get or sys.maxsize
            self.bounded = bool(cursor.execute(_BOUNDED).get)
            self.aliased = bool(cursor.execute(_ALIASED).get)
