"""A run's only way to the store: what it writes can be told beforehand, and taken back."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from .. import labels
from ..errors import BudgetError, ChangedError, InvalidInputError
from ..model import Edge, Entity, Moment, Record, Resource
from ..store import validation as batches
from ..store.contract import Batch, BatchRecord, JournalEntry, Preconditions, Store, Vector, Written
from ..store.forget import label_subject
from .before_images import (
    BeforeEdge,
    BeforeNote,
    BeforeRecord,
    Made,
    edge_place,
    edge_state,
    merged,
    note_place,
    written_by,
)
from .failures import PARKED
from .run import BEFORE_EDGE, BEFORE_NOTE, BEFORE_RECORD, MADE, Diff, Run, Status, entry

__all__ = ["SUPERSEDED", "Embed", "Writer"]

# in the metadata of a record that another took the place of: by, run, content
SUPERSEDED = "superseded"
_ATTEMPTS = 20  # of a write, while others change what it is about to change
# the best hits of a search, among which a new record must be before it supersedes another
FOUND_AMONG = 10

Embed = Callable[[Sequence[str]], list[tuple[Vector, ...]]]
_T = TypeVar("_T")


class Writer:
    """Writes for one run.

    What it saw before it wrote is looked at again inside the transaction: what others change at the
    same moment is neither lost nor taken for something the run did, and nothing is written that
    rests on what was forgotten meanwhile.

    Args:
        store, tenant: where.
        run: who.
        model: name of the embedder; empty: there is none.
        embed: makes the windows of texts, so that what is written can be found at once. None: they
            are queued.
        dry_run: write nothing, and collect what would be in `diff`.
    """

    def __init__(
        self,
        store: Store,
        tenant: str,
        run: Run,
        *,
        model: str = "",
        embed: Embed | None = None,
        dry_run: bool = False,
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._model = model
        self._embed = embed
        self._dry = dry_run
        self._lock = threading.RLock()  # one write at a time
        self._counting = threading.Lock()  # guards the two counters
        self._run = run
        self._counts = Counter(run.counts)
        self._receipt = Counter(run.receipt)
        self._diff = Diff()

    @property
    def run(self) -> Run:
        """The run as it stands."""
        with self._counting:
            counts, receipt = dict(self._counts), dict(self._receipt)
        return replace(self._run, counts=counts, receipt=receipt, seen_at=datetime.now(UTC))

    @property
    def id(self) -> str:
        """Of the run."""
        return self._run.id

    @property
    def diff(self) -> Diff:
        """What a dry run would have written so far."""
        return self._diff

    def count(self, **numbers: int) -> None:
        """Add to the run's counts; stored with the next write."""
        with self._counting:
            self._counts.update(numbers)

    def count_calls(self, replies: Iterable[object]) -> None:
        """Count what a model was asked: not what the budget did not allow."""
        self.count(calls=sum(not isinstance(reply, BudgetError) for reply in replies))

    def write(
        self,
        records: Iterable[Record] = (),
        edges: Iterable[Edge] = (),
        *,
        superseded: Mapping[str, str] = {},
        journal: Iterable[JournalEntry] = (),
        struck: Iterable[tuple[str, str]] = (),
    ) -> list[str]:
        """Write records and edges as one batch that can be taken back; returns the records' ids, in
        order.

        What is there already just so is left alone. `superseded` maps ids of derived records to the
        ids of those that take their place: once that one was found again by a search, the old one
        keeps its id, name, edges, parents and children, but no search finds it any more. `journal`
        entries are written, and `struck` ones removed, in the same transaction; a rollback undoes
        both. An entry says in `run` which run wrote it.

        Raises:
            GoneError: a parent of a record, or a subject of an entry, is not there (any more).
            InvalidInputError: as `Memory.write`; also a source that would be superseded.
        """
        with self._lock:
            items, notes, gone = (
                [*map(self._stamped, records), *edges],
                tuple(journal),
                tuple(struck),
            )
            ids = self._insistently(lambda: self._write(items, notes, gone))
            if superseded:
                self._insistently(lambda: self._supersede(superseded))
            return ids

    def save(self) -> None:
        """Store the run's counts, as a sign of life."""
        if not self._dry:
            with self._lock:
                self._store.note([entry(self.run)])

    def finish(self, status: Status = "done", reason: str = "") -> Run:
        """End the run; returns it as it was stored."""
        run = replace(self.run, status=status, reason=reason, finished_at=datetime.now(UTC))
        if not self._dry:
            self._store.note([entry(run)])
        self._run = run
        return run

    # -- records and edges -------------------------------------------------------------------------

    def _insistently(self, work: Callable[[], _T]) -> _T:
        """Do it; again from the start, if somebody else changed at the same moment what it looked
        at."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return work()
            except ChangedError:
                continue
        return work()

    def _write(
        self,
        items: Sequence[Record | Edge],
        notes: tuple[JournalEntry, ...],
        struck: tuple[tuple[str, str], ...],
    ) -> list[str]:
        built = batches.build(items, tenant=self._tenant, model=self._model)
        ids = [item.record.id for item in built.records]
        ids = [ids[place] for place in built.places] if built.places else ids
        existing = self._existing(built)
        changed = [
            item
            for item in built.records
            if not _same(existing.get(item.record.id), item, self._store)
        ]
        ready = self._embedded(built, changed) if not self._dry else built
        with self._store.snapshot():
            keyed, before = self._keyed(built), self._edges(built.edges)
        after: dict[str, Edge] = {}
        for edge in built.edges:
            at = edge_place(edge)
            after[at] = merged(after.get(at) or before.get(at), edge)
        written = [
            edge for edge in built.edges if after[edge_place(edge)] != before.get(edge_place(edge))
        ]
        receipt = {
            "records": len(changed),
            "edges": len(written),
            "unchanged": len(built.records) - len(changed),
            "merged": sum(edge_place(edge) in before for edge in written),
            "updated": sum(item.record.id in existing for item in changed),
        }
        touched = (*((note.kind, note.id) for note in notes), *struck)
        stored = {place: self._store.journal_entry(*place) for place in touched}
        parked = self._parked(notes, struck, stored)
        if self._dry:
            self.count(**parked)
            self._diff = Diff(
                records=(*self._diff.records, *(_with_parents(item) for item in changed)),
                edges=(
                    *self._diff.edges,
                    *((before.get(edge_place(edge)), edge) for edge in written),
                ),
                superseded=self._diff.superseded,
            )
            self._received(receipt)
            return ids
        kept = {
            old.id: (old, item) for item in changed for old in self._kept(existing, keyed, item)
        }
        fresh = {
            key
            for item in changed
            if item.record.id not in existing and not item.merge
            for key in item.keys
            if not keyed.get(key)
        }
        places = {edge_place(edge): edge for edge in written}
        own = {at for at, edge in places.items() if {edge.src, edge.dst} & fresh}
        images = [
            *(self._before_record(old, item) for old, item in kept.values()),
            *(
                self._before_edge(after[at], before.get(at), keyed, changed)
                for at in places
                if at not in own
            ),
            *filter(None, map(self._before_note, filter(None, stored.values()))),
        ]
        made = Made(
            tuple(item.record.id for item in changed if item.record.id not in existing),
            tuple((note.kind, note.id) for note in notes),
            tuple(edge_state(after[at]) for at in own),
        )
        if made.ids or made.noted:
            images.append(
                JournalEntry(MADE, f"{self._run.id}/{batches.new_id()}", msgspec.json.encode(made))
            )
        done = self._commit(
            replace(
                ready,
                edges=tuple(written),
                places=(),
                struck=struck,
                journal=(*notes, *images),
                expected=Preconditions(
                    there=_rests_on(changed, existing, notes),
                    records={old.id: old.updated_at for old, _ in kept.values()},
                    edges={
                        (edge.src, edge.rel_type, edge.dst): before.get(at)
                        for at, edge in places.items()
                    },
                ),
            ),
            receipt,
            parked,
        )
        # an entity joins its namesake
        real = {item.record.id: id for item, id in zip(changed, done.ids, strict=True)}
        return [real.get(id, id) for id in ids]

    def _commit(
        self, batch: Batch, receipt: Mapping[str, int], counts: Mapping[str, int] = {}
    ) -> Written:
        """Write a batch, and with it the run, whose receipt and counts it adds to."""
        run = self.run
        numbers, dealt = Counter(run.receipt), Counter(run.counts)
        numbers.update(receipt)
        dealt.update(counts)
        told = entry(run, receipt=dict(numbers), counts=dict(dealt))
        done = self._store.write(replace(batch, journal=(*batch.journal, told)))
        self._received(receipt)
        self.count(**counts)
        return done

    def _parked(
        self,
        notes: Iterable[JournalEntry],
        struck: Iterable[tuple[str, str]],
        stored: Mapping[tuple[str, str], JournalEntry | None],
    ) -> dict[str, int]:
        """How many more items the run has parked once this is written, each counted once, however
        often it fails."""
        own = {
            place for place, entry in stored.items() if entry and written_by(entry) == self._run.id
        }
        more = sum(note.kind == PARKED and (note.kind, note.id) not in own for note in notes)
        fewer = sum(place[0] == PARKED and place in own for place in struck)
        return {"parked": more - fewer} if more - fewer else {}

    def _received(self, receipt: Mapping[str, int]) -> None:
        with self._counting:
            self._receipt.update(receipt)

    def _stamped(self, record: Record) -> Record:
        if isinstance(record, Resource | Moment):
            return replace(record, metadata={**record.metadata, "run": self._run.id})
        return record

    def _existing(self, built: Batch) -> dict[str, Record]:
        """What is stored under the ids that the batch speaks of."""
        return {
            item.record.id: found
            for item in built.records
            if not item.fresh and (found := self._store.get(None, item.record.id)) is not None
        }

    def _keyed(self, built: Batch) -> dict[str, list[Record]]:
        """What is stored at the labels that the batch speaks of."""
        keys = {key for item in built.records for key in item.keys}
        keys.update(end for edge in built.edges for end in (edge.src, edge.dst))
        return self._store.lookup(list(keys), edges=0) if keys else {}

    def _kept(
        self, existing: dict[str, Record], keyed: dict[str, list[Record]], item: BatchRecord
    ) -> list[Record]:
        """The stored records that writing this one may change, or take the place of."""
        if item.merge:
            return [record for record in keyed.get(item.keys[0], ()) if isinstance(record, Entity)]
        named = [record for key in item.keys for record in keyed.get(key, ())]
        kept: list[Record] = [
            record for record in named if isinstance(record, Entity) and record.thin
        ]
        found = existing.get(item.record.id)
        return kept if found is None or self._made(found) else [found, *kept]

    def _made(self, record: Record) -> bool:
        return isinstance(record, Resource | Moment) and record.metadata.get("run") == self._run.id

    def _before_record(self, old: Record, item: BatchRecord) -> JournalEntry:
        """A record as it is now; as it was, if this run has changed it before. It goes when what it
        rests on goes."""
        place = f"{self._run.id}/{old.id}"
        stamp = item.record.updated_at or datetime.now(UTC)
        if (kept := self._store.journal_entry(BEFORE_RECORD, place)) is not None:
            data = msgspec.json.encode(
                replace(msgspec.json.decode(kept.data, type=BeforeRecord), stamp=stamp)
            )
            return replace(kept, data=data)
        parents, vectors = tuple(self._store.parents(old.id)), tuple(self._store.vectors(old.id))
        model = self._store.model()
        raw = msgspec.Raw(msgspec.json.encode(old))
        image = BeforeRecord(old.schema, raw, parents, vectors, stamp, model[0] if model else "")
        subjects = dict.fromkeys((old.id, *parents, *batches.referred(old)))
        return JournalEntry(
            BEFORE_RECORD, place, msgspec.json.encode(image), subjects=tuple(subjects)
        )

    def _edges(self, edges: Sequence[Edge]) -> dict[str, Edge]:
        """The stored edges in whose place these come, by `edge_place`, whether they are in force or
        not."""
        wanted = {edge_place(edge) for edge in edges}
        found = (
            self._store.stored_edges(list({edge.src for edge in edges}), direction="out")
            if edges
            else []
        )
        return {place: edge for edge in found if (place := edge_place(edge)) in wanted}

    def _before_edge(
        self,
        after: Edge,
        before: Edge | None,
        keyed: Mapping[str, list[Record]],
        changed: Sequence[BatchRecord],
    ) -> JournalEntry:
        place = f"{self._run.id}/{edge_place(after)}"
        if (kept := self._store.journal_entry(BEFORE_EDGE, place)) is not None:
            data = replace(msgspec.json.decode(kept.data, type=BeforeEdge), after=after)
        else:
            data = BeforeEdge(before, after)
        ends = {after.src, after.dst}
        subjects = {record.id for end in ends for record in keyed.get(end, ())}
        subjects.update(item.record.id for item in changed if ends & set(item.keys))
        subjects.update(map(label_subject, ends))  # a label may have nothing but its edges
        return JournalEntry(
            BEFORE_EDGE, place, msgspec.json.encode(data), subjects=tuple(sorted(subjects))
        )

    def _before_note(self, stored: JournalEntry) -> JournalEntry | None:
        """A journal entry as it is now; None if this run wrote it, or its image is kept already."""
        if written_by(stored) == self._run.id:
            return None
        at = f"{self._run.id}/{note_place(stored.kind, stored.id)}"
        if self._store.journal_entry(BEFORE_NOTE, at) is not None:
            return None
        image = BeforeNote(stored.kind, stored.id, stored.data)
        return JournalEntry(BEFORE_NOTE, at, msgspec.json.encode(image), subjects=stored.subjects)

    def _embedded(self, built: Batch, changed: Sequence[BatchRecord]) -> Batch:
        """The batch of what changed, with the vectors of its texts."""
        records = list(changed)
        dims = built.dims
        if self._embed is not None and (
            waiting := [n for n, item in enumerate(records) if item.embed]
        ):
            windows = self._embed([batches.embedded_text(records[n].record) for n in waiting])
            for n, vectors in zip(waiting, windows, strict=True):
                records[n] = replace(records[n], vectors=vectors, embed=False)
                dims = dims or len(vectors[0].data) // 4
        return replace(built, records=tuple(records), dims=dims)

    # -- superseding -------------------------------------------------------------------------------

    def _supersede(self, pairs: Mapping[str, str]) -> None:
        if self._dry:
            self._diff = replace(self._diff, superseded=(*self._diff.superseded, *pairs.items()))
            return
        changed: list[BatchRecord] = []
        images: list[JournalEntry] = []
        seen: dict[str, datetime | None] = {}
        missed = 0
        for old_id, new_id in pairs.items():
            old, new = self._store.get("resources", old_id), self._store.get("resources", new_id)
            if (
                not isinstance(old, Resource)
                or not isinstance(new, Resource)
                or SUPERSEDED in old.metadata
            ):
                continue
            if not old.generation:
                raise InvalidInputError(
                    f"{old.name!r} was read, not derived: no run may supersede it",
                    remedy="forget it, if it is to go",
                    id=old.id,
                )
            if not self._found(new):
                missed += 1
                continue
            item = self._hidden(old, new_id)
            changed.append(item)
            seen |= {old.id: old.updated_at, new.id: new.updated_at}
            if not self._made(old):
                images.append(self._before_record(old, item))
        receipt = {"superseded": len(changed)} | ({"not_found_again": missed} if missed else {})
        if not changed:
            self._received(receipt)
            return
        expected = Preconditions(records=seen)
        self._commit(
            Batch(tuple(changed), model=self._model, journal=tuple(images), expected=expected),
            receipt,
        )

    def _hidden(self, old: Resource, by: str) -> BatchRecord:
        """The record with its text where no search looks."""
        told = {"by": by, "run": self._run.id, "content": old.content}
        record = replace(
            old,
            content="",
            context="",
            updated_at=datetime.now(UTC),
            metadata={**old.metadata, SUPERSEDED: told},
        )
        return BatchRecord(
            record, (labels.key(record.name),), "", parents=tuple(self._store.parents(old.id))
        )

    def _found(self, record: Resource) -> bool:
        """Whether a search for a record's own text finds it."""
        if windows := self._store.vectors(record.id):
            import numpy as np

            vector = np.frombuffer(windows[0].data, np.float32)
            found = self._store.search_vector(
                vector.tolist(), schema="resources", where=None, limit=FOUND_AMONG, min_score=None
            )
        else:
            found = self._store.search_text(
                record.content, schema="resources", where=None, limit=FOUND_AMONG
            )
        return any(match.record.id == record.id for match in found)


def _rests_on(
    changed: Sequence[BatchRecord], existing: Mapping[str, Record], notes: Sequence[JournalEntry]
) -> tuple[str, ...]:
    """Ids of what must be there, else none of it may be written."""
    found = {id for item in changed for id in item.parents}
    found.update(
        id
        for item in changed
        if item.record.id not in existing
        for id in batches.referred(item.record)
    )
    found.update(id for note in notes for id in note.subjects)
    return tuple(found - {item.record.id for item in changed})


def _same(old: Record | None, item: BatchRecord, store: Store) -> bool:
    """Whether a record is stored just so, apart from when and by which run."""
    if old is None or old.schema != item.record.schema:
        return False
    return _bare(old) == _bare(item.record) and set(store.parents(old.id)) == set(item.parents)


def _bare(record: Any) -> Any:
    if isinstance(record, Resource | Moment):
        record = replace(
            record,
            metadata={name: value for name, value in record.metadata.items() if name != "run"},
        )
    return replace(record, created_at=None, updated_at=None)


def _with_parents(item: BatchRecord) -> Record:
    return (
        replace(item.record, parents=item.parents)
        if isinstance(item.record, Resource)
        else item.record
    )
