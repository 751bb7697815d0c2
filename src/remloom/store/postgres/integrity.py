"""Does every index of ours agree with its table? PostgreSQL sees to its own."""

from __future__ import annotations

from ..validation import searchable_text
from . import bm25_index, trigram_index
from .database import Database
from .rows import COLUMNS, decode

__all__ = ["check"]

_SHOWN = 20  # disagreements of one kind listed

# What must be empty, and how to say it of a row that is there. `%(tenant)s` is the tenant.
_INVARIANTS = {
    "SELECT e.src, e.dst FROM remloom.edges e WHERE e.tenant_id = %(tenant)s AND NOT EXISTS (SELECT FROM"
    " remloom.names n"
    " WHERE n.tenant_id = e.tenant_id AND n.key = e.src)": "an edge leaves {0!r}, which names nothing",
    "SELECT e.src, e.dst FROM remloom.edges e WHERE e.tenant_id = %(tenant)s AND NOT EXISTS (SELECT FROM"
    " remloom.names n"
    " WHERE n.tenant_id = e.tenant_id AND n.key = e.dst)": "an edge enters {1!r}, which names nothing",
    "SELECT e.rel FROM remloom.edges e WHERE e.tenant_id = %(tenant)s AND NOT EXISTS (SELECT FROM remloom.rels t"
    " WHERE t.tenant_id = e.tenant_id AND t.rel = e.rel)": "an edge has type {0!r}, which is gone",
    "SELECT t.rel FROM remloom.rels t WHERE t.tenant_id = %(tenant)s AND t.edges <> (SELECT count(*) FROM remloom.edges"
    " e WHERE e.tenant_id = t.tenant_id AND e.rel = t.rel)": "the edges of type {0!r} are counted wrongly",
    "WITH counted AS (SELECT e.src AS key, 0 AS side, e.rel, count(*) AS edges FROM remloom.edges e WHERE e.tenant_id ="
    " %(tenant)s GROUP BY 1, 2, 3 UNION ALL SELECT e.dst, 1, e.rel, count(*) FROM"
    " remloom.edges e WHERE e.tenant_id = %(tenant)s GROUP BY 1, 2, 3)"
    " SELECT DISTINCT coalesce(c.key, d.key) FROM counted c FULL JOIN (SELECT * FROM remloom.degrees WHERE tenant_id ="
    " %(tenant)s) d ON d.key = c.key AND d.side = c.side AND d.rel = c.rel"
    " WHERE d.edges IS DISTINCT FROM c.edges": "the edges at {0!r} are counted wrongly",
    "SELECT r.id FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND NOT EXISTS (SELECT FROM remloom.names n"
    " WHERE n.tenant_id = r.tenant_id AND n.id = r.id AND n.rank = 0)": "record {0} has no name",
    "SELECT n.key FROM remloom.names n WHERE n.tenant_id = %(tenant)s AND NOT EXISTS (SELECT FROM remloom.records r"
    " WHERE r.tenant_id = n.tenant_id AND r.id = n.id)": "the key {0!r} is of a record that is gone",
    "SELECT v.id FROM remloom.vectors v WHERE v.tenant_id = %(tenant)s AND NOT EXISTS (SELECT FROM remloom.records r"
    " WHERE r.tenant_id = v.tenant_id AND r.id = v.id)": "a vector is of record {0}, which is gone",
    "SELECT p.id FROM remloom.pending p WHERE p.tenant_id = %(tenant)s AND NOT EXISTS (SELECT FROM remloom.records r"
    " WHERE r.tenant_id = p.tenant_id AND r.id = p.id)": "record {0}, which is gone, waits for its vectors",
    "SELECT r.id FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.thin AND NOT EXISTS (SELECT FROM"
    " remloom.names n JOIN remloom.edges e ON e.tenant_id = n.tenant_id AND n.key IN (e.src, e.dst)"
    " WHERE n.tenant_id = r.tenant_id AND n.id = r.id AND (n.rank > 0 OR NOT n.kin OR NOT EXISTS (SELECT FROM"
    " remloom.names o WHERE o.tenant_id = n.tenant_id AND o.key = n.key AND o.id <> n.id)))":
        "thin entity {0} has no edge",
    "SELECT v.id FROM remloom.vectors v WHERE v.tenant_id = %(tenant)s AND NOT EXISTS (SELECT FROM remloom.models m"
    " WHERE m.tenant_id = v.tenant_id AND m.model = v.model AND m.dims = v.dims)": "a vector of {0} is of no model",
    "SELECT j.kind, j.id FROM remloom.journal j, unnest(j.subjects) s (subject) WHERE j.tenant_id = %(tenant)s AND NOT"
    " EXISTS (SELECT FROM remloom.journal_subjects t WHERE t.tenant_id = j.tenant_id AND t.kind = j.kind"
    " AND t.id = j.id AND t.subject = s.subject)": "journal entry {0} {1!r} would not be found by its subjects",
    "SELECT r.doc FROM remloom.records r WHERE r.tenant_id = %(tenant)s AND r.doc IS NOT NULL GROUP BY r.doc"
    " HAVING count(*) > 1": "text number {0} was given out twice",
}  # fmt: skip


def check(server: Database, tenant: str) -> list[str]:
    """Every disagreement found, a line each; empty when all is well."""
    found = []
    with server.read(tenant) as cursor:
        for sql, message in _INVARIANTS.items():
            rows = cursor.execute(f"{sql} LIMIT {_SHOWN}", {"tenant": tenant}).fetchall()
            found += [message.format(*row) for row in rows]
        expected: set[tuple[int, int]] = set()
        documents = 0
        for doc, *row in cursor.execute(
            f"SELECT r.doc, {COLUMNS} FROM remloom.records r WHERE r.tenant_id = %s AND r.doc IS NOT NULL",
            (tenant,),
        ).fetchall():
            documents += 1
            expected |= bm25_index.of(doc, searchable_text(decode(*row)))
        held = bm25_index.everything(cursor, tenant)
        if missing := len(expected - held):
            found.append(f"terms: {missing} of {len(expected)} are not in the index")
        if extra := len(held - expected):
            found.append(f"terms: {extra} in the index are no longer in a text")
        if missing := trigram_index.missing(cursor, tenant):
            found.append(f"names: {missing} trigrams or words of names are not in the index")
        counted = cursor.execute(
            "SELECT documents FROM remloom.tenants WHERE tenant_id = %s", (tenant,)
        ).fetchone()
        if counted is not None and counted[0] != documents:
            found.append(f"terms: {counted[0]} texts are counted, there are {documents}")
    return found
