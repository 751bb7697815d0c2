"""What records were derived from, and what that said: rows of `parents`, and the fields of records
that show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import force_setattr

from ...model import Moment, Record, Resource
from ...model.premises import as_hex, from_hex
from ..batch import BatchRecord
from .record_ids import referred_ids

DERIVED, REFERRING = 0, 1  # kinds of parents

# id of a parent, digest of what it said (None: not known, or not a premise), whether it is gone
ParentRow = tuple[str, int | None, bool]


def show_parents(
    records: Iterable[Record], fetch: Callable[[list[str]], Iterable[tuple[Any, ...]]]
) -> None:
    """Set `parents` and `premises` of those of these records that may have some; what was only
    read has none, and costs no statement. `fetch` gives (id, *ParentRow) for each parent, and each
    reference with a digest, of some records."""
    found = [record for record in records if may_rest_on_others(record)]
    if not found:
        return
    parents: dict[str, list[ParentRow]] = {}
    for child, *parent in fetch(list(dict.fromkeys(record.id for record in found))):
        parents.setdefault(child, []).append(tuple(parent))
    for record in found:
        set_parents(record, parents.get(record.id, ()))


def set_parents(record: Record, parents: Iterable[ParentRow]) -> None:
    """Set `parents` of a resource, and `premises` of a resource or moment, if there are some: what
    is gone is a premise still."""
    rows = list(parents)
    if rows and isinstance(record, Resource):
        force_setattr(record, "parents", tuple(id for id, _, gone in rows if not gone))
    premises = {id: as_hex(digest) for id, digest, _ in rows if digest is not None}
    if premises:
        force_setattr(record, "premises", premises)


def may_rest_on_others(record: Record) -> bool:
    """Whether a record may have been made of others; of one that was not, nothing is looked up."""
    if isinstance(record, Resource):
        return record.generation > 0 or bool(record.rests_on)
    # one that dreaming made may have lost all it refers to
    return isinstance(record, Moment) and bool(record.resource_refs or record.is_made)


def premises_in(record: Record) -> dict[str, int]:
    """Read the digests that a record gives as its `premises`. Raises InvalidInputError: one is
    none."""
    given = record.premises if isinstance(record, (Resource, Moment)) else {}
    return {id: from_hex(digest) for id, digest in given.items()}


def parent_rows(item: BatchRecord) -> dict[str, tuple[int, int | None, bool]]:
    """Return, for each parent of a record and each record that it refers to, the kind, the digest,
    and whether that is to be what it says now. (What makes moments, and who gives premises of one,
    says what of all that it refers to it was made of.)"""
    rows: dict[str, tuple[int, int | None, bool]] = {}
    for id in item.parents or ():
        rows[id] = DERIVED, item.premises.get(id), item.stamp and id not in item.premises
    record = item.record
    made_of: tuple[str, ...] = ()
    if item.stamp and isinstance(record, Moment) and not (record.is_made or item.premises):
        made_of = record.resource_refs
    for id in referred_ids(record):
        rows[id] = REFERRING, item.premises.get(id), id in made_of
    return rows
