"""Labels and edges on their way into the tables, and the thin entities that stand for labels which
no record has.

A thin entity is called as an edge calls it. If that is not its label, it has two: its own, to which
edges lead, and the key of its name, which it only shows.

A label that is a record's handle means that record alone: whatever else is called so has none of
its edges (`names.total` is 0). A foreign key makes a handle of the label that it leads to.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import apsw
import msgspec

from ....model import Edge, EdgeKey, Record
from ...encoding import micros
from ...meanings import no_own_label
from ...rules.merge import thin_entity
from ..rows import SQL, row_of
from .write_session import WriteSession


class LabelWriter:
    """Finds, makes and releases labels in one write.

    Args:
        names: key -> name and type of the thin entity, should it need one.

    Attributes:
        new: labels made by this write.
        lost: labels that were a record's handle until this write.
        released: labels that records gave up; `release` is called for each at the end.
        thin_made: thin entities made so far.
    """

    def __init__(self, session: WriteSession, names: dict[str, tuple[str, str]]) -> None:
        self._session = session
        self._cursor: apsw.Cursor = session.cursor
        self._names = names
        self._numbers: dict[str, int] = {}
        self._absent: set[str] = set()  # keys that had no label when the write began
        self._only_shown: set[int] = set()  # made because a thin entity shows them
        self._taken: set[int] = set()  # by real records, so that no thin entity has them
        # labels that are handles since the last `flush`: of rows, and those of foreign keys
        self._handles: set[int] = set()
        self._claimed: set[int] = set()
        # labels that became handles in this write
        self._made_handles: set[int] = set()
        # names that records got since the last `flush`, which may be handles: label and record
        self._named: list[tuple[int, int]] = []
        # names that ceased to be those of records' edges: label and record
        self._displaced: set[tuple[int, int]] = set()
        self.new: set[int] = set()
        self.lost: set[int] = set()
        self.released: dict[int, None] = {}
        self.thin_made = 0

    # -- keys and numbers --------------------------------------------------------------------------

    def load(self, keys: set[str]) -> None:
        self._numbers.update(self._cursor.execute(SQL.label_nos, (json.dumps(list(keys)),)))
        self._absent = keys - self._numbers.keys()

    def find(self, key: str) -> int | None:
        """Return the number of a key, None when it has none yet."""
        label_no = self._numbers.get(key)
        if label_no is None and key not in self._absent:
            label_no = self._cursor.execute(SQL.label_no, (key,)).get
            if label_no is not None:
                self._numbers[key] = label_no
        return label_no

    def find_or_add(self, key: str) -> int:
        """Return the number of a key, which gets one when it has none yet."""
        label_no = self.find(key)
        if label_no is None:
            self._session.label_no += 1
            label_no = self._numbers[key] = self._session.label_no
            self._session.rows.labels.append((label_no, key))
            self.new.add(label_no)
        return label_no

    def edge_end(self, key: str) -> int:
        """Return the number of a label at an edge's end. One that no record has becomes that of a
        thin entity."""
        label_no = self._numbers.get(key)
        if label_no is None:
            label_no = self.find_or_add(key)
            if label_no in self.new:
                self._add_thin(label_no, key)
        elif label_no in self._only_shown:
            self._only_shown.discard(label_no)
            self._add_thin(label_no, key)
        return label_no

    # -- names of records --------------------------------------------------------------------------

    def add_name(
        self,
        label_no: int,
        record_no: int,
        rank: int,
        total: int,
        *,
        is_handle: bool,
        was_handle: bool,
        is_row: bool,
    ) -> None:
        """Give a record, which has so many labels, one of them. If it `was_handle` until it was
        taken for this, what else is called so had none of its edges and has none."""
        self._session.rows.names.append((label_no, record_no, rank, total, is_handle))
        if is_handle and was_handle:
            return
        if is_handle:
            (self._handles if is_row else self._claimed).add(label_no)
        elif label_no not in self.new or label_no in self._made_handles:
            self._named.append((label_no, record_no))

    def flush(self) -> None:
        """Write what was gathered so far, and give each label's edges to whom they belong."""
        self._session.flush()
        cursor = self._cursor
        yielded: set[tuple[int, int]] = set()
        if known := self._handles - self.new:
            yielded.update(cursor.execute(SQL.yield_handles, (json.dumps(list(known)),)))
        if handles := self._handles | self._claimed:
            self._made_handles |= handles
            hidden = cursor.execute(SQL.hide_names, (json.dumps(list(handles)),)).fetchall()
            self._displaced.update(set(hidden) - yielded)
        if self._named and cursor.execute(SQL.any_handle).get:
            cursor.executemany(SQL.hide_name, self._named)
        self._handles, self._claimed, self._named = set(), set(), []

    def displaced(self) -> dict[int, int]:
        """Return labels that became handles and were those of entities, each with another label of
        its entity, to which the edges there go: they were written for it."""
        found: dict[int, list[int | None]] = {}
        for label_no, record_no in self._displaced:
            if label_no in self.lost or record_no > self._session.last_before:
                continue
            for (other,) in self._cursor.execute(SQL.other_label, (record_no,)):
                found.setdefault(label_no, []).append(other)
        self._displaced.clear()
        # of several entities, nobody knows which
        single = {label_no: others[0] for label_no, others in found.items() if len(others) == 1}
        return {label_no: other for label_no, other in single.items() if other is not None}

    def claim(self, ends: dict[int, str]) -> None:
        """Make handles of labels, with their keys, at the ends of edges made from foreign keys. For
        one that no record has, a thin entity stands."""
        if not ends:
            return
        self.flush()
        free = self._cursor.execute(SQL.labels_without_handle, (json.dumps(list(ends)),)).fetchall()
        for (label_no,) in free:
            if not self._cursor.execute(SQL.make_handle, (label_no,)).fetchall():
                self._add_thin(label_no, ends[label_no], is_handle=True)
            self._claimed.add(label_no)
        self.flush()

    def give_back(self, label_no: int) -> None:
        """Give the records that a label names its edges, if it is not a handle any more."""
        if label_no in self.lost:
            self._cursor.execute(SQL.show_names, (label_no,))

    # -- thin entities -----------------------------------------------------------------------------

    def replace_thin(
        self, label_no: int, record_no: int, *, is_thin: bool, is_handle: bool
    ) -> None:
        """Remove the thin entity whose label another record has now, a real one unless it `is_thin`
        itself. What stands for a row is removed if the label `is_handle` of the record."""
        if is_handle:
            placeholders = self._cursor.execute(SQL.placeholders, (label_no, record_no)).fetchall()
            for (thin_no,) in placeholders:
                self._delete_thin(thin_no)
        if label_no in self._taken:
            return
        if not is_thin:
            self._taken.add(label_no)
        for (thin_no,) in self._cursor.execute(SQL.thin_owners, (label_no, record_no)).fetchall():
            self._delete_thin(thin_no)

    def drop_thin(self, label_no: int) -> None:
        """Remove the thin entities at this label that no edge is left to."""
        for (thin_no,) in self._cursor.execute(SQL.thin_without_edges, (label_no,)).fetchall():
            for other in self._delete_thin(thin_no):
                self.release(other)

    def release(self, label_no: int) -> None:
        """Decide what becomes of a label that a record gave up: it stays if another record has it,
        becomes that of a thin entity if it has edges, and is deleted otherwise."""
        cursor = self._cursor
        if cursor.execute("SELECT 1 FROM names WHERE lid = ? LIMIT 1", (label_no,)).get:
            self.give_back(label_no)
            return
        key = cursor.execute(SQL.label_key, (label_no,)).get
        if cursor.execute(SQL.has_edges, (label_no,)).get:
            self._add_thin(label_no, key)
            self.flush()
            return
        cursor.execute("DELETE FROM labels WHERE lid = ?", (label_no,))
        self._numbers.pop(key, None)
        self._session.leave_tombstone("names", label_no)

    def _add_thin(self, label_no: int, key: str, *, is_handle: bool = False) -> None:
        name, type = self._names.get(key, (key, ""))
        entity, keys = thin_entity(key, name, type, datetime.now(UTC))
        session = self._session
        session.record_no += 1
        self.thin_made += 1
        session.rows.records.append(
            row_of(entity, session.record_no, None, session.next_revision())
        )
        for rank, other in enumerate(keys):
            number = label_no
            if other != key:
                is_new = self.find(other) is None
                number = self.find_or_add(other)
                if is_new:
                    self._only_shown.add(number)
            is_own = is_handle and other == key
            session.rows.names.append((number, session.record_no, rank, len(keys), is_own))
            if other != key:
                self._named.append((number, session.record_no))

    def take_names(self, record_no: int) -> dict[int, bool]:
        """Take a record its labels; returns these, and whether each was its handle."""
        sql = "DELETE FROM names WHERE rid = ? RETURNING lid, handle"
        rows = self._cursor.execute(sql, (record_no,)).fetchall()
        self.lost.update(label_no for label_no, is_handle in rows if is_handle)
        return {label_no: bool(is_handle) for label_no, is_handle in rows}

    def _delete_thin(self, record_no: int) -> Collection[int]:
        label_nos = self.take_names(record_no)
        self._cursor.execute("DELETE FROM records WHERE rid = ?", (record_no,))
        self.released.update(dict.fromkeys(label_nos))
        return label_nos


