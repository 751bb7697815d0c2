"""Taking a run back: what it made goes, what it changed is again as it was. All in one transaction,
or not at all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import labels
from ..errors import ChangedError, ConflictError
from ..model import Edge, Entity, Moment, Record, Resource
from ..store.contract import SCHEMAS, Batch, BatchRecord, JournalEntry, Preconditions, Store
from ..store.validation import searchable_text
from .before_images import (
    BeforeEdge,
    BeforeNote,
    BeforeRecord,
    Made,
    edge_place,
    edge_state,
    note_place,
    written_by,
)
from .cleanup import leftovers
from .failures import PARKED
from .run import (
    BEFORE_EDGE,
    BEFORE_NOTE,
    BEFORE_RECORD,
    MADE,
    Run,
    alive,
    changed,
    changing,
    entry,
    find,
    runs,
)
from .writer import SUPERSEDED

__all__ = ["made", "rollback"]

_ATTEMPTS = 20  # while others write


def made(store: Store, run_id: str) -> list[str]:
    """Ids of the records a run made, in order; some may have been forgotten since."""
    return [id for part in _made(store, run_id) for id in part.ids]


def rollback(store: Store, run_id: str) -> Run:
    """Undo a run: an export afterwards has what it had before, apart from what others wrote in
    between.

    What somebody else changed since is left as it is, and counted as `kept` in the receipt; their
    connections to what the run made stay, too. What was forgotten since stays forgotten.

    Raises:
        NotFoundError: there is no such run.
        ConflictError: a run is going on, it was rolled back before, or later runs (or records of
            yours) build on it; the error names them. Nothing was changed.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return _Rollback(store, run_id).done()
        except ChangedError:  # somebody wrote in between: look again
            continue
    return _Rollback(store, run_id).done()


class _Edges(Struct, frozen=True):
    """What becomes of edges."""

    seen: dict[tuple[str, str, str], Edge | None]  # as they are now
    unlinked: list[tuple[str, str, str]]
    written: list[Edge]  # as they were before, and those of others that would go with a label
    kept: int  # changed by somebody else since


