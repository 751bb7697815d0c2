"""What a write and a delete do inside their transaction. The caller commits.

Everything is done a set at a time: a batch of one record and one of a thousand take the same dozen statements. The
tenant's row is locked first, so nothing read here changes before it is written.

Invariants, which `check` verifies: every edge's ends are names of a record; a thin entity has an edge; every text is in
the index once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ... import labels
from ...errors import EmbedderMismatchError, TenantNotFoundError, VectorError
from ...model import Edge, Entity, Moment, Record
from .. import batch as batches
from ..contract import Batch, BatchRecord, Deletion, Vector, Written
from ..rows import micros, type_of
from . import postings
from .half import Half
from .keys import short
from .rows import COLUMNS, decode, row_of

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["Writing", "register_model"]

_STORED = (
    f"SELECT r.id, r.seq, r.doc, {COLUMNS} FROM remloom.records r WHERE r.tenant_id = %s AND r.id = ANY (%b::text[])"
)
_NAMESAKES = """
SELECT n.key, r.id, r.type, r.thin FROM remloom.names n
JOIN remloom.records r ON r.tenant_id = n.tenant_id AND r.id = n.id
WHERE n.tenant_id = %s AND n.key = ANY (%b::text[]) AND n.rank = 0 AND r.schema = 'entities' ORDER BY r.seq
"""
_RECORDS = """
INSERT INTO remloom.records
SELECT %s, id, seq, schema, type, thin, starts, ends, created, updated, doc, uri, body::jsonb, content
FROM unnest(%b::text[], %b::bigint[], %b::text[], %b::text[], %b::boolean[], %b::bigint[], %b::bigint[], %b::bigint[],
            %b::bigint[], %b::bigint[], %b::text[], %b::text[], %b::text[])
     r (id, seq, schema, type, thin, starts, ends, created, updated, doc, uri, body, content)
ON CONFLICT (tenant_id, id) DO UPDATE SET
  type = excluded.type, thin = excluded.thin, starts = excluded.starts, ends = excluded.ends,
  created = excluded.created, updated = excluded.updated, doc = excluded.doc,
  uri = excluded.uri, body = excluded.body, content = excluded.content
"""
_NAMES = """
INSERT INTO remloom.names SELECT %s, * FROM unnest(%b::text[], %b::text[], %b::integer[], %b::text[])
ON CONFLICT DO NOTHING
"""
_VECTORS = """
INSERT INTO remloom.vectors (tenant_id, id, model, part, schema, dims, first, last, digest, data)
SELECT %s, r.id, %s, v.part, r.schema, %s, v.first, v.last, v.digest, v.data
FROM unnest(%b::text[], %b::integer[], %b::integer[], %b::integer[], %b::bytea[], %b::halfvec[])
     v (id, part, first, last, digest, data)
JOIN remloom.records r ON r.tenant_id = %s AND r.id = v.id
"""
_EDGES = """
INSERT INTO remloom.edges AS e
SELECT %s, src, rel, dst, weight, created, since, until, properties::jsonb
FROM unnest(%b::text[], %b::text[], %b::text[], %b::float8[], %b::bigint[], %b::bigint[], %b::bigint[], %b::text[])
     n (src, rel, dst, weight, created, since, until, properties)
ON CONFLICT (tenant_id, src, rel, dst) DO UPDATE SET
  weight = greatest(e.weight, excluded.weight),
  created = least(e.created, excluded.created),
  valid_from = least(e.valid_from, excluded.valid_from),
  valid_to = CASE WHEN excluded.valid_to IS NOT NULL THEN excluded.valid_to
                  WHEN excluded.valid_from > e.valid_to THEN NULL ELSE e.valid_to END,
  properties = CASE WHEN e.properties IS NULL THEN excluded.properties
                    WHEN excluded.properties IS NULL THEN e.properties ELSE e.properties || excluded.properties END
