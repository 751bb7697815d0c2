"""The server store: one tenant of a PostgreSQL database. See `contract.Store` for what every method
guarantees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from hashlib import md5, sha256
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import force_setattr, replace

from ...errors import InvalidInputError, StoreClosedError
from ...kv import JournalEntry
from ...model import Direction, Edge, Moment, Record, Resource
from ...predicates import Predicate, Query
from ...sql.answers import Rows
from ...sql.columns import columns
from ...sql.values import Select
from ...sql.writer import is_plain_step, requires_value
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
from ..predicate_sql import Compiler, asks_regex, direction, known
from ..similar import similar
from . import kv
from .batch_writer import Writing
from .database import Database
from .deletion import delete
from .embedding_queue import Embeddings, adopt, embed, park, unpark
from .graph import Graph
from .hnsw_builder import TAIL, Indexing
from .integrity import check
from .preconditions import expect
from .rows import COLUMNS, decode, paths_of
from .search import Likeness
from .select import Tables
from .short_keys import short
from .sql_writer import PostgresWriter, json_value, order_terms, sortable_value
from .stats import counts, queued
from .tenants import Tenants

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["PostgresStore"]

_T = TypeVar("_T")
# microseconds; moments longer than this have an index of their own
_MONTH = 31 * 24 * 3600 * 1_000_000
_NEWEST = EdgeOrder()

_ORDINAL = "coalesce((r.body ->> 'ordinal')::bigint, 0)"
_MESSAGE = "(r.body #>> '{metadata,message_ids,0}')"


class PostgresStore:
    """One tenant's memory in a PostgreSQL database.

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
        self._tenant = tenant
        self._closed = False
        self._server = server = Database.at(url, pool_size, timeout)
        try:
            tenants = Tenants(server)
            tenants.prepare(migrate=create)
            server.keep_to(tenant, tenants.open(tenant, create=create))
        except BaseException:
            server.release()
            raise
        self._graph = Graph(server, tenant)
        self._compilers: dict[str, Compiler] = {}
        self._likeness = Likeness(server, tenant, self._compiler, hnsw.get("ef", 50))
        self._embeddings = Embeddings(server, tenant)
        self._indexing = Indexing(server, tenant, hnsw, tail)
        self._tables = Tables(server, tenant)

    # -- writing -----------------------------------------------------------------------------------

    def write(self, batch: Batch) -> Written:
        written = self._write(lambda writing: writing.apply(batch))
        self._indexing.grown(sum(len(record.vectors) for record in batch.records))
        return written

    def write_all(self, batches: Callable[[], Iterable[Batch]]) -> Written:
        grown = 0

        def run(cursor: Cursor[Any]) -> Written:
            nonlocal grown
            written, grown = Written(()), 0
            for batch in batches():
                # which finds what the one before it stored
                writing = Writing(self._server, cursor, self._tenant)
                written = written.plus(writing.apply(batch))
                writing.close()
                grown += sum(len(record.vectors) for record in batch.records)
            return written

        written = self._open.write(self._tenant, run)
        self._indexing.grown(grown)
        return written

    def update(self, work: Callable[[Reads], Batch]) -> Written:
        grown = 0

        def run(writing: Writing) -> Written:
            nonlocal grown
            with self._server.within(self._tenant, writing.cursor):
                batch = work(_Inside(self._server, self._tenant))
            grown = sum(len(record.vectors) for record in batch.records)
            return writing.apply(batch)

        written = self._write(run)
        self._indexing.grown(grown)
        return written

    def delete(self, ids: Iterable[str], *, derived: bool = True, erase: bool = True) -> Deletion:
        wanted = list(ids)
        deletion = self._write(lambda writing: delete(writing, wanted, derived=derived))
        return (
            replace(deletion, remaining=self._sweep(deletion.ids))
            if erase and deletion.ids
            else deletion
        )

    def erase(self, work: Callable[[Reads], Batch]) -> Deletion:
        def run(writing: Writing) -> Deletion:
            with self._server.within(self._tenant, writing.cursor):
                batch = work(_Inside(self._server, self._tenant))
            if batch.expected:
                expect(writing, batch.expected)
            deletion = delete(writing, batch.removed, derived=True)
            writing.apply(replace(batch, removed=(), expected=None))
            return deletion

        deletion = self._write(run)
        return replace(deletion, remaining=self._sweep(deletion.ids)) if deletion.ids else deletion

    def _sweep(self, ids: Sequence[str]) -> tuple[str, ...]:
        """What can still be found of what was deleted, in any table."""
        tables = {
            "records": "id", "names": "id", "vectors": "id", "pending": "id", "parents": "child",
            "journal_subjects": "subject",
        }  # fmt: skip
        return tuple(
            f"{table} {id}"
            for table, column in tables.items()
            for (id,) in self._fetch(
                f"SELECT {column} FROM remloom.{table} WHERE tenant_id = %s AND {column} = ANY (%s)",
                list(ids),
            )
        )

    def _write(self, work: Callable[[Writing], _T]) -> _T:
        def run(cursor: Cursor[Any]) -> _T:
            writing = Writing(self._server, cursor, self._tenant)
            result = work(writing)
            writing.close()
            return result

        return self._open.write(self._tenant, run)

    def _fetch(self, sql: str, *values: Any) -> list[Any]:
        """The rows of a statement whose first parameter is the tenant."""
        return self._open.fetch(self._tenant, sql, (self._tenant, *values))

    @property
    def _open(self) -> Database:
        if self._closed:
            raise StoreClosedError("the memory is closed", remedy="open it again")
        return self._server

    # -- by id and key -----------------------------------------------------------------------------

    def get(self, schema: str | None, id: str) -> Record | None:
        if "\0" in id:
            return None
        sql = f"SELECT {COLUMNS} FROM remloom.records r WHERE r.tenant_id = t.tenant AND r.id = %(id)s"
        rows = self._open.call(self._tenant, sql, {"id": id})
        if not rows or (schema is not None and rows[0][0] != schema):
            return None
        return decode(*rows[0])

    def lookup(
        self, keys: Sequence[str], *, edges: int = 100, as_of: datetime | None = None
    ) -> dict[str, list[Record]]:
        self._open  # noqa: B018 - refuses a closed store
        wanted = {short(key): key for key in keys}
        found: dict[str, list[Record]] = {key: [] for key in keys}
        for key, schema, body, content, paths, _ in self._graph.lookup(list(wanted), edges, as_of):
            record = decode(schema, body, content)
            if paths is not None:
                force_setattr(record, "graph_paths", paths_of(paths))
            found[wanted[key]].append(record)
        return found

    def complete(self, prefix: str, limit: int) -> list[str]:
        from ... import labels

        rows = self._fetch(
            f"SELECT coalesce(n.label, n.key), n.rank, {COLUMNS} FROM remloom.names n JOIN remloom.records r"
            " ON r.tenant_id = n.tenant_id AND r.id = n.id WHERE n.tenant_id = %s AND n.key >= %s AND n.key < %s"
            " ORDER BY n.key LIMIT %s",
            short(prefix), short(prefix) + "\U0010ffff", limit * 4,
        )  # fmt: skip
        shown: dict[str, None] = {}
        for key, rank, schema, body, content in rows:
            record = decode(schema, body, content)
            aliases = getattr(record, "aliases", ()) if rank else ()
            shown[next((alias for alias in aliases if labels.key(alias) == key), record.name)] = (
                None
            )
        return list(shown)[:limit]

    def first_words(self, words: Sequence[str]) -> set[str]:
        wanted = {short(word): word for word in words}
        found = self._open.fetch(
            self._tenant,
            "SELECT v.word FROM unnest(%s::text[]) v (word) CROSS JOIN LATERAL (SELECT n.key FROM remloom.names n"
            " WHERE n.tenant_id = %s AND n.key >= v.word ORDER BY n.key LIMIT 1) n WHERE n.key < v.word || '.'",
            # the first name from there on, for what has two bounds is read to its end
            (list(wanted), self._tenant),
        )
        return {wanted[word] for (word,) in found}

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
        found = self._fetch(
            f"SELECT {COLUMNS} FROM remloom.own_records r WHERE r.tenant_id = %s AND r.schema = 'resources'"
            f" AND md5(r.uri) = md5(%s) AND r.uri = %s AND {_ORDINAL} > %s AND {_ORDINAL} < %s"
            f" ORDER BY {_ORDINAL} {way}, r.seq {way} LIMIT %s",
            uri, uri, after, 2**63 - 1 if before is None else before, limit,
        )  # fmt: skip
        records: list[Any] = [decode(*row) for row in found]
        return records[::-1] if last else records

    def messages(self, uri: str, ids: Sequence[str]) -> list[Resource]:
        wanted = [id for id in dict.fromkeys(ids) if "\0" not in id]
        found = self._open.fetch(
            self._tenant,
            f"SELECT {COLUMNS} FROM (SELECT f.* FROM unnest(%(hashes)s::text[]) w (hash) CROSS JOIN LATERAL"
            " (SELECT r.* FROM remloom.own_records r WHERE r.tenant_id = %(tenant)s AND r.schema = 'resources'"
            f" AND {_MESSAGE} IS NOT NULL AND md5(r.uri || chr(10) || {_MESSAGE}) = w.hash OFFSET 0) f) r"
            f" WHERE r.uri = %(uri)s AND {_MESSAGE} = ANY (%(ids)s) ORDER BY {_ORDINAL}, r.seq",
            {
                "tenant": self._tenant,
                "uri": uri,
                "ids": wanted,
                "hashes": [
                    md5(f"{uri}\n{id}".encode(), usedforsecurity=False).hexdigest() for id in wanted
                ],
            },
        )
        return [decode(*row) for row in found]  # type: ignore[misc]

    def referring(self, ids: Sequence[str]) -> list[Moment]:
        found = self._fetch(
            f"SELECT {COLUMNS} FROM remloom.own_records r WHERE r.tenant_id = %s AND r.schema = 'moments' AND r.id IN"
            " (SELECT p.child FROM remloom.parents p"
            " WHERE p.tenant_id = r.tenant_id AND p.parent = ANY (%s) AND p.kind = 1) ORDER BY r.seq",
            [id for id in dict.fromkeys(ids) if "\0" not in id],
        )
        return [decode(*row) for row in found]  # type: ignore[misc]

    def children(self, id: str) -> list[str]:
        return self._related(id, "parent", "child")

    def parents(self, id: str) -> list[str]:
        return self._related(id, "child", "parent")

    def _related(self, id: str, one: str, other: str) -> list[str]:
        rows = self._fetch(
            "SELECT r.id FROM remloom.parents p JOIN remloom.records r ON r.tenant_id = p.tenant_id AND r.id ="
            f" p.{other}"
            f" WHERE p.tenant_id = %s AND p.{one} = %s AND p.kind = 0 ORDER BY r.seq",
            id,
        )
        return [related for (related,) in rows]

    # -- by likeness -------------------------------------------------------------------------------

    def fuzzy(self, text: str, *, type: str | None, threshold: float, limit: int) -> list[Match]:
        self._open  # noqa: B018 - refuses a closed store
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
        self._open  # noqa: B018
        return self._likeness.vector(vector, schema, where, limit, min_score)

    def search_text(
        self, text: str, *, schema: str | None, where: Predicate | None, limit: int
    ) -> list[Match]:
        self._open  # noqa: B018
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
        return self._graph.stored(keys, direction)

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
        return self._graph.degrees_by([keys], direction, as_of)[0]

    def degrees_by(
        self,
        groups: Sequence[Sequence[str]],
        *,
        direction: Direction,
        as_of: datetime | None = None,
    ) -> list[int]:
        return self._graph.degrees_by(groups, direction, as_of)

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
        return self._graph.walk(starts, rel_types, direction, depth, breadth, order, limit, as_of)

    def rel_types(self) -> list[str]:
        return self._graph.rel_types()

    # -- by field ----------------------------------------------------------------------------------

    def query(self, schema: str, query: Query) -> list[Record]:
        rest, matches = similar(self, schema, query)
        if matches is not None and not query.order:
            return [match.record for match in matches[query.skip :][: query.count]]
        compiler = self._compiler(schema)
        sql, values = compiler.compile(rest)
        if matches is not None:
            sql, values = (
                f"({sql}) AND r.id = ANY (%s)",
                [*values, [match.record.id for match in matches]],
            )
        terms = [
            order_terms(compiler.field(field), direction(way)).replace("%", "%%")
            for field, way in query.order
        ]
        # found by a key, not along the schema
        known = requires_value(compiler.read(rest), "id", "name", "uri", "kind")
        own = f"(r.schema || '') = '{schema}'" if known else f"r.schema = '{schema}'"
        statement = (
            f"SELECT {COLUMNS} FROM remloom.own_records r WHERE r.tenant_id = %s AND {own} AND ({sql})"
            f" ORDER BY {', '.join([*terms, 'r.seq'])}"
        )
        asked: tuple[Any, ...] = (self._tenant, *values)
        # a limit that is none would be planned for as one
        if query.count is not None or query.skip:
            statement, asked = f"{statement} LIMIT %s OFFSET %s", (*asked, query.count, query.skip)
        if not asks_regex(rest):
            return [decode(*row) for row in self._open.fetch(self._tenant, statement, asked)]
        with self._open.filtering(self._tenant, rest) as cursor:
            return [decode(*row) for row in cursor.execute(statement, asked).fetchall()]

    def create_index(self, schema: str, field: str) -> None:
        path = self._compiler(schema).field(field)
        if not all(map(is_plain_step, path.split("."))):
            raise InvalidInputError(
                f"{path!r} cannot be indexed", remedy="index a field whose name is plain words"
            )
        if path == "content":
            raise InvalidInputError("content is indexed as text already", remedy="use search_text")
        if path in ("id", "schema", "uri", "created_at", "updated_at", "starts_at", "ends_at"):
            return  # columns of their own
        name = "user_" + sha256(f"{schema}.{path}".encode()).hexdigest()[:16]
        expression = sortable_value(path).replace("r.body", "body")
        self._open.define(
            f"CREATE INDEX IF NOT EXISTS {name} ON remloom.records (tenant_id, ({expression}) NULLS FIRST)"
            f" WHERE schema = '{schema}'"
        )
        self.note([JournalEntry(INDEX, f"{schema}.{path}", b"{}")])

    def moments_between(self, start: datetime, end: datetime) -> list[Moment]:
        first, last = micros(start), micros(end)
        found = self._open.fetch(
            self._tenant,
            f"SELECT {COLUMNS} FROM ("
            " SELECT * FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.schema = 'moments'"
            f" AND r.starts >= %(first)s - {_MONTH} AND r.starts < %(last)s AND (r.ends > %(first)s OR r.starts"
            " >= %(first)s)"
            f" AND r.ends - r.starts <= {_MONTH}"
            " UNION ALL SELECT * FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.schema = 'moments'"
            f" AND r.ends - r.starts > {_MONTH} AND r.ends > %(first)s AND r.starts < %(last)s) r ORDER BY"
            " r.starts, r.seq",
            {"tenant": self._tenant, "first": first, "last": last},
        )
        return [decode(*row) for row in found]  # type: ignore[misc]

    def select(self, select: Select, *, limit: int, timeout: float) -> Rows:
        self._open  # noqa: B018 - refuses a closed store
        return self._tables.select(select, limit, timeout)

    def explain(self, select: Select, *, limit: int) -> list[str]:
        self._open  # noqa: B018
        return self._tables.explain(select, limit)

    def columns(self, schema: str) -> list[str]:
        return list(columns(known(schema)))

    def _compiler(self, schema: str) -> Compiler:
        if schema not in self._compilers:
            has_path = partial(self._has_path, known(schema))
            self._compilers[schema] = Compiler(schema, has_path, PostgresWriter, "%s")
        return self._compilers[schema]

    def _has_path(self, schema: str, path: str) -> bool:
        place = json_value(path).replace("%", "%%")
        where = f"r.tenant_id = %s AND r.schema = %s AND {place} IS NOT NULL"
        return bool(self._fetch(f"SELECT 1 FROM remloom.records r WHERE {where} LIMIT 1", schema))

    # -- embedding queue ---------------------------------------------------------------------------

    @property
    def _texts(self) -> Embeddings:
        self._open  # noqa: B018
        return self._embeddings

    def pending(self, limit: int) -> list[Pending]:
        return self._texts.pending(limit)

    def queued(self) -> tuple[int, int]:
        with self._open.read(self._tenant) as cursor:
            return queued(cursor, self._tenant)

    def embed(
        self,
        vectors: dict[str, tuple[Vector, ...]],
        *,
        model: str,
        dims: int,
        current: bool = True,
        versions: Mapping[str, int] = {},
    ) -> None:
        self._write(lambda writing: embed(writing, vectors, versions, model, dims, current=current))
        self._indexing.grown(sum(map(len, vectors.values())))

    def unembedded(self, model: str, limit: int, *, after: int = 0) -> list[Pending]:
        return self._texts.unembedded(model, limit, after)

    def adopt(self, model: str) -> None:
        self._write(lambda writing: adopt(writing, model))
        self._indexing.grown(None)

    def park(self, id: str, error: str) -> None:
        self._write(lambda writing: park(writing, id, error))

    def unpark(self) -> int:
        return self._write(unpark)

    def cached(self, digests: Sequence[bytes], *, model: str) -> dict[bytes, bytes]:
        return self._texts.cached(digests, model)

    def vectors(self, id: str) -> list[Vector]:
        return self.vectors_of([id]).get(id, [])

    def vectors_of(self, ids: Sequence[str]) -> dict[str, list[Vector]]:
        return self._texts.of(ids)

    def model(self) -> tuple[str, int] | None:
        return self._texts.model()

    # -- journal -----------------------------------------------------------------------------------

    def note(
        self,
        entries: Sequence[JournalEntry],
        *,
        struck: Sequence[tuple[str, str]] = (),
        expect: int | None = None,
    ) -> None:
        self._open.write(
            self._tenant,
            lambda cursor: kv.apply(
                Writing(self._server, cursor, self._tenant).cursor,
                self._tenant,
                entries,
                struck,
                expect,
            ),
        )

    def journal(
        self,
        kind: str,
        *,
        prefix: str = "",
        after: str = "",
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[JournalEntry]:
        sql, values = kv.listing(prefix, after, limit, newest_first)
        return [_entry(*row) for row in self._fetch(kv.SELECT + sql, kind, *values)]

    def journal_entry(self, kind: str, id: str) -> JournalEntry | None:
        rows = self._fetch(f"{kv.SELECT} AND id = %s", kind, id)
        return _entry(*rows[0]) if rows else None

    # -- whole store -------------------------------------------------------------------------------

    def records(self, schema: str | None = None) -> Iterator[Record]:
        with self._open.stream(self._tenant) as cursor:
            for thin, order in ((False, "r.seq"), (True, "r.id")):
                cursor.execute(
                    f"SELECT {COLUMNS}, (SELECT array_agg(p.parent ORDER BY q.seq) FROM remloom.parents p JOIN"
                    " remloom.records q"
                    " ON q.tenant_id = p.tenant_id AND q.id = p.parent WHERE p.tenant_id = r.tenant_id AND p.child ="
                    " r.id AND p.kind = 0) FROM remloom.records r"
                    f" WHERE r.tenant_id = %s AND (%s::text IS NULL OR r.schema = %s) AND r.thin = %s ORDER BY {order}",
                    (self._tenant, schema, schema, thin),
                )
                for *row, parents in cursor:
                    record = decode(*row)
                    if parents and isinstance(record, Resource):
                        force_setattr(record, "parents", tuple(parents))
                    yield record

    def all_edges(self) -> Iterator[Edge]:
        with self._open.stream(self._tenant) as cursor:
            yield from self._graph.all(cursor)

    def stats(self) -> dict[str, Any]:
        with self._open.read(self._tenant) as cursor:
            return counts(cursor, self._tenant) | {"encrypted": self.capabilities.encrypted}

    def check(self) -> list[str]:
        return check(self._open, self._tenant)

    def snapshot(self) -> AbstractContextManager[object]:
        return self._open.read(self._tenant)

    def settle(self) -> None:
        """Put the vectors into the HNSW index now, if there are more than are compared one by one."""
        self._open  # noqa: B018
        self._indexing.settle()

    def backup(self, path: str) -> None:
        raise InvalidInputError(
            "a tenant of a PostgreSQL database has no file of its own to copy",
            remedy="back the database up with pg_dump, or this tenant with `remloom export`",
        )

    def look(self) -> None:
        self._server.doubt()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._indexing.close()
            self._server.release()


class _Inside(PostgresStore):
    """What a transaction that writes sees, on the thread that is in it. It remembers nothing that
    outlives it."""

    def __init__(self, server: Database, tenant: str) -> None:
        self._tenant = tenant
        self._closed = False
        self._server = server
        self._graph = Graph(server, tenant)
        self._compilers = {}
        self._embeddings = Embeddings(server, tenant)

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


def _entry(kind: str, id: str, data: bytes, subjects: list[str], version: int) -> JournalEntry:
    return JournalEntry(kind, id, data, tuple(subjects), version)
