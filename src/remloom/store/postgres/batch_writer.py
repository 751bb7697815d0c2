"""What a write and a delete do inside their transaction. The caller commits.

Everything is done a set at a time: a batch of one record and one of a thousand take the same dozen
statements. The tenant's row is locked first, so nothing read here changes before it is written.

Invariants, which `check` verifies: every edge's ends are names of a record; a thin entity has an
edge; every text is in the index once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ... import labels
from ...model import Entity, Moment, Record
from .. import history
from ..batch import Batch, BatchRecord, Vector
from ..encoding import type_of
from ..indexed_text import embedded_text, searchable_text
from ..merge import Namesake, find_namesake, merge_record
from ..references import referred_ids
from ..results import Written
from . import bm25_index, kv, trigram_index
from .binary_arrays import Column, columns, parts
from .database import Database
from .deletion import delete
from .edge_writer import RECORDS, REPLACING, Linking
from .embedding_model import register_model
from .halfvec import Half
from .preconditions import check
from .rows import RECORD_KINDS, STORED, decode, row_of
from .short_keys import short

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["Writing", "write"]

_T = TypeVar("_T")

# Who has a key. (OFFSET 0: one probe a key, whatever the planner thinks.)
_HOLDERS = """
SELECT k.key, n.rank, n.kin, r.id, r.schema, r.type, r.thin
FROM unnest(%b::text[]) k (key)
CROSS JOIN LATERAL (SELECT n.id, n.rank, n.kin FROM remloom.names n WHERE n.tenant_id = %s AND n.key = k.key OFFSET 0) n
CROSS JOIN LATERAL (
  SELECT r.id, r.schema, r.type, r.thin, r.seq FROM remloom.records r WHERE r.tenant_id = %s AND r.id = n.id OFFSET 0) r
ORDER BY r.seq
"""
_VECTORS = """
INSERT INTO remloom.vectors (tenant_id, id, model, part, schema, dims, first, last, digest, data)
SELECT %s, r.id, %s, v.part, r.schema, %s, v.first, v.last, v.digest, v.data
FROM unnest(%b::text[], %b::integer[], %b::integer[], %b::integer[], %b::bytea[], %b::halfvec[])
     v (id, part, first, last, digest, data)
CROSS JOIN LATERAL (
  SELECT r.id, r.schema FROM remloom.records r WHERE r.tenant_id = %s AND r.id = v.id OFFSET 0) r
