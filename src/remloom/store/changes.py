"""Changes of records: each is kept, in the transaction that makes it, for `AS OF` (see as_of.py).

A change holds what it took away, so a record as it was is made by going back from what it is.
Changes are key-value entries with the record among their refs, and what the former text was made
of: they are copied with a tenant, and forgotten with any of these. Of each record the newest `KEPT`
are kept. Nothing is kept of what reading replaces, nor of an expiry. An export holds what is, not
what was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import cache
from hashlib import blake2b, sha256
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr

from .. import labels
from ..kv import Entry, KeyRange, label_ref, remade_ref
from ..model import Entity, Moment, Record, Resource, Row
from ..model.premises import canonical
from ..model.supersession import MARKS
from .batch import Batch
from .contract import Reads
from .encoding import micros, moment_of, now
from .rules.merge import keys_of, same_json
from .rules.record_ids import content_hash, referred_ids
from .specs import MOST_WORDS

# namespace (entities were the first that had changes); the key is the id of the record and the
# time, in microseconds since 1970
CHANGE = "entity.change"
# … of a label that a record gave up; the key is that and the id of the record
NAME = "entity.name"
# … of an entity that is called otherwise than before, or may be meant where another was that is
# gone, until `ingest.linking` has looked for it; the key is its id
RENAMED = "entity.renamed"
KEPT = 1_000  # changes of one record
MARK = "\x1f"  # between the parts of an id
DIGITS = 20  # of a time in a key
_LONGEST = 200  # characters of a key in an id; a longer one is known by its hash
# what a change says nothing of: it is not what the record says, or is stored apart
_UNSAID = frozenset(
    ("id", "schema", "revision", "created_at", "updated_at", "expires_at", "embedding")
) | {"content_hash", "graph_paths", "parents", "premises", "replaces", "amends", "reason", "since"}
# … and what stays as it is on the way back
_KEPT_ALONG = ("id", "graph_paths", "created_at", "updated_at", "expires_at", "parents", "premises")
_PLAIN = frozenset((str, int, bool, type(None)))
_NAMING = frozenset(("name", "aliases", "handle"))  # fields that make the keys of a record
_MARKS = frozenset(MARKS)
# reading makes these of the texts around a chunk
_AROUND = ("context", "related_entities")
_HEADING = "heading"
_encode = msgspec.json.Encoder(order="deterministic").encode


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one change took away: the fields that it changed, and the free values (see `free_name`),
    as they were before, as JSON-ready values."""

    at: datetime
    number: int  # from 1, of this record
    fields: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    added: tuple[str, ...] = ()  # free values that there were not
    since: datetime | None = None  # when what it took away was written; None: of before that was
    # digest of what it made, to know it again: a change between may be forgotten. 0: not known
    made: int = 0

    def undo(self, record: Record) -> Record:
        """Return the record as it was before, without its times."""
        free = free_name(record)
        values = {
            name: value for name, value in getattr(record, free).items() if name not in self.added
        }
        facts = {**facts_of(record), **self.fields, free: {**values, **self.properties}}
        if isinstance(record, Row):
            facts["schema_name"] = record.schema
        before: Record = msgspec.convert(
            {**facts, "schema": type(record).__struct_config__.tag}, type(record)
        )
        for name in _KEPT_ALONG:
            if hasattr(record, name) and name not in self.fields:
                force_setattr(before, name, getattr(record, name))
        if isinstance(before, Resource):
            force_setattr(before, "content_hash", content_hash(before.content))
        return before

    def made_this(self, record: Record) -> bool:
        """Whether a record is what this made of it, as far as it is known."""
        return not self.made or self.made == _digest(facts_of(record))


decode = msgspec.json.Decoder(Change).decode


def free_name(record: Record) -> str:
    """Return the field whose values are of no type of ours, and change one by one."""
    if isinstance(record, Row):
        return "fields"
    return "properties" if isinstance(record, Entity) else "metadata"


def facts_of(record: Record) -> dict[str, Any]:
    """Return what is kept of a record, by field, as JSON-ready values."""
    facts = {}
    for name in _said_fields(type(record)):
        value = getattr(record, name)
        is_plain = type(value) in _PLAIN or not value
        facts[name] = value if is_plain else msgspec.to_builtins(value)
    if isinstance(record, Resource) and record.is_chunk:
        for name in _AROUND:
            del facts[name]
        facts["metadata"].pop(_HEADING, None)
    return facts


@cache
def _said_fields(kind: type[Record]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if name not in _UNSAID)


def prefix_of(id: str) -> tuple[str, str]:
    """Give the namespace and the prefix of the keys of the changes of a record; the last is
    highest."""
    return CHANGE, id + MARK


def is_kept(old: Record, new: Record, batch: Batch) -> bool:
    """Whether the change of a stored record is kept: not that of what reading made of a source
    before, nor of what is only known around a chunk."""
    if batch.exact or type(old) is not type(new):
        return False
    if batch.read and isinstance(old, Resource | Moment):
        # that another one takes its place is said, whatever it was read from
        is_said = old.metadata.keys() & _MARKS != new.metadata.keys() & _MARKS  # type: ignore[union-attr]
        return is_said or (isinstance(old, Resource) and not old.is_chunk)
    if not isinstance(old, Resource) or not isinstance(new, Resource) or not old.is_chunk:
        return True
    return old.content != new.content or facts_of(old) != facts_of(new)


