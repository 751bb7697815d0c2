"""Records by id, key, document, provenance, field and time. See `components.Records`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import md5
from itertools import chain
from typing import Any

from msgspec.structs import force_setattr, replace

from ...model import Entity, Record, Resource
from ...predicates import Query
from ...sql.writer import requires_value
from ..encoding import SCHEMAS, TOP, has_expired
from ..predicate_sql import Compilers, VectorSearch, has_regex, order_direction, search_similar
from ..results import Premise
from ..rules.provenance import set_parents, show_parents
from ..specs import LOOKUP_EDGES
from ..stored_records import StoredRecords, name_of
from .database import PostgresDatabase
from .graph import PostgresGraph
from .rows import SQL, decode, digests, paths_of, short, storable
from .sql_writer import order_terms

# Several keys in a row may be of one record.
_KEYS_PER_NAME = 4


class PostgresRecords(StoredRecords):
    """The records of one tenant. See `StoredRecords`."""

    def __init__(
        self,
        server: PostgresDatabase,
        graph: PostgresGraph,
        compilers: Compilers,
        search: VectorSearch,
        *,
        expired: bool = False,
    ) -> None:
        super().__init__(SQL, server.fetch, compilers, search, expired=expired)
        self._server = server
        self._graph = graph

    def _ids(self, ids: Iterable[str]) -> list[str]:
        return storable(ids)

    def _decode(self, row: Any) -> Record:
        return decode(*row)

    # -- by id and key -----------------------------------------------------------------------------

    def get(self, schema: str | None, id: str) -> Record | None:
        # PostgreSQL has no texts with a NUL in them.
        if "\0" in id:
            self._server.check_open()
            return None
        rows = self._server.call(SQL.get_record, {"id": id})
        if not rows or (schema is not None and rows[0][0] != schema):
            return None
        record = self._reader()(decode(*rows[0]))
        show_parents([record], self._fetch_parents)
        return record if self._is_there(record) else None

    def lookup(
        self,
        keys: Sequence[str],
        *,
        edges: int = LOOKUP_EDGES,
        as_of: datetime | None = None,
        limit: int | None = None,
        own: bool = False,
    ) -> dict[str, list[Record]]:
        by_short_key = {short(key): key for key in keys}
        records: dict[str, list[Record]] = {key: [] for key in keys}
        most = None if limit is None else {"most": limit, "now": self._now, "own": own}
        rows = self._graph.lookup(list(by_short_key), edges, as_of, most)
        read_record = self._reader()
        for key, schema, body, content, paths, has_others in rows:
            if own and has_others is None:
                continue
            record = read_record(decode(schema, body, content))
            if not self._is_there(record):
                continue
            if paths is not None:
                force_setattr(record, "graph_paths", paths_of(paths))
            records[by_short_key[key]].append(record)
        show_parents(chain.from_iterable(records.values()), self._fetch_parents)
        return records

    def complete(self, prefix: str, limit: int) -> list[str]:
        first = short(prefix)
        rows = self._fetch(
            SQL.keys_from,
            first=first,
            end=first + TOP,
            now=self._now,
            limit=limit * _KEYS_PER_NAME,
        )
        names = (
            name_of(record, key) if rank or record.schema not in SCHEMAS else record.name
            for key, rank, record in ((key, rank, decode(*row)) for key, rank, *row in rows)
        )
        return list(dict.fromkeys(names))[:limit]

    def first_words(self, words: Sequence[str]) -> set[str]:
        by_short_key = {short(word): word for word in words}
        rows = self._fetch(SQL.first_words, words=list(by_short_key))
        return {by_short_key[word] for (word,) in rows}

    def messages(self, uri: str, ids: Sequence[str]) -> list[Resource]:
        present = storable(ids)
        texts = [f"{uri}\n{id}" for id in present]
        hashes = [md5(text.encode(), usedforsecurity=False).hexdigest() for text in texts]
        return self._records(SQL.messages, uri=uri, ids=present, hashes=hashes)

    def premises(self, ids: Sequence[str]) -> list[Premise]:
        found = super().premises(ids)
        untold = [one.id for one in found if one.says is None and one.quoted is not None]
        if not untold:
            return found
        said = digests(self._fetch(SQL.said, ids=self._ids(untold)))
        return [replace(one, says=said.get(one.id, one.says)) for one in found]

    def resting(
        self, ids: Sequence[str], keys: Sequence[str], *, category: str | None = None
    ) -> list[str]:
        return super().resting(ids, list(map(short, keys)), category=category)

    # -- by field and time -------------------------------------------------------------------------

    def query(self, schema: str, query: Query) -> list[Record]:
        compiler = self._compilers.of(schema)
        where, matches = search_similar(self._search, schema, query)
        if matches is not None and not query.order:
            return [match.record for match in matches[query.skip :][: query.count]]
        condition, compared = compiler.compile(where)
        values: list[Any] = [self._server.tenant, *compared]
        if matches is not None:
            condition = f"({condition}) AND r.id = ANY (%s)"
            values.append([match.record.id for match in matches])
        condition = f"({condition}) AND (r.expires IS NULL OR r.expires > %s)"
        values.append(self._now)
        # What has a key of its own is not looked for along the index of schemas, which would give
        # half of all rows.
        by_key = requires_value(compiler.read(where), "id", "name", "uri", "kind")
        of_schema = f"(r.schema || '') = '{schema}'" if by_key else f"r.schema = '{schema}'"
        terms = [
            order_terms(compiler.value(field), order_direction(way)).replace("%", "%%")
            for field, way in query.order
        ]
        pieces = {
            "condition": f"{of_schema} AND {condition}",
            "order": ", ".join([*terms, "r.seq"]),
        }
        # Even a limit of NULL would be planned for as a limit.
        if query.count is None and not query.skip:
            statement = SQL.fill("query_records", **pieces)
        else:
            statement = SQL.fill("query_some_records", **pieces)
            values += [query.count, query.skip]
        if not has_regex(where):
            return self._decode_all(self._fetch(statement, values))
        with self._server.filtering(where) as cursor:
            return self._decode_all(cursor.execute(statement, values).fetchall())

    def texts_after(self, number: int, limit: int) -> list[tuple[int, Record]]:
        rows = self._fetch(SQL.texts_after, number=number, now=self._now, limit=limit)
        read_record = self._reader()
        return [(text_no, read_record(decode(*record))) for text_no, *record in rows]

    def entities_after(self, number: int, limit: int) -> tuple[list[Entity], int]:
        rows = self._fetch(SQL.entities_after, number=number, now=self._now, limit=limit)
        read_record = self._reader()
        found: list[Any] = [read_record(decode(*record)) for _, *record in rows]
        return found, rows[-1][0] if rows else number

    # -- all of them -------------------------------------------------------------------------------

    def all(self, schema: str | None = None, *, expired: bool = False) -> Iterator[Record]:
        with self._server.stream() as cursor:
            values = {"tenant": self._server.tenant, "schema": schema}
            read_record = self._reader()
            for sql in (SQL.all_records, SQL.all_thin):
                cursor.execute(sql, values)
                for *row, ids, digests, gone in cursor:
                    record = decode(*row)
                    if not expired and has_expired(record):
                        continue
                    set_parents(record, zip(ids or (), digests or (), gone or (), strict=True))
                    yield read_record(record)
