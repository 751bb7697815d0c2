"""One write: what it expects, numbers it gives out, rows it gathers, tombstones it leaves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw
import msgspec
from msgspec import Struct

from ...batch import Preconditions, Vector, changed
from ...encoding import next_revision, now
from ...rules.vector_validation import choose_model
from ..rows import SQL, edge_of

# Numbers that were deleted, by index: names, terms, vectors; of token vectors, those of records.
Tombstones = dict[str, list[int]]
_PRUNED = 1_000  # tombstones between two looks at how many are still needed
# the latest tombstones, which stay for the indexes of other processes
_KEPT_TOMBSTONES = 10_000


class _Rows(Struct):
    """Rows gathered for one INSERT a table."""

    labels: list[tuple[int, str]] = []
    records: list[tuple[Any, ...]] = []
    names: list[tuple[int, int, int, int, bool]] = []
    vectors: list[tuple[Any, ...]] = []
    pending: list[tuple[int]] = []


class WriteSession:
    """One batch or deletion on its way into the tables. The caller commits.

    Attributes:
        record_no, label_no, vector_no, text_no, tombstone_no: the highest numbers given out; none
            is ever given out twice.
        revision: the highest revision given to a record.
        has_premises: whether some record rests on what is no record (see `premise_entries`).
        last_before: the highest number of a record before this write.
        rows: what `flush` writes. Statements that read these tables come after it.
        tombstones: what was deleted from each index.
    """

    def __init__(self, cursor: apsw.Cursor) -> None:
        self.cursor = cursor
        numbers: list[int] = cursor.execute(SQL.numbers).get
        self.record_no, self.label_no, self.vector_no, *numbers = numbers
        self.text_no, self.tombstone_no, self.revision, has_premises = numbers
        self.has_premises = bool(has_premises)
        self.last_before = self.record_no
        self._tombstones_before = self.tombstone_no
        self.rows = _Rows()
        self.tombstones: Tombstones = {}

    def next_revision(self) -> int:
        """Give out a revision, for a record that is written."""
        self.revision = next_revision(self.revision)
        return self.revision

    def leave_tombstone(self, kind: str, number: int) -> None:
        """Have every process drop what an index has under a number."""
        self.tombstone_no += 1
        self.tombstones.setdefault(kind, []).append(number)
        self.cursor.execute("INSERT INTO dead VALUES (?,?,?)", (self.tombstone_no, kind, number))

    def add_vectors(self, record_no: int, model_no: int, windows: Iterable[Vector]) -> None:
        """Add the windows of a record to the rows that are to be written."""
        for window in windows:
            self.vector_no += 1
            numbers = (self.vector_no, record_no, model_no, window.start, window.end)
            self.rows.vectors.append((*numbers, window.digest or None, _as_float16(window.data)))

    def delete_vectors(self, record_no: int) -> int:
        """Delete the vectors of a record and take it off the queue; returns how many there were."""
        sql = "DELETE FROM vectors WHERE rid = ? RETURNING vid"
        deleted = self.cursor.execute(sql, (record_no,)).fetchall()
        for (vector_no,) in deleted:
            self.leave_tombstone("vectors", vector_no)
        self.cursor.execute("DELETE FROM pending WHERE rid = ?", (record_no,))
        return len(deleted)

    def delete_token_vectors(self, record_no: int) -> None:
        """Delete the token vectors of a record, and that making them failed."""
        if self.cursor.execute(SQL.delete_token_vectors, (record_no,)).fetchall():
            self.tombstones.setdefault("token_vectors", []).append(record_no)
        self.cursor.execute(SQL.delete_token_failures, (record_no,))

    def flush(self) -> None:
        """Write the rows gathered so far."""
        rows, many = self.rows, self.cursor.executemany
        if rows.labels:
            many(SQL.add_label, rows.labels)
        if rows.records:
            many(SQL.add_record, rows.records)
        if rows.names:
            many(SQL.add_name, rows.names)
        if rows.vectors:
            many(SQL.add_vector, rows.vectors)
        if rows.pending:
            many(SQL.queue_text, rows.pending)
        self.rows = _Rows()

    def close(self) -> None:
        """Store the numbers given out, and drop tombstones that nobody needs, now and then."""
        numbers = (
            self.record_no,
            self.label_no,
            self.vector_no,
            self.text_no,
            self.tombstone_no,
            self.revision,
        )
        self.cursor.execute(SQL.store_numbers, numbers)
        if self.tombstone_no // _PRUNED != self._tombstones_before // _PRUNED:
            prune_tombstones(self.cursor)


def prune_tombstones(cursor: apsw.Cursor) -> None:
    """Drop the tombstones that every snapshot knows of, but for the latest: an index of another
    process that is further behind is loaded again. One at least stays, to tell how far that is."""
    cursor.execute(SQL.prune_tombstones, (_KEPT_TOMBSTONES,))


def check(cursor: apsw.Cursor, expected: Preconditions) -> None:
    """Raise GoneError or ChangedError if something is not as expected."""
    if ids := expected.ids:
        rows = cursor.execute(SQL.revisions, (msgspec.json.encode(ids).decode(), now())).fetchall()
        expected.check_records(dict(rows))
    for triple, edge in expected.edges.items():
        row = cursor.execute(SQL.stored_edge, triple).fetchone()
        if (edge_of(row[0], row[1], row[2], row) if row else None) != edge:
            raise changed(f"the edge {' '.join(triple)!r}")
    for (namespace, key), version in expected.entries.items():
        stored = cursor.execute(SQL.entry_version, (namespace, key)).get or 0
        if stored != version:
            raise changed(f"the entry {namespace} {key!r}")


def register_model(cursor: apsw.Cursor, name: str, dims: int, *, current: bool = True) -> int:
    """Return the number of an embedder, registered with its dimension. See `choose_model`."""
    rows = cursor.execute(SQL.models).fetchall()
    number, is_new = choose_model(rows, name, dims, current=current)
    if is_new:
        cursor.execute("INSERT INTO models VALUES (?,?,?,?)", (number, name, dims, int(current)))
        if name and not rows and current:
            # what was written while there was no embedder was not queued
            cursor.execute(SQL.queue_without_vectors)
    return number


def _as_float16(data: bytes) -> bytes:
    import numpy as np

    return np.frombuffer(data, np.float32).astype(np.float16).tobytes()
