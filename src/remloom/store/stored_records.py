"""Records that both stores read by statements of the same names. See `components.Records`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from .. import labels
from ..model import Moment, Record, Resource
from .encoding import BEFORE_ALL, has_expired, micros, now, successor
from .predicate_sql import Compilers, VectorSearch
from .results import Premise, premise_of
from .rules.premise_entries import read_premise
from .rules.provenance import show_parents
from .rules.record_ids import origin_of
from .specs import ALL_CHUNKS, ChunkRange
from .sql_files import SqlFiles

_LAST_ORDINAL = 2**63 - 1


class StoredRecords(ABC):
    """The records of one tenant.

    Args:
        statements: those of the store.
        fetch: fetches the rows of a statement, which takes named values.
        search: searches by vector, for queries that have a VectorSimilar.
        expired: give what has expired too.
    """

    def __init__(
        self,
        statements: SqlFiles,
        fetch: Callable[..., list[Any]],
        compilers: Compilers,
        search: VectorSearch,
        *,
        expired: bool,
    ) -> None:
        self.SQL = statements
        self._fetch = fetch
        self._compilers = compilers
        self._reader = compilers.definitions.reader
        self._search = search
        self._expired = expired

    @abstractmethod
    def _ids(self, ids: Iterable[str]) -> Any:
        """Ids as a statement takes them."""

    @abstractmethod
    def _decode(self, row: Any) -> Record:
        """The record of a row."""

    def of(self, ids: Sequence[str]) -> dict[str, Record]:
        if len(ids) < 2:
            one = self.get(None, ids[0]) if ids else None
            return {} if one is None else {one.id: one}
        found = self._records(self.SQL.records_of_ids, ids=self._ids(ids))
        return {record.id: record for record in found}

    @abstractmethod
    def get(self, schema: str | None, id: str) -> Record | None: ...

    # -- by document and provenance ----------------------------------------------------------------

    def chunks(self, uri: str, within: ChunkRange = ALL_CHUNKS) -> list[Resource]:
        chunks = self._records(
            self.SQL.fill("chunks", way="DESC" if within.last else "ASC"),
            uri=uri,
            after=within.after,
            before=_LAST_ORDINAL if within.before is None else within.before,
            now=self._now,
            limit=within.limit,
        )
        return chunks[::-1] if within.last else chunks

    def originating(self, source: str) -> list[Record]:
        found = self._records(self.SQL.originating, source=source, now=self._now)
        return [record for record in found if origin_of(record) == source]

    def referring(self, ids: Sequence[str]) -> list[Moment]:
        return self._records(self.SQL.referring_moments, ids=self._ids(ids))

    def children(self, id: str) -> list[str]:
        return [child for (child,) in self._fetch(self.SQL.children, id=id)]

    def parents(self, id: str) -> list[str]:
        return [parent for (parent,) in self._fetch(self.SQL.parents, id=id)]

    def premises(self, ids: Sequence[str]) -> list[Premise]:
        rows = self._fetch(self.SQL.premises, ids=self._ids(ids), now=now())
        return [
            Premise(*row) if other is None else premise_of(row[0], read_premise(other))
            for *row, other in rows
        ]

    def resting(
        self, ids: Sequence[str], keys: Sequence[str], *, category: str | None = None
    ) -> list[str]:
        values = {"ids": self._ids(ids), "keys": self._ids(keys), "category": category}
        return [id for (id,) in self._fetch(self.SQL.resting, **values)]

    # -- by name and time --------------------------------------------------------------------------

    def first_names(
        self, category: str, *, first: str, end: str, mark: str, limit: int
    ) -> list[tuple[str, str]]:
        values = {"first": first, "end": end, "mark": mark, "next": successor(mark)}
        return self._fetch(
            self.SQL.first_names, category=category, now=self._now, limit=limit, **values
        )

    def moments_between(self, start: datetime, end: datetime) -> list[Moment]:
        return self._records(self.SQL.moments_between, first=micros(start), last=micros(end))

    def expired(self, limit: int) -> list[Record]:
        rows = self._fetch(self.SQL.expired, now=now(), limit=limit)
        return list(map(self._reader(), map(self._decode, rows)))

    # -- rows --------------------------------------------------------------------------------------

    def _records(self, sql: str, **values: Any) -> list[Any]:
        return self._decode_all(self._fetch(sql, **values))

    def _decode_all(self, rows: Iterable[Any]) -> list[Any]:
        # all before any is read: definitions are read where the rows come from
        records = list(map(self._reader(), [self._decode(row) for row in rows]))
        show_parents(records, self._fetch_parents)
        return [record for record in records if self._is_there(record)]

    def _fetch_parents(self, ids: list[str]) -> list[Any]:
        return self._fetch(self.SQL.parents_of_all, ids=self._ids(ids))

    # -- what has expired --------------------------------------------------------------------------

    @property
    def _now(self) -> int:
        return BEFORE_ALL if self._expired else now()

    def _is_there(self, record: Record) -> bool:
        return record.expires_at is None or self._expired or not has_expired(record)


def name_of(record: Record, key: str) -> str:
    """Return that of the names of a record which has this key; its name if none has."""
    names = (getattr(record, "handle", record.name), record.name, *getattr(record, "aliases", ()))
    return next((name for name in names if labels.key(name) == key), record.name)
