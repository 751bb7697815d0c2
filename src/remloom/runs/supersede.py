"""Superseding: a derived record takes the place of another one, which no search finds any more."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from ..errors import InvalidInputError
from ..kv import Entry
from ..model import Resource
from ..store.batch import Batch, BatchRecord, Preconditions
from ..store.contract import Store
from ..store.specs import SearchSpec
from .before_images import BeforeImages
from .write_plan import made_by_run

__all__ = ["SUPERSEDED", "SupersedePlan", "plan_supersede"]

# in the metadata of a record that another one took the place of: by, run, content
SUPERSEDED = "superseded"
# the best matches of a search, among which the new record must be
_SEARCH_LIMIT = 10


class SupersedePlan(Struct, frozen=True):
    """The records to hide, what they are now, and how many new ones no search finds."""

    hidden: tuple[BatchRecord, ...]
    images: tuple[Entry, ...]
    expected: dict[str, datetime | None]  # of the old and the new: id to `updated_at`
    unfindable: int

    @property
    def receipt(self) -> dict[str, int]:
        """What hiding them adds to the receipt of the run."""
        receipt = {"superseded": len(self.hidden)}
        if self.unfindable:
            receipt["not_found_again"] = self.unfindable
        return receipt

    def to_batch(self, model: str, expected_entries: Mapping[tuple[str, str], int]) -> Batch:
        return Batch(
            self.hidden,
            model=model,
            entries=self.images,
            expected=Preconditions(records=self.expected, entries=dict(expected_entries)),
        )


def plan_supersede(store: Store, pairs: Mapping[str, str], run_id: str) -> SupersedePlan:
    """Look up which of the old records can be hidden; `pairs` maps their ids to those of the new.

    An old record stays as it is until a search finds the new one by its own text.

    Raises:
        InvalidInputError: an old record was read, not derived.
    """
    images = BeforeImages(store, run_id)
    hidden: list[BatchRecord] = []
    entries: list[Entry] = []
    expected: dict[str, datetime | None] = {}
    unfindable = 0
    for old_id, new_id in pairs.items():
        old, new = store.records.get("resources", old_id), store.records.get("resources", new_id)
        if not isinstance(old, Resource) or not isinstance(new, Resource):
            continue
        if SUPERSEDED in old.metadata:
            continue
        if not old.generation:
            raise InvalidInputError(
                f"{old.name!r} was read, not derived: no run may supersede it",
                remedy="forget it, if it is to go",
                id=old.id,
            )
        if not _is_findable(store, new):
            unfindable += 1
            continue
        item = _hide(store, old, new_id, run_id)
        hidden.append(item)
        expected |= {old.id: old.updated_at, new.id: new.updated_at}
        if not made_by_run(old, run_id):
            entries.append(images.of_record(old, item))
    return SupersedePlan(tuple(hidden), tuple(entries), expected, unfindable)


def _hide(store: Store, record: Resource, by: str, run_id: str) -> BatchRecord:
    """The record with its text moved into the metadata, where no search looks."""
    superseded = {"by": by, "run": run_id, "content": record.content}
    hidden = replace(
        record,
        content="",
        context="",
        updated_at=datetime.now(UTC),
        metadata={**record.metadata, SUPERSEDED: superseded},
    )
    keys = (labels.key(hidden.name),)
    return BatchRecord(hidden, keys, text="", parents=tuple(store.records.parents(record.id)))


def _is_findable(store: Store, record: Resource) -> bool:
    """Whether a search for a record's own text finds it."""
    windows = store.vectors.get(record.id)
    if windows:
        import numpy as np

        vector = np.frombuffer(windows[0].data, np.float32).tolist()
        matches = store.search.vector(vector, SearchSpec(schema="resources", limit=_SEARCH_LIMIT))
    else:
        matches = store.search.text(
            record.content,
            SearchSpec(schema="resources", limit=_SEARCH_LIMIT),
        )
    return any(match.record.id == record.id for match in matches)
