"""What records were derived from, and what that said: rows of `parents`, and the fields of records
that show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import force_setattr

from ...model import Moment, Record, Resource
from ...model.premises import as_hex, from_hex, says
from ..batch import BatchRecord
from .record_ids import referred_ids

DERIVED, REFERRING = 0, 1  # kinds of parents

# id of a parent, digest of what it said; None: not known, or not a premise
ParentRow = tuple[str, int | None]


def show_parents(
    records: Iterable[Record], fetch: Callable[[list[str]], Iterable[tuple[str, str, int | None]]]
) -> None:
    """Set `parents` and `premises` of those of these records that may have some; what was only
    read has none, and costs no statement. `fetch` gives (id, id of a parent, digest) for each
    parent, and each reference with a digest, of some records."""
    found = [record for record in records if _may_rest_on_others(record)]
    if not found:
        return
    parents: dict[str, list[ParentRow]] = {}
    for child, *parent in fetch(list(dict.fromkeys(record.id for record in found))):
        parents.setdefault(child, []).append(tuple(parent))  # type: ignore[arg-type]
    for record in found:
        set_parents(record, parents.get(record.id, ()))


def set_parents(record: Record, parents: Iterable[ParentRow]) -> None:
    """Set `parents` of a resource, and `premises` of a resource or moment, if there are some."""
    rows = list(parents)
    if rows and isinstance(record, Resource):
        force_setattr(record, "parents", tuple(id for id, _ in rows))
    premises = {id: as_hex(digest) for id, digest in rows if digest is not None}
    if premises:
        force_setattr(record, "premises", premises)


def _may_rest_on_others(record: Record) -> bool:
    if isinstance(record, Resource):
        return record.generation > 0
    return isinstance(record, Moment) and bool(record.resource_refs)


def premises_in(record: Record) -> dict[str, int]:
    """Read the digests that a record gives as its `premises`. Raises InvalidInputError: one is
    none."""
    given = record.premises if isinstance(record, Resource | Moment) else {}
    return {id: from_hex(digest) for id, digest in given.items()}


def unquoted(items: Iterable[BatchRecord]) -> list[str]:
    """List the ids of parents whose digests are taken as these records are written."""
    ids = (
        id for item in items if item.stamp for id in item.parents or () if id not in item.premises
    )
    return list(dict.fromkeys(ids))


def digests(rows: Iterable[Any], decode: Callable[[str, Any, Any], Record]) -> dict[str, int]:
    """Return what records say, by id, from rows of `says`: id, digest, and what `decode` takes of
    a record from before there were digests."""
    return {id: says(decode(*row)) if digest is None else digest for id, digest, *row in rows}


def parent_rows(item: BatchRecord, said: Mapping[str, int]) -> dict[str, tuple[int, int | None]]:
    """Return kind and digest of each parent of a record, and of each record that it refers to.
    `said` has the digests of `unquoted` parents."""
    rows: dict[str, tuple[int, int | None]] = {}
    for id in item.parents or ():
        rows[id] = DERIVED, item.premises.get(id, said.get(id) if item.stamp else None)
    for id in referred_ids(item.record):
        rows[id] = REFERRING, item.premises.get(id)
    return rows
