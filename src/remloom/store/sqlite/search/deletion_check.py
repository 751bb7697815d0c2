"""The check of a deletion: is anything left of it, in any table or index?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ...results import Deletion
from ..file.database import Database
from ..statements import SQL
from .index_manager import IndexManager

if TYPE_CHECKING:
    import apsw


_NUMBERED = {
    "terms": "SELECT doc FROM records WHERE doc IN (SELECT value FROM json_each(?))",
    "names": "SELECT lid FROM labels WHERE lid IN (SELECT value FROM json_each(?))",
    "vectors": "SELECT vid FROM vectors WHERE vid IN (SELECT value FROM json_each(?))",
    "token_vectors": (
        "SELECT rid FROM token_vectors WHERE model IN (SELECT model FROM token_models)"
        " AND rid IN (SELECT value FROM json_each(?))"
    ),
}
_RECORDS = "SELECT id FROM records WHERE id IN (SELECT value FROM json_each(?))"
_ENTRIES = (
    "SELECT DISTINCT subject FROM journal_subjects"
    " WHERE subject IN (SELECT value FROM json_each(?))"
)


def find_remaining(
    database: Database,
    indexes: IndexManager,
    deletion: Deletion,
    tombstones: Mapping[str, Sequence[int]],
) -> tuple[str, ...]:
    """List what can still be found of a deletion, a line each; empty is right."""
    with database.snapshot() as cursor:
        remaining = _in_tables(cursor, deletion.ids, tombstones)
    for kind, index in indexes.loaded().items():
        if index is not None and kind in tombstones:
            numbers = indexes.current(kind).holds(tombstones[kind])
            remaining += [f"{kind} index {number}" for number in sorted(numbers)]
    return tuple(remaining)


def _in_tables(
    cursor: apsw.Cursor, ids: Sequence[str], tombstones: Mapping[str, Sequence[int]]
) -> list[str]:
    as_json = msgspec.json.encode(ids).decode()
    remaining = [f"record {id}" for (id,) in cursor.execute(_RECORDS, (as_json,))]
    for kind, numbers in tombstones.items():
        rows = cursor.execute(_NUMBERED[kind], (str(list(numbers)),))
        remaining += [f"{kind} {number}" for (number,) in rows]
    remaining += [f"entry about {id}" for (id,) in cursor.execute(_ENTRIES, (as_json,))]
    remaining += [f"the snapshot of {kind}" for (kind,) in cursor.execute(SQL.outdated_snapshots)]
    return remaining
