"""Snapshots of indexes in the database, and the tombstones of what was deleted since.

A snapshot is a cache: one that is damaged, of another version, or older than the tombstones that
are kept, is made again from the records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from ..statements import SQL

if TYPE_CHECKING:
    import apsw


_PART = 16 * 1024 * 1024  # bytes of a snapshot in one row
# the latest tombstones, which stay for the indexes of other processes
_KEPT_TOMBSTONES = 10_000


class IndexSnapshot(Struct):
    """An index as it is stored."""

    data: bytes | bytearray
    last_tombstone: int  # the highest that it has applied
    model: int = 0


def read_snapshot(cursor: apsw.Cursor, kind: str) -> IndexSnapshot | None:
    """Read the snapshot of an index; None when there is none.

    It is put together part by part: it may be a hundred megabytes, and is held once.
    """
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
    """Store the snapshot of an index in place of the one before.

    Nothing is stored if something in it was erased meanwhile: it must not come back to disk. Nor if
    another process stored more of it.

    Args:
        last_number: the highest that the index has.
        size: how many it has.
        known_size: how many the one before had, when it was loaded or stored here; 0: it was none,
            or of no use.

    Returns: how many the stored snapshot has now; 0 if there is none.
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


def prune_tombstones(cursor: apsw.Cursor) -> None:
    """Drop the tombstones that every snapshot knows of, but for the latest: an index that is
    further behind, in another process, is loaded again. One at least stays, to tell how far that
    is.
    """
    cursor.execute(SQL.prune_tombstones, (_KEPT_TOMBSTONES,))


def last_pruned(cursor: apsw.Cursor) -> int:
    """Return the number up to which tombstones were dropped."""
    oldest = cursor.execute(SQL.oldest_tombstone).get
    return (oldest - 1) if oldest else 0
