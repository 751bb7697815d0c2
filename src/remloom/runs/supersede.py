"""Superseding: a derived record takes the place of another one, which no search finds any more."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from ..errors import InvalidInputError
from ..kv import Entry
from ..model import Resource
from ..model.premises import premises_of
from ..model.supersession import SUPERSEDED
from ..store.batch import Batch, BatchRecord, Preconditions
from ..store.contract import Reads, Store
from ..store.specs import SearchSpec
from ..text.analysis import terms
from .before_images import BeforeImages
from .write_plan import WritePart, made_by_run

# the best matches of a search, among which the new record must be
_SEARCH_LIMIT = 10
STALE = "stale"  # reason
SAID = "said"  # in the metadata of what was hidden: the digest of what took its place
_SAME = 0.999  # cosine of two vectors from which either may be found first


class SupersedePlan(Struct, frozen=True):
    """The records to hide, what they are now, and how many new ones no search would find."""

    hidden: tuple[BatchRecord, ...] = ()
    images: tuple[Entry, ...] = ()
    expected: dict[str, int | None] = {}  # of the old and the stored new: id to `revision`
    unfindable: int = 0

    @property
    def receipt(self) -> dict[str, int]:
        receipt = {"superseded": len(self.hidden)} if self.hidden else {}
        return receipt | ({"not_found_again": self.unfindable} if self.unfindable else {})

    def added_to(self, batch: Batch) -> Batch:
        """The batch that hides the records, too."""
        expected = batch.expected or Preconditions()
        return replace(
            batch,
            records=(*batch.records, *self.hidden),
            entries=(*batch.entries, *self.images),
            expected=replace(expected, records={**self.expected, **expected.records}),
        )


def plan_supersede(
    store: Store, part: WritePart, batch: Batch, images: BeforeImages, run_id: str
) -> SupersedePlan:
    """Look up which of the old records of a part can be hidden. One that is not outdated stays as
    it is unless a search finds the new one, stored or in the batch, by its own text."""
    pairs = {**part.superseded, **part.outdated}
    written = {item.record.id: item for item in batch.records}
    hidden: list[BatchRecord] = []
    entries: list[Entry] = []
    expected: dict[str, int | None] = {}
    unfindable = 0
    for old_id, new_id in pairs.items():
        old, item = store.records.get("resources", old_id), written.get(new_id)
        new = item.record if item else store.records.get("resources", new_id)
        is_outdated = old_id in part.outdated
        if not isinstance(old, Resource) or not isinstance(new, Resource | None):
            continue
        if new is None and not is_outdated:
            continue
        if SUPERSEDED in old.metadata:
            continue
        if not old.generation or old_id in written:
            why = "is written here, too" if old.generation else "was read, not derived"
            raise InvalidInputError(
                f"{old.name!r} {why}: no run may supersede it",
                remedy="supersede it afterwards" if old.generation else "forget it, if it is to go",
                id=old.id,
            )
        if new and not is_outdated and not _is_findable(store, new, item, without=pairs):
            unfindable += 1
            continue
        hiding = _hide(old, new, run_id, is_outdated)
        hidden.append(hiding)
        expected[old.id] = old.revision
        if new and item is None:
            expected[new.id] = new.revision
        if not made_by_run(old, run_id):
            entries.append(images.of_record(old, hiding))
    return SupersedePlan(tuple(hidden), tuple(entries), expected, unfindable)


def unhidden(reads: Reads, record: Resource) -> Resource:
    """A superseded record as it was before."""
    hidden = record.metadata[SUPERSEDED]
    others = {key: value for key, value in record.metadata.items() if key != SUPERSEDED}
    parents = tuple(reads.records.parents(record.id))
    return replace(record, content=str(hidden["content"]), metadata=others, parents=parents)


def _hide(record: Resource, by: Resource | None, run_id: str, is_outdated: bool) -> BatchRecord:
    """The record with its text moved into the metadata, where no search looks."""
    superseded = {"by": by.id if by else "", "run": run_id, "content": record.content}
    if is_outdated:
        superseded["reason"] = STALE
    elif by:
        superseded[SAID] = premises_of([by])[by.id]
    hidden = replace(
        record,
        content="",
        context="",
        updated_at=datetime.now(UTC),
        metadata={**record.metadata, SUPERSEDED: superseded},
    )
    return BatchRecord(hidden, (labels.key(hidden.name),), text="")


def _is_findable(
    store: Store, record: Resource, item: BatchRecord | None, *, without: Collection[str]
) -> bool:
    """Whether a search for a record's own text finds it. `item`: on its way in, else it is
    stored."""
    windows = item.vectors if item else store.vectors.get(record.id)
    if item is not None and not windows:
        # nothing that is stored says better what it says
        return bool(terms(record.content))
    # what will not be found any more takes no place from it
    limit = _SEARCH_LIMIT + (len(without) if item else 0)
    spec = SearchSpec(schema="resources", limit=limit)
    if windows:
        import numpy as np

        vector = np.frombuffer(windows[0].data, np.float32).tolist()
        matches = store.search.vector(vector, spec)
    else:
        matches = store.search.text(record.content, spec)
    if item is None:
        return any(match.record.id == record.id for match in matches)
    as_similar = [
        match
        for match in matches
        if match.score > _SAME and match.record.id != record.id and match.record.id not in without
    ]
    return len(as_similar) < _SEARCH_LIMIT
