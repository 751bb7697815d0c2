"""Texts that wait for their vectors, and the vectors that were made of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..batch import Vector, VectorBatch
from ..indexed_text import embedded_text
from ..results import Pending
from .batch_writer import Writing, write
from .binary_arrays import Column
from .database import Database
from .embedding_model import register_model
from .halfvec import floats
from .rows import COLUMNS, decode
from .stats import queue_lengths

__all__ = ["PostgresVectors"]

_T = TypeVar("_T")
_ATTEMPTS = 3  # failed embeddings of a text before it is parked


class PostgresVectors:
    """The vectors of one tenant. See `components.Vectors`."""

    def __init__(self, server: Database, tenant: str, grown: Callable[[int | None], None]) -> None:
        self._server = server
        self._tenant = tenant
        self._grown = grown  # is told how many vectors were written (None: not counted)

    def _fetch(self, sql: str, *values: Any) -> list[Any]:
        return self._server.fetch(self._tenant, sql, (self._tenant, *values))

    def pending(self, limit: int) -> list[Pending]:
        rows = self._fetch(
            f"SELECT p.id, p.attempts, p.error, r.doc, {COLUMNS} FROM remloom.pending p JOIN remloom.records r"
            " ON r.tenant_id = p.tenant_id AND r.id = p.id WHERE p.tenant_id = %s AND NOT p.parked"
            " ORDER BY p.attempts, p.seq LIMIT %s",
            limit,
        )
        return [
            Pending(id, embedded_text(decode(*row)), tries, error or "", doc or 0)
            for id, tries, error, doc, *row in rows
        ]

    def unembedded(self, model: str, limit: int, *, after: int = 0) -> list[Pending]:
        rows = self._fetch(
            f"SELECT r.id, r.doc, {COLUMNS} FROM remloom.records r WHERE r.tenant_id = %s AND r.doc > %s"
            " AND NOT EXISTS (SELECT FROM remloom.vectors v JOIN remloom.models m USING (tenant_id, model)"
            " WHERE v.tenant_id = r.tenant_id AND v.id = r.id AND m.name = %s) ORDER BY r.doc LIMIT %s",
            after, model, limit,
        )  # fmt: skip
        return [Pending(id, embedded_text(decode(*row)), version=doc) for id, doc, *row in rows]

    def cached(self, digests: Sequence[bytes], *, model: str) -> dict[bytes, bytes]:
        rows = self._fetch(
            "SELECT DISTINCT ON (v.digest) v.digest, halfvec_send(v.data) FROM remloom.vectors v"
            " JOIN remloom.models m USING (tenant_id, model) WHERE v.tenant_id = %s AND v.digest = ANY (%s) AND"
            " m.name = %s",
            list(digests), model,
        )  # fmt: skip
        return {digest: floats(data) for digest, data in rows}

    def queue_lengths(self) -> tuple[int, int]:
        with self._server.read(self._tenant) as cursor:
            return queue_lengths(cursor, self._tenant)

    def put(self, batch: VectorBatch) -> None:
        self._write(lambda writing: _put(writing, batch))
        self._grown(sum(map(len, batch.vectors.values())))

    def adopt(self, model: str) -> None:
        self._write(lambda writing: _adopt(writing, model))
        self._grown(None)

    def park(self, id: str, error: str) -> None:
        self._write(lambda writing: _park(writing, id, error))

    def unpark(self) -> int:
        return self._write(_unpark)

    def _write(self, work: Callable[[Writing], _T]) -> _T:
        return write(self._server, self._tenant, work)

    def get(self, id: str) -> list[Vector]:
        return self.of([id]).get(id, [])

    def of(self, ids: Sequence[str]) -> dict[str, list[Vector]]:
        rows = self._fetch(
            "SELECT v.id, v.first, v.last, halfvec_send(v.data), v.digest FROM remloom.vectors v"
            " JOIN remloom.models m USING (tenant_id, model) WHERE v.tenant_id = %s AND v.id = ANY (%b::text[]) AND"
            " m.current ORDER BY v.part",
            Column("t", [id for id in ids if "\0" not in id]),
        )
        found: dict[str, list[Vector]] = {}
        for id, first, last, data, digest in rows:
            found.setdefault(id, []).append(Vector(first, last, floats(data), digest or b""))
        return found

    def model(self) -> tuple[str, int] | None:
        rows = self._fetch("SELECT name, dims FROM remloom.models WHERE tenant_id = %s AND current")
        return rows[0] if rows else None


def _put(writing: Writing, batch: VectorBatch) -> None:
    """Store the vectors of records, and take them off the queue."""
    vectors, versions = batch.vectors, batch.versions
    if versions:
        sql = "SELECT id, doc FROM remloom.records WHERE tenant_id = %s AND id = ANY (%b::text[])"
        now = dict(writing.all(sql, Column("t", list(versions))))
        vectors = {
            id: some
            for id, some in vectors.items()
            if id in now and versions.get(id, now[id]) == now[id]
        }
    number = register_model(
        writing.cursor, writing.tenant, batch.model, batch.dims, current=batch.current
    )
    ids = Column("t", list(vectors))
    writing.do(
        "DELETE FROM remloom.vectors WHERE tenant_id = %s AND model = %s AND id = ANY (%b::text[])",
        number,
        ids,
    )
    writing.vectors(number, batch.dims, vectors)
    if batch.current:
        writing.do(
            "DELETE FROM remloom.pending WHERE tenant_id = %s AND id = ANY (%b::text[])", ids
        )


def _adopt(writing: Writing, model: str) -> None:
    """Switch to a model whose vectors are complete."""
    found = writing.all(
        "SELECT model FROM remloom.models WHERE tenant_id = %s AND name = %s ORDER BY model DESC LIMIT 1",
        model,
    )
    if not found:
        return  # there was nothing to embed
    for table in ("vectors", "models"):
        writing.do(f"DELETE FROM remloom.{table} WHERE tenant_id = %s AND model <> %s", found[0][0])
    writing.do("UPDATE remloom.models SET current = true WHERE tenant_id = %s")
    writing.do("DELETE FROM remloom.pending WHERE tenant_id = %s")
    # what was written since the last text was moved
    writing.do(
        "INSERT INTO remloom.pending SELECT r.tenant_id, r.id, r.seq FROM remloom.records r WHERE r.tenant_id = %s"
        " AND r.doc IS NOT NULL AND NOT EXISTS (SELECT FROM remloom.vectors v WHERE v.tenant_id ="
        " r.tenant_id AND v.id = r.id)"
    )


def _park(writing: Writing, id: str, error: str) -> None:
    """Count a failed attempt."""
    writing.cursor.execute(
        f"UPDATE remloom.pending SET attempts = attempts + 1, error = %s, parked = attempts + 1 >= {_ATTEMPTS}"
        " WHERE tenant_id = %s AND id = %s",
        (error.replace("\0", " ")[:2000], writing.tenant, id),
    )


def _unpark(writing: Writing) -> int:
    """Put every parked text back in the queue; returns how many."""
    return writing.do(
        "UPDATE remloom.pending SET parked = false, attempts = 0 WHERE tenant_id = %s AND parked"
    )
