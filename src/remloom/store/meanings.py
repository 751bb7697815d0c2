"""What a label means: the things that records called so are records of.

Each row is a thing of its own. So is each document or chat, with all that was read of it; and an
entity, with those of its name whose type is the same or said more closely. Whatever else has the
name tells of one of these: a note, a moment, what was derived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import AmbiguousLabelError
from ..model import Entity, Meaning, Record, Row
from .merge import are_related

__all__ = ["check_one_meaning", "meanings_of", "several_meanings"]

_SHOWN = 5  # meanings in a message
_LISTED = 20  # in the fields of an error, in a report


def meanings_of(records: Sequence[Record]) -> list[Meaning]:
    """List what a label means that these records have; at least one meaning, if there are any."""
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
    return [_meaning(record) for record in things.values() or records[:1]]


def several_meanings(
    records_by_key: Mapping[str, Sequence[Record]],
) -> dict[str, tuple[Meaning, ...]]:
    """Return what each label means that means several things, the first of them."""
    meanings = {
        key: meanings_of(records) for key, records in records_by_key.items() if len(records) > 1
    }
    return {key: tuple(some[:_LISTED]) for key, some in meanings.items() if len(some) > 1}


def check_one_meaning(label: str, records: Sequence[Record]) -> None:
    """Refuse a label that means several things.

    Raises:
        AmbiguousLabelError: it names them, and how to say which.
    """
    meanings = meanings_of(records)
    if len(meanings) < 2:
        return
    shown = "; ".join(map(str, meanings[:_SHOWN]))
    more = f"; and {len(meanings) - _SHOWN} more" if len(meanings) > _SHOWN else ""
    raise AmbiguousLabelError(
        f"{label!r} means {len(meanings)} things, and none was forgotten: {shown}{more}",
        remedy=f"forget one of them by what tells it from the others: {meanings[0].which!r}",
        label=label,
        meanings=[meaning.as_dict() for meaning in meanings[:_LISTED]],
    )


def _meaning(record: Record) -> Meaning:
    return Meaning(
        schema=record.schema,
        name=record.name,
        id=record.id,
        type=getattr(record, "type", ""),
        handle=record.handle if isinstance(record, Row) else "",
        uri="" if isinstance(record, Row) else record.uri,
    )
