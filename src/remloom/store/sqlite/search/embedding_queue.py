"""The queue of texts that wait for their vectors, and the vectors that were made of others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from ...batch import Vector, VectorBatch
from ...results import Pending
from ...rules.expiry import now
from ...rules.indexed_text import embedded_text
from ..file.database import SqliteDatabase
from ..file.error_translation import translate
from ..rows import decode
from ..statements import SQL
from ..stats import queue_lengths
from ..write import vector_writer

if TYPE_CHECKING:
    import apsw


_ATTEMPTS = 3  # failed embeddings of a text before it is parked
_LONGEST_ERROR = 2_000  # characters


class SqliteVectors:
    """The vectors of one tenant. See `components.Vectors`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def pending(self, limit: int, *, ids: Sequence[str] | None = None) -> list[Pending]:
        with self._database.snapshot() as cursor:
            if ids is None:
                rows = cursor.execute(SQL.pending, (now(), limit)).fetchall()
            else:
                values = (json.dumps(list(dict.fromkeys(ids))), now(), limit)
                rows = cursor.execute(SQL.pending_among, values).fetchall()
        waiting = []
        for _, schema, body, content, attempts, error, text_no in rows:
            record = decode(schema, body, content)
            text = embedded_text(record)
            waiting.append(Pending(record.id, text, attempts, error or "", text_no or 0))
        return waiting

    def unembedded(self, model: str, limit: int, *, after: int = 0) -> list[Pending]:
        with self._database.snapshot() as cursor:
            rows = cursor.execute(SQL.unembedded, (after, now(), model, limit)).fetchall()
        waiting = []
        for _, schema, body, content, text_no in rows:
            record = decode(schema, body, content)
            waiting.append(Pending(record.id, embedded_text(record), version=text_no))
        return waiting

    def queue_lengths(self) -> tuple[int, int]:
        with self._database.snapshot() as cursor:
            return queue_lengths(cursor)

    def put(self, batch: VectorBatch) -> None:
        self._database.write(lambda cursor: vector_writer.store_vectors(cursor, batch))

    def adopt(self, model: str) -> None:
        self._database.write(lambda cursor: vector_writer.adopt(cursor, model))

    def park(self, id: str, error: str) -> None:
        values = (error[:_LONGEST_ERROR], _ATTEMPTS, id)
        self._database.write(lambda cursor: cursor.execute(SQL.park, values))

    def unpark(self) -> int:
        def work(cursor: apsw.Cursor) -> int:
            cursor.execute(SQL.unpark)
            return int(cursor.connection.changes())

        return self._database.write(work)

    def cached(self, digests: Sequence[bytes], *, model: str) -> dict[bytes, bytes]:
        vectors = {}
        with self._database.snapshot() as cursor:
            for digest in digests:
                data = cursor.execute(SQL.cached_vector, (digest, model)).get
                if data is not None:
                    vectors[digest] = _as_float32(data)
        return vectors

    def get(self, id: str) -> list[Vector]:
        return self.of([id]).get(id, [])

    def of(self, ids: Sequence[str]) -> dict[str, list[Vector]]:
        with self._database.snapshot() as cursor:
            rows = cursor.execute(SQL.windows, (msgspec.json.encode(ids).decode(),)).fetchall()
        # All are converted at once, and cut apart again: a float32 takes two float16.
        numbers = _as_float32(b"".join(row[3] for row in rows))
        vectors: dict[str, list[Vector]] = {}
        end = 0
        for id, first, last, data, digest in rows:
            start, end = end, end + 2 * len(data)
            window = Vector(first, last, numbers[start:end], digest or b"")
            vectors.setdefault(id, []).append(window)
        return vectors

    def model(self) -> tuple[str, int] | None:
        sql = "SELECT name, dims FROM models WHERE current = 1"
        with translate(self._database.path):
            model: tuple[str, int] | None = self._database.reader.execute(sql).get
            return model


def _as_float32(data: bytes) -> bytes:
    """Convert numbers of 16 bits."""
    import numpy as np

    return np.frombuffer(data, np.float16).astype(np.float32).tobytes()
