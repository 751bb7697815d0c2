"""The statements of the embedded store, as `sql/*.sql` has them; records and edges as rows."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import msgspec
from msgspec.structs import force_setattr

from ...errors import CorruptStoreError
from ...model import Edge, Entity, Record, Resource
from ...model.premises import says
from ..encoding import DECODERS, micros, moment_of, now, times_of, type_of
from ..sql_files import SqlFiles

if TYPE_CHECKING:
    import zstandard


SQL = SqlFiles(Path(__file__).with_name("sql"))
COLUMNS = "r.rid, r.schema, r.body, r.content"  # what `decode` needs, rid first
# Characters: content above this is compressed. A chunk of 300 words is below it: zstd makes 1,800
# characters half as long, a sixth of what the chunk takes with its vector and postings, and getting
# it would take half as long again.
LONG = 4096

_encode = msgspec.json.Encoder().encode
_decode_properties = msgspec.json.Decoder(dict[str, Any]).decode


def encode(record: Record) -> tuple[str, bytes | None]:
    """The body as JSON, and the compressed content when it is long."""
    if isinstance(record, Resource) and len(record.content) > LONG:
        body = _encode(msgspec.structs.replace(record, content=""))
        return body.decode(), _compressor().compress(record.content.encode("utf-8"))
    return _encode(record).decode(), None


def decode(schema: str, body: str, content: bytes | None) -> Record:
    """The record of a row; CorruptStoreError if it is not as it was written."""
    try:
        record: Record = DECODERS[schema](body)
    except msgspec.MsgspecError as error:
        raise _damaged(error) from error
    if content is not None:
        add_content(record, content)
    return record


def add_content(record: Record, content: bytes) -> None:
    """Give a record its content, which is apart from its body; raises what `decode` raises."""
    force_setattr(record, "content", decompress(content))


def row_of(record: Record, record_no: int, text_no: int | None, revision: int) -> tuple[Any, ...]:
    """Return the row of a record, in the order of the table's columns."""
    body, content = encode(msgspec.structs.replace(record, revision=revision))
    is_thin = isinstance(record, Entity) and record.thin
    return (
        record_no,
        record.id,
        record.schema,
        type_of(record),
        1 if is_thin else None,
        *times_of(record),
        text_no,
        body,
        content,
        micros(record.expires_at),
        says(record),
    )


def edge_of(src: str, rel_type: str, dst: str, row: Any) -> Edge:
    """The edge of a row, in whose fourth column on are weight, created, valid_from, valid_to,
    properties."""
    properties = row[7]
    return Edge(
        src=src,
        rel_type=rel_type,
        dst=dst,
        weight=row[3],
        properties=_decode_properties(properties) if properties else {},
        created_at=moment_of(row[4]),
        valid_from=moment_of(row[5]),
        valid_to=moment_of(row[6]),
    )


def not_expired(cursor: apsw.Cursor) -> str:
    """Return the condition that a row `r` has not expired, the same until the next one does; empty
    where none has."""
    last = cursor.execute(SQL.last_expired, (now(),)).get
    return "" if last is None else f"(r.expires IS NULL OR r.expires > {last})"


def fetch_parents(cursor: apsw.Cursor, ids: list[str]) -> list[Any]:
    """Fetch what these records were derived from. See `provenance.show_parents`."""
    rows: list[Any] = cursor.execute(SQL.parents_of_all, {"ids": json.dumps(ids)}).fetchall()
    return rows


def decompress(content: bytes) -> str:
    import zstandard

    try:
        return zstandard.ZstdDecompressor().decompress(content).decode("utf-8")
    except (zstandard.ZstdError, UnicodeDecodeError) as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> CorruptStoreError:
    return CorruptStoreError(
        f"a record in the database is not as it was written: {error}",
        remedy="`remloom doctor` looks at all of it; restore the last `remloom backup`",
    )


@cache
def _compressor() -> zstandard.ZstdCompressor:
    import zstandard

    return zstandard.ZstdCompressor(level=3)
