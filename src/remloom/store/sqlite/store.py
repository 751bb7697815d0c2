"""The embedded store: one SQLite file for each tenant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

import apsw
from msgspec.structs import replace

from ..batch import Batch
from ..contract import Reads
from ..definitions import Definitions
from ..predicate_sql import refuse_search
from ..premises import telling
from ..results import Capabilities, Deletion, Written
from .admin import SqliteAdmin, find_remaining
from .file.database import SqliteDatabase, TransactionDatabase
from .graph.graph import SqliteGraph
from .graph.label_numbers import LabelNumbers
from .records import SqliteRecords
from .search.index_manager import IndexManager
from .search.search import SqliteSearch
from .search.vectors import SqliteTokenVectors, SqliteVectors
from .select.select import SqliteSql, compilers_of
from .select.sql_functions import prepare
from .write import batch_writer
from .write.deletion import delete
from .write.erasure import Erasures
from .write.kv import SqliteKeyValue
from .write.write_session import Tombstones


class SqliteStore:
    """One tenant's memory in one SQLite file. See `contract.Store`.

    Args:
        path: the database file; its folder must exist.
        key: data key in hex; empty for a file that is not encrypted.
        create: make the file when it is not there.
        synchronous, cache_mb, busy_timeout, hnsw: see `Settings`.

    Raises:
        WrongKeyError, CorruptStoreError, SchemaVersionError, ReadOnlyStoreError, StoreBusyError.
    """

    def __init__(
        self,
        path: Path,
        key: str = "",
        *,
        create: bool = True,
        synchronous: str = "full",
        cache_mb: int = 256,
        busy_timeout: float = 30.0,
        hnsw: dict[str, int] | None = None,
    ) -> None:
        self.path = path
        self._database = database = SqliteDatabase(
            path,
            key,
            create=create,
            synchronous=synchronous,
            cache_mb=cache_mb,
            busy_timeout=busy_timeout,
            prepare=prepare,
        )
        self.capabilities = Capabilities(
            name="sqlite", encrypted=bool(key), writable=not database.read_only
        )
        try:
            self._erasures = Erasures(database)
        except BaseException:
            database.close()
            raise
        self._indexes = IndexManager(database, hnsw=hnsw or {}, tasks=(self._erasures.retry,))
        if self._erasures.unfinished:
            self._indexes.start()
        labels = LabelNumbers(database)
        self.kv = SqliteKeyValue(database)
        definitions = Definitions(self.kv)
        self.schemas = definitions.all
        compilers = compilers_of(database, definitions)
        self.graph = SqliteGraph(database, labels)
        self.search = SqliteSearch(database, self._indexes, compilers, labels)
        self.records = SqliteRecords(database, self.graph, compilers, self.search.vector)
        self.vectors = SqliteVectors(database)
        self.token_vectors = SqliteTokenVectors(database)
        self.sql = SqliteSql(database, compilers)
        self.admin = SqliteAdmin(
            database,
            self._indexes,
            self._erasures,
            self.vectors,
            self.token_vectors,
            encrypted=bool(key),
        )

    def write(self, batch: Batch) -> Written:
        return self._database.write(lambda cursor: self._apply(cursor, batch))

    def _apply(self, cursor: apsw.Cursor, batch: Batch) -> Written:
        if batch.exact:
            return batch_writer.apply(cursor, batch)
        return telling(
            lambda: _TransactionReads(self.path, cursor),
            lambda ids, keys: batch_writer.rested_on(cursor, ids, keys),
            batch,
            lambda: batch_writer.apply(cursor, batch),
        )

    def write_all(self, batches: Callable[[], Iterable[Batch]]) -> Written:
        def work(cursor: apsw.Cursor) -> Written:
            written = Written(())
            for batch in batches():
                written = written.plus(batch_writer.apply(cursor, batch))
            return written

        return self._database.write(work)

    def update(self, work: Callable[[Reads], Batch]) -> Written:
        return self._database.write(
            lambda cursor: self._apply(cursor, work(_TransactionReads(self.path, cursor)))
        )

    def delete(self, ids: Iterable[str], *, derived: bool = True, erase: bool = True) -> Deletion:
        requested = tuple(ids)
        if erase and derived:
            return self.erase(lambda _: Batch(deleted=requested))

        def work(cursor: apsw.Cursor) -> tuple[Deletion, Tombstones]:
            return delete(cursor, requested, derived=derived, erase=erase)

        return self._erase(work) if erase else self._database.write(work)[0]

    def erase(self, work: Callable[[Reads], Batch]) -> Deletion:
        def run(cursor: apsw.Cursor) -> tuple[Deletion, Tombstones]:
            reads = _TransactionReads(self.path, cursor, expired=True)
            return batch_writer.erase(cursor, work(reads))

        return self._erase(run)

    def set_expiry(self, ids: Iterable[str], at: datetime | None) -> int:
        requested = tuple(ids)
        return self._database.write(lambda cursor: batch_writer.set_expiry(cursor, requested, at))

    def _erase(self, work: Callable[[apsw.Cursor], tuple[Deletion, Tombstones]]) -> Deletion:
        """Delete, empty the log of what was deleted, and look for what is left of it."""

        def run(cursor: apsw.Cursor) -> tuple[Deletion, Tombstones]:
            self._erasures.record(cursor)
            return work(cursor)

        deletion, tombstones = self._database.write(run)
        self._indexes.drop_saved(tombstones)
        pending, traces = self._erasures.begin()  # the write-ahead log still has the old pages
        if pending or traces:
            self._indexes.start()
        remaining = find_remaining(self._database, self._indexes, deletion, tombstones)
        return replace(deletion, remaining=remaining, pending=pending, traces=traces)

    def snapshot(self) -> AbstractContextManager[object]:
        return self.graph.reading()

    def close(self) -> None:
        try:
            self._indexes.close()
            self._erasures.retry()
        finally:
            self._database.close()


class _TransactionReads:
    """What a transaction that writes sees. It remembers nothing that outlives it, as it may be
    rolled back."""

    def __init__(self, path: Path, cursor: apsw.Cursor, *, expired: bool = False) -> None:
        database = TransactionDatabase(path, cursor)
        self.kv = SqliteKeyValue(database)
        definitions = Definitions(self.kv)
        self.schemas = definitions.all
        compilers = compilers_of(database, definitions)
        self.graph = SqliteGraph(database, LabelNumbers(database))
        self.records = SqliteRecords(
            database, self.graph, compilers, refuse_search, expired=expired
        )
        self.vectors = SqliteVectors(database)
