"""Edges, their degrees, and the thin entities that stand for labels which no record has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

from msgspec.structs import replace

from ...model import Edge
from ..encoding import micros
from ..json_values import encode_free
from ..merge import thin_entity
from .binary_arrays import Column, columns, parts
from .rows import EDGE, RECORD_KINDS, edge_of, row_of
from .short_keys import short
from .transaction import Transaction

__all__ = ["RECORDS", "REPLACING", "Linking"]

RECORDS = """
INSERT INTO remloom.records
SELECT %s, id, seq, schema, type, thin, starts, ends, created, updated, doc, uri, body::jsonb, content
FROM unnest(%b::text[], %b::bigint[], %b::text[], %b::text[], %b::boolean[], %b::bigint[], %b::bigint[], %b::bigint[],
            %b::bigint[], %b::bigint[], %b::text[], %b::text[], %b::text[])
     r (id, seq, schema, type, thin, starts, ends, created, updated, doc, uri, body, content)
"""
REPLACING = """
ON CONFLICT (tenant_id, id) DO UPDATE SET
  type = excluded.type, thin = excluded.thin, starts = excluded.starts, ends = excluded.ends,
  created = excluded.created, updated = excluded.updated, doc = excluded.doc,
  uri = excluded.uri, body = excluded.body, content = excluded.content
"""
_NAMES = """
INSERT INTO remloom.names
SELECT %s, * FROM unnest(%b::text[], %b::text[], %b::integer[], %b::text[], %b::boolean[], %b::bigint[])
"""
_RELS = """
INSERT INTO remloom.rels SELECT %s, * FROM unnest(%b::text[], %b::bigint[])
ON CONFLICT (tenant_id, rel) DO UPDATE SET edges = rels.edges + excluded.edges
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
# Of these keys, those that name nothing; those that have an edge; and the thin entities among what
# they name, which no edge is left to by any of their keys.
_BARE = """
SELECT k.key FROM unnest(%b::text[]) k (key) WHERE NOT EXISTS (
  SELECT FROM remloom.names n WHERE n.tenant_id = %s AND n.key = k.key OFFSET 0)
"""
# Of these keys, those that nothing has, or thin entities only show.
_UNHELD = """
SELECT k.key FROM unnest(%b::text[]) k (key) WHERE NOT EXISTS (
  SELECT FROM remloom.names n JOIN remloom.records r ON r.tenant_id = %s AND r.id = n.id
  WHERE n.tenant_id = %s AND n.key = k.key AND NOT (r.thin AND n.kin AND n.rank = 0))
"""
_LINKED = """
SELECT k.key FROM unnest(%b::text[]) k (key) WHERE EXISTS (
  SELECT FROM remloom.edges e WHERE e.tenant_id = %s AND e.src = k.key
  UNION ALL SELECT FROM remloom.edges e WHERE e.tenant_id = %s AND e.dst = k.key)
"""
_THIN = """
SELECT r.id FROM unnest(%b::text[]) k (key)
CROSS JOIN LATERAL (SELECT n.id FROM remloom.names n WHERE n.tenant_id = %s AND n.key = k.key OFFSET 0) n
CROSS JOIN LATERAL (SELECT r.id FROM remloom.records r WHERE r.tenant_id = %s AND r.id = n.id AND r.thin OFFSET 0) r
WHERE NOT EXISTS (
  SELECT FROM remloom.names m WHERE m.tenant_id = %s AND m.id = r.id
  AND (EXISTS (SELECT FROM remloom.edges e WHERE e.tenant_id = m.tenant_id AND e.src = m.key)
       OR EXISTS (SELECT FROM remloom.edges e WHERE e.tenant_id = m.tenant_id AND e.dst = m.key))
  AND (m.rank > 0 OR NOT m.kin OR NOT EXISTS (  -- else it only shows it
    SELECT FROM remloom.names o WHERE o.tenant_id = m.tenant_id AND o.key = m.key AND o.id <> m.id)))
"""
_Key = tuple[str, str, str]  # src, rel, dst


