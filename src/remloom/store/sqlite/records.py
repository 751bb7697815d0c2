"""Records by id, key, document, provenance, field and time. See `components.Records`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any

import apsw
from msgspec.structs import force_setattr

from ...model import Entity, Moment, Record, Resource
from ...predicates import Query
from ...sql.writer import requires_value
from ..encoding import SCHEMAS, TOP, has_expired
from ..predicate_sql import Compilers, VectorSearch, order_direction, search_similar
from ..rules.provenance import set_parents, show_parents
from ..specs import LOOKUP_EDGES
from ..stored_records import StoredRecords, name_of
from .file.database import SqliteDatabase
from .file.error_translation import translate
from .graph.graph import SqliteGraph
from .rows import COLUMNS, SQL, decode, fetch_parents, not_expired
from .select.select_writer import schema_condition, stored_value
from .select.sql_functions import bounded

_STREAM_CACHE = 8  # MB
_RANK = itemgetter(1, 2)  # those a label names before those it is an alias of, then as written


class SqliteRecords(StoredRecords):
    """The records of one tenant. See `StoredRecords`."""

    def __init__(
        self,
        database: SqliteDatabase,
        graph: SqliteGraph,
        compilers: Compilers,
        search: VectorSearch,
        *,
        expired: bool = False,
    ) -> None:
        super().__init__(SQL, database.fetch, compilers, search, expired=expired)
        self._database = database
        self._graph = graph
        self._translate = translate(database.path)

    def _ids(self, ids: Iterable[str]) -> str:
        return json.dumps(list(dict.fromkeys(ids)))

    def _decode(self, row: Any) -> Record:
        return decode(*row[1:4])

    # -- by id and key -----------------------------------------------------------------------------

    def get(self, schema: str | None, id: str) -> Record | None:
        with self._translate:
            row = self._database.reader.execute(SQL.get_record, (id,)).get
        if row is None or (schema is not None and row[1] != schema):
            return None
        record = self._reader()(decode(row[1], row[2], row[3]))
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
        records: dict[str, list[Record]] = {key: [] for key in keys}
        if limit is not None:
            with self._graph.reading() as cursor:
                values = (json.dumps(list(records)), own, self._now, limit)
                rows = cursor.execute(SQL.lookup_some, values).fetchall()
                self._add_records(records, cursor, rows, edges, as_of, own=own)
            return records
        # The most frequent call: no transaction, and no cache to check unless the record has edges.
        if len(records) == 1:
            with self._translate:
                cursor = self._database.reader
                rows = cursor.execute(SQL.lookup, tuple(records)).fetchall()
                self._add_records(records, cursor, rows, edges, as_of, own=own)
        else:
            with self._graph.reading() as cursor:
                rows = cursor.execute(SQL.lookup_all, (json.dumps(list(records)),)).fetchall()
                self._add_records(records, cursor, rows, edges, as_of, own=own)
        return records

    def _add_records(
        self,
        records: dict[str, list[Record]],
        cursor: apsw.Cursor,
        rows: list[Any],
        edges: int,
        as_of: datetime | None,
        *,
        own: bool,
    ) -> None:
        if len(rows) > 1:
            rows.sort(key=_RANK)
        read_record = self._reader()
        for key, _, record_no, schema, body, content, label_no, linked, total in rows:
            if own and not total:
                continue
            record = read_record(decode(schema, body, content))
            if not self._is_there(record):
                continue
            if edges and (linked or total != 1):
                label_nos: Sequence[int] = (label_no,)
                if total != 1:
                    label_nos = [
                        other for (other,) in cursor.execute(SQL.record_labels, (record_no,))
                    ]
                if label_nos and (paths := self._graph.outgoing(cursor, label_nos, edges, as_of)):
                    force_setattr(record, "graph_paths", paths)
            records[key].append(record)
        show_parents(chain.from_iterable(records.values()), partial(fetch_parents, cursor))

    def complete(self, prefix: str, limit: int) -> list[str]:
        values = {"first": prefix, "last": prefix + TOP, "now": self._now, "limit": limit * 4}
        rows = self._fetch(SQL.complete, **values)
        names = (
            name if rank == 0 and schema in SCHEMAS else name_of(decode(schema, body, content), key)
            for name, rank, key, schema, body, content in rows
        )
        return list(dict.fromkeys(names))[:limit]

    def first_words(self, words: Sequence[str]) -> set[str]:
        return {word for (word,) in self._fetch(SQL.first_words, words=json.dumps(list(words)))}

    def messages(self, uri: str, ids: Sequence[str]) -> list[Resource]:
        return self._records(SQL.messages, ids=self._ids(ids), uri=uri)

    # -- by field and time -------------------------------------------------------------------------

    def query(self, schema: str, query: Query) -> list[Record]:
        compiler = self._compilers.of(schema)
        where, matches = search_similar(self._search, schema, query)
        if matches is not None and not query.order:
            return [match.record for match in matches[query.skip :][: query.count]]
        condition, values = compiler.compile(where)
        # What is found by its key is not looked for along all of the schema.
        by_name = requires_value(compiler.read(where), "name")
        of_this_schema = f"+r.schema = '{schema}'" if by_name else schema_condition(schema)
        if matches is not None:
            placeholders = ", ".join("?" * len(matches))
            condition = f"({condition}) AND r.id IN ({placeholders})"
            values = [*values, *(match.record.id for match in matches)]
        if not_expired := self._not_expired():
            condition = f"({condition}) AND {not_expired}"
        terms = [
            f"{stored_value(schema, compiler.value(field))} {order_direction(order)}"
            for field, order in query.order
        ]
        found = (
            f"FROM records r WHERE {of_this_schema} AND ({condition})"
            f" ORDER BY {', '.join([*terms, 'r.rid'])} LIMIT ? OFFSET ?"
        )
        statement = f"SELECT {COLUMNS} {found}"
        if query.count is not None:
            # what is beyond the limit is ordered, but not read
            statement = (
                f"SELECT {COLUMNS} FROM (SELECT r.rid AS number {found})"
                " CROSS JOIN records r ON r.rid = number"
            )
        with bounded():
            limit = -1 if query.count is None else query.count
            values = [*values, limit, query.skip]
            with self._translate:
                rows = self._database.reader.execute(statement, values).fetchall()
            return self._decode_all(rows)

    def texts_after(self, number: int, limit: int) -> list[tuple[int, Record]]:
        rows = self._fetch(SQL.texts_after, number=number, now=self._now, limit=limit)
        read_record = self._reader()
        return [(text_no, read_record(decode(*row))) for text_no, *row in rows]

    def entities_after(self, number: int, limit: int) -> tuple[list[Entity], int]:
        rows = self._fetch(SQL.entities_after, after=number, limit=limit)
        read_record = self._reader()
        at = self._now
        found: list[Any] = [
            read_record(decode("entities", body, None))
            for _, expires, body in rows
            if expires is None or expires > at
        ]
        return found, rows[-1][0] if rows else number

    # -- all of them -------------------------------------------------------------------------------

    def all(self, schema: str | None = None, *, expired: bool = False) -> Iterator[Record]:
        connecting = self._database.connections.open(_STREAM_CACHE, query_only=True)
        with closing(connecting) as connection, self._translate:
            connection.execute("BEGIN")
            parents = connection.cursor()
            read_record = self._reader()
            for sql in (SQL.all_written, SQL.all_thin):
                for record_no, kind, body, content in connection.execute(sql, (schema,)):
                    record = decode(kind, body, content)
                    if not expired and has_expired(record):
                        continue
                    if isinstance(record, Resource | Moment):
                        set_parents(record, parents.execute(SQL.parents_of, (record_no,)))
                    yield read_record(record)

    def _not_expired(self) -> str:
        with self._translate:
            return "" if self._expired else not_expired(self._database.reader)
