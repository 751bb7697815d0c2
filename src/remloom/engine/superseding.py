"""Superseding by word: what becomes of a text that a new one is said to replace, or to amend."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from .. import labels
from ..errors import ConflictError, InvalidInputError
from ..model import Entity, Record, Resource, Row
from ..model.premises import says
from ..model.supersession import (
    AMENDED,
    AMENDS,
    EARLIER,
    REPLACES,
    SUPERSEDED,
    Amended,
    Superseded,
    amended_of,
    before_replaced,
    superseded_of,
    without_mark,
)
from ..predicates import Eq, Query
from ..store.batch import Batch, BatchRecord, Replacing
from ..store.contract import Reads
from ..store.encoding import searchable_text
from ..store.forgetting.forget import Remade, RemovedRecords
from ..store.rules.provenance import parent_rows
from ..store.rules.replaced_entries import replaced_before, replaced_entry
from .fetching import find_by_id


def with_superseded(reads: Reads, batch: Batch) -> Batch:
    """Add to a batch what becomes of the older texts that its texts replace or amend.

    Raises:
        NotFoundError: there is no such text.
        InvalidInputError: it is no text, the new one itself, or written by the batch, too.
        ConflictError: it was replaced before, two texts of the batch replace it, or it replaces or
            amends the new one itself.
    """
    if not any(item.replacing for item in batch.records):
        return batch
    at = batch.at or datetime.now(UTC)
    written = {item.record.id for item in batch.records}
    older: dict[str, BatchRecord] = {}
    newer: list[BatchRecord] = []
    for item in batch.records:
        if item.replacing is None:
            newer.append(item)
            continue
        old = _older(reads, item, item.replacing)
        key = AMENDS if item.replacing.amends else REPLACES
        if _is_said_again(old, item):
            # who did not get the answer writes again; the mark of the first time stays
            newer.append(replace(_with_metadata(item, {key: old.id}), replacing=None))
            continue
        _check(reads, item.record, old, is_written=old.id in written, is_taken=old.id in older)
        older[old.id] = _marked(old, item.record.id, item.replacing, at)
        newer.append(replace(_with_metadata(item, {key: old.id}), replacing=None))
    count = len(batch.records)
    marks = ((item.record, superseded_of(item.record)) for item in older.values())
    entries = (
        replaced_entry(text, mark) for text, mark in marks if mark and isinstance(text, Resource)
    )
    return replace(
        batch,
        records=(*newer, *older.values()),
        entries=(*batch.entries, *entries),
        positions=batch.positions or tuple(range(count)),
    )


def with_former_premises(reads: Reads, batch: Batch) -> Batch:
    """Add to a batch what those texts said of which something is made although they were replaced:
    who made it read them before, so it is stale."""
    made_of = {item.record.id: ids for item in batch.records if (ids := _unquoted(item))}
    if not made_of:
        return batch
    written = {item.record.id: item.record for item in batch.records}
    stored = {id for ids in made_of.values() for id in ids} - written.keys()
    replaced = {*replaced_before(reads.kv, stored)}
    replaced.update(id for id, record in written.items() if superseded_of(record))

    def with_premises(item: BatchRecord) -> BatchRecord:
        ids = made_of.get(item.record.id, ())
        if replaced.isdisjoint(ids):
            return item
        # what a moment gives no premise of then was not said of it
        found = (written.get(id) or reads.records.get(None, id) for id in ids)
        said = {one.id: says(before_replaced(one)) for one in found if one is not None}
        return replace(item, premises={**item.premises, **said})

    return replace(batch, records=tuple(map(with_premises, batch.records)))


def still_hidden(item: BatchRecord, stored: Resource) -> BatchRecord:
    """Return a text that is read again as it is to be written: hidden, or marked, as it was."""
    record = item.record
    if not isinstance(record, Resource) or SUPERSEDED in record.metadata:
        return item
    kept = {key: stored.metadata[key] for key in (SUPERSEDED, AMENDED) if key in stored.metadata}
    if kept:
        item = _with_metadata(item, {**kept, **record.metadata})
    return _hidden(item) if superseded_of(stored) else item


def hidden_again(item: BatchRecord, mark: Superseded) -> BatchRecord:
    """Return a text that is back in its source as it is to be written: replaced, as it was."""
    record = item.record
    if not isinstance(record, Resource) or SUPERSEDED in record.metadata:
        return item
    said = replace(mark, content=record.content, context=record.context)
    return _hidden(_with_metadata(item, {SUPERSEDED: to_builtins(said)}))


def said_anew(record: Record, superseded: Superseded) -> ConflictError:
    """Make the error for a text that somebody writes although it was replaced."""
    return ConflictError(
        f"{record.name[:60]!r} was replaced by {superseded.by} ({superseded.reason})",
        remedy="bring it back by unreplace(id) (the tool `confirm`), or write what holds now under "
        "another id, in other words: with its date, say",
        id=record.id,
        by=superseded.by,
    )


def brought_back(reads: Reads, id: str) -> Iterator[Resource]:
    """Yield a text that was replaced or amended without that mark, and the newer one.

    Raises:
        NotFoundError: there is no such record.
        ConflictError: nothing replaced or amended it.
    """
    record = find_by_id(reads, id)
    found = record if isinstance(record, Resource) else None
    mark = found and (superseded_of(found) or amended_of(found))
    if found is None or not mark:
        raise ConflictError(
            f"nothing was said to replace or amend {record.name[:60]!r}",
            remedy="give the id of the older text: `history` shows it",
            id=record.id,
        )
    yield without_mark(found, SUPERSEDED if superseded_of(found) else AMENDED)
    newer = reads.records.get("resources", mark.by)
    key = REPLACES if superseded_of(found) else AMENDS
    if isinstance(newer, Resource) and newer.metadata.get(key) == found.id:
        yield without_mark(newer, key)


def unmark_amended(reads: Reads, removed: RemovedRecords) -> Remade:
    """What becomes of texts whose amendment goes: the one before amends them, or none. (What was
    replaced stays so: nobody said that it holds again.)"""
    records: list[Record] = []
    for record in removed.values():
        id = record.metadata.get(AMENDS) if isinstance(record, Resource) else None
        old = reads.records.get("resources", id) if isinstance(id, str) else None
        if not isinstance(old, Resource) or old.id in removed:
            continue
        if (amended := amended_of(old)) is None:
            continue
        ids = (*amended.earlier, amended.by)
        there = reads.records.of(ids)
        left = [one for one in ids if one not in removed and one in there]
        if left == list(ids):
            continue
        if not left and len(amended.earlier) >= EARLIER:
            left = _amendments(reads, old, removed)
        bare = without_mark(old, AMENDED)
        if left:
            mark = Amended(by=left[-1], at=amended.at, earlier=tuple(left[:-1]))
            bare = replace(bare, metadata={**bare.metadata, AMENDED: to_builtins(mark)})
        records.append(bare)
    return Remade(records=tuple(records))


def _amendments(reads: Reads, old: Resource, removed: RemovedRecords) -> list[str]:
    """The ids of all that amends a text, but what goes: it looks at every text."""
    of_it = Query().filter(Eq(f"metadata.{AMENDS}", old.id)).order_by("created_at")
    found = reads.records.query("resources", of_it)
    return [record.id for record in found if record.id not in removed][-EARLIER - 1 :]


# -- one of them -----------------------------------------------------------------------------------


def _unquoted(item: BatchRecord) -> list[str]:
    """The ids of what a record is made of that are to be taken as they are now."""
    return [id for id, (_, _, is_now) in parent_rows(item).items() if is_now]


def _older(reads: Reads, item: BatchRecord, replacing: Replacing) -> Resource:
    record = find_by_id(reads, replacing.id)
    if isinstance(record, Resource):
        return record
    what = "amended" if replacing.amends else "replaced"
    remedy = "write it again by its id, or forget it"
    if isinstance(record, Entity):
        remedy = "change it with update_entity, and end its edges by `valid_to`"
    elif isinstance(record, Row):
        remedy = "write the row again by its handle"
        if record.uri:
            remedy = f"change it in {record.uri.partition('/')[0]} and sync: that would restore it"
    raise InvalidInputError(
        f"{record.name[:60]!r} is a record of {record.schema}, and only texts are {what}",
        remedy=remedy,
        id=record.id,
        schema=record.schema,
    )


def _is_said_again(old: Resource, item: BatchRecord) -> bool:
    """Whether the same text has replaced it already, for the same reason."""
    mark = superseded_of(old)
    replacing = item.replacing
    return (
        mark is not None
        and replacing is not None
        and not replacing.amends
        and (mark.by, mark.reason) == (item.record.id, replacing.reason)
    )


def _check(reads: Reads, new: Record, old: Resource, *, is_written: bool, is_taken: bool) -> None:
    stored = reads.records.get("resources", new.id)
    if stored is not None and (superseded := superseded_of(stored)):
        raise said_anew(stored, superseded)
    if old.id == new.id:
        raise InvalidInputError(
            f"{old.name[:60]!r} would replace itself: it says that already",
            remedy="say it in other words; if it still holds, confirm it",
            id=old.id,
        )
    if is_written or is_taken:
        fault = "is written in this batch, too" if is_written else "is replaced twice in this batch"
        raise InvalidInputError(f"{old.name[:60]!r} {fault}", remedy="write one first", id=old.id)
    if (hidden := old.metadata.get(SUPERSEDED)) is not None:
        by = str(hidden.get("by", "")) if isinstance(hidden, dict) else ""
        is_there = reads.records.get(None, by) is not None
        raise ConflictError(
            f"{old.name[:60]!r} was replaced before, by {by}"
            f"{'' if is_there else ', which is gone'}",
            remedy="replace that one" if is_there else "take that back first: unreplace",
            id=old.id,
            by=by,
        )
    if old.id in _successors(reads, new.id):
        raise ConflictError(
            f"{old.name[:60]!r} replaces or amends {new.id} itself",
            remedy="write another text, without the id of an older one",
            id=old.id,
        )


def _successors(reads: Reads, id: str) -> set[str]:
    """The ids of what replaces and amends a stored record, and of what does so of these."""
    found: set[str] = set()
    waiting = [id]
    while waiting:
        record = reads.records.get("resources", waiting.pop())
        if record is None:
            continue
        superseded, amended = superseded_of(record), amended_of(record)
        ids = [superseded.by] if superseded else []
        ids += [amended.by, *amended.earlier] if amended else []
        waiting += [one for one in ids if one not in found]
        found.update(ids)
    return found


def _marked(old: Resource, by: str, replacing: Replacing, at: datetime) -> BatchRecord:
    """The older text as it will be: marked, and hidden if it is replaced."""
    mark: Superseded | Amended
    if replacing.amends:
        before = amended_of(old)
        earlier = (*before.earlier, before.by) if before else ()
        mark = Amended(by=by, at=at, earlier=earlier[-EARLIER:])
    else:
        mark = Superseded(
            by=by,
            reason=replacing.reason,
            since=replacing.since or at,
            at=at,
            content=old.content,
            context=old.context,
        )
    record = replace(old, updated_at=at, graph_paths=(), embedding=None)
    item = BatchRecord(record, (labels.key(old.name),), searchable_text(record))
    if isinstance(mark, Amended):
        return _with_metadata(item, {AMENDED: to_builtins(mark)})
    return _hidden(_with_metadata(item, {SUPERSEDED: to_builtins(mark)}))


def _hidden(item: BatchRecord) -> BatchRecord:
    """A record without its text, which no search finds then."""
    record = replace(item.record, content="", context="")
    return replace(item, record=record, text="", vectors=(), embed=False)


def _with_metadata(item: BatchRecord, values: dict[str, Any]) -> BatchRecord:
    record = item.record
    if not isinstance(record, Resource):
        return item
    metadata = {**record.metadata, **values}
    return replace(item, record=replace(record, metadata=metadata))
