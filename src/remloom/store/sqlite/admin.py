"""The care of an embedded store as a whole: counts, checks, copies, and going on after
acknowledged writes were lost, which nobody does unasked. See `components.StoreAdmin`."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import apsw
import msgspec
from msgspec.structs import replace

from ...errors import ConflictError, CorruptStoreError
from ..results import Deletion
from ..stats import Stats, by_schema, collect
from ..tenants.folders import OpenFolder
from .file.commit_mark import log_of
from .file.connections import file_size
from .file.database import SqliteDatabase
from .rows import SQL
from .search.index_manager import IndexManager
from .search.vectors import SqliteTokenVectors, SqliteVectors
from .select.sql_functions import prepare
from .write.erasure import Erasures

_SHOWN = 20  # disagreements of one kind listed

# Statements that must find nothing, and what a row that they do find says.
_VIOLATIONS = {
    "labels_without_record": "label {0!r} has no record",
    "names_without_label": "record {0} has a name that is not a label",
    "names_without_record": "label {0} names a record that is gone",
    "records_without_name": "record {0} has no name",
    "names_of_wrong_edges": "the edges at label {0!r} are taken for those of record {1!r}, or not",
    "edges_from_nothing": "an edge leaves label {0}, which is gone",
    "edges_to_nothing": "an edge enters label {0}, which is gone",
    "edges_without_type": "an edge has type {0}, which is gone",
    "labels_not_marked_linked": "label {0} does not know its edges",
    "miscounted_leaving": "the edges that leave label {0} are miscounted",
    "miscounted_entering": "the edges that enter label {0} are miscounted",
    "miscounted_types": "the edges of type {0!r} are miscounted",
    "vectors_without_record": "vector {0} belongs to no record",
    "token_vectors_without_text": "the token vectors of record {0} belong to no text",
    "token_vectors_without_model": "the token vectors of record {0} are of no model",
    "damaged_token_vectors": "the token vectors of record {0!r} by {1} are damaged ({2} bytes): "
    "`remloom reembed` makes them anew",
    "token_failures_without_text": "the failure of record {0} belongs to no text",
    "texts_passed_over": "record {0!r} would not get its token vectors of {1}",
    "pending_without_record": "queue entry {0} belongs to no record",
    "children_without_record": "the derived record {0} is gone",
    "parents_without_record": "the parent {0} is gone",
    "expiry_not_indexed": "record {0!r} would not expire when it is to",
    "derived_without_parents": "the derived record {0!r} does not say what it was derived from:"
    " forgetting that would leave it",
    "refs_without_entry": "the entry that refers to {0} is gone",
    "entries_without_refs": "the entry {0} {1!r} would not be found by its refs",
    "record_number_not_given": "record {0} was never given out",
    "label_number_not_given": "label {0} was never given out",
    "vector_number_not_given": "vector {0} was never given out",
    "text_number_not_given": "text {0} was never given out",
}

# Statements that list the numbers each index must have, and no others.
_INDEXED_NUMBERS = {
    "names": "label_numbers",
    "terms": "text_numbers",
    "vectors": "vector_numbers",
}
_NUMBERED = {
    "terms": "SELECT doc FROM records WHERE doc IN (SELECT value FROM json_each(?))",
    "names": "SELECT lid FROM labels WHERE lid IN (SELECT value FROM json_each(?))",
    "vectors": "SELECT vid FROM vectors WHERE vid IN (SELECT value FROM json_each(?))",
    "token_vectors": (
        "SELECT rid FROM token_vectors WHERE model IN (SELECT model FROM token_models)"
        " AND rid IN (SELECT value FROM json_each(?))"
    ),
}
_PRESENT = "SELECT id FROM records WHERE id IN (SELECT value FROM json_each(?))"
_ENTRIES = (
    "SELECT DISTINCT subject FROM journal_subjects"
    " WHERE subject IN (SELECT value FROM json_each(?))"
)


class SqliteAdmin:
    """Counts, checks, optimizes and copies one tenant."""

    def __init__(
        self,
        database: SqliteDatabase,
        indexes: IndexManager,
        erasures: Erasures,
        vectors: SqliteVectors,
        token_vectors: SqliteTokenVectors,
        *,
        encrypted: bool,
    ) -> None:
        self._database = database
        self._indexes = indexes
        self._erasures = erasures
        self._vectors = vectors
        self._token_vectors = token_vectors
        self._encrypted = encrypted
        self.detect_deletion = database.detect_deletion

    def stats(self) -> Stats:
        index = self._indexes.loaded().get("vectors")
        share = None if index is None else round(index.exact_share, 4)
        fetch = self._database.fetch
        with self._database.snapshot():
            ((thin,),) = fetch(SQL.count_thin)
            stats = collect(
                SQL,
                fetch,
                self._vectors,
                self._token_vectors,
                types=by_schema(fetch(SQL.count_records)),
                thin_entities=thin,
                encrypted=self._encrypted,
                bytes=sum(map(file_size, self._database.path.parent.glob("memory.db*"))),
            )
        return replace(stats, vectors=replace(stats.vectors, exact_share=share))

    def check(self) -> list[str]:
        problems = self._erasures.problems()
        with self._database.snapshot() as cursor:
            damage = _check_file(cursor)
            # Pages that are damaged make every other check fail as well: they say it all.
            if damage:
                return problems + damage
            for name, message in _VIOLATIONS.items():
                rows = cursor.execute(getattr(SQL, name), {"limit": _SHOWN})
                problems += [message.format(*row) for row in rows]
            for kind, name in _INDEXED_NUMBERS.items():
                stored = {number for (number,) in cursor.execute(getattr(SQL, name))}
                problems += _compare(kind, stored, self._indexes)
        return problems

    def optimize(self) -> None:
        """Merge every tail and store every snapshot now, rather than in the background."""
        self._indexes.optimize()
        self._erasures.finish()

    def backup(self, path: str) -> None:
        target = Path(path)
        if target.exists():
            raise ConflictError(f"{target} is there already", remedy="choose a new file name")
        self._database.backup(target)


def _check_file(cursor: apsw.Cursor) -> list[str]:
    lines = cursor.execute(f"PRAGMA integrity_check({_SHOWN})").fetchall()
    return [f"file: {line}" for (line,) in lines if line != "ok"]


def _compare(kind: str, stored: set[int], indexes: IndexManager) -> list[str]:
    index = indexes.current(kind)
    indexed = set() if index is None else {int(number) for number in index.ids}
    problems = []
    missing = len(stored - indexed)
    if missing:
        problems.append(f"{kind}: {missing} of {len(stored)} are not in the index")
    extra = len(indexed - stored)
    if extra:
        problems.append(f"{kind}: {extra} in the index are no longer in the table")
    return problems


def find_remaining(
    database: SqliteDatabase,
    indexes: IndexManager,
    deletion: Deletion,
    tombstones: Mapping[str, Sequence[int]],
) -> tuple[str, ...]:
    """List what can still be found of a deletion, a line each; empty is right."""
    with database.snapshot() as cursor:
        remaining = _in_tables(cursor, deletion.ids, tombstones)
    for kind, index in indexes.loaded().items():
        if index is not None and kind in tombstones:
            numbers = indexes.current(kind).contains(tombstones[kind])
            remaining += [f"{kind} index {number}" for number in sorted(numbers)]
    return tuple(remaining)


def _in_tables(
    cursor: apsw.Cursor, ids: Sequence[str], tombstones: Mapping[str, Sequence[int]]
) -> list[str]:
    as_json = msgspec.json.encode(ids).decode()
    remaining = [f"record {id}" for (id,) in cursor.execute(_PRESENT, (as_json,))]
    for kind, numbers in tombstones.items():
        rows = cursor.execute(_NUMBERED[kind], (str(list(numbers)),))
        remaining += [f"{kind} {number}" for (number,) in rows]
    remaining += [f"entry about {id}" for (id,) in cursor.execute(_ENTRIES, (as_json,))]
    remaining += [f"the snapshot of {kind}" for (kind,) in cursor.execute(SQL.outdated_snapshots)]
    return remaining


def repair(path: Path, key: str) -> list[str]:
    """Open a database with what is whole, after its log was put aside.

    Args:
        key: data key in hex; empty for a file without one.

    Returns:
        What was found and done, a line each; empty when nothing was wrong.
    """
    try:
        SqliteDatabase(path, key, create=False, prepare=prepare).close()
    except CorruptStoreError as error:
        if "writes" not in error.fields:
            raise
        found = error.message
    else:
        return []
    done = [found]
    if (kept := _set_aside(path)) is not None:
        done.append(f"the log as it was is kept in {kept}")
    with closing(SqliteDatabase(path, key, create=False, prepare=prepare, accept=True)) as database:
        database.write(lambda _: None)  # the mark says again what is there
        database.upkeep.checkpoint()
    return [*done, "what is whole can be read and written again"]


def _set_aside(path: Path) -> Path | None:
    log = log_of(path)
    if not log.exists() or not log.stat().st_size:
        return None
    when = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    kept = log.with_name(f"{log.name}.damaged-{when}-{secrets.token_hex(2)}")
    with (
        OpenFolder.at(log.parent, links=False) as folder,
        open(folder.open_file(log.name, os.O_RDONLY), "rb") as source,
    ):
        new = folder.open_file(kept.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with open(new, "wb") as target:
            shutil.copyfileobj(source, target)
    return kept
