"""References between records: what moments are about, and what derived records came from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from msgspec.structs import force_setattr, replace

from ...model import Moment, Record, Resource


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


def show_parents(
    records: Iterable[Record], fetch: Callable[[list[str]], Iterable[tuple[str, str]]]
) -> None:
    """Set `parents` of the derived ones of these records.

    What was only read (generation 0) has none, and costs no statement.

    Args:
        fetch: gives (id, id of a parent) for each parent of the records with these ids.
    """
    found = [record for record in records if isinstance(record, Resource) and record.generation]
    if not found:
        return
    parents: dict[str, tuple[str, ...]] = {}
    for child, parent in fetch(list(dict.fromkeys(record.id for record in found))):
        parents[child] = (*parents.get(child, ()), parent)
    for record in found:
        if record.id in parents:
            force_setattr(record, "parents", parents[record.id])
