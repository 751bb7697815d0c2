"""A memory as JSON lines: written by `export`, read by `import_`, the same for every store.

The first line is a header, then a line for each record (with its vectors, if asked for), each edge,
and each entry of the namespaces that go along. The last says how many there were of each, and the
SHA-256 of all lines before it: an export that was cut off has none, and one that was changed on its
way has another.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import islice
from typing import IO, Any

import msgspec
from msgspec.structs import replace

from ..errors import InvalidInputError, RemloomError, StoreBusyError, VectorError
from ..kv import Entry
from ..model import Edge, Exported, Imported, Record, Resource, Row, SchemaDefinition
from .batch import Batch, BatchRecord, Vector
from .contract import Store
from .definitions import CHANGES, DEFINITIONS, definition_entries, earlier_definitions
from .encoding import DECODERS, SCHEMAS, searchable_text
from .rules.admission import SCHEMA, admit, admit_entry, admit_new
from .rules.field_values import stored_row
from .rules.item_validation import check_edge
from .rules.merge import keys_of
from .rules.premise_entries import PREMISE, child_of, premise_entry, read_premise
from .rules.provenance import premises_in
from .rules.row_rules import checker_of
from .rules.validation import build, check_record

FORMAT = 2
_WITHOUT_SCHEMAS = 1  # format of what has only records of built-in schemas
_BATCH = 1_000  # lines written together
_EXPORT_AGAIN = "export it again"


class _Header(msgspec.Struct, tag="remloom", tag_field="line"):
    format: int
    tenant: str = ""
    model: str = ""
    dims: int = 0


class _SchemaLine(msgspec.Struct, tag="schema", tag_field="line"):
    """A version of a registered schema; the last of its name is the current one. Since format 2."""

    definition: SchemaDefinition


class _RecordLine(msgspec.Struct, tag="record", tag_field="line", omit_defaults=True):
    schema: str
    record: msgspec.Raw
    vectors: list[tuple[int, int, str, str]] = []  # start, end, digest (hex), float32 (base64)


class _EdgeLine(msgspec.Struct, tag="edge", tag_field="line"):
    edge: Edge


class _EntryLine(msgspec.Struct, tag="entry", tag_field="line", omit_defaults=True):
    namespace: str
    key: str
    value: msgspec.Raw
    refs: tuple[str, ...] = ()


class _EndLine(msgspec.Struct, tag="end", tag_field="line"):
    records: int
    edges: int  # paths too
    vectors: int = 0
    entries: int = 0
    schemas: int = 0  # versions of them
    sha256: str = ""  # of the lines before, as they are; other systems may leave it out


class _PathLine(msgspec.Struct, tag="path", tag_field="line"):
    """An edge as a path string, from another system; `export` keeps weights and properties."""

    path: str


# A number of a unit vector is at most this, once it was rounded to 16 bits.
_MAX_COMPONENT = 1.01
_decode = msgspec.json.Decoder(
    _Header | _SchemaLine | _RecordLine | _EdgeLine | _EntryLine | _PathLine | _EndLine
).decode
_encode = msgspec.json.encode


def export(
    store: Store,
    stream: IO[bytes],
    *,
    tenant: str = "",
    vectors: bool = True,
    namespaces: Iterable[str] = (),
) -> Exported:
    """Write a whole memory; returns how many lines of each kind.

    Args:
        namespaces: of the entries that go along: what belongs to the records, not to this machine.
    """
    name, dims = (store.vectors.model() or ("", 0)) if vectors else ("", 0)
    digest = sha256()
    end = _EndLine(0, 0)

    def write(line: msgspec.Struct) -> None:
        data = _encode(line) + b"\n"
        digest.update(data)
        stream.write(data)

    schemas = store.schemas()
    write(_Header(FORMAT if schemas else _WITHOUT_SCHEMAS, tenant, name, dims))
    # Before all records, so that an import can read them.
    for schema, definition in schemas.items():
        for version in (*earlier_definitions(store.kv, schema), definition):
            write(_SchemaLine(version))
            end.schemas += 1
    records = store.records.all(expired=True)
    while page := list(islice(records, _BATCH)):
        stored = store.vectors.of([record.id for record in page]) if vectors else {}
        for record in page:
            windows = [_window(vector) for vector in stored.get(record.id, ())]
            # equal memories have equal exports: a revision is of the store that gave it
            body = msgspec.Raw(_encode(replace(record, revision=0)))
            write(_RecordLine(record.schema, body, windows))
            end.vectors += len(windows)
        end.records += len(page)
    # Behind all records, so that an import finds both ends of each.
    for edge in store.graph.all_edges():
        write(_EdgeLine(edge))
        end.edges += 1
    # Behind all records: an entry goes with those that it is about.
    for namespace in namespaces:
        for entry in store.kv.list(namespace):
            value = msgspec.Raw(entry.value)
            write(_EntryLine(namespace, entry.key, value, entry.refs))
            end.entries += 1
    end.sha256 = digest.hexdigest()
    write(end)
    return Exported(records=end.records, edges=end.edges)


def import_(
    store: Store,
    stream: Iterable[bytes],
    *,
    model: str = "",
    incomplete: bool = False,
    namespaces: Iterable[str] = (),
) -> Imported:
    """Write an exported memory into this one, by id; what is there already is replaced or left as
    it is. It is one transaction: all of the export is in the memory afterwards, or nothing.

    Args:
        model: the embedder of this memory: texts without its vectors are queued for it.
        incomplete: import as much as there is of an export that has no last line.
        namespaces: of the entries that are taken in; one of another is refused.

    Raises:
        InvalidInputError: a line is not of the format; says which. Or the export was cut off, or
            changed.
        StoreBusyError: the store had to begin again, and this stream cannot be read again.
    """
    reading = _Import(stream, model, incomplete, frozenset(namespaces), store)
    written = store.write_all(reading.batches)
    return Imported(
        records=reading.records,
        edges=reading.edges,
        created=written.created,
        updated=written.updated,
        unchanged=written.unchanged,
    )


class _Import:
    """An export that is being read: `records`, `edges` and `entries` count its lines."""

    def __init__(
        self,
        stream: Iterable[bytes],
        model: str,
        incomplete: bool,
        namespaces: frozenset[str],
        store: Store,
    ) -> None:
        self._stream = stream
        self._start = self._position()
        self._begun = False
        self._model = model
        self._incomplete = incomplete
        self._namespaces = namespaces
        self._store = store

    def _position(self) -> int | None:
        """Return where the stream can be put back to; None when it cannot."""
        with suppress(AttributeError, OSError, ValueError):
            return int(self._stream.tell())  # type: ignore[attr-defined]
        return None

    def _rewind(self) -> None:
        if self._begun:
            if self._start is None:
                raise StoreBusyError(
                    "other writers were in the way, and this stream cannot be read again; nothing "
                    "was written",
                    remedy="try again, or import from a file",
                )
            self._stream.seek(self._start)  # type: ignore[attr-defined]
        self._begun = True

    def batches(self) -> Iterator[Batch]:
        """Yield everything as it is to be written; the last batch only once the end was checked."""
        self._rewind()
        self.records = self.edges = self.entries = self.vectors = 0
        self._schemas = _ImportedSchemas(self._store)
        digest = sha256()
        number = 0
        header: _Header | None = None
        end: _EndLine | None = None
        batch = _PendingBatch(self._model)
        for number, line in enumerate(self._stream, 1):
            if end is not None and line.strip():
                raise InvalidInputError(
                    f"line {number} stands behind the export's last", remedy=_EXPORT_AGAIN
                )
            value = self._parse(number, line, header) if line.strip() else None
            if value is None:
                pass
            elif isinstance(value, _EndLine):
                end = value
                self._check_end(end, number, digest.hexdigest())
            elif header is None:
                header = batch.header = _checked_header(value)
            else:
                # Both ends of an edge are written before it.
                if not isinstance(value, _RecordLine) and batch.records:
                    yield batch.take()
                with _numbered_errors(number):
                    self._add(batch, value)
                if batch.full:
                    yield batch.take()
            # Behind the check of the last line, whose checksum is of the lines before it.
            digest.update(line)
        if header is None:
            raise InvalidInputError("this is not a Remloom export: it is empty")
        if end is None and not self._incomplete:
            raise InvalidInputError(
                f"the export ends after line {number}, and its last line, which says how much it "
                "is, is missing: it was cut off, or an older Remloom wrote it. There are "
                f"{self.records:,} records and {self.edges:,} edges in it; nothing was written",
                remedy=f"{_EXPORT_AGAIN}; or take in what there is: --incomplete, "
                "import_(…, incomplete=True)",
            )
        yield batch.take()

    def _parse(self, number: int, line: bytes, header: _Header | None) -> Any:
        try:
            return _decode(line)
        except msgspec.MsgspecError as error:
            # Cut off within a line: the missing end is what is said of it.
            if header is not None and not line.endswith(b"\n"):
                return None
            raise InvalidInputError(
                f"line {number} is not a line of a Remloom export: {error}",
                remedy="give a file that `remloom export` wrote",
            ) from error

    def _add(self, batch: _PendingBatch, value: Any) -> None:
        if isinstance(value, _RecordLine):
            batch.add_record(value, self._schemas)
            self.records += 1
            self.vectors += len(value.vectors)
            return
        if isinstance(value, _SchemaLine):
            entries = self._schemas.add(value.definition)
            if entries:
                admit(SCHEMA)
            batch.entries += entries
            return
        if isinstance(value, _EntryLine):
            batch.entries.append(self._entry(value))
            self.entries += 1
            return
        if isinstance(value, _EdgeLine):
            batch.edges.append(check_edge(value.edge))
        elif isinstance(value, _PathLine):
            batch.add_path(value.path)
        else:
            raise InvalidInputError(
                "a second header: two exports in one file", remedy="import them one by one"
            )
        self.edges += 1

    def _entry(self, line: _EntryLine) -> Entry:
        # what runs jobs, or says what ran, is never taken from a file
        if line.namespace not in self._namespaces:
            raise InvalidInputError(
                f"an entry of {line.namespace!r} is nothing that an import takes",
                remedy="upgrade remloom, or export it again",
            )
        entry = Entry(line.namespace, line.key, bytes(line.value), line.refs)
        if line.namespace == PREMISE:
            # it goes with what it is about, whatever a file says
            return premise_entry(child_of(entry), read_premise(entry.value))
        admit_entry(self._store.kv, entry)
        return entry

    def _check_end(self, end: _EndLine, number: int, digest: str) -> None:
        if (end.records, end.edges) != (self.records, self.edges):
            raise InvalidInputError(
                f"the export's last line speaks of {end.records:,} records and {end.edges:,} "
                f"edges, and {self.records:,} and {self.edges:,} are before it; nothing was "
                "written",
                remedy=_EXPORT_AGAIN,
            )
        for what, stated, read in (
            ("entries", end.entries, self.entries),
            ("versions of schemas", end.schemas, self._schemas.read),
        ):
            if stated != read:
                raise InvalidInputError(
                    f"the export's last line speaks of {stated:,} {what}, and {read:,} are before "
                    "it; nothing was written",
                    remedy=_EXPORT_AGAIN,
                )
        if end.sha256 and end.sha256 != digest:
            raise InvalidInputError(
                "the export was changed since it was written: the checksum in line "
                f"{number} is another's; nothing was written",
                remedy=f"{_EXPORT_AGAIN}; if you changed it on purpose, take the sha256 out of its "
                "last line",
            )


def _checked_header(value: object) -> _Header:
    if not isinstance(value, _Header):
        raise InvalidInputError("this is not a Remloom export: its first line is no header of one")
    if not _WITHOUT_SCHEMAS <= value.format <= FORMAT:
        raise InvalidInputError(
            f"this export is of format {value.format}, and {FORMAT} is the last that is known here",
            remedy="upgrade remloom",
        )
    return value


class _ImportedSchemas:
    """The registered schemas while an export is read: those that were there, and its own; `read`
    counts the versions in it.

    One that is there already stays as it is, and the rows of the export are checked against it.
    """

    def __init__(self, store: Store) -> None:
        self.read = 0
        self._known = store.schemas()
        self._imported: dict[str, SchemaDefinition] = {}
        self._changes = store.kv.get(DEFINITIONS, CHANGES)

    def add(self, definition: SchemaDefinition) -> list[Entry]:
        """Take in a version of a schema; returns the entries that register it."""
        self.read += 1
        name = definition.schema_name
        earlier, self._imported[name] = self._imported.get(name), definition
        if name in SCHEMAS or name in self._known:
            return []
        changes = int(self._changes.value) if self._changes else 0
        return definition_entries(definition, changes + self.read, earlier)

    def require(self, schema: str) -> None:
        if schema not in SCHEMAS and schema not in self._imported and schema not in self._known:
            raise InvalidInputError(
                f"unknown schema {schema!r} in an export", remedy="upgrade remloom"
            )

    def checked(self, record: Record) -> Record:
        """Return a record as a batch has it; a row as its schema says here."""
        if not isinstance(record, Row):
            return record
        imported, known = self._imported.get(record.schema), self._known.get(record.schema)
        if known is None or (imported is not None and _is_same(imported, known)):
            assert imported is not None  # noqa: S101 - see `require`
            return stored_row(record, imported)
        return replace(checker_of(known).check(record), version=known.version)


def _is_same(one: SchemaDefinition, other: SchemaDefinition) -> bool:
    return replace(one, tenant_id="") == replace(other, tenant_id="")


class _PendingBatch:
    def __init__(self, model: str) -> None:
        self.header = _Header(FORMAT)
        self.records: list[BatchRecord] = []
        self.edges: list[Edge] = []
        self.entries: list[Entry] = []
        self._ids: set[str] = set()
        self._names: dict[str, tuple[str, str]] = {}  # of the ends of paths
        self._model = model

    @property
    def full(self) -> bool:
        return len(self.records) + len(self.edges) + len(self.entries) >= _BATCH

    def add_record(self, line: _RecordLine, schemas: _ImportedSchemas) -> None:
        item = _batch_record(line, self.header, self._model, schemas)
        if item.record.id in self._ids:
            raise InvalidInputError(
                f"the record {item.record.id} stands here a second time", remedy=_EXPORT_AGAIN
            )
        admit_new(item.record)
        self._ids.add(item.record.id)
        self.records.append(item)

    def add_path(self, path: str) -> None:
        built = build([Edge.from_path(path)], tenant="", model="")
        self.edges += built.edges
        self._names |= built.names

    def take(self) -> Batch:
        dims = self.header.dims if any(record.vectors for record in self.records) else 0
        model = self._model or self.header.model
        batch = Batch(
            records=tuple(self.records),
            edges=tuple(self.edges),
            names=dict(self._names),
            dims=dims,
            model=model,
            # of an entry that is written twice the later counts
            entries=tuple({(one.namespace, one.key): one for one in self.entries}.values()),
        )
        for gathered in (self.records, self._ids, self.edges, self.entries, self._names):
            gathered.clear()
        return batch


def _window(vector: Vector) -> tuple[int, int, str, str]:
    return vector.start, vector.end, vector.digest.hex(), base64.b64encode(vector.data).decode()


@contextmanager
def _numbered_errors(number: int) -> Iterator[None]:
    """Add the number of the line to the message of an error inside."""
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
    # NaN fails this comparison as well.
    if numbers.size != dims or not (np.abs(numbers) <= _MAX_COMPONENT).all():
        raise VectorError(
            f"a vector of the export is damaged: it is not {dims} finite numbers of a length of 1"
        )
    return vector


def _batch_record(
    line: _RecordLine, header: _Header, model: str, schemas: _ImportedSchemas
) -> BatchRecord:
    schemas.require(line.schema)
    try:
        record: Record = DECODERS[line.schema](line.record)
    except msgspec.MsgspecError as error:
        raise InvalidInputError(f"a record of the export is damaged: {error}") from error
    record = schemas.checked(check_record(record))
    # Vectors of another embedder are left out, and their texts are queued for this one.
    usable = model in ("", header.model)
    windows = tuple(_vector(window, header.dims) for window in line.vectors) if usable else ()
    text = searchable_text(record)
    embed = bool(model and text.strip() and not windows)
    parents = record.parents if isinstance(record, Resource) else ()
    premises = premises_in(record)
    return BatchRecord(
        record, keys_of(record), text, windows, parents or None, premises, embed=embed
    )
