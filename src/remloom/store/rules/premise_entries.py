"""Premises that are no stored records, as key-value entries with what rests on them among their
refs: a record that was read again or is gone from its source, and a property of an entity.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from typing import TypeAlias

import msgspec
from msgspec import Struct

from ...errors import InvalidInputError, LabelError
from ...kv import Entry, EntryReads, KeyRange, label_ref, lost_ref, source_ref
from ...labels import key as label_key
from ...model import Record, Row
from ...model.premises import digest_of

PREMISE = "premise"  # namespace; the key is the id of what rests on it, and which premise it is
_MARK = "\x1f"  # between the parts of a key
_LOST, _SLOT = "lost:", "slot:"


class LostPremise(Struct, frozen=True, kw_only=True, tag="lost", omit_defaults=True):
    """A record that is no longer there, though nobody forgot it."""

    id: str
    kind: int = 0  # as in `parents`
    said: int  # digest of what it said as it was quoted; where that is not known, at the last
    name: str = ""
    uri: str = ""  # where it was read
    at: datetime  # when it went


class SlotPremise(Struct, frozen=True, kw_only=True, tag="slot", omit_defaults=True):
    """A property of an entity, or where its edges of a type lead: "Team Orion.lead"."""

    entity: str  # a label
    attribute: str
    said: int  # digest of its value as it was quoted; see `slot_digest`
    at: datetime  # when that was

    @property
    def name(self) -> str:
        """The slot as it is written."""
        return f"{self.entity}.{self.attribute}"


OtherPremise: TypeAlias = LostPremise | SlotPremise
_decode = msgspec.json.Decoder(OtherPremise).decode
_encode = msgspec.json.Encoder().encode


def premise_entry(child: str, premise: OtherPremise) -> Entry:
    """Make the entry which says that a record rests on this; it goes when that record goes."""
    if isinstance(premise, SlotPremise):
        key = label_key(premise.entity)
        refs = (child, label_ref(key))
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


def premises_beside(reads: EntryReads, child: str) -> list[OtherPremise]:
    """List the premises of a record that are no stored records."""
    entries = reads.list(PREMISE, KeyRange(prefix=child + _MARK))
    return [read_premise(entry.value) for entry in entries]


def slot_digest(records: Iterable[Record], attribute: str) -> int:
    """Digest what a property of an entity or row says, or where its edges of that type lead, to 64
    bits with a sign. What there is not says something of its own."""
    found = []
    wanted = _name_key(attribute)
    for record in records:
        facts = record.fields if isinstance(record, Row) else getattr(record, "properties", {})
        found += [value for name, value in facts.items() if _name_key(name) == wanted]
        if not found:
            edges = (edge for edge in record.graph_paths if _name_key(edge.rel_type) == wanted)
            found += sorted(edge.dst for edge in edges)
    return digest_of(found)


def _name_key(name: str) -> str:
    try:
        return label_key(name)
    except LabelError:
        return name


def _short(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
