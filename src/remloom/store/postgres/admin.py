"""The care of one tenant of a PostgreSQL database: counts and checks. See
`components.StoreAdmin`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import InvalidInputError
from ..rules.indexed_text import searchable_text
from ..stats import Stats
from .indexes import bm25_index, trigram_index
from .indexes.hnsw_builder import HnswBuilder
from .rows import decode
from .server.database import PostgresDatabase
from .statements import SQL
from .stats import collect

if TYPE_CHECKING:
    from psycopg import Cursor


_SHOWN = 20  # disagreements of one kind listed

# Statements that must find nothing, and what a row that they do find says.
_VIOLATIONS = {
    "edges_from_nothing": "an edge leaves {0!r}, which names nothing",
    "edges_to_nothing": "an edge enters {1!r}, which names nothing",
    "edges_without_type": "an edge has type {0!r}, which is gone",
    "miscounted_types": "the edges of type {0!r} are counted wrongly",
    "miscounted_keys": "the edges at {0!r} are counted wrongly",
    "expiry_not_indexed": "record {0!r} would not expire when it is to",
    "derived_without_parents": "the derived record {0!r} does not say what it was derived from:"
    " forgetting that would leave it",
    "records_without_name": "record {0} has no name",
    "names_of_wrong_edges": "the edges at {0!r} are taken for those of record {1!r}, or not",
    "names_without_record": "the key {0!r} is of a record that is gone",
    "vectors_without_record": "a vector is of record {0}, which is gone",
    "pending_without_record": "record {0}, which is gone, waits for its vectors",
    "token_vectors_without_text": "the token vectors of record {0} belong to no text",
    "token_vectors_without_model": "the token vectors of record {0} are of no model",
    "damaged_token_vectors": "the token vectors of record {0!r} by {1} are damaged ({2} bytes): "
    "`remloom reembed` makes them anew",
    "token_failures_without_text": "the failure of record {0} belongs to no text",
    "texts_passed_over": "record {0!r} would not get its token vectors of {1}",
    "thin_without_edge": "thin entity {0} has no edge",
    "vectors_without_model": "a vector of {0} is of no model",
    "entries_without_subject": "the entry {0} {1!r} would not be found by its refs",
    "shared_text_numbers": "text number {0} was given out twice",
}


class PostgresAdmin:
    """Counts, checks and optimizes one tenant."""

    def __init__(self, server: PostgresDatabase, tenant: str, indexing: HnswBuilder) -> None:
        self._server = server
        self._tenant = tenant
        self._indexing = indexing

    def stats(self) -> Stats:
        with self._server.read(self._tenant) as cursor:
            return collect(cursor, self._tenant)

    def check(self) -> list[str]:
        return check(self._server, self._tenant)

    def optimize(self) -> None:
        """Put the vectors into the HNSW index now, if too many are compared one by one."""
        self._server.check_open()
        self._indexing.settle()

    def backup(self, path: str) -> None:
        raise InvalidInputError(
            "a tenant of a PostgreSQL database has no file of its own to copy",
            remedy="back the database up with pg_dump, or this tenant with `remloom export`",
        )

    def detect_deletion(self) -> None:
        self._server.recheck()


def check(server: PostgresDatabase, tenant: str) -> list[str]:
    """List every disagreement, a line each; none when all is well."""
    problems = []
    with server.read(tenant) as cursor:
        for name, message in _VIOLATIONS.items():
            values = {"tenant": tenant, "limit": _SHOWN}
            rows = cursor.execute(getattr(SQL, name), values).fetchall()
            problems += [message.format(*row) for row in rows]
        problems += _check_texts(cursor, tenant)
        missing = trigram_index.count_missing(cursor, tenant)
        if missing:
            problems.append(f"names: {missing} trigrams or words of names are not in the index")
    return problems


def _check_texts(cursor: Cursor[Any], tenant: str) -> list[str]:
    """Compare the index of texts with the texts."""
    problems = []
    expected: set[tuple[int, int]] = set()
    rows = cursor.execute(SQL.numbered_texts, {"tenant": tenant}).fetchall()
    for text_no, *row in rows:
        expected |= bm25_index.terms_of_text(text_no, searchable_text(decode(*row)))
    indexed = bm25_index.read_index(cursor, tenant)
    missing = len(expected - indexed)
    if missing:
        problems.append(f"terms: {missing} of {len(expected)} are not in the index")
    extra = len(indexed - expected)
    if extra:
        problems.append(f"terms: {extra} in the index are no longer in a text")
    counted = cursor.execute(SQL.count_texts, {"tenant": tenant}).fetchone()
    if counted is not None and counted[0] != len(rows):
        problems.append(f"terms: {counted[0]} texts are counted, there are {len(rows)}")
    return problems
