"""The server store: one tenant of a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import datetime

from msgspec.structs import replace

from ..batch import Batch
from ..contract import Reads
from ..definitions import Definitions
from ..predicate_sql import refuse_search
from ..premises import telling
from ..results import Capabilities, Deletion, Written
from .admin import PostgresAdmin
from .database import PostgresDatabase, TenantCursor
from .graph import PostgresGraph
from .indexes.hnsw_builder import TAIL, HnswBuilder
from .records import PostgresRecords
from .rows import SQL
from .search import PostgresSearch
from .select import PostgresSql, compilers_of
from .tenants import PostgresTenants
from .vectors import PostgresTokenVectors, PostgresVectors
from .write.batch_writer import BatchWriter, write
from .write.deletion import delete
from .write.kv import PostgresKeyValue

# Where an id of a deleted record could still be, by the column that would have it.
_ID_COLUMNS = {
    "records": "id",
    "names": "id",
    "vectors": "id",
    "token_vectors": "id",
    "token_failures": "id",
    "pending": "id",
    "parents": "child",
    "journal_subjects": "subject",
}


class PostgresStore:
    """One tenant's memory in a PostgreSQL database. See `contract.Store`.

    Args:
        url: `postgresql://…`
        tenant: made when it is not there, if `create`.
        create: also brings the database's schema up to date.
        pool_size: connections at most, of all tenants of this database that this process has open.
        timeout: seconds to wait for a connection or a lock.
        hnsw: `m`, `ef_construction` (when the index of a dimension is made) and `ef`.
        tail: vectors of this tenant that are compared one by one before the HNSW index takes them.

    Raises:
        TenantNotFoundError, SchemaVersionError, StoreError, StoreBusyError.
    """

    def __init__(
        self,
        url: str,
        tenant: str,
        *,
        create: bool = True,
        pool_size: int = 8,
        timeout: float = 30.0,
        hnsw: dict[str, int] | None = None,
        tail: int = TAIL,
    ) -> None:
        self.capabilities = Capabilities(name="postgres", erases=False)
        hnsw = hnsw or {}
        self._closed = False
        self._server = server = PostgresDatabase.at(url, pool_size, timeout).of(tenant)
        try:
            tenants = PostgresTenants(server)
            tenants.prepare(migrate=create)
            server.keep_to(tenants.open(tenant, create=create))
        except BaseException:
            server.release()
            raise
        self._indexing = HnswBuilder(server, hnsw, tail)
        self.kv = PostgresKeyValue(server)
        definitions = Definitions(self.kv)
        self.schemas = definitions.all
        compilers = compilers_of(server, definitions)
        self.graph = PostgresGraph(server)
        self.search = PostgresSearch(server, compilers, hnsw.get("ef", 50))
        self.records = PostgresRecords(server, self.graph, compilers, self.search.vector)
        self.vectors = PostgresVectors(server, self._indexing.count_written)
        self.token_vectors = PostgresTokenVectors(server)
        self.sql = PostgresSql(server, compilers, self.kv)
        self.admin = PostgresAdmin(server, self._indexing, self.vectors, self.token_vectors)

    def write(self, batch: Batch) -> Written:
        return self._write(lambda writer: self._apply(writer, batch))

    def write_all(self, batches: Callable[[], Iterable[Batch]]) -> Written:
        vectors = 0

        def run(cursor: TenantCursor) -> Written:
            nonlocal vectors
            written, vectors = Written(()), 0
            for batch in batches():
                # A new one for each: it finds what the one before it stored.
                writer = BatchWriter(self._server, cursor)
                written = written.plus(writer.apply(batch))
                writer.close()
                vectors += writer.vectors
            return written

        written = self._server.write(run)
        self._indexing.count_written(vectors)
        return written

    def update(self, work: Callable[[Reads], Batch]) -> Written:
        return self._write(lambda writer: self._apply(writer, self._read(writer, work)))

    def _apply(self, writer: BatchWriter, batch: Batch) -> Written:
        if batch.exact:
            return writer.apply(batch)
        with self._server.within(writer.cursor):
            return telling(
                lambda: _TransactionReads(self._server, expired=False),
                writer.rested_on,
                batch,
                lambda: writer.apply(batch),
            )

    def delete(self, ids: Iterable[str], *, derived: bool = True, erase: bool = True) -> Deletion:
        requested = list(ids)
        deletion = write(self._server, lambda writer: delete(writer, requested, derived=derived))
        return self._with_remaining(deletion) if erase else deletion

    def erase(self, work: Callable[[Reads], Batch]) -> Deletion:
        def run(writer: BatchWriter) -> Deletion:
            batch = self._read(writer, work, expired=True)
            if batch.expected:
                writer.check(batch.expected)
            deletion = delete(writer, batch.deleted, derived=True)
            writer.apply(replace(batch, deleted=(), expected=None))
            return deletion

        return self._with_remaining(write(self._server, run))

    def set_expiry(self, ids: Iterable[str], at: datetime | None) -> int:
        requested = list(ids)
        return write(self._server, lambda writer: writer.set_expiry(requested, at))

    def _write(self, work: Callable[[BatchWriter], Written]) -> Written:
        vectors = 0

        def run(writer: BatchWriter) -> Written:
            nonlocal vectors
            written = work(writer)
            vectors = writer.vectors
            return written

        written = write(self._server, run)
        self._indexing.count_written(vectors)
        return written

    def _read(
        self, writer: BatchWriter, work: Callable[[Reads], Batch], *, expired: bool = False
    ) -> Batch:
        with self._server.within(writer.cursor):
            return work(_TransactionReads(self._server, expired=expired))

    def _with_remaining(self, deletion: Deletion) -> Deletion:
        """Add to a deletion what can still be found of it, in any table."""
        if not deletion.ids:
            return deletion
        remaining: list[str] = []
        for table, column in _ID_COLUMNS.items():
            sql = SQL.fill("remaining_ids", table=table, column=column)
            rows = self._server.fetch(sql, ids=list(deletion.ids))
            remaining += [f"{table} {id}" for (id,) in rows]
        return replace(deletion, remaining=tuple(remaining))

    def snapshot(self) -> AbstractContextManager[object]:
        return self._server.read()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                self._indexing.close()
            finally:
                self._server.release()


class _TransactionReads:
    """What a transaction that writes sees, on the thread that is in it. It remembers nothing that
    outlives it."""

    def __init__(self, server: PostgresDatabase, *, expired: bool) -> None:
        self.kv = PostgresKeyValue(server)
        definitions = Definitions(self.kv)
        self.schemas = definitions.all
        compilers = compilers_of(server, definitions)
        self.graph = PostgresGraph(server)
        self.records = PostgresRecords(
            server, self.graph, compilers, refuse_search, expired=expired
        )
        self.vectors = PostgresVectors(server, lambda _: None)
