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
from ..model import Entity, Record, Resource, is_written_after
from ..model.supersession import REPLACES, SUPERSEDED, superseded_of, without_mark
from .changes import (
    CHANGE,
    DIGITS,
    KEPT,
    MARK,
    NAME,
    Change,
    decode,
    facts_of,
    free_name,
    prefix_of,
    short,
)
from .contract import Store
from .encoding import micros
from .rules.merge import keys_of
from .specs import LOOKUP_EDGES

_PAGE = 50  # changes read at a time
_MANY = 1_000  # the same of all records
_MOST_READ = 100  # changes for each record that is wanted


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


def changed_after(store: Store, at: datetime, limit: int) -> tuple[list[str], bool]:
    """List the ids of records of which a change is kept that was made after a time, up to `limit`;
    and whether these are all. It reads a change for each that is kept, a hundred times `limit` of
    them at most."""
    time = micros(at) or 0
    found: dict[str, None] = {}
    after, left = "", _MOST_READ * limit
    while left > 0:
        entries = store.kv.list(CHANGE, KeyRange(after=after, limit=min(_MANY, left)))
        for entry in entries:
            id, _, digits = entry.key.rpartition(MARK)
            if int(digits) > time:
                found[id] = None
        if len(found) > limit or not entries:
            break
        after = entries[-1].key
        left -= len(entries)
    return list(found)[:limit], left > 0 and len(found) <= limit


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
    begun = _begun(store, past)
    if begun is not None and begun > at:
        return None
    if first and (isinstance(past, Entity) or begun != past.created_at):
        # who says of when a thing is says what it was
        since = begun
    mark = superseded_of(past)
    if isinstance(past, Resource) and mark and mark.reason == "changed" and at < mark.since:
        # said before it came
        past = without_mark(past, SUPERSEDED)
    if past is record and since == record.updated_at:
        return record
    return replace(past, updated_at=since)


def _begun(store: Store, record: Record) -> datetime | None:
    """Since when a record is there: what takes the place of another since then, as was said, but
    not before that one was."""
    places = []  # from newest to oldest: when a text was written, and since when it has its place
    seen = {record.id}  # marks are metadata, which anybody may write: in a circle, too
    while (place := _place_of(store, record)) is not None and place[0].id not in seen:
        places.append((record.created_at, place[1]))
        record = place[0]
        seen.add(record.id)
    begun = record.created_at
    for written, since in reversed(places):
        there = since if begun is None else max(since, begun)
        begun = there if written is None else min(there, written)
    return begun


def _place_of(store: Store, record: Record) -> tuple[Resource, datetime] | None:
    """The text that a record took the place of because that had changed, and since when."""
    older = record.metadata.get(REPLACES) if isinstance(record, Resource) else None
    replaced = store.records.get("resources", older) if isinstance(older, str) else None
    mark = None if replaced is None else superseded_of(replaced)
    if mark is None or mark.by != record.id or mark.reason != "changed":
        return None
    return (replaced, mark.since) if isinstance(replaced, Resource) else None


def is_replaced(record: Record, at: datetime) -> bool:
    """Whether another one had taken the place of a record at a time, as is known of it now."""
    mark = superseded_of(record)
    return mark is not None and at >= (mark.since if mark.reason == "changed" else mark.at)


def is_shown(record: Record, at: datetime | None) -> bool:
    """Whether a record is given at a time, or (None) now: nothing had taken its place then."""
    return superseded_of(record) is None if at is None else not is_replaced(record, at)


def retracted_at(store: Store, id: str, at: datetime) -> datetime | None:
    """When it was said, later than a time, that a record was wrong; None: it was not."""
    record = store.records.get(None, id)
    mark = None if record is None else superseded_of(record)
    return mark.at if mark is not None and mark.reason == "wrong" and mark.at > at else None


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


def lookup_at(
    store: Store,
    keys: Sequence[str],
    at: datetime,
    *,
    edges: int = LOOKUP_EDGES,
    limit: int | None = None,
    own: bool = False,
) -> dict[str, list[Record]]:
    """Look up what had these keys, as it was (see `record_at`). The options are those of
    `Records.lookup`; of what has a key now `limit` records are looked at."""
    records_by_key = store.records.lookup(keys, edges=edges, as_of=at, limit=limit, own=own)
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
                namesakes = store.records.lookup([name_key], edges=edges, as_of=at)[name_key]
                records += [namesake for namesake in namesakes if namesake.id == id]
        past_records = [record_at(store, record, at) for record in records if is_shown(record, at)]
        records_by_key[key] = [
            past
            for past in past_records
            if past is not None
            and is_shown(past, at)
            and (key in keys_of(past) or (past.id in known_ids and is_written_after(past, at)))
        ]
    return records_by_key
