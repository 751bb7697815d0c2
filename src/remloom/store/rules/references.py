"""References from moments to other records."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from ...model import Moment, Record


def referred_ids(record: Record) -> tuple[str, ...]:
    """List the ids that a moment refers to: what it is about, and the moment that it lies in."""
    if not isinstance(record, Moment):
        return ()
    if not record.parent_moment:
        return record.resource_refs
    return (*record.resource_refs, record.parent_moment)


def without_refs(moment: Moment, ids: Collection[str]) -> Moment:
    """Return the moment without its references to these records."""
    return replace(
        moment,
        resource_refs=tuple(ref for ref in moment.resource_refs if ref not in ids),
        parent_moment="" if moment.parent_moment in ids else moment.parent_moment,
    )