class EdgeWriter:
    """Writes, moves and deletes edges in one write."""

    def __init__(self, session: WriteSession, labels: LabelWriter) -> None:
        self._session = session
        self._cursor: apsw.Cursor = session.cursor
        self._labels = labels

    def write(self, edges: Sequence[Edge], own: Mapping[int, tuple[int, Record]]) -> int:
        """Store edges, or merge them into those stored; returns how many there were.

        Args:
            own: position of an edge that a record was written with -> that record, by number.

        Raises:
            AmbiguousLabelError: such a record is only called as others are handled.
        """
        if not edges:
            return 0
        type_nos: dict[str, int] = {}
        rows: list[tuple[Any, ...]] = []
        claimed: dict[int, str] = {}
        for edge in edges:
            if edge.rel_type not in type_nos:
                type_nos[edge.rel_type] = self._type_no(edge.rel_type)
            row = self._row(edge, type_nos[edge.rel_type])
            rows.append(row)
            if edge.is_from_key:
                claimed[row[0]], claimed[row[2]] = edge.src, edge.dst
        self._labels.claim(claimed)
        self._labels.flush()
        if moved := self._labels.displaced():
            self.move(moved)
        if own and self._cursor.execute(SQL.any_handle).get:
            for position, (record_no, record) in own.items():
                src, *others = rows[position]
                rows[position] = (self._own_label(src, record_no, record), *others)
        self._mark_linked(rows)
        rows.sort(key=lambda row: row[:3])  # neighbours in the tree, written together
        self._cursor.executemany(SQL.add_edge, rows)
        return len(rows)

    def delete(self, edges: Sequence[EdgeKey]) -> set[int]:
        """Delete edges by their keys; returns the labels that were at their ends."""
        ends: set[int] = set()
        for edge in edges:
            ends.update(self._cursor.execute(SQL.delete_edge, edge).fetchone() or ())
        return ends

    def move(self, moved: Mapping[int, int]) -> None:
        """Let the edges at labels go over to other labels, all at once: two may change names."""
        # A type goes with the last of its edges, and these are away for a moment.
        self._cursor.execute("UPDATE rels SET edges = edges + 1")
        taken = self._cursor.execute(SQL.take_edges, (json.dumps(list(moved)),)).fetchall()
        rows = [
            (moved.get(src, src), type_no, moved.get(dst, dst), *values)
            for src, type_no, dst, *values in taken
        ]
        self._mark_linked(rows)
        self._cursor.executemany(SQL.add_edge, rows)
        self._cursor.execute("UPDATE rels SET edges = edges - 1")

    def _mark_linked(self, rows: Iterable[tuple[Any, ...]]) -> None:
        self._cursor.executemany(SQL.mark_linked, [(src,) for src in {row[0] for row in rows}])

    def _row(self, edge: Edge, type_no: int) -> tuple[Any, ...]:
        properties = msgspec.json.encode(edge.properties).decode() if edge.properties else None
        return (
            self._labels.edge_end(edge.src),
            type_no,
            self._labels.edge_end(edge.dst),
            edge.weight,
            micros(edge.created_at),
            micros(edge.valid_from),
            micros(edge.valid_to),
            properties,
        )

    def _own_label(self, label_no: int, record_no: int, record: Record) -> int:
        """Return a label of a record that is not the handle of another: this one, if it can be."""
        own = self._cursor.execute(SQL.own_label, (record_no, label_no)).get
        if own is None:
            raise no_own_label(record)
        return int(own)

    def _type_no(self, name: str) -> int:
        number = self._cursor.execute(SQL.edge_type_no, (name,)).get
        if number is None:
            sql = "INSERT INTO rels (name) VALUES (?) RETURNING rel"
            number = self._cursor.execute(sql, (name,)).get
        return int(number)
