"""Plans what a batch changes of the records that are stored: which are new, and what the others
become."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ....model import Entity, Record, Row
from ...batch import BatchRecord
from ...encoding import SCHEMAS, embedded_text, type_of
from ...rules.merge import Namesake, find_namesake, merge_record
from ..binary_arrays import ArrayColumn
from ..rows import SQL, decode, short
from .transaction import Transaction


class RecordChange(Struct, gc=False):
    """A record as it will be, and what is stored of it."""

    item: BatchRecord
    seq: int
    old: Record | None = None
    # of the old text, until the new one gets its number
    text_no: int | None = None

    @property
    def reworded(self) -> bool:
        """Whether what is to be embedded is no longer what it was."""
        return self.old is None or embedded_text(self.old) != embedded_text(self.item.record)


class RecordPlan(Struct):
    """What a batch changes of the records."""

    changes: dict[str, RecordChange] = field(default_factory=dict)  # by id
    ids: list[str] = field(default_factory=list)  # of each item: under which it is stored
    outcomes: list[str] = field(default_factory=list)  # of each: created, updated or unchanged
    # thin entities, by id, with their key that is among those of the items
    thin_keys: dict[str, str] = field(default_factory=dict)
    placeholders: set[str] = field(default_factory=set)  # of these, those that stand for rows


def plan_records(
    transaction: Transaction, items: Sequence[BatchRecord], at: datetime | None = None
) -> RecordPlan:
    """Plan what is to be written of these records: a later item changes what an earlier one
    makes."""
    planner = _Planner(transaction, items, at)
    for item in items:
        planner.add(item)
    return planner.plan


class _Planner:
    def __init__(
        self, transaction: Transaction, items: Sequence[BatchRecord], at: datetime | None
    ) -> None:
        self._transaction = transaction
        self._at = at
        self._namesakes: dict[str, list[Namesake]] = {}  # by key
        self._handles: dict[tuple[str, str], str] = {}  # schema and key of a row -> its id
        # id -> seq, number of the text, and what `decode` takes
        self._stored: dict[str, Any] = {}
        self.plan = RecordPlan()
        self._read_owners(items)
        self._read_stored(items)

    def _read_owners(self, items: Sequence[BatchRecord]) -> None:
        """Read whose keys these are: of resources and moments only thin ones, which they
        replace."""
        keys: dict[str, bool] = {}  # whether all of its records are read
        for item in items:
            joins = isinstance(item.record, Entity | Row)
            for key in map(short, item.keys):
                keys[key] = joins or keys.get(key, False)
        owners = self._transaction.rows(
            SQL.key_owners,
            keys=ArrayColumn("t", list(keys)),
            all=ArrayColumn("?", list(keys.values())),
        )
        for key, rank, has_others, is_handle, id, schema, type, thin in owners:
            # A thin entity with several keys only shows its name: its own are the others.
            own = rank > 0 or has_others is False
            if thin and own:
                self.plan.thin_keys[id] = key
                if is_handle:
                    self.plan.placeholders.add(id)
            if rank == 0 and schema not in SCHEMAS:
                self._handles[schema, key] = id
            if (rank == 0 or thin) and schema == "entities":
                namesake = Namesake(id, type, thin, own, thin and is_handle)
                self._namesakes.setdefault(key, []).append(namesake)

    def _read_stored(self, items: Sequence[BatchRecord]) -> None:
        ids = [item.record.id for item in items if not item.fresh]
        for item in items:
            ids += [namesake.id for namesake in self._namesakes_of(item)]
            ids += filter(None, [self._row_of_handle(item)])
        if ids:
            rows = self._transaction.rows(SQL.stored_records, ids=ArrayColumn("t", ids))
            self._stored = {id: row for id, *row in rows}

    def add(self, item: BatchRecord) -> None:
        namesakes = self._namesakes_of(item)
        twin = find_namesake(namesakes, type_of(item.record)) if namesakes else None
        if twin:
            record = replace(item.record, id=twin)
            item = replace(item, record=record, fresh=False)
        known = self._row_of_handle(item)
        if known and item.record.id not in self._stored and self._has_handle(known, item.record):
            item = replace(item, record=replace(item.record, id=known))
        id = item.record.id
        self.plan.ids.append(id)
        before = self._before(item)
        if before is None:
            self._transaction.seq += 1
            self.plan.changes[id] = RecordChange(item, self._transaction.seq)
            self.plan.outcomes.append("created")
            return
        updated = self._update(item, before)
        if updated is None:
            self.plan.outcomes.append("unchanged")
            return
        self.plan.changes[id] = RecordChange(updated, before.seq, before.old, before.text_no)
        self.plan.outcomes.append("updated")
        # Whatever of this name comes later meets the entity that it is now.
        now = Namesake(id, type_of(updated.record))
        namesakes[:] = [now if namesake.id == id else namesake for namesake in namesakes]

    def _namesakes_of(self, item: BatchRecord) -> list[Namesake]:
        """The entities that have the name of one which may be merged with them."""
        if not item.merge or not isinstance(item.record, Entity):
            return []
        return self._namesakes.get(short(item.keys[0]), [])

    def _row_of_handle(self, item: BatchRecord) -> str:
        """The id of the row that one without an id may be; empty when there is none."""
        if not item.merge or not isinstance(item.record, Row):
            return ""
        return self._handles.get((item.record.schema, short(item.keys[0])), "")

    def _has_handle(self, id: str, row: Record) -> bool:
        stored = decode(*self._stored[id][2:])
        return isinstance(stored, Row) and isinstance(row, Row) and stored.handle == row.handle

    def _before(self, item: BatchRecord) -> RecordChange | None:
        """What is planned, or else stored, of the record; None if it is new."""
        planned = self.plan.changes.get(item.record.id)
        stored = self._stored.get(item.record.id)
        if planned is not None or stored is None:
            return planned
        seq, text_no, *columns = stored
        return RecordChange(item, seq, decode(*columns), text_no)

    def _update(self, item: BatchRecord, before: RecordChange) -> BatchRecord | None:
        """The record as it will be; None when nothing changes."""
        planned = self.plan.changes.get(item.record.id)
        if planned is None:
            # There is no change yet, so what was before is what is stored.
            return None if before.old is None else merge_record(item, before.old, self._at)
        updated = merge_record(item, planned.item.record)
        if updated is None or updated.vectors:
            return updated
        # The vectors that came with the earlier item are still those of the text.
        if embedded_text(updated.record) == embedded_text(planned.item.record):
            updated = replace(updated, vectors=planned.item.vectors)
        return updated
