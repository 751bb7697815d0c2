"""From what a user writes to a batch that a store can take: everything is checked here, before any
provider.

A batch is refused whole: the first record that cannot be stored names itself in the error, and
nothing is written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace
from uuid_utils import NAMESPACE_URL, uuid5, uuid7

from .. import labels
from ..errors import (
    ConflictError,
    InvalidInputError,
    LabelError,
    RemloomError,
    UnknownNameError,
    VectorError,
)
from ..model import Edge, Entity, Moment, Record, Resource
from .batch import Batch, BatchRecord, Vector
from .json_values import check as check_free

__all__ = [
    "EXTRACTED",
    "Namesake",
    "build",
    "checked",
    "checked_edge",
    "content_hash",
    "embedded_text",
    "free_values",
    "id_taken",
    "merge",
    "namesake",
    "new_id",
    "referred",
    "resource_id",
    "same",
    "searchable_text",
    "thin_entity",
    "to_vector",
    "unchanged",
    "without",
]

# property of an entity known only from reading; goes when somebody writes of it
EXTRACTED = "extracted"

_TICK = timedelta(microseconds=1)  # between edges of one batch, each of which takes longer to build
_STORABLE = "use text, finite numbers, booleans, lists and objects as the model says"
_NAMESPACE = uuid5(NAMESPACE_URL, "https://remloom.dev/resource")
_DECODERS: dict[type, msgspec.json.Decoder[Record]] = {
    kind: msgspec.json.Decoder(kind) for kind in (Resource, Entity, Moment)
}
_encode = msgspec.json.Encoder(order="deterministic").encode
_TIMES: dict[type, tuple[str, ...]] = {
    kind: tuple(
        name for name in kind.__struct_fields__ if name.endswith("_at") or name.startswith("valid_")
    )
    for kind in (Resource, Entity, Moment, Edge)
}
# fields of which the second is not before the first
_SPANS: dict[type, tuple[tuple[str, str], ...]] = {
    kind: tuple(
        span for span in (("starts_at", "ends_at"), ("valid_from", "valid_to")) if span[0] in fields
    )
    for kind, fields in _TIMES.items()
}


def new_id() -> str:
    """A UUIDv7: ids made later sort later."""
    return str(uuid7())


def content_hash(content: str) -> str:
    """sha256 of the content, in hex."""
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def resource_id(tenant: str, resource: Resource) -> str:
    """The id of a resource that was given none: UUIDv5 of (tenant, uri, ordinal, content hash).

    Without a `uri` the name stands for it, so that the same note written twice is one record.
    """
    place = resource.uri or resource.name
    digest = resource.content_hash or content_hash(resource.content)
    try:
        return str(uuid5(_NAMESPACE, f"{tenant}\n{place}\n{resource.ordinal}\n{digest}"))
    except TypeError as error:  # what cannot be encoded is no text to it
        raise InvalidInputError(
            "the uri or name holds half a surrogate pair",
            remedy="decode it as UTF-8, or rename the file",
        ) from error


def searchable_text(record: Record) -> str:
    """What text search indexes: `embedded_text`, and behind it, if there is any, the context of a
    resource."""
    text = embedded_text(record)
    return (
        f"{text}\n{record.context}"
        if text and isinstance(record, Resource) and record.context
        else text
    )


def embedded_text(record: Record) -> str:
    """What is embedded. Empty for what only its name says: FUZZY finds that."""
    if isinstance(record, Resource):
        return record.content
    if isinstance(record, Entity):
        return f"{record.name}: {record.summary}" if record.summary else ""
    tags = " ".join(record.topic_tags + record.emotion_tags + record.classifications)
    return "\n".join(part for part in (record.name, record.summary, tags) if part)


def to_vector(values: Sequence[float], *, what: str) -> tuple[bytes, int]:
    """Unit-length float32 bytes and the dimension of a vector.

    Raises:
        VectorError: not one-dimensional numbers, empty, NaN, infinite, or of zero length.
    """
    import numpy as np

    try:
        # too large a number becomes infinite, and is refused below
        with np.errstate(over="ignore"):
            vector = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise VectorError(f"{what}: the vector is not a sequence of numbers: {error}") from error
    if vector.ndim != 1 or not vector.size:
        raise VectorError(
            f"{what}: a vector has one dimension and at least one number, not shape {vector.shape}"
        )
    with np.errstate(over="ignore"):
        length = math.sqrt(float(vector @ vector))
    if not math.isfinite(length):
        raise VectorError(
            f"{what}: the vector holds NaN or infinity", remedy="embed the text again"
        )
    if length == 0:
        raise VectorError(
            f"{what}: a vector of zeros has no direction", remedy="leave `embedding` out"
        )
    return (vector / np.float32(length)).tobytes(), vector.size


def build(
    items: Iterable[Record | Edge],
    *,
    tenant: str,
    model: str,
    removed: Iterable[str] = (),
    unlinked: Iterable[tuple[str, str, str]] = (),
) -> Batch:
    """Check and complete what is to be written.

    `model` names the embedder that made (or will make) the vectors; empty means there is none, and
    nothing is queued for embedding. `removed` are ids, `unlinked` edges to delete first.

    Raises:
        InvalidInputError: something that is no record or edge, a naive datetime, an end before its
            start, a weight outside 0..1, metadata that is not JSON.
        LabelError: a name, alias or edge end without a key.
        VectorError: see `to_vector`; also vectors of different dimensions in one batch.
        ConflictError: two schemas under one id.
    """
    if type(items) in _TIMES:
        raise InvalidInputError(
            f"one {type(items).__name__} is no list of them", remedy="write([…])"
        )
    now = datetime.now(UTC)
    records: dict[str, BatchRecord] = {}
    given: list[str] = []  # the id of each record, in order
    edges: list[Edge] = []
    dims = 0
    names: dict[str, tuple[str, str]] = {}
    # (key, type) of entities without id -> the id made for them here
    namesakes: dict[tuple[str, str], str] = {}
    for position, item in enumerate(items):
        try:
            if type(item) not in _TIMES:
                raise InvalidInputError(
                    f"cannot write a {type(item).__name__}",
                    remedy="write Resource, Entity, Moment or Edge values",
                )
            if isinstance(item, Edge):
                edges.append(_edge(item, now, len(edges), item.src, names))
                continue
            record = _complete(item, tenant, now, namesakes)
            prepared, vector_dims = _prepare(record, item, model)
            if vector_dims and dims and vector_dims != dims:
                raise VectorError(f"vectors of {dims} and of {vector_dims} dimensions in one batch")
            dims = vector_dims or dims
            previous = records.pop(record.id, None)
            records[record.id] = (
                prepared if previous is None else _merge_namesakes(previous, prepared)
            )
            given.append(record.id)
            for given_edge in item.graph_paths:
                edge = _inline(given_edge)
                edges.append(_edge(edge, now, len(edges), edge.src or record.name, names))
        except RemloomError as error:
            error.fields.setdefault("position", position)
            name = getattr(item, "name", "") or getattr(item, "rel_type", "")
            error.args = (
                f"item {position} ({type(item).__name__} {str(name)[:60]!r}): {error.message}",
            )
            error.message = error.args[0]
            raise
    places: tuple[int, ...] = ()
    if len(given) != len(records):
        place = {identity: number for number, identity in enumerate(records)}
        places = tuple(place[identity] for identity in given)
    return Batch(
        records=tuple(records.values()), edges=tuple(edges), names=names, deleted=tuple(removed),
        deleted_edges=tuple(unlinked), dims=dims, model=model, positions=places,
    )  # fmt: skip


def checked(record: Record) -> Record:
    """A whole record from elsewhere, its times in UTC.

    Raises:
        InvalidInputError: it has no id, a naive datetime or an end before its start.
    """
    if not record.id:
        raise InvalidInputError(
            f"the record {record.name[:60]!r} has no id", remedy="give it one that no other has"
        )
    check_free(free_values(record), "properties" if isinstance(record, Entity) else "metadata")
    converted = _check_times(record)
    return replace(record, **converted) if converted else record


def checked_edge(edge: Edge) -> Edge:
    """A whole edge from elsewhere. Raises what `build` raises of an edge."""
    return _edge(edge, datetime.now(UTC), 0, edge.src, {})


def _complete(
    item: Record, tenant: str, now: datetime, namesakes: dict[tuple[str, str], str]
) -> Record:
    """The record with id, name, hash and times filled in, and what is stored elsewhere taken out."""
    if converted := _check_times(item):
        item = replace(item, **converted)
    if isinstance(item, Entity):
        identity = item.id
        if not identity:
            key = (labels.key(item.name), item.type)
            identity = namesakes.get(key) or namesakes.setdefault(key, new_id())
    elif isinstance(item, Resource):
        item = replace(
            item,
            name=item.name or _name_of(item),
            content_hash=content_hash(item.content),
            parents=(),
        )
        identity = item.id or resource_id(tenant, item)
    else:
        identity = item.id or new_id()
    created = item.created_at or now
    return replace(
        item, id=identity, graph_paths=(), embedding=None, created_at=created, updated_at=now
    )


def _name_of(resource: Resource) -> str:
    if resource.uri:
        return f"{resource.uri}#{resource.ordinal}"
    words = resource.content.split(None, 9)[:8]
    if not words:
        raise LabelError(
            "a resource needs a name, a uri or content", label="", remedy="give it a name"
        )
    return " ".join(words)[:200]


def _prepare(record: Record, item: Record, model: str) -> tuple[BatchRecord, int]:
    kind, free = (
        ("properties", record.properties)
        if isinstance(record, Entity)
        else ("metadata", record.metadata)
    )
    if free:
        check_free(free, kind)
    record = _validated(record)
    keys: tuple[str, ...] = (labels.key(record.name),)
    merge = fresh = False
    parents: tuple[str, ...] = ()
    if isinstance(record, Entity):
        merge = fresh = not item.id
        if record.aliases:
            keys = tuple(dict.fromkeys((*keys, *map(labels.key, record.aliases))))
    elif isinstance(item, Resource):
        parents = item.parents
    else:
        fresh = not item.id
    vectors: tuple[Vector, ...] = ()
    dims = 0
    if item.embedding is not None:
        data, dims = to_vector(item.embedding, what=f"embedding of {record.name[:60]!r}")
        vectors = (Vector(0, len(embedded_text(record)), data),)
    return BatchRecord(
        record=record,
        keys=keys,
        text=searchable_text(record),
        vectors=vectors,
        parents=parents,
        embed=bool(model and not vectors and embedded_text(record).strip()),
        merge=merge,
        fresh=fresh,
    ), dims


def _validated(record: Record) -> Record:
    """The record as it will be read back. Structs do not check their fields: what cannot be read
    must not get in."""
    try:
        return _DECODERS[type(record)].decode(_json(record))
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"it cannot be stored: {error}", remedy=_STORABLE) from error


def _json(value: Any) -> bytes:
    """A value as JSON, if it can be read back from there. NaN and infinity cannot: they would
    become null."""
    try:
        encoded = msgspec.json.encode(value)
        if b"null" in encoded:
            json.dumps(msgspec.to_builtins(value, str_keys=True), allow_nan=False)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise InvalidInputError(f"it cannot be stored: {error}", remedy=_STORABLE) from error
    return encoded


def same(one: Any, other: Any) -> bool:
    """Whether two values are one as JSON, where 1 is neither 1.0 nor True."""
    return bool(one == other) and _encode(one) == _encode(other)


def unchanged(record: Record, old: Record) -> bool:
    """Whether a record is what is stored, times apart."""
    return replace(record, updated_at=old.updated_at) == old and (
        not (free := free_values(record)) or same(free, free_values(old))
    )


def free_values(record: Record) -> dict[str, Any]:
    """What a record has that is of no type of ours: `properties` or `metadata`."""
    return record.properties if isinstance(record, Entity) else record.metadata


class Namesake(Struct, frozen=True, gc=False):
    """A stored entity that has the key of the name of one that is written."""

    id: str
    type: str | None
    thin: bool = False
    own: bool = (
        # the key is its name or, if it is thin, the label that edges lead to; else only what that
        # one shows
        True
    )


def namesake(twins: Sequence[Namesake], type: str | None) -> str | None:
    """The id of the stored entity that one of this type, given without id, is: the one of its type;
    or else a thin one of its label, or the only thin one that shows this name, if the types allow
    it; or else one of no other type."""
    real = [twin for twin in twins if not twin.thin]
    found = [twin.id for twin in real if twin.type == type] + [
        twin.id for twin in twins if twin.thin and twin.own
    ]
    if not found and (type or not real):
        shown = [twin for twin in twins if twin.thin]
        found = [twin.id for twin in shown if len(shown) == 1 and _kin(twin.type, type)]
    found += [twin.id for twin in real if (not type and len(real) == 1) or not twin.type]
    return found[0] if found else None


def _kin(one: str | None, other: str | None) -> bool:
    """Whether one type is the other, a part of it ("person/employee" of "person"), or none."""
    return (
        not one
        or not other
        or f"{one}/".startswith(f"{other}/")
        or f"{other}/".startswith(f"{one}/")
    )


def thin_entity(key: str, shown: str, type: str, now: datetime) -> tuple[Entity, tuple[str, ...]]:
    """What stands for a label that only edges have, and its keys. It is called what an edge calls
    it (`dst_name`), and has the key of the label for an alias, if its name has another."""
    keys: tuple[str, ...] = (key,)
    aliases: tuple[str, ...] = ()
    try:
        if shown and (name_key := labels.key(shown)) != key:
            keys, aliases = (name_key, key), (key,)
    except LabelError:  # a name of quotes alone
        shown = key
    entity = Entity(
        id=new_id(),
        name=shown or key,
        aliases=aliases,
        type=type,
        thin=True,
        created_at=now,
        updated_at=now,
    )
    return entity, keys


def merge(old: Entity, new: Entity) -> Entity:
    """What is known of an entity after it was written again by name: nothing is lost, newer values
    win."""
    properties = {**old.properties, **new.properties}
    if not (new.properties.get(EXTRACTED) and (old.thin or old.properties.get(EXTRACTED))):
        properties.pop(EXTRACTED, None)
    aliases = dict.fromkeys((*old.aliases, *new.aliases))
    if old.name != new.name and labels.key(old.name) != labels.key(new.name):
        aliases[old.name] = None
    key = labels.key(new.name)
    return replace(
        new,
        id=old.id,
        type=new.type or old.type,
        aliases=tuple(
            alias for alias in aliases if alias in new.aliases or labels.key(alias) != key
        ),
        summary=new.summary or old.summary,
        properties=properties,
        created_at=old.created_at,
    )


def referred(record: Record) -> tuple[str, ...]:
    """The ids that a moment refers to: what it is about, and the moment that it lies in."""
    if not isinstance(record, Moment):
        return ()
    return (
        (*record.resource_refs, record.parent_moment)
        if record.parent_moment
        else record.resource_refs
    )


def without(moment: Moment, gone: Collection[str]) -> Moment:
    """The moment without its references to records that are gone."""
    return replace(
        moment,
        resource_refs=tuple(ref for ref in moment.resource_refs if ref not in gone),
        parent_moment="" if moment.parent_moment in gone else moment.parent_moment,
    )


def id_taken(record: Record, schema: str) -> ConflictError:
    """The error for a record whose id one of another schema has: replacing that would lose it."""
    return ConflictError(
        f"the id {record.id!r} is that of a record of {schema}, not of {record.schema}",
        remedy="leave the id out, and a new one is made", id=record.id, schema=schema,
    )  # fmt: skip


def _merge_namesakes(first: BatchRecord, second: BatchRecord) -> BatchRecord:
    """One batch holds a record twice: the later one counts; of an entity named twice, both do."""
    if first.record.schema != second.record.schema:
        raise id_taken(second.record, first.record.schema)
    if not (
        isinstance(first.record, Entity) and isinstance(second.record, Entity) and second.merge
    ):
        return second
    merged = merge(first.record, second.record)
    return replace(
        second,
        record=merged,
        keys=tuple(dict.fromkeys((second.keys[0], *first.keys, *second.keys))),
        text=searchable_text(merged),
        vectors=second.vectors or first.vectors,
    )


def _inline(given: object) -> Edge:
    """An edge of `graph_paths`: a value, seed 5's JSON object of one, or a path."""
    if isinstance(given, Edge):
        return given
    if isinstance(given, str):
        return Edge.from_path(given)
    if not isinstance(given, Mapping):
        raise InvalidInputError(
            f"graph_paths hold edges, not a {type(given).__name__}",
            remedy='[{"dst": "sarah-chen", "rel_type": "…"}]',
        )
    if unknown := given.keys() - set(Edge.__struct_fields__):
        raise UnknownNameError(
            "field of an edge", str(min(unknown, key=str)), Edge.__struct_fields__
        )
    try:
        return msgspec.convert(dict(given), Edge)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"this is no edge: {error}", remedy=_STORABLE) from error


