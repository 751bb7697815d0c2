"""How a record is a row: JSON body, long content compressed apart, times as integers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import force_setattr

from ..errors import InvalidInputError
from ..model import Entity, Record, Resource
from .contract import SCHEMAS

if TYPE_CHECKING:
    import apsw
    import zstandard

__all__ = ["COLUMNS", "decode", "encode", "micros", "moment_of", "prepare"]

COLUMNS = "r.rid, r.schema, r.body, r.content"  # what `decode` needs, rid first
LONG = 4096  # characters: content above this is compressed; a 300-word chunk is below it

_PATIENCE = 1.0  # seconds for a regular expression on one text
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_decoders = {name: msgspec.json.Decoder(kind).decode for name, kind in SCHEMAS.items()}
_encode = msgspec.json.Encoder().encode


def encode(record: Record) -> tuple[str, bytes | None]:
    """The body as JSON, and the compressed content when it is long."""
    if isinstance(record, Resource) and len(record.content) > LONG:
        body = _encode(msgspec.structs.replace(record, content=""))
        return body.decode(), _compressor().compress(record.content.encode("utf-8"))
    return _encode(record).decode(), None


def decode(schema: str, body: str, content: bytes | None) -> Record:
    """The record of a row."""
    record: Record = _decoders[schema](body)
    if content is not None:
        force_setattr(record, "content", decompress(content))
    return record


def decompress(content: bytes) -> str:
    import zstandard

    return zstandard.ZstdDecompressor().decompress(content).decode("utf-8")


def micros(at: datetime | None) -> int | None:
    """Microseconds since 1970 UTC."""
    return None if at is None else (at - _EPOCH) // _MICROSECOND


def moment_of(at: int | None) -> datetime | None:
    """The datetime of microseconds since 1970 UTC."""
    return None if at is None else _EPOCH + timedelta(microseconds=at)


def type_of(record: Record) -> str | None:
    """What the type index has: an entity's or moment's type, a resource's category."""
    return (record.category if isinstance(record, Resource) else record.type) or None


def times_of(record: Record) -> tuple[int | None, int | None, int, int]:
    """(starts, ends, created, updated); what has a start but no end ends when it starts."""
    starts = ends = None
    if not isinstance(record, Entity):
        starts = micros(record.starts_at)
        ends = micros(record.ends_at) if record.ends_at else starts
    return starts, ends, micros(record.created_at) or 0, micros(record.updated_at) or 0


def merge_properties(old: str | None, new: str | None) -> str | None:
    """SQL function: the properties of an edge written again."""
    if not old or not new:
        return old or new
    return _encode({**msgspec.json.decode(old), **msgspec.json.decode(new)}).decode()


def prepare(connection: apsw.Connection) -> None:
    """Register the SQL functions that statements and views use."""
    connection.create_scalar_function("merge_properties", merge_properties, 2, deterministic=True)
    connection.create_scalar_function("decompress", decompress, 1, deterministic=True)
    connection.create_scalar_function("casefold", casefold, 1, deterministic=True)
    connection.create_scalar_function("matches", matches, 2, deterministic=True)


def casefold(text: object) -> str | None:
    """SQL function: Unicode case folding."""
    return None if text is None else str(text).casefold()


def matches(pattern: str, text: str | None) -> bool | None:
    """SQL function: a regular expression matches somewhere in the text.

    Raises:
        InvalidInputError: it takes too long; some patterns would take longer than the universe is old.
    """
    if text is None:
        return None
    try:
        return _compiled(pattern).search(str(text), timeout=_PATIENCE) is not None
    except TimeoutError:
        raise InvalidInputError(
            f"the regular expression {pattern!r} takes longer than {_PATIENCE:g} s on a text",
            remedy="write it without repetitions inside repetitions, such as (a|aa)+",
        ) from None


@cache
def _compressor() -> zstandard.ZstdCompressor:
    import zstandard

    return zstandard.ZstdCompressor(level=3)


@lru_cache(maxsize=64)
def _compiled(pattern: str):  # type: ignore[no-untyped-def]
    import regex  # reads what `re` reads, and can be stopped

    return regex.compile(pattern)