class Linking(Transaction):
    """The part of a write that is about edges."""

    thin = 0  # entities made so far
    # key -> name and type of the thin entity, should it need one
    display: dict[str, tuple[str, str]]

    def link(self, edges: Sequence[Edge]) -> int:
        if not edges:
            return 0
        keyed = [((short(edge.src), edge.rel_type, short(edge.dst)), edge) for edge in edges]
        ends = {
            end: whole
            for key, edge in keyed
            for end, whole in ((key[0], edge.src), (key[2], edge.dst))
        }
        self._thin({key: ends[key] for key in self._those(_BARE, list(ends))})
        # one statement touches a row once: an edge given twice waits for the next
        while keyed:
            seen: dict[_Key, Edge] = {}
            later = [(key, edge) for key, edge in keyed if seen.setdefault(key, edge) is not edge]
            self._upsert(sorted(seen.items(), key=itemgetter(0)))
            keyed = later
        return len(edges)

    def _upsert(self, edges: Sequence[tuple[_Key, Edge]]) -> None:
        """Store edges, or merge them with those there are; none twice."""
        connection = self.cursor.connection
        # the server stores one part while the next is prepared, or the last is counted
        with connection.pipeline():
            answers = [
                connection.execute(
                    _EDGES, (self.tenant, *columns("tttdqqqt", [_row(*pair) for pair in part]))
                )
                for part in parts(edges)
            ]
            for answer in answers:
                self._count([edge for *edge, fresh in answer.fetchall() if fresh], 1)

    def _count(self, edges: Sequence[Sequence[str]], change: int) -> None:
        """Keep the degrees of keys, and the uses of types, whose edges were added (1) or removed
        (-1)."""
        ends = Counter([end for src, rel, dst in edges for end in ((src, 0, rel), (dst, 1, rel))])
        if ends:
            self.do(
                _DEGREES,
                *columns("titq", [(*end, change * number) for end, number in sorted(ends.items())]),
            )
            types = Counter([rel for _, rel, _ in edges])
            self.do(
                _RELS,
                *columns("tq", [(rel, change * number) for rel, number in sorted(types.items())]),
            )
            if change < 0:
                self.do(
                    "DELETE FROM remloom.rels WHERE tenant_id = %s AND rel = ANY (%b::text[]) AND edges = 0",
                    Column("t", list(types)),
                )
                self.do(
                    "DELETE FROM remloom.degrees WHERE tenant_id = %s AND key = ANY (%b::text[]) AND edges = 0",
                    Column("t", [key for key, _, _ in ends]),
                )

    def unlink(self, edges: Sequence[tuple[str, str, str]]) -> list[str]:
        """Delete edges by their keys; returns the keys that were at their ends."""
        if not edges:
            return []
        keys = [(short(src), rel, short(dst)) for src, rel, dst in edges]
        gone = self.cursor.execute(
            "DELETE FROM remloom.edges e USING unnest(%b::text[], %b::text[], %b::text[]) k (src, rel, dst)"
            " WHERE e.tenant_id = %s AND e.src = k.src AND e.rel = k.rel AND e.dst = k.dst"
            " RETURNING e.src, e.rel, e.dst",
            (*columns("ttt", keys), self.tenant),
        ).fetchall()
        self._count(gone, -1)
        return list({key for src, _, dst in gone for key in (src, dst)})

    def _thin(self, keys: dict[str, str]) -> None:
        """Make a thin entity of each of these keys."""
        if not keys:
            return
        now = datetime.now(UTC)
        rows, names = [], []
        for whole in keys.values():
            entity, named = thin_entity(whole, *self.display.get(whole, (whole, "")), now)
            self.seq += 1
            rows.append(row_of(entity, self.seq, None))
            for rank, other in enumerate(named):
                shown = short(other)
                names.append(
                    (shown, entity.id, rank, other if shown != other else None, len(named) > 1)
                )
        self.thin += len(rows)
        self.do(RECORDS, *columns(RECORD_KINDS, rows))
        self.name(names)

    def name(self, names: Sequence[tuple[str, str, int, str | None, bool]]) -> None:
        """Give records their keys: rows of `names`, but for the tenant's and the number."""
        numbers = range(self.names + 1, self.names + len(names) + 1)
        self.names += len(names)
        self.do(_NAMES, *columns("ttit?", names), Column("q", numbers))

    def unname(self, ids: Sequence[str]) -> dict[str, str | None]:
        """Take records their keys. Returns these, with what a shortened one stands for."""
        gone = self.all(
            "DELETE FROM remloom.names WHERE tenant_id = %s AND id = ANY (%b::text[]) RETURNING key, label",
            Column("t", ids),
        )
        self.unnamed += len(gone)
        return dict(gone)

    def release(self, keys: dict[str, str | None]) -> None:
        """Records gave up these keys: those that no other has, but edges do, become thin entities."""
        self._thin(
            {key: keys[key] or key for key in self._those(_LINKED, self._those(_BARE, list(keys)))}
        )

    def drop_keys(self, keys: Sequence[str]) -> int:
        """Remove the edges of keys that no record has any more, and thin entities left without any."""
        bare = list(set(self._those(_UNHELD, keys)))
        ends: list[Any] = []
        for end in ("src", "dst"):
            ends += self.all(
                f"DELETE FROM remloom.edges WHERE tenant_id = %s AND {end} = ANY (%b::text[]) RETURNING src, rel, dst",
                Column("t", bare),
            )
        self._count(ends, -1)
        if others := {key for src, _, dst in ends for key in (src, dst)} - set(bare):
            self.loosen(list(others))
        return len(ends)

    def loosen(self, keys: Sequence[str]) -> None:
        """Remove the thin entities at these keys that no edge is left to."""
        self.forget(list(dict.fromkeys(self._those(_THIN, keys))))

    def forget(self, ids: Sequence[str]) -> dict[str, str | None]:
        """Remove records and their names. Returns these, as `unname` does."""
        if not ids:
            return {}
        gone = self.unname(ids)
        self.do(
            "DELETE FROM remloom.records WHERE tenant_id = %s AND id = ANY (%b::text[])",
            Column("t", ids),
        )
        return gone

    def move(self, moved: dict[str, str]) -> None:
        """Put the edges at these keys at others, all at once: two may change places."""
        keys = Column("t", list(moved))
        rows = self.all(
            f"SELECT {EDGE} FROM remloom.edges e WHERE e.tenant_id = %s AND (e.src = ANY (%b::text[])"
            " OR e.dst = ANY (%b::text[]))",
            keys, keys,
        )  # fmt: skip
        edges = list(map(edge_of, rows))
        self.unlink([(edge.src, edge.rel_type, edge.dst) for edge in edges])
        self.link([
            replace(edge, src=moved.get(edge.src, edge.src), dst=moved.get(edge.dst, edge.dst)) for edge in edges
        ])  # fmt: skip

    def _those(self, sql: str, keys: Sequence[str]) -> list[str]:
        """What a statement about keys finds, whose other parameters are the tenant."""
        if not keys:
            return []
        values = (Column("t", keys), *[self.tenant] * sql.count("%s"))
        return [found for (found,) in self.cursor.execute(sql, values).fetchall()]


def _row(key: _Key, edge: Edge) -> tuple[Any, ...]:
    properties = encode_free(edge.properties) if edge.properties else None
    times = micros(edge.created_at), micros(edge.valid_from), micros(edge.valid_to)
    return *key, edge.weight, *times, properties
