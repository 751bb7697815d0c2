"""The vectors and token vectors of texts, and the queues of texts that wait for theirs.

The queue of token vectors is not a table: the texts of a model that wait are those whose number is
above the one up to which it is done. So a write costs nothing more, and what was written before the
first model came waits as well.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...batch import TokenVectorBatch, Vector, VectorBatch
from ...results import Pending
from ...rules.expiry import now
from ...rules.indexed_text import embedded_text
from ...rules.vector_validation import check_token_vectors
from ..file.database import SqliteDatabase
from ..file.error_translation import translate
from ..rows import SQL, decode
from ..write.write_session import WriteSession, register_model

if TYPE_CHECKING:
    import apsw


_ATTEMPTS = 3  # failures of a text before it is parked
_LONGEST_ERROR = 2_000  # characters
_UNKNOWN = (0, 0, 0)  # number, dimensions and progress of a model that made nothing yet


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
        self._database.write(lambda cursor: _put(cursor, batch))

    def adopt(self, model: str) -> None:
        self._database.write(lambda cursor: _adopt(cursor, model))

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
            rows = cursor.execute(SQL.windows, (json.dumps(list(ids)),)).fetchall()
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


class SqliteTokenVectors:
    """The token vectors of one tenant. See `components.TokenVectors`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def pending(self, model: str, limit: int, *, ids: Sequence[str] | None = None) -> list[Pending]:
        with self._database.snapshot() as cursor:
            model_no, _, upto = cursor.execute(SQL.token_model, (model,)).get or _UNKNOWN
            values = {"name": model, "model": model_no, "upto": upto, "now": now()}
            if ids is None:
                rows = cursor.execute(SQL.texts_without_tokens, values | {"limit": limit})
                found = rows.fetchall()
                values["limit"] = limit - len(found)
                found += cursor.execute(SQL.texts_to_try_again, values).fetchall()
            else:
                values |= {"ids": json.dumps(list(dict.fromkeys(ids))), "limit": limit}
                found = cursor.execute(SQL.texts_without_tokens_among, values).fetchall()
        return [
            Pending(id, embedded_text(decode(*record)), attempts, error, text_no)
            for id, *record, text_no, attempts, error in found
        ]

    def queue_lengths(self, model: str) -> tuple[int, int]:
        with self._database.snapshot() as cursor:
            return token_queue_lengths(cursor, model)

    def put(self, batch: TokenVectorBatch) -> None:
        self._database.write(lambda cursor: _put_tokens(cursor, batch))

    def of(self, ids: Sequence[str], *, model: str) -> dict[str, bytes]:
        values = {"ids": json.dumps(list(ids)), "name": model, "now": now()}
        with self._database.snapshot() as cursor:
            return dict(cursor.execute(SQL.token_vectors, values).fetchall())

    def models(self) -> list[tuple[str, int]]:
        with self._database.snapshot() as cursor:
            models: list[tuple[str, int]] = cursor.execute(SQL.token_models).fetchall()
            return models

    def park(self, id: str, error: str, *, model: str) -> None:
        values = {"id": id, "error": error[:_LONGEST_ERROR], "name": model, "allowed": _ATTEMPTS}
        self._database.write(lambda cursor: cursor.execute(SQL.park_tokens, values))

    def unpark(self, model: str) -> int:
        def work(cursor: apsw.Cursor) -> int:
            cursor.execute(SQL.unpark_tokens, (model,))
            return int(cursor.connection.changes())

        return self._database.write(work)

    def discard_damaged(self, model: str, *, ids: Sequence[str] | None = None) -> int:
        def work(cursor: apsw.Cursor) -> int:
            model_no, dims, _ = cursor.execute(SQL.token_model, (model,)).get or _UNKNOWN
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
    model_no, dims, _ = cursor.execute(SQL.token_model, (batch.model,)).get or _UNKNOWN
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


def queue_lengths(cursor: apsw.Cursor) -> tuple[int, int]:
    """Count the texts that wait for their vectors, and those parked. It costs what it counts."""
    waiting = cursor.execute("SELECT count(*) FROM pending WHERE parked = 0").get
    return waiting, cursor.execute("SELECT count(*) FROM pending").get - waiting


def token_queue_lengths(cursor: apsw.Cursor, model: str) -> tuple[int, int]:
    """Count the texts that wait for their token vectors of a model, and those parked."""
    number, _, upto = cursor.execute(SQL.token_model, (model,)).get or (0, 0, 0)
    values = {"name": model, "model": number, "upto": upto, "now": now()}
    fresh = cursor.execute(SQL.count_texts_without_tokens, values).get
    failed, parked = cursor.execute(SQL.count_token_failures, values).get
    return fresh + failed, parked
