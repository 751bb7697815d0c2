"""What a delete does inside its transaction. The caller commits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import apsw
from msgspec.structs import replace

from ....kv import lost_ref
from ....model import Moment
from ...results import Deletion
from ...rules.premise_entries import PREMISE, lost_entries, returned
from ...rules.provenance import REFERRING
from ...rules.record_ids import with_ref, without_refs
from ..rows import SQL, decode, encode
from . import kv
from .edge_writer import LabelWriter
from .write_session import Tombstones, WriteSession, prune_tombstones


def delete(
    cursor: apsw.Cursor, ids: Iterable[str], *, derived: bool, erase: bool
) -> tuple[Deletion, Tombstones]:
    """Remove records and everything that hangs on them. See `contract.Store.delete`."""
    session = WriteSession(cursor)
    labels = LabelWriter(session, {})
    named = list(ids)
    to_delete: dict[int, str] = {}  # ids by number
    for id in named:
        record_no = cursor.execute("SELECT rid FROM records WHERE id = ?", (id,)).get
        if record_no is not None:
            to_delete[record_no] = id
    requested = len(to_delete)
    if derived:
        _add_derived(cursor, to_delete)
    vectors = keys = 0
    label_nos: dict[int, None] = {}
    _delete_references(session, to_delete)
    for record_no in to_delete:
        text_no = cursor.execute("SELECT doc FROM records WHERE rid = ?", (record_no,)).get
        if text_no is not None:
            session.leave_tombstone("terms", text_no)
        vectors += session.delete_vectors(record_no)
        session.delete_token_vectors(record_no)
        own_labels = labels.take_names(record_no)
        cursor.execute("DELETE FROM records WHERE rid = ?", (record_no,))
        keys += len(own_labels)
        label_nos.update(dict.fromkeys(own_labels))
    # each label once, however many of these records had it
    edges = sum(_delete_label(session, labels, label_no) for label_no in label_nos)
    kv.delete_about(cursor, {*named, *to_delete.values()})
    session.close()
    if erase:
        delete_snapshots(cursor)
    deleted = tuple(to_delete.values())
    return Deletion(deleted, vectors, keys, edges, len(deleted) - requested), session.tombstones


def withdraw(cursor: apsw.Cursor, ids: Sequence[str]) -> None:
    """Remove records, but not what rests on them, which keeps that they are gone."""
    rows = [
        (child, kind, quoted, decode(*record))
        for child, kind, quoted, *record in cursor.execute(SQL.resting_on, (json.dumps(ids),))
    ]
    delete(cursor, ids, derived=False, erase=False)
    kv.put(cursor, lost_entries(rows, set(ids), datetime.now(UTC)))


def restore_premises(cursor: apsw.Cursor, ids: Sequence[str]) -> None:
    """Let what rests on these records rest on them again, if they are there after they were
    gone."""
    session = WriteSession(cursor)
    entries = kv.entries_about(cursor, PREMISE, map(lost_ref, ids))
    for entry, child, premise in returned(entries, ids):
        row = cursor.execute(SQL.record_by_id, (child,)).fetchone()
        is_there = cursor.execute(SQL.record_by_id, (premise.id,)).fetchone()
        if row is None or is_there is None:
            continue
        values = (row[0], premise.kind, premise.said, False, premise.id)
        cursor.execute(SQL.add_parent, values)
        if premise.kind == REFERRING:
            moment = with_ref(decode(*row[1:]), premise.id)
            body, _ = encode(replace(moment, revision=session.next_revision()))
            cursor.execute("UPDATE records SET body = ? WHERE rid = ?", (body, row[0]))
        kv.put(cursor, (), [(PREMISE, entry.key)])
    session.close()


def delete_snapshots(cursor: apsw.Cursor) -> None:
    """Remove the snapshots that hold what was deleted, and tombstones that no snapshot needs."""
    cursor.execute(SQL.delete_outdated_snapshots)
    prune_tombstones(cursor)


def _add_derived(cursor: apsw.Cursor, to_delete: dict[int, str]) -> None:
    queue = list(to_delete)
    while queue:
        for record_no, id in cursor.execute(SQL.children_nos, (queue.pop(),)).fetchall():
            if record_no not in to_delete:
                to_delete[record_no] = id
                queue.append(record_no)


def _delete_references(session: WriteSession, to_delete: dict[int, str]) -> None:
    """Take the records out of moments that refer to them, and out of the provenance."""
    cursor = session.cursor
    numbers = list(to_delete)
    # each moment once, however many of its records go
    moment_nos = {
        moment_no
        for record_no in numbers
        for (moment_no,) in cursor.execute(SQL.referring_nos, (record_no,))
    }
    ids = set(to_delete.values())
    for moment_no in sorted(moment_nos - to_delete.keys()):
        row = cursor.execute(SQL.body_by_no, (moment_no,)).fetchone()
        moment = decode(*row) if row else None
        if isinstance(moment, Moment):
            left = replace(without_refs(moment, ids), revision=session.next_revision())
            body, _ = encode(left)
            cursor.execute("UPDATE records SET body = ? WHERE rid = ?", (body, moment_no))
    cursor.executemany(
        "DELETE FROM parents WHERE parent = ?1 OR child = ?1", ((number,) for number in numbers)
    )


def _delete_label(session: WriteSession, labels: LabelWriter, label_no: int) -> int:
    """Remove a label that nothing has any more, its edges, and thin entities that are left without
    any; returns how many edges went. One that a thin entity only shows stays, without the edges:
    they were not that one's. So does one that was a handle, and that others are called by."""
    cursor = session.cursor
    is_owned = cursor.execute(SQL.is_owned, (label_no,)).get
    if is_owned and label_no in labels.lost:
        is_owned = cursor.execute(SQL.has_handle, (label_no,)).get or 0
    if is_owned:
        return 0
    others = {other for (other,) in cursor.execute(SQL.neighbour_labels, (label_no,))}
    edges = 0
    for end in ("src", "dst"):
        cursor.execute(f"DELETE FROM edges WHERE {end} = ?", (label_no,))
        edges += cursor.connection.changes()
    if is_owned is None:  # not even a thin entity shows it
        cursor.execute("DELETE FROM labels WHERE lid = ?", (label_no,))
        session.leave_tombstone("names", label_no)
    labels.give_back(label_no)
    for other in others - {label_no}:
        labels.drop_thin(other)
    return edges
