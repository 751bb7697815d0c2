"""The server store: one tenant of a PostgreSQL database. See `contract.Store` for what every method guarantees."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import force_setattr, replace

from ...errors import InvalidInputError, StoreClosedError, StoreError
from ...journal import JournalEntry
from ...model import Direction, Edge, Moment, Record, Resource
from ...predicates import Predicate, Query
from .. import rows as times
from ..batch import embedded_text
from ..compiling import check_window, direction, known, split
from ..contract import (
    INDEX,
    SCHEMAS,
    Batch,
    Capabilities,
    Deletion,
    EdgeCount,
    EdgeOrder,
    Match,
    Pending,
    Vector,
    Walk,
    Written,
)
from . import journal
from .checking import check
from .deleting import delete
from .graph import Graph, moment
from .half import floats
from .keys import short
from .likeness import Likeness
from .models import register_model
from .predicates import PostgresCompiler, json_value, order, shown_columns, sortable
from .rows import COLUMNS, decode, paths_of
from .server import Server, translate
from .tables import Tables
from .tenants import Tenants
from .writing import Writing

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["PostgresStore"]

_T = TypeVar("_T")
_ATTEMPTS = 3  # failed embeddings of a text before it is parked
_MONTH = 31 * 24 * 3600 * 1_000_000  # microseconds; moments longer than this have an index of their own
_NEWEST = EdgeOrder()
_TAIL = 4_000  # vectors compared one by one before they go into the HNSW index
_AT_ONCE = 1_000  # vectors put into it in one transaction
_LOOKUP = "SELECT l.key, l.schema, l.body, l.content, l.paths FROM remloom.lookup(%s, %s::text[], %s, %s, %s) l"


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
        tail: int = _TAIL,
    ) -> None:
        self.capabilities = Capabilities(name="postgres", erases=False)
        self._tenant = tenant
        self._hnsw = hnsw or {}
        self._tail = tail
        self._closed = False
        self._indexing = threading.Lock()  # one thread at a time moves vectors into the index
        self._since = tail  # vectors written since the tail was last measured; unknown at first
        self._server = server = Server.at(url, pool_size, timeout)
        try:
            tenants = Tenants(server)
            tenants.prepare(migrate=create)
            tenants.open(tenant, create=create)
        except BaseException:
            server.release()
            raise
        self._graph = Graph(server, tenant)
        self._compilers: dict[str, PostgresCompiler] = {}
        self._likeness = Likeness(server, tenant, self._compiler, self._hnsw.get("ef", 50))
        self._tables = Tables(server, tenant)

    # -- writing ---------------------------------------------------------------------------------------------

    def write(self, batch: Batch) -> Written:
        written = self._write(lambda writing: writing.apply(batch))
        self._grown(sum(len(record.vectors) for record in batch.records))
        return written

    def delete(self, ids: Iterable[str], *, derived: bool = True, erase: bool = True) -> Deletion:
        wanted = list(ids)
        deletion = self._write(lambda writing: delete(writing, wanted, derived=derived))
        return replace(deletion, remaining=self._sweep(deletion.ids)) if erase and deletion.ids else deletion

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
                f"SELECT {column} FROM remloom.{table} WHERE tenant_id = %s AND {column} = ANY (%s)", list(ids)
            )
        )

    def _write(self, work: Callable[[Writing], _T]) -> _T:
        def run(cursor: Cursor[Any]) -> _T:
            writing = Writing(cursor, self._tenant)
            result = work(writing)
            writing.close()
            return result

        return self._open.write(self._tenant, run)

    def _fetch(self, sql: str, *values: Any) -> list[Any]:
        """The rows of a statement whose first parameter is the tenant."""
        return self._open.fetch(self._tenant, sql, (self._tenant, *values))

    @property
    def _open(self) -> Server:
        if self._closed:
            raise StoreClosedError("the memory is closed", remedy="open it again")
        return self._server

    # -- by id and key ---------------------------------------------------------------------------------------

    def get(self, schema: str | None, id: str) -> Record | None:
        if "\0" in id:
            return None
        sql = "SELECT g.schema, g.body, g.content FROM remloom.get(%s, %s) g"
        rows = self._open.call(self._tenant, sql, (self._tenant, id))
        if not rows or (schema is not None and rows[0][0] != schema):
            return None
        return decode(*rows[0])

    def lookup(
        self, keys: Sequence[str], *, edges: int = 100, as_of: datetime | None = None
    ) -> dict[str, list[Record]]:
        wanted = {short(key): key for key in keys}
        found: dict[str, list[Record]] = {key: [] for key in keys}
        rows = self._open.call(self._tenant, _LOOKUP, (self._tenant, list(wanted), edges, *moment(as_of)))
        for key, schema, body, content, paths in rows:
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
            shown[next((alias for alias in aliases if labels.key(alias) == key), record.name)] = None
        return list(shown)[:limit]

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

    # -- by likeness -----------------------------------------------------------------------------------------

    def fuzzy(self, text: str, *, type: str | None, threshold: float, limit: int) -> list[Match]:
        self._open  # noqa: B018 - refuses a closed store
        return self._likeness.fuzzy(text, type, threshold, limit)

    def search_vector(
        self, vector: Sequence[float], *, schema: str, where: Predicate | None, limit: int, min_score: float | None
    ) -> list[Match]:
        self._open  # noqa: B018
        return self._likeness.vector(vector, schema, where, limit, min_score)

    def search_text(self, text: str, *, schema: str | None, where: Predicate | None, limit: int) -> list[Match]:
        self._open  # noqa: B018
        return self._likeness.text(text, schema, where, limit)

    # -- edges -----------------------------------------------------------------------------------------------

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

    def degrees(self, keys: Sequence[str], *, direction: Direction, as_of: datetime | None = None) -> int:
        return self._graph.degrees(keys, direction, as_of)

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

    # -- by field --------------------------------------------------------------------------------------------

    def query(self, schema: str, query: Query) -> list[Record]:
        similar, rest = split(query.where)
        compiler = self._compiler(schema)
        check_window(query.count, query.skip)
        matches: list[Match] = []
        if similar is not None:
            matches = self.search_vector(
                similar.query, schema=schema, where=rest, limit=similar.top_k, min_score=similar.min_score
            )
            if not query.order:
                return [match.record for match in matches[query.skip :][: query.count]]
        sql, values = compiler.compile(rest)
        if similar is not None:
            sql, values = f"({sql}) AND r.id = ANY (%s)", [*values, [match.record.id for match in matches]]
        terms = [order(compiler.field(field), direction(way)) for field, way in query.order]
        found = self._fetch(
            f"SELECT {COLUMNS} FROM remloom.own_records r WHERE r.tenant_id = %s AND r.schema = '{schema}' AND ({sql})"
            f" ORDER BY {', '.join([*terms, 'r.seq'])} LIMIT %s OFFSET %s",
            *values, query.count, query.skip,
        )  # fmt: skip
        return [decode(*row) for row in found]

    def create_index(self, schema: str, field: str) -> None:
        path = self._compiler(schema).field(field)
        if path == "content":
            raise InvalidInputError("content is indexed as text already", remedy="use search_text")
        if path in ("id", "schema", "uri", "created_at", "updated_at", "starts_at", "ends_at"):
            return  # columns of their own
        name = "user_" + sha256(f"{schema}.{path}".encode()).hexdigest()[:16]
        expression = sortable(path).replace("r.body", "body").replace("%%", "%")
        self._define(
            f"CREATE INDEX IF NOT EXISTS {name} ON remloom.records (tenant_id, ({expression})) WHERE schema ="
            f" '{schema}'"
        )
        self.note([JournalEntry(INDEX, f"{schema}.{path}", b"{}")])

    def _define(self, sql: str) -> None:
        """Run a statement as the owner of the tables."""
        with self._open.connect() as connection, translate(self._server.place):
            connection.execute(sql.encode())

    def moments_between(self, start: datetime, end: datetime) -> list[Moment]:
        first, last = times.micros(start), times.micros(end)
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

    def select(
        self, sql: str, *, params: Sequence[Any] = (), limit: int, timeout: float
    ) -> tuple[list[str], list[tuple[Any, ...]], bool]:
        return self._tables.select(sql, params, limit, timeout)

    def explain(self, sql: str) -> list[str]:
        return self._tables.explain(sql)

    def columns(self, schema: str) -> list[str]:
        return list(shown_columns(known(schema)))

    def _compiler(self, schema: str) -> PostgresCompiler:
        if schema not in self._compilers:
            self._compilers[schema] = PostgresCompiler(known(schema), lambda path: self._has_path(schema, path))
        return self._compilers[schema]

    def _has_path(self, schema: str, path: str) -> bool:
        where = f"r.tenant_id = %s AND r.schema = %s AND {json_value(path)} IS NOT NULL"
        return bool(self._fetch(f"SELECT 1 FROM remloom.records r WHERE {where} LIMIT 1", schema))

    # -- embedding queue -------------------------------------------------------------------------------------

    def pending(self, limit: int) -> list[Pending]:
        rows = self._fetch(
            f"SELECT p.id, p.attempts, p.error, {COLUMNS} FROM remloom.pending p JOIN remloom.records r"
            " ON r.tenant_id = p.tenant_id AND r.id = p.id WHERE p.tenant_id = %s AND NOT p.parked"
            " ORDER BY p.attempts, p.seq LIMIT %s",
            limit,
        )
        return [Pending(id, embedded_text(decode(*row)), tries, error or "") for id, tries, error, *row in rows]

    def embed(self, vectors: dict[str, tuple[Vector, ...]], *, model: str, dims: int, current: bool = True) -> None:
        def work(writing: Writing) -> None:
            number = register_model(writing.cursor, self._tenant, model, dims, current=current)
            ids = list(vectors)
            writing.cursor.execute(
                "DELETE FROM remloom.vectors WHERE tenant_id = %s AND model = %s AND id = ANY (%s)",
                (self._tenant, number, ids),
            )
            writing.vectors(number, dims, vectors)
            if current:
                writing.cursor.execute(
                    "DELETE FROM remloom.pending WHERE tenant_id = %s AND id = ANY (%s)", (self._tenant, ids)
                )

        self._write(work)
        self._grown(sum(map(len, vectors.values())))

    def unembedded(self, model: str, limit: int) -> list[Pending]:
        rows = self._fetch(
            f"SELECT r.id, {COLUMNS} FROM remloom.records r WHERE r.tenant_id = %s AND r.doc IS NOT NULL"
            " AND NOT EXISTS (SELECT FROM remloom.vectors v JOIN remloom.models m USING (tenant_id, model)"
            " WHERE v.tenant_id = r.tenant_id AND v.id = r.id AND m.name = %s) ORDER BY r.seq LIMIT %s",
            model, limit,
        )  # fmt: skip
        return [Pending(id, embedded_text(decode(*row))) for id, *row in rows]

    def adopt(self, model: str) -> None:
        def work(writing: Writing) -> None:
            execute, tenant = writing.cursor.execute, self._tenant
            found = execute(
                "SELECT model FROM remloom.models WHERE tenant_id = %s AND name = %s ORDER BY model DESC",
                (tenant, model),
            ).fetchone()
            if found is None:
                return  # there was nothing to embed
            for table in ("vectors", "models"):
                execute(f"DELETE FROM remloom.{table} WHERE tenant_id = %s AND model <> %s", (tenant, found[0]))
            execute("UPDATE remloom.models SET current = true WHERE tenant_id = %s", (tenant,))
            execute("DELETE FROM remloom.pending WHERE tenant_id = %s", (tenant,))
            execute(  # what was written since the last text was moved
                "INSERT INTO remloom.pending SELECT r.tenant_id, r.id, r.seq FROM remloom.records r WHERE"
                " r.tenant_id = %s"
                " AND r.doc IS NOT NULL AND NOT EXISTS (SELECT FROM remloom.vectors v WHERE v.tenant_id ="
                " r.tenant_id AND v.id = r.id)",
                (tenant,),
            )

        self._write(work)
        self._grown(self._tail)

    def park(self, id: str, error: str) -> None:
        self._write(
            lambda writing: writing.cursor.execute(
                f"UPDATE remloom.pending SET attempts = attempts + 1, error = %s, parked = attempts + 1 >= {_ATTEMPTS}"
                " WHERE tenant_id = %s AND id = %s",
                (error.replace("\0", " ")[:2000], self._tenant, id),
            )
        )

    def unpark(self) -> int:
        return self._write(
            lambda writing: (
                writing.cursor.execute(
                    "UPDATE remloom.pending SET parked = false, attempts = 0 WHERE tenant_id = %s AND parked",
                    (self._tenant,),
                ).rowcount
            )
        )

    def cached(self, digests: Sequence[bytes], *, model: str) -> dict[bytes, bytes]:
        rows = self._fetch(
            "SELECT DISTINCT ON (v.digest) v.digest, halfvec_send(v.data) FROM remloom.vectors v"
            " JOIN remloom.models m USING (tenant_id, model) WHERE v.tenant_id = %s AND v.digest = ANY (%s) AND"
            " m.name = %s",
            list(digests), model,
        )  # fmt: skip
        return {digest: floats(data) for digest, data in rows}

    def vectors(self, id: str) -> list[Vector]:
        return self.vectors_of([id]).get(id, [])

    def vectors_of(self, ids: Sequence[str]) -> dict[str, list[Vector]]:
        rows = self._fetch(
            "SELECT v.id, v.first, v.last, halfvec_send(v.data), v.digest FROM remloom.vectors v"
            " JOIN remloom.models m USING (tenant_id, model) WHERE v.tenant_id = %s AND v.id = ANY (%s) AND m.current"
            " ORDER BY v.part",
            list(ids),
        )
        found: dict[str, list[Vector]] = {}
        for id, first, last, data, digest in rows:
            found.setdefault(id, []).append(Vector(first, last, floats(data), digest or b""))
        return found

    def model(self) -> tuple[str, int] | None:
        rows = self._fetch("SELECT name, dims FROM remloom.models WHERE tenant_id = %s AND current")
        return rows[0] if rows else None

    # -- the vector index ------------------------------------------------------------------------------------

    def _grown(self, vectors: int) -> None:
        """Vectors were written: look now and then whether the HNSW index should take those outside it."""
        self._since += vectors
        if vectors and self._since >= self._tail and self._indexing.acquire(blocking=False):
            threading.Thread(target=self._index_in_background, name="remloom-vectors", daemon=True).start()

    def _index_in_background(self) -> None:
        try:
            if self._unindexed() > self._tail:
                self._index()
        except StoreError:
            pass  # the tail is searched one by one meanwhile; `settle` and `check` say what is wrong
        finally:
            self._indexing.release()

    def _unindexed(self) -> int:
        self._since = 0
        rows = self._fetch(
            "SELECT count(*) FROM remloom.vectors v JOIN remloom.models m USING (tenant_id, model)"
            " WHERE v.tenant_id = %s AND m.current AND NOT v.indexed"
        )
        return int(rows[0][0])

    def _index(self) -> None:
        """Put the vectors that serve into the HNSW index of their dimension, which is made if need be."""
        model = self.model()
        if model is None:
            return
        name = f"vectors_hnsw_{model[1]}"
        with self._open.connect() as connection, translate(self._server.place):
            row = connection.execute("SELECT to_regclass(%s) IS NULL", (f"remloom.{name}",)).fetchone()
        self._index_tail()
        if row != (True,):
            return
        # Made only now: a graph is built several times as quickly as it grows.
        m, effort = self._hnsw.get("m", 16), self._hnsw.get("ef_construction", 200)
        self._define(
            f"CREATE INDEX IF NOT EXISTS {name} ON remloom.vectors USING hnsw"
            f" ((data::halfvec({model[1]})) halfvec_cosine_ops) WITH (m = {m}, ef_construction = {effort}) WHERE"
            f" dims = {model[1]} AND indexed"
        )

    def _index_tail(self) -> None:
        def move(cursor: Cursor[Any]) -> int:
            moved = cursor.execute(
                "WITH chosen AS (SELECT v.id, v.model, v.part FROM remloom.vectors v JOIN remloom.models m"
                " USING (tenant_id, model) WHERE v.tenant_id = %s AND m.current AND NOT v.indexed LIMIT %s)"
                " UPDATE remloom.vectors v SET indexed = true FROM chosen c WHERE v.tenant_id = %s AND v.id = c.id"
                " AND v.model = c.model AND v.part = c.part",
                (self._tenant, _AT_ONCE, self._tenant),
            ).rowcount
            if moved:
                cursor.execute(
                    "UPDATE remloom.models SET indexed = true WHERE tenant_id = %s AND current", (self._tenant,)
                )
            return moved

        while not self._closed and self._server.write(self._tenant, move):
            pass

    # -- journal ---------------------------------------------------------------------------------------------

    def note(
        self, entries: Sequence[JournalEntry], *, struck: Sequence[tuple[str, str]] = (), expect: int | None = None
    ) -> None:
        self._open.write(
            self._tenant,
            lambda cursor: journal.apply(Writing(cursor, self._tenant).cursor, self._tenant, entries, struck, expect),
        )

    def journal(
        self, kind: str, *, prefix: str = "", after: str = "", limit: int | None = None, newest_first: bool = False
    ) -> list[JournalEntry]:
        sql, values = journal.listing(prefix, after, limit, newest_first)
        return [_entry(*row) for row in self._fetch(journal.SELECT + sql, kind, *values)]

    def journal_entry(self, kind: str, id: str) -> JournalEntry | None:
        rows = self._fetch(f"{journal.SELECT} AND id = %s", kind, id)
        return _entry(*rows[0]) if rows else None

    # -- whole store -----------------------------------------------------------------------------------------

    def records(self, schema: str | None = None) -> Iterator[Record]:
        with self._open.stream(self._tenant) as cursor:
            cursor.execute(
                f"SELECT {COLUMNS}, (SELECT array_agg(p.parent ORDER BY q.seq) FROM remloom.parents p JOIN"
                " remloom.records q"
                " ON q.tenant_id = p.tenant_id AND q.id = p.parent WHERE p.tenant_id = r.tenant_id AND p.child ="
                " r.id AND p.kind = 0)"
                " FROM remloom.records r WHERE r.tenant_id = %s AND (%s::text IS NULL OR r.schema = %s) ORDER BY r.seq",
                (self._tenant, schema, schema),
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

            def fetch(sql: str) -> list[Any]:
                return cursor.execute(sql, (self._tenant,)).fetchall()

            by_type = fetch(
                "SELECT schema, coalesce(type, ''), count(*), count(*) FILTER (WHERE thin) FROM remloom.records"
                " WHERE tenant_id = %s GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2"
            )
            edges = fetch("SELECT rel, count(*) FROM remloom.edges WHERE tenant_id = %s GROUP BY 1 ORDER BY 2 DESC, 1")
            model = fetch("SELECT model, name, dims FROM remloom.models WHERE tenant_id = %s AND current")
            number, name, dims = model[0] if model else (0, "", 0)
            ((vectors, exact),) = fetch(
                "SELECT count(*), count(*) FILTER (WHERE NOT indexed) FROM remloom.vectors"
                f" WHERE tenant_id = %s AND model = {number}"
            )
            ((waiting, parked),) = fetch(
                "SELECT count(*) FILTER (WHERE NOT parked), count(*) FILTER (WHERE parked) FROM remloom.pending"
                " WHERE tenant_id = %s"
            )
            ((keys,),) = fetch("SELECT count(DISTINCT key) FROM remloom.names WHERE tenant_id = %s")
            noted = fetch("SELECT kind, count(*) FROM remloom.journal WHERE tenant_id = %s GROUP BY 1 ORDER BY 1")
            ((size,),) = fetch(
                "SELECT coalesce(sum(pg_column_size(r.*)), 0) FROM remloom.records r WHERE tenant_id = %s"
            )
        records: dict[str, dict[str, int]] = {schema: {} for schema in SCHEMAS}
        for schema, type, count, _ in by_type:
            records[schema][type] = count
        return {
            "records": {schema: sum(types.values()) for schema, types in records.items()},
            "types": records,
            "thin_entities": sum(thin for _, _, _, thin in by_type),
            "keys": keys,
            "edges": sum(count for _, count in edges),
            "edge_types": dict(edges),
            "vectors": {
                "count": vectors,
                "model": name,
                "dims": dims,
                "exact_share": round(exact / vectors, 4) if vectors else None,
            },
            "pending": waiting,
            "parked": parked,
            "journal": dict(noted),
            "encrypted": self.capabilities.encrypted,
            "bytes": int(size),
        }

    def check(self) -> list[str]:
        return check(self._open, self._tenant)

    def snapshot(self) -> AbstractContextManager[object]:
        return self._open.read(self._tenant)

    def settle(self) -> None:
        """Put the vectors into the HNSW index now, if there are more than are compared one by one."""
        with self._indexing:
            if self._unindexed() > self._tail:
                self._index()

    def backup(self, path: str) -> None:
        raise InvalidInputError(
            "a tenant of a PostgreSQL database has no file of its own to copy",
            remedy="back the database up with pg_dump, or this tenant with `remloom export`",
        )

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            with self._indexing:  # what is moving vectors stops after its batch
                self._server.release()


def _entry(kind: str, id: str, data: bytes, subjects: list[str], version: int) -> JournalEntry:
    return JournalEntry(kind, id, data, tuple(subjects), version)