RETURNING src, rel, dst, xmax = 0
"""
_DEGREES = """
INSERT INTO remloom.degrees SELECT %s, * FROM unnest(%b::text[], %b::integer[], %b::text[], %b::bigint[])
ON CONFLICT (tenant_id, key, side, rel) DO UPDATE SET edges = degrees.edges + excluded.edges
"""
_LOOSE = """
DELETE FROM remloom.records r USING remloom.names n
WHERE r.tenant_id = %s AND r.thin AND n.tenant_id = r.tenant_id AND n.id = r.id AND n.key = ANY (%b::text[])
  AND NOT EXISTS (SELECT FROM remloom.edges e WHERE e.tenant_id = r.tenant_id AND e.src = n.key)
  AND NOT EXISTS (SELECT FROM remloom.edges e WHERE e.tenant_id = r.tenant_id AND e.dst = n.key)
"""


class _Change(Struct):
    """A record as it will be, and what is stored of it."""

    item: BatchRecord
    seq: int
    old: Record | None = None
    old_doc: int | None = None

    @property
    def reworded(self) -> bool:
        """Whether what is to be embedded is no longer what it was."""
        return self.old is None or batches.embedded_text(self.old) != _embedded(self.item)


class Writing:
    """One transaction of a tenant that changes it. Holds the tenant's lock from the start."""

    def __init__(self, cursor: Cursor[Any], tenant: str) -> None:
        self.cursor = cursor
        self.tenant = tenant
        row = cursor.execute(
            "SELECT seq, doc FROM remloom.tenants WHERE tenant_id = %s FOR UPDATE", (tenant,)
        ).fetchone()
        if row is None:
            raise TenantNotFoundError(f"there is no tenant {tenant!r} any more", remedy="open it again", tenant=tenant)
        self.seq, self.doc = row
        self.thin = 0
        self.display: dict[str, tuple[str, str]] = {}

    def close(self) -> None:
        """Store the highest numbers given out."""
        self.cursor.execute(
            "UPDATE remloom.tenants SET seq = %s, doc = %s WHERE tenant_id = %s", (self.seq, self.doc, self.tenant)
        )

    def _all(self, sql: str, *values: Any) -> list[Any]:
        return self.cursor.execute(sql, (self.tenant, *values)).fetchall()

    def _do(self, sql: str, *values: Any) -> int:
        return self.cursor.execute(sql, (self.tenant, *values)).rowcount

    # -- a batch ---------------------------------------------------------------------------------------------

    def apply(self, batch: Batch) -> Written:
        """Make a batch true. See `contract.Store.write`."""
        if batch.removed:
            self.delete(batch.removed, derived=True)
        model = 0
        if batch.dims or any(record.embed for record in batch.records):
            model = register_model(self.cursor, self.tenant, batch.model, batch.dims)
        self.display = {short(key): name for key, name in batch.names.items()}
        loosened = self._unlink(batch.unlinked)
        changes, ids, outcomes = self._changes(batch.records)
        if changes:
            self._store(changes, model, batch.dims)
            self._refer(batch.records, ids, outcomes)
        edges = self._edges(batch.edges)
        if loosened:
            self._do(_LOOSE, loosened)
        return Written(
            tuple(ids),
            created=outcomes.count("created"),
            updated=outcomes.count("updated"),
            unchanged=outcomes.count("unchanged"),
            edges=edges,
            thin=self.thin,
        )

    def _changes(self, items: Sequence[BatchRecord]) -> tuple[dict[str, _Change], list[str], list[str]]:
        """What has to be written, by id; and of each item the id under which it is stored and what became of it."""
        namesakes: dict[str, list[tuple[str, str | None, bool]]] = {}
        merging = [short(item.keys[0]) for item in items if item.merge]
        if merging:
            for key, id, type, thin in self._all(_NAMESAKES, merging):
                namesakes.setdefault(key, []).append((id, type, thin))
        wanted = [item.record.id for item in items if not item.fresh]
        wanted += [id for some in namesakes.values() for id, _, _ in some]
        stored = {row[0]: row[1:] for row in self._all(_STORED, wanted)} if wanted else {}
        changes: dict[str, _Change] = {}
        ids, outcomes = [], []
        for item in items:
            record = item.record
            twins = namesakes.get(short(item.keys[0]), []) if item.merge else []
            if twin := _namesake(twins, type_of(record)):
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
            updated = _updated(item, old)
            if updated is None:
                outcomes.append("unchanged")
                continue
            if record.id in changes and not updated.vectors and _embedded(updated) == _embedded(change.item):
                updated = replace(updated, vectors=change.item.vectors)
            changes[record.id] = _Change(updated, seq, change.old, change.old_doc)
            twins[:] = [(id, type_of(updated.record), False) if id == record.id else (id, t, n) for id, t, n in twins]
            outcomes.append("updated")
        return changes, ids, outcomes

    def _store(self, changes: dict[str, _Change], model: int, dims: int) -> None:
        updated = {id: change for id, change in changes.items() if change.old is not None}
        released: dict[str, str | None] = {}
        embed = {id for id, change in changes.items() if change.item.embed and not change.item.vectors}
        if updated:
            released = dict(self._all(
                "DELETE FROM remloom.names WHERE tenant_id = %s AND id = ANY (%b::text[]) RETURNING key,"
                " label", list(updated)
            ))  # fmt: skip
            self._do("DELETE FROM remloom.parents WHERE tenant_id = %s AND child = ANY (%b::text[])", list(updated))
            stale = [id for id, change in updated.items() if change.item.vectors or change.reworded]
            if stale:
                self._drop_vectors(stale)
            if kept := [id for id in updated if id in embed and id not in stale]:
                embed -= {
                    id
                    for (id,) in self._all(
                        "SELECT id FROM remloom.vectors WHERE tenant_id = %s AND id = ANY (%b::text[])", kept
                    )
                }
        rows, texts, gone = [], [], []
        for change in changes.values():
            doc, text = change.old_doc, change.item.text
            if change.old is None or batches.searchable_text(change.old) != text:
                if doc is not None and change.old is not None:
                    gone.append((doc, batches.searchable_text(change.old)))
                doc = None
                if text:
                    self.doc += 1
                    doc = self.doc
                    texts.append((doc, text))
            rows.append(row_of(change.item.record, change.seq, doc))
        names = [
            (short(key), id, rank, key if short(key) != key else None)
            for id, change in changes.items()
            for rank, key in enumerate(change.item.keys)
        ]
        self._do(
            "DELETE FROM remloom.records r USING remloom.names n WHERE r.tenant_id = %s AND r.thin AND"
            " n.tenant_id = r.tenant_id"
            " AND n.id = r.id AND n.key = ANY (%b::text[]) AND r.id <> ALL (%b::text[])",
            [name[0] for name in names], list(changes),
        )  # fmt: skip
        self._do(_RECORDS, *_columns(rows))
        self._do(_NAMES, *_columns(names))
        self.vectors(model, dims, {id: change.item.vectors for id, change in changes.items()})
        if embed:
            self._do(
                "INSERT INTO remloom.pending SELECT %s, * FROM unnest(%b::text[], %b::bigint[])"
                " ON CONFLICT (tenant_id, id) DO UPDATE SET attempts = 0, error = NULL, parked = false",
                list(embed), [changes[id].seq for id in embed],
            )  # fmt: skip
        if gone:
            postings.remove(self.cursor, self.tenant, gone)
        if texts:
            postings.add(self.cursor, self.tenant, texts)
        if released:
            self._release(released)

    def _refer(self, items: Sequence[BatchRecord], ids: Sequence[str], outcomes: Sequence[str]) -> None:
        """Provenance, and what moments refer to, as far as it is there."""
        rows = []
        for item, id, outcome in zip(items, ids, outcomes, strict=True):
            if outcome != "unchanged":
                rows += [(id, parent, 0) for parent in item.parents]
                referred = item.record.resource_refs if isinstance(item.record, Moment) else ()
                rows += [(id, parent, 1) for parent in referred]
        if rows:
            self._do(
                "INSERT INTO remloom.parents SELECT %s, p.child, p.parent, p.kind"
                " FROM unnest(%b::text[], %b::text[], %b::integer[]) p (child, parent, kind) WHERE EXISTS (SELECT"
                " FROM remloom.records r WHERE r.tenant_id = current_setting('remloom.tenant') AND r.id = p.parent)"
                " ON CONFLICT DO NOTHING",
                *_columns(rows),
            )

    def vectors(self, model: int, dims: int, windows: dict[str, tuple[Vector, ...]]) -> None:
        """Store the windows of records that have none of this model."""
        rows = [
            (id, part, vector.start, vector.end, vector.digest or None, Half(vector.data))
            for id, vectors in windows.items()
            for part, vector in enumerate(vectors)
        ]
        if rows:
            self._do(_VECTORS, model, dims, *_columns(rows), self.tenant)

    def _drop_vectors(self, ids: Sequence[str]) -> int:
        self._do("DELETE FROM remloom.pending WHERE tenant_id = %s AND id = ANY (%b::text[])", list(ids))
        return self._do("DELETE FROM remloom.vectors WHERE tenant_id = %s AND id = ANY (%b::text[])", list(ids))

    # -- edges -----------------------------------------------------------------------------------------------

    def _edges(self, edges: Sequence[Edge]) -> int:
        if not edges:
            return 0
        rows = [
            (
                short(edge.src), edge.rel_type, short(edge.dst), edge.weight, micros(edge.created_at),
                micros(edge.valid_from), micros(edge.valid_to),
                msgspec.json.encode(edge.properties).decode() if edge.properties else None,
            )
            for edge in edges
        ]  # fmt: skip
        self._do(
            "INSERT INTO remloom.rels SELECT %s, * FROM unnest(%b::text[]) ON CONFLICT DO NOTHING",
            sorted({edge.rel_type for edge in edges}),
        )
        ends = {short(key): key for edge in edges for key in (edge.src, edge.dst)}
        known = {
            key
            for (key,) in self._all(
                "SELECT key FROM remloom.names WHERE tenant_id = %s AND key = ANY (%b::text[])", list(ends)
            )
        }
        self._thin({key: whole for key, whole in ends.items() if key not in known})
        while rows:  # one statement touches a row once: an edge given twice waits for the next
            seen: dict[tuple[str, str, str], Any] = {}
            later = [row for row in rows if seen.setdefault(row[:3], row) is not row]
            done = self._all(_EDGES, *_columns([seen[key] for key in sorted(seen)]))
            self._count([edge for *edge, fresh in done if fresh], 1)
            rows = later
        return len(edges)

    def _count(self, edges: Sequence[Sequence[str]], change: int) -> None:
        """Keep the degrees of keys whose edges were added (1) or removed (-1)."""
        ends = Counter((src, 0, rel) for src, rel, _ in edges)
        ends.update((dst, 1, rel) for _, rel, dst in edges)
        if ends:
            self._do(_DEGREES, *_columns([(*end, change * number) for end, number in sorted(ends.items())]))
            if change < 0:
                self._do(
                    "DELETE FROM remloom.degrees WHERE tenant_id = %s AND key = ANY (%b::text[]) AND edges = 0",
                    [key for key, _, _ in ends],
                )

    def _unlink(self, edges: Sequence[tuple[str, str, str]]) -> list[str]:
        """Delete edges by their keys; returns the keys that were at their ends."""
        if not edges:
            return []
        keys = [(short(src), rel, short(dst)) for src, rel, dst in edges]
        gone = self.cursor.execute(
            "DELETE FROM remloom.edges e USING unnest(%b::text[], %b::text[], %b::text[]) k (src, rel, dst)"
            " WHERE e.tenant_id = current_setting('remloom.tenant') AND e.src = k.src AND e.rel = k.rel AND e.dst"
            " = k.dst"
            " RETURNING e.src, e.rel, e.dst",
            _columns(keys),
        ).fetchall()
        self._count(gone, -1)
        return list({key for src, _, dst in gone for key in (src, dst)})

    def _thin(self, keys: dict[str, str]) -> None:
        """Make a thin entity of each of these keys."""
        if not keys:
            return
        now = datetime.now(UTC)
        rows, names = [], []
        for key, whole in keys.items():
            name, kind = self.display.get(key, (whole, ""))
            entity = Entity(
                id=batches.new_id(), name=name or whole, type=kind, thin=True, created_at=now, updated_at=now
            )
            self.seq += 1
            rows.append(row_of(entity, self.seq, None))
            names.append((key, entity.id, 0, whole if whole != key else None))
        self.thin += len(rows)
        self._do(_RECORDS, *_columns(rows))
        self._do(_NAMES, *_columns(names))

    def _release(self, keys: dict[str, str | None]) -> None:
        """Records gave up these keys: those that no other has, but edges do, become thin entities."""
        bare = self.cursor.execute(
            "SELECT k.key FROM unnest(%b::text[]) k (key) WHERE NOT EXISTS (SELECT FROM remloom.names n"
            " WHERE n.tenant_id = current_setting('remloom.tenant') AND n.key = k.key) AND EXISTS ("
            " SELECT FROM remloom.edges e WHERE e.tenant_id = current_setting('remloom.tenant') AND e.src = k.key"
            " UNION ALL SELECT FROM remloom.edges e WHERE e.tenant_id = current_setting('remloom.tenant') AND"
            " e.dst = k.key)",
            (list(keys),),
        ).fetchall()
        self._thin({key: keys[key] or key for (key,) in bare})

    # -- what is no longer -----------------------------------------------------------------------------------

    def delete(self, ids: Iterable[str], *, derived: bool) -> Deletion:
        """Remove records and everything that hangs on them. See `contract.Store.delete`."""
        wanted = list(dict.fromkeys(ids))
        doomed: dict[str, Any] = {row[0]: row[1:] for row in self._all(_STORED, wanted)}
        asked = len(doomed)
        fresh = list(doomed)
        while derived and fresh:
            fresh = [
                child
                for (child,) in self._all(
                    "SELECT DISTINCT child FROM remloom.parents WHERE tenant_id = %s AND kind = 0 AND parent ="
                    " ANY (%b::text[])",
                    fresh,
                )
                if child not in doomed
            ]
            if fresh:
                doomed |= {row[0]: row[1:] for row in self._all(_STORED, fresh)}
        if not doomed:
            return Deletion()
        gone = list(doomed)
        self._forget_references(gone)
        texts = [
            (doc, batches.searchable_text(decode(schema, body, content)))
            for _, doc, schema, body, content in doomed.values()
            if doc is not None
        ]
        if texts:
            postings.remove(self.cursor, self.tenant, texts)
        vectors = self._drop_vectors(gone)
        keys = [
            key
            for (key,) in self._all(
                "DELETE FROM remloom.names WHERE tenant_id = %s AND id = ANY (%b::text[]) RETURNING key", gone
            )
        ]
        self._do("DELETE FROM remloom.records WHERE tenant_id = %s AND id = ANY (%b::text[])", gone)
        return Deletion(tuple(gone), vectors, len(keys), self._drop_keys(keys), len(doomed) - asked)

    def _forget_references(self, gone: Sequence[str]) -> None:
        """Take the records out of the moments that refer to them."""
        referring = self._all(
            f"SELECT DISTINCT ON (r.id) r.id, {COLUMNS} FROM remloom.parents p JOIN remloom.records r"
            " ON r.tenant_id = p.tenant_id AND r.id = p.child WHERE p.tenant_id = %s AND p.kind = 1"
            " AND p.parent = ANY (%b::text[]) AND p.child <> ALL (%b::text[])",
            gone, gone,
        )  # fmt: skip
        for id, schema, body, content in referring:
            moment = decode(schema, body, content)
            if isinstance(moment, Moment):
                kept = tuple(ref for ref in moment.resource_refs if ref not in gone)
                encoded = msgspec.json.encode(replace(moment, resource_refs=kept)).decode()
                self.cursor.execute(
                    "UPDATE remloom.records SET body = %s::text::jsonb WHERE tenant_id = %s AND id = %s",
                    (encoded, self.tenant, id),
                )

    def _drop_keys(self, keys: Sequence[str]) -> int:
        """Remove the edges of keys that no record has any more, and thin entities left without any."""
        bare = [
            key
            for (key,) in self.cursor.execute(
                "SELECT DISTINCT k.key FROM unnest(%b::text[]) k (key) WHERE NOT EXISTS (SELECT FROM remloom.names n"
                " WHERE n.tenant_id = current_setting('remloom.tenant') AND n.key = k.key)",
                (list(keys),),
            ).fetchall()
        ]
        ends: list[Any] = []
        for end in ("src", "dst"):
            ends += self._all(
                f"DELETE FROM remloom.edges WHERE tenant_id = %s AND {end} = ANY (%b::text[]) RETURNING src, rel, dst",
                bare,
            )
        self._count(ends, -1)
        if others := {key for src, _, dst in ends for key in (src, dst)} - set(bare):
            self._do(_LOOSE, list(others))
        return len(ends)


