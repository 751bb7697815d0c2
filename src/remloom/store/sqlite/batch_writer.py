"""What a write and a delete do inside their transaction. The caller commits.

Invariants, which `check` verifies: every label has a record; every edge's ends are labels; a thin
entity has an edge; a vector, a queue entry and a parent belong to a record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ... import labels
from ...kv import KeyRange
from ...model import Edge, Entity, Moment, Record
from .. import history
from ..batch import Batch, BatchRecord, Vector, VectorBatch
from ..embedding_model import chosen
from ..encoding import micros, times_of, type_of
from ..indexed_text import embedded_text, searchable_text
from ..merge import Namesake, find_namesake, merge_record, thin_entity
from ..references import referred_ids, without_refs
from ..results import Deletion, Written
from . import kv, preconditions
from .index_manager import prune
from .rows import COLUMNS, decode, encode

if TYPE_CHECKING:
    import apsw

__all__ = ["OUTDATED", "apply", "delete", "erase", "store_vectors"]

_STORED = f"SELECT {COLUMNS}, r.doc FROM records r WHERE r.id = ?"
_NAMESAKES = (
    "SELECT r.id, r.type, r.thin, n.rank > 0 OR n.total = 1 FROM names n CROSS JOIN records r ON r.rid = n.rid"
    " WHERE n.lid = ? AND (n.rank = 0 OR r.thin = 1) AND r.schema = 'entities' ORDER BY r.rid"
)
# Who had a name before this batch: not those that got it just now.
_CALLED = (
    "SELECT n.rid FROM names n JOIN records r USING (rid) WHERE n.lid = ? AND n.rank = 0 AND n.rid <> ? AND n.rid <= ?"
    " AND r.thin IS NOT 1"
)
# Snapshots that hold what is no more.
OUTDATED = """
SELECT DISTINCT s.kind FROM snapshots s WHERE EXISTS (SELECT 1 FROM dead d WHERE d.seq > s.dead AND d.kind = s.kind)
"""
_PRUNED = 1_000  # burials between two looks at how many are still needed
_NEXT = "SELECT rid, lid, vid, doc, dead FROM sequence"
_RECORD = "INSERT INTO records VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
_EDGE = """
INSERT INTO edges (src, rel, dst, weight, created, valid_from, valid_to, properties) VALUES (?,?,?,?,?,?,?,?)
ON CONFLICT (src, rel, dst) DO UPDATE SET
  weight = max(weight, excluded.weight),
  created = min(created, excluded.created),
  valid_from = coalesce(min(valid_from, excluded.valid_from), valid_from, excluded.valid_from),
  valid_to = CASE WHEN excluded.valid_to IS NOT NULL THEN excluded.valid_to
                  WHEN excluded.valid_from > valid_to THEN NULL ELSE valid_to END,
  properties = merge_properties(properties, excluded.properties)
