"""What a label means: the things that records called so are records of.

Each row is a thing of its own. So is each document or chat, with all that was read of it; and an
entity, with those of its name whose type is the same or said more closely. Whatever else has the
name tells of one of these: a note, a moment, what was derived.

A word may be an id and a source besides: the record of that id alone is a meaning, and so is the
source with all that was read and remembered from it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from ..errors import AmbiguousLabelError
from ..model import Entity, Meaning, Record, Resource, Row, label_of_record
from ..predicates import Gte, Lt, Query
from .contract import Reads
from .encoding import SCHEMAS
from .rules.merge import are_related, keys_of

_BEGINNING = re.compile(r"[0-9a-f]{8}(-[0-9a-f-]{0,27})?")
_SHOWN = 5  # meanings in a message
_LISTED = 20  # in the fields of an error, in a report
_NONE: Mapping[str, Sequence[Record]] = {}


def meanings_of(records: Sequence[Record]) -> list[Meaning]:
    """List what a label means that these records have; at least one meaning, if there are any."""
    return list(map(_meaning, _things(records) or records[:1]))


def _things(records: Sequence[Record]) -> list[Record]:
    """List a record of each thing that these records are records of."""
    things: dict[tuple[str, str], Record] = {}
    entities: list[Entity] = []
    for record in records:
        if isinstance(record, Row):
            things[record.schema, record.id] = record
        elif record.uri:
            # what stands for the whole of a source says most of it
            if isinstance(record, Entity) or ("", record.uri) not in things:
                things["", record.uri] = record
        elif isinstance(record, Entity):
            entities.append(record)
    types: list[str] = []
    # the closest types first: of no type, or of a wider one, may be each of them
    for entity in sorted(entities, key=lambda entity: -len(entity.type)):
        if not any(are_related(entity.type, type) for type in types):
            types.append(entity.type)
            things["entities", entity.type] = entity
    return list(things.values())


def several_meanings(
    records_by_key: Mapping[str, Sequence[Record]],
) -> dict[str, tuple[Meaning, ...]]:
    """Return what each label means that means several things, the first of them."""
    meanings = {
        key: meanings_of(records) for key, records in records_by_key.items() if len(records) > 1
    }
    return {key: tuple(some[:_LISTED]) for key, some in meanings.items() if len(some) > 1}


def without_united(
    meanings: Mapping[str, tuple[Meaning, ...]], things: Sequence[Sequence[Row]]
) -> dict[str, tuple[Meaning, ...]]:
    """Return what labels mean, where rows that are one thing are one meaning."""
    first = {row.id: thing[0].id for thing in things for row in thing}
    several = {}
    for key, some in meanings.items():
        different = {first.get(one.id, one.id): one for one in reversed(some)}
        if len(different) > 1:
            several[key] = (*reversed(different.values()),)
    return several


def check_one_meaning(
    word: str, *, by_id: Record | None, source: Sequence[Record], named: Sequence[Record]
) -> None:
    """Refuse a word that means several things.

    Args:
        by_id: the record whose id it is, if any.
        source: what was read and remembered from the source that it is.
        named: the records whose label it is.

    Raises:
        AmbiguousLabelError: it names them, and how to say which.
    """
    of_source = {record.id for record in source}
    others = [record for record in named if record.id not in of_source]
    meanings = list(map(_meaning, _things(others)))
    if source:
        whole = next((record for record in source if isinstance(record, Entity)), source[0])
        meanings.insert(0, replace(_meaning(whole), uri=word))
    elif others and not meanings:
        meanings = [_meaning(others[0])]
    ids = [record.id for record in others]
    texts = [record.id for record in source if isinstance(record, Resource)]
    if by_id is not None and texts != [by_id.id] and by_id.id not in ids:
        meanings.insert(0, replace(_meaning(by_id), uri=""))
    if len(meanings) < 2:
        return
    shown = "; ".join(map(str, meanings[:_SHOWN]))
    more = f"; and {len(meanings) - _SHOWN} more" if len(meanings) > _SHOWN else ""
    raise AmbiguousLabelError(
        f"{word!r} means {len(meanings)} things, and none was forgotten: {shown}{more}",
        remedy="forget one of them by what tells it from the others, and say what that is: "
        f"forget({meanings[0].which!r}, by={meanings[0].by!r})",
        label=word,
        meanings=[
            {**meaning.as_dict(), "which": meaning.which, "by": meaning.by}
            for meaning in meanings[:_LISTED]
        ],
    )


def by_id(reads: Reads, id: str) -> Record | None:
    """Find the record with an id, or with one that begins so, from its eighth digit on.

    Raises:
        AmbiguousLabelError: the ids of several records begin so.
    """
    found = reads.records.get(None, id)
    if found is not None or not _BEGINNING.fullmatch(id):
        return found
    query = Query().filter(Gte("id", id)).filter(Lt("id", f"{id}~")).limit(_SHOWN + 1)
    schemas = (*SCHEMAS, *reads.schemas())
    records = [one for schema in schemas for one in reads.records.query(schema, query)]
    if len(records) > 1:
        shown = "; ".join(str(_meaning(one)) for one in records[:_SHOWN])
        raise AmbiguousLabelError(
            f"the ids of {'several' if len(records) > _SHOWN else len(records)} records begin with "
            f"{id!r}: {shown}",
            remedy="give more of the id",
            label=id,
            meanings=[_meaning(one).as_dict() for one in records],
        )
    return records[0] if records else None


def _meaning(record: Record) -> Meaning:
    return Meaning(
        schema=record.schema,
        name=record.name,
        id=record.id,
        type=getattr(record, "type", ""),
        handle=record.handle if isinstance(record, Row) else "",
        uri="" if isinstance(record, Row) else record.uri,
    )


def own_keys(
    reads: Reads,
    records: Sequence[Record],
    found: Mapping[str, Sequence[Record]] = _NONE,
    preferred: Collection[str] = (),
) -> list[str]:
    """Return a key of each record: that of its own label, or, where other records have that too and
    nobody asked for it, another that it has. Empty for a record that is called as the handle of
    another, and nothing else: no edge is its own.

    Args:
        found: the records that have some keys.
    """
    keys = {record.id: keys_of(record) for record in records}
    firsts = dict.fromkeys(own[0] for own in keys.values())
    owners = _owners(reads, [key for key in firsts if _may_be_shared(found.get(key))])
    chosen: dict[str, str] = {}
    unsure: list[str] = []  # ids of those whose own label others have, or may have
    for id, (first, *others) in keys.items():
        ids = owners.get(first, {id})
        if id in ids and (first in preferred or len(ids) == 1 or not others):
            chosen[id] = first
        else:
            unsure.append(id)
    owners |= _owners(reads, [key for id in unsure for key in keys[id]])
    for id in unsure:
        first, *others = keys[id]
        ordered = [*filter(preferred.__contains__, others), *others, first]
        chosen[id] = next((key for key in ordered if id in owners[key]), "")
    return [chosen[id] for id in keys]


def no_own_label(record: Record, meanings: Sequence[Meaning] = ()) -> AmbiguousLabelError:
    """Say that no edge is a record's own, as it is called as the handle of a row, and nothing else;
    its label has these meanings, as far as they are known."""
    label = label_of_record(record)
    return AmbiguousLabelError(
        f"{label!r} is the handle of a row, and {record.id} is called nothing else: the edges"
        " of that label are the row's",
        remedy=f"give {record.id} a name or an alias of its own, or give the id of the row",
        label=label,
        meanings=[meaning.as_dict() for meaning in meanings],
    )


def _may_be_shared(found: Sequence[Record] | None) -> bool:
    """Whether a key that these records have may be that of others, or the handle of one of them."""
    return found is None or (len(found) > 1 and any(isinstance(r, Row | Entity) for r in found))


def _owners(reads: Reads, keys: Sequence[str]) -> dict[str, set[str]]:
    by_key = reads.records.lookup(keys, edges=0, own=True) if keys else {}
    return {key: {record.id for record in records} for key, records in by_key.items()}
