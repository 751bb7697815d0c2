"""What derived records that are read show of what they were derived from.

It is kept beside them. What was only read (generation 0) has none, and costs no statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import force_setattr

from ..model import Record, Resource


def derived(records: Iterable[Record]) -> list[Resource]:
    """List the derived ones of some records."""
    return [record for record in records if isinstance(record, Resource) and record.generation]


def unique_ids(records: Iterable[Record]) -> list[str]:
    """List the ids of some records, each once."""
    return list(dict.fromkeys(record.id for record in records))


def attach_parents(records: Sequence[Record], rows: Iterable[tuple[str, str]]) -> None:
    """Set `parents` of records, by rows of a record and of one that it was derived from."""
    parents: dict[str, tuple[str, ...]] = {}
    for child, parent in rows:
        parents[child] = (*parents.get(child, ()), parent)
    for record in records:
        if record.id in parents:
            force_setattr(record, "parents", parents[record.id])