def is_made(record: Record) -> bool:
    """Whether it may have been made of other records."""
    if isinstance(record, Resource):
        return record.generation > 0
    return isinstance(record, Moment)


def refs_of(old: Record, parents: Iterable[str]) -> tuple[str, ...]:
    """Return the refs of what is kept of a record: its id, and, of a text, what that was made of.

    Args:
        parents: ids of what it was derived from.
    """
    if isinstance(old, Entity):
        return (old.id,)
    return tuple(dict.fromkeys((old.id, remade_ref(old.id), *parents, *referred_ids(old))))


def change_entries(
    old: Record, new: Record, last: Entry | None, *, refs: Sequence[str], at: datetime | None
) -> list[Entry]:
    """Make the entries for a change of a record: the change, and the names given up.

    Args:
        last: the change before this one, as stored.
        at: when it is made, by the clock; None: now, of a record that is put back.
    """
    before = None if last is None else decode(last.value)
    time = max(micros(new.updated_at) or 0, micros(at) or now())
    if before is not None:
        time = max(time, (micros(before.at) or 0) + 1)
    was, is_now = facts_of(old), facts_of(new)
    free = free_name(old)
    free_was, free_now = was.pop(free), is_now.pop(free)
    fields = {name: value for name, value in was.items() if not _same(value, is_now[name])}
    if old.id != new.id:
        # one that has the place of another was there as long
        fields["created_at"] = msgspec.to_builtins(old.created_at)
    change = Change(
        at=moment_of(time),  # type: ignore[arg-type]  # of a number it is one
        number=before.number + 1 if before else 1,
        fields=fields,
        properties={
            name: value
            for name, value in free_was.items()
            if name not in free_now or not same_json(free_now[name], value)
        },
        added=tuple(name for name in free_now if name not in free_was),
        since=old.updated_at,
        made=_digest({**is_now, free: free_now}),
    )
    named = (*fields.get("related_entities", ()), *fields.get("entity_refs", ()))
    refs = (*refs, *(label_ref(labels.key(name)) for name in dict.fromkeys(named)))
    key = f"{new.id}{MARK}{time:0{DIGITS}}"
    entries = [Entry(CHANGE, key, msgspec.json.encode(change), refs=tuple(refs))]
    lost = set(keys_of(old)) - set(keys_of(new)) if fields.keys() & _NAMING else ()
    entries += [Entry(NAME, f"{short(key)}{MARK}{new.id}", b"{}", refs=tuple(refs)) for key in lost]
    if isinstance(old, Entity) and isinstance(new, Entity) and _called(old) != _called(new):
        entries.append(Entry(RENAMED, new.id, b"{}", refs=(new.id,)))
    return entries


def entries_of_replaced(reads: Reads, batch: Batch) -> tuple[Entry, ...]:
    """Make the entries that let a chunk of a source be what its place said before: those of the
    chunk that it replaces, which go with that, and one that it is another."""
    places = {
        (item.record.uri, item.record.ordinal): item.record
        for item in batch.records
        if isinstance(item.record, Resource) and item.record.is_chunk
    }
    entries: list[Entry] = []
    for id in batch.withdrawn:
        old = reads.records.get("resources", id)
        new = places.get((old.uri, old.ordinal)) if isinstance(old, Resource) else None
        if old is None or new is None or new.id in batch.withdrawn:
            continue
        refs = refs_of(new, ())
        kind, prefix = prefix_of(id)
        former = reads.kv.list(kind, KeyRange(prefix=prefix))
        made = change_entries(old, new, former[-1] if former else None, refs=refs, at=batch.at)
        kept = [*former, *(entry for entry in made if entry.namespace == kind)][-KEPT:]
        before = prefix_of(new.id)[1]
        keys = (before + entry.key.rpartition(MARK)[2] for entry in kept)
        entries += (
            Entry(kind, key, entry.value, refs=refs) for key, entry in zip(keys, kept, strict=True)
        )
    return tuple(entries)


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


def number(entry: Entry) -> int:
    """Which change of its record it is, from 1."""
    return decode(entry.value).number


def short(key: str) -> str:
    """A key as it stands in the key of an entry."""
    if len(key) <= _LONGEST:
        return key
    return f"{key[:_LONGEST]}{MARK}{sha256(key.encode()).hexdigest()}"


def _called(entity: Entity) -> tuple[object, ...]:
    """Return what decides which words of a text name an entity."""
    return entity.name, entity.aliases, entity.type, entity.is_extracted


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and (type(one) in _PLAIN or same_json(one, other))


def _digest(facts: dict[str, Any]) -> int:
    # a field that there was not yet is empty
    said = {
        name: value if type(value) in _PLAIN else canonical(value)
        for name, value in facts.items()
        if value
    }
    data = blake2b(_encode(said), digest_size=8).digest()
    return int.from_bytes(data, signed=True)
