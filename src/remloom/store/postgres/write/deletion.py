"""What a delete does inside its transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from ....kv import lost_ref
from ....model import Moment
from ...encoding import searchable_text
from ...results import Deletion
from ...rules.json_values import encode_free
from ...rules.premise_entries import PREMISE, lost_entries, returned
from ...rules.provenance import REFERRING
from ...rules.record_ids import with_ref, without_refs
from ..binary_arrays import ArrayColumn, columns
from ..indexes import bm25_index
from ..rows import SQL, decode
from . import kv
from .edge_writer import EdgeWriter
from .transaction import Transaction


def delete(writer: EdgeWriter, ids: Iterable[str], *, derived: bool) -> Deletion:
    """Remove records and everything that hangs on them. See `contract.Store.delete`."""
    requested = list(dict.fromkeys(ids))
    to_delete = _read(writer, requested)
    named = len(to_delete)
    if derived:
        _add_derived(writer, to_delete)
    # Entries may speak of records that are gone already.
    kv.delete_about(writer.cursor, list({*requested, *to_delete}))
    if not to_delete:
        return Deletion()
    deleted = list(to_delete)
    _remove_references(writer, deleted)
    texts = [
        (text_no, searchable_text(decode(*record)))
        for _, text_no, *record in to_delete.values()
        if text_no is not None
    ]
    if texts:
        bm25_index.remove(writer.cursor, texts)
    vectors = delete_vectors(writer, deleted)
    delete_token_vectors(writer, deleted)
    names_before = writer.removed_names
    keys = list(writer.delete_records(deleted))
    names = writer.removed_names - names_before
    edges = writer.delete_edges_at(keys)
    writer.give_back()
    return Deletion(tuple(deleted), vectors, names, edges, len(to_delete) - named)


def withdraw(writer: EdgeWriter, ids: Sequence[str]) -> None:
    """Remove records, but not what rests on them, which keeps that they are gone."""
    # before their provenance goes with them
    rows = [
        (child, kind, quoted, decode(*record))
        for child, kind, quoted, *record in writer.rows(SQL.resting_on, ids=ArrayColumn("t", ids))
    ]
    delete(writer, ids, derived=False)
    entries = lost_entries(rows, set(ids), datetime.now(UTC))
    kv.put(writer.cursor, entries)
    writer.has_premises = writer.has_premises or bool(entries)


def restore_premises(writer: EdgeWriter, ids: Sequence[str]) -> None:
    """Let what rests on these records rest on them again, if they are there after they were
    gone."""
    if not ids or not writer.has_premises:
        return
    back = returned(kv.entries_about(writer.cursor, PREMISE, map(lost_ref, ids)), ids)
    ends = {id for _, child, premise in back for id in (child, premise.id)}
    there = _read(writer, list(ends)) if back else {}
    back = [one for one in back if one[1] in there and one[2].id in there]
    if not back:
        return
    rows = [(child, premise.id, premise.kind, premise.said) for _, child, premise in back]
    kinds = {"child": "t", "parent": "t", "kind": "i", "digest": "q"}
    writer.run(SQL.insert_parents, **columns(kinds, rows))
    moments = {child: decode(*there[child][2:]) for _, child, one in back if one.kind == REFERRING}
    for _, child, premise in back:
        if child in moments:
            moments[child] = with_ref(moments[child], premise.id)
    for id, moment in moments.items():
        body = encode_free(replace(moment, revision=writer.next_revision()))
        writer.run(SQL.update_body, id=id, body=body)
    kv.put(writer.cursor, (), [(PREMISE, entry.key) for entry, *_ in back])


def delete_vectors(transaction: Transaction, ids: Sequence[str]) -> int:
    """Delete the vectors of records and take them off the queue; returns how many there were."""
    values = {"ids": ArrayColumn("t", ids)}
    transaction.run(SQL.dequeue, **values)
    return transaction.run(SQL.delete_vectors, **values)


def delete_token_vectors(transaction: Transaction, ids: Sequence[str]) -> None:
    """Delete the token vectors of records, and that making them failed."""
    values = {"ids": ArrayColumn("t", ids)}
    transaction.run(SQL.delete_token_vectors, **values)
    transaction.run(SQL.delete_token_failures, **values)


def _read(writer: EdgeWriter, ids: Sequence[str]) -> dict[str, Any]:
    """Read records by their ids: seq, the number of the text, and what `decode` needs."""
    rows = writer.rows(SQL.stored_records, ids=ArrayColumn("t", ids))
    return {id: row for id, *row in rows}


def _add_derived(writer: EdgeWriter, to_delete: dict[str, Any]) -> None:
    parents = list(to_delete)
    while parents:
        children = writer.rows(SQL.derived_ids, ids=ArrayColumn("t", parents))
        parents = [id for (id,) in children if id not in to_delete]
        if parents:
            to_delete |= _read(writer, parents)


def _remove_references(writer: EdgeWriter, deleted: Sequence[str]) -> None:
    for id, *row in writer.rows(SQL.referring_records, ids=ArrayColumn("t", deleted)):
        moment = decode(*row)
        if isinstance(moment, Moment):
            left = without_refs(moment, set(deleted))
            body = encode_free(replace(left, revision=writer.next_revision()))
            writer.run(SQL.update_body, id=id, body=body)
