"""What is stale among what was found: marked, left out, or alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec.structs import replace

from ..model import RecallHit, Record
from ..model.premises import Stale
from ..store.components import RecordReads
from ..store.premises import FindStale, find_among, record_of

StaleWay: TypeAlias = Literal["mark", "omit", "only"]


class StaleRecords:
    """Tells which records of one question are stale; each is looked up once.

    Args:
        find: gives which of some records are stale.
        way: what becomes of them, as in `RecallOptions.stale`.
    """

    def __init__(self, find: FindStale, way: StaleWay) -> None:
        self._find = find
        self._way = way
        self._found: dict[str, Stale | None] = {}

    def kept(self, records: Iterable[Record]) -> set[str]:
        """The ids of those of some records that may be hits."""
        records = list(records)
        if self._way == "mark":
            return {record.id for record in records}
        is_stale = self._way == "only"
        self._look_up(records)
        return {one.id for one in records if (self._found[one.id] is not None) == is_stale}

    def marked(self, hits: Sequence[RecallHit], records: RecordReads) -> list[RecallHit]:
        """The hits, those of what is stale with the reason and with what changed."""
        self._look_up(hit.record for hit in hits)
        stale = {hit.id: one for hit in hits if (one := self._found[hit.id]) is not None}
        if not stale:
            return list(hits)
        premises = {one.by or one.premise for one in stale.values() if one.premise}
        changed = {id: record_of(records, id) for id in premises}
        return [
            replace(hit, stale=one, changed=changed.get(one.by or one.premise))
            if (one := stale.get(hit.id)) is not None
            else hit
            for hit in hits
        ]

    def _look_up(self, records: Iterable[Record]) -> None:
        new = {one.id: one for one in records if one.id not in self._found}
        found = find_among(new.values(), self._find)
        self._found.update((id, found.get(id)) for id in new)


def stale_last(hits: Sequence[RecallHit]) -> list[RecallHit]:
    """The hits, what is stale behind the others, in their order otherwise."""
    return sorted(hits, key=lambda hit: hit.stale is not None)