def register_model(cursor: Cursor[Any], tenant: str, name: str, dims: int, *, current: bool = True) -> int:
    """The number of an embedder, registered with its dimension; refuses to mix models.

    A text may be queued before its embedder was ever loaded, so `dims` 0 registers nothing.
    """
    rows = cursor.execute(
        "SELECT model, name, dims, current FROM remloom.models WHERE tenant_id = %s", (tenant,)
    ).fetchall()
    serving = next((row for row in rows if row[3]), None)
    if serving and current:
        number, stored, size, _ = serving
        if name and stored and name != stored:
            raise EmbedderMismatchError(
                f"this memory's vectors were made by {stored}, not by {name}",
                remedy=f"run `remloom reembed` to move to {name}, or open it with the embedder of {stored}",
                stored=stored, given=name,
            )  # fmt: skip
        if dims and size != dims:
            raise VectorError(
                f"this memory's vectors have {size} dimensions, not {dims}",
                remedy=f"use the embedder {stored or 'it began with'}",
            )
        return int(number)
    if not dims:
        return 0
    found = next((number for number, other, size, now in rows if not current and (other, size) == (name, dims)), None)
    if found is not None:
        return int(found)
    number = max((row[0] for row in rows), default=0) + 1
    cursor.execute("INSERT INTO remloom.models VALUES (%s, %s, %s, %s, %s)", (tenant, number, name, dims, current))
    return int(number)


def _namesake(twins: Sequence[tuple[str, str | None, bool]], type: str | None) -> str | None:
    """The id of the stored entity that one of this type, given without id, is."""
    same = [id for id, kind, _ in twins if kind == type]
    thin = [id for id, _, is_thin in twins if is_thin]
    only = [id for id, kind, _ in twins if (not type and len(twins) == 1) or not kind]
    return next(iter(same or thin or only), None)


def _updated(item: BatchRecord, old: Record) -> BatchRecord | None:
    """The record as it will be, written over the old one; None when nothing changes."""
    record, keys = item.record, item.keys
    if old.schema != record.schema:
        raise batches.id_taken(record, old.schema)
    if item.merge and isinstance(old, Entity) and isinstance(record, Entity):
        record = batches.merge(old, record)
        keys = tuple(dict.fromkeys((keys[0], *map(labels.key, record.aliases))))
    elif old.created_at and record.created_at and old.created_at < record.created_at:
        record = replace(record, created_at=old.created_at)
    if not item.vectors and replace(record, updated_at=old.updated_at) == old:
        return None
    return replace(item, record=record, keys=keys, text=batches.searchable_text(record))


def _embedded(item: BatchRecord) -> str:
    return batches.embedded_text(item.record)


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
