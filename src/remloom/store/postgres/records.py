"""Records by id, key, document, provenance, field and time. See `components.Records`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import md5
from typing import Any

from msgspec.structs import force_setattr

from ... import labels
from ...model import Moment, Record, Resource
from ...predicates import Query
from ...sql.writer import requires_value
from ..encoding import TOP, micros
from ..predicate_sql import VectorSearch, asks_regex, order_direction, search_similar
from ..specs import ALL_CHUNKS, LOOKUP_EDGES, ChunkRange
from .compilers import Compilers
from .database import Database
from .graph import PostgresGraph
from .rows import COLUMNS, decode, paths_of
from .short_keys import short
from .sql_writer import order_terms

__all__ = ["PostgresRecords"]

# microseconds; moments longer than this have an index of their own
_MONTH = 31 * 24 * 3600 * 1_000_000
_ORDINAL = "coalesce((r.body ->> 'ordinal')::bigint, 0)"
_MESSAGE = "(r.body #>> '{metadata,message_ids,0}')"


class PostgresRecords:
    """The records of one tenant.

    Args:
        search: searches by vector, for queries that have a VectorSimilar.
    """

    def __init__(
        self,
        server: Database,
        tenant: str,
        graph: PostgresGraph,
        compilers: Compilers,
        search: VectorSearch,
    ) -> None:
        self._server = server
        self._tenant = tenant
        self._graph = graph
        self._compilers = compilers
        self._search = search

    # -- by id and key -----------------------------------------------------------------------------

    def get(self, schema: str | None, id: str) -> Record | None:
        if "\0" in id:
            self._server.check_open()
            return None
        sql = f"SELECT {COLUMNS} FROM remloom.records r WHERE r.tenant_id = t.tenant AND r.id = %(id)s"
        rows = self._server.call(self._tenant, sql, {"id": id})
        if not rows or (schema is not None and rows[0][0] != schema):
            return None
        return decode(*rows[0])

    def lookup(
        self, keys: Sequence[str], *, edges: int = LOOKUP_EDGES, as_of: datetime | None = None
    ) -> dict[str, list[Record]]:
        by_short_key = {short(key): key for key in keys}
        records: dict[str, list[Record]] = {key: [] for key in keys}
        rows = self._graph.lookup(list(by_short_key), edges, as_of)
        for key, schema, body, content, paths, _ in rows:
            record = decode(schema, body, content)
            if paths is not None:
                force_setattr(record, "graph_paths", paths_of(paths))
            records[by_short_key[key]].append(record)
        return records

    def complete(self, prefix: str, limit: int) -> list[str]:
        rows = self._fetch(
            f"SELECT coalesce(n.label, n.key), n.rank, {COLUMNS} FROM remloom.names n JOIN remloom.records r"
            " ON r.tenant_id = n.tenant_id AND r.id = n.id WHERE n.tenant_id = %s AND n.key >= %s AND n.key < %s"
            " ORDER BY n.key LIMIT %s",
            short(prefix), short(prefix) + TOP, limit * 4,
        )  # fmt: skip
        names = (
            _name(decode(schema, body, content), key if rank else None)
            for key, rank, schema, body, content in rows
        )
        return list(dict.fromkeys(names))[:limit]

    def first_words(self, words: Sequence[str]) -> set[str]:
        by_short_key = {short(word): word for word in words}
        rows = self._server.fetch(
            self._tenant,
            "SELECT v.word FROM unnest(%s::text[]) v (word) CROSS JOIN LATERAL (SELECT n.key FROM remloom.names n"
            " WHERE n.tenant_id = %s AND n.key >= v.word ORDER BY n.key LIMIT 1) n WHERE n.key < v.word || '.'",
            # the first name from there on, for what has two bounds is read to its end
            (list(by_short_key), self._tenant),
        )
        return {by_short_key[word] for (word,) in rows}

    # -- by document and provenance ----------------------------------------------------------------

    def chunks(self, uri: str, within: ChunkRange = ALL_CHUNKS) -> list[Resource]:
        way = "DESC" if within.last else "ASC"
        before = 2**63 - 1 if within.before is None else within.before
        rows = self._fetch(
            f"SELECT {COLUMNS} FROM remloom.own_records r WHERE r.tenant_id = %s AND r.schema = 'resources'"
            f" AND md5(r.uri) = md5(%s) AND r.uri = %s AND {_ORDINAL} > %s AND {_ORDINAL} < %s"
            f" ORDER BY {_ORDINAL} {way}, r.seq {way} LIMIT %s",
            uri, uri, within.after, before, within.limit,
        )  # fmt: skip
        chunks = _decode_all(rows)
        return chunks[::-1] if within.last else chunks

    def messages(self, uri: str, ids: Sequence[str]) -> list[Resource]:
        storable = _storable(ids)
        hashes = [_digest(f"{uri}\n{id}") for id in storable]
        rows = self._server.fetch(
            self._tenant,
            f"SELECT {COLUMNS} FROM (SELECT f.* FROM unnest(%(hashes)s::text[]) w (hash) CROSS JOIN LATERAL"
            " (SELECT r.* FROM remloom.own_records r WHERE r.tenant_id = %(tenant)s AND r.schema = 'resources'"
            f" AND {_MESSAGE} IS NOT NULL AND md5(r.uri || chr(10) || {_MESSAGE}) = w.hash OFFSET 0) f) r"
            f" WHERE r.uri = %(uri)s AND {_MESSAGE} = ANY (%(ids)s) ORDER BY {_ORDINAL}, r.seq",
            {"tenant": self._tenant, "uri": uri, "ids": storable, "hashes": hashes},
        )
        return _decode_all(rows)

    def referring(self, ids: Sequence[str]) -> list[Moment]:
        rows = self._fetch(
            f"SELECT {COLUMNS} FROM remloom.own_records r WHERE r.tenant_id = %s AND r.schema = 'moments' AND r.id IN"
            " (SELECT p.child FROM remloom.parents p"
            " WHERE p.tenant_id = r.tenant_id AND p.parent = ANY (%s) AND p.kind = 1) ORDER BY r.seq",
            _storable(ids),
        )
        return _decode_all(rows)

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

    # -- by field and time -------------------------------------------------------------------------

    def query(self, schema: str, query: Query) -> list[Record]:
        where, matches = search_similar(self._search, schema, query)
        if matches is not None and not query.order:
            return [match.record for match in matches[query.skip :][: query.count]]
        compiler = self._compilers.of(schema)
        condition, compared = compiler.compile(where)
        values: list[Any] = [self._tenant, *compared]
        if matches is not None:
            condition = f"({condition}) AND r.id = ANY (%s)"
            values.append([match.record.id for match in matches])
        terms = [
            order_terms(compiler.field(field), order_direction(way)).replace("%", "%%")
            for field, way in query.order
        ]
        # found by a key, not along the schema
        by_key = requires_value(compiler.read(where), "id", "name", "uri", "kind")
        of_schema = f"(r.schema || '') = '{schema}'" if by_key else f"r.schema = '{schema}'"
        statement = (
            f"SELECT {COLUMNS} FROM remloom.own_records r"
            f" WHERE r.tenant_id = %s AND {of_schema} AND ({condition})"
            f" ORDER BY {', '.join([*terms, 'r.seq'])}"
        )
        # Even a limit of NULL would be planned for as a limit.
        if query.count is not None or query.skip:
            statement += " LIMIT %s OFFSET %s"
            values += [query.count, query.skip]
        if not asks_regex(where):
            return _decode_all(self._server.fetch(self._tenant, statement, values))
        with self._server.filtering(self._tenant, where) as cursor:
            return _decode_all(cursor.execute(statement, values).fetchall())

    def moments_between(self, start: datetime, end: datetime) -> list[Moment]:
        rows = self._server.fetch(
            self._tenant,
            f"SELECT {COLUMNS} FROM ("
            " SELECT * FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.schema = 'moments'"
            f" AND r.starts >= %(first)s - {_MONTH} AND r.starts < %(last)s AND (r.ends > %(first)s OR r.starts"
            " >= %(first)s)"
            f" AND r.ends - r.starts <= {_MONTH}"
            " UNION ALL SELECT * FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.schema = 'moments'"
            f" AND r.ends - r.starts > {_MONTH} AND r.ends > %(first)s AND r.starts < %(last)s) r ORDER BY"
            " r.starts, r.seq",
            {"tenant": self._tenant, "first": micros(start), "last": micros(end)},
        )
        return _decode_all(rows)

    # -- all of them -------------------------------------------------------------------------------

    def all(self, schema: str | None = None) -> Iterator[Record]:
        with self._server.stream(self._tenant) as cursor:
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

    # -- rows --------------------------------------------------------------------------------------

    def _fetch(self, sql: str, *values: Any) -> list[Any]:
        """Fetch the rows of a statement whose first parameter is the tenant."""
        return self._server.fetch(self._tenant, sql, (self._tenant, *values))


def _decode_all(rows: Iterable[Any]) -> list[Any]:
    return [decode(*row) for row in rows]


def _storable(ids: Iterable[str]) -> list[str]:
    """List each id once, but for those that PostgreSQL cannot have: with a NUL in it."""
    return [id for id in dict.fromkeys(ids) if "\0" not in id]


def _digest(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()


def _name(record: Record, alias_key: str | None) -> str:
    """Return the alias of a record that has this key, or its name."""
    aliases = getattr(record, "aliases", ()) if alias_key is not None else ()
    return next((alias for alias in aliases if labels.key(alias) == alias_key), record.name)
