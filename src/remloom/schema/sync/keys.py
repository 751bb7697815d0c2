"""Keys of a table's rows: labels that several would have, rows that are there, rows to delete."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import replace

from ... import labels
from ...errors import LabelError, SourceError
from ...model import Edge, Row
from ...store.contract import Store
from ...store.rules.merge import keys_of
from ...store.rules.row_rules import handle_of
from ...store.united import unites
from ..databases.contract import Database, Key, Table
from ..plan.planned import PlannedTable
from .rows import RowReader
from .uniting import is_apart
from .writer import SyncWriter

PAGE = 2_000  # rows that are read, and written, at once
KEYS = 10_000  # keys that are read at once
_DELETED = 500  # rows that one transaction deletes

_T = TypeVar("_T")
# of columns whose values are never one label although they differ
_DISTINCT_KINDS = ("integer", "boolean", "date", "datetime")


class SeenHandles:
    """Handles that were seen, as hashes of eight bytes: one of 10^13 others passes as seen."""

    def __init__(self) -> None:
        self._hashes = array("q")
        self._sorted: np.ndarray[Any, Any] | None = None

    def add(self, handle: str) -> None:
        self._hashes.append(hash(handle))
        self._sorted = None

    def extend(self, others: SeenHandles) -> None:
        self._hashes.extend(others._hashes)
        self._sorted = None

    def count(self) -> int:
        """Count the different ones."""
        found = self._in_order()
        return len(found) - int(np.equal(found[1:], found[:-1]).sum())

    def missing(self, handles: Sequence[str]) -> list[bool]:
        """Say of each handle whether it was not seen."""
        hashes = np.fromiter(map(hash, handles), dtype=np.int64, count=len(handles))
        return [not is_there for is_there in self._has(hashes)]

    def count_missing(self, others: SeenHandles) -> int:
        """Count those of others that were not seen here."""
        there = np.frombuffer(others._hashes, dtype=np.int64)
        return int(len(there) - self._has(there).sum())

    def repeated(self) -> set[int]:
        """Give the hashes of those that were seen more than once."""
        found = self._in_order()
        return set(found[1:][found[1:] == found[:-1]].tolist())

    def _has(self, hashes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        there = self._in_order()
        if not len(there):
            return np.zeros(len(hashes), dtype=bool)
        positions = np.minimum(np.searchsorted(there, hashes), len(there) - 1)
        found: np.ndarray[Any, Any] = there[positions] == hashes
        return found

    def _in_order(self) -> np.ndarray[Any, Any]:
        if self._sorted is None:
            # a copy: while an array is looked into it cannot grow
            self._sorted = np.sort(np.array(self._hashes, dtype=np.int64))
        return self._sorted


def pieces(items: Iterable[_T], size: int = PAGE) -> Iterator[list[_T]]:
    """Yield the items in lists of so many."""
    rest = iter(items)
    while piece := list(islice(rest, size)):
        yield piece


def pages(
    database: Database,
    table: Table,
    columns: Sequence[str],
    size: int = PAGE,
    *,
    after: Key | None = None,
) -> Iterator[list[tuple[Any, ...]]]:
    """Read columns of a table page by page, in the order of its key, behind the key `after`."""
    # each column once: a key is mostly among them
    read_columns = tuple(dict.fromkeys((*columns, *table.primary_key)))
    positions = [read_columns.index(name) for name in columns]
    key = [read_columns.index(name) for name in table.primary_key]
    is_whole = read_columns == tuple(columns)
    count = 0
    while rows := database.rows(table, read_columns, after=after, limit=size):
        yield rows if is_whole else [tuple([row[at] for at in positions]) for row in rows]
        count += len(rows)
        if len(rows) < size:
            return
        last = rows[-1]
        before, after = after, tuple([last[position] for position in key]) if key else (count,)
        if after == before:
            # the loop would not end
            raise SourceError(f"the keys of {table.name} cannot be told apart: {after}"[:300])


def find_shared_labels(database: Database, table: Table, planned: PlannedTable) -> frozenset[str]:
    """Find the labels that several rows would have: of keys like "aB" and "Ab"."""
    kinds = {column.name: column.kind for column in table.columns}
    if all(kinds[column] in _DISTINCT_KINDS for column in planned.key):
        return frozenset()
    name = partial(handle_of, planned.entity_type)
    repeated = _repeated(_labels(database, table, planned.key, name))
    if not repeated:
        return frozenset()
    again = _labels(database, table, planned.key, name)
    return frozenset(label for label in again if hash(label) in repeated)


def find_repeated_keys(database: Database, table: Table, reader: RowReader) -> set[int]:
    """Find the hashes of the labels that several rows would have, unless a constraint keeps the key
    of the table unique."""
    key = reader.table.key
    constraints = (table.primary_key, *table.unique)
    if not key or any(columns and set(columns) <= set(key) for columns in constraints):
        return set()
    return _repeated(_labels(database, table, key, reader.handles.of))


def _repeated(found: Iterable[str]) -> set[int]:
    seen = SeenHandles()
    for label in found:
        seen.add(label)
    return seen.repeated()


def _labels(
    database: Database, table: Table, columns: Sequence[str], name: Callable[[Key], str]
) -> Iterator[str]:
    for page in pages(database, table, columns, KEYS):
        for key in page:
            if None in key:
                continue
            try:
                yield labels.key(name(key))
            except LabelError:
                # such a row is refused when it is read
                continue


# -- deletion --------------------------------------------------------------------------------------


def delete_gone_rows(writer: SyncWriter, reader: RowReader, seen: SeenHandles) -> int:
    """Delete the rows of a table whose handles were not seen; returns how many.

    Edges that unchanged rows have to them are written again with the deletion, to what then has the
    label: these rows would not write them again.
    """
    gone = [row.id for _, missing in seen_rows(writer.store, reader, seen) for row in missing]
    for ids in pieces(gone, _DELETED):
        writer.repeat(partial(_delete_those, writer, reader, ids))
    return len(gone)


def _delete_those(writer: SyncWriter, reader: RowReader, ids: Sequence[str]) -> None:
    found = [writer.store.records.get(reader.table.schema_name, id) for id in ids]
    delete_rows(writer, reader, [row for row in found if isinstance(row, Row)])


def seen_rows(
    store: Store, reader: RowReader, seen: SeenHandles
) -> Iterator[tuple[list[Row], list[Row]]]:
    """Yield the stored rows of a table, page by page: those that were seen, and the others."""
    rows = (
        row
        for row in store.records.all(reader.table.schema_name)
        if isinstance(row, Row) and row.uri == reader.uri
    )
    for some in pieces(rows):
        missing = seen.missing([row.handle for row in some])
        pairs = list(zip(some, missing, strict=True))
        there = [row for row, is_missing in pairs if not is_missing]
        yield there, [row for row, is_missing in pairs if is_missing]


def delete_rows(writer: SyncWriter, reader: RowReader, rows: Sequence[Row]) -> None:
    """Delete rows of a table, and write again what others say of them."""
    handles = {labels.key(row.handle): row.handle for row in rows}
    keys = {key for row in rows for key in keys_of(row)}
    kept: list[Edge] = []
    unlinked = []
    for edge in writer.store.graph.stored_edges(sorted(keys), direction="both"):
        is_synced = edge.is_from_key
        if (unites(edge) and not is_apart(edge)) or (is_synced and reader.says(edge, handles)):
            unlinked.append(edge.key)
        elif edge.dst in keys or is_synced or unites(edge):
            kept.append(_without_name(edge, handles))
    writer.delete([row.id for row in rows], kept, unlinked)
    writer.look_again(rows)


def _without_name(edge: Edge, handles: dict[str, str]) -> Edge:
    """The edge as it is written when its target does not exist."""
    if not edge.is_from_key:
        return edge
    src, dst = handles.get(edge.src, edge.src), edge.dst
    if dst not in handles:
        return replace(edge, src=src)
    properties = {key: value for key, value in edge.properties.items() if key != "dst_name"}
    return replace(edge, src=src, dst=handles[dst], properties=properties)
