"""Records as they were: from what they are back over the changes that are kept (see changes.py).

A record as it was has the time in `updated_at` since which it said that. Where that lies behind the
time asked for, what it said then is not kept, and it is as near as is known (`is_written_after`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from .. import labels
from ..errors import NotFoundError
from ..kv import KeyRange
from ..model import Entity, Record, is_written_after
from .changes import DIGITS, KEPT, MARK, NAME, Change, decode, facts_of, free_name, prefix_of, short
from .contract import Store
from .rules.merge import keys_of

_PAGE = 50  # changes read at a time


def changes(store: Store, id: str) -> Iterator[Change]:
    """The changes of a record that are kept, newest first."""
    kind, prefix = prefix_of(id)
    after = ""
    while entries := store.kv.list(
        kind, KeyRange(prefix=prefix, after=after, limit=_PAGE, newest_first=True)
    ):
        yield from (
            decode(entry.value) for entry in entries if len(entry.key) == len(prefix) + DIGITS
        )
        after = entries[-1].key


def record_at(store: Store, record: Record, at: datetime) -> Record | None:
    """A record as it was; None when it was not there yet. Where what it said then is not kept, it
    is as it was as soon after that as is known."""
    past, since = record, record.updated_at
    first = True  # no change is known before what `past` is
    for change in changes(store, record.id):
        first = False
        if not change.made_this(past):
            break
        if change.at <= at:
            since = change.at
            break
        past, first = change.undo(past), change.number == 1
        since = change.since or (past.created_at if first else change.at)
    if past.created_at is not None and past.created_at > at:
        return None
    if first and isinstance(past, Entity):
        # who says of when a thing is says what it was
        since = past.created_at
    if past is record and (since is None or since <= at):
        return record
    return replace(past, updated_at=since)


def known_at(store: Store, record: Record, at: datetime) -> Record | None:
    """A record as it was; None when it was not there yet. Raises NotFoundError: what it was then is
    not kept."""
    past = record_at(store, record, at)
    if past is not None and is_written_after(past, at):
        raise NotFoundError(
            f"what {record.name!r} was before {past.updated_at} is not kept",
            remedy=f"at most the last {KEPT:,} changes are: ask as of that time or later",
            id=record.id,
        )
    return past


def former(store: Store, record: Record) -> Iterator[tuple[Change, Record]]:
    """The changes of a record that are kept, newest first, each with what it was before. It ends
    where one between is not kept."""
    for change in changes(store, record.id):
        if not change.made_this(record):
            return
        record = change.undo(record)
        yield change, record


def list_changes(store: Store, record: Record) -> Iterator[dict[str, Any]]:
    """The changes of a record that are kept, newest first: when, and each field and free value from
    what to what."""
    for change, before in former(store, record):
        was, is_now = facts_of(before), facts_of(record)
        fields = {name: _step(was[name], is_now[name]) for name in change.fields if name in was}
        names = dict.fromkeys((*change.properties, *change.added))
        if names:
            free = free_name(record)
            fields[free] = {
                name: _step(was[free].get(name), is_now[free].get(name)) for name in names
            }
        if fields:
            yield {"at": change.at, "changed": fields}
        record = before


def _step(before: Any, after: Any) -> dict[str, Any]:
    return {"from": before, "to": after}


def lookup_at(store: Store, keys: Sequence[str], at: datetime) -> dict[str, list[Record]]:
    """Look up what had these keys, as it was (see `record_at`)."""
    records_by_key = store.records.lookup(keys, as_of=at)
    for key, records in records_by_key.items():
        known_ids = {record.id for record in records}
        former = [
            entry.key.rpartition(MARK)[2]
            for entry in store.kv.list(NAME, KeyRange(prefix=short(key) + MARK))
        ]
        for id in dict.fromkeys(former):
            record = None if id in known_ids else store.records.get(None, id)
            if record is not None:
                # looked up by its name now, for its edges
                name_key = labels.key(record.name)
                namesakes = store.records.lookup([name_key], as_of=at)[name_key]
                records += [namesake for namesake in namesakes if namesake.id == id]
        past_records = [record_at(store, record, at) for record in records]
        records_by_key[key] = [
            past
            for past in past_records
            if past is not None
            and (key in keys_of(past) or (past.id in known_ids and is_written_after(past, at)))
        ]
    return records_by_key
