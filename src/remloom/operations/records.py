"""Records, listed and queried by conditions, and the databases that are followed."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from typing import Annotated, Literal, TypeAlias, cast

from msgspec import Meta, Struct

from ..engine.queries import parse_condition
from ..errors import InvalidInputError, NotFoundError, UnknownNameError
from ..model import Moment, Record, SchemaDefinition
from ..predicates import Eq, Gt, Query
from ..schema.drift import Drift
from ..schema.sync.report import SyncReport
from .operation import Operation, Progress, always
from .signatures import OfMemory, derive

# a built-in one, or one that is registered
Schema: TypeAlias = Annotated[str, Meta(min_length=1, max_length=63)]
Sorting: TypeAlias = Annotated[
    list[tuple[Annotated[str, Meta(max_length=200)], Literal["asc", "desc"]]], Meta(max_length=10)
]
Offset: TypeAlias = Annotated[int, Meta(ge=0, le=1_000_000)]
_BUILT_IN = ("resources", "entities", "moments")


class RecordPage(Struct, frozen=True, kw_only=True):
    """Some records of a list, and where it goes on."""

    records: list[Record]
    cursor: str = ""  # of the next page; empty: this is the last


class RecordLists(OfMemory):
    """Lists the records of a memory."""

    def list_records(
        self, schema: Schema | None = None, cursor: str = "", limit: int = 100
    ) -> RecordPage:
        """List the records, page by page. What is written meanwhile comes in none or one of them.

        Args:
            schema: of one schema only; default all of them, one after another, those that are
                registered last.
            cursor: of the page before; default from the beginning.

        Raises:
            InvalidInputError: it is no cursor.
            UnknownNameError: there is no such schema.
        """
        schemas = (schema,) if schema else (*_BUILT_IN, *(one.schema_name for one in self._own()))
        current, after = _position(cursor, schemas)
        found: list[Record] = []
        for each in schemas[schemas.index(current) :]:
            query = Query().order_by("id").limit(limit - len(found) + 1)
            if each == current and after:
                query = query.filter(Gt("id", after))
            # one more than is wanted tells whether there are more
            for record in self._matching(each, query):
                if len(found) == limit:
                    return RecordPage(records=found, cursor=_cursor(found[-1]))
                found.append(record)
            if len(found) == limit and each != schemas[-1]:
                return RecordPage(records=found, cursor=_cursor(found[-1]))
        return RecordPage(records=found)

    def query_records(
        self,
        schema: Schema,
        where: str = "",
        order: Sorting = [],  # noqa: B006  # never written to
        limit: int = 100,
        offset: Offset = 0,
    ) -> list[Record]:
        """List the records of a schema that meet a condition.

        Args:
            where: a WHERE of the dialect, such as "category = 'note' AND metadata.year > 2020".
            order: fields to order by, each with "asc" or "desc".
            offset: how many to leave out first.

        Raises:
            QuerySyntaxError: it is no condition; says where.
            UnknownNameError: there is no such schema or field.
        """
        query = Query().limit(limit).offset(offset)
        condition = parse_condition(where) if where else None
        if condition is not None:
            query = query.filter(condition)
        for field, way in order:
            query = query.order_by(field, way)
        return self._matching(schema, query)

    def get_moments_by_time(
        self, start: datetime, end: datetime, limit: int = 1_000, offset: Offset = 0
    ) -> list[Moment]:
        """List the moments that overlap [start, end), in order of their start.

        Args:
            offset: how many to leave out first.

        Raises:
            InvalidInputError: a time without a zone, or an end before the start.
        """
        return self.memory.get_moments_by_time(start, end)[offset : offset + limit]

    def get_moments_by_type(
        self, type: str, limit: int = 1_000, offset: Offset = 0
    ) -> list[Moment]:
        """List the moments of a type, in order of their start.

        Args:
            offset: how many to leave out first.
        """
        query = Query().filter(Eq("type", type)).order_by("starts_at").order_by("id")
        return self.memory.query_moments(query.limit(limit).offset(offset))

    def get_record(self, id: str) -> Record:
        """Return the record of an id, of whichever schema.

        Raises:
            NotFoundError: there is none.
        """
        error: NotFoundError | None = None
        for get in (self.memory.get_resource, self.memory.get_entity, self.memory.get_moment):
            try:
                return get(id)
            except NotFoundError as missing:
                error = error or missing
        # one probe, however many schemas are registered
        row = self.memory.admin.store.records.get(None, id)
        if row is None:
            raise error or NotFoundError(f"there is no record {id!r}", id=id)
        return self.memory.schemas.get_row(row.schema, id)

    def _own(self) -> list[SchemaDefinition]:
        return self.memory.schemas.list()

    def _matching(self, schema: str, query: Query) -> list[Record]:
        if schema not in _BUILT_IN:
            known = [*_BUILT_IN, *(one.schema_name for one in self._own())]
            if schema not in known:
                raise UnknownNameError("schema", schema, known)
            return list(self.memory.schemas.query_rows(schema, query))
        return cast("list[Record]", getattr(self.memory, f"query_{schema}")(query))


def _cursor(record: Record) -> str:
    return urlsafe_b64encode(f"{record.schema} {record.id}".encode()).decode().rstrip("=")


def _position(cursor: str, schemas: tuple[str, ...]) -> tuple[str, str]:
    """Give the schema and the id behind which a list goes on."""
    if not cursor:
        return schemas[0], ""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        schema, _, id = urlsafe_b64decode(padded.encode()).decode().partition(" ")
    except ValueError:
        schema, id = "", ""
    if schema not in schemas or not id:
        raise InvalidInputError(
            f"{cursor!r:.100} is no cursor of this list",
            remedy="give the `cursor` of the page before, or none",
            argument="cursor",
        )
    return schema, id


RECORDS: tuple[Operation, ...] = (
    derive("list_records", "GET /v1/records", "read", of=RecordLists),
    derive("query_records", "POST /v1/records/query", "read", of=RecordLists),
    derive("get_moments_by_time", "GET /v1/moments", "read", of=RecordLists),
    derive("get_moments_by_type", "GET /v1/moments/types/{type}", "read", of=RecordLists),
    derive("get_record", "GET /v1/records/{id}", "read", of=RecordLists, is_short=always),
)


class SourceInfo(Struct, frozen=True, kw_only=True):
    """A database that was registered."""

    name: str
    kind: str  # "postgresql", "mysql", "sqlite", …
    schemas: tuple[str, ...]  # of its rows
    registered_at: datetime | None = None
    synced_at: datetime | None = None  # when a sync was last done to its end


class Databases(OfMemory):
    """Follows the databases that were registered."""

    def list_sources(self) -> list[SourceInfo]:
        """List the databases that were registered, by name."""
        return [
            SourceInfo(
                name=source.name,
                kind=source.plan.kind,
                schemas=tuple(table.schema_name for table in source.plan.tables),
                registered_at=source.registered_at,
                synced_at=source.synced_at,
            )
            for source in self.memory.schemas.sources()
        ]

    def sync_source(
        self, name: str, *, dry_run: bool = False, progress: Progress | None = None
    ) -> SyncReport:
        """Bring the rows of a database that was registered up to date.

        Args:
            name: of the source.
            dry_run: write nothing, and say what would be written.
            progress: called as `progress(done, total)`, of rows.

        Raises:
            UnknownNameError: there is no such source.
            ConflictError: it is being synced already.
            SourceError: the database cannot be read.
        """
        return self.memory.schemas.sync(name, dry_run=dry_run, progress=progress)

    def source_drift(self, name: str) -> Drift:
        """Say how a database differs from what it was when it was registered.

        Args:
            name: of the source.

        Raises:
            UnknownNameError: there is no such source.
            SourceError: the database cannot be read.
        """
        return self.memory.schemas.drift(name)


DATABASES: tuple[Operation, ...] = (
    derive("list_sources", "GET /v1/sources", "read", of=Databases),
    derive(
        "sync_source",
        "POST /v1/sources/{name}/sync",
        "admin",
        of=Databases,
        is_long=True,
        idempotent=True,
    ),
    derive("source_drift", "GET /v1/sources/{name}/drift", "admin", of=Databases),
)
