"""The statements of the PostgreSQL store, as `sql/*.sql` has them; records and edges as rows."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import force_setattr, replace

from ...model import Edge, Entity, Record, Resource
from ...model.premises import says
from ..encoding import DECODERS, micros, moment_of, times_of, type_of
from ..rules.json_values import encode_free
from ..sql_files import SqlFiles

SQL = SqlFiles(Path(__file__).with_name("sql"))
# What `row_of` gives, and of which kind each is (see `ArrayColumn`).
RECORD_COLUMNS = {
    "id": "t",
    "seq": "q",
    "schema": "t",
    "type": "t",
    "thin": "?",
    "starts": "q",
    "ends": "q",
    "created": "q",
    "updated": "q",
    "doc": "q",
    "uri": "t",
    "body": "t",
    "content": "t",
    "expires": "q",
    "says": "q",
}

_decode_properties = msgspec.json.Decoder(dict[str, Any]).decode
_PathRow = tuple[str, str, str, float, int, int | None, int | None, dict[str, Any] | None]
_decode_paths = msgspec.json.Decoder(list[_PathRow]).decode
_LONGEST = 1_000  # bytes
_MARK = "\x1f"  # a separator, so no key has it
_SHOWN = 100  # characters of a long key that its short form begins with


def storable(ids: Iterable[str]) -> list[str]:
    """List each id once, but for those that PostgreSQL cannot have: with a NUL in it."""
    return [id for id in dict.fromkeys(ids) if "\0" not in id]


def decode(schema: str, body: bytes, content: str | None) -> Record:
    """The record of the columns `schema`, `body` and `content`."""
    record: Record = DECODERS[schema](body)
    if content is not None:
        force_setattr(record, "content", content)
    return record


def row_of(record: Record, seq: int, text_no: int | None, revision: int) -> tuple[Any, ...]:
    """The row of a record: the `RECORD_COLUMNS`."""
    content = uri = None
    bare = replace(record, revision=revision)
    if isinstance(record, Resource):
        content, uri = record.content or None, record.uri or None
        bare = replace(bare, content="")
    return (
        record.id,
        seq,
        record.schema,
        type_of(record),
        isinstance(record, Entity) and record.thin,
        *times_of(record),
        text_no,
        uri,
        encode_free(bare),
        content,
        micros(record.expires_at),
        says(record),
    )


def digests(rows: Iterable[Any]) -> dict[str, int]:
    """What records say, by id, from rows of the statement `said`."""
    return {id: says(decode(*row)) if said is None else said for id, said, *row in rows}


def edge_of(row: Any) -> Edge:
    """The edge of a row: src, rel, dst, weight, created, valid_from, valid_to, properties."""
    src, rel, dst, weight, created, since, until, properties = row
    if isinstance(properties, bytes):
        properties = _decode_properties(properties)
    return Edge(
        src=src,
        rel_type=rel,
        dst=dst,
        weight=weight,
        properties=properties or {},
        created_at=moment_of(created),
        valid_from=moment_of(since),
        valid_to=moment_of(until),
    )


def paths_of(data: bytes) -> tuple[Edge, ...]:
    """The edges that `lookup_with_edges` gives with a record."""
    return tuple([edge_of(row) for row in _decode_paths(data)])


def short(key: str) -> str:
    """The key itself, or the beginning and the hash of a long one. Shortening twice changes
    nothing."""
    if len(key) * 4 <= _LONGEST or len(encoded := key.encode("utf-8")) <= _LONGEST:
        return key
    return f"{key[:_SHOWN]}{_MARK}{sha256(encoded).hexdigest()}"


def is_short(key: str) -> bool:
    """Whether it stands for a longer key, which `names.label` has."""
    return _MARK in key
