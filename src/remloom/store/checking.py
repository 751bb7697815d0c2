"""Does every index agree with its table? What `remloom doctor` asks."""

from __future__ import annotations

import apsw

from .database import Database
from .derived import Derived

__all__ = ["check"]

_SHOWN = 20  # disagreements of one kind listed

# What must be empty, and how to say it of a row that is there.
_INVARIANTS = {
    "SELECT key FROM labels l WHERE NOT EXISTS (SELECT 1 FROM names n WHERE n.lid = l.lid)": "label {0!r} has no record",
    "SELECT lid, rid FROM names n WHERE NOT EXISTS (SELECT 1 FROM labels l WHERE l.lid = n.lid)": "record {1} has a name that is no label",
    "SELECT lid, rid FROM names n WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.rid = n.rid)": "label {0} names a record that is gone",
    "SELECT id FROM records r WHERE NOT EXISTS (SELECT 1 FROM names n WHERE n.rid = r.rid AND n.rank = 0)": "record {0} has no name",
    "SELECT src, dst FROM edges e WHERE NOT EXISTS (SELECT 1 FROM labels l WHERE l.lid = e.src)": "an edge leaves label {0}, which is gone",
    "SELECT src, dst FROM edges e WHERE NOT EXISTS (SELECT 1 FROM labels l WHERE l.lid = e.dst)": "an edge enters label {1}, which is gone",
    "SELECT rel FROM edges e WHERE NOT EXISTS (SELECT 1 FROM rels t WHERE t.rel = e.rel)": "an edge has type {0}, which is gone",
    "SELECT vid FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.rid = v.rid)": "vector {0} belongs to no record",
    "SELECT rid FROM pending p WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.rid = p.rid)": "a queue entry belongs to no record",
    "SELECT child FROM parents p WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.rid = p.child) OR NOT EXISTS (SELECT 1 FROM records r WHERE r.rid = p.parent)": "the provenance of {0} names a record that is gone",
    "SELECT max(r.rid) FROM records r HAVING max(r.rid) > (SELECT rid FROM sequence)": "record number {0} was never given out",
    "SELECT max(lid) FROM labels HAVING max(lid) > (SELECT lid FROM sequence)": "label number {0} was never given out",
    "SELECT max(vid) FROM vectors HAVING max(vid) > (SELECT vid FROM sequence)": "vector number {0} was never given out",
    "SELECT max(doc) FROM records HAVING max(doc) > (SELECT doc FROM sequence)": "text number {0} was never given out",
}  # fmt: skip

_NUMBERS = {
    "names": "SELECT lid FROM labels ORDER BY lid",
    "terms": "SELECT doc FROM records WHERE doc IS NOT NULL ORDER BY doc",
    "vectors": "SELECT vid FROM vectors WHERE model = (SELECT model FROM models WHERE current = 1) ORDER BY vid",
}


def check(database: Database, derived: Derived) -> list[str]:
    """Every disagreement found, a line each; empty when all is well."""
    try:
        with database.snapshot() as cursor:
            found = [f"file: {line}" for (line,) in cursor.execute(f"PRAGMA integrity_check({_SHOWN})") if line != "ok"]
            if found:
                return found  # the rest would only repeat it
            for sql, message in _INVARIANTS.items():
                found += [message.format(*row) for row in cursor.execute(f"{sql} LIMIT {_SHOWN}")]
            for kind, sql in _NUMBERS.items():
                found += _compare(kind, {number for (number,) in cursor.execute(sql)}, derived)
    except apsw.Error as error:  # pragma: no cover - translated by snapshot()
        return [f"file: {error}"]
    return found


def _compare(kind: str, table: set[int], derived: Derived) -> list[str]:
    index = getattr(derived, kind)()
    held = set() if index is None else {int(number) for number in index.ids}
    lines = []
    if missing := len(table - held):
        lines.append(f"{kind}: {missing} of {len(table)} are not in the index")
    if extra := len(held - table):
        lines.append(f"{kind}: {extra} in the index are no longer in the table")
    return lines
