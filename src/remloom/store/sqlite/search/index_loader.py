"""Snapshots of indexes in the database; loading an index from one, and bringing it up to date.

A snapshot is a cache: one that is damaged, of another version, or older than the tombstones that
are kept, is made again from the records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import apsw
import msgspec
from msgspec import Struct

from ...encoding import BEFORE_ALL, searchable_text
from ..rows import SQL, decode
from ..write.write_session import prune_tombstones

_PART = 16 * 1024 * 1024  # bytes of a snapshot in one row
_FETCH = 5_000  # rows read at a time while catching up


class NewestNumbers(NamedTuple):
    """The highest numbers that the database has given out."""

    label_no: int
    vector_no: int
    text_no: int
    tombstone_no: int
    model: int | None  # that serves; None while the store has no vectors

    def of(self, kind: str) -> int:
        """The highest number of what an index of this kind has."""
        if kind == "names":
            return self.label_no
        return self.text_no if kind == "terms" else self.vector_no


class LoadedIndex(Struct):
    """An index in memory, and how much of the database it has seen."""

    index: Any  # None: the store has no vectors
    last_number: int
    last_tombstone: int
    model: int = 0
    saved_size: int = 0  # when the snapshot was stored; 0: it has none
    drops: int = 0  # of what was stored of it
    save_after: float = 0.0  # monotonic time, for the background
    newest: tuple[Any, ...] = ()  # numbers with which it was found to be current

    def size_to_save(self, kind: str) -> int:
        """How many a snapshot of it would have: of vectors, those that the graph has."""
        size = 0 if self.index is None else len(self.index)
        return size - self.index.tail_size if size and kind == "vectors" else size

    def is_current(self, kind: str, newest: NewestNumbers) -> bool:
        """Whether there is nothing in the database that it has not seen."""
        return (
            self.last_number == newest.of(kind)
            and self.last_tombstone == newest.tombstone_no
            and self.model == (newest.model or 0)
        )


class IndexSnapshot(Struct):
    """An index as it is stored."""

    data: bytes | bytearray
    last_tombstone: int  # the highest that it has applied
    model: int = 0


def read_snapshot(cursor: apsw.Cursor, kind: str) -> IndexSnapshot | None:
    """Read a snapshot, part by part: it may be a hundred megabytes, and is held once."""
    header = cursor.execute(SQL.snapshot_header, (kind,)).get
    if header is None:
        return None
    last_tombstone, description = header
    data = bytearray()
    for (part,) in cursor.execute(SQL.snapshot_parts, (kind,)):
        data += part
    # it is held from here on, and not read again
    cursor.connection.pragma("shrink_memory")
    model = msgspec.json.decode(description).get("model", 0)
    return IndexSnapshot(data, last_tombstone, model)


def write_snapshot(
    cursor: apsw.Cursor,
    kind: str,
    snapshot: IndexSnapshot,
    *,
    last_number: int,
    size: int,
    known_size: int = 0,
) -> int:
    """Store the snapshot of an index in place of the one before; returns how many it has now.

    Nothing is stored if something in it was erased meanwhile: it must not come back to disk. Nor if
    another process stored more of it.

    Args:
        last_number: the highest that the index has.
        size: how many it has.
        known_size: how many the one before had, when it was loaded or stored here; 0: none.
    """
    last_tombstone = snapshot.last_tombstone
    erased = cursor.execute(SQL.has_tombstone_after, (last_tombstone, kind)).get
    if erased or last_pruned(cursor) > last_tombstone:
        return 0
    stored = cursor.execute(SQL.snapshot_header, (kind,)).get
    if stored is not None and known_size and stored[0] >= last_tombstone:
        before = msgspec.json.decode(stored[1])
        if before.get("model") == snapshot.model and before.get("size", 0) > size:
            return int(before["size"])
    description = msgspec.json.encode({"model": snapshot.model, "size": size}).decode()
    cursor.execute(SQL.delete_snapshot, (kind,))
    for part, start in enumerate(range(0, len(snapshot.data), _PART)):
        data = snapshot.data[start : start + _PART]
        values = (kind, part, last_number, last_tombstone, description, data)
        cursor.execute(SQL.add_snapshot_part, values)
    prune_tombstones(cursor)
    return size


def last_pruned(cursor: apsw.Cursor) -> int:
    """Return the number up to which tombstones were dropped."""
    oldest = cursor.execute(SQL.oldest_tombstone).get
    return (oldest - 1) if oldest else 0


def load_index(
    kind: str, cursor: apsw.Cursor, tombstone_no: int, hnsw: dict[str, int]
) -> LoadedIndex:
    """Load an index from its snapshot; without one that can be used it begins empty."""
    if kind == "vectors":
        return _load_vectors(cursor, tombstone_no, hnsw)
    index_class = _index_class(kind)
    snapshot = read_snapshot(cursor, kind)
    if snapshot and last_pruned(cursor) <= snapshot.last_tombstone:
        try:
            index = index_class.load(snapshot.data)
        except ValueError:
            # another version or damaged: a cache is rebuilt, not repaired
            pass
        else:
            size = len(index)
            return LoadedIndex(index, index.last, snapshot.last_tombstone, saved_size=size)
    return LoadedIndex(index_class(), 0, tombstone_no)


def _load_vectors(cursor: apsw.Cursor, tombstone_no: int, hnsw: dict[str, int]) -> LoadedIndex:
    """Vectors come from their table; only the graph over them is in the snapshot."""
    current = cursor.execute(SQL.current_model).get
    if current is None:
        return LoadedIndex(None, 0, tombstone_no)
    from ...indexes.hnsw import VectorIndex

    model, _, dims = current
    loaded = LoadedIndex(VectorIndex(dims, **hnsw), 0, tombstone_no, model)
    _add_vectors(loaded, cursor)
    # they are held from here on, and not read again
    cursor.connection.pragma("shrink_memory")
    snapshot = read_snapshot(cursor, "vectors")
    if snapshot and snapshot.model == model:
        try:
            loaded.index.load_graph(snapshot.data)
        except ValueError:
            pass
        else:
            loaded.saved_size = loaded.size_to_save(kind="vectors")
    return loaded


def is_outdated(kind: str, loaded: LoadedIndex, cursor: apsw.Cursor, newest: NewestNumbers) -> bool:
    """Whether an index cannot catch up: tombstones are gone that it needs, or another model
    serves."""
    if loaded.last_tombstone < last_pruned(cursor):
        return True
    return kind == "vectors" and loaded.model != (newest.model or 0)


def catch_up(kind: str, loaded: LoadedIndex, cursor: apsw.Cursor, newest: NewestNumbers) -> None:
    """Remove from an index what was deleted since it last looked, and add what is new."""
    # A transaction that began earlier sees less than the index has: what it does not find is no
    # hit of its.
    if loaded.index is not None:
        if loaded.last_tombstone < newest.tombstone_no:
            deleted = cursor.execute(SQL.tombstones_after, (kind, loaded.last_tombstone)).fetchall()
            if deleted:
                loaded.index.remove([number for (number,) in deleted])
        if loaded.last_number < newest.of(kind):
            _ADD[kind](loaded, cursor)
    loaded.last_number = max(loaded.last_number, newest.of(kind))
    loaded.last_tombstone = max(loaded.last_tombstone, newest.tombstone_no)
    loaded.newest = newest


def _index_class(kind: str) -> Any:
    if kind == "names":
        from ...indexes.trigrams import NameIndex

        return NameIndex
    from ...indexes.bm25 import TermIndex

    return TermIndex


def _add_names(loaded: LoadedIndex, cursor: apsw.Cursor) -> None:
    rows = cursor.execute(SQL.labels_after, (loaded.last_number,)).fetchall()
    if rows:
        loaded.index.add([label_no for label_no, _ in rows], [key for _, key in rows])


def _add_terms(loaded: LoadedIndex, cursor: apsw.Cursor) -> None:
    def fetch() -> list[Any]:
        values = (loaded.last_number, BEFORE_ALL, _FETCH)
        rows: list[Any] = cursor.execute(SQL.texts_after, values).fetchall()
        return rows

    while rows := fetch():
        numbers = [text_no for text_no, *_ in rows]
        records = [decode(schema, body, content) for _, schema, body, content in rows]
        loaded.index.add(numbers, [searchable_text(record) for record in records])
        loaded.last_number = numbers[-1]


def _add_vectors(loaded: LoadedIndex, cursor: apsw.Cursor) -> None:
    import numpy as np

    while True:
        values = (loaded.last_number, loaded.model, _FETCH)
        rows = cursor.execute(SQL.vectors_after, values).fetchall()
        if not rows:
            return
        numbers = [vector_no for vector_no, _ in rows]
        vectors = np.frombuffer(b"".join(data for _, data in rows), np.float16)
        loaded.index.add(numbers, vectors.reshape(len(rows), -1))
        loaded.last_number = numbers[-1]


_ADD: dict[str, Callable[[LoadedIndex, Any], None]] = {
    "names": _add_names,
    "terms": _add_terms,
    "vectors": _add_vectors,
}
