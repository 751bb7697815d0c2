"""Confirming: what is stale still holds, somebody says, of what it rests on as that is now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from ..engine.engine import Engine
from ..engine.fetching import find_by_id
from ..errors import InvalidInputError
from ..kv import Entry
from ..model import Moment, Record, Resource
from ..model.premises import premises_of
from ..store.contract import Store
from ..store.premises import newest, owners
from ..store.rules.premise_entries import (
    PREMISE,
    LostPremise,
    SlotPremise,
    lost_key,
    premise_entry,
    premises_beside,
    slot_digest,
)
from .lifecycle import run_to_end
from .run import Run, begin_run, retry
from .write_plan import EntryKey
from .writer import Writer

CONFIRMED = "confirmed"  # in the metadata of a record: when it was said to hold still, and by whom


def confirm(engine: Engine, ids: Sequence[str], by: str) -> Run:
    """Say that records hold still; see `Memory.confirm`."""
    store = engine.store
    if not ids:
        raise InvalidInputError("nothing is to be confirmed", remedy="give the ids of records")
    ids = [find_by_id(store, id).id for id in ids]
    for id in ids:
        _derived(store, id)
    # any number of them is one run, which is taken back as a whole
    run = begin_run(store, "confirm", {"ids": list(ids)})
    writer = Writer(store, engine.tenant, run, model=engine.embedder_name, stamp=False)
    at = datetime.now(UTC)

    def write() -> None:
        found = [_derived(store, id) for id in dict.fromkeys(ids)]
        entries = [entry for one in found for entry in _slots(store, one.id, at)]
        gone = [key for one in found for key in lost_premises(store, one.id)]
        writer.write(
            [one.id for one in found],
            [_confirmed(store, one, at, by) for one in found],
            entries=entries,
            deleted=gone,
            # what somebody writes over, or replaces, meanwhile is confirmed as it is then
            expected_records={one.id: one.revision for one in found},
            counts={CONFIRMED: len(found)},
        )

    with run_to_end(writer):
        retry(write)
    return writer.run


def lost_premises(store: Store, id: str) -> Iterator[EntryKey]:
    """The entries that say what a record rests on that is gone."""
    for premise in premises_beside(store.kv, id):
        if isinstance(premise, LostPremise):
            yield PREMISE, lost_key(id, premise.id)


def _derived(store: Store, id: str) -> Resource | Moment:
    record = find_by_id(store, id)
    if isinstance(record, Resource) and (record.generation or premises_beside(store.kv, id)):
        return record
    if isinstance(record, Moment) and record.resource_refs:
        return record
    raise InvalidInputError(
        f"{record.name!r} was derived from nothing, so nothing it rests on can have changed",
        remedy="confirm what is shown as stale",
        id=id,
    )


def _confirmed(store: Store, record: Resource | Moment, at: datetime, by: str) -> Resource | Moment:
    refs = record.resource_refs if isinstance(record, Moment) else store.records.parents(record.id)
    if isinstance(record, Resource):
        # what rests on a text rests on what replaces it from now on
        refs = list(dict.fromkeys(_in_force(store, id) for id in refs))
    found: list[Record | None] = [store.records.get(None, id) for id in refs]
    there = [one for one in found if one is not None]
    told: dict[str, Any] = {"at": at.isoformat(), **({"by": by} if by else {})}
    changes: dict[str, Any] = {
        "premises": premises_of(there),
        "metadata": {**record.metadata, CONFIRMED: told},
    }
    # what has expired is no premise any more
    name = "parents" if isinstance(record, Resource) else "resource_refs"
    changes[name] = tuple(one.id for one in there)
    return replace(record, **changes)


def _in_force(store: Store, id: str) -> str:
    found = newest(store.records, id)
    return found[0] if found is not None and found[1] == "replaced" else id


def _slots(store: Store, id: str, at: datetime) -> Iterator[Entry]:
    for premise in premises_beside(store.kv, id):
        if isinstance(premise, SlotPremise):
            found = owners(store.records, [premise.entity])[premise.entity]
            said = slot_digest(found, premise.attribute)
            yield premise_entry(id, replace(premise, said=said, at=at))
