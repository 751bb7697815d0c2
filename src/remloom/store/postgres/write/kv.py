"""Key-value entries in PostgreSQL. See `remloom.kv`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....kv import ALL_KEYS, Entries, Entry, KeyRange
from ...batch import Preconditions
from ...encoding import TOP
from ...rules.preconditions import only_entry, version_conflict
from ..binary_arrays import ArrayColumn, columns
from ..server.database import PostgresDatabase
from ..statements import SQL
from .preconditions import check
from .transaction import Transaction

if TYPE_CHECKING:
    from psycopg import Cursor


class PostgresKeyValue:
    """The entries of one tenant."""

    def __init__(self, server: PostgresDatabase, tenant: str) -> None:
        self._server = server
        self._tenant = tenant

    def get(self, namespace: str, key: str) -> Entry | None:
        values = {"tenant": self._tenant, "namespace": namespace, "key": key}
        rows = self._server.fetch(self._tenant, SQL.kv_get, values)
        return _entry(*rows[0]) if rows else None

    def list(self, namespace: str, within: KeyRange = ALL_KEYS) -> Entries:
        last = within.prefix + TOP
        if within.newest_first:
            sql = SQL.kv_list_newest_first
            after = within.after or last + TOP  # behind every key
        else:
            sql = SQL.kv_list
            after = within.after  # empty: before every key
        values = {
            "tenant": self._tenant,
            "namespace": namespace,
            "first": within.prefix,
            "last": last,
            "after": after,
            "limit": within.limit,
        }
        return [_entry(*row) for row in self._server.fetch(self._tenant, sql, values)]

    def count(self, namespace: str, prefix: str = "") -> int:
        values = {
            "tenant": self._tenant,
            "namespace": namespace,
            "first": prefix,
            "last": prefix + TOP,
        }
        rows = self._server.fetch(self._tenant, SQL.kv_count, values)
        count: int = rows[0][0]
        return count

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

        def work(cursor: Cursor[Any]) -> None:
            transaction = Transaction(self._server, cursor, self._tenant)
            check(transaction, expected)
            put(transaction.cursor, self._tenant, entries, deleted, expected_version)

        self._server.write(self._tenant, work)


def put(
    cursor: Cursor[Any],
    tenant: str,
    entries: Sequence[Entry],
    deleted: Sequence[tuple[str, str]] = (),
    expected_version: int | None = None,
) -> None:
    """Delete and write entries inside a transaction that holds the tenant's lock. See
    `kv.KeyValue.put`."""
    if expected_version is not None:
        only = only_entry(entries)
        row = cursor.execute(SQL.kv_version, _key(tenant, only.namespace, only.key)).fetchone()
        version = row[0] if row else 0
        if version != expected_version:
            raise version_conflict(only, version, expected_version)
    if deleted:
        keys = [_key(tenant, namespace, key) for namespace, key in deleted]
        cursor.executemany(SQL.kv_delete, keys)
    for entry in entries:
        values = _key(tenant, entry.namespace, entry.key)
        values |= {"refs": list(entry.refs), "value": entry.value}
        cursor.execute(SQL.kv_put, values)
        cursor.execute(SQL.kv_delete_refs, values)
        if entry.refs:
            cursor.execute(SQL.kv_put_refs, values)


def put_many(cursor: Cursor[Any], tenant: str, entries: Sequence[Entry]) -> None:
    """Write many entries at once, each with one ref."""
    rows = [(entry.namespace, entry.key, entry.refs[0], entry.value) for entry in entries]
    kinds = {"namespace": "t", "key": "t", "ref": "t", "value": "y"}
    values = {"tenant": tenant, **columns(kinds, rows)}
    cursor.execute(SQL.kv_put_many, values)
    cursor.execute(SQL.kv_put_refs_of_many, values)


def last(
    cursor: Cursor[Any], tenant: str, namespace: str, prefixes: Sequence[str]
) -> dict[str, Entry]:
    """Return the entry with the last key that begins with each of these."""
    values = _prefixes(tenant, namespace, prefixes)
    rows = cursor.execute(SQL.kv_last_of_prefixes, values).fetchall()
    return {prefix: Entry(namespace, key, value) for prefix, key, value in rows}


def delete_first(cursor: Cursor[Any], tenant: str, namespace: str, prefixes: Sequence[str]) -> None:
    """Delete the entry with the first key that begins with each of these."""
    if prefixes:
        values = _prefixes(tenant, namespace, prefixes)
        rows = cursor.execute(SQL.kv_first_of_prefixes, values).fetchall()
        put(cursor, tenant, (), [(namespace, key) for (key,) in rows])


def delete_about(cursor: Cursor[Any], tenant: str, ids: Sequence[str]) -> None:
    """Delete the entries that have one of these records among their refs."""
    cursor.execute(SQL.kv_delete_about, {"tenant": tenant, "ids": ArrayColumn("t", ids)})


def _key(tenant: str, namespace: str, key: str) -> dict[str, Any]:
    return {"tenant": tenant, "namespace": namespace, "key": key}


def _prefixes(tenant: str, namespace: str, prefixes: Sequence[str]) -> dict[str, Any]:
    column = ArrayColumn("t", prefixes)
    return {"tenant": tenant, "namespace": namespace, "prefixes": column, "top": TOP}


def _entry(namespace: str, key: str, value: bytes, refs: Sequence[str], version: int) -> Entry:
    return Entry(namespace, key, value, tuple(refs), version)
