"""What a write and a delete do inside their transaction. The caller commits.

Everything is done a set at a time: a batch of one record and one of a thousand take the same dozen
statements. The tenant's row is locked first, so nothing read here changes before it is written.

Invariants, which `check` verifies: every edge's ends are names of a record; a thin entity
has an edge; every text is in the index once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from ....model import Record, Resource, Row
from ... import changes
from ...batch import Batch, BatchRecord, Vector
from ...encoding import micros, now, origin, searchable_text
from ...results import RestedOn, Written
from ...rules.merge import keys_of, same_handle
from ...rules.premise_entries import (
    PREMISE,
    lost_prefix,
    maybe_returned,
    outdated_keys,
    rests_anew,
)
from ...rules.provenance import parent_rows
from ...rules.record_ids import referred_ids
from ...rules.vector_validation import choose_model
from ..binary_arrays import ArrayColumn, Half, columns, parts
from ..database import PostgresDatabase, TenantCursor
from ..indexes import bm25_index, trigram_index
from ..rows import RECORD_COLUMNS, SQL, decode, digests, row_of, short, storable
from . import kv
from .deletion import delete, delete_token_vectors, delete_vectors, restore_premises, withdraw
from .edge_writer import EdgeWriter, NameRow, name_rows
from .record_plan import RecordChange, RecordPlan, plan_records
from .transaction import Transaction

_T = TypeVar("_T")

_VECTOR_COLUMNS = {"id": "t", "part": "i", "first": "i", "last": "i", "digest": "y", "data": "h"}


class BatchWriter(EdgeWriter):
    """One transaction of a tenant that changes it."""

    def __init__(self, server: PostgresDatabase, cursor: TenantCursor) -> None:
        super().__init__(server, cursor)
        self.lost_handles = {}
        self.vectors = 0  # stored so far
        self.keeps_revisions = False

    def close(self) -> None:
        """Index the names that wait for it once they are many, and store the numbers given out."""
        while self.name_no - self.sealed_no >= trigram_index.TAIL:
            trigram_index.seal(self, trigram_index.take(self))
        super().close()

    def apply(self, batch: Batch) -> Written:
        """Make a batch true. See `contract.Store.write`."""
        if batch.expected:
            self.check(batch.expected)
        # A copy is what was there, and what has expired there is erased in it as well.
        expired = [] if batch.exact or not self.has_expired else self._expired_among(batch)
        if batch.deleted or expired:
            delete(self, (*batch.deleted, *expired), derived=True)
        if batch.withdrawn:
            withdraw(self, batch.withdrawn)
        model = 0
        if batch.dims or any(record.embed for record in batch.records):
            model = register_model(self, batch.model, batch.dims)
        self.thin_names = batch.names
        self.keeps_revisions = batch.exact
        unlinked = self.delete_edges(batch.deleted_edges)
        plan = plan_records(self, batch.records, batch.at) if batch.records else RecordPlan()
        if plan.changes:
            self._store(plan, batch, model)
        self._store_parents(batch.records, plan)
        edges = self.put_edges(batch.edges, self._own_edges(batch, plan.ids))
        # Only now: a key may have got another edge.
        if unlinked:
            self.delete_unlinked_thin(unlinked)
        self.give_back()
        if batch.entries or batch.deleted_entries:
            kv.put(self.cursor, batch.entries, batch.deleted_entries)
            self.has_premises |= any(entry.namespace == PREMISE for entry in batch.entries)
        restore_premises(self, maybe_returned(batch, plan.ids))
        return Written(
            tuple(plan.ids),
            created=plan.outcomes.count("created"),
            updated=plan.outcomes.count("updated"),
            unchanged=plan.outcomes.count("unchanged"),
            edges=edges,
            thin=self.thin,
        )

    def rested_on(self, ids: Sequence[str], keys: Sequence[str]) -> list[RestedOn]:
        """List what of records with some ids or keys something rests on. See `premises.telling`."""
        values = {"ids": storable(ids), "keys": storable(map(short, keys))}
        rows = self.rows(SQL.rested_on, **values) if ids or keys else []
        found = [RestedOn(*row) for row in rows]
        return [*found, RestedOn("", None, None)] if self.has_premises else found

    def set_expiry(self, ids: Sequence[str], at: datetime | None) -> int:
        """Let records expire at a time. See `contract.Store.set_expiry`."""
        known = storable(ids)
        return self.run(
            SQL.set_expiry,
            ids=ArrayColumn("t", known),
            revisions=ArrayColumn("q", [self.next_revision() for _ in known]),
            expires=micros(at),
            shown=None if at is None else msgspec.to_builtins(at),
            now=now(),
        )

    def _own_edges(self, batch: Batch, ids: Sequence[str]) -> dict[int, Record]:
        return {
            edge: replace(batch.records[position].record, id=ids[position])
            for edge, position in batch.own_edges.items()
        }

    def _expired_among(self, batch: Batch) -> list[str]:
        keys = {key for item in batch.records for key in item.keys}
        keys.update(key for edge in batch.edges for key in (edge.src, edge.dst))
        rows = self.rows(
            SQL.expired_among,
            ids=ArrayColumn("t", [item.record.id for item in batch.records]),
            keys=ArrayColumn("t", list(map(short, keys))),
            now=now(),
        )
        return [id for (id,) in rows]

    def _store(self, plan: RecordPlan, batch: Batch, model: int) -> None:
        changes = plan.changes
        refs = self._kept_refs(changes, batch)
        # A batch that copies another store brings the edges and the history of it.
        known = _handles(changes.values())
        moved = {} if batch.exact else self.displaced(known) | self._renamed_keys(changes)
        embed = {
            id for id, change in changes.items() if change.item.embed and not change.item.vectors
        }
        released = self._clear(changes, embed)
        released |= self._replace_thin(plan)
        self._store_rows(changes, embed, model, batch.dims)
        if moved:
            self.move_edges(moved)
        if known:
            handles = ArrayColumn("t", known)
            self.run(SQL.yield_handles, keys=handles)
            self.run(SQL.hide_names, keys=handles)
        if released:
            self.replace_released(released)
        if not batch.exact:
            self._check_handles(changes)
            self._keep_changes(changes, refs, batch.at)

    def _store_rows(
        self, changes: dict[str, RecordChange], embed: set[str], model: int, dims: int
    ) -> None:
        texts, removed_texts = self._number_texts(changes.values())
        if removed_texts:
            bm25_index.remove(self.cursor, removed_texts)
        runs = bm25_index.runs(self.cursor) if texts else []
        # What `close` would soon seal is sealed meanwhile; names of which none is sealed yet are
        # too few to begin.
        tail = None
        if self.sealed_no and self.name_no - self.sealed_no >= trigram_index.TAIL // 2:
            tail = trigram_index.take(self)
        created = [change for change in changes.values() if change.old is None]
        updated = [change for change in changes.values() if change.old is not None]
        half = len(created) // 2
        # The server stores one part while the next is prepared.
        with self.cursor.connection.pipeline():
            for part in parts(created[:half]):
                self._put_records(SQL.insert_records, part)
            if tail:
                trigram_index.seal(self, tail)
            for part in parts(created[half:]):
                self._put_records(SQL.insert_records, part)
            if updated:
                self._put_records(SQL.replace_records, updated)
            windows = {id: change.item.vectors for id, change in changes.items()}
            self.put_vectors(model, dims, windows)
            if embed:
                rows = [(id, changes[id].seq) for id in embed]
                self.run(SQL.enqueue, **columns({"id": "t", "seq": "q"}, rows))
            if texts:
                bm25_index.add(self.cursor, texts, runs)

    def _renamed_keys(self, changes: dict[str, RecordChange]) -> dict[str, str]:
        """The keys whose edges follow their record to the key of its new name."""
        moved: dict[str, str] = {}
        old_names = []
        for id, change in changes.items():
            if change.old is None or change.item.merge:
                continue
            before = short(keys_of(change.old)[0])
            after = short(change.item.keys[0])
            if before != after:
                old_names.append((before, id))
                moved[before] = after
        if old_names:
            values = columns({"keys": "t", "ids": "t"}, old_names)
            # The edges of a name that another record has too stay with that.
            for (key,) in self.rows(SQL.shared_names, **values):
                moved.pop(key, None)
        if moved:
            # What was called otherwise does not take the edges of a row along.
            free = set(self._matching_keys(SQL.keys_without_handle, list(moved.values())))
            free.update(_handles(changes.values()))
            moved = {old: new for old, new in moved.items() if new in free}
        return moved

    def _clear(self, changes: dict[str, RecordChange], embed: set[str]) -> dict[str, str | None]:
        """Take out what records had before they change; returns the keys they gave up. Records
        whose vectors still hold are taken out of `embed`."""
        updated = {id: change for id, change in changes.items() if change.old is not None}
        if not updated:
            return {}
        released = self.delete_names(list(updated))
        reparented = [id for id, change in updated.items() if change.item.parents is not None]
        self.run(
            SQL.delete_parents,
            ids=ArrayColumn("t", list(updated)),
            reparented=ArrayColumn("t", reparented),
        )
        reworded = [id for id, change in updated.items() if change.reworded]
        if reworded:
            delete_token_vectors(self, reworded)
        stale = [id for id, change in updated.items() if change.item.vectors or change.reworded]
        if stale:
            delete_vectors(self, stale)
        unchanged = [id for id in updated if id in embed and id not in stale]
        if unchanged:
            rows = self.rows(SQL.embedded_ids, ids=ArrayColumn("t", unchanged))
            embed -= {id for (id,) in rows}
        return released

    def _replace_thin(self, plan: RecordPlan) -> dict[str, str | None]:
        """Delete the thin entities whose keys records have now; returns the keys they gave up."""
        if not plan.thin_keys:
            return {}
        items = [change.item for change in plan.changes.values()]
        taken = {short(key) for item in items for key in item.keys}
        # What stands for a row gives way to that alone.
        handles = set(_handles(plan.changes.values()))
        return self.delete_records(
            [
                id
                for id, key in plan.thin_keys.items()
                if id not in plan.changes and key in (handles if id in plan.placeholders else taken)
            ]
        )

    def _check_handles(self, changes: dict[str, RecordChange]) -> None:
        """Refuse a row whose handle is that of another of its schema: edges would lead to both."""
        rows = {
            id: change.item for id, change in changes.items() if isinstance(change.item.record, Row)
        }
        if not rows:
            return
        handles = [(short(item.keys[0]), id, item.record.schema) for id, item in rows.items()]
        values = columns({"keys": "t", "ids": "t", "schemas": "t"}, handles)
        for id, schema, body in self.rows(SQL.same_handles, **values):
            raise same_handle(rows[id].record, decode(schema, body, None))  # type: ignore[arg-type]

    def _kept_refs(
        self, changed: Mapping[str, RecordChange], batch: Batch
    ) -> dict[str, tuple[str, ...]]:
        """The refs of what is kept of each of these records before it changes: of one whose text
        was made of what is not there, nothing is."""
        old = {
            id: change.old
            for id, change in changed.items()
            if change.old is not None and changes.is_kept(change.old, change.item.record, batch)
        }
        made = [id for id, one in old.items() if changes.is_made(one)]
        if not made:
            return {id: changes.refs_of(one, ()) for id, one in old.items()}
        parents: dict[str, list[str]] = {id: [] for id in made if isinstance(old[id], Resource)}
        for child, parent in self.rows(SQL.made_of, ids=ArrayColumn("t", list(parents))):
            parents[child].append(parent)
        referred = list({ref for id in made for ref in referred_ids(old[id])})
        there = {id for (id,) in self.rows(SQL.stored_ids, ids=ArrayColumn("t", referred))}
        prefixes = {lost_prefix(id): id for id in made}
        lost = {prefixes[prefix] for prefix in kv.last(self.cursor, PREMISE, list(prefixes))}
        return {
            id: changes.refs_of(one, parents.get(id, ()))
            for id, one in old.items()
            if id not in lost and parents.get(id, True) and there.issuperset(referred_ids(one))
        }

    def _keep_changes(
        self,
        changed: Mapping[str, RecordChange],
        refs: Mapping[str, tuple[str, ...]],
        at: datetime | None,
    ) -> None:
        if not refs:
            return
        prefixes = {id: changes.prefix_of(id)[1] for id in refs}
        last = kv.last(self.cursor, changes.CHANGE, list(prefixes.values()))
        entries = []
        full = []
        for id, prefix in prefixes.items():
            old, new = changed[id].old, changed[id].item.record
            made = changes.change_entries(
                old,  # type: ignore[arg-type]  # of these there is one
                new,
                last.get(prefix),
                refs=refs[id],
                at=at,
            )
            entries += made
            if changes.number(made[0]) > changes.KEPT:
                full.append(prefix)
        kv.put_many(self.cursor, entries)
        kv.delete_first(self.cursor, changes.CHANGE, full)

    def _number_texts(
        self, changes: Iterable[RecordChange]
    ) -> tuple[list[bm25_index.Text], list[bm25_index.Text]]:
        """Give every new text its number; returns these texts, and those that are gone."""
        texts = []
        removed = []
        for change in changes:
            text = change.item.text
            if change.old is not None:
                before = searchable_text(change.old)
                if (text, origin(change.item.record)) == (before, origin(change.old)):
                    continue
                if change.text_no is not None:
                    removed.append((change.text_no, before))
                change.text_no = None
            if text:
                self.text_no += 1
                change.text_no = self.text_no
                texts.append((self.text_no, text))
        return texts, removed

    def _put_records(self, sql: str, changes: Sequence[RecordChange]) -> None:
        rows = [
            row_of(record, change.seq, change.text_no, self._revision_of(record))
            for change in changes
            for record in (change.item.record,)
        ]
        self.run(sql, **columns(RECORD_COLUMNS, rows))
        names: list[NameRow] = []
        for change in changes:
            record, keys = change.item.record, change.item.keys
            is_row = isinstance(record, Row) and record.is_identified
            handle = short(keys[0]) if is_row else self.lost_handles.get(record.id)
            names += name_rows(record.id, keys, handle)
        self.put_names(names)

    def _revision_of(self, record: Record) -> int:
        """The revision of a record that is written: a copy keeps those it has."""
        if not self.keeps_revisions or not record.revision:
            return self.next_revision()
        self.revision = max(self.revision, record.revision)
        return record.revision

    def _store_parents(self, items: Sequence[BatchRecord], plan: RecordPlan) -> None:
        """Store provenance, and what moments refer to, as far as it is there."""
        changed = {
            id: item
            for item, id, outcome in zip(items, plan.ids, plan.outcomes, strict=True)
            if outcome != "unchanged" or item.parents or item.premises
        }
        parents = [
            (id, parent, *row)
            for id, item in changed.items()
            for parent, row in parent_rows(item).items()
        ]
        said = self._said({parent for _, parent, *_, stamp in parents if stamp})
        rows = [
            (child, parent, kind, said.get(parent) if stamp else digest)
            for child, parent, kind, digest, stamp in parents
        ]
        if rows:
            kinds = {"child": "t", "parent": "t", "kind": "i", "digest": "q"}
            self.run(SQL.insert_parents, **columns(kinds, rows))
        # of what says anew what it rests on, what is gone counts no more
        resting = {id: item for id, item in changed.items() if rests_anew(item)}
        if resting and self.has_premises:
            entries = kv.entries_about(self.cursor, PREMISE, resting)
            kv.put(self.cursor, (), outdated_keys(entries, resting))

    def _said(self, ids: Collection[str]) -> dict[str, int]:
        rows = self.rows(SQL.said, ids=ArrayColumn("t", list(ids))) if ids else ()
        return digests(rows)

    def put_vectors(self, model: int, dims: int, windows: Mapping[str, Sequence[Vector]]) -> None:
        """Store the windows of records that have none of this model."""
        rows = [
            (id, part, vector.start, vector.end, vector.digest or None, Half(vector.data))
            for id, vectors in windows.items()
            for part, vector in enumerate(vectors)
        ]
        if rows:
            self.vectors += len(rows)
            values = columns(_VECTOR_COLUMNS, rows)
            self.run(SQL.insert_vectors, model=model, dims=dims, **values)


def _handles(changes: Iterable[RecordChange]) -> list[str]:
    items = (change.item for change in changes)
    return [
        short(item.keys[0])
        for item in items
        if isinstance(item.record, Row) and item.record.is_identified
    ]


def write(server: PostgresDatabase, work: Callable[[BatchWriter], _T]) -> _T:
    """Run `work` in a transaction that is on disk when this returns."""

    def run(cursor: TenantCursor) -> _T:
        writer = BatchWriter(server, cursor)
        result = work(writer)
        writer.close()
        return result

    return server.write(run)


def register_model(transaction: Transaction, name: str, dims: int, *, current: bool = True) -> int:
    """Return the number of an embedder, registered with its dimensions. See `choose_model`."""
    models = transaction.rows(SQL.models)
    number, is_new = choose_model(models, name, dims, current=current)
    if is_new:
        transaction.run(SQL.insert_model, model=number, name=name, dims=dims, current=current)
        if name and not models and current:
            # what was written while there was no embedder was not queued
            transaction.run(SQL.enqueue_unembedded)
    return number
