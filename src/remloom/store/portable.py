"""A memory as JSON lines: written by `export`, read by `import_`, the same for every provider.

The first line is a header, then a line for each record (with its vectors, if asked for) and each edge.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import msgspec
from msgspec.structs import replace

from .. import labels
from ..errors import InvalidInputError, RemloomError, VectorError
from ..model import Edge, Record, Resource
from .batch import build, checked, checked_edge, searchable_text
from .contract import SCHEMAS, Batch, BatchRecord, Store, Vector

__all__ = ["export", "import_"]

FORMAT = 1
_BATCH = 1_000  # lines written together


class _Header(msgspec.Struct, tag="remloom", tag_field="line"):
    format: int
    tenant: str = ""
    model: str = ""
    dims: int = 0


class _RecordLine(msgspec.Struct, tag="record", tag_field="line", omit_defaults=True):
    schema: str
    record: msgspec.Raw
    vectors: list[tuple[int, int, str, str]] = []  # start, end, digest (hex), float32 (base64)


class _EdgeLine(msgspec.Struct, tag="edge", tag_field="line"):
    edge: Edge


class _PathLine(msgspec.Struct, tag="path", tag_field="line"):
    """An edge as a path string, from another system; never written by `export`, which keeps weights and properties."""

    path: str


_decode = msgspec.json.Decoder(_Header | _RecordLine | _EdgeLine | _PathLine).decode
_encode = msgspec.json.encode


def export(store: Store, stream: IO[bytes], *, tenant: str = "", vectors: bool = True) -> dict[str, int]:
    """Write a whole memory; returns how many lines of each kind."""
    name, dims = (store.model() or ("", 0)) if vectors else ("", 0)
    stream.write(_encode(_Header(FORMAT, tenant, name, dims)) + b"\n")
    counts = {"records": 0, "edges": 0}
    for record in store.records():
        windows = [_window(vector) for vector in store.vectors(record.id)] if vectors else []
        stream.write(_encode(_RecordLine(record.schema, msgspec.Raw(_encode(record)), windows)) + b"\n")
        counts["records"] += 1
    for edge in store.all_edges():
        stream.write(_encode(_EdgeLine(edge)) + b"\n")
        counts["edges"] += 1
    return counts


def import_(store: Store, stream: Iterable[bytes], *, model: str = "") -> dict[str, int]:
    """Write an exported memory into this one, by id; what is there already is replaced or left as it is.

    `model` is the embedder of this memory: texts without vectors of its are queued for it.

    Raises:
        InvalidInputError: a line is not of the format; says which. Lines before it were written.
    """
    counts = {"records": 0, "edges": 0, "created": 0, "updated": 0, "unchanged": 0}
    header: _Header | None = None
    records: list[BatchRecord] = []
    edges: list[Edge] = []
    names: dict[str, tuple[str, str]] = {}  # of the ends of paths

    def flush() -> None:
        dims = (header.dims if header else 0) if any(record.vectors for record in records) else 0
        written = store.write(
            Batch(tuple(records), tuple(edges), dict(names), (), dims, model or (header.model if header else ""))
        )
        for kind in ("created", "updated", "unchanged"):
            counts[kind] += getattr(written, kind)
        records.clear()
        edges.clear()
        names.clear()

    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            value = _decode(line)
        except msgspec.MsgspecError as error:
            raise InvalidInputError(
                f"line {number} is no line of a Remloom export: {error}",
                remedy="give a file that `remloom export` wrote",
            ) from error
        if header is None:
            if not isinstance(value, _Header) or value.format != FORMAT:
                raise InvalidInputError("this is no Remloom export: its first line is no header of format 1")
            header = value
        elif isinstance(value, _RecordLine):
            with _line(number):
                records.append(_batch_record(value, header, model))
            counts["records"] += 1
        elif isinstance(value, _EdgeLine):
            if records:
                flush()  # so that both ends of an edge are there
            with _line(number):
                edges.append(checked_edge(value.edge))
            counts["edges"] += 1
        elif isinstance(value, _PathLine):
            if records:
                flush()
            with _line(number):
                built = build([Edge.from_path(value.path)], tenant="", model="")
            edges += built.edges
            names |= built.names
            counts["edges"] += 1
        if len(records) + len(edges) >= _BATCH:
            flush()
    if header is None:
        raise InvalidInputError("this is no Remloom export: it is empty")
    flush()
    return counts


def _window(vector: Vector) -> tuple[int, int, str, str]:
    return vector.start, vector.end, vector.digest.hex(), base64.b64encode(vector.data).decode()


@contextmanager
def _line(number: int) -> Iterator[None]:
    """Errors inside say which line they are about."""
    try:
        yield
    except RemloomError as error:
        error.message = f"line {number}: {error.message}"
        raise


def _vector(line: tuple[int, int, str, str], dims: int) -> Vector:
    import numpy as np

    start, end, digest, data = line
    try:
        vector = Vector(start, end, base64.b64decode(data), bytes.fromhex(digest))
        numbers = np.frombuffer(vector.data, dtype=np.float32)
    except ValueError as error:
        raise VectorError(f"a vector of the export is damaged: {error}") from error
    if numbers.size != dims or not np.isfinite(numbers).all():
        raise VectorError(f"a vector of the export is damaged: it is not {dims} finite numbers")
    return vector


def _batch_record(line: _RecordLine, header: _Header, model: str) -> BatchRecord:
    if line.schema not in SCHEMAS:
        raise InvalidInputError(f"unknown schema {line.schema!r} in an export", remedy="upgrade remloom")
    try:
        record: Record = msgspec.json.decode(line.record, type=SCHEMAS[line.schema])
    except msgspec.MsgspecError as error:
        raise InvalidInputError(f"a record of the export is damaged: {error}") from error
    record = checked(record)
    usable = model in ("", header.model)
    windows = tuple(_vector(window, header.dims) for window in line.vectors) if usable else ()
    text = searchable_text(record)
    parents = record.parents if isinstance(record, Resource) else ()
    if parents:
        record = replace(record, parents=())
    keys = dict.fromkeys((labels.key(record.name), *map(labels.key, _aliases(record))))
    return BatchRecord(record, tuple(keys), text, windows, parents, bool(model and text.strip() and not windows))


def _aliases(record: Any) -> Iterator[str]:
    yield from getattr(record, "aliases", ())
