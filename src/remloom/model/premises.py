"""Premises: what a derived record was made of, with a digest of what each of them said then.

A digest is of what a reader is shown of a record, not of how it is kept: another label, link, line
or vector changes none.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from hashlib import blake2b
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..errors import InvalidInputError
from .records import EXTRACTED, Entity, Moment, Record, Resource, short_id
from .supersession import SUPERSEDED as SUPERSEDED
from .supersession import amended_of, said_text, superseded_of

Fault = Literal["changed", "expired", "gone"]  # of a premise
_COUNTED = frozenset((EXTRACTED, "chunks", "cut", "digest", "media_type", "sessions", "turns"))
_BYTES = 8
_encode = msgspec.json.Encoder(order="deterministic").encode


class Stale(Struct, frozen=True, kw_only=True):
    """Why a derived record may not hold any more: something that it was made of, or that this was
    made of, says something else than it said then."""

    # replaced, amended: somebody said so (see `by`); gone: read again with other words, or no
    # longer in its source; below: it is none of its own
    reason: Literal["changed", "replaced", "amended", "expired", "gone", "below"]
    # ids, from one that it was made of down to the premise; empty: whoever asks may not see them
    path: tuple[str, ...] = ()
    # since when the premise does not hold: as was said with what replaces it; else when it was
    # updated last, expired or went. None: whoever asks may not see it
    at: datetime | None = None
    name: str = ""  # of a premise that is gone
    uri: str = ""  # where that was read
    by: str = ""  # the id of what replaces or amends the premise
    message: str = ""  # all of it in words, with the name of the premise

    @property
    def premise(self) -> str:
        """The id of what changed; empty: whoever asks may not see it."""
        return self.path[-1] if self.path else ""

    def __str__(self) -> str:
        return self.message or self.in_words()

    def in_words(self, name: str = "") -> str:
        """Say why, with the name of what changed; default its id."""
        since = f" on {self.at:%Y-%m-%d}" if self.at else ""
        effect = f", with effect from {self.at:%Y-%m-%d}" if self.at else ""
        what = name or self.premise or "something that it rests on"
        by = self.by and f" by {short_id(self.by)}"
        return {
            "changed": f"{what} changed{since}",
            "replaced": f"{what} was replaced{by}{effect}",
            "amended": f"{what} was amended{by}{since}",
            "expired": f"{what} expired{since}",
            "gone": f"{self.name or what} is gone{self.uri and f' from {self.uri}'}{since}",
            "below": f"{self.name or what}, further below, is no longer what it was{since}",
        }[self.reason]

    def as_dict(self) -> dict[str, Any]:
        """Make the JSON object: the reason, the path, the time, and all of it in words."""
        at = self.at and self.at.isoformat()
        shown = {"reason": self.reason, "path": list(self.path), "at": at, "message": str(self)}
        return shown | ({"by": self.by} if self.by else {})


def says(record: Record) -> int:
    """Digest what a record says, as it is stored, to 64 bits with a sign.

    Of a resource that is the text, its speaker and date; of an entity name, type, summary and
    properties; of a row name, summary and fields; of a moment what it is called, when it was, who
    was there, its summary and tags. What a run superseded says what it said before;
    what somebody replaced or amended says something else.
    """
    return digest_of((record.schema, *_said(record)))


def digest_of(value: Any) -> int:
    """Digest JSON to 64 bits with a sign."""
    return int.from_bytes(blake2b(_encode(value), digest_size=_BYTES).digest(), signed=True)


def premises_of(records: Iterable[Record]) -> dict[str, str]:
    """Return, for each record by id, the digest of what it says: the `premises` of what is made of
    them. Records are given as they were read; rows as they are stored."""
    return {record.id: as_hex(says(record)) for record in records}


def as_hex(digest: int) -> str:
    """Write a digest as 16 hexadecimal digits: as a number JSON would round it."""
    return digest.to_bytes(_BYTES, signed=True).hex()


def from_hex(text: str) -> int:
    """Read a digest that `as_hex` wrote. Raises InvalidInputError: it is none."""
    try:
        data = bytes.fromhex(text)
    except (TypeError, ValueError):
        data = b""
    if len(data) != _BYTES:
        raise InvalidInputError(
            f"a premise has the digest {str(text)[:40]!r}, which is not 16 hexadecimal digits",
            remedy="give the premises as they were read, or none",
        )
    return int.from_bytes(data, signed=True)


def canonical(value: Any) -> Any:
    """Return JSON in which 0.0 has no sign: not every store keeps that."""
    if isinstance(value, dict):
        return {key: canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [item if type(item) is str else canonical(item) for item in value]
    return value + 0.0 if isinstance(value, float) else value


def _said(record: Record) -> tuple[Any, ...]:
    if isinstance(record, Resource):
        if not record.metadata:
            return record.content, "", record.starts_at
        said = said_text(record), record.speaker, record.starts_at
        if (superseded := superseded_of(record)) is not None:
            return *said, superseded.by, superseded.reason
        if (amended := amended_of(record)) is not None:
            return *said, amended.by
        return said
    if isinstance(record, Entity):
        # what reading counts of a document or chat is not what it says
        left_out = _COUNTED if record.uri else (EXTRACTED,)
        facts = {name: fact for name, fact in record.properties.items() if name not in left_out}
        return record.name, record.type, record.summary, canonical(facts)
    if isinstance(record, Moment):
        speakers = [speaker.name for speaker in record.speakers]
        tags = (record.emotion_tags, record.topic_tags, record.classifications)
        times = (record.starts_at, record.ends_at)
        return (
            record.name,
            record.type,
            times,
            record.present_persons,
            speakers,
            record.summary,
            tags,
        )
    return record.name, record.summary, canonical(record.fields)
