"""Key-value entries in an embedded store. See `remloom.kv`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import apsw
import msgspec

from ....kv import ALL_KEYS, Entries, Entry, KeyRange
from ...batch import Preconditions, only_entry, version_conflict
from ...encoding import TOP
from ..file.database import SqliteDatabase
from ..file.error_translation import translate
from ..rows import SQL
from .write_session import check

_LAST = TOP + "\0"  # sorts behind all that a key continues with


class SqliteKeyValue:
    """The entries of one tenant."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def get(self, namespace: str, key: str) -> Entry | None:
        with translate(self._database.path):
            return get(self._database.reader, namespace, key)

    def list(self, namespace: str, within: KeyRange = ALL_KEYS) -> Entries:
        with translate(self._database.path):
            return list_entries(self._database.reader, namespace, within)

    def about(self, namespace: str, refs: Iterable[str]) -> Entries:
        with translate(self._database.path):
            return entries_about(self._database.reader, namespace, refs)

    def count(self, namespace: str, prefix: str = "") -> int:
        with translate(self._database.path):
            return count_entries(self._database.reader, namespace, prefix)

    def put(
        self,
        entries: Sequence[Entry],
        *,
        deleted: Sequence[tuple[str, str]] = (),
        expected_version: int | None = None,
        existing: Sequence[str] = (),
        expected_entries: Mapping[tuple[str, str], int] = {},
    ) -> None:
        expected = Preconditions(existing=tuple(existing), entries=dict(expected_entries))

        def work(cursor: apsw.Cursor) -> None:
            check(cursor, expected)
            put(cursor, entries, deleted, expected_version)

        self._database.write(work)


def put(
    cursor: apsw.Cursor,
    entries: Sequence[Entry],
    deleted: Sequence[tuple[str, str]] = (),
    expected_version: int | None = None,
) -> None:
    """Delete and write entries inside a transaction. See `kv.KeyValue.put`."""
    if expected_version is not None:
        only = only_entry(entries)
        version = cursor.execute(SQL.entry_version, (only.namespace, only.key)).get or 0
        if version != expected_version:
            raise version_conflict(only, version, expected_version)
    if deleted:
        cursor.executemany(SQL.delete_entry, deleted)
    if entries:
        _store(cursor, entries)


def _store(cursor: apsw.Cursor, entries: Sequence[Entry]) -> None:
    rows = (
        (
            one.namespace,
            one.key,
            msgspec.json.encode(one.refs).decode() if one.refs else None,
            one.value,
        )
        for one in entries
    )
    stored = cursor.executemany(SQL.put_entry, rows)
    refs: dict[int, tuple[str, ...]] = {}
    again: set[int] = set()
    for entry, (number, version) in zip(entries, stored, strict=True):
        refs[number] = entry.refs
        if version > 1:
            again.add(number)
    if again:
        sql = "DELETE FROM journal_subjects WHERE entry=?"
        cursor.executemany(sql, [(number,) for number in again])
    subjects = [(ref, number) for number, some in refs.items() for ref in some]
    if subjects:
        cursor.executemany("INSERT OR IGNORE INTO journal_subjects VALUES (?,?)", subjects)


def delete_about(cursor: apsw.Cursor, ids: Iterable[str]) -> None:
    """Delete the entries that have one of these records among their refs."""
    cursor.executemany(SQL.delete_entries_about, [(id,) for id in ids])


def list_entries(cursor: apsw.Cursor, namespace: str, within: KeyRange) -> Entries:
    """List the entries of a namespace. See `kv.EntryReads.list`."""
    first, end = within.prefix, within.prefix + _LAST
    # Paging narrows the range itself, so that a page costs what it returns.
    if within.after and within.newest_first:
        end = min(end, within.after)
    elif within.after:
        first = max(first, within.after + "\0")  # the next key there could be
    sql = SQL.fill("entries", order="DESC" if within.newest_first else "ASC")
    limit = -1 if within.limit is None else within.limit
    rows = cursor.execute(sql, (namespace, first, end, limit)).fetchall()
    return [_entry(*row) for row in rows]


def entries_about(cursor: apsw.Cursor, namespace: str, refs: Iterable[str]) -> Entries:
    """List the entries about some refs. See `kv.EntryReads.about`."""
    values = {"refs": json.dumps(list(refs)), "namespace": namespace}
    return [_entry(*row) for row in cursor.execute(SQL.entries_about, values).fetchall()]


def last(cursor: apsw.Cursor, namespace: str, prefixes: Sequence[str]) -> dict[str, Entry]:
    """Return the entry with the last key that begins with each of these."""
    values = {"namespace": namespace, "prefixes": json.dumps(prefixes), "last": _LAST}
    rows = cursor.execute(SQL.last_of_prefixes, values).fetchall()
    return {prefix: _entry(*row) for prefix, *row in rows}


def count_entries(cursor: apsw.Cursor, namespace: str, prefix: str) -> int:
    """Count the entries whose keys begin so. See `kv.EntryReads.count`."""
    count: int = cursor.execute(SQL.count_entries, (namespace, prefix, prefix + _LAST)).get
    return count


def get(cursor: apsw.Cursor, namespace: str, key: str) -> Entry | None:
    # all, so that no statement is left in progress when what follows raises
    rows = cursor.execute(SQL.get_entry, (namespace, key)).fetchall()
    return _entry(*rows[0]) if rows else None


def _entry(namespace: str, key: str, value: bytes, refs: str, version: int) -> Entry:
    return Entry(namespace, key, value, msgspec.json.decode(refs, type=tuple[str, ...]), version)
