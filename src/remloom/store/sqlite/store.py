"""The embedded store: one SQLite file for each tenant. See `contract.Store` for what every method
guarantees."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from datetime import datetime
from functools import partial
from hashlib import sha256
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import force_setattr, replace

from ...errors import ConflictError, InvalidInputError
from ...kv import JournalEntry
from ...model import Direction, Edge, Moment, Record, Resource
from ...predicates import Predicate, Query
from ...sql.answers import Rows
from ...sql.columns import columns
from ...sql.values import Select
from ...sql.writer import requires_value
from ..contract import (
    INDEX,
    Batch,
    Capabilities,
    Deletion,
    EdgeCount,
    EdgeOrder,
    Match,
    Pending,
    Reads,
    Vector,
    Walk,
    Written,
)
from ..encoding import micros
from ..predicate_sql import Compiler, direction, known
from ..similar import similar
from . import batch_writer, kv, preconditions
from .database import Database, Held, translate
from .embedding_queue import Embeddings
from .erasure import Erasing
from .graph import Graph
from .index_manager import Derived
from .rows import COLUMNS, decode
from .search import Likeness
from .select import Tables
from .sql_functions import bounded, prepare
from .sql_writer import SqliteWriter, schema_condition, stored_value
from .stats import counts, queued
from .traversal import walk

if TYPE_CHECKING:
    import apsw

__all__ = ["SqliteStore"]

GRAPH_PATHS = 100  # edges shown on a record that is looked up
# microseconds; moments longer than this have an index of their own
_MONTH = 31 * 24 * 3600 * 1_000_000
_NEWEST = EdgeOrder()
_TABLES = {"terms": ("records", "doc"), "names": ("labels", "lid"), "vectors": ("vectors", "vid")}

_GET = f"SELECT {COLUMNS} FROM records r WHERE r.id = ?"
_LOOKED_UP = f"SELECT l.key, n.rank, {COLUMNS}, l.lid, l.linked, n.total"
_NAMED = "CROSS JOIN names n ON n.lid = l.lid CROSS JOIN records r ON r.rid = n.rid"
_LOOKUP = f"{_LOOKED_UP} FROM labels l {_NAMED} WHERE l.key = ?"
_LOOKUP_ALL = f"{_LOOKED_UP} FROM json_each(?) v CROSS JOIN labels l ON l.key = v.value {_NAMED}"
_FIRST_WORDS = (  # a point is what follows a hyphen in the order of characters
    "SELECT v.value FROM json_each(?) v"
    " WHERE EXISTS (SELECT 1 FROM labels l WHERE l.key >= v.value AND l.key < v.value || '.')"
)
_RANK = itemgetter(1, 2)  # those a label names before those it is an alias of, then as written
_ORDINAL = "coalesce(r.body ->> '$.ordinal', 0)"
_CHUNKS = (
    f"SELECT {COLUMNS} FROM records r WHERE r.schema = 'resources' AND r.body ->> '$.uri' = ?1"
    f" AND {_ORDINAL} > ?2 AND {_ORDINAL} < coalesce(?3, 9223372036854775807)"
)
_MESSAGES = (
    f"SELECT {COLUMNS} FROM json_each(?2) v CROSS JOIN records r INDEXED BY records_message"
    " WHERE r.schema = 'resources' AND r.body ->> '$.uri' = ?1 AND r.body ->> '$.metadata.message_ids[0]' = v.value"
    f" ORDER BY {_ORDINAL}, r.rid"
)
_REFERRING = (
    f"SELECT DISTINCT {COLUMNS} FROM json_each(?1) v CROSS JOIN records o ON o.id = v.value"
    " CROSS JOIN parents p ON p.parent = o.rid AND p.kind = 1"
    " CROSS JOIN records r ON r.rid = p.child AND r.schema = 'moments' ORDER BY r.rid"
)
_LABELS = "SELECT lid FROM names WHERE rid = ?"
_EVERYTHING = (  # of one schema or all
    "FROM records r WHERE r.thin IS NOT 1 AND (?1 IS NULL OR r.schema = ?1) ORDER BY r.rid",
    "FROM records r WHERE r.thin = 1 AND r.schema = 'entities' AND coalesce(?1, 'entities') = 'entities' ORDER BY r.id",
)


class SqliteStore:
    """One tenant's memory in one SQLite file.

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
        self._database = Database(
            path, key, create=create, synchronous=synchronous, cache_mb=cache_mb, busy_timeout=busy_timeout,
            prepare=prepare,
        )  # fmt: skip
        self.capabilities = Capabilities(
            name="sqlite", encrypted=bool(key), writable=not self._database.read_only
        )
        self._translate = translate(path)
        try:
            self._erasing = Erasing(self._database)
        except BaseException:
            self._database.close()
            raise
        self._derived = Derived(self._database, hnsw=hnsw or {}, chores=(self._erasing.again,))
        if self._erasing.owed:
            self._derived.start()
        self._graph = Graph(self._database)
        self._compilers: dict[str, Compiler] = {}
        self._likeness = Likeness(self._database, self._derived, self._compiler, self._graph.key)
        self._tables = Tables(self._database)
        self._embeddings = Embeddings(self._database)

    # -- writing -----------------------------------------------------------------------------------

    def write(self, batch: Batch) -> Written:
        return self._database.write(lambda cursor: batch_writer.apply(cursor, batch))

    def write_all(self, batches: Callable[[], Iterable[Batch]]) -> Written:
        def work(cursor: apsw.Cursor) -> Written:
            written = Written(())
            for batch in batches():
                written = written.plus(batch_writer.apply(cursor, batch))
            return written

        return self._database.write(work)

    def update(self, work: Callable[[Reads], Batch]) -> Written:
        return self._database.write(
            lambda cursor: batch_writer.apply(cursor, work(_Inside(self.path, cursor)))
        )

    def delete(self, ids: Iterable[str], *, derived: bool = True, erase: bool = True) -> Deletion:
        wanted = list(ids)
        if erase and derived:
            return self.erase(lambda _: Batch(removed=tuple(wanted)))
        if erase:
            return self._erase(
                lambda cursor: batch_writer.delete(cursor, wanted, derived=derived, erase=True)
            )
        return self._database.write(
            lambda cursor: batch_writer.delete(cursor, wanted, derived=derived, erase=False)
        )[0]

    def erase(self, work: Callable[[Reads], Batch]) -> Deletion:
        return self._erase(
            lambda cursor: batch_writer.erase(cursor, work(_Inside(self.path, cursor)))
        )

    def _erase(
        self, work: Callable[[apsw.Cursor], tuple[Deletion, dict[str, list[int]]]]
    ) -> Deletion:
        def run(cursor: apsw.Cursor) -> tuple[Deletion, dict[str, list[int]]]:
            self._erasing.note(cursor)
            return work(cursor)

        return self._erased(*self._database.write(run))

    def _erased(self, deletion: Deletion, buried: dict[str, list[int]]) -> Deletion:
        """Empty the log of what was deleted, and look for it."""
        self._derived.erased(buried)
        pending, traces = self._erasing.begin()  # the write-ahead log still has the old pages
        if pending or traces:
            self._derived.start()
        return replace(
            deletion, remaining=self._sweep(deletion, buried), pending=pending, traces=traces
        )

    def _sweep(self, deletion: Deletion, buried: dict[str, list[int]]) -> tuple[str, ...]:
        """What can still be found of what was deleted, in any table or index."""
        found = []
        with self._database.snapshot() as cursor:
            found += [f"record {id}" for id in deletion.ids if cursor.execute(_GET, (id,)).get]
            for kind, numbers in buried.items():
                table, column = _TABLES[kind]
                for start in range(0, len(numbers), 500):
                    some = numbers[start : start + 500]
                    marks = ", ".join("?" * len(some))
                    sql = f"SELECT {column} FROM {table} WHERE {column} IN ({marks})"
                    found += [f"{kind} {number}" for (number,) in cursor.execute(sql, some)]
            spoken = cursor.execute(
                "SELECT DISTINCT subject FROM journal_subjects WHERE subject IN (SELECT value FROM json_each(?))",
                (msgspec.json.encode(deletion.ids).decode(),),
            )
            found += [f"journal {id}" for (id,) in spoken]
            found += [
                f"the snapshot of {kind}" for (kind,) in cursor.execute(batch_writer.OUTDATED)
            ]
        for kind, index in self._derived.loaded().items():
            if index is not None and kind in buried:
                held = getattr(self._derived, kind)().holds(buried[kind])
                found += [f"{kind} index {number}" for number in sorted(held)]
        return tuple(found)

    # -- by id and key -----------------------------------------------------------------------------

    def get(self, schema: str | None, id: str) -> Record | None:
        with self._translate:
            row = self._database.reader.execute(_GET, (id,)).get
        if row is None or (schema is not None and row[1] != schema):
            return None
        return decode(row[1], row[2], row[3])

    def lookup(
        self, keys: Sequence[str], *, edges: int = GRAPH_PATHS, as_of: datetime | None = None
    ) -> dict[str, list[Record]]:
        found: dict[str, list[Record]] = {key: [] for key in keys}
        # what most ask: no transaction, no cache to look after unless it has edges
        if len(found) == 1:
            with self._translate:
                cursor = self._database.reader
                self._fill(
                    found, cursor, cursor.execute(_LOOKUP, tuple(found)).fetchall(), edges, as_of
                )
        else:
            with self._graph.seen.reading() as cursor:
                self._fill(
                    found,
                    cursor,
                    cursor.execute(_LOOKUP_ALL, (json.dumps(list(found)),)).fetchall(),
                    edges,
                    as_of,
                )
        return found

    def _fill(
        self,
        found: dict[str, list[Record]],
        cursor: apsw.Cursor,
        rows: list[Any],
        edges: int,
        as_of: datetime | None,
    ) -> None:
        """Put the records of these rows under their keys, with their edges."""
        for key, _, rid, schema, body, content, lid, linked, total in (
            rows if len(rows) < 2 else sorted(rows, key=_RANK)
        ):
            record = decode(schema, body, content)
            if edges and (linked or total > 1):
                lids = (
                    (lid,)
                    if total == 1
                    else [other for (other,) in cursor.execute(_LABELS, (rid,))]
                )
                if paths := self._graph.outgoing(cursor, lids, edges, as_of):
                    force_setattr(record, "graph_paths", paths)
            found[key].append(record)

    def chunks(
        self,
        uri: str,
        *,
        after: int = -1,
        before: int | None = None,
        limit: int | None = None,
        last: bool = False,
    ) -> list[Resource]:
        way = "DESC" if last else "ASC"
        sql = f"{_CHUNKS} ORDER BY {_ORDINAL} {way}, r.rid {way} LIMIT coalesce(?4, -1)"
        found = self._listed(sql, uri, after, before, limit)
        return found[::-1] if last else found

    def messages(self, uri: str, ids: Sequence[str]) -> list[Resource]:
        return self._listed(_MESSAGES, uri, json.dumps(list(dict.fromkeys(ids))))

    def referring(self, ids: Sequence[str]) -> list[Moment]:
        return self._listed(_REFERRING, json.dumps(list(dict.fromkeys(ids))))

    def _listed(self, sql: str, *values: Any) -> list[Any]:
        with self._translate:
            found = self._database.reader.execute(sql, values).fetchall()
        return [decode(schema, body, content) for _, schema, body, content in found]

    def complete(self, prefix: str, limit: int) -> list[str]:
        with self._translate:
            names = self._database.reader.execute(
                "SELECT r.body ->> '$.name', n.rank, l.key, r.schema, r.body, r.content"
                " FROM labels l CROSS JOIN names n ON n.lid = l.lid CROSS JOIN records r ON r.rid = n.rid"
                " WHERE l.key >= ?1 AND l.key < ?2 ORDER BY l.key LIMIT ?3",
                (prefix, prefix + "\U0010ffff", limit * 4),
            ).fetchall()
        shown = (
            name if rank == 0 else _alias(decode(schema, body, content), key)
            for name, rank, key, schema, body, content in names
        )
        return list(dict.fromkeys(shown))[:limit]

    def first_words(self, words: Sequence[str]) -> set[str]:
        with self._translate:
            found = self._database.reader.execute(
                _FIRST_WORDS, (json.dumps(list(words)),)
            ).fetchall()
        return {word for (word,) in found}

    def children(self, id: str) -> list[str]:
        return self._related(id, "parent", "child")

    def parents(self, id: str) -> list[str]:
        return self._related(id, "child", "parent")

    def _related(self, id: str, one: str, other: str) -> list[str]:
        with self._translate:
            found = self._database.reader.execute(
                f"SELECT o.id FROM records r CROSS JOIN parents p ON p.{one} = r.rid"
                f" CROSS JOIN records o ON o.rid = p.{other} WHERE r.id = ? AND p.kind = 0 ORDER BY o.rid",
                (id,),
            ).fetchall()
        return [identity for (identity,) in found]

    # -- by likeness -------------------------------------------------------------------------------

    def fuzzy(self, text: str, *, type: str | None, threshold: float, limit: int) -> list[Match]:
        return self._likeness.fuzzy(text, type, threshold, limit)

    def search_vector(
        self,
        vector: Sequence[float],
        *,
        schema: str,
        where: Predicate | None,
        limit: int,
        min_score: float | None,
    ) -> list[Match]:
        return self._likeness.vector(vector, schema, where, limit, min_score)

    def search_text(
        self, text: str, *, schema: str | None, where: Predicate | None, limit: int
    ) -> list[Match]:
        return self._likeness.text(text, schema, where, limit)

    # -- edges -------------------------------------------------------------------------------------

    def edges(
        self,
        keys: Sequence[str],
        *,
        direction: Direction,
        rel_types: Sequence[str] | None,
        limit: int | None,
        order: EdgeOrder | None = None,
        as_of: datetime | None = None,
    ) -> list[Edge]:
        return self._graph.edges(keys, direction, rel_types, limit, order or _NEWEST, as_of)

    def stored_edges(self, keys: Sequence[str], *, direction: Direction) -> list[Edge]:
        with self._database.snapshot() as cursor:
            return preconditions.edges_at(cursor, keys, direction)

    def edge_keys(
        self,
        keys: Sequence[str],
        *,
        direction: Direction,
        rel_types: Sequence[str] | None,
        limit: int,
        as_of: datetime | None = None,
    ) -> list[tuple[str, str, str]]:
        return self._graph.edge_keys(keys, direction, rel_types, limit, as_of)

    def count_edges(
        self, keys: Sequence[str], *, direction: Direction, as_of: datetime | None = None
    ) -> list[EdgeCount]:
        return self._graph.count(keys, direction, as_of)

    def degrees(
        self, keys: Sequence[str], *, direction: Direction, as_of: datetime | None = None
    ) -> int:
        return self._graph.degrees(keys, direction, as_of)

    def degrees_by(
        self,
        groups: Sequence[Sequence[str]],
        *,
        direction: Direction,
        as_of: datetime | None = None,
    ) -> list[int]:
        if direction == "both":  # an edge between two groups is at both
            together = accumulate(groups, lambda before, keys: [*before, *keys])
            return [self._graph.degrees(keys, direction, as_of) for keys in together]
        return list(accumulate(self._graph.degrees(keys, direction, as_of) for keys in groups))

    def walk(
        self,
        starts: Sequence[str],
        *,
        rel_types: Sequence[str] | None,
        direction: Direction,
        depth: int,
        breadth: int | None,
        order: EdgeOrder,
        limit: int | None = None,
        as_of: datetime | None = None,
    ) -> Walk:
        return walk(self._graph, starts, rel_types, direction, depth, breadth, order, limit, as_of)

    def rel_types(self) -> list[str]:
        return self._graph.rel_types()

    # -- by field ----------------------------------------------------------------------------------

    def query(self, schema: str, query: Query) -> list[Record]:
        rest, matches = similar(self, schema, query)
        if matches is not None and not query.order:
            return [match.record for match in matches[query.skip :][: query.count]]
        compiler = self._compiler(schema)
        sql, values = compiler.compile(rest)
        # What is found by its key is not looked for along all of the schema.
        own = (
            f"+r.schema = '{schema}'"
            if requires_value(compiler.read(rest), "name")
            else schema_condition(schema)
        )
        if matches is not None:
            marks = ", ".join("?" * len(matches))
            sql, values = (
                f"({sql}) AND r.id IN ({marks})",
                [*values, *(match.record.id for match in matches)],
            )
        order = [
            f"{stored_value(schema, compiler.field(field))} {direction(way)}"
            for field, way in query.order
        ]
        statement = (
            f"SELECT {COLUMNS} FROM records r WHERE {own} AND ({sql})"
            f" ORDER BY {', '.join([*order, 'r.rid'])} LIMIT ? OFFSET ?"
        )
        with self._translate, bounded():
            bounds = (-1 if query.count is None else query.count, query.skip)
            found = self._database.reader.execute(statement, (*values, *bounds)).fetchall()
        return [decode(name, body, content) for _, name, body, content in found]

    def create_index(self, schema: str, field: str) -> None:
        known(schema)
        path = self._compiler(schema).field(field)
        name = "user_" + sha256(f"{schema}.{path}".encode()).hexdigest()[:16]
        expression = stored_value(schema, path).replace("r.", "")
        if "decompress" in expression:
            raise InvalidInputError("content is indexed as text already", remedy="use search_text")

        def define(cursor: Any) -> None:
            cursor.execute(
                f"CREATE INDEX IF NOT EXISTS {name} ON records (schema, {expression}) WHERE schema = '{schema}'"
            )
            kv.apply(cursor, [JournalEntry(INDEX, f"{schema}.{path}", b"{}")])

        self._database.write(define)

    def moments_between(self, start: datetime, end: datetime) -> list[Moment]:
        first, last = micros(start), micros(end)
        with self._translate:
            found = self._database.reader.execute(
                f"SELECT {COLUMNS}, r.starts FROM records r WHERE r.schema = 'moments' AND r.starts >= ?1 - {_MONTH}"
                " AND r.starts < ?2 AND (r.ends > ?1 OR r.starts >= ?1) AND r.ends - r.starts <= 2678400000000"
                f" UNION ALL SELECT {COLUMNS}, r.starts FROM records r INDEXED BY records_long"
                " WHERE r.ends - r.starts > 2678400000000 AND r.ends > ?1 AND r.starts < ?2 AND r.schema = 'moments'"
                " ORDER BY 5, 1",
                (first, last),
            ).fetchall()
        return [decode(schema, body, content) for _, schema, body, content, _ in found]  # type: ignore[misc]

    def select(self, select: Select, *, limit: int, timeout: float) -> Rows:
        return self._tables.select(select, limit, timeout)

    def explain(self, select: Select, *, limit: int) -> list[str]:
        return self._tables.explain(select, limit)

    def columns(self, schema: str) -> list[str]:
        return list(columns(known(schema)))

    def _compiler(self, schema: str) -> Compiler:
        if schema not in self._compilers:
            has_path = partial(self._has_path, known(schema))
            self._compilers[schema] = Compiler(schema, has_path, SqliteWriter, "?")
        return self._compilers[schema]

    def _has_path(self, schema: str, path: str) -> bool:
        sql = f"SELECT 1 FROM records r WHERE r.schema = ? AND {stored_value(schema, path)} IS NOT NULL LIMIT 1"
        with self._translate:
            return self._database.reader.execute(sql, (schema,)).get is not None

    # -- embedding queue ---------------------------------------------------------------------------

    def pending(self, limit: int) -> list[Pending]:
        return self._embeddings.pending(limit)

    def queued(self) -> tuple[int, int]:
        with self._database.snapshot() as cursor:
            return queued(cursor)

    def embed(
        self,
        vectors: dict[str, tuple[Vector, ...]],
        *,
        model: str,
        dims: int,
        current: bool = True,
        versions: Mapping[str, int] = {},
    ) -> None:
        self._database.write(
            lambda cursor: batch_writer.store_vectors(
                cursor, vectors, versions, name=model, dims=dims, current=current
            )
        )

    def unembedded(self, model: str, limit: int, *, after: int = 0) -> list[Pending]:
        return self._embeddings.unembedded(model, limit, after)

    def adopt(self, model: str) -> None:
        self._database.write(lambda cursor: batch_writer.adopt(cursor, model))

    def park(self, id: str, error: str) -> None:
        self._embeddings.park(id, error)

    def unpark(self) -> int:
        return self._embeddings.unpark()

    def cached(self, digests: Sequence[bytes], *, model: str) -> dict[bytes, bytes]:
        return self._embeddings.cached(digests, model)

    def vectors(self, id: str) -> list[Vector]:
        return self._embeddings.of([id]).get(id, [])

    def vectors_of(self, ids: Sequence[str]) -> dict[str, list[Vector]]:
        return self._embeddings.of(ids)

    def model(self) -> tuple[str, int] | None:
        return self._embeddings.model()

    # -- journal -----------------------------------------------------------------------------------

    def note(
        self,
        entries: Sequence[JournalEntry],
        *,
        struck: Sequence[tuple[str, str]] = (),
        expect: int | None = None,
    ) -> None:
        self._database.write(lambda cursor: kv.apply(cursor, entries, struck, expect))

    def journal(
        self,
        kind: str,
        *,
        prefix: str = "",
        after: str = "",
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[JournalEntry]:
        with self._translate:
            return kv.listed(self._database.reader, kind, prefix, after, limit, newest_first)

    def journal_entry(self, kind: str, id: str) -> JournalEntry | None:
        with self._translate:
            return kv.entry(self._database.reader, kind, id)

    # -- whole store -------------------------------------------------------------------------------

    def records(self, schema: str | None = None) -> Iterator[Record]:
        with closing(self._database.connect(8, read_only=True)) as connection, self._translate:
            connection.execute("BEGIN")
            parents = connection.cursor()
            for some in _EVERYTHING:
                for rid, kind, body, content in connection.execute(
                    f"SELECT {COLUMNS} {some}", (schema,)
                ):
                    record = decode(kind, body, content)
                    if isinstance(record, Resource):
                        ids = parents.execute(
                            "SELECT r.id FROM parents p JOIN records r ON r.rid = p.parent"
                            " WHERE p.child=? AND p.kind=0 ORDER BY r.rid",
                            (rid,),
                        ).fetchall()
                        if ids:
                            force_setattr(record, "parents", tuple(id for (id,) in ids))
                    yield record

    def all_edges(self) -> Iterator[Edge]:
        with closing(self._database.connect(8, read_only=True)) as connection, self._translate:
            yield from self._graph.all(connection.cursor())

    def stats(self) -> dict[str, Any]:
        with self._database.snapshot() as cursor:
            found = counts(cursor)
        index = self._derived.loaded().get("vectors")
        found["vectors"]["exact_share"] = round(index.exact_share, 4) if index is not None else None
        size = sum(file.stat().st_size for file in self.path.parent.glob("memory.db*"))
        return found | {"encrypted": self.capabilities.encrypted, "bytes": size}

    def check(self) -> list[str]:
        from .integrity import check

        return [*self._erasing.problems(), *check(self._database, self._derived)]

    def snapshot(self) -> AbstractContextManager[object]:
        return self._graph.seen.reading()

    def settle(self) -> None:
        """Merge every tail and store every snapshot now, rather than in the background."""
        self._derived.settle()
        self._erasing.settle()

    def backup(self, path: str) -> None:
        target = Path(path)
        if target.exists():
            raise ConflictError(f"{target} is there already", remedy="choose a new file name")
        self._database.backup(target)

    def look(self) -> None:
        self._database.look()

    def close(self) -> None:
        try:
            self._derived.close()
            self._erasing.again()
        finally:
            self._database.close()


class _Inside(SqliteStore):
    """What a transaction that writes sees. It remembers nothing that outlives it: it may be rolled
    back."""

    def __init__(self, path: Path, cursor: apsw.Cursor) -> None:
        self._database = Held(path, cursor)
        self._translate = translate(path)
        self._graph = Graph(self._database)
        self._compilers = {}
        self._embeddings = Embeddings(self._database)

    def search_vector(
        self,
        vector: Sequence[float],
        *,
        schema: str,
        where: Predicate | None,
        limit: int,
        min_score: float | None,
    ) -> list[Match]:
        raise InvalidInputError(
            "nothing is searched by likeness inside `update`", remedy="search before it"
        )


def _alias(record: Record, key: str) -> str:
    from ... import labels

    aliases = getattr(record, "aliases", ())
    return next((alias for alias in aliases if labels.key(alias) == key), record.name)
