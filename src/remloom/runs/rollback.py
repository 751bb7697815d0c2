"""Rolling a run back: what it created goes, what it changed is again as it was.

All of it happens in one transaction, or nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import ConflictError
from ..ingest.edges import KNOWN
from ..kv import Entry, KeyRange
from ..model import Edge, EdgeKey, Entity, Moment, Record, Resource
from ..model.supersession import SUPERSEDED, superseded_of
from ..store.batch import Batch, BatchRecord, Preconditions
from ..store.changes import uncovered_entries
from ..store.contract import Store
from ..store.definitions import as_stored
from ..store.encoding import DECODERS, searchable_text
from ..store.forgetting.watch import LAST_FORGETTING
from ..store.rules.merge import keys_of
from ..store.rules.premise_entries import premise_entry
from ..store.rules.provenance import premises_in
from .before_images import (
    BEFORE_EDGE,
    BEFORE_ENTRY,
    BEFORE_RECORD,
    CREATED,
    BeforeEdge,
    BeforeEntry,
    BeforeRecord,
    Created,
    edge_digest,
    edge_state,
    entry_digest,
    last_writer,
)
from .failures import FAILED_ITEM
from .run import (
    LAST_CHANGE,
    Run,
    find_run,
    is_alive,
    last_change_entry,
    last_change_version,
    last_rollback_entry,
    leftovers,
    list_runs,
    retry,
    run_entry,
)


def created_ids(store: Store, run_id: str) -> list[str]:
    """Ids of the records a run created, in order; some may have been forgotten since."""
    return [id for created in _created(store, run_id) for id in created.ids]


def rollback(store: Store, run_id: str) -> Run:
    """Undo a run: an export afterwards holds what it held before, but for what others wrote since.

    What somebody else changed since is left as it is, and counted as `kept` in the receipt; their
    connections to what the run created stay, too. What was forgotten since stays forgotten.

    Raises:
        NotFoundError: there is no such run.
        ConflictError: a run is going on, it was rolled back before, or later runs (or records of
            yours) build on it; the error names them. Nothing was changed.
    """
    return retry(lambda: _Rollback(store, run_id).execute())


class _EdgePlan(Struct, frozen=True):
    current: dict[EdgeKey, Edge | None]  # as stored now
    deleted: list[EdgeKey]
    # as they were before, and those of others that would go with a label
    written: list[Edge]
    kept: int  # changed by somebody else since

    @property
    def ends(self) -> set[str]:
        return {end for edge in self.written for end in (edge.src, edge.dst)}


class _RecordPlan(Struct, frozen=True):
    written: list[BatchRecord]  # as they were before
    current: dict[str, int | None]  # id to `revision` as stored now
    kept: int  # changed by somebody else since
    beside: list[Entry]  # of what they rested on besides


class _EntryPlan(Struct, frozen=True):
    deleted: list[tuple[str, str]]
    written: list[Entry]  # as they were before


class _Rollback:
    """One attempt to roll a run back, by what the store holds as it begins."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        # before anything is read: what is forgotten after that must not be put back
        last = store.kv.get(*LAST_FORGETTING)
        self._forgetting = last.version if last else 0
        self._version = last_change_version(store)
        self._run = run = find_run(store, run_id)
        self._refuse_if_impossible()
        # what the run did, by its own entries
        self._created = list(_created(store, run.id))
        self._created_states = {state for made in self._created for state in made.edge_states}
        self._edge_images = {
            entry.key.rpartition("/")[2]: msgspec.json.decode(entry.value, type=BeforeEdge)
            for entry in self._entries(BEFORE_EDGE)
        }
        self._record_images = [
            msgspec.json.decode(entry.value, type=BeforeRecord)
            for entry in self._entries(BEFORE_RECORD)
        ]
        self._later = [
            other
            for other in list_runs(store)
            if other.id > run.id and other.status != "rolled_back"
        ]
        # what there still is of it
        ids = {id for made in self._created for id in made.ids}
        records = [store.records.get(None, id) for id in ids]
        self._present = {record.id: record for record in records if record is not None}
        self._removed = {
            id: record for id, record in self._present.items() if not self._was_edited(record)
        }

    def execute(self) -> Run:
        store, run = self._store, self._run
        self._refuse_if_built_on()
        edges = self._plan_edges()
        records = self._plan_records(edges.ends)
        entries = self._plan_entries()
        removed = self._removed.values()
        restored_edges = [edge for edge in edges.written if edge_digest(edge) in self._edge_images]
        receipt = {
            "removed": len(removed),
            "restored": len(records.written) + len(restored_edges),
            "unlinked": len(edges.deleted),
            "kept": edges.kept + records.kept + len(self._present) - len(removed),
        }
        rolled_back = replace(
            run,
            status="rolled_back",
            finished_at=datetime.now(UTC),
            receipt=run.receipt | receipt,
        )
        # where edges of others stay at a label, a thin entity keeps its name
        thin_names = {key: (record.name, "") for record in removed for key in keys_of(record)}
        named = [key for one in removed if isinstance(one, Entity) for key in keys_of(one)]
        model, dims = store.vectors.model() or ("", 0)
        batch = Batch(
            tuple(records.written),
            tuple(edges.written),
            names=thin_names,
            deleted=tuple(self._removed),
            deleted_edges=tuple(edges.deleted),
            dims=dims if any(item.vectors for item in records.written) else 0,
            model=model,
            deleted_entries=(*entries.deleted, *leftovers(store, run.id)),
            entries=(
                *entries.written,
                *records.beside,
                *uncovered_entries(store, named, self._removed),
                run_entry(rolled_back),
                last_change_entry(),
                last_rollback_entry(),
            ),
            expected=Preconditions(
                records={**{one.id: one.revision for one in removed}, **records.current},
                edges=edges.current,
                entries={LAST_CHANGE: self._version, LAST_FORGETTING: self._forgetting},
            ),
        )
        written = store.write(batch)
        if not written.stale:
            return rolled_back
        receipt = rolled_back.receipt | {"stale": written.stale}
        return replace(rolled_back, receipt=receipt, stale_ids=written.stale_ids)

    def _was_edited(self, record: Record) -> bool:
        last = self._run.finished_at or self._run.seen_at
        if not last or not record.updated_at:
            return False
        # a run that hides it does not edit it; somebody who says what replaces it does
        if SUPERSEDED in _metadata(record) and superseded_of(record) is None:
            return False
        return record.updated_at > last

    # -- what prevents it --------------------------------------------------------------------------

    def _refuse_if_impossible(self) -> None:
        run = self._run
        if run.status == "rolled_back":
            raise ConflictError(f"run {run.id} was rolled back already", id=run.id)
        for other in list_runs(self._store):
            if other.status == "running" and is_alive(other):
                which = "it" if other.id == run.id else f"the {other.kind} run {other.id}"
                raise ConflictError(
                    f"run {run.id} cannot be rolled back now: {which} is going on ({other.owner})",
                    remedy="wait until it is done, or stop it",
                    id=other.id,
                )

    def _refuse_if_built_on(self) -> None:
        run = self._run
        runs, names = self._builders_on_records()
        runs |= self._builders_on_changes()
        later = [
            id
            for id in sorted(runs, reverse=True)
            if find_run(self._store, id).status != "rolled_back"
        ]
        if later:
            raise ConflictError(
                f"later runs build on run {run.id}: {', '.join(later)}",
                remedy="roll those back first, the newest first",
                id=run.id,
                later=later,
            )
        if names:
            raise ConflictError(
                "records that no run made, or that you changed, were derived from those of run "
                f"{run.id}: " + ", ".join(map(repr, names)),
                remedy="forget those first",
                id=run.id,
                records=names,
            )

    def _builders_on_records(self) -> tuple[set[str], list[str]]:
        """Ids of runs, and names of records of nobody's, that build on records of this run."""
        runs: set[str] = set()
        names: dict[str, None] = {}
        for id, record in self._present.items():
            superseded = _metadata(record).get(SUPERSEDED)
            if isinstance(superseded, dict) and superseded.get("run", self._run.id) != self._run.id:
                runs.add(superseded["run"])
            children = self._store.records.children(id) if id in self._removed else ()
            for child_id in children:
                child = self._store.records.get(None, child_id)
                if child_id in self._removed or child is None:
                    continue
                run_id = str(_metadata(child).get("run", ""))
                if run_id and run_id != self._run.id:
                    runs.add(run_id)
                else:
                    names[child.name] = None
        return runs, list(names)

    def _builders_on_changes(self) -> set[str]:
        """Ids of later runs that changed once more what this run changed."""
        # An item that this run failed at and a later one did, that one did not do again in full.
        failed = [
            entry_digest(kind, id)
            for made in self._created
            for kind, id in made.entry_keys
            if kind == FAILED_ITEM
        ]
        record_ids = [*self._present, *(image.id for image in self._record_images)]
        changes: list[tuple[str, Collection[str]]] = [
            (BEFORE_EDGE, self._edge_images),
            (BEFORE_RECORD, record_ids),
            (BEFORE_ENTRY, failed),
        ]
        return {
            other.id
            for other in self._later
            if any(self._has_image(other, kind, id) for kind, ids in changes for id in ids)
        }

    def _has_image(self, run: Run, kind: str, id: str) -> bool:
        return self._store.kv.get(kind, f"{run.id}/{id}") is not None

    # -- what it wrote -----------------------------------------------------------------------------

    def _plan_edges(self) -> _EdgePlan:
        """Edges of the run go, or are as they were; those of others at its records' labels stay."""
        store = self._store
        keys = [key for record in self._removed.values() for key in keys_of(record)]
        lost_keys = self._lost_keys(keys)
        sources = list(dict.fromkeys(image.after.src for image in self._edge_images.values()))
        stored = [
            *(store.graph.stored_edges(keys, direction="both") if keys else ()),
            *(store.graph.stored_edges(sources, direction="out") if sources else ()),
        ]
        plan = _EdgePlan({}, [], [], 0)
        kept = 0
        for digest, edge in {edge_digest(edge): edge for edge in stored}.items():
            key = edge.key
            image = self._edge_images.get(digest)
            loses_end = edge.src in lost_keys or edge.dst in lost_keys
            if edge_state(edge) in self._created_states or (image and edge == image.after):
                plan.deleted.append(key)
                before = image.before if image else None
                if before is not None and edge_state(before) not in self._created_states:
                    plan.written.append(before)
            elif image is None and not loses_end:
                continue
            else:
                kept += image is not None
                # a text names what is gone only as long as it is known
                is_linked = KNOWN in edge.properties and edge.dst in lost_keys
                if loses_end and not is_linked and not self._is_of_later_run(digest, edge):
                    plan.written.append(edge)
            plan.current[key] = edge
        return replace(plan, kept=kept)

    def _lost_keys(self, keys: Sequence[str]) -> set[str]:
        """Of these keys, those that no record has any more afterwards."""
        records_by_key = self._store.records.lookup(keys, edges=0) if keys else {}
        return {key for key, records in records_by_key.items() if self._are_removed(records)}

    def _are_removed(self, records: Sequence[Record]) -> bool:
        return all(record.id in self._removed for record in records)

    def _is_of_later_run(self, digest: str, edge: Edge) -> bool:
        """Whether a later run made an edge: then it goes with what it leads to."""
        state = edge_state(edge)
        return any(
            self._has_image(other, BEFORE_EDGE, digest)
            or any(state in created.edge_states for created in _created(self._store, other.id))
            for other in self._later
        )

    def _plan_records(self, ends: Collection[str]) -> _RecordPlan:
        """Records that the run changed are as they were, unless somebody else changed them since; a
        thin entity that gave way to one of the run is back if edges lead to it, from `ends`."""
        written: list[BatchRecord] = []
        current: dict[str, int | None] = {}
        beside: list[Entry] = []
        kept = 0
        schemas = self._store.schemas()
        for image in self._record_images:
            before = as_stored(DECODERS[image.schema](image.record), schemas)
            stored = self._store.records.get(image.schema, before.id)
            if before.id in self._removed:
                continue
            if stored is None:
                if self._is_needed_thin(before, ends):
                    keys = tuple(keys_of(before))
                    written.append(BatchRecord(before, keys, searchable_text(before)))
            elif stored.updated_at == before.updated_at:
                # the run did not change it in the end
                continue
            elif stored.updated_at != image.changed_at:
                kept += 1
            else:
                current[before.id] = stored.revision
                written.append(self._restored(image, before))
                beside += [premise_entry(before.id, premise) for premise in image.beside]
        return _RecordPlan(written, current, kept, beside)

    def _restored(self, image: BeforeRecord, before: Record) -> BatchRecord:
        """A record as it was; its vectors, too, if they are those of the embedder in use."""
        model = self._store.vectors.model()
        reworded = bool(image.vectors) and self._store.vectors.get(before.id) != list(image.vectors)
        usable = reworded and model is not None and image.model == model[0]
        return BatchRecord(
            before,
            tuple(keys_of(before)),
            searchable_text(before),
            vectors=image.vectors if usable else (),
            parents=image.parents,
            premises=premises_in(before),
            embed=reworded and not usable,
        )

    def _is_needed_thin(self, record: Record, ends: Collection[str]) -> bool:
        if not isinstance(record, Entity) or not record.thin:
            return False
        keys = keys_of(record)
        if not set(keys) & set(ends):
            return False
        records_by_key = self._store.records.lookup(keys, edges=0)
        return all(map(self._are_removed, records_by_key.values()))

    def _plan_entries(self) -> _EntryPlan:
        """Entries of the run go, or are as they were; what another run wrote since stays."""
        images: dict[tuple[str, str], Entry] = {}
        for entry in self._entries(BEFORE_ENTRY):
            image = msgspec.json.decode(entry.value, type=BeforeEntry)
            restored = Entry(image.kind, image.id, image.data, entry.refs)
            images[image.kind, image.id] = restored
        created = {key for made in self._created for key in made.entry_keys}
        deleted = [
            (entry.namespace, entry.key)
            for kind in (CREATED, BEFORE_RECORD, BEFORE_EDGE, BEFORE_ENTRY)
            for entry in self._entries(kind)
        ]
        written: list[Entry] = []
        for key in (*created, *(images.keys() - created)):
            stored = self._store.kv.get(*key)
            if stored is not None and not self._is_own(key, stored, created):
                continue
            # one that the run wrote and that is gone now was deleted by somebody else
            if key in images and (stored is not None or key not in created):
                written.append(images[key])
            elif stored is not None:
                deleted.append(key)
        return _EntryPlan(deleted, written)

    def _is_own(
        self,
        key: tuple[str, str],
        stored: Entry,
        created: Collection[tuple[str, str]],
    ) -> bool:
        """Whether the run was the last to write an entry, as far as the entry says."""
        return key in created and last_writer(stored) in ("", self._run.id)

    def _entries(self, kind: str) -> list[Entry]:
        return self._store.kv.list(kind, KeyRange(prefix=f"{self._run.id}/"))


def _created(store: Store, run_id: str) -> Iterator[Created]:
    for entry in store.kv.list(CREATED, KeyRange(prefix=f"{run_id}/")):
        yield msgspec.json.decode(entry.value, type=Created)


def _metadata(record: Record) -> Mapping[str, object]:
    return record.metadata if isinstance(record, Resource | Moment) else {}
