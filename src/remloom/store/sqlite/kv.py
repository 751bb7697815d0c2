"""The journal's rows in an embedded store. See `remloom.kv` for what is kept there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from ...kv import JournalEntry
from ..contract import TOP
from ..preconditions import conflict, expected

if TYPE_CHECKING:
    import apsw

__all__ = ["apply", "drop", "entry", "listed"]

_COLUMNS = "kind, id, data, coalesce(subjects, '[]'), version"
_WRITE = """
INSERT INTO journal (kind, id, version, subjects, data) VALUES (?,?,1,?,?)
ON CONFLICT (kind, id) DO UPDATE SET version = version + 1, subjects = excluded.subjects, data = excluded.data
RETURNING entry, version
"""


def apply(
    cursor: apsw.Cursor,
    entries: Sequence[JournalEntry],
    struck: Sequence[tuple[str, str]] = (),
    expect: int | None = None,
) -> None:
    """What `Journal.note` does, inside a transaction."""
    if expect is not None:
        only = expected(entries)
        found = (
            cursor.execute(
                "SELECT version FROM journal WHERE kind=? AND id=?", (only.kind, only.id)
            ).get
            or 0
        )
        if found != expect:
            raise conflict(only, found, expect)
    if struck:
        cursor.executemany("DELETE FROM journal WHERE kind=? AND id=?", struck)
    for item in entries:
        subjects = msgspec.json.encode(item.subjects).decode() if item.subjects else None
        number, version = cursor.execute(_WRITE, (item.kind, item.id, subjects, item.data)).get
        if version > 1:
            cursor.execute("DELETE FROM journal_subjects WHERE entry=?", (number,))
        if item.subjects:
            cursor.executemany(
                "INSERT OR IGNORE INTO journal_subjects VALUES (?,?)",
                [(subject, number) for subject in item.subjects],
            )


def drop(cursor: apsw.Cursor, ids: Iterable[str]) -> None:
    """Strike the entries that speak of these records."""
    cursor.executemany(
        "DELETE FROM journal WHERE entry IN (SELECT entry FROM journal_subjects WHERE subject=?)",
        [(id,) for id in ids],
    )


def listed(
    cursor: apsw.Cursor, kind: str, prefix: str, after: str, limit: int | None, newest_first: bool
) -> list[JournalEntry]:
    """What `Journal.journal` finds."""
    way, beyond = ("DESC", "<") if newest_first else ("ASC", ">")
    rows = cursor.execute(
        f"SELECT {_COLUMNS} FROM journal WHERE kind=? AND id>=? AND id<=?"
        f"{f' AND id{beyond}?' if after else ''} ORDER BY id {way} LIMIT ?",
        (kind, prefix, prefix + TOP, *([after] if after else []), -1 if limit is None else limit),
    ).fetchall()
    return [_entry(*row) for row in rows]


def entry(cursor: apsw.Cursor, kind: str, id: str) -> JournalEntry | None:
    """What `Journal.journal_entry` finds."""
    row = cursor.execute(
        f"SELECT {_COLUMNS} FROM journal WHERE kind=? AND id=?", (kind, id)
    ).fetchone()
    return _entry(*row) if row else None


def _entry(kind: str, id: str, data: bytes, subjects: str, version: int) -> JournalEntry:
    return JournalEntry(
        kind, id, data, msgspec.json.decode(subjects, type=tuple[str, ...]), version
    )
