"""Premises that are no stored records, as key-value entries with what rests on them among their
refs: a record that was read again or is gone from its source, and a property of an entity.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import TypeAlias

import msgspec
from msgspec import Struct

from ...errors import InvalidInputError, LabelError
from ...kv import Entry, EntryReads, KeyRange, lost_ref, rests_ref, source_ref
from ...labels import key as label_key
from ...model import Record, Row
from ...model.premises import digest_of, says
from ..batch import Batch, BatchRecord

PREMISE = "premise"  # namespace; the key is the id of what rests on it, and which premise it is
_MARK = "\x1f"  # between the parts of a key
_LOST, _SLOT = "lost:", "slot:"
MOST_STATED = 50  # slots, labels and ids that one record rests on


class LostPremise(Struct, frozen=True, kw_only=True, tag="lost", omit_defaults=True):
    """A record that is no longer there, though nobody forgot it."""

    id: str
    kind: int = 0  # as in `parents`
    said: int  # digest of what it said as it was quoted; where that is not known, at the last
    name: str = ""
    uri: str = ""  # where it was read
    at: datetime  # when it went


class SlotPremise(Struct, frozen=True, kw_only=True, tag="slot", omit_defaults=True):
    """A property of an entity, or where its edges of a type lead: "Team Orion.lead"; or all that
    a record says."""

    entity: str  # a label, or the id of a record
    attribute: str = ""  # empty: all of it
    said: int  # digest of its value as it was quoted; see `slot_digest`
    at: datetime  # when that was

    @property
    def name(self) -> str:
        """The slot as it is written."""
        return f"{self.entity}.{self.attribute}" if self.attribute else self.entity


OtherPremise: TypeAlias = LostPremise | SlotPremise
# of what rests on a record: its id, the kind and digest of that premise, and the record
RestRow: TypeAlias = tuple[str, int, int | None, Record]
EntryKey: TypeAlias = tuple[str, str]
_decode = msgspec.json.Decoder(OtherPremise).decode
_encode = msgspec.json.Encoder().encode


def premise_entry(child: str, premise: OtherPremise) -> Entry:
    """Make the entry which says that a record rests on this; it goes when that record goes."""
    if isinstance(premise, SlotPremise):
        key = label_key(premise.entity)
        refs = (child, rests_ref(key))
        part = _SLOT + _short(f"{key}\n{premise.attribute}")
        return Entry(PREMISE, child + _MARK + part, _encode(premise), refs)
    sources = (source_ref(premise.uri),) if premise.uri else ()
    refs = (child, lost_ref(premise.id), *sources)
    return Entry(PREMISE, lost_key(child, premise.id), _encode(premise), refs)


def read_premise(value: bytes | str) -> OtherPremise:
    """Read the value of an entry. Raises InvalidInputError: it is none."""
    try:
        return _decode(value)
    except msgspec.MsgspecError as error:
        raise InvalidInputError(f"an entry of {PREMISE!r} is no premise: {error}") from error


def child_of(entry: Entry) -> str:
    """The id of the record that rests on what an entry says."""
    return entry.key.rpartition(_MARK)[0]


def lost_key(child: str, id: str) -> str:
    """The key of the entry which says that this premise of a record is lost."""
    return child + _MARK + _LOST + _short(id)


def lost_entries(rows: Iterable[RestRow], ids: Container[str], at: datetime) -> list[Entry]:
    """Make the entries of what rests on records that go, these ids; what goes itself has none."""
    return [
        premise_entry(
            child,
            LostPremise(
                id=record.id,
                kind=kind,
                said=says(record) if quoted is None else quoted,
                name=record.name,
                uri=record.uri,
                at=at,
            ),
        )
        for child, kind, quoted, record in rows
        if child not in ids
    ]


def outdated_keys(entries: Iterable[Entry], items: Mapping[str, BatchRecord]) -> list[EntryKey]:
    """Of the entries of records that are written, by id, return the keys of those that say of
    something lost what these rest on no longer: what is written back as it was read, or says
    nothing of premises, keeps them."""
    outdated = []
    for entry in entries:
        child = child_of(entry)
        premise = read_premise(entry.value)
        if child not in items or not isinstance(premise, LostPremise):
            continue
        if premise.id not in items[child].premises:
            outdated.append((PREMISE, entry.key))
    return outdated


def rests_anew(item: BatchRecord) -> bool:
    """Whether a record that is written says what it rests on."""
    return not item.fresh and (item.parents is not None or bool(item.premises))


def returned(entries: Iterable[Entry], ids: Container[str]) -> list[tuple[Entry, str, LostPremise]]:
    """List of these entries those of what is there again, with what rests on it."""
    read = ((entry, child_of(entry), read_premise(entry.value)) for entry in entries)
    return [
        (entry, child, premise)
        for entry, child, premise in read
        if isinstance(premise, LostPremise) and premise.id in ids
    ]


def maybe_returned(batch: Batch, ids: Iterable[str]) -> list[str]:
    """List the ids of what may be lost for others and is there once a batch is written, which has
    these ids."""
    found = [id for id, item in zip(ids, batch.records, strict=True) if not item.fresh]
    premises = (read_premise(one.value) for one in batch.entries if one.namespace == PREMISE)
    found += [premise.id for premise in premises if isinstance(premise, LostPremise)]
    return list(dict.fromkeys(found))


def lost_prefix(child: str) -> str:
    """The prefix of the keys of the entries of a record's lost premises."""
    return child + _MARK + _LOST


