"""Databases in MongoDB, whose collections are described by samples of their documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import MissingExtraError, SourceError, UnknownNameError
from .addresses import Address
from .contract import Key, Table, TableProfile, profile_rows, rows_to_read
from .documents import Document, bound, columns_of, decode_document, plain_rows

if TYPE_CHECKING:
    from pymongo.collection import Collection


_MILLISECONDS = 60_000  # that one command may take
_CONNECTING = 10_000  # milliseconds
_SAMPLED = 1_000  # documents that say what a collection holds
_ENDS = 100  # of the oldest, and of the newest, besides
_SCANNED = 100_000  # documents of the largest collection that is read whole to look for values
_CHUNK = 500  # values looked for at once


class MongoDatabase:
    """A database in MongoDB, or in what speaks its protocol: a collection is a table.

    Its columns are the fields of a sample: 1,000 documents at random, the oldest and the newest
    100. What is within a document is a column "address.city" where the sample agrees, else JSON.
    """

    kind: ClassVar[str] = "mongodb"

    def __init__(self, address: Address) -> None:
        try:
            import pymongo
            from bson.codec_options import CodecOptions, DatetimeConversion
            from bson.errors import BSONError
            from bson.raw_bson import RawBSONDocument
        except ImportError:
            raise MissingExtraError("reading MongoDB", "mongo") from None
        self._address = address
        self._errors = (pymongo.errors.PyMongoError, BSONError)
        name = address.database("end it with the name of one: mongodb://user@host/database")
        user = address.parts()["user"]
        credentials: dict[str, Any] = (
            {"username": user, "password": address.password} if user else {}
        )
        credentials |= address.secrets
        scheme, _, rest = address.url.partition("://")
        with self._translated():
            self._client: Any = pymongo.MongoClient(
                f"{scheme}://{rest.rpartition('@')[2]}",
                serverSelectionTimeoutMS=_CONNECTING,
                uuidRepresentation="standard",
                appname="remloom",
                **credentials,
            )
            self._options: CodecOptions[Any] = CodecOptions(
                tz_aware=True,
                uuid_representation=4,
                # those beyond Python's as a number
                datetime_conversion=DatetimeConversion.DATETIME_AUTO,
                unicode_decode_error_handler="replace",
            )
            self._database = self._client.get_database(name, codec_options=self._options)
            try:
                self._database.command("ping")
            except BaseException:
                self._client.close()
                raise
        # documents as they come: one that cannot be decoded costs no other
        self._raw = self._options.with_options(document_class=RawBSONDocument)
        self._described: dict[str, Table] = {}
        # where the last page of a collection ended, as its reader knows it and as documents do
        self._last: tuple[Any, Sequence[Any]] = ((), ())

    @property
    def address(self) -> str:
        return self._address.url

    def tables(self, names: Sequence[str] | None = None) -> list[Table]:
        with self._translated():
            found = {
                info["name"]: info
                for info in self._database.list_collections()
                if not info["name"].startswith("system.")
            }
        for name in names or ():
            if name not in found:
                raise UnknownNameError("table", name, list(found))
        collections = sorted(found if names is None else set(names))
        with self._translated():
            described = [self._table(found[name]) for name in collections]
        self._described |= {table.name: table for table in described}
        return described

    def profile(self, table: Table, sample: int) -> TableProfile:
        columns = [column for column in table.columns if column.kind is not None]
        limit = rows_to_read(table.rows, len(columns), sample)
        with self._translated():
            documents, whole = self._documents(table.name, table.rows, limit)
        rows = plain_rows(documents, columns)
        return profile_rows(table, columns, rows, total=table.rows, whole=whole)

    def count_contained(
        self, table: str, columns: Sequence[str], values: Sequence[Key]
    ) -> int | None:
        if table not in self._described:
            self.tables([table])
        described = self._described[table]
        key_columns = set(columns)
        indexed = any(set(one[: len(key_columns)]) == key_columns for one in described.indexed)
        if not indexed and (described.rows is None or described.rows > _SCANNED):
            return None
        by_name = {column.name: column for column in described.columns}
        if not by_name.keys() >= key_columns:
            return 0
        keys = [
            {name: bound(value, by_name[name]) for name, value in zip(columns, key, strict=True)}
            for key in values
            if None not in key
        ]
        found = 0
        with self._translated():
            for start in range(0, len(keys), _CHUNK):
                found += self._count_distinct(described, columns, keys[start : start + _CHUNK])
        return found

    def rows(
        self, table: Table, columns: Sequence[str], *, after: Key | None, limit: int
    ) -> list[tuple[Any, ...]]:
        by_name = {column.name: column for column in table.columns}
        skipped = int(after[0]) if after and not table.primary_key else 0
        matched: Document = {}
        if after is not None and table.primary_key:
            names = table.primary_key
            last, key = self._last
            # a key need not survive being read: a date beyond those of Python
            if last != (table.name, after):
                key = [bound(part, by_name[name]) for part, name in zip(after, names, strict=True)]
            matched = _behind(names, key)
        # whole, as the type of what is within may differ between documents
        roots = (name.partition(".")[0] for name in columns)
        projection = {**dict.fromkeys(roots, 1), **({} if "_id" in columns else {"_id": 0})}
        with self._translated():
            cursor = self._documents_of(table.name).find(matched, projection).limit(limit)
            # a view may have no ids
            if order := table.primary_key or tuple(by_name.keys() & {"_id"}):
                cursor = cursor.sort([(name, 1) for name in order])
            documents = self._decoded(cursor.skip(skipped).max_time_ms(_MILLISECONDS))
        rows = plain_rows(documents, [by_name[name] for name in columns])
        if rows and table.primary_key and set(table.primary_key).issubset(columns):
            positions = [list(columns).index(name) for name in table.primary_key]
            read = tuple(rows[-1][position] for position in positions)
            stored = [documents[-1].get(name) for name in table.primary_key]
            self._last = (table.name, read), stored
        return rows

    def snapshot(self) -> AbstractContextManager[None]:
        # a server that is not part of a replica set has no snapshots
        return nullcontext()

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            message = self._address.clean(str(error)).partition("\n")[0].partition(", Timeout:")[0]
            raise SourceError(f"{self.address}: {message[:300]}", uri=self.address) from None

    def _documents_of(self, name: str) -> Collection[Any]:
        """A collection that gives its documents as bytes, to be decoded one by one."""
        collection: Collection[Any] = self._database[name]
        return collection.with_options(codec_options=self._raw)

    def _decoded(self, found: Iterable[Any]) -> list[Document]:
        return [decode_document(one.raw, self._options) for one in found]

    def _table(self, info: Document) -> Table:
        name, is_view = str(info["name"]), info.get("type") == "view"
        rows = None if is_view else int(self._database[name].estimated_document_count())
        documents, _ = self._documents(name, rows, _SAMPLED + 2 * _ENDS)
        schema = (info.get("options") or {}).get("validator", {}).get("$jsonSchema", {})
        columns = tuple(columns_of(documents, schema))
        # an index of a list has its items; one of a field that the sample lacks has no column
        scalar = frozenset(one.name for one in columns if one.kind and not one.list)
        unique, indexed = self._indexes(name, scalar) if not is_view else ((), ())
        ids = next((column for column in columns if column.name == "_id"), None)
        # ids of several types are in no order that a comparison knows
        is_key = ids is not None and ids.kind not in (None, "json") and "," not in ids.declared
        return Table(
            name=name,
            columns=columns,
            primary_key=("_id",) if is_key and not is_view else (),
            unique=unique,
            indexed=indexed,
            rows=rows,
            is_view=is_view,
            comment=str(schema.get("description", "")),
        )

    def _documents(self, name: str, rows: int | None, limit: int) -> tuple[list[Document], bool]:
        """Up to so many documents: all, or some at random and those at both ends."""
        collection = self._documents_of(name)
        if rows is None or rows <= limit:
            found = self._decoded(collection.find().limit(limit + 1).max_time_ms(_MILLISECONDS))
            return found[:limit], len(found) <= limit
        ends = min(_ENDS, limit // 4)
        sampled = [{"$sample": {"size": limit - 2 * ends}}]
        documents = self._decoded(collection.aggregate(sampled, maxTimeMS=_MILLISECONDS))
        for direction in (1, -1):
            documents += self._decoded(collection.find().sort("_id", direction).limit(ends))
        # a document may be drawn twice
        different = {repr(document.get("_id")): document for document in documents}
        return list(different.values()), False

    def _indexes(
        self, name: str, columns: frozenset[str]
    ) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
        """The fields of unique indexes, and of all, but for those of a part of the documents, or of
        what is none of these columns."""
        unique, indexed = [], []
        for index in self._database[name].list_indexes():
            fields = tuple(index["key"])
            # 1 and -1 are orders; others are texts, places, hashes
            is_ordered = all(order in (1, -1) for order in index["key"].values())
            is_partial = bool(index.get("partialFilterExpression"))
            if is_partial or not is_ordered or not set(fields).issubset(columns):
                continue
            indexed.append(fields)
            if index.get("unique") and fields != ("_id",):
                unique.append(fields)
        return tuple(unique), tuple(indexed)

    def _count_distinct(
        self, table: Table, columns: Sequence[str], keys: Sequence[dict[str, Any]]
    ) -> int:
        collection = self._database[table.name]
        if len(columns) > 1:
            matched: dict[str, Any] = {"$or": list(keys)}
        else:
            matched = {columns[0]: {"$in": [key[columns[0]] for key in keys]}}
        if tuple(columns) in (("_id",), *table.unique):
            # each is there once at most
            found = collection.find(matched, {"_id": 1}).max_time_ms(_MILLISECONDS)
            return len(list(found))
        grouped = {f"c{number}": f"${name}" for number, name in enumerate(columns)}
        counted = collection.aggregate(
            [{"$match": matched}, {"$group": {"_id": grouped}}, {"$count": "found"}],
            maxTimeMS=_MILLISECONDS,
        )
        return sum(int(one["found"]) for one in counted)


def _behind(names: Sequence[str], key: Sequence[Any]) -> Document:
    """The condition that a document's key comes behind this one."""
    ways: list[Document] = []
    for position, name in enumerate(names):
        equal = dict(zip(names[:position], key[:position], strict=True))
        ways.append({**equal, name: {"$gt": key[position]}})
    return ways[0] if len(ways) == 1 else {"$or": ways}
