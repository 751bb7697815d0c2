"""The token vectors of texts, and the queue of texts that have none yet.

The queue is not a table: the texts of a model that wait are those whose number is above the one up
to which it is done. So a write costs nothing more, and what was written before the first model came
waits as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ...batch import TokenVectorBatch
from ...results import Pending
from ...rules.expiry import now
from ...rules.indexed_text import embedded_text
from ...rules.vector_validation import check_token_vectors
from ..binary_arrays import ArrayColumn
from ..rows import decode
from ..server.database import PostgresDatabase
from ..statements import SQL
from ..stats import token_queue_lengths
from ..write.batch_writer import BatchWriter, write

_T = TypeVar("_T")
_ATTEMPTS = 3  # failures of a text before it is parked
_SHOWN = 2_000  # characters of an error that are kept
_UNKNOWN = [(0, 0, 0)]  # number, dimensions and progress of a model that made nothing yet


class PostgresTokenVectors:
    """The token vectors of one tenant. See `components.TokenVectors`."""

    def __init__(self, server: PostgresDatabase, tenant: str) -> None:
        self._server = server
        self._tenant = tenant

    def pending(self, model: str, limit: int, *, ids: Sequence[str] | None = None) -> list[Pending]:
        with self._server.read(self._tenant):
            model_no, _, upto = (self._fetch(SQL.token_model, name=model) or _UNKNOWN)[0]
            values = {"name": model, "model": model_no, "now": now()}
            if ids is None:
                found = self._fetch(SQL.texts_without_tokens, upto=upto, limit=limit, **values)
                left = limit - len(found)
                found += self._fetch(SQL.texts_to_try_again, limit=left, **values)
            else:
                values |= {"limit": limit, "ids": _storable(ids)}
                found = self._fetch(SQL.texts_without_tokens_among, **values)
        return [
            Pending(id, embedded_text(decode(*record)), attempts, error, text_no)
            for id, *record, text_no, attempts, error in found
        ]

    def queue_lengths(self, model: str) -> tuple[int, int]:
        with self._server.read(self._tenant) as cursor:
            return token_queue_lengths(cursor, self._tenant, model)

    def put(self, batch: TokenVectorBatch) -> None:
        self._write(lambda writer: _put(writer, batch))

    def of(self, ids: Sequence[str], *, model: str) -> dict[str, bytes]:
        values = {"ids": _storable(ids), "name": model, "now": now()}
        return dict(self._fetch(SQL.token_vectors_of_records, **values))

    def models(self) -> list[tuple[str, int]]:
        return self._fetch(SQL.token_models)

    def park(self, id: str, error: str, *, model: str) -> None:
        shown = error.replace("\0", " ")[:_SHOWN]
        values = {"id": id, "error": shown, "name": model, "most": _ATTEMPTS}
        self._write(lambda writer: writer.run(SQL.count_token_failure, **values))

    def unpark(self, model: str) -> int:
        return self._write(lambda writer: writer.run(SQL.unpark_tokens, name=model))

    def discard_damaged(self, model: str, *, ids: Sequence[str] | None = None) -> int:
        def work(writer: BatchWriter) -> int:
            model_no, dims, _ = (writer.rows(SQL.token_model, name=model) or _UNKNOWN)[0]
            if not model_no:
                return 0
            values = {"every": ids is None, "ids": _storable(ids or ())}
            sql = SQL.discard_damaged_token_vectors
            discarded = [id for (id,) in writer.rows(sql, model=model_no, dims=dims, **values)]
            if discarded:
                writer.run(SQL.put_back_texts, model=model_no, ids=_storable(discarded))
            return len(discarded)

        return self._write(work)

    def drop(self, *, keep: str | None = None) -> None:
        def work(writer: BatchWriter) -> None:
            # "" is not the name of a model
            for sql in (SQL.drop_token_vectors, SQL.drop_token_failures, SQL.drop_token_models):
                writer.run(sql, keep=keep or "")

        self._write(work)

    def _fetch(self, sql: str, **values: Any) -> list[Any]:
        return self._server.fetch(self._tenant, sql, {"tenant": self._tenant, **values})

    def _write(self, work: Callable[[BatchWriter], _T]) -> _T:
        return write(self._server, self._tenant, work)


def _storable(ids: Sequence[str]) -> ArrayColumn:
    """Ids that may be stored, each once: PostgreSQL has no texts with a NUL in them."""
    return ArrayColumn("t", [id for id in dict.fromkeys(ids) if "\0" not in id])


def _put(writer: BatchWriter, batch: TokenVectorBatch) -> None:
    """Store the token vectors that a model made. See `components.TokenVectors.put`."""
    model_no, dims, _ = (writer.rows(SQL.token_model, name=batch.model) or _UNKNOWN)[0]
    check_token_vectors(batch, dims)
    if not model_no:
        values = {"name": batch.model, "dims": batch.dims}
        ((model_no,),) = writer.rows(SQL.insert_token_model, **values)
    text_nos = dict(writer.rows(SQL.text_numbers, ids=_storable(list(batch.vectors))))
    # What is gone, or was reworded while its token vectors were made, is passed over.
    current = {
        id: data
        for id, data in batch.vectors.items()
        if (text_no := text_nos.get(id)) is not None and batch.versions.get(id, text_no) == text_no
    }
    ids = ArrayColumn("t", list(current))
    writer.run(
        SQL.put_token_vectors,
        model=model_no,
        ids=ids,
        data=ArrayColumn("y", list(current.values())),
    )
    writer.run(SQL.delete_token_failures_of_model, name=batch.model, ids=ids)
    writer.run(SQL.advance_token_model, model=model_no, now=now(), last=writer.text_no)
