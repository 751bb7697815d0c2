"""Former texts: what records said at a time, and say no more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from ...model import Moment, Record, Resource
from ...model.supersession import (
    AMENDED,
    REPLACES,
    SUPERSEDED,
    amended_of,
    is_hidden,
    superseded_of,
    without_mark,
)
from ...store.as_of import changed_after, is_replaced, record_at
from ...store.batch import Vector
from ...store.contract import Store
from ...store.encoding import embedded_text
from ...store.results import Match
from ...store.specs import SearchSpec
from ..scores import score_texts

if TYPE_CHECKING:
    from ...embed.contract import Floats

# gives the vectors of texts; those that it has none of are left out
VectorsOf: TypeAlias = Callable[[Sequence[str]], Mapping[str, "Floats"]]

MOST_CHANGED = 1_000  # records with changes since that are looked at
_MOST_EMBEDDED = 50  # former texts that are compared in meaning: no index has them


class FormerTexts:
    """Gives records as they were at a time, and finds among those that said something else.

    Args:
        question: of former texts beyond `_MOST_EMBEDDED`, those with words of it are compared.
        vectors_of: None: by words alone.
    """

    def __init__(
        self, store: Store, at: datetime, question: str, vectors_of: VectorsOf | None
    ) -> None:
        self.at = at
        self._store = store
        self._question = question
        self._vectors_of = vectors_of
        self._known: dict[str, Record | None] = {}
        self._found: dict[str, Record] = {}  # those that said something else
        self.are_all = True  # whether every record that changed since was looked at

    def record(self, record: Record) -> Record | None:
        """A record as it was; None: it was not there yet, or another one had its place."""
        if record.id not in self._known:
            past = self._known[record.id] = self._as_it_was(record)
            if past is not None and embedded_text(past) != embedded_text(record):
                self._found[record.id] = past
        return self._known[record.id]

    def records(self, records: Iterable[Record]) -> list[Record]:
        """Records as they were, those that were there, in their order."""
        return [past for record in records if (past := self.record(record)) is not None]

    def says_the_same(self, record: Record) -> bool:
        """Whether a record said what it says now, so that the indexes know it."""
        return self.record(record) is not None and record.id not in self._found

    def is_former(self, id: str) -> bool:
        """Whether a record that was looked at said something else."""
        return id in self._found

    def follow(self, record: Record) -> None:
        """Look at what a text took the place of, and what that did."""
        while isinstance(record, Resource) and isinstance(id := record.metadata.get(REPLACES), str):
            older = self._store.records.get("resources", id)
            if older is None or older.id in self._known:
                return
            self.record(older)
            record = older

    def matches(self, text: str, spec: SearchSpec, beside: Sequence[Record]) -> list[Match]:
        """Former texts that have words of a text, scored among others."""
        some = self._within(spec)
        ids = {record.id for record in some}
        found = score_texts(text, [*beside, *some]) if some else []
        return [match for match in found if match.record.id in ids]

    def nearest(self, vector: Sequence[float], spec: SearchSpec) -> list[Match]:
        """Former texts by the cosine of their beginning to a vector."""
        import numpy as np

        query = np.asarray(vector, np.float32)
        scores = {
            record.id: (record, float(self.vectors[record.id] @ query))
            for record in self._within(spec)
            if len(self.vectors.get(record.id, ())) == len(query)
        }
        least = -1.0 if spec.min_score is None else spec.min_score
        return [Match(record, score) for record, score in scores.values() if score >= least]

    def windows(self, id: str) -> list[Vector]:
        """The vector of a former text as a store gives it."""
        found = self.vectors.get(id)
        if found is None:
            return []
        return [Vector(0, len(embedded_text(self._found[id])), found.tobytes())]

    @cached_property
    def vectors(self) -> dict[str, Floats]:
        if self._vectors_of is None or not self._found:
            return {}
        some = [one for one in self._found.values() if embedded_text(one)]
        ranked = [match.record for match in score_texts(self._question, some)]
        chosen = {one.id: embedded_text(one) for one in [*ranked, *some]}
        texts = dict(list(chosen.items())[:_MOST_EMBEDDED])
        vectors = self._vectors_of(list(texts.values()))
        return {id: vectors[text] for id, text in texts.items() if text in vectors}

    def look_through(self) -> None:
        """Look at what changed since."""
        ids, self.are_all = changed_after(self._store, self.at, MOST_CHANGED)
        for id in ids:
            record = self._store.records.get(None, id)
            if record is not None:
                self.record(record)

    def _within(self, spec: SearchSpec) -> list[Record]:
        # a filter is over what records are now
        if spec.where is not None:
            return []
        schemas = {spec.schema, *spec.summaries}
        return [
            record
            for record in self._found.values()
            if (spec.schema is None or record.schema in schemas) and not is_hidden(record)
        ]

    def _as_it_was(self, record: Record) -> Record | None:
        if is_replaced(record, self.at):
            return None
        past = record_at(self._store, record, self.at)
        if past is None or is_replaced(past, self.at):
            return None
        # what was said of it later is said of it still where that change is not kept
        later = [SUPERSEDED] if superseded_of(past) is not None else []
        amended = amended_of(past)
        if amended is not None and amended.at > self.at and not amended.earlier:
            later.append(AMENDED)
        if isinstance(past, Resource):
            return without_mark(past, *later) if later else past
        if isinstance(past, Moment):
            return without_mark(past, *later) if later else past
        return past
