"""A run's only way to the store: what it writes can be told beforehand, and taken back."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from ..errors import InvalidInputError
from ..model import Edge, Entity, Moment, Record, Resource
from ..store import batch as batches
from ..store.contract import Batch, BatchRecord, JournalEntry, Store, Vector
from .runs import BEFORE_EDGE, BEFORE_RECORD, MADE, Diff, Run, Status, entry

__all__ = ["SUPERSEDED", "BeforeEdge", "BeforeRecord", "Embed", "Made", "Writer", "edge_place", "merged"]

SUPERSEDED = "superseded"  # in the metadata of a record that another took the place of: by, run, content
FOUND_AMONG = 10  # the best hits of a search, among which a new record must be before it supersedes another

Embed = Callable[[Sequence[str]], list[tuple[Vector, ...]]]


class Made(Struct, frozen=True):
    """What one write of a run made: records by id, and journal entries beside the run's own."""

    ids: tuple[str, ...]
    noted: tuple[tuple[str, str], ...] = ()


class BeforeRecord(Struct, frozen=True):
    """A record as it was before a run changed it."""

    schema: str
    record: msgspec.Raw
    parents: tuple[str, ...]
    vectors: tuple[Vector, ...]
    stamp: datetime  # `updated_at` as the run left it


class BeforeEdge(Struct, frozen=True):
    """An edge as it was before a run wrote it (None: it was not), and as the run left it."""

    before: Edge | None
    after: Edge


