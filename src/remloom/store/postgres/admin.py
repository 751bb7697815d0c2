"""The care of one tenant of a PostgreSQL database: counts and checks. See
`components.StoreAdmin`."""

from __future__ import annotations

from msgspec.structs import replace

from ...errors import InvalidInputError
from ..encoding import searchable_text
from ..stats import Stats, by_schema, collect
from .database import PostgresDatabase, TenantCursor
from .indexes import bm25_index, trigram_index
from .indexes.hnsw_builder import HnswBuilder
from .rows import SQL, decode
from .vectors import PostgresTokenVectors, PostgresVectors

_SHOWN = 20  # disagreements of one kind listed
_SAMPLE = 1_000  # records whose size tells that of all

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

    def __init__(
        self,
        server: PostgresDatabase,
        indexing: HnswBuilder,
        vectors: PostgresVectors,
        token_vectors: PostgresTokenVectors,
    ) -> None:
        self._server = server
        self._vectors = vectors
        self._token_vectors = token_vectors
        self._indexing = indexing
        self.detect_deletion = server.recheck

    def stats(self) -> Stats:
        # Each counts along an index that has all that is counted; only the size is estimated.
        with self._server.read() as cursor:
            by_type = cursor.rows(SQL.count_records)
            ((size,),) = cursor.rows(SQL.record_size, sample=_SAMPLE)
            stats = collect(
                SQL,
                self._server.fetch,
                self._vectors,
                self._token_vectors,
                types=by_schema((schema, type, count) for schema, type, count, _ in by_type),
                thin_entities=sum(thin for *_, thin in by_type),
                encrypted=False,  # Remloom does not encrypt what it keeps in PostgreSQL
                bytes=int(size * sum(count for _, _, count, _ in by_type)),
            )
            model = cursor.rows(SQL.current_model)
            number = model[0][0] if model else 0
            ((exact,),) = cursor.rows(SQL.count_unindexed_vectors, model=number)
        vectors = stats.vectors
        share = round(exact / vectors.count, 4) if vectors.count else None
        return replace(stats, vectors=replace(vectors, exact_share=share))

    def check(self) -> list[str]:
        problems = []
        with self._server.read() as cursor:
            for name, message in _VIOLATIONS.items():
                rows = cursor.rows(getattr(SQL, name), limit=_SHOWN)
                problems += [message.format(*row) for row in rows]
            problems += _check_texts(cursor)
            missing = trigram_index.count_missing(cursor)
        if missing:
            problems.append(f"names: {missing} trigrams or words of names are not in the index")
        return problems

    def optimize(self) -> None:
        """Put the vectors into the HNSW index now, if too many are compared one by one."""
        self._server.check_open()
        self._indexing.settle()

    def backup(self, path: str) -> None:
        raise InvalidInputError(
            "a tenant of a PostgreSQL database has no file of its own to copy",
            remedy="back the database up with pg_dump, or this tenant with `remloom export`",
        )


def _check_texts(cursor: TenantCursor) -> list[str]:
    problems = []
    expected: set[tuple[int, int]] = set()
    rows = cursor.rows(SQL.numbered_texts)
    for text_no, *row in rows:
        terms = bm25_index.terms_in(searchable_text(decode(*row)))
        expected.update((term, text_no) for term in terms)
    indexed = bm25_index.read_index(cursor)
    missing = len(expected - indexed)
    if missing:
        problems.append(f"terms: {missing} of {len(expected)} are not in the index")
    extra = len(indexed - expected)
    if extra:
        problems.append(f"terms: {extra} in the index are no longer in a text")
    counted = cursor.rows(SQL.count_texts)
    if counted and counted[0][0] != len(rows):
        problems.append(f"terms: {counted[0][0]} texts are counted, there are {len(rows)}")
    return problems
