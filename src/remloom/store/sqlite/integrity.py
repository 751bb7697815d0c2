"""Does every index agree with its table? What `remloom doctor` asks."""

from __future__ import annotations

import apsw

from .database import Database
from .index_manager import IndexManager

__all__ = ["check"]

_SHOWN = 20  # disagreements of one kind listed

# What must be empty, and how to say it of a row that is there.
_INVARIANTS = {
    "SELECT key FROM labels WHERE lid NOT IN (SELECT lid FROM names)": "label {0!r} has no record",
    "SELECT rid FROM names WHERE lid NOT IN (SELECT lid FROM labels)": "record {0} has a name that is no label",
    "SELECT lid FROM names WHERE rid NOT IN (SELECT rid FROM records)": "label {0} names a record that is gone",
    "SELECT id FROM records WHERE rid NOT IN (SELECT rid FROM names WHERE rank = 0)": "record {0} has no name",
    "SELECT src FROM edges WHERE src NOT IN (SELECT lid FROM labels)": "an edge leaves label {0}, which is gone",
    "SELECT dst FROM edges WHERE dst NOT IN (SELECT lid FROM labels)": "an edge enters label {0}, which is gone",
    "SELECT rel FROM edges WHERE rel NOT IN (SELECT rel FROM rels)": "an edge has type {0}, which is gone",
    "SELECT lid FROM labels WHERE linked = 0 AND lid IN (SELECT src FROM edges)": "label {0} does not know its edges",
    "SELECT src FROM edges LEFT JOIN degrees ON lid = src GROUP BY src HAVING count(*) IS NOT max(leaves)": (
        "the edges that leave label {0} are miscounted"
    ),
    "SELECT dst FROM edges LEFT JOIN degrees ON lid = dst GROUP BY dst HAVING count(*) IS NOT max(enters)": (
        "the edges that enter label {0} are miscounted"
    ),
    "SELECT name FROM rels LEFT JOIN (SELECT rel, count(*) AS counted FROM edges GROUP BY rel) USING (rel)"
    " WHERE edges IS NOT counted": "the edges of type {0!r} are miscounted",
    "SELECT vid FROM vectors WHERE rid NOT IN (SELECT rid FROM records)": "vector {0} belongs to no record",
    "SELECT rid FROM pending WHERE rid NOT IN (SELECT rid FROM records)": "queue entry {0} belongs to no record",
    "SELECT child FROM parents WHERE child NOT IN (SELECT rid FROM records)": "the derived record {0} is gone",
    "SELECT parent FROM parents WHERE parent NOT IN (SELECT rid FROM records)": "the parent {0} is gone",
    "SELECT subject FROM journal_subjects WHERE entry NOT IN (SELECT entry FROM journal)": (
        "the journal entry that speaks of {0} is gone"
    ),
    "SELECT j.kind, j.id FROM journal j JOIN json_each(coalesce(j.subjects, '[]')) s LEFT JOIN journal_subjects t"
    " ON t.subject = s.value AND t.entry = j.entry WHERE t.entry IS NULL": (
        "journal entry {0} {1!r} would not be found by its subjects"
    ),
    "SELECT max(rid) FROM records HAVING max(rid) > (SELECT rid FROM sequence)": "record {0} was never given out",
    "SELECT max(lid) FROM labels HAVING max(lid) > (SELECT lid FROM sequence)": "label {0} was never given out",
    "SELECT max(vid) FROM vectors HAVING max(vid) > (SELECT vid FROM sequence)": "vector {0} was never given out",
    "SELECT max(doc) FROM records HAVING max(doc) > (SELECT doc FROM sequence)": "text {0} was never given out",
}

_NUMBERS = {
    "names": "SELECT lid FROM labels ORDER BY lid",
    "terms": "SELECT doc FROM records WHERE doc IS NOT NULL ORDER BY doc",
    "vectors": "SELECT vid FROM vectors WHERE model = (SELECT model FROM models WHERE current = 1) ORDER BY vid",
}


def check(database: Database, indexes: IndexManager) -> list[str]:
    """Every disagreement found, a line each; empty when all is well."""
    try:
        with database.snapshot() as cursor:
            problems = [
                f"file: {line}"
                for (line,) in cursor.execute(f"PRAGMA integrity_check({_SHOWN})")
                if line != "ok"
            ]
            if problems:
                return problems  # the rest would only repeat it
            for sql, message in _INVARIANTS.items():
                problems += [
                    message.format(*row) for row in cursor.execute(f"{sql} LIMIT {_SHOWN}")
                ]
            for kind, sql in _NUMBERS.items():
                problems += _compare(kind, {number for (number,) in cursor.execute(sql)}, indexes)
    except apsw.Error as error:  # pragma: no cover - translated by snapshot()
        return [f"file: {error}"]
    return problems


def _compare(kind: str, table: set[int], indexes: IndexManager) -> list[str]:
    index = indexes.current(kind)
    indexed = set() if index is None else {int(number) for number in index.ids}
    lines = []
    if missing := len(table - indexed):
        lines.append(f"{kind}: {missing} of {len(table)} are not in the index")
    if extra := len(indexed - table):
        lines.append(f"{kind}: {extra} in the index are no longer in the table")
    return lines