"""
# Of the old names of records (with their ids), those that another is called by too.
_SHARED = """
SELECT k.key FROM unnest(%b::text[], %b::text[]) k (key, id)
JOIN remloom.names n ON n.tenant_id = %s AND n.key = k.key AND n.rank = 0 AND n.id <> k.id
JOIN remloom.records r ON r.tenant_id = %s AND r.id = n.id AND NOT r.thin
"""


class _Change(Struct, gc=False):
    """A record as it will be, and what is stored of it."""

    item: BatchRecord
    seq: int
    old: Record | None = None
    doc: int | None = None  # of the old text, until `_number`

    @property
    def reworded(self) -> bool:
        """Whether what is to be embedded is no longer what it was."""
        return self.old is None or embedded_text(self.old) != _embedded(self.item)


class Writing(Linking):
    """One transaction of a tenant that changes it."""

    def apply(self, batch: Batch) -> Written:
        """Make a batch true. See `contract.Store.write`."""
        if batch.expected:
            check(self, batch.expected)
        if batch.deleted:
            delete(self, batch.deleted, derived=True)
        model = 0
        if batch.dims or any(record.embed for record in batch.records):
            model = register_model(self.cursor, self.tenant, batch.model, batch.dims)
        self.display = batch.names
        loosened = self.unlink(batch.deleted_edges)
        ids, outcomes = self._records(batch, model) if batch.records else ([], [])
        edges = self.link(batch.edges)
        if loosened:
            self.loosen(loosened)
        if batch.entries or batch.deleted_entries:
            kv.put(self.cursor, self.tenant, batch.entries, batch.deleted_entries)
        return Written(
            tuple(ids),
            created=outcomes.count("created"),
            updated=outcomes.count("updated"),
            unchanged=outcomes.count("unchanged"),
            edges=edges,
            thin=self.thin,
        )

    def _records(self, batch: Batch, model: int) -> tuple[list[str], list[str]]:
        """Store the records. Returns of each the id under which it is stored, and what became of
        it."""
        changes, ids, outcomes, thin = self._changes(batch.records)
        if changes:
            moved = {} if batch.exact else self._renamed(changes)
            self._store(changes, model, batch.dims, thin, moved)
            if not batch.exact:
                self._note(changes)
            self._refer(batch.records, ids, outcomes)
        return ids, outcomes

    def _changes(
        self, items: Sequence[BatchRecord]
    ) -> tuple[dict[str, _Change], list[str], list[str], dict[str, str]]:
        """What has to be written, by id; of each item the id under which it is stored and what
        became of it; and the key of each thin entity that has one of these keys."""
        namesakes: dict[str, list[Namesake]] = {}
        thin_ones: dict[str, str] = {}
        keys = {short(key) for item in items for key in item.keys}
        holders = (Column("t", list(keys)), self.tenant, self.tenant)
        for key, rank, kin, id, schema, type, thin in self.cursor.execute(
            _HOLDERS, holders
        ).fetchall():
            own = rank > 0 or not kin
            if thin and own:
                thin_ones[id] = key
            if (rank == 0 or thin) and schema == "entities":
                namesakes.setdefault(key, []).append(Namesake(id, type, thin, own))
        wanted = [item.record.id for item in items if not item.fresh]
        if namesakes:
            wanted += [
                twin.id
                for item in items
                if item.merge
                for twin in namesakes.get(short(item.keys[0]), ())
            ]
        stored = (
            {row[0]: row[1:] for row in self.all(STORED, Column("t", wanted))} if wanted else {}
        )
        changes: dict[str, _Change] = {}
        ids, outcomes = [], []
        for item in items:
            record = item.record
            twins = namesakes.get(short(item.keys[0]), []) if namesakes and item.merge else []
            if twins and (twin := find_namesake(twins, type_of(record))):
                record = replace(record, id=twin)
                item = replace(item, record=record, fresh=False)
            ids.append(record.id)
            change = changes.get(record.id)
            if change is None and record.id not in stored:
                self.seq += 1
                changes[record.id] = _Change(item, self.seq)
                outcomes.append("created")
                continue
            if change is not None:
                old, seq = change.item.record, change.seq
            else:
                seq, doc, schema, body, content = stored[record.id]
                old = decode(schema, body, content)
                change = _Change(item, seq, old, doc)
            updated = merge_record(item, old)
            if updated is None:
                outcomes.append("unchanged")
                continue
            if (
                record.id in changes
                and not updated.vectors
                and _embedded(updated) == _embedded(change.item)
            ):
                updated = replace(updated, vectors=change.item.vectors)
            changes[record.id] = _Change(updated, seq, change.old, change.doc)
            now = Namesake(record.id, type_of(updated.record))
            twins[:] = [now if twin.id == record.id else twin for twin in twins]
            outcomes.append("updated")
        return changes, ids, outcomes, thin_ones

    def _renamed(self, changes: dict[str, _Change]) -> dict[str, str]:
        """Keys whose edges follow their record to the key of its new name."""
        moved: dict[str, str] = {}
        rows = []
        for id, change in changes.items():
            if change.old is not None and not change.item.merge:
                before, after = short(labels.key(change.old.name)), short(change.item.keys[0])
                if before != after:
                    rows.append((before, id))
                    moved[before] = after
        if rows:
            for (key,) in self.cursor.execute(
                _SHARED, (*columns("tt", rows), self.tenant, self.tenant)
            ).fetchall():
                moved.pop(key, None)
        return moved

    def _store(
        self,
        changes: dict[str, _Change],
        model: int,
        dims: int,
        thin: dict[str, str],
        moved: dict[str, str],
    ) -> None:
        embed = {
            id for id, change in changes.items() if change.item.embed and not change.item.vectors
        }
        released = self._clear(changes, embed)
        if thin:
            taken = {short(key) for change in changes.values() for key in change.item.keys}
            released |= self.forget(
                [id for id, key in thin.items() if id not in changes and key in taken]
            )
        texts, gone = self._number(changes.values())
        if gone:
            bm25_index.remove(self.cursor, self.tenant, gone)
        runs = bm25_index.runs(self.cursor, self.tenant) if texts else []
        # What `close` would soon seal is sealed meanwhile; names of which none is sealed yet are
        # too few to begin.
        tail = (
            trigram_index.take(self)
            if self.sealed and self.names - self.sealed >= trigram_index.TAIL // 2
            else None
        )
        made = [change for change in changes.values() if change.old is None]
        half = len(made) // 2
        # the server stores one part while the next is prepared
        with self.cursor.connection.pipeline():
            for part in parts(made[:half]):
                self._put(RECORDS, part)
            if tail:
                trigram_index.seal(self, tail)
            for part in parts(made[half:]):
                self._put(RECORDS, part)
            if len(made) < len(changes):
                self._put(
                    RECORDS + REPLACING,
                    [change for change in changes.values() if change.old is not None],
                )
            self.vectors(model, dims, {id: change.item.vectors for id, change in changes.items()})
            if embed:
                self.do(
                    "INSERT INTO remloom.pending SELECT %s, * FROM unnest(%b::text[], %b::bigint[])"
                    " ON CONFLICT (tenant_id, id) DO UPDATE SET attempts = 0, error = NULL, parked = false",
                    *columns("tq", [(id, changes[id].seq) for id in embed]),
                )
            if texts:
                bm25_index.add(self.cursor, self.tenant, texts, runs)
        if moved:
            self.move(moved)
        if released:
            self.release(released)

    def _note(self, changes: dict[str, _Change]) -> None:
        """Keep what entities were."""
        changed = {
            id: (change.old, change.item.record)
            for id, change in changes.items()
            if isinstance(change.old, Entity) and isinstance(change.item.record, Entity)
        }
        if not changed:
            return
        places = {id: history.last_of(id)[1] for id in changed}
        last = kv.last(self.cursor, self.tenant, history.CHANGE, list(places.values()))
        entries = {
            id: history.noted(old, new, last.get(places[id])) for id, (old, new) in changed.items()
        }
        kv.put_many(
            self.cursor, self.tenant, [entry for some in entries.values() for entry in some]
        )
        full = [
            places[id] for id, some in entries.items() if history.number(some[0]) > history.KEPT
        ]
        kv.delete_first(self.cursor, self.tenant, history.CHANGE, full)

    def _number(
        self, changes: Iterable[_Change]
    ) -> tuple[list[bm25_index.Text], list[bm25_index.Text]]:
        """Give every new text its number. Returns these texts, and those that are no more."""
        texts, gone = [], []
        for change in changes:
            text = change.item.text
            if change.old is not None:
                before = searchable_text(change.old)
                if text == before:
                    continue
                if change.doc is not None:
                    gone.append((change.doc, before))
                change.doc = None
            if text:
                self.doc += 1
                change.doc = self.doc
                texts.append((self.doc, text))
        return texts, gone

    def _put(self, sql: str, changes: Sequence[_Change]) -> None:
        """Store these records, and their names."""
        self.do(
            sql,
            *columns(
                RECORD_KINDS,
                [row_of(change.item.record, change.seq, change.doc) for change in changes],
            ),
        )
        keyed = []
        for change in changes:
            keys = change.item.keys
            for rank, key in enumerate(keys):
                shown = short(key)
                keyed.append(
                    (
                        shown,
                        change.item.record.id,
                        rank,
                        key if shown != key else None,
                        len(keys) > 1,
                    )
                )
        self.name(keyed)

    def _clear(self, changes: dict[str, _Change], embed: set[str]) -> dict[str, str | None]:
        """Take out what records had before they change: returns the keys they gave up. What has its
        vectors still is taken out of `embed`."""
        updated = {id: change for id, change in changes.items() if change.old is not None}
        if not updated:
            return {}
        ids = Column("t", list(updated))
        released = self.unname(list(updated))
        self.do(
            "DELETE FROM remloom.parents WHERE tenant_id = %s AND child = ANY (%b::text[])", ids
        )
        stale = [id for id, change in updated.items() if change.item.vectors or change.reworded]
        if stale:
            self.drop_vectors(stale)
        if kept := [id for id in updated if id in embed and id not in stale]:
            has = "SELECT id FROM remloom.vectors WHERE tenant_id = %s AND id = ANY (%b::text[])"
            embed -= {id for (id,) in self.all(has, Column("t", kept))}
        return released

    def _refer(
        self, items: Sequence[BatchRecord], ids: Sequence[str], outcomes: Sequence[str]
    ) -> None:
        """Provenance, and what moments refer to, as far as it is there."""
        rows = []
        for item, id, outcome in zip(items, ids, outcomes, strict=True):
            if outcome != "unchanged" and (item.parents or isinstance(item.record, Moment)):
                rows += [(id, parent, 0) for parent in item.parents]
                rows += [(id, parent, 1) for parent in referred_ids(item.record)]
        if rows:
            self.do(
                "INSERT INTO remloom.parents SELECT %s, p.child, p.parent, p.kind"
                " FROM unnest(%b::text[], %b::text[], %b::integer[]) p (child, parent, kind) WHERE EXISTS (SELECT"
                " FROM remloom.records r WHERE r.tenant_id = %s AND r.id = p.parent) ON CONFLICT DO NOTHING",
                *columns("tti", rows), self.tenant,
            )  # fmt: skip

    def vectors(self, model: int, dims: int, windows: Mapping[str, tuple[Vector, ...]]) -> None:
        """Store the windows of records that have none of this model."""
        rows = [
            (id, part, vector.start, vector.end, vector.digest or None, Half(vector.data))
            for id, vectors in windows.items()
            for part, vector in enumerate(vectors)
        ]
        if rows:
            self.do(_VECTORS, model, dims, *columns("tiiiyh", rows), self.tenant)

    def drop_vectors(self, ids: Sequence[str]) -> int:
        """Remove the vectors of records, and take them off the queue; returns how many vectors
        there were."""
        those = Column("t", ids)
        self.do("DELETE FROM remloom.pending WHERE tenant_id = %s AND id = ANY (%b::text[])", those)
        return self.do(
            "DELETE FROM remloom.vectors WHERE tenant_id = %s AND id = ANY (%b::text[])", those
        )


def _embedded(item: BatchRecord) -> str:
    return embedded_text(item.record)


def write(server: Database, tenant: str, work: Callable[[Writing], _T]) -> _T:
    """Run `work` in a transaction of the tenant that is on disk when this returns. See
    `Database.write`."""

    def run(cursor: Cursor[Any]) -> _T:
        writing = Writing(server, cursor, tenant)
        result = work(writing)
        writing.close()
        return result

    return server.write(tenant, run)
