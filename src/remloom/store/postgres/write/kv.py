"""Key-value entries in PostgreSQL. See `remloom.kv`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....kv import ALL_KEYS, Entries, Entry, KeyRange
from ...batch import Preconditions, only_entry, version_conflict
from ...encoding import TOP
from ..binary_arrays import ArrayColumn, columns
from ..database import PostgresDatabase, TenantCursor
from ..rows import SQL, storable
from .transaction import Transaction


class PostgresKeyValue:
    """The entries of one tenant."""

    def __init__(self, server: PostgresDatabase) -> None:
        self._server = server

    def get(self, namespace: str, key: str) -> Entry | None:
        rows = self._server.fetch(SQL.kv_get, namespace=namespace, key=key)
        return _entry(*rows[0]) if rows else None

    def list(self, namespace: str, within: KeyRange = ALL_KEYS) -> Entries:
        last = within.prefix + TOP
        if within.newest_first:
            sql = SQL.kv_list_newest_first
            after = within.after or last + TOP  # behind every key
        else:
            sql = SQL.kv_list
            after = within.after  # empty: before every key
        rows = self._server.fetch(
            sql,
            namespace=namespace,
            first=within.prefix,
            last=last,
            after=after,
            limit=within.limit,
        )
        return [_entry(*row) for row in rows]

    def about(self, namespace: str, refs: Iterable[str]) -> Entries:
        rows = self._server.fetch(SQL.kv_about, namespace=namespace, refs=storable(refs))
        return [_entry(*row) for row in rows]

    def count(self, namespace: str, prefix: str = "") -> int:
        values = {"namespace": namespace, "first": prefix, "last": prefix + TOP}
        ((count,),) = self._server.fetch(SQL.kv_count, **values)
        return int(count)

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

        def work(cursor: TenantCursor) -> None:
            Transaction(self._server, cursor).check(expected)
            put(cursor, entries, deleted, expected_version)

        self._server.write(work)


def put(
    cursor: TenantCursor,
    entries: Sequence[Entry],
    deleted: Sequence[tuple[str, str]] = (),
    expected_version: int | None = None,
) -> None:
    """Delete and write entries inside a transaction that holds the tenant's lock."""
    if expected_version is not None:
        only = only_entry(entries)
        rows = cursor.rows(SQL.kv_version, namespace=only.namespace, key=only.key)
        version = rows[0][0] if rows else 0
        if version != expected_version:
            raise version_conflict(only, version, expected_version)
    if deleted:
        keys = [{"tenant": cursor.tenant, "namespace": name, "key": key} for name, key in deleted]
        cursor.executemany(SQL.kv_delete, keys)
    for entry in entries:
        values: dict[str, Any] = {"namespace": entry.namespace, "key": entry.key}
        values |= {"refs": list(entry.refs), "value": entry.value}
        cursor.run(SQL.kv_put, **values)
        cursor.run(SQL.kv_delete_refs, **values)
        if entry.refs:
            cursor.run(SQL.kv_put_refs, **values)


def entries_about(cursor: TenantCursor, namespace: str, refs: Iterable[str]) -> Entries:
    """List the entries about some refs. See `kv.EntryReads.about`."""
    rows = cursor.rows(SQL.kv_about, namespace=namespace, refs=storable(refs))
    return [_entry(*row) for row in rows]


def put_many(cursor: TenantCursor, entries: Sequence[Entry]) -> None:
    """Write many entries at once, each with refs; those that an entry had stay beside."""
    rows = [(entry.namespace, entry.key, entry.value) for entry in entries]
    values = columns({"namespace": "t", "key": "t", "value": "y"}, rows)
    refs = [(nth, ref) for nth, entry in enumerate(entries, 1) for ref in entry.refs]
    values |= columns({"nth": "i", "ref": "t"}, refs)
    cursor.run(SQL.kv_put_many, **values)
    del values["value"]
    cursor.run(SQL.kv_put_refs_of_many, **values)


def last(cursor: TenantCursor, namespace: str, prefixes: Sequence[str]) -> dict[str, Entry]:
    """Return the entry with the last key that begins with each of these."""
    rows = cursor.rows(SQL.kv_last_of_prefixes, **_prefixes(namespace, prefixes))
    return {prefix: Entry(namespace, key, value) for prefix, key, value in rows}


def delete_first(cursor: TenantCursor, namespace: str, prefixes: Sequence[str]) -> None:
    """Delete the entry with the first key that begins with each of these."""
    if prefixes:
        rows = cursor.rows(SQL.kv_first_of_prefixes, **_prefixes(namespace, prefixes))
        put(cursor, (), [(namespace, key) for (key,) in rows])


def delete_about(cursor: TenantCursor, ids: Sequence[str]) -> None:
    """Delete the entries that have one of these records among their refs."""
    cursor.run(SQL.kv_delete_about, ids=ArrayColumn("t", ids))


def _prefixes(namespace: str, prefixes: Sequence[str]) -> dict[str, Any]:
    return {"namespace": namespace, "prefixes": ArrayColumn("t", prefixes), "top": TOP}


def _entry(namespace: str, key: str, value: bytes, refs: Sequence[str], version: int) -> Entry:
    return Entry(namespace, key, value, tuple(refs), version)
