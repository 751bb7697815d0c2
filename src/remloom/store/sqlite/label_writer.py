"""Labels on their way into the tables, and the thin entities that stand for those which no record
has.

A thin entity is called as an edge calls it. If that is not its label, it has two: its own, to which
edges lead, and the key of its name, which it only shows.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..merge import thin_entity
from .rows import row_of
from .statements import SQL
from .write_session import WriteSession

if TYPE_CHECKING:
    import apsw

__all__ = ["LabelWriter"]


class LabelWriter:
    """Finds, makes and releases labels in one write.

    Args:
        names: key -> name and type of the thin entity, should it need one.

    Attributes:
        new: labels made by this write.
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
        self.new: set[int] = set()
        self.released: dict[int, None] = {}
        self.thin_made = 0

    # -- keys and numbers --------------------------------------------------------------------------

    def load(self, keys: set[str]) -> None:
        """Look for the labels of a whole batch at once."""
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
        """Return the number of a key, which is given one when it has none yet."""
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

    # -- thin entities -----------------------------------------------------------------------------

    def replace_thin(self, label_no: int, record_no: int, *, is_thin: bool) -> None:
        """Remove the thin entity whose label another record has now, a real one unless it `is_thin`
        itself."""
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
        """Decide what becomes of a label that a record gave up.

        It stays if another record has it, becomes that of a thin entity if it has edges, and is
        deleted otherwise.
        """
        cursor = self._cursor
        if cursor.execute("SELECT 1 FROM names WHERE lid = ? LIMIT 1", (label_no,)).get:
            return
        key = cursor.execute(SQL.label_key, (label_no,)).get
        if cursor.execute(SQL.has_edges, (label_no,)).get:
            self._add_thin(label_no, key)
            self._session.flush()
            return
        cursor.execute("DELETE FROM labels WHERE lid = ?", (label_no,))
        self._numbers.pop(key, None)
        self._session.leave_tombstone("names", label_no)

    def _add_thin(self, label_no: int, key: str) -> None:
        name, type = self._names.get(key, (key, ""))
        entity, keys = thin_entity(key, name, type, datetime.now(UTC))
        session = self._session
        session.record_no += 1
        self.thin_made += 1
        session.rows.records.append(row_of(entity, session.record_no, None))
        for rank, other in enumerate(keys):
            number = label_no
            if other != key:
                is_new = self.find(other) is None
                number = self.find_or_add(other)
                if is_new:
                    self._only_shown.add(number)
            session.rows.names.append((number, session.record_no, rank, len(keys)))

    def _delete_thin(self, record_no: int) -> list[int]:
        """Remove a thin entity; returns its labels, which are to be released."""
        rows = self._cursor.execute("DELETE FROM names WHERE rid = ? RETURNING lid", (record_no,))
        label_nos = [label_no for (label_no,) in rows.fetchall()]
        self._cursor.execute("DELETE FROM records WHERE rid = ?", (record_no,))
        self.released.update(dict.fromkeys(label_nos))
        return label_nos
