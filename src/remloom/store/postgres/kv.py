"""The journal's rows in PostgreSQL. See `remloom.kv` for what is kept there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...kv import JournalEntry
from ..contract import TOP
from ..preconditions import conflict, expected
from .binary_arrays import Column, columns

if TYPE_CHECKING:
    from psycopg import Cursor

__all__ = ["SELECT", "add", "apply", "drop", "drop_first", "last", "listing"]

SELECT = "SELECT kind, id, data, subjects, version FROM remloom.journal WHERE tenant_id = %s AND kind = %s"
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


def apply(
    cursor: Cursor[Any],
    tenant: str,
    entries: Sequence[JournalEntry],
    struck: Sequence[tuple[str, str]] = (),
    expect: int | None = None,
) -> None:
    """What `Journal.note` does, inside a transaction that holds the tenant's lock."""
    if expect is not None:
        only = expected(entries)
        row = cursor.execute(
            "SELECT version FROM remloom.journal WHERE tenant_id = %s AND kind = %s AND id = %s",
            (tenant, only.kind, only.id),
        ).fetchone()
        if (found := row[0] if row else 0) != expect:
            raise conflict(only, found, expect)
    if struck:
        cursor.executemany(
            "DELETE FROM remloom.journal WHERE tenant_id = %s AND kind = %s AND id = %s",
            [(tenant, *key) for key in struck],
        )
    for item in entries:
        subjects = list(item.subjects)
        cursor.execute(_WRITE, (tenant, item.kind, item.id, subjects, item.data))
        cursor.execute(
            "DELETE FROM remloom.journal_subjects WHERE tenant_id = %s AND kind = %s AND id = %s",
            (tenant, item.kind, item.id),
        )
        if subjects:
            cursor.execute(
                "INSERT INTO remloom.journal_subjects SELECT %s, subject, %s, %s FROM unnest(%b::text[]) s (subject)"
                " ON CONFLICT DO NOTHING",
                (tenant, item.kind, item.id, subjects),
            )


def add(cursor: Cursor[Any], tenant: str, entries: Sequence[JournalEntry]) -> None:
    """Write many entries at once, each of one subject."""
    rows = [(item.kind, item.id, item.subjects[0], item.data) for item in entries]
    cursor.execute(_MANY, (tenant, *columns("ttty", rows)))
    cursor.execute(
        _SUBJECTS, (tenant, *columns("ttt", [(subject, kind, id) for kind, id, subject, _ in rows]))
    )


def last(
    cursor: Cursor[Any], tenant: str, kind: str, prefixes: Sequence[str]
) -> dict[str, JournalEntry]:
    """The entry with the highest id that begins with each of these."""
    rows = cursor.execute(
        _END.format(way="DESC"), (Column("t", prefixes), tenant, kind, TOP)
    ).fetchall()
    return {prefix: JournalEntry(kind, id, data) for prefix, id, data in rows}


def drop_first(cursor: Cursor[Any], tenant: str, kind: str, prefixes: Sequence[str]) -> None:
    """Strike the entry with the lowest id that begins with each of these."""
    if prefixes:
        rows = cursor.execute(
            _END.format(way="ASC"), (Column("t", prefixes), tenant, kind, TOP)
        ).fetchall()
        apply(cursor, tenant, (), [(kind, id) for _, id, _ in rows])


def drop(cursor: Cursor[Any], tenant: str, ids: Sequence[str]) -> None:
    """Strike the entries that speak of these records."""
    cursor.execute(
        "DELETE FROM remloom.journal j USING remloom.journal_subjects s WHERE s.tenant_id = %s"
        " AND s.subject = ANY (%b::text[]) AND j.tenant_id = s.tenant_id AND j.kind = s.kind AND j.id = s.id",
        (tenant, ids),
    )


def listing(
    prefix: str, after: str, limit: int | None, newest_first: bool
) -> tuple[str, list[Any]]:
    """What follows `SELECT` to find what `Journal.journal` asks for, and its values."""
    way, beyond = ("DESC", "<") if newest_first else ("ASC", ">")
    values: list[Any] = [prefix, prefix + TOP]
    sql = " AND id >= %s AND id <= %s"
    if after:
        sql += f" AND id {beyond} %s"
        values.append(after)
    return f"{sql} ORDER BY id {way} LIMIT %s", [*values, limit]
