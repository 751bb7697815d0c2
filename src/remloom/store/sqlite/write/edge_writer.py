"""Edges on their way into the tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ....model import Edge, EdgeKey, Record
from ...encoding import micros
from ...meanings import no_own_label
from ..rows import SQL
from .label_writer import LabelWriter
from .write_session import WriteSession

if TYPE_CHECKING:
    import apsw


_NONE: Mapping[int, tuple[int, Record]] = {}


class EdgeWriter:
    """Writes, moves and deletes edges in one write."""

    def __init__(self, session: WriteSession, labels: LabelWriter) -> None:
        self._session = session
        self._cursor: apsw.Cursor = session.cursor
        self._labels = labels

    def write(self, edges: Sequence[Edge], own: Mapping[int, tuple[int, Record]] = _NONE) -> int:
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
