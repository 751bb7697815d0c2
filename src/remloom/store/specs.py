"""Requests to a store: for edges, walks, searches, chunks.

Each is declared here once, and goes as it is from the caller to the code that does the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from ..model import Direction, Order
from ..predicates import Predicate

LOOKUP_EDGES = 100  # shown on a record that is looked up by key
MOST_WORDS = 4  # of a name that is looked for in texts
MOST_NAMESAKES = 1_000  # records that one name tells of: what more of them share is a word
K1, B = 1.2, 0.75  # of BM25
MOST_SUMMARIES = 5  # found beside the records of a schema


class EdgeOrder(Struct, frozen=True):
    """In which order a node's edges are listed and followed: by a column of the edge, or the key at
    its far end.

    Unset values are lowest. Whichever way the order goes, equal edges come newest first; those of
    one time by their far key, by `rel_type`, those that leave before those that enter, and by their
    near key, each ascending, byte by byte. So every store has one order, for both directions and
    all keys of a node together.
    """

    field: str = "created_at"  # created_at | weight | rel_type | valid_from | valid_to | dst
    order: Order = "desc"


NEWEST = EdgeOrder()


class EdgeSpec(Struct, frozen=True, gc=False):
    """Which edges at some keys to list."""

    keys: Sequence[str]
    direction: Direction
    rel_types: Sequence[str] | None = None  # None: of every type
    limit: int | None = None  # None: all
    order: EdgeOrder = NEWEST
    as_of: datetime | None = None  # in force then; None: now


class WalkSpec(Struct, frozen=True, gc=False):
    """Which walk from some keys to take."""

    starts: Sequence[str]
    direction: Direction
    depth: int  # levels
    rel_types: Sequence[str] | None = None  # None: along edges of every type
    breadth: int | None = None  # edges followed from a node; None: all
    order: EdgeOrder = NEWEST  # in which a node's edges are followed, and the steps listed
    limit: int | None = None  # steps listed; None: all
    as_of: datetime | None = None  # along edges in force then; None: now


class SearchSpec(Struct, frozen=True, gc=False):
    """Among which records a text or a vector is searched, and how many to return.

    With `summaries`, the records of those schemas that have a summary are found as well, as far as
    they are better than the last of the others: at most `MOST_SUMMARIES`, over the limit. It goes
    with a `schema`; `where` says nothing of them.
    """

    limit: int
    schema: str | None = None  # None: records of every schema
    where: Predicate | None = None
    min_score: float | None = None  # cosine, of a search by vector
    summaries: Sequence[str] = ()


class NameSpec(Struct, frozen=True, gc=False):
    """Among which names a text is searched, and how many records to return."""

    limit: int
    threshold: float  # least score, 0..1
    # "person" has "person/employee" below it; the name of a schema has all of its records
    type: str | None = None


class ChunkRange(Struct, frozen=True, gc=False):
    """Which chunks of a document to list, by their ordinals."""

    after: int = -1
    before: int | None = None
    limit: int | None = None
    last: bool = False  # of more than `limit` the last, else the first


ALL_CHUNKS = ChunkRange()
