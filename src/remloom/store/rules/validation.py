"""From what a user writes to a batch that a store can take: everything is checked here, before any
provider.

A batch is refused whole: the first record that cannot be stored names itself in the error, and
nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ... import labels
from ...errors import InvalidInputError, LabelError, RemloomError, UnknownNameError, VectorError
from ...model import Edge, Entity, Moment, Record, Resource, Row, SchemaDefinition, label_of_record
from ...model.supersession import said_text
from ..batch import Batch, BatchRecord, Vector
from ..encoding import SCHEMAS, embedded_text, searchable_text
from .admission import admit_new
from .item_validation import WRITABLE, EdgeBuilder, inline_edge, replacing, times_in_utc
from .json_values import NOT_STORABLE_REMEDY, check_json, encode_strict
from .merge import free_values, keys_of, merge_namesakes, same_handle
from .premise_entries import checked_slots
from .provenance import premises_in
from .record_ids import content_hash, new_id, resource_id, row_id
from .row_rules import complete_row, foreign_key
from .vector_validation import to_vectors

_DECODERS: dict[type, msgspec.json.Decoder[Record]] = {
    kind: msgspec.json.Decoder(kind) for kind in (Resource, Entity, Moment, Row)
}


def _none_registered() -> Mapping[str, SchemaDefinition]:
    return {}


def build(
    items: Iterable[Record | Edge],
    *,
    tenant: str,
    model: str,
    withdrawn: Iterable[str] = (),
    deleted_edges: Iterable[tuple[str, str, str]] = (),
    schemas: Callable[[], Mapping[str, SchemaDefinition]] = _none_registered,
    stamp: bool = False,
) -> Batch:
    """Check and complete what is to be written.

    Args:
        model: names the embedder that made (or will make) the vectors; empty means there is none,
            and nothing is queued for embedding.
        withdrawn, deleted_edges: ids and edges to delete first; see `Batch`.
        schemas: gives the definitions of the registered schemas, if there are rows among the items.
        stamp: what a parent says as this is written is taken for what it said, where its child does
            not tell that; else it is not known.

    Raises:
        InvalidInputError: something that is not a record or edge, a naive datetime, an end before
            its start, a weight outside 0..1, metadata that is not JSON, a premise without a digest.
        LabelError: a name, alias or edge end without a key.
        VectorError: see `to_vectors`; also vectors of different dimensions in one batch.
        ConflictError: two schemas under one id, or two rows with handles of one key.
        UnknownNameError, RowError: a row of no registered schema, or not as that says.
    """
    if isinstance(items, Struct):
        raise InvalidInputError(
            f"one {type(items).__name__} is not a list of them", remedy="write([…])"
        )
    builder = _BatchBuilder(tenant, model, schemas, stamp=stamp)
    for position, item in enumerate(items):
        try:
            builder.add(item)
        except RemloomError as error:
            error.fields.setdefault("position", position)
            name = getattr(item, "name", "") or getattr(item, "rel_type", "")
            error.message = (
                f"item {position} ({type(item).__name__} {str(name)[:60]!r}): {error.message}"
            )
            error.args = (error.message,)
            raise
    return replace(builder.batch(), withdrawn=tuple(withdrawn), deleted_edges=tuple(deleted_edges))


def check_record(record: Record) -> Record:
    """Return a whole record from elsewhere, checked, its times in UTC. Raises InvalidInputError: it
    has no id, a naive datetime or an end before its start."""
    if not record.id:
        raise InvalidInputError(
            f"the record {record.name[:60]!r} has no id", remedy="give it one that no other has"
        )
    _check_free_values(record)
    converted = times_in_utc(record)
    return replace(record, **converted) if converted else record


class _BatchBuilder:
    def __init__(
        self,
        tenant: str,
        model: str,
        schemas: Callable[[], Mapping[str, SchemaDefinition]],
        *,
        stamp: bool,
    ) -> None:
        self._stamp = stamp
        self._tenant = tenant
        self._model = model
        self._schemas = schemas
        self._known: Mapping[str, SchemaDefinition] | None = None  # `schemas`, asked once
        self._handles: dict[tuple[str, str], Row] = {}  # by schema and key
        self._now = datetime.now(UTC)
        self._records: dict[str, BatchRecord] = {}  # by id
        self._ids: list[str] = []  # the id of each record, in order
        # position of an edge that a record was written with -> the id of that
        self._own_edges: dict[int, str] = {}
        self._edges = EdgeBuilder(self._now)
        self._dims = 0
        # (key, type) of entities without id -> the id made for them here
        self._new_ids: dict[tuple[str, str], str] = {}

    def add(self, item: Record | Edge) -> None:
        if isinstance(item, Edge):
            self._edges.add(item, item.src)
            return
        if type(item) not in WRITABLE:
            raise InvalidInputError(
                f"cannot write a {type(item).__name__}",
                remedy="write Resource, Entity, Moment, Row or Edge values",
            )
        record = self._complete(item)
        prepared = self._prepare(record, item)
        previous = self._records.pop(record.id, None)
        if previous is not None:
            prepared = merge_namesakes(previous, prepared)
        self._records[record.id] = prepared
        self._ids.append(record.id)
        for path in item.graph_paths:
            edge = inline_edge(path)
            if _is_own(edge, prepared):
                if isinstance(record, Row):
                    edge = foreign_key(edge, record, self._schemas_now())
                else:
                    self._own_edges[len(self._edges.edges)] = record.id
            self._edges.add(edge, edge.src or label_of_record(record))

    def batch(self) -> Batch:
        position = {id: number for number, id in enumerate(self._records)}
        positions: tuple[int, ...] = ()
        if len(self._ids) != len(self._records):  # some record was given twice
            positions = tuple(position[id] for id in self._ids)
        return Batch(
            records=tuple(self._records.values()),
            edges=tuple(self._edges.edges),
            own_edges={number: position[id] for number, id in self._own_edges.items()},
            names=self._edges.names,
            at=self._now,
            dims=self._dims,
            model=self._model,
            positions=positions,
        )

    def _complete(self, item: Record) -> Record:
        """Fill in id, name, hash and times, and take out what is stored elsewhere."""
        if converted := times_in_utc(item):
            item = replace(item, **converted)
        if isinstance(item, Resource):
            item = replace(
                item,
                name=item.name or _name_of(item),
                content_hash=content_hash(said_text(item)),
                # what has parents was derived
                generation=item.generation or int(bool(item.parents)),
                parents=(),
                premises={},
                rests_on=checked_slots(item.rests_on) if item.rests_on else (),
                replaces="",
                amends="",
                reason="",
                since=None,
            )
        if isinstance(item, Moment):
            item = replace(item, premises={})
        if isinstance(item, Row):
            item = self._complete_row(item)
        return replace(
            item,
            id=item.id or self._new_id(item),
            graph_paths=(),
            embedding=None,
            created_at=item.created_at or self._now,
            updated_at=self._now,
        )

    def _schemas_now(self) -> Mapping[str, SchemaDefinition]:
        if self._known is None:
            self._known = self._schemas()
        return self._known

    def _complete_row(self, item: Row) -> Row:
        schemas = self._schemas_now()
        if not isinstance(item.schema, str) or item.schema not in schemas:
            raise UnknownNameError("schema", str(item.schema), [*SCHEMAS, *schemas])
        row = complete_row(item, schemas[item.schema])
        row = replace(row, id=row.id or row_id(self._tenant, row.schema, row.handle))
        known = self._handles.setdefault((row.schema, labels.key(row.handle)), row)
        if known.id != row.id:
            raise same_handle(row, known)
        return row

    def _new_id(self, item: Record) -> str:
        if isinstance(item, Resource):
            return resource_id(self._tenant, item)
        if isinstance(item, Moment):
            return new_id()
        # An entity that is named twice in a batch is one.
        name = (labels.key(item.name), item.type)
        return self._new_ids.get(name) or self._new_ids.setdefault(name, new_id())

    def _prepare(self, record: Record, item: Record) -> BatchRecord:
        """Make of a completed record what a store takes; `item` is the record as it was given."""
        _check_free_values(record)
        record = _as_read_back(record)
        admit_new(record)
        vectors: tuple[Vector, ...] = ()
        embedded = embedded_text(record)
        if item.embedding is not None:
            rows, dims = to_vectors(item.embedding, what=f"embedding of {record.name[:60]!r}")
            self._check_dims(dims)
            vectors = tuple(Vector(0, len(embedded), data) for data in rows)
        return BatchRecord(
            record=record,
            keys=keys_of(record),
            text=searchable_text(record),
            vectors=vectors,
            parents=(item.parents or None) if isinstance(item, Resource) else None,
            premises=premises_in(item),
            stamp=self._stamp,
            embed=bool(self._model and not vectors and embedded.strip()),
            merge=isinstance(record, Entity | Row) and not item.id,
            # A resource is given the same id again for the same text, a row for the same handle.
            fresh=not isinstance(record, Resource | Row) and not item.id,
            replacing=replacing(item, self._now) if isinstance(item, Resource) else None,
        )

    def _check_dims(self, dims: int) -> None:
        if self._dims and dims != self._dims:
            raise VectorError(f"vectors of {self._dims} and of {dims} dimensions in one batch")
        self._dims = dims


def _is_own(edge: Edge, item: BatchRecord) -> bool:
    return not edge.src or labels.key(edge.src) in item.keys


def _name_of(resource: Resource) -> str:
    if resource.uri:
        return f"{resource.uri}#{resource.ordinal}"
    words = resource.content.split(None, 9)[:8]
    if not words:
        raise LabelError(
            "a resource needs a name, a uri or content", label="", remedy="give it a name"
        )
    return " ".join(words)[:200]


def _check_free_values(record: Record) -> None:
    if free := free_values(record):
        check_json(free, "properties" if isinstance(record, Entity) else "metadata")


def _as_read_back(record: Record) -> Record:
    """Return the record as it will be read back. Structs do not check their fields: what cannot be
    read must not get in."""
    try:
        return _DECODERS[type(record)].decode(encode_strict(record))
    except msgspec.ValidationError as error:
        raise InvalidInputError(
            f"it cannot be stored: {error}", remedy=NOT_STORABLE_REMEDY
        ) from error