def _edge(
    edge: Edge, now: datetime, place: int, src: str, names: dict[str, tuple[str, str]]
) -> Edge:
    if converted := _check_times(edge):
        edge = replace(edge, **converted)
    if edge.edge_type is not UNSET:
        if edge.rel_type and edge.rel_type != edge.edge_type:
            raise InvalidInputError(
                f"an edge has one type, not {edge.rel_type!r} and {edge.edge_type!r}",
                remedy="give rel_type alone",
            )
        edge = replace(edge, rel_type=edge.edge_type, edge_type=UNSET)
    if not isinstance(edge.rel_type, str) or not edge.rel_type.strip():
        raise InvalidInputError(
            "an edge needs a rel_type", remedy="for example Edge(src=…, rel_type='manages', dst=…)"
        )
    weight = edge.weight
    if not isinstance(weight, (int, float)) or not 0 <= weight <= 1:
        raise InvalidInputError(f"an edge's weight is between 0 and 1, not {weight!r}")
    source, destination = labels.key(src), labels.key(edge.dst)
    properties = edge.properties
    if not isinstance(properties, dict):
        raise InvalidInputError(
            f"an edge's properties are an object, not {type(properties).__name__}"
        )
    if properties:
        check_free(properties, "properties")
        _json(properties)
    if source not in names:
        names[source] = (str(properties.get("src_name") or src).strip(), "")
    kind = str(properties.get("dst_entity_type") or "")
    if destination not in names or (kind and not names[destination][1]):
        names[destination] = (str(properties.get("dst_name") or edge.dst).strip(), kind)
    return Edge(
        src=source,
        dst=destination,
        rel_type=edge.rel_type.strip(),
        weight=float(weight),
        properties=properties,
        created_at=edge.created_at or now + place * _TICK,
        valid_from=edge.valid_from,
        valid_to=edge.valid_to,
    )


def _check_times(item: Record | Edge) -> dict[str, datetime]:
    """Refuse naive and reversed times; returns those that are to be converted to UTC."""
    converted = {}
    for name in _TIMES[type(item)]:
        at = getattr(item, name)
        if at is None or (type(at) is datetime and at.tzinfo is UTC):
            continue
        if not isinstance(at, datetime):
            raise InvalidInputError(f"{name} must be a datetime, not {type(at).__name__}")
        if at.tzinfo is None or at.utcoffset() is None:
            raise InvalidInputError(
                f"{name} {at.isoformat()} has no time zone",
                remedy="use an aware datetime, e.g. datetime.now(UTC)",
            )
        try:
            converted[name] = at.astimezone(UTC)
        except OverflowError:
            raise InvalidInputError(
                f"{name} {at.isoformat()} is outside the years 1 to 9999 in UTC"
            ) from None
    for first, last in _SPANS[type(item)]:
        starts, ends = getattr(item, first), getattr(item, last)
        if starts is not None and ends is not None and ends < starts:
            raise InvalidInputError(
                f"{last} {ends.isoformat()} is before {first} {starts.isoformat()}"
            )
    return converted
