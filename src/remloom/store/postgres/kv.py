"""Key-value entries in PostgreSQL. See `remloom.kv`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...kv import ALL_KEYS, Entries, Entry, KeyRange
from ..encoding import TOP
from ..preconditions import only_entry, version_conflict
from .binary_arrays import Column, columns
from .database import Database
from .transaction import Transaction

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["PostgresKeyValue", "delete_about", "delete_first", "last", "put", "put_many"]

_SELECT = "SELECT kind, id, data, subjects, version FROM remloom.journal WHERE tenant_id = %s AND kind = %s"
_WRITE = """
INSERT INTO remloom.journal AS j (tenant_id, kind, id, version, subjects, data) VALUES (%s, %s, %s, 1, %s::text[], %b)
ON CONFLICT (tenant_id, kind, id)
DO UPDATE SET version = j.version + 1, subjects = excluded.subjects, data = excluded.data
"""
_MANY = """
INSERT INTO remloom.journal AS j (tenant_id, kind, id, version, subjects, data)
SELECT %s, kind, id, 1, ARRAY[subject], data
FROM unnest(%b::text[], %b::text[], %b::text[], %b::bytea[]) n (kind, id, subject, data)
ON CONFLICT (tenant_id, kind, id)
DO UPDATE SET version = j.version + 1, subjects = excluded.subjects, data = excluded.data
"""
_SUBJECTS = """
INSERT INTO remloom.journal_subjects SELECT %s, subject, kind, id
FROM unnest(%b::text[], %b::text[], %b::text[]) n (subject, kind, id) ON CONFLICT DO NOTHING
"""
_END = """
SELECT p.prefix, j.id, j.data FROM unnest(%b::text[]) p (prefix) CROSS JOIN LATERAL (
  SELECT id, data FROM remloom.journal j WHERE j.tenant_id = %s AND j.kind = %s AND j.id >= p.prefix
  AND j.id <= p.prefix || %s ORDER BY j.id {way} LIMIT 1) j
"""


class PostgresKeyValue:
    """The entries of one tenant."""

    def __init__(self, server: Database, tenant: str) -> None:
        self._server = server
        self._tenant = tenant

    def get(self, namespace: str, key: str) -> Entry | None:
        values = (self._tenant, namespace, key)
        rows = self._server.fetch(self._tenant, f"{_SELECT} AND id = %s", values)
        return _entry(*rows[0]) if rows else None

    def list(self, namespace: str, within: KeyRange = ALL_KEYS) -> Entries:
        order, beyond = ("DESC", "<") if within.newest_first else ("ASC", ">")
        values: list[Any] = [within.prefix, within.prefix + TOP]
        condition = "id >= %s AND id <= %s"
        if within.after:
            condition += f" AND id {beyond} %s"
            values.append(within.after)
        sql = f"{_SELECT} AND {condition} ORDER BY id {order} LIMIT %s"
        values = [self._tenant, namespace, *values, within.limit]
        return [_entry(*row) for row in self._server.fetch(self._tenant, sql, values)]

    def put(
        self,
        entries: Sequence[Entry],
        *,
        deleted: Sequence[tuple[str, str]] = (),
        expected_version: int | None = None,
    ) -> None:
        def work(cursor: Cursor[Any]) -> None:
            transaction = Transaction(self._server, cursor, self._tenant)
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
        row = cursor.execute(
            "SELECT version FROM remloom.journal WHERE tenant_id = %s AND kind = %s AND id = %s",
            (tenant, only.namespace, only.key),
        ).fetchone()
        if (version := row[0] if row else 0) != expected_version:
            raise version_conflict(only, version, expected_version)
    if deleted:
        cursor.executemany(
            "DELETE FROM remloom.journal WHERE tenant_id = %s AND kind = %s AND id = %s",
            [(tenant, *place) for place in deleted],
        )
    for entry in entries:
        refs = list(entry.refs)
        cursor.execute(_WRITE, (tenant, entry.namespace, entry.key, refs, entry.value))
        cursor.execute(
            "DELETE FROM remloom.journal_subjects WHERE tenant_id = %s AND kind = %s AND id = %s",
            (tenant, entry.namespace, entry.key),
        )
        if refs:
            cursor.execute(
                "INSERT INTO remloom.journal_subjects SELECT %s, subject, %s, %s FROM unnest(%b::text[]) s (subject)"
                " ON CONFLICT DO NOTHING",
                (tenant, entry.namespace, entry.key, refs),
            )


def put_many(cursor: Cursor[Any], tenant: str, entries: Sequence[Entry]) -> None:
    """Write many entries at once, each with one ref."""
    rows = [(entry.namespace, entry.key, entry.refs[0], entry.value) for entry in entries]
    cursor.execute(_MANY, (tenant, *columns("ttty", rows)))
    cursor.execute(
        _SUBJECTS, (tenant, *columns("ttt", [(subject, kind, id) for kind, id, subject, _ in rows]))
    )


def last(cursor: Cursor[Any], tenant: str, kind: str, prefixes: Sequence[str]) -> dict[str, Entry]:
    """Return the entry with the highest key that begins with each of these."""
    rows = cursor.execute(
        _END.format(way="DESC"), (Column("t", prefixes), tenant, kind, TOP)
    ).fetchall()
    return {prefix: Entry(kind, id, data) for prefix, id, data in rows}


def delete_first(cursor: Cursor[Any], tenant: str, kind: str, prefixes: Sequence[str]) -> None:
    """Delete the entry with the lowest key that begins with each of these."""
    if prefixes:
        rows = cursor.execute(
            _END.format(way="ASC"), (Column("t", prefixes), tenant, kind, TOP)
        ).fetchall()
        put(cursor, tenant, (), [(kind, id) for _, id, _ in rows])


def delete_about(cursor: Cursor[Any], tenant: str, ids: Sequence[str]) -> None:
    """Delete the entries that have one of these records among their refs."""
    cursor.execute(
        "DELETE FROM remloom.journal j USING remloom.journal_subjects s WHERE s.tenant_id = %s"
        " AND s.subject = ANY (%b::text[]) AND j.tenant_id = s.tenant_id AND j.kind = s.kind AND j.id = s.id",
        (tenant, ids),
    )


def _entry(namespace: str, key: str, value: bytes, refs: Sequence[str], version: int) -> Entry:
    return Entry(namespace, key, value, tuple(refs), version)