"""


def apply(cursor: apsw.Cursor, batch: Batch) -> Written:
    """Make a batch true. See `contract.Store.write`."""
    if batch.expected:
        preconditions.check(cursor, batch.expected)
    if batch.deleted:
        delete(cursor, batch.deleted, derived=True, erase=False)
    model = (
        _model(cursor, batch.model, batch.dims)
        if batch.dims or any(r.embed for r in batch.records)
        else 0
    )
    written = _Writing(cursor, model, batch.names, exact=batch.exact).run(batch)
    if batch.entries or batch.deleted_entries:
        kv.put(cursor, batch.entries, batch.deleted_entries)
    return written


def erase(cursor: apsw.Cursor, batch: Batch) -> tuple[Deletion, dict[str, list[int]]]:
    """Make a batch true whose `removed` are erased; returns too the numbers buried. See
    `contract.Store.erase`."""
    if batch.expected:
        preconditions.check(cursor, batch.expected)
    deletion, buried = delete(cursor, batch.deleted, derived=True, erase=False)
    apply(cursor, replace(batch, deleted=(), expected=None))
    _drop_snapshots(cursor)
    return deletion, buried


class _Rows(Struct):
    """Rows gathered for one INSERT a table."""

    labels: list[Any]
    records: list[Any]
    names: list[Any]
    vectors: list[Any]
    pending: list[Any]


class _Writing:
    """One batch on its way into the tables."""

    def __init__(
        self,
        cursor: apsw.Cursor,
        model: int,
        names: dict[str, tuple[str, str]],
        *,
        exact: bool = False,
    ) -> None:
        self.cursor = cursor
        self.exact = exact
        self.model = model
        self.display = names
        self.rid, self.lid, self.vid, self.doc, self.dead = cursor.execute(_NEXT).get
        self.buried_before = self.dead
        self.lids: dict[str, int] = {}
        self.absent: set[str] = set()  # keys that had no label when the batch began
        self.fresh: set[int] = set()  # labels made by this batch
        self.shown: set[int] = set()  # … only because a thin entity shows them
        self.first = self.rid  # the last record before this batch
        # (label, record): renamed to it by this batch
        self.came: set[tuple[int, int]] = set()
        # labels from which this batch renamed a record
        self.left: set[int] = set()
        # label -> the one to which its edges follow their record
        self.moved: dict[int, int] = {}
        self.stale: dict[int, None] = {}  # labels that a record gave up
        self.rows = _Rows([], [], [], [], [])
        self.buried: dict[str, list[int]] = {}
        self.thin = 0

    def run(self, batch: Batch) -> Written:
        loosened = self._unlink(batch.deleted_edges)
        self._know({key for item in batch.records for key in item.keys} | batch.names.keys())
        counts = {"created": 0, "updated": 0, "unchanged": 0}
        ids, references = [], []
        for item in batch.records:
            identity, outcome, rid = self._record(item)
            counts[outcome] += 1
            ids.append(identity)
            referred = referred_ids(item.record)
            if outcome != "unchanged" and (item.parents or referred):
                references.append((rid, item.parents, referred))
        self._flush()
        if self.moved:
            self._follow()
        for lid in self.stale:
            self._release(lid)
        for rid, parents, referred in references:
            self._refer(rid, parents, 0)
            self._refer(rid, referred, 1)
        edges = self._edges(batch.edges)
        for lid in loosened:
            self._drop_thin(lid)
        self.cursor.execute(
            "UPDATE sequence SET rid=?, lid=?, vid=?, doc=?, dead=?",
            (self.rid, self.lid, self.vid, self.doc, self.dead),
        )
        if self.dead // _PRUNED != self.buried_before // _PRUNED:
            prune(self.cursor)
        return Written(tuple(ids), edges=edges, thin=self.thin, **counts)

    # -- records -----------------------------------------------------------------------------------

    def _record(self, item: BatchRecord) -> tuple[str, str, int]:
        record = item.record
        if item.merge and (twin := self._namesake(item.keys[0], record)):
            record = replace(record, id=twin)
            item = replace(item, record=record, fresh=False)
        found = None if item.fresh else self.cursor.execute(_STORED, (record.id,)).get
        if found is None:
            self.rid += 1
            self._insert(item, self.rid, fresh=True)
            return record.id, "created", self.rid
        rid, schema, body, content, doc = found
        old = decode(schema, body, content)
        changed = merge_record(item, old)
        if changed is None:
            return record.id, "unchanged", rid
        record, keys = changed.record, changed.keys
        self._update(changed, rid, old, doc)
        if not (item.merge or self.exact) and (before := labels.key(old.name)) != keys[0]:
            self._rename(rid, before, keys[0])
        if isinstance(old, Entity) and isinstance(record, Entity) and not self.exact:
            self._note(old, record)
        return record.id, "updated", rid

    def _note(self, old: Entity, new: Entity) -> None:
        """Keep what an entity was."""
        kind, prefix = history.last_of(new.id)
        newest = KeyRange(prefix=prefix, limit=1, newest_first=True)
        last = kv.list_entries(self.cursor, kind, newest)
        entries = history.noted(old, new, last[0] if last else None)
        kv.put(self.cursor, entries)
        if history.number(entries[0]) > history.KEPT:
            oldest = kv.list_entries(self.cursor, kind, KeyRange(prefix=prefix, limit=1))[0]
            kv.put(self.cursor, (), [(kind, oldest.key)])

    def _namesake(self, key: str, record: Record) -> str | None:
        """The id of the stored entity that this one, given without id, is."""
        lid = self._find(key)
        if lid is None:
            return None
        twins = [
            Namesake(id, kind, bool(thin), bool(own))
            for id, kind, thin, own in self.cursor.execute(_NAMESAKES, (lid,)).fetchall()
        ]
        return find_namesake(twins, type_of(record))

    def _insert(self, item: BatchRecord, rid: int, *, fresh: bool, doc: int | None = None) -> None:
        record, rows = item.record, self.rows
        if doc is None and item.text:
            self.doc += 1
            doc = self.doc
        rows.records.append(_row(record, rid, doc))
        shown = isinstance(record, Entity) and record.thin and len(item.keys) > 1
        for rank, key in enumerate(item.keys):
            lid = self._label(key)
            if lid not in self.fresh and not (shown and not rank):
                self._replace_thin(lid, rid)
            rows.names.append((lid, rid, rank, len(item.keys)))
        self.add_vectors(rid, item.vectors)
        if item.embed:
            rows.pending.append((rid,))

    def add_vectors(self, record_no: int, windows: Iterable[Vector]) -> None:
        """Add the windows of a record to the rows that are to be written."""
        for window in windows:
            self.vid += 1
            part = window.start, window.end, window.digest or None, _half(window.data)
            self.rows.vectors.append((self.vid, record_no, self.model, *part))

    def _update(self, item: BatchRecord, rid: int, old: Record, doc: int | None) -> None:
        self._flush()
        same_text = searchable_text(old) == item.text
        stale_labels = [
            lid for (lid,) in self.cursor.execute("SELECT lid FROM names WHERE rid=?", (rid,))
        ]
        self.cursor.execute("DELETE FROM names WHERE rid=?", (rid,))
        self.cursor.execute("DELETE FROM records WHERE rid=?", (rid,))
        if not same_text and doc is not None:
            self._bury("terms", doc)
        if item.vectors or embedded_text(old) != embedded_text(item.record):
            self._drop_vectors(rid)
        elif self.cursor.execute("SELECT 1 FROM vectors WHERE rid=? LIMIT 1", (rid,)).get:
            item = replace(item, embed=False)
        self.cursor.execute("DELETE FROM parents WHERE child=?", (rid,))
        self._insert(item, rid, fresh=False, doc=doc if same_text else None)
        self._flush()
        self.stale.update(dict.fromkeys(stale_labels))

    def _rename(self, rid: int, before: str, after: str) -> None:
        """A record is called otherwise: its edges follow it, unless another record was called as it
        was."""
        old, new = self._label(before), self._label(after)
        others = {other for (other,) in self.cursor.execute(_CALLED, (old, rid, self.first))}
        if old not in self.left and all((old, other) in self.came for other in others):
            self.moved[old] = new
        self.left.add(old)
        self.came.add((new, rid))

    def _follow(self) -> None:
        """Edges at labels whose record has another name now go over to that, all at once: two may
        change names."""
        moved = self.moved
        # a type would go with the last of its edges
        self.cursor.execute("UPDATE rels SET edges = edges + 1")
        rows = self.cursor.execute(
            "DELETE FROM edges WHERE src IN (SELECT value FROM json_each(?1)) OR dst IN (SELECT value FROM"
            " json_each(?1)) RETURNING src, rel, dst, weight, created, valid_from, valid_to, properties",
            (json.dumps(list(moved)),),
        ).fetchall()
        ends = [
            (moved.get(src, src), rel, moved.get(dst, dst), *rest) for src, rel, dst, *rest in rows
        ]
        self.cursor.executemany(
            "UPDATE labels SET linked=1 WHERE lid=?", [(src,) for src in {row[0] for row in ends}]
        )
        self.cursor.executemany(_EDGE, ends)
        self.cursor.execute("UPDATE rels SET edges = edges - 1")

    def _refer(self, rid: int, ids: Sequence[str], kind: int) -> None:
        self.cursor.executemany(
            "INSERT OR IGNORE INTO parents SELECT ?, rid, ? FROM records WHERE id = ?",
            [(rid, kind, id) for id in ids],
        )

    def _flush(self) -> None:
        rows, many = self.rows, self.cursor.executemany
        if rows.labels:
            many("INSERT INTO labels VALUES (?,?,0)", rows.labels)
        if rows.records:
            many(_RECORD, rows.records)
        if rows.names:
            many("INSERT OR IGNORE INTO names VALUES (?,?,?,?)", rows.names)
        if rows.vectors:
            many("INSERT INTO vectors VALUES (?,?,?,?,?,?,?)", rows.vectors)
        if rows.pending:
            many("INSERT OR REPLACE INTO pending VALUES (?, 0, NULL, 0)", rows.pending)
        self.rows = _Rows([], [], [], [], [])

    # -- labels ------------------------------------------------------------------------------------

    def _know(self, keys: set[str]) -> None:
        """Ask for the labels of a whole batch at once."""
        rows = self.cursor.execute(
            "SELECT l.key, l.lid FROM json_each(?) v CROSS JOIN labels l ON l.key = v.value",
            (json.dumps(list(keys)),),
        )
        self.lids.update(rows)
        self.absent = keys - self.lids.keys()

    def _find(self, key: str) -> int | None:
        """The number of a key, None when there is none yet."""
        lid = self.lids.get(key)
        if lid is None and key not in self.absent:
            lid = self.cursor.execute("SELECT lid FROM labels WHERE key=?", (key,)).get
            if lid is not None:
                self.lids[key] = lid
        return lid

    def _label(self, key: str) -> int:
        """The number of a key, made when there is none yet."""
        lid = self._find(key)
        if lid is None:
            self.lid += 1
            lid = self.lids[key] = self.lid
            self.rows.labels.append((lid, key))
            self.fresh.add(lid)
        return lid

    def _replace_thin(self, lid: int, rid: int) -> None:
        """A label that only a thin entity held now has a real record: the thin one goes."""
        for (thin,) in self.cursor.execute(
            "SELECT r.rid FROM names n JOIN records r USING (rid) WHERE n.lid=? AND r.thin=1 AND r.rid<>?"
            " AND (n.rank > 0 OR n.total = 1)",
            (lid, rid),
        ).fetchall():
            self._forget(thin)

    def _forget(self, rid: int) -> list[int]:
        """Remove a thin entity; returns its labels, which are to be released."""
        lids = [
            lid
            for (lid,) in self.cursor.execute(
                "DELETE FROM names WHERE rid=? RETURNING lid", (rid,)
            ).fetchall()
        ]
        self.cursor.execute("DELETE FROM records WHERE rid=?", (rid,))
        self.stale.update(dict.fromkeys(lids))
        return lids

    def _release(self, lid: int) -> None:
        """A record gave up this label: keep it for others, or for its edges as a thin entity, or
        drop it."""
        if self.cursor.execute("SELECT 1 FROM names WHERE lid=? LIMIT 1", (lid,)).get:
            return
        key = self.cursor.execute("SELECT key FROM labels WHERE lid=?", (lid,)).get
        if self.cursor.execute(
            "SELECT 1 FROM edges WHERE src=?1 UNION ALL SELECT 1 FROM edges WHERE dst=?1 LIMIT 1",
            (lid,),
        ).get:
            self._thin(lid, key)
            self._flush()
        else:
            self.cursor.execute("DELETE FROM labels WHERE lid=?", (lid,))
            self.lids.pop(key, None)
            self._bury("names", lid)

    def _thin(self, lid: int, key: str) -> None:
        entity, keys = thin_entity(key, *self.display.get(key, (key, "")), datetime.now(UTC))
        self.rid += 1
        self.thin += 1
        self.rows.records.append(_row(entity, self.rid, None))
        if len(keys) == 1:
            self.rows.names.append((lid, self.rid, 0, 1))
            return
        for rank, other in enumerate(keys):
            known = other == key or self._find(other) is not None
            number = lid if other == key else self._label(other)
            if not known:
                self.shown.add(number)
            self.rows.names.append((number, self.rid, rank, len(keys)))

    # -- edges -------------------------------------------------------------------------------------

    def _edges(self, edges: Sequence[Edge]) -> int:
        if not edges:
            return 0
        rows: list[tuple[Any, ...]] = []
        rels: dict[str, int] = {}
        for edge in edges:
            rel = rels.get(edge.rel_type)
            if rel is None:
                rel = rels[edge.rel_type] = self._rel(edge.rel_type)
            properties = msgspec.json.encode(edge.properties).decode() if edge.properties else None
            rows.append((
                self._end(edge.src), rel, self._end(edge.dst), edge.weight, micros(edge.created_at),
                micros(edge.valid_from), micros(edge.valid_to), properties,
            ))  # fmt: skip
        self._flush()
        self.cursor.executemany(
            "UPDATE labels SET linked=1 WHERE lid=? AND linked=0",
            [(lid,) for lid in {row[0] for row in rows}],
        )
        rows.sort(key=lambda row: row[:3])  # neighbours in the tree, written together
        self.cursor.executemany(_EDGE, rows)
        return len(rows)

    def _end(self, key: str) -> int:
        lid = self.lids.get(key)
        if lid is None:
            lid = self._label(key)
            if lid in self.fresh:
                self._thin(lid, key)
        elif lid in self.shown:
            self.shown.discard(lid)
            self._thin(lid, key)
        return lid

    def _rel(self, name: str) -> int:
        rel = self.cursor.execute("SELECT rel FROM rels WHERE name=?", (name,)).get
        if rel is None:
            rel = self.cursor.execute(
                "INSERT INTO rels (name) VALUES (?) RETURNING rel", (name,)
            ).get
        return int(rel)

    # -- what is no longer -------------------------------------------------------------------------

    def _unlink(self, edges: Sequence[tuple[str, str, str]]) -> set[int]:
        """Delete edges by their keys; returns the labels that were at their ends."""
        ends: set[int] = set()
        for edge in edges:
            row = self.cursor.execute(
                "DELETE FROM edges WHERE src = (SELECT lid FROM labels WHERE key=?)"
                " AND rel = (SELECT rel FROM rels WHERE name=?) AND dst = (SELECT lid FROM labels WHERE key=?)"
                " RETURNING src, dst",
                edge,
            ).fetchone()
            ends.update(row or ())
        return ends

    def _drop_thin(self, lid: int) -> None:
        """Remove the thin entities at this label that no edge is left to."""
        for (thin,) in self.cursor.execute(
            "SELECT r.rid FROM names n JOIN records r USING (rid) WHERE n.lid=? AND r.thin=1 AND NOT EXISTS (SELECT 1"
            " FROM names o WHERE o.rid = r.rid AND (EXISTS (SELECT 1 FROM edges WHERE src=o.lid)"
            # else it only shows it
            " OR EXISTS (SELECT 1 FROM edges WHERE dst=o.lid)) AND (o.rank > 0 OR o.total = 1"
            " OR NOT EXISTS (SELECT 1 FROM names p WHERE p.lid = o.lid AND p.rid <> o.rid)))",
            (lid,),
        ).fetchall():
            for other in self._forget(thin):
                self._release(other)

    def _drop_vectors(self, rid: int) -> int:
        vids = self.cursor.execute(
            "DELETE FROM vectors WHERE rid=? RETURNING vid", (rid,)
        ).fetchall()
        for (vid,) in vids:
            self._bury("vectors", vid)
        self.cursor.execute("DELETE FROM pending WHERE rid=?", (rid,))
        return len(vids)

    def _bury(self, kind: str, number: int) -> None:
        self.dead += 1
        self.buried.setdefault(kind, []).append(number)
        self.cursor.execute("INSERT INTO dead VALUES (?,?,?)", (self.dead, kind, number))


def delete(
    cursor: apsw.Cursor, ids: Iterable[str], *, derived: bool, erase: bool
) -> tuple[Deletion, dict[str, list[int]]]:
    """Remove records and everything that hangs on them; returns too the numbers buried. See
    `contract.Store.delete`."""
    writing = _Writing(cursor, 0, {})
    doomed: dict[int, str] = {}
    wanted = list(ids)
    for identity in wanted:
        if (
            rid := cursor.execute("SELECT rid FROM records WHERE id=?", (identity,)).get
        ) is not None:
            doomed[rid] = identity
    asked = len(doomed)
    queue = list(doomed)
    while derived and queue:
        for rid, identity in cursor.execute(
            "SELECT r.rid, r.id FROM parents p JOIN records r ON r.rid = p.child WHERE p.parent=? AND p.kind=0",
            (queue.pop(),),
        ).fetchall():
            if rid not in doomed:
                doomed[rid] = identity
                queue.append(rid)
    vectors = keys = edges = 0
    for rid, identity in doomed.items():
        _forget_references(cursor, rid, identity, doomed)
        doc = cursor.execute("SELECT doc FROM records WHERE rid=?", (rid,)).get
        if doc is not None:
            writing._bury("terms", doc)
        vectors += writing._drop_vectors(rid)
        lids = [
            lid
            for (lid,) in cursor.execute(
                "DELETE FROM names WHERE rid=? RETURNING lid", (rid,)
            ).fetchall()
        ]
        cursor.execute("DELETE FROM records WHERE rid=?", (rid,))
        keys += len(lids)
        for lid in lids:
            edges += _drop_label(writing, lid)
    kv.delete_about(cursor, {*wanted, *doomed.values()})
    cursor.execute(
        "UPDATE sequence SET rid=?, lid=?, dead=?", (writing.rid, writing.lid, writing.dead)
    )
    if erase:
        _drop_snapshots(cursor)
    return Deletion(
        tuple(doomed.values()), vectors, keys, edges, len(doomed) - asked
    ), writing.buried


def _drop_snapshots(cursor: apsw.Cursor) -> None:
    """Remove the snapshots that hold what is no more, and the burials that are recorded for none."""
    cursor.execute(f"DELETE FROM snapshots WHERE kind IN ({OUTDATED})")
    prune(cursor)


def _forget_references(
    cursor: apsw.Cursor, rid: int, identity: str, doomed: dict[int, str]
) -> None:
    """Take the record out of the moments that refer to it or lie in it, and its rows out of the
    provenance."""
    referring = cursor.execute(
        f"SELECT {COLUMNS} FROM parents p JOIN records r ON r.rid = p.child WHERE p.parent=? AND p.kind=1",
        (rid,),
    ).fetchall()
    for child, schema, body, content in referring:
        moment = decode(schema, body, content)
        if child not in doomed and isinstance(moment, Moment):
            kept = without_refs(moment, {identity})
            cursor.execute("UPDATE records SET body=? WHERE rid=?", (encode(kept)[0], child))
    cursor.execute("DELETE FROM parents WHERE parent=?1 OR child=?1", (rid,))


def _drop_label(writing: _Writing, lid: int) -> int:
    """Remove a label that nothing has any more, its edges, and thin entities that are left without
    any. One that a thin entity only shows stays, without the edges: they were not that one's."""
    cursor = writing.cursor
    held = cursor.execute(
        "SELECT max(r.thin IS NOT 1 OR n.rank > 0 OR n.total = 1) FROM names n JOIN records r USING (rid)"
        " WHERE n.lid=?",
        (lid,),
    ).get
    if held:
        return 0
    others = {
        other
        for (other,) in cursor.execute(
            "SELECT dst FROM edges WHERE src=?1 UNION SELECT src FROM edges WHERE dst=?1", (lid,)
        )
    }
    edges = 0
    for end in ("src", "dst"):
        cursor.execute(f"DELETE FROM edges WHERE {end}=?", (lid,))
        edges += cursor.connection.changes()
    if held is None:
        cursor.execute("DELETE FROM labels WHERE lid=?", (lid,))
        writing._bury("names", lid)
    for other in others - {lid}:
        writing._drop_thin(other)
    return edges