def premises_beside(reads: EntryReads, child: str) -> list[OtherPremise]:
    """List the premises of a record that are no stored records."""
    entries = reads.list(PREMISE, KeyRange(prefix=child + _MARK))
    return [read_premise(entry.value) for entry in entries]


def slot_digest(records: Iterable[Record], attribute: str) -> int:
    """Digest what a property of an entity or row says, or where its edges of that type lead, or
    (no attribute) all that the records say, to 64 bits with a sign. What there is not says
    something of its own."""
    if not attribute:
        return digest_of(sorted(map(says, records)))
    found = []
    wanted = _name_key(attribute)
    for record in records:
        facts = record.fields if isinstance(record, Row) else getattr(record, "properties", {})
        found += [value for name, value in facts.items() if _name_key(name) == wanted]
        if not found:
            edges = (edge for edge in record.graph_paths if _name_key(edge.rel_type) == wanted)
            found += sorted(edge.dst for edge in edges)
    return digest_of(found)


def checked_slots(given: object) -> tuple[str, ...]:
    """Trim what a record is said to rest on, and leave out what is given twice.

    Raises:
        InvalidInputError: it is no list of at most `MOST_STATED` slots, labels and ids.
        LabelError: one is no label.
    """
    if not isinstance(given, list | tuple) or len(given) > MOST_STATED:
        raise InvalidInputError(
            f"rests_on is a list of at most {MOST_STATED} slots, labels and ids",
            remedy='for example ["Team Orion.lead"]',
        )
    slots = dict.fromkeys(slot.strip() for slot in map(_text, given))
    for slot in slots:
        entity, attribute = split_slot(slot)
        label_key(entity)
        if attribute:
            label_key(attribute)
        elif slot.endswith("."):
            raise InvalidInputError(
                f"rests_on has {slot[:60]!r}, which names no property",
                remedy=f'say which: "{entity[:40].strip(".")}.PROPERTY", or the name alone',
            )
    return tuple(slots)


def split_slot(slot: str) -> tuple[str, str]:
    """Divide "Team Orion.lead" into the entity and its property, at the last dot that a word
    follows at once; without one there is no property.

    >>> split_slot("St. Gallen.mayor"), split_slot("Dr. Okafor")
    (('St. Gallen', 'mayor'), ('Dr. Okafor', ''))
    """
    entity, dot, attribute = slot.rpartition(".")
    if not dot or not attribute.strip() or attribute[0].isspace():
        return slot, ""
    return entity, attribute


def is_id(text: str) -> bool:
    """Whether a text has the form of the id of a record."""
    return len(text) == 36 and text.count("-") == 4


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(
            f"rests_on has {value!r}, which is no text", remedy='for example ["Team Orion.lead"]'
        )
    return value


def _name_key(name: str) -> str:
    try:
        return label_key(name)
    except LabelError:
        return name


def _short(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
