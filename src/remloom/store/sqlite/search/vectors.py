"""The vectors and token vectors of texts on SQLite."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import apsw
import msgspec

from ....model import Record
from ...batch import TokenVectorBatch, Vector, VectorBatch
from ...encoding import now
from ...rules.vector_validation import check_token_vectors
from ...stored_vectors import UNKNOWN, StoredTokenVectors, StoredVectors, VectorStatements
from ..file.database import SqliteDatabase
from ..rows import SQL, decode
from ..write.write_session import WriteSession, register_model


class _Statements(VectorStatements):
    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(SQL, database.fetch, database.snapshot)
        self._database = database

    def _ids(self, ids: Iterable[str]) -> str:
        return json.dumps(list(dict.fromkeys(ids)))

    def _decode(self, row: Any) -> Record:
        return decode(*row)

    def _run(self, sql: str, **values: Any) -> int:
        def work(cursor: apsw.Cursor) -> int:
            cursor.execute(sql, values)
            return int(cursor.connection.changes())

        return self._database.write(work)


class SqliteVectors(_Statements, StoredVectors):
    """The vectors of one tenant. See `components.Vectors`."""

    def put(self, batch: VectorBatch) -> None:
        self._database.write(lambda cursor: _put(cursor, batch))

    def adopt(self, model: str) -> None:
        self._database.write(lambda cursor: _adopt(cursor, model))

    def cached(self, digests: Sequence[bytes], *, model: str) -> dict[bytes, bytes]:
        vectors = {}
        with self._database.snapshot() as cursor:
            for digest in digests:
                data = cursor.execute(SQL.cached_vector, (digest, model)).get
                if data is not None:
                    vectors[digest] = _as_float32(data)
        return vectors

    def of(self, ids: Sequence[str]) -> dict[str, list[Vector]]:
        rows = self._fetch(SQL.windows, ids=msgspec.json.encode(list(ids)).decode())
        # All are converted at once, and cut apart again: a float32 takes two float16.
        numbers = _as_float32(b"".join(row[3] for row in rows))
        vectors: dict[str, list[Vector]] = {}
        end = 0
        for id, first, last, data, digest in rows:
            start, end = end, end + 2 * len(data)
            window = Vector(first, last, numbers[start:end], digest or b"")
            vectors.setdefault(id, []).append(window)
        return vectors


def _put(cursor: apsw.Cursor, batch: VectorBatch) -> None:
    model_no = register_model(cursor, batch.model, batch.dims, current=batch.current)
    session = WriteSession(cursor)
    for id, windows in batch.vectors.items():
        row = cursor.execute("SELECT rid, doc FROM records WHERE id = ?", (id,)).get
        if row is None:
            continue
        record_no, text_no = row
        # The text was changed while its vectors were made.
        if batch.versions.get(id, text_no) != text_no:
            continue
        replaced = cursor.execute(
            "DELETE FROM vectors WHERE rid = ? AND model = ? RETURNING vid", (record_no, model_no)
        ).fetchall()
        for (vector_no,) in replaced:
            session.leave_tombstone("vectors", vector_no)
        session.add_vectors(record_no, model_no, windows)
        if batch.current:
            cursor.execute("DELETE FROM pending WHERE rid = ?", (record_no,))
    session.flush()
    session.close()


def _adopt(cursor: apsw.Cursor, model: str) -> None:
    model_no = cursor.execute(
        "SELECT model FROM models WHERE name = ? ORDER BY model DESC LIMIT 1", (model,)
    ).get
    if model_no is None:
        return  # there was nothing to embed
    cursor.execute("DELETE FROM vectors WHERE model <> ?", (model_no,))
    cursor.execute("DELETE FROM models WHERE model <> ?", (model_no,))
    cursor.execute("UPDATE models SET current = 1")
    cursor.execute("DELETE FROM pending")
    # what was written since the last text was moved
    cursor.execute(SQL.queue_without_vectors)
    cursor.execute("DELETE FROM snapshots WHERE kind = 'vectors'")


def _as_float32(data: bytes) -> bytes:
    import numpy as np

    return np.frombuffer(data, np.float16).astype(np.float32).tobytes()


class SqliteTokenVectors(_Statements, StoredTokenVectors):
    """The token vectors of one tenant. See `components.TokenVectors`."""

    def put(self, batch: TokenVectorBatch) -> None:
        self._database.write(lambda cursor: _put_tokens(cursor, batch))

    def discard_damaged(self, model: str, *, ids: Sequence[str] | None = None) -> int:
        def work(cursor: apsw.Cursor) -> int:
            model_no, dims, _ = cursor.execute(SQL.token_model, (model,)).get or UNKNOWN
            if not model_no:
                return 0
            values: dict[str, Any] = {"model": model_no, "dims": dims}
            sql = SQL.discard_damaged_token_vectors
            if ids is not None:
                sql = SQL.discard_damaged_token_vectors_among
                values["ids"] = json.dumps(list(ids))
            numbers = [record_no for (record_no,) in cursor.execute(sql, values).fetchall()]
            if numbers:
                put_back = {"model": model_no, "records": json.dumps(numbers)}
                cursor.execute(SQL.put_back_texts, put_back)
            return len(numbers)

        return self._database.write(work)

    def drop(self, *, keep: str | None = None) -> None:
        def work(cursor: apsw.Cursor) -> None:
            # "" is not the name of a model
            name = keep or ""
            cursor.execute(
                "DELETE FROM token_vectors WHERE model IN"
                " (SELECT model FROM token_models WHERE name <> ?)",
                (name,),
            )
            cursor.execute("DELETE FROM token_failures WHERE model <> ?", (name,))
            cursor.execute("DELETE FROM token_models WHERE name <> ?", (name,))

        self._database.write(work)


def _put_tokens(cursor: apsw.Cursor, batch: TokenVectorBatch) -> None:
    model_no, dims, _ = cursor.execute(SQL.token_model, (batch.model,)).get or UNKNOWN
    check_token_vectors(batch, dims)
    if not model_no:
        model_no = cursor.execute(SQL.add_token_model, (batch.model, batch.dims)).get
    for id, data in batch.vectors.items():
        record_no, text_no = cursor.execute(
            "SELECT rid, doc FROM records WHERE id = ?", (id,)
        ).get or (None, None)
        # It is gone, or its text was changed while its token vectors were made.
        if text_no is None or batch.versions.get(id, text_no) != text_no:
            continue
        cursor.execute(SQL.put_token_vectors, (record_no, model_no, data))
        cursor.execute(SQL.delete_token_failure, (batch.model, record_no))
    cursor.execute(SQL.advance_token_model, {"model": model_no, "now": now()})