def store_vectors(cursor: apsw.Cursor, batch: VectorBatch) -> None:
    """Replace the vectors that records have of one model. See `components.Vectors.put`."""
    model = _model(cursor, batch.model, batch.dims, current=batch.current)
    writing = _Writing(cursor, model, {})
    for id, windows in batch.vectors.items():
        row = cursor.execute("SELECT rid, doc FROM records WHERE id=?", (id,)).get
        if row is None:
            continue
        record_no, text_no = row
        if batch.versions.get(id, text_no) != text_no:
            continue
        for (vector_no,) in cursor.execute(
            "DELETE FROM vectors WHERE rid=? AND model=? RETURNING vid", (record_no, model)
        ).fetchall():
            writing._bury("vectors", vector_no)
        writing.add_vectors(record_no, windows)
        if batch.current:
            cursor.execute("DELETE FROM pending WHERE rid=?", (record_no,))
    writing._flush()
    cursor.execute("UPDATE sequence SET vid=?, dead=?", (writing.vid, writing.dead))


def adopt(cursor: apsw.Cursor, model: str) -> None:
    """Switch to a model whose vectors are complete. See `contract.Store.adopt`."""
    number = cursor.execute(
        "SELECT model FROM models WHERE name=? ORDER BY model DESC LIMIT 1", (model,)
    ).get
    if number is None:
        return  # there was nothing to embed
    cursor.execute("DELETE FROM vectors WHERE model<>?", (number,))
    cursor.execute("DELETE FROM models WHERE model<>?", (number,))
    cursor.execute("UPDATE models SET current=1")
    cursor.execute("DELETE FROM pending")
    # what was written since the last text was moved
    cursor.execute(
        "INSERT INTO pending SELECT rid, 0, NULL, 0 FROM records r"
        " WHERE doc IS NOT NULL AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.rid = r.rid)"
    )
    cursor.execute("DELETE FROM snapshots WHERE kind='vectors'")


def _row(record: Record, rid: int, doc: int | None) -> tuple[Any, ...]:
    body, content = encode(record)
    thin = 1 if isinstance(record, Entity) and record.thin else None
    return (
        rid,
        record.id,
        record.schema,
        type_of(record),
        thin,
        *times_of(record),
        doc,
        body,
        content,
    )


def _model(cursor: apsw.Cursor, name: str, dims: int, *, current: bool = True) -> int:
    """The number of an embedder, registered with its dimension; see `models.chosen`."""
    rows = cursor.execute("SELECT model, name, dims, current FROM models").fetchall()
    number, fresh = chosen(rows, name, dims, current=current)
    if fresh:
        cursor.execute("INSERT INTO models VALUES (?,?,?,?)", (number, name, dims, int(current)))
    return number


def _half(data: bytes) -> bytes:
    import numpy as np

    return np.frombuffer(data, np.float32).astype(np.float16).tobytes()
