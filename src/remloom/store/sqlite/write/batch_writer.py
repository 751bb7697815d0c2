"""What a write does inside its transaction. The caller commits.

Invariants, which `check` verifies: every label has a record; every edge's ends are labels; a thin
entity has an edge; a vector, a queue entry and a parent belong to a record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import apsw
from msgspec.structs import force_setattr, replace

from ....kv import Entry, KeyRange
from ....model import Entity, Record, Resource, Row
from ... import changes
from ...batch import Batch, BatchRecord
from ...encoding import embedded_text, micros, now, origin, searchable_text, type_of
from ...results import Deletion, RestedOn, Written
from ...rules.merge import Namesake, find_namesake, keys_of, merge_record, same_handle
from ...rules.premise_entries import (
    PREMISE,
    lost_prefix,
    maybe_returned,
    outdated_keys,
    rests_anew,
)
from ...rules.provenance import DERIVED, parent_rows
from ...rules.record_ids import referred_ids
from ..rows import SQL, decode, encode, row_of
from . import kv
from .deletion import delete, delete_snapshots, restore_premises, withdraw
from .edge_writer import EdgeWriter, LabelWriter
from .write_session import Tombstones, WriteSession, check, register_model

_Outcome = Literal["created", "updated", "unchanged"]


def apply(cursor: apsw.Cursor, batch: Batch) -> Written:
    """Make a batch true. See `contract.Store.write`."""
    if batch.expected:
        check(cursor, batch.expected)
    # A copy is what was there, and what has expired there is erased in it as well.
    expired = () if batch.exact else _expired_among(cursor, batch)
    if batch.deleted or expired:
        delete(cursor, (*batch.deleted, *expired), derived=True, erase=False)
    if batch.withdrawn:
        withdraw(cursor, batch.withdrawn)
    model_no = 0
    if batch.dims or any(record.embed for record in batch.records):
        model_no = register_model(cursor, batch.model, batch.dims)
    session = WriteSession(cursor)
    written = _BatchWriter(session, batch, model_no).write()
    if batch.entries or batch.deleted_entries:
        kv.put(cursor, batch.entries, batch.deleted_entries)
    if session.has_premises or any(entry.namespace == PREMISE for entry in batch.entries):
        restore_premises(cursor, maybe_returned(batch, written.ids))
    return written


def rested_on(cursor: apsw.Cursor, ids: Sequence[str], keys: Sequence[str]) -> list[RestedOn]:
    """List what of records with some ids or keys something rests on. See `premises.telling`."""
    values = {"ids": json.dumps(ids), "keys": json.dumps(keys)}
    return [RestedOn(*row) for row in cursor.execute(SQL.rested_on, values).fetchall()]


def erase(cursor: apsw.Cursor, batch: Batch) -> tuple[Deletion, Tombstones]:
    """Make a batch true, and erase what it deletes. See `contract.Store.erase`."""
    if batch.expected:
        check(cursor, batch.expected)
    deletion, tombstones = delete(cursor, batch.deleted, derived=True, erase=False)
    apply(cursor, replace(batch, deleted=(), expected=None))
    delete_snapshots(cursor)
    return deletion, tombstones


def _expired_among(cursor: apsw.Cursor, batch: Batch) -> list[str]:
    """List the ids of the expired records that have an id or a key of what a batch writes."""
    at = now()
    if cursor.execute(SQL.last_expired, (at,)).get is None:
        return []
    keys = {key for item in batch.records for key in item.keys}
    keys.update(key for edge in batch.edges for key in (edge.src, edge.dst))
    ids = [item.record.id for item in batch.records]
    values = (json.dumps(ids), at, json.dumps(list(keys)), at)
    return [id for (id,) in cursor.execute(SQL.expired_among, values)]


def set_expiry(cursor: apsw.Cursor, ids: Iterable[str], at: datetime | None) -> int:
    """Let records expire at a time. See `contract.Store.set_expiry`."""
    known_ids = json.dumps(list(dict.fromkeys(ids)))
    rows = cursor.execute(SQL.expiring, (known_ids, now())).fetchall()
    session = WriteSession(cursor)
    changes = []
    for record_no, schema, body in rows:
        # long content is apart from the body, and stays as it is
        record = decode(schema, body, None)
        if record.expires_at != at:
            force_setattr(record, "expires_at", at)
            force_setattr(record, "revision", session.next_revision())
            changes.append((micros(at), encode(record)[0], record_no))
    cursor.executemany(SQL.set_expiry, changes)
    session.close()
    return len(rows)


class _BatchWriter:
    """One batch on its way into the tables."""

    def __init__(self, session: WriteSession, batch: Batch, model_no: int) -> None:
        self._session = session
        self._cursor: apsw.Cursor = session.cursor
        self._batch = batch
        self._model_no = model_no
        self._labels = LabelWriter(session, batch.names)
        self._edges = EdgeWriter(session, self._labels)
        # (label, record): renamed to it by this batch
        self._renamed_to: set[tuple[int, int]] = set()
        # labels from which this batch renamed a record
        self._renamed_from: set[int] = set()
        # label -> the one to which its edges follow their record
        self._moved: dict[int, int] = {}
        # ids of the batch that no stored record has
        self._absent: set[str] = set()
        # what is kept of records that changed: as they were, as they are, and its refs
        self._kept: list[tuple[Record, Record, Sequence[str]]] = []

    def write(self) -> Written:
        batch, labels = self._batch, self._labels
        unlinked = self._edges.delete(batch.deleted_edges)
        labels.load({key for item in batch.records for key in item.keys} | batch.names.keys())
        self._absent = self._absent_ids()
        counts = {"created": 0, "updated": 0, "unchanged": 0}
        ids: list[str] = []
        numbers: list[int] = []
        changed: list[tuple[int, BatchRecord]] = []
        for item in batch.records:
            id, record_no, outcome = self._write_record(item)
            ids.append(id)
            numbers.append(record_no)
            counts[outcome] += 1
            if outcome != "unchanged" or item.parents or item.premises:
                changed.append((record_no, item))
        labels.flush()
        # From here on all records of the batch are stored, under all of their labels.
        self._check_handles(changed)
        moved = self._moved if batch.exact else labels.displaced() | self._moved
        if moved:
            self._edges.move(moved)
        for label_no in labels.released:
            labels.release(label_no)
        self._keep_changes()
        self._add_parents(changed)
        self._drop_lost_premises([item for _, item in changed])
        own = {
            edge: (numbers[position], batch.records[position].record)
            for edge, position in batch.own_edges.items()
        }
        edges = self._edges.write(batch.edges, own)
        for label_no in unlinked:
            labels.drop_thin(label_no)
        self._session.close()
        return Written(
            tuple(ids),
            created=counts["created"],
            updated=counts["updated"],
            unchanged=counts["unchanged"],
            edges=edges,
            thin=labels.thin_made,
        )

    def _absent_ids(self) -> set[str]:
        ids = {item.record.id for item in self._batch.records if not item.fresh}
        if len(ids) < 2:  # looked up as it is written
            return set()
        ids.difference_update(
            id for (id,) in self._cursor.execute(SQL.stored_ids, (json.dumps(list(ids)),))
        )
        return ids

    def _add_parents(self, changed: Sequence[tuple[int, BatchRecord]]) -> None:
        new: list[tuple[Any, ...]] = []
        again: list[tuple[Any, ...]] = []
        for record_no, item in changed:
            rows = new if record_no > self._session.last_before else again
            rows += ((record_no, *row, id) for id, row in parent_rows(item).items())
        if new:
            self._cursor.executemany(SQL.add_new_parent, new)
        if again:
            self._cursor.executemany(SQL.add_parent, again)

    def _drop_lost_premises(self, items: Sequence[BatchRecord]) -> None:
        """Forget that a premise is gone where a record says anew what it rests on."""
        resting = {item.record.id: item for item in items if rests_anew(item)}
        if resting and self._session.has_premises:
            entries = kv.entries_about(self._cursor, PREMISE, resting)
            kv.put(self._cursor, (), outdated_keys(entries, resting))

    # -- records -----------------------------------------------------------------------------------

    def _write_record(self, item: BatchRecord) -> tuple[str, int, _Outcome]:
        if item.merge and (namesake := self._find_namesake(item)):
            item = replace(item, record=replace(item.record, id=namesake), fresh=False)
        id = item.record.id
        is_new = item.fresh or id in self._absent
        row = None if is_new else self._cursor.execute(SQL.stored_record, (id,)).get
        if row is None and item.merge and (known := self._find_handle(item)):
            item = replace(item, record=replace(item.record, id=known))
            id, row = known, self._cursor.execute(SQL.stored_record, (known,)).get
        if row is None:
            self._session.record_no += 1
            self._insert(item, self._session.record_no)
            self._absent.discard(id)
            return id, self._session.record_no, "created"
        record_no, schema, body, content, text_no = row
        stored = decode(schema, body, content)
        changed = merge_record(item, stored, self._batch.at)
        if changed is None:
            return id, record_no, "unchanged"
        is_kept = changes.is_kept(stored, changed.record, self._batch)
        refs = self._refs_of(stored, record_no) if is_kept else None
        self._update(changed, record_no, stored, text_no)
        old_key = keys_of(stored)[0]
        if not (item.merge or self._batch.exact) and old_key != changed.keys[0]:
            is_row = isinstance(changed.record, Row) and changed.record.is_identified
            self._rename(record_no, old_key, changed.keys[0], is_row=is_row)
        if refs is not None:
            self._kept.append((stored, changed.record, refs))
        return id, record_no, "updated"

    def _find_handle(self, item: BatchRecord) -> str | None:
        """Return the id of the stored row that this one without an id is."""
        if not isinstance(item.record, Row):
            return None
        other = self._same_handle(item, 0)
        return other.id if other is not None and other.handle == item.record.handle else None

    def _same_handle(self, item: BatchRecord, record_no: int) -> Row | None:
        """Return another stored row of the schema whose handle is the same label."""
        label_no = self._labels.find(item.keys[0])
        if label_no is None or label_no in self._labels.new:
            return None
        schema = item.record.schema
        body = self._cursor.execute(SQL.same_handle, (label_no, schema, record_no)).get
        return None if body is None else decode(schema, body, None)  # type: ignore[return-value]

    def _find_namesake(self, item: BatchRecord) -> str | None:
        """Return the id of the stored entity that this one without an id is."""
        if not isinstance(item.record, Entity):
            return None
        label_no = self._labels.find(item.keys[0])
        if label_no is None:
            return None
        namesakes = [
            Namesake(id, type, *map(bool, flags))
            for id, type, *flags in self._cursor.execute(SQL.namesakes, (label_no,)).fetchall()
        ]
        return find_namesake(namesakes, type_of(item.record))

    def _insert(
        self,
        item: BatchRecord,
        record_no: int,
        text_no: int | None = None,
        names: Mapping[int, bool] = {},
    ) -> None:
        """Gather the rows of a record; its text gets a number if it has none. Of the `names` it
        had, it keeps the handles unless it is a row."""
        record, session = item.record, self._session
        if text_no is None and item.text:
            session.text_no += 1
            text_no = session.text_no
        revision = record.revision if self._batch.exact else 0
        session.revision = max(session.revision, revision)
        row = row_of(record, record_no, text_no, revision or session.next_revision())
        session.rows.records.append(row)
        # The first of several keys of a thin entity it only shows: it takes that from nobody.
        is_thin = isinstance(record, Entity) and record.thin
        is_row = isinstance(record, Row) and record.is_identified
        shows_first = is_thin and len(item.keys) > 1
        for rank, key in enumerate(item.keys):
            labels = self._labels
            label_no = labels.find_or_add(key)
            was_handle = names.get(label_no, False)
            is_handle = rank == 0 if is_row else was_handle
            if label_no not in labels.new and not (shows_first and rank == 0):
                takes = is_handle and not was_handle
                labels.replace_thin(label_no, record_no, is_thin=is_thin, is_handle=takes)
            labels.add_name(
                label_no,
                record_no,
                rank,
                len(item.keys),
                is_handle=is_handle,
                was_handle=was_handle,
                is_row=is_row,
            )
        session.add_vectors(record_no, self._model_no, item.vectors)
        if item.embed:
            session.rows.pending.append((record_no,))

    def _update(
        self, item: BatchRecord, record_no: int, stored: Record, text_no: int | None
    ) -> None:
        session, cursor = self._session, self._cursor
        self._labels.flush()
        same_text = (searchable_text(stored), origin(stored)) == (item.text, origin(item.record))
        names = self._labels.take_names(record_no)
        cursor.execute("DELETE FROM records WHERE rid = ?", (record_no,))
        if not same_text and text_no is not None:
            session.leave_tombstone("terms", text_no)
        same_embedded = embedded_text(stored) == embedded_text(item.record)
        if not same_embedded:
            session.delete_token_vectors(record_no)
        if item.vectors or not same_embedded:
            session.delete_vectors(record_no)
        elif cursor.execute("SELECT 1 FROM vectors WHERE rid = ? LIMIT 1", (record_no,)).get:
            item = replace(item, embed=False)
        kept = DERIVED if item.parents is None else None
        cursor.execute(SQL.delete_parents, (record_no, kept))
        self._insert(item, record_no, text_no if same_text else None, names)
        self._labels.flush()
        self._labels.released.update(dict.fromkeys(names))

    def _check_handles(self, changed: Sequence[tuple[int, BatchRecord]]) -> None:
        """Refuse a row whose handle is that of another of its schema: edges would lead to both."""
        for record_no, item in changed:
            row = item.record
            if not isinstance(row, Row) or self._batch.exact:
                continue
            if (other := self._same_handle(item, record_no)) is not None:
                raise same_handle(row, other)

    def _rename(self, record_no: int, old_key: str, new_key: str, *, is_row: bool) -> None:
        """Let edges follow their record to its new name, unless another record had the old one, or
        has the new one for a handle."""
        old, new = self._labels.find_or_add(old_key), self._labels.find_or_add(new_key)
        values = (old, record_no, self._session.last_before)
        others = [other for (other,) in self._cursor.execute(SQL.others_named, values)]
        # Others that got the old name in this very batch have no claim to its edges.
        came_later = all((old, other) in self._renamed_to for other in others)
        is_handle = not is_row and self._cursor.execute(SQL.has_handle, (new,)).get
        if old not in self._renamed_from and came_later and not is_handle:
            self._moved[old] = new
        self._renamed_from.add(old)
        self._renamed_to.add((new, record_no))

    def _refs_of(self, stored: Record, record_no: int) -> tuple[str, ...] | None:
        """Return the refs of what is kept of a record; None: what it was made of is not there."""
        parents: list[str] = []
        lost = KeyRange(prefix=lost_prefix(stored.id), limit=1)
        if changes.is_made(stored) and kv.list_entries(self._cursor, PREMISE, lost):
            return None
        if isinstance(stored, Resource) and stored.generation:
            rows = self._cursor.execute(SQL.made_of, (record_no,)).fetchall()
            parents = [id for (id,) in rows]
            if not parents:
                return None
        referred = set(referred_ids(stored))
        if referred:
            there = self._cursor.execute(SQL.count_stored, (json.dumps(list(referred)),)).get
            if there < len(referred):
                return None
        return changes.refs_of(stored, parents)

    def _keep_changes(self) -> None:
        if not self._kept:
            return
        cursor = self._cursor
        prefixes = [changes.prefix_of(new.id)[1] for _, new, _ in self._kept]
        last = kv.last(cursor, changes.CHANGE, prefixes)
        entries: list[Entry] = []
        full: list[str] = []
        for (old, new, refs), prefix in zip(self._kept, prefixes, strict=True):
            made = changes.change_entries(old, new, last.get(prefix), refs=refs, at=self._batch.at)
            entries += made
            last[prefix] = made[0]  # two names may be of one entity
            if changes.number(made[0]) > changes.KEPT:
                full.append(prefix)
        kv.put(cursor, entries)
        for prefix in full:
            oldest = kv.list_entries(cursor, changes.CHANGE, KeyRange(prefix=prefix, limit=1))[0]
            kv.put(cursor, (), [(changes.CHANGE, oldest.key)])
