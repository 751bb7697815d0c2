"""What becomes of stored records and edges that are written again: who is a namesake, what an
update keeps, how edges merge.

Pure functions over values. Providers fetch what is stored, ask these, and store the outcome; where
one merges edges in a statement, a test holds it to `merge_edge`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ... import labels
from ...errors import ConflictError, LabelError
from ...model import EXTRACTED, Edge, Entity, Record, Resource, Row
from ..batch import BatchRecord
from ..encoding import searchable_text
from .admission import EXPIRY, admit
from .record_ids import new_id

_TICK = timedelta(microseconds=1)  # as times are stored
_encode = msgspec.json.Encoder(order="deterministic").encode


def keys_of(record: Record) -> tuple[str, ...]:
    """Return the keys of a record: of a row's handle, its name, its aliases; none twice.

    >>> keys_of(Entity(name="Sarah Chen", aliases=("Sarah", "sarah chen")))
    ('sarah-chen', 'sarah')
    """
    key = labels.key(record.name)
    if isinstance(record, Row):
        names = (labels.key(record.handle), key, *map(labels.key, record.aliases))
        return tuple(dict.fromkeys(names))
    if not isinstance(record, Entity) or not record.aliases:
        return (key,)
    return tuple(dict.fromkeys((key, *map(labels.key, record.aliases))))


# -- namesakes -------------------------------------------------------------------------------------


class Namesake(Struct, frozen=True, gc=False):
    """A stored entity that has the key of the name of one that is written."""

    id: str
    type: str | None
    thin: bool = False
    # the key is its name or, if it is thin, the label that edges lead to; else only what that one
    # shows
    own: bool = True
    # what stands for a row that is not there, under its handle
    placeholder: bool = False


def find_namesake(namesakes: Sequence[Namesake], type: str | None) -> str | None:
    """Return the id of the stored entity that one of this type, given without id, is.

    That is the one of its type; or else a thin one of its label, or the only thin one that shows
    this name, if the types allow it; or else one of no other type. What stands for a row is none
    but that of an entity which is of its type.
    """
    namesakes = [
        namesake
        for namesake in namesakes
        if not namesake.placeholder or (type and namesake.type and are_related(namesake.type, type))
    ]
    real = [namesake for namesake in namesakes if not namesake.thin]
    thin = [namesake for namesake in namesakes if namesake.thin]
    ids = [namesake.id for namesake in real if namesake.type == type]
    ids += [namesake.id for namesake in thin if namesake.own]
    if not ids and (type or not real) and len(thin) == 1 and are_related(thin[0].type, type):
        ids.append(thin[0].id)
    ids += [namesake.id for namesake in real if (not type and len(real) == 1) or not namesake.type]
    return ids[0] if ids else None


def are_related(one: str | None, other: str | None) -> bool:
    """Whether one type is the other, a part of it ("person/employee" of "person"), or none."""
    if not one or not other:
        return True
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def thin_entity(
    key: str, display_name: str, type: str, now: datetime
) -> tuple[Entity, tuple[str, ...]]:
    """Make what stands for a label that only edges have, and its keys. It is called what an edge
    calls it (`dst_name`), and has the key of the label for an alias, if its name has another."""
    keys: tuple[str, ...] = (key,)
    aliases: tuple[str, ...] = ()
    try:
        if display_name and (name_key := labels.key(display_name)) != key:
            keys, aliases = (name_key, key), (key,)
    except LabelError:  # a name of quotes alone
        display_name = key
    entity = Entity(
        id=new_id(),
        name=display_name or key,
        aliases=aliases,
        type=type,
        thin=True,
        created_at=now,
        updated_at=now,
    )
    return entity, keys


# -- records ---------------------------------------------------------------------------------------


def merge_record(
    item: BatchRecord, stored: Record, at: datetime | None = None
) -> BatchRecord | None:
    """Return the record as it will be, written over the stored one of its id; None when nothing
    changes. For `at` see `Batch.at`. Raises ConflictError: the stored one is of another schema."""
    record, keys = item.record, item.keys
    _check_schema(record, stored.schema)
    if item.merge and isinstance(stored, Entity) and isinstance(record, Entity):
        record = merge_entity(stored, record)
        keys = keys_of(record)
    elif stored.created_at and record.created_at and stored.created_at < record.created_at:
        record = replace(record, created_at=stored.created_at)
    if item.parents is None:
        record = _still_derived(record, stored)
    if record.expires_at != stored.expires_at:
        admit(EXPIRY)
    if not item.vectors and is_unchanged(record, stored):
        return None
    before = stored.updated_at
    # clocks stand still and are set back, and by this time a writer sees that it comes too late
    if at is not None and before is not None and (record.updated_at or at) <= before:
        record = replace(record, updated_at=before + _TICK)
    if record.revision == stored.revision:
        record = replace(record, revision=0)  # it gets another; only a copy brings its own
    return replace(item, record=record, keys=keys, text=searchable_text(record))


def merge_namesakes(first: BatchRecord, second: BatchRecord) -> BatchRecord:
    """Return what a batch that holds a record twice means: the later one counts; of an entity named
    twice, both do. Raises ConflictError: the two are of different schemas."""
    _check_schema(second.record, first.record.schema)
    both_entities = isinstance(first.record, Entity) and isinstance(second.record, Entity)
    if not both_entities or not second.merge:
        if second.parents is None and first.parents is not None:
            record = _still_derived(second.record, first.record)
            kept = (first.parents, first.premises)
            return replace(second, parents=kept[0], premises=kept[1], record=record)
        return second
    merged = merge_entity(first.record, second.record)  # type: ignore[arg-type]
    return replace(
        second,
        record=merged,
        keys=tuple(dict.fromkeys((second.keys[0], *first.keys, *second.keys))),
        text=searchable_text(merged),
        vectors=second.vectors or first.vectors,
    )


def _still_derived(record: Record, stored: Record) -> Record:
    """Return a record that is written without parents over one that was derived: it still is."""
    if not isinstance(record, Resource) or not isinstance(stored, Resource):
        return record
    if record.generation >= stored.generation:
        return record
    return replace(record, generation=stored.generation)


def merge_entity(stored: Entity, new: Entity) -> Entity:
    """Return what is known of an entity after it was written again by name: nothing is lost, newer
    values win."""
    properties = {**stored.properties, **new.properties}
    # Somebody who wrote of it vouches for it: it is no longer known only from reading.
    if not (new.is_extracted and (stored.thin or stored.is_extracted)):
        properties.pop(EXTRACTED, None)
    key = labels.key(new.name)
    aliases = dict.fromkeys((*stored.aliases, *new.aliases))
    if stored.name != new.name and labels.key(stored.name) != key:
        aliases[stored.name] = None
    # what stands for a label has its key for an alias, which the name says now
    redundant = (new.name, key if stored.thin else new.name)
    return replace(
        new,
        id=stored.id,
        type=new.type or stored.type,
        aliases=tuple(alias for alias in aliases if alias in new.aliases or alias not in redundant),
        summary=new.summary or stored.summary,
        properties=properties,
        expires_at=new.expires_at or stored.expires_at,
        created_at=stored.created_at,
    )


def _check_schema(record: Record, schema: str) -> None:
    """Refuse a record whose id one of another schema has: replacing that would lose it."""
    if record.schema != schema:
        raise ConflictError(
            f"the id {record.id!r} is that of a record of {schema}, not of {record.schema}",
            remedy="leave the id out, and a new one is made",
            id=record.id,
            schema=schema,
        )


def same_handle(row: Row, other: Row) -> ConflictError:
    return ConflictError(
        f"the handles {row.handle!r} and {other.handle!r} of {row.schema} are one label, and these "
        "are two rows",
        remedy="give one of them a handle that differs in more than case, hyphens and blanks",
        id=other.id,
        schema=row.schema,
    )


def is_unchanged(record: Record, stored: Record) -> bool:
    """Whether a record is what is stored, times and revision apart."""
    if replace(record, updated_at=stored.updated_at, revision=stored.revision) != stored:
        return False
    free = free_values(record)
    return not free or same_json(free, free_values(stored))


def free_values(record: Record) -> dict[str, Any]:
    """Return what a record has that is of no type of ours: `properties` or `metadata`, and the
    fields of a row."""
    if isinstance(record, Row):
        return {"fields": record.fields, "metadata": record.metadata}
    return record.properties if isinstance(record, Entity) else record.metadata


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are one as JSON, where 1 is neither 1.0 nor True."""
    return bool(one == other) and _encode(one) == _encode(other)


# -- edges -----------------------------------------------------------------------------------------


def merge_edge(stored: Edge | None, new: Edge) -> Edge:
    """Return an edge as it is once it was written over the stored one, as `model.Edge` says."""
    if stored is None:
        return new
    # a connection that had ended and began again is open once more
    is_renewed = (
        stored.valid_to is not None
        and new.valid_from is not None
        and new.valid_from > stored.valid_to
    )
    return replace(
        stored,
        weight=max(stored.weight, new.weight),
        properties={**stored.properties, **new.properties},
        created_at=_earlier(stored.created_at, new.created_at),
        valid_from=_earlier(stored.valid_from, new.valid_from),
        valid_to=new.valid_to or (None if is_renewed else stored.valid_to),
    )


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((at for at in (one, other) if at is not None), default=None)
