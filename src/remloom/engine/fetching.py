"""Fetching records and edges by id, label, time and field."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import TypeVar, get_args

from .. import labels
from ..errors import InvalidInputError, NotFoundError, UnknownNameError
from ..model import Direction, Edge, Entity, Moment, Record, Resource, label_of_record
from ..predicates import Query
from ..store.contract import Reads, Store
from ..store.encoding import SCHEMAS
from ..store.meanings import by_id, no_own_label, own_keys, several_meanings
from ..store.premises import mark_edges
from ..store.specs import EdgeOrder, EdgeSpec
from .arguments import check_aware, check_limit, check_query, check_text, edge_type_names

LEAST_PREFIX = 8  # characters of an id that may stand for it
_R = TypeVar("_R", Resource, Entity, Moment)


def fetch(reads: Reads, kind: type[_R], id: str) -> _R:
    """Get the record of a kind with this id, or the only one whose id begins so.

    Raises:
        NotFoundError: there is none.
        AmbiguousLabelError: several ids begin so.
    """
    record = by_id(reads, check_text(id, "an id"))
    if record is None or record.schema != kind.schema:
        raise NotFoundError(
            f"no record of {kind.schema} has the id {id!r}",
            remedy="look it up by its label",
            id=id,
            schema=kind.schema,
        )
    return record  # type: ignore[return-value]  # a record of a schema is of its kind


def find_by_id(reads: Reads, id: str) -> Record:
    """Get the record of any schema that has this id, or alone an id that begins so.

    Raises:
        NotFoundError: there is none.
        AmbiguousLabelError: there are several; the error names them.
    """
    record = by_id(reads, check_text(id, "an id"))
    if record is None:
        raise NotFoundError(
            f"no record has the id {id!r}",
            remedy=f"give its id, or the first {LEAST_PREFIX} characters of it or more",
            id=id,
        )
    return record


def fetch_at(store: Store, kind: type[_R], id: str, as_of: datetime | None) -> _R:
    """Get a record of a kind as it was at a time, or as it is; see `Memory.get_entity`."""
    record = fetch(store, kind, id)
    if as_of is None:
        return record
    from ..store.as_of import known_at

    check_aware(as_of)
    past = known_at(store, record, as_of)
    if past is None:
        raise NotFoundError(
            f"{record.name!r} was not there at {as_of.isoformat()}",
            remedy=f"it was first written at {record.created_at}",
            id=id,
        )
    return past  # type: ignore[return-value]  # what it was is of its kind


def label_of(reads: Reads, label_or_id: str) -> str:
    """Give a label at which the edges of the record are that has this id, or else the label.

    Raises:
        AmbiguousLabelError: the record is only called as others are handled: no edge is its own.
    """
    record = reads.records.get(None, label_or_id) if may_be_id(label_or_id) else None
    if record is None:
        return label_or_id
    (own,) = own_keys(reads, [record])
    label = label_of_record(record)
    if not own:
        key = labels.key(label)
        namesakes = reads.records.lookup([key], edges=0)
        raise no_own_label(record, several_meanings(namesakes).get(key, ()))
    return label if labels.key(label) == own else own


def may_be_id(label_or_id: str) -> bool:
    """Say whether a text has the form of a UUID, as every id has."""
    if not isinstance(label_or_id, str):
        return False
    return len(label_or_id) == 36 and label_or_id.count("-") == 4


def get_edges(
    store: Store,
    label_or_id: str,
    *,
    direction: Direction,
    edge_types: Sequence[str] | None,
    limit: int | None,
    as_of: datetime | None,
) -> list[Edge]:
    """List the edges at a label; see `Memory.get_edges`."""
    if direction not in get_args(Direction):
        raise UnknownNameError("direction", str(direction), get_args(Direction))
    if as_of is not None:
        check_aware(as_of)
    if limit is not None:
        check_limit(limit)
    record = store.records.get(None, label_or_id) if may_be_id(label_or_id) else None
    # a record that is only called as a row's handle has no edge there
    own = [labels.key(label_or_id)] if record is None else own_keys(store, [record])
    spec = EdgeSpec(
        [key for key in own if key],
        direction=direction,
        rel_types=edge_type_names(edge_types) or None,
        limit=limit,
        order=EdgeOrder(),
        as_of=as_of,
    )
    return mark_edges(store.records, store.graph.edges(spec))


def moments_between(store: Store, start: datetime, end: datetime) -> list[Moment]:
    """List the moments that overlap [start, end); see `Memory.get_moments_by_time`."""
    for at in (start, end):
        check_aware(at)
    if end < start:
        window = f"{end.isoformat()}, before it starts {start.isoformat()}"
        raise InvalidInputError(f"the window ends {window}")
    return store.records.moments_between(start, end)


def query(store: Store, kind: type[_R], query: Query) -> list[_R]:
    """List the records of a kind for which a query's predicates hold."""
    return store.records.query(kind.schema, check_query(query))  # type: ignore[return-value]


def create_index(store: Store, schema: str, field: str) -> None:
    """Index a field of a schema, or of a type of entities; see `Memory.create_index`."""
    known = [*SCHEMAS, *store.schemas()]
    if isinstance(schema, str) and schema.lower() not in known:
        # seed 2 names types of entities here; what is nearly a schema is a spelling mistake
        if not schema.strip() or get_close_matches(schema.lower(), known, n=1, cutoff=0.8):
            raise UnknownNameError("schema", schema, known)
        schema = "entities"
    store.sql.create_index(schema.lower() if isinstance(schema, str) else schema, field)
