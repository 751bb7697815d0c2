"""The token vectors of texts, and the queue of texts that have none yet.

The queue is not a table: the texts of a model that wait are those whose number is above the one up
to which it is done. So a write costs nothing more, and what was written before the first model came
waits as well.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...batch import TokenVectorBatch
from ...results import Pending
from ...rules.expiry import now
from ...rules.indexed_text import embedded_text
from ...rules.vector_validation import check_token_vectors
from ..file.database import SqliteDatabase
from ..rows import decode
from ..statements import SQL
from ..stats import token_queue_lengths

if TYPE_CHECKING:
    import apsw


_ATTEMPTS = 3  # failures of a text before it is parked
_LONGEST_ERROR = 2_000  # characters
_UNKNOWN = (0, 0, 0)  # number, dimensions and progress of a model that made nothing yet


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
        self._database.write(lambda cursor: _put(cursor, batch))

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


def _put(cursor: apsw.Cursor, batch: TokenVectorBatch) -> None:
    """Store the token vectors that a model made. See `components.TokenVectors.put`."""
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