class Writer:
    """Writes for one run.

    Args:
        store, tenant: where.
        run: who.
        model: name of the embedder; empty: there is none.
        embed: makes the windows of texts, so that what is written can be found at once. None: they are queued.
        dry_run: write nothing, and collect what would be in `diff`.
    """

    def __init__(
        self, store: Store, tenant: str, run: Run, *, model: str = "", embed: Embed | None = None, dry_run: bool = False
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
        last = store.journal(MADE, prefix=f"{run.id}/", limit=1, newest_first=True)
        self._next = int(last[0].id.rpartition("/")[2]) + 1 if last else 0

    @property
    def run(self) -> Run:
        """The run as it stands."""
        with self._counting:
            counts, receipt = dict(self._counts), dict(self._receipt)
        return replace(self._run, counts=counts, receipt=receipt, seen_at=datetime.now(UTC))

    @property
    def diff(self) -> Diff:
        """What a dry run would have written so far."""
        return self._diff

    def count(self, **numbers: int) -> None:
        """Add to the run's counts; stored with the next write."""
        with self._counting:
            self._counts.update(numbers)

    def write(
        self,
        records: Iterable[Record] = (),
        edges: Iterable[Edge] = (),
        *,
        superseded: Mapping[str, str] = {},
        journal: Iterable[JournalEntry] = (),
        struck: Iterable[tuple[str, str]] = (),
    ) -> list[str]:
        """Write records and edges as one batch that can be taken back; returns the records' ids, in order.

        What is there already just so is left alone. `superseded` maps ids of derived records to the ids of those that
        take their place: once that one was found again by a search, the old one keeps its id, name, edges, parents and
        children, but no search finds it any more. `journal` entries are written, and `struck` ones removed, in the
        same transaction; a rollback removes the former.

        Raises:
            InvalidInputError: as `Memory.write`; also a source that would be superseded.
        """
        with self._lock:
            notes, gone = tuple(journal), tuple(struck)
            ids = self._write(list(records), list(edges), notes, gone)
            if superseded:
                self._supersede(superseded)
            return ids

    def save(self) -> None:
        """Store the run's counts, as a sign of life."""
        if not self._dry:
            self._store.note([entry(self.run)])

    def finish(self, status: Status = "done", reason: str = "") -> Run:
        """End the run; returns it as it was stored."""
        run = replace(self.run, status=status, reason=reason, finished_at=datetime.now(UTC))
        if not self._dry:
            self._store.note([entry(run)])
        self._run = run
        return run

    # -- records and edges -----------------------------------------------------------------------------------

    def _write(
        self,
        records: list[Record],
        edges: list[Edge],
        notes: tuple[JournalEntry, ...],
        struck: tuple[tuple[str, str], ...],
    ) -> list[str]:
        built = batches.build(
            [*(self._stamped(record) for record in records), *edges], tenant=self._tenant, model=self._model
        )
        ids = [item.record.id for item in built.records]
        ids = [ids[place] for place in built.places] if built.places else ids
        existing, keyed = self._existing(built)
        changed = [item for item in built.records if not _same(existing.get(item.record.id), item, self._store)]
        fresh = {key for item in changed for key in item.keys if not keyed.get(key)}
        before = self._edges(built.edges)
        written = [
            edge
            for edge, at in zip(built.edges, map(edge_place, built.edges), strict=True)
            if merged(before.get(at), edge) != before.get(at)
        ]
        with self._counting:
            self._receipt.update(
                records=len(changed),
                edges=len(written),
                unchanged=len(built.records) - len(changed),
                merged=sum(edge_place(edge) in before for edge in written),
                updated=sum(item.record.id in existing for item in changed),
            )
        if self._dry:
            self._diff = Diff(
                records=(*self._diff.records, *(_with_parents(item) for item in changed)),
                edges=(*self._diff.edges, *((before.get(edge_place(edge)), edge) for edge in written)),
                superseded=self._diff.superseded,
            )
            return ids
        mine = [
            *(self._before_record(keep, item) for item in changed for keep in self._kept(existing, keyed, item)),
            *(self._before_edge(edge, before, keyed, changed) for edge in written if not {edge.src, edge.dst} & fresh),
        ]
        made = Made(
            tuple(item.record.id for item in changed if item.record.id not in existing),
            tuple((note.kind, note.id) for note in notes),
        )
        if made.ids or made.noted:
            mine.append(JournalEntry(MADE, f"{self._run.id}/{self._next:08}", msgspec.json.encode(made)))
            self._next += 1
        done = self._store.write(
            replace(
                self._embedded(built, changed),
                edges=tuple(written),
                places=(),
                struck=struck,
                journal=(*notes, *mine, entry(self.run)),
            )
        )
        real = {item.record.id: id for item, id in zip(changed, done.ids, strict=True)}  # an entity joins its namesake
        return [real.get(id, id) for id in ids]

    def _stamped(self, record: Record) -> Record:
        if isinstance(record, Resource | Moment):
            return replace(record, metadata={**record.metadata, "run": self._run.id})
        return record

    def _existing(self, built: Batch) -> tuple[dict[str, Record], dict[str, list[Record]]]:
        """What is stored under the ids, and at the labels, that the batch speaks of."""
        existing = {
            item.record.id: found
            for item in built.records
            if not item.fresh and (found := self._store.get(None, item.record.id)) is not None
        }
        keys = {key for item in built.records for key in item.keys}
        keys.update(end for edge in built.edges for end in (edge.src, edge.dst))
        return existing, self._store.lookup(list(keys), edges=0) if keys else {}

    def _kept(self, existing: dict[str, Record], keyed: dict[str, list[Record]], item: BatchRecord) -> list[Record]:
        """The stored records that writing this one may change."""
        if (found := existing.get(item.record.id)) is not None:
            return [] if self._made(found) else [found]
        if item.merge:
            return [record for record in keyed.get(item.keys[0], ()) if isinstance(record, Entity)]
        return []

    def _made(self, record: Record) -> bool:
        return isinstance(record, Resource | Moment) and record.metadata.get("run") == self._run.id

    def _before_record(self, old: Record, item: BatchRecord) -> JournalEntry:
        """A record as it is now; as it was, if this run has changed it before."""
        place = f"{self._run.id}/{old.id}"
        stamp = item.record.updated_at or datetime.now(UTC)
        if (kept := self._store.journal_entry(BEFORE_RECORD, place)) is not None:
            data = replace(msgspec.json.decode(kept.data, type=BeforeRecord), stamp=stamp)
        else:
            parents, vectors = tuple(self._store.parents(old.id)), tuple(self._store.vectors(old.id))
            data = BeforeRecord(old.schema, msgspec.Raw(msgspec.json.encode(old)), parents, vectors, stamp)
        return JournalEntry(BEFORE_RECORD, place, msgspec.json.encode(data), subjects=(old.id,))

    def _edges(self, edges: Sequence[Edge]) -> dict[str, Edge]:
        """The stored edges in whose place these come, by `edge_place`."""
        known = set(self._store.rel_types())
        types = sorted({edge.rel_type for edge in edges} & known)
        if not types:
            return {}
        sources = list({edge.src for edge in edges})
        wanted = {edge_place(edge) for edge in edges}
        found = self._store.edges(sources, direction="out", rel_types=types, limit=None)
        return {place: edge for edge in found if (place := edge_place(edge)) in wanted}

    def _before_edge(
        self, edge: Edge, before: Mapping[str, Edge], keyed: Mapping[str, list[Record]], changed: Sequence[BatchRecord]
    ) -> JournalEntry:
        at = edge_place(edge)
        old = before.get(at)
        place = f"{self._run.id}/{at}"
        if (kept := self._store.journal_entry(BEFORE_EDGE, place)) is not None:
            data = replace(msgspec.json.decode(kept.data, type=BeforeEdge), after=merged(old, edge))
        else:
            data = BeforeEdge(old, merged(old, edge))
        subjects = {record.id for end in (edge.src, edge.dst) for record in keyed.get(end, ())}
        subjects.update(item.record.id for item in changed if {edge.src, edge.dst} & set(item.keys))
        return JournalEntry(BEFORE_EDGE, place, msgspec.json.encode(data), subjects=tuple(sorted(subjects)))

    def _embedded(self, built: Batch, changed: Sequence[BatchRecord]) -> Batch:
        """The batch of what changed, with the vectors of its texts."""
        records = list(changed)
        dims = built.dims
        if self._embed is not None and (waiting := [n for n, item in enumerate(records) if item.embed]):
            windows = self._embed([batches.embedded_text(records[n].record) for n in waiting])
            for n, vectors in zip(waiting, windows, strict=True):
                records[n] = replace(records[n], vectors=vectors, embed=False)
                dims = dims or len(vectors[0].data) // 4
        return replace(built, records=tuple(records), dims=dims)

    # -- superseding -----------------------------------------------------------------------------------------

    def _supersede(self, pairs: Mapping[str, str]) -> None:
        if self._dry:
            self._diff = replace(self._diff, superseded=(*self._diff.superseded, *pairs.items()))
            return
        changed: list[BatchRecord] = []
        notes: list[JournalEntry] = []
        for old_id, new_id in pairs.items():
            old, new = self._store.get("resources", old_id), self._store.get("resources", new_id)
            if not isinstance(old, Resource) or not isinstance(new, Resource) or SUPERSEDED in old.metadata:
                continue
            if not old.generation:
                raise InvalidInputError(
                    f"{old.name!r} was read, not derived: no run may supersede it",
                    remedy="forget it, if it is to go",
                    id=old.id,
                )
            if not self._found(new):
                with self._counting:
                    self._receipt["not_found_again"] += 1
                continue
            item = self._hidden(old, new_id)
            changed.append(item)
            notes.append(self._before_record(old, item))
        with self._counting:
            self._receipt["superseded"] += len(changed)
        if changed:
            self._store.write(Batch(tuple(changed), model=self._model, journal=(*notes, entry(self.run))))

    def _hidden(self, old: Resource, by: str) -> BatchRecord:
        """The record with its text where no search looks."""
        told = {"by": by, "run": self._run.id, "content": old.content}
        record = replace(
            old, content="", context="", updated_at=datetime.now(UTC), metadata={**old.metadata, SUPERSEDED: told}
        )
        return BatchRecord(record, (labels.key(record.name),), "", parents=tuple(self._store.parents(old.id)))

    def _found(self, record: Resource) -> bool:
        """Whether a search for a record's own text finds it."""
        if windows := self._store.vectors(record.id):
            import numpy as np

            vector = np.frombuffer(windows[0].data, np.float32)
            found = self._store.search_vector(
                vector.tolist(), schema="resources", where=None, limit=FOUND_AMONG, min_score=None
            )
        else:
            found = self._store.search_text(record.content, schema="resources", where=None, limit=FOUND_AMONG)
        return any(match.record.id == record.id for match in found)


def merged(old: Edge | None, new: Edge) -> Edge:
    """What an edge is once it was written over another, as `model.Edge` says."""
    if old is None:
        return new
    return replace(
        old,
        weight=max(old.weight, new.weight),
        properties={**old.properties, **new.properties},
        created_at=min(filter(None, (old.created_at, new.created_at)), default=None),
        valid_from=new.valid_from if old.valid_from is None else min(old.valid_from, new.valid_from or old.valid_from),
        valid_to=new.valid_to or old.valid_to,
    )


def edge_place(edge: Edge) -> str:
    """What an edge between keys is known by in the journal."""
    return sha256("\n".join((edge.src, edge.rel_type, edge.dst)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _same(old: Record | None, item: BatchRecord, store: Store) -> bool:
    """Whether a record is stored just so, apart from when and by which run."""
    if old is None or old.schema != item.record.schema:
        return False
    return _bare(old) == _bare(item.record) and set(store.parents(old.id)) == set(item.parents)


def _bare(record: Any) -> Any:
    if isinstance(record, Resource | Moment):
        record = replace(record, metadata={name: value for name, value in record.metadata.items() if name != "run"})
    return replace(record, created_at=None, updated_at=None)


def _with_parents(item: BatchRecord) -> Record:
    return replace(item.record, parents=item.parents) if isinstance(item.record, Resource) else item.record
