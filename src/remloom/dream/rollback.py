"""Taking a run back: what it made goes, what it changed is again as it was. All in one transaction, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from .. import labels
from ..errors import ConflictError
from ..model import Edge, Moment, Record, Resource
from ..store.batch import searchable_text
from ..store.contract import SCHEMAS, Batch, BatchRecord, JournalEntry, Store, Vector
from .runs import BEFORE_EDGE, BEFORE_RECORD, MADE, Run, alive, entry, find, runs
from .writer import SUPERSEDED, BeforeEdge, BeforeRecord, Made, edge_place, merged

__all__ = ["made", "rollback"]


def made(store: Store, run_id: str) -> list[str]:
    """Ids of the records a run made, in order; some may have been forgotten since."""
    return [id for part in _made(store, run_id) for id in part.ids]


def rollback(store: Store, run_id: str) -> Run:
    """Undo a run: an export afterwards is what it was before, apart from what others wrote in between.

    What somebody else changed since is left as it is, and counted as `kept` in the receipt. What was forgotten since
    stays forgotten.

    Raises:
        NotFoundError: there is no such run.
        ConflictError: it is going on, was rolled back before, or later runs (or records of yours) build on it; the
            error names them. Nothing was changed.
    """
    run = find(store, run_id)
    if run.status == "rolled_back":
        raise ConflictError(f"run {run.id} was rolled back already", id=run.id)
    if run.status == "running" and alive(run):
        raise ConflictError(f"run {run.id} is going on ({run.owner})", remedy="stop it first", id=run.id)
    parts = list(_made(store, run.id))
    ids = {id for part in parts for id in part.ids}
    edges = [(item.id, msgspec.json.decode(item.data, type=BeforeEdge)) for item in _entries(store, BEFORE_EDGE, run)]
    records = [msgspec.json.decode(item.data, type=BeforeRecord) for item in _entries(store, BEFORE_RECORD, run)]
    _refuse_if_built_on(store, run, ids, [id.rpartition("/")[2] for id, _ in edges], records)

    unlinked, restored, kept = _edges(store, [edge for _, edge in edges])
    items, vectors, others = _records(store, records)
    noted = {place for part in parts for place in part.noted if _of(store, place, run)}
    struck = [
        (item.kind, item.id) for kind in (MADE, BEFORE_RECORD, BEFORE_EDGE) for item in _entries(store, kind, run)
    ]
    receipt = {"removed": len(ids), "restored": len(restored) + len(items), "kept": kept + others}
    done = replace(run, status="rolled_back", finished_at=datetime.now(UTC), receipt=run.receipt | receipt)
    model, dims = store.model() or ("", 0)
    store.write(
        Batch(
            tuple(items),
            tuple(restored),
            removed=tuple(ids),
            unlinked=tuple(unlinked),
            model=model,
            struck=(*noted, *struck),
            journal=(entry(done),),
        )
    )
    if vectors:  # until they are there the texts are in the queue, so that nothing is lost in between
        store.embed(vectors, model=model, dims=dims)
    return done


def _refuse_if_built_on(store: Store, run: Run, ids: set[str], places: list[str], records: list[BeforeRecord]) -> None:
    later: dict[str, None] = {}
    foreign: dict[str, None] = {}
    for id in ids:
        found = store.get(None, id)
        if found is None:
            continue
        told = found.metadata.get(SUPERSEDED) if isinstance(found, Resource) else None
        if told and told["run"] != run.id:
            later[told["run"]] = None
        for child in store.children(id):
            if child not in ids and (record := store.get(None, child)) is not None:
                by = _run_of(record)
                (later if by else foreign)[by or record.name] = None
    for other in runs(store):
        if other.id <= run.id:
            break
        if other.status != "rolled_back" and any(
            store.journal_entry(kind, f"{other.id}/{place}")
            for kind, found in ((BEFORE_EDGE, places), (BEFORE_RECORD, [*ids, *(_id(record) for record in records)]))
            for place in found
        ):
            later[other.id] = None
    later = {id: None for id in sorted(later, reverse=True) if find(store, id).status != "rolled_back"}
    if later:
        raise ConflictError(
            f"later runs build on run {run.id}: {', '.join(later)}",
            remedy="roll those back first, the newest first",
            id=run.id,
            later=list(later),
        )
    if foreign:
        raise ConflictError(
            f"records that no run made were derived from those of run {run.id}: {', '.join(map(repr, foreign))}",
            remedy="forget those first",
            id=run.id,
            records=list(foreign),
        )


def _edges(store: Store, entries: list[BeforeEdge]) -> tuple[list[tuple[str, str, str]], list[Edge], int]:
    """Edges to delete, edges to write, and how many are left because somebody else changed them."""
    known = set(store.rel_types())
    types = sorted({item.after.rel_type for item in entries} & known)
    if not types:
        return [], [], 0
    sources = list({item.after.src for item in entries})
    now = {edge_place(edge): edge for edge in store.edges(sources, direction="out", rel_types=types, limit=None)}
    unlinked, restored, kept = [], [], 0
    for item in entries:
        current = now.get(edge_place(item.after))
        if current is None:
            continue
        if (
            merged(current, item.after) != current
            or current.properties != item.after.properties
            or (current.weight != item.after.weight)
        ):
            kept += 1
            continue
        unlinked.append((current.src, current.rel_type, current.dst))
        if item.before is not None:
            restored.append(item.before)
    return unlinked, restored, kept


def _records(store: Store, entries: list[BeforeRecord]) -> tuple[list[BatchRecord], dict[str, tuple[Vector, ...]], int]:
    """Records to write back, the vectors of those whose text is another now, and how many are left as they are."""
    items, vectors, kept = [], {}, 0
    for item in entries:
        old: Record = msgspec.json.decode(item.record, type=SCHEMAS[item.schema])
        current = store.get(item.schema, old.id)
        if current is None or current.updated_at == old.updated_at:
            continue
        if current.updated_at != item.stamp:
            kept += 1
            continue
        text = searchable_text(old)
        changed = bool(item.vectors) and store.vectors(old.id) != list(item.vectors)
        keys = dict.fromkeys(map(labels.key, (old.name, *getattr(old, "aliases", ()))))
        items.append(BatchRecord(old, tuple(keys), text, parents=item.parents, embed=changed))
        if changed:
            vectors[old.id] = item.vectors
    return items, vectors, kept


def _made(store: Store, run_id: str) -> Iterator[Made]:
    for item in store.journal(MADE, prefix=f"{run_id}/"):
        yield msgspec.json.decode(item.data, type=Made)


def _entries(store: Store, kind: str, run: Run) -> list[JournalEntry]:
    return store.journal(kind, prefix=f"{run.id}/")


def _of(store: Store, place: tuple[str, str], run: Run) -> bool:
    """Whether a journal entry is still as this run wrote it."""
    found = store.journal_entry(*place)
    return found is not None and msgspec.json.decode(found.data).get("run", run.id) == run.id


def _run_of(record: Record) -> str:
    found: Any = record.metadata.get("run", "") if isinstance(record, Resource | Moment) else ""
    return str(found)


def _id(record: BeforeRecord) -> str:
    return str(msgspec.json.decode(record.record)["id"])
