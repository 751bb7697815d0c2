"""Ids of new records, and ids that records refer to; uris of texts that were remembered one by one,
each with a uri of its own and their source as its origin."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256

from msgspec.structs import replace
from uuid_utils import NAMESPACE_URL, uuid5, uuid7

from ...errors import InvalidInputError
from ...model import Moment, Record, Resource, Row

_NAMESPACE = uuid5(NAMESPACE_URL, "https://remloom.dev/resource")
_ROWS = uuid5(NAMESPACE_URL, "https://remloom.dev/row")
_NO_SOURCE = "remembered"
_DIGEST = 16  # hexadecimal digits


def new_id() -> str:
    """Make a UUIDv7: ids made later sort later."""
    return str(uuid7())


def content_hash(content: str) -> str:
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def resource_id(tenant: str, resource: Resource) -> str:
    """Return the id of a resource that was given none: UUIDv5 of (tenant, uri, ordinal, content
    hash). Without a `uri` the name stands for it, so that the same note written twice is one
    record. Raises InvalidInputError: the uri or name cannot be encoded."""
    origin = resource.uri or resource.name
    digest = resource.content_hash or content_hash(resource.content)
    try:
        return str(uuid5(_NAMESPACE, f"{tenant}\n{origin}\n{resource.ordinal}\n{digest}"))
    except TypeError as error:  # what cannot be encoded is not a text to it
        raise InvalidInputError(
            "the uri or name holds half a surrogate pair",
            remedy="decode it as UTF-8, or rename the file",
        ) from error


def row_id(tenant: str, schema: str, handle: str) -> str:
    """Return the id of a row that was given none: UUIDv5 of (tenant, schema, handle)."""
    return str(uuid5(_ROWS, f"{tenant}\n{schema}\n{handle}"))


def uri_of(source: str, text: str) -> str:
    """The uri of a text from a source, which may be empty."""
    return f"{source or _NO_SOURCE}/{digest_of(text)}"


def origin_of(record: Record) -> str:
    """The source that a text was remembered from, as it was written; of an entity or a moment, the
    uri of what it stands for."""
    if isinstance(record, Resource):
        return record.origin
    return "" if isinstance(record, Row) else record.uri


def digest_of(text: str) -> str:
    """What tells a text from others of its source."""
    return sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]


# -- references ------------------------------------------------------------------------------------


def referred_ids(record: Record) -> tuple[str, ...]:
    """List the ids that a moment refers to: what it is about, and the moment that it lies in."""
    if not isinstance(record, Moment):
        return ()
    if not record.parent_moment:
        return record.resource_refs
    return (*record.resource_refs, record.parent_moment)


def with_ref(record: Record, id: str) -> Record:
    """Return a moment with a reference that it lost, behind the others."""
    if not isinstance(record, Moment) or id in record.resource_refs:
        return record
    return replace(record, resource_refs=(*record.resource_refs, id))


def without_refs(moment: Moment, ids: Collection[str]) -> Moment:
    """Return the moment without its references to these records."""
    return replace(
        moment,
        resource_refs=tuple(ref for ref in moment.resource_refs if ref not in ids),
        parent_moment="" if moment.parent_moment in ids else moment.parent_moment,
    )
