"""Texts that wait for their vectors, and the vectors that were made of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ..batch import Vector, VectorBatch
from ..indexed_text import embedded_text
from ..results import Pending
from . import batch_writer
from .database import Database, translate
from .rows import COLUMNS, decode
from .stats import queue_lengths

if TYPE_CHECKING:
    import apsw

__all__ = ["SqliteVectors"]

_ATTEMPTS = 3  # failed embeddings of a text before it is parked


class SqliteVectors:
    """The vectors of one tenant. See `components.Vectors`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def pending(self, limit: int) -> list[Pending]:
        with self._database.snapshot() as cursor:
            found = cursor.execute(
                f"SELECT {COLUMNS}, p.attempts, p.error, r.doc FROM pending p CROSS JOIN records r ON r.rid = p.rid"
                " WHERE p.parked = 0 ORDER BY p.attempts, p.rid LIMIT ?",
                (limit,),
            ).fetchall()
        waiting = (
            (decode(schema, body, content), *rest) for _, schema, body, content, *rest in found
        )
        return [
            Pending(r.id, embedded_text(r), tries, error or "", doc or 0)
            for r, tries, error, doc in waiting
        ]

    def unembedded(self, model: str, limit: int, *, after: int = 0) -> list[Pending]:
        with self._database.snapshot() as cursor:
            found = cursor.execute(
                f"SELECT {COLUMNS}, r.doc FROM records r WHERE r.doc > ? AND NOT EXISTS (SELECT 1"
                " FROM vectors v JOIN models m USING (model) WHERE v.rid = r.rid AND m.name = ?)"
                " ORDER BY r.doc LIMIT ?",
                (after, model, limit),
            ).fetchall()
        texts = ((decode(schema, body, content), doc) for _, schema, body, content, doc in found)
        return [Pending(record.id, embedded_text(record), version=doc) for record, doc in texts]

    def queue_lengths(self) -> tuple[int, int]:
        with self._database.snapshot() as cursor:
            return queue_lengths(cursor)

    def put(self, batch: VectorBatch) -> None:
        self._database.write(lambda cursor: batch_writer.store_vectors(cursor, batch))

    def adopt(self, model: str) -> None:
        self._database.write(lambda cursor: batch_writer.adopt(cursor, model))

    def park(self, id: str, error: str) -> None:
        self._database.write(
            lambda cursor: cursor.execute(
                f"UPDATE pending SET attempts = attempts + 1, error = ?, parked = (attempts + 1 >= {_ATTEMPTS})"
                " WHERE rid = (SELECT rid FROM records WHERE id = ?)",
                (error[:2000], id),
            )
        )

    def unpark(self) -> int:
        def work(cursor: apsw.Cursor) -> int:
            cursor.execute("UPDATE pending SET parked = 0, attempts = 0 WHERE parked = 1")
            return int(cursor.connection.changes())

        return self._database.write(work)

    def cached(self, digests: Sequence[bytes], *, model: str) -> dict[bytes, bytes]:
        sql = "SELECT v.data FROM vectors v JOIN models m USING (model) WHERE v.hash = ? AND m.name = ? LIMIT 1"
        with self._database.snapshot() as cursor:
            found = {digest: cursor.execute(sql, (digest, model)).get for digest in digests}
        return {digest: _wide(data) for digest, data in found.items() if data is not None}

    def get(self, id: str) -> list[Vector]:
        return self.of([id]).get(id, [])

    def of(self, ids: Sequence[str]) -> dict[str, list[Vector]]:
        found: dict[str, list[Vector]] = {}
        with self._database.snapshot() as cursor:
            rows = cursor.execute(
                "SELECT r.id, v.first, v.last, v.data, v.hash FROM json_each(?) k"
                " CROSS JOIN records r ON r.id = k.value CROSS JOIN vectors v ON v.rid = r.rid"
                " JOIN models m USING (model) WHERE m.current = 1 ORDER BY v.vid",
                (msgspec.json.encode(ids).decode(),),
            ).fetchall()
        whole, end = _wide(b"".join(row[3] for row in rows)), 0
        for id, first, last, data, digest in rows:
            start, end = end, end + 2 * len(data)
            found.setdefault(id, []).append(Vector(first, last, whole[start:end], digest or b""))
        return found

    def model(self) -> tuple[str, int] | None:
        with translate(self._database.path):
            cursor = self._database.reader.execute(
                "SELECT name, dims FROM models WHERE current = 1"
            )
            found: tuple[str, int] | None = cursor.get
            return found


def _wide(data: Any) -> bytes:
    """Numbers of 16 bits as float32."""
    import numpy as np

    return np.frombuffer(data, np.float16).astype(np.float32).tobytes()
