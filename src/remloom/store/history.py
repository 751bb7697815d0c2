"""The past of entities: each change of one is stored, in the transaction that makes it, for `AS
OF`.

A change holds what it took away, so an entity as it was is made by going back from what it is.
Changes are key-value entries with the entity among their refs: they are copied with a tenant, and
forgotten with the entity. Of each entity the newest `KEPT` are kept. An export holds what is, not
what was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr, replace

from .. import labels
from ..errors import NotFoundError
from ..kv import Entry, KeyRange
from ..model import Entity, Record
from .contract import Reads, Store
from .encoding import micros, moment_of
from .rules.merge import keys_of, same_json
from .specs import MOST_WORDS

# namespace; the key is the id of the entity and the time, in microseconds since 1970
CHANGE = "entity.change"
# … of a label that an entity gave up; the key is that and the id of the entity
NAME = "entity.name"
# … of an entity that is called otherwise than before, or may be meant where another was that is
# gone, until `ingest.linking` has looked for it; the key is its id
RENAMED = "entity.renamed"
KEPT = 1_000  # changes of one entity
_MARK = "\x1f"  # between the parts of an id
_DIGITS = 20
_LONGEST = 200  # characters of a key in an id; a longer one is known by its hash
_PAGE = 50  # changes read at a time
_FIELDS = ("name", "type", "aliases", "summary", "thin")


class HistoryChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one change took away: the fields that it changed, and the properties, as they were
    before."""

    at: datetime
    number: int  # from 1, of this entity
    fields: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    added: tuple[str, ...] = ()  # properties that there were not


_decode = msgspec.json.Decoder(HistoryChange).decode


def change_prefix(id: str) -> tuple[str, str]:
    """Give the namespace and the prefix of the keys of the changes of an entity; the last is
    highest."""
    return CHANGE, id + _MARK


def change_entries(old: Entity, new: Entity, last: Entry | None) -> list[Entry]:
    """Make the entries for a change of an entity: the change, and the names given up.

    Args:
        last: the change before this one, as stored.
    """
    before = None if last is None else _decode(last.value)
    at = micros(new.updated_at) or 0
    if before is not None:
        at = max(at, (micros(before.at) or 0) + 1)
    was, now = old.properties, new.properties
    change = HistoryChange(
        at=moment_of(at) or datetime.now(UTC),
        number=before.number + 1 if before else 1,
        fields={
            name: getattr(old, name) for name in _FIELDS if getattr(old, name) != getattr(new, name)
        },
        properties={
            name: value
            for name, value in was.items()
            if name not in now or not same_json(now[name], value)
        },
        added=tuple(name for name in now if name not in was),
    )
    value = msgspec.json.encode(change)
    entries = [Entry(CHANGE, f"{new.id}{_MARK}{at:0{_DIGITS}}", value, refs=(new.id,))]
    if _called(old) != _called(new):
        entries.append(Entry(RENAMED, new.id, b"{}", refs=(new.id,)))
    lost = set(keys_of(old)) - set(keys_of(new))
    entries += [Entry(NAME, f"{_short(key)}{_MARK}{new.id}", b"{}", refs=(new.id,)) for key in lost]
    return entries


def uncovered_entries(reads: Reads, keys: Iterable[str], gone: Collection[str]) -> list[Entry]:
    """Entries of the entities that texts may name where they named something by these keys.

    Args:
        gone: ids of records that go with the keys.
    """
    runs: set[str] = set()
    for key in keys:
        words = key.split("-")
        for start in range(len(words)):
            ends = range(start + 1, min(start + MOST_WORDS, len(words)) + 1)
            runs.update("-".join(words[start:end]) for end in ends)
    found = reads.records.lookup(sorted(runs - {""}), edges=0) if runs else {}
    ids = {
        record.id
        for records in found.values()
        for record in records
        if isinstance(record, Entity) and not record.thin and record.id not in gone
    }
    return [Entry(RENAMED, id, b"{}", refs=(id,)) for id in sorted(ids)]


def _called(entity: Entity) -> tuple[object, ...]:
    """Return what decides which words of a text name an entity."""
    return entity.name, entity.aliases, entity.type, entity.is_extracted


