"""The state of one write: numbers it gives out, rows it gathers, tombstones it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..statements import SQL
from .index_snapshots import prune_tombstones

if TYPE_CHECKING:
    import apsw


# Numbers that were deleted, by index: names, terms, vectors; of token vectors, those of records.
Tombstones = dict[str, list[int]]
_PRUNED = 1_000  # tombstones between two looks at how many are still needed


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
        last_before: the highest number of a record before this write.
        rows: what `flush` writes. Statements that read these tables come after it.
        tombstones: what was deleted from each index.
    """

    def __init__(self, cursor: apsw.Cursor) -> None:
        self.cursor = cursor
        numbers = cursor.execute(SQL.numbers).get
        self.record_no, self.label_no, self.vector_no, self.text_no, self.tombstone_no = numbers
        self.last_before = self.record_no
        self._tombstones_before = self.tombstone_no
        self.rows = _Rows()
        self.tombstones: Tombstones = {}

    def leave_tombstone(self, kind: str, number: int) -> None:
        """Have every process drop what an index has under a number."""
        self.tombstone_no += 1
        self.tombstones.setdefault(kind, []).append(number)
        self.cursor.execute("INSERT INTO dead VALUES (?,?,?)", (self.tombstone_no, kind, number))

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
        numbers = (self.record_no, self.label_no, self.vector_no, self.text_no, self.tombstone_no)
        self.cursor.execute(SQL.store_numbers, numbers)
        if self.tombstone_no // _PRUNED != self._tombstones_before // _PRUNED:
            prune_tombstones(self.cursor)