class _Rollback:
    """One attempt."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._expected = changing(store)
        self._run = run = find(store, run_id)
        if run.status == "rolled_back":
            raise ConflictError(f"run {run.id} was rolled back already", id=run.id)
        for other in runs(store):
            if other.status == "running" and alive(other):
                which = "it" if other.id == run.id else f"the {other.kind} run {other.id}"
                raise ConflictError(
                    f"run {run.id} cannot be rolled back now: {which} is going on ({other.owner})",
                    remedy="wait until it is done, or stop it", id=other.id,
                )  # fmt: skip
        self._parts = list(_made(store, run.id))
        self._states = {state for part in self._parts for state in part.edges}
        entries = self._entries(BEFORE_EDGE)
        self._edges = {
            item.id.rpartition("/")[2]: msgspec.json.decode(item.data, type=BeforeEdge)
            for item in entries
        }
        self._records = [
            msgspec.json.decode(item.data, type=BeforeRecord)
            for item in self._entries(BEFORE_RECORD)
        ]
        self._later = [
            other for other in runs(store) if other.id > run.id and other.status != "rolled_back"
        ]
        ids = {id for part in self._parts for id in part.ids}
        self._found = {id: record for id in ids if (record := store.get(None, id)) is not None}
        self._removed = {
            id: record for id, record in self._found.items() if not self._edited(record)
        }

    def done(self) -> Run:
        """Take it back."""
        store, run = self._store, self._run
        self._refuse_if_built_on()
        edges = self._of_edges()
        items, seen, kept = self._of_records(
            {end for edge in edges.written for end in (edge.src, edge.dst)}
        )
        struck, notes = self._of_notes()
        receipt = {
            "removed": len(self._removed),
            "restored": len(items) + sum(edge_place(edge) in self._edges for edge in edges.written),
            "unlinked": len(edges.unlinked),
            "kept": edges.kept + kept + len(self._found) - len(self._removed),
        }
        model, dims = store.model() or ("", 0)
        going = {record.id: record.updated_at for record in self._removed.values()}
        over = replace(
            run, status="rolled_back", finished_at=datetime.now(UTC), receipt=run.receipt | receipt
        )
        store.write(
            Batch(
                tuple(items),
                tuple(edges.written),
                names={
                    key: (record.name, "")
                    for record in self._removed.values()
                    for key in _keys(record)
                },
                removed=tuple(self._removed),
                unlinked=tuple(edges.unlinked),
                dims=dims if any(item.vectors for item in items) else 0,
                model=model,
                struck=(*struck, *leftovers(store, run.id)),
                journal=(*notes, entry(over), changed()),
                expected=Preconditions(
                    records=going | seen, edges=edges.seen, notes=self._expected
                ),
            )
        )
        return over

    def _edited(self, record: Record) -> bool:
        """Whether somebody else changed a record of the run after it."""
        last = self._run.finished_at or self._run.seen_at
        return bool(
            last
            and record.updated_at
            and record.updated_at > last
            and SUPERSEDED not in _metadata(record)
        )

    # -- what builds on it -------------------------------------------------------------------------

    def _refuse_if_built_on(self) -> None:
        store, run = self._store, self._run
        later: dict[str, None] = {}
        foreign: dict[str, None] = {}
        for id, found in self._found.items():
            told = _metadata(found).get(SUPERSEDED)
            if isinstance(told, dict) and told.get("run", run.id) != run.id:
                later[told["run"]] = None
            for child in store.children(id) if id in self._removed else ():
                if child not in self._removed and (record := store.get(None, child)) is not None:
                    by = str(_metadata(record).get("run", ""))
                    (later if by and by != run.id else foreign)[
                        by if by and by != run.id else record.name
                    ] = None
        # What this run thought about a passage, and did not finish, a later one did not think
        # again.
        begun = [
            note_place(kind, id)
            for part in self._parts
            for kind, id in part.noted
            if kind == PARKED
        ]
        for other in self._later:
            touched = [*self._found, *(_id(record) for record in self._records)]
            if any(
                store.journal_entry(kind, f"{other.id}/{place}")
                for kind, places in (
                    (BEFORE_EDGE, self._edges),
                    (BEFORE_RECORD, touched),
                    (BEFORE_NOTE, begun),
                )
                for place in places
            ):
                later[other.id] = None
        later = {
            id: None
            for id in sorted(later, reverse=True)
            if find(store, id).status != "rolled_back"
        }
        if later:
            raise ConflictError(
                f"later runs build on run {run.id}: {', '.join(later)}",
                remedy="roll those back first, the newest first",
                id=run.id,
                later=list(later),
            )
        if foreign:
            raise ConflictError(
                f"records that no run made, or that you changed, were derived from those of run {run.id}: "
                + ", ".join(map(repr, foreign)),
                remedy="forget those first",
                id=run.id,
                records=list(foreign),
            )

    # -- what it wrote -----------------------------------------------------------------------------

    def _of_edges(self) -> _Edges:
        """Its edges go or are as they were; those of others, at labels that go with its records,
        stay."""
        store = self._store
        held = [key for record in self._removed.values() for key in _keys(record)]
        holders = store.lookup(held, edges=0) if held else {}
        going = {
            key
            for key, records in holders.items()
            if all(record.id in self._removed for record in records)
        }
        sources = list(dict.fromkeys(image.after.src for image in self._edges.values()))
        found = (
            *(store.stored_edges(held, direction="both") if held else ()),
            *(store.stored_edges(sources, direction="out") if sources else ()),
        )
        edges = _Edges({}, [], [], 0)
        kept = 0
        for place, edge in {edge_place(edge): edge for edge in found}.items():
            image = self._edges.get(place)
            at = (edge.src, edge.rel_type, edge.dst)
            goes = bool({edge.src, edge.dst} & going)
            if edge_state(edge) in self._states or (image is not None and edge == image.after):
                edges.unlinked.append(at)
                if (
                    image is not None
                    and image.before is not None
                    and edge_state(image.before) not in self._states
                ):
                    edges.written.append(image.before)
            elif image is None and not goes:
                continue
            else:
                kept += image is not None
                if goes and not self._later_made(place, edge):
                    edges.written.append(edge)
            edges.seen[at] = edge
        return replace(edges, kept=kept)

    def _later_made(self, place: str, edge: Edge) -> bool:
        """Whether a later run made an edge: it goes with what it leads to."""
        state = edge_state(edge)
        return any(
            self._store.journal_entry(BEFORE_EDGE, f"{other.id}/{place}")
            or any(state in part.edges for part in _made(self._store, other.id))
            for other in self._later
        )

    def _of_records(
        self, ends: Collection[str]
    ) -> tuple[list[BatchRecord], dict[str, datetime | None], int]:
        """Records to write back; what is there now of them; and how many are left as somebody else
        made them.

        A thin entity that gave way to a record of the run is back if edges lead to it: `ends` are
        the labels of those.
        """
        items: list[BatchRecord] = []
        seen: dict[str, datetime | None] = {}
        kept = 0
        model = self._store.model()
        for image in self._records:
            old: Record = msgspec.json.decode(image.record, type=SCHEMAS[image.schema])
            current = self._store.get(image.schema, old.id)
            keys = _keys(old)
            if old.id in self._removed:
                continue
            if current is None:
                if (
                    isinstance(old, Entity)
                    and old.thin
                    and set(keys) & set(ends)
                    and self._free(keys)
                ):
                    items.append(BatchRecord(old, tuple(keys), searchable_text(old)))
                continue
            if current.updated_at == old.updated_at:
                continue
            if current.updated_at != image.stamp:
                kept += 1
                continue
            seen[old.id] = current.updated_at
            reworded = bool(image.vectors) and self._store.vectors(old.id) != list(image.vectors)
            usable = reworded and model is not None and image.model == model[0]
            items.append(
                BatchRecord(
                    old,
                    tuple(keys),
                    searchable_text(old),
                    vectors=image.vectors if usable else (),
                    parents=image.parents,
                    embed=reworded and not usable,
                )
            )
        return items, seen, kept

    def _free(self, keys: Sequence[str]) -> bool:
        found = self._store.lookup(keys, edges=0)
        return all(record.id in self._removed for records in found.values() for record in records)

    def _of_notes(self) -> tuple[list[tuple[str, str]], list[JournalEntry]]:
        """Journal entries to strike, and those to write back; of what another run wrote since,
        none."""
        images = {
            (image.kind, image.id): JournalEntry(image.kind, image.id, image.data, item.subjects)
            for item in self._entries(BEFORE_NOTE)
            for image in [msgspec.json.decode(item.data, type=BeforeNote)]
        }
        noted = {place for part in self._parts for place in part.noted}
        struck = [
            (item.kind, item.id)
            for kind in (MADE, BEFORE_RECORD, BEFORE_EDGE, BEFORE_NOTE)
            for item in self._entries(kind)
        ]
        back: list[JournalEntry] = []
        for place in (*noted, *(images.keys() - noted)):
            stored = self._store.journal_entry(*place)
            if stored is not None and (
                place not in noted or written_by(stored) not in ("", self._run.id)
            ):
                continue
            if place in images and (stored is not None or place not in noted):
                back.append(images[place])
            elif stored is not None:
                struck.append(place)
        return struck, back

    def _entries(self, kind: str) -> list[JournalEntry]:
        return self._store.journal(kind, prefix=f"{self._run.id}/")


def _made(store: Store, run_id: str) -> Iterator[Made]:
    for item in store.journal(MADE, prefix=f"{run_id}/"):
        yield msgspec.json.decode(item.data, type=Made)


def _metadata(record: Record) -> dict[str, object]:
    return record.metadata if isinstance(record, Resource | Moment) else {}


def _keys(record: Record) -> list[str]:
    return list(dict.fromkeys(map(labels.key, (record.name, *getattr(record, "aliases", ())))))


def _id(record: BeforeRecord) -> str:
    return str(msgspec.json.decode(record.record)["id"])