def number(entry: Entry) -> int:
    """Which change of its entity it is, from 1."""
    return _decode(entry.value).number


def changes(store: Store, id: str) -> Iterator[HistoryChange]:
    """The changes of an entity that are kept, newest first."""
    kind, prefix = change_prefix(id)
    after = ""
    while entries := store.kv.list(
        kind, KeyRange(prefix=prefix, after=after, limit=_PAGE, newest_first=True)
    ):
        yield from (
            _decode(entry.value) for entry in entries if len(entry.key) == len(prefix) + _DIGITS
        )
        after = entries[-1].key


def entity_at(store: Store, entity: Entity, at: datetime) -> Entity | None:
    """An entity as it was; None when it was not there yet. Raises NotFoundError: what it was then
    is no longer kept."""
    if entity.updated_at is not None and entity.updated_at <= at:
        return entity
    if entity.created_at is not None and entity.created_at > at:
        return None
    since, oldest = entity.created_at, None
    for change in changes(store, entity.id):
        if change.at <= at:
            since, oldest = change.at, None
            break
        entity, oldest = _undone(entity, change), change
    if oldest is not None and oldest.number > 1:
        raise NotFoundError(
            f"what {entity.name!r} was before {oldest.at.isoformat()} is not kept any more",
            remedy=f"the last {KEPT:,} changes of an entity are: ask as of that time or later",
            id=entity.id,
        )
    return replace(entity, updated_at=since)


def list_changes(store: Store, entity: Entity) -> Iterator[dict[str, Any]]:
    """The changes of an entity that are kept, newest first: when, and each field and property from
    what to what."""
    for change in changes(store, entity.id):
        before = _undone(entity, change)
        fields = {
            name: _step(getattr(before, name), getattr(entity, name)) for name in change.fields
        }
        names = dict.fromkeys((*change.properties, *change.added))
        if names:
            was, now = before.properties, entity.properties
            fields["properties"] = {name: _step(was.get(name), now.get(name)) for name in names}
        yield {"at": change.at, "changed": fields}
        entity = before


def _step(before: Any, after: Any) -> dict[str, Any]:
    return {"from": before, "to": after}


def lookup_at(store: Store, keys: Sequence[str], at: datetime) -> dict[str, list[Record]]:
    """Look up what had these keys, as it was. Raises NotFoundError: see `entity_at`."""
    records_by_key = store.records.lookup(keys, as_of=at)
    for key, records in records_by_key.items():
        known_ids = {record.id for record in records}
        former = [
            entry.key.rpartition(_MARK)[2]
            for entry in store.kv.list(NAME, KeyRange(prefix=_short(key) + _MARK))
        ]
        for id in dict.fromkeys(former):
            record = None if id in known_ids else store.records.get("entities", id)
            if record is not None:
                # looked up by its name now, for its edges
                name_key = labels.key(record.name)
                namesakes = store.records.lookup([name_key], as_of=at)[name_key]
                records += [namesake for namesake in namesakes if namesake.id == id]
        past_records = [record_at(store, record, at) for record in records]
        records_by_key[key] = [
            past
            for past in past_records
            if past is not None and (not isinstance(past, Entity) or key in keys_of(past))
        ]
    return records_by_key


def record_at(store: Store, record: Record, at: datetime) -> Record | None:
    """A record as it was (of resources and moments only what is, is kept); None when it was not
    there yet. Raises NotFoundError: see `entity_at`."""
    if not isinstance(record, Entity):
        return record if record.created_at is None or record.created_at <= at else None
    past = entity_at(store, record, at)
    if past is not None and past is not record:
        force_setattr(past, "graph_paths", record.graph_paths)
    return past


def _undone(entity: Entity, change: HistoryChange) -> Entity:
    properties = {
        name: value for name, value in entity.properties.items() if name not in change.added
    }
    fields = dict(change.fields)
    if "aliases" in fields:
        fields["aliases"] = tuple(fields["aliases"])
    return replace(entity, properties={**properties, **change.properties}, **fields)


def _short(key: str) -> str:
    if len(key) <= _LONGEST:
        return key
    return f"{key[:_LONGEST]}{_MARK}{sha256(key.encode()).hexdigest()}"
