"""The vectors and token vectors of texts on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...model import Record
from ..batch import TokenVectorBatch, Vector, VectorBatch
from ..encoding import now
from ..rules.vector_validation import check_token_vectors
from ..stored_vectors import UNKNOWN, StoredTokenVectors, StoredVectors, VectorStatements
from .binary_arrays import ArrayColumn, floats
from .database import PostgresDatabase
from .rows import SQL, decode, storable
from .write.batch_writer import BatchWriter, register_model, write


class _Statements(VectorStatements):
    def __init__(self, server: PostgresDatabase) -> None:
        super().__init__(SQL, server.fetch, server.read)
        self._server = server

    def _ids(self, ids: Iterable[str]) -> ArrayColumn:
        return ArrayColumn("t", storable(ids))

    def _decode(self, row: Any) -> Record:
        return decode(*row)

    def _run(self, sql: str, **values: Any) -> int:
        return write(self._server, lambda writer: writer.run(sql, **values))


class PostgresVectors(_Statements, StoredVectors):
    """The vectors of one tenant. See `components.Vectors`.

    Args:
        on_written: called with the number of vectors written (None: not counted).
    """

    def __init__(self, server: PostgresDatabase, on_written: Callable[[int | None], None]) -> None:
        super().__init__(server)
        self._on_written = on_written

    def cached(self, digests: Sequence[bytes], *, model: str) -> dict[bytes, bytes]:
        rows = self._fetch(SQL.vectors_by_digest, digests=list(digests), model=model)
        return {digest: floats(data) for digest, data in rows}

    def of(self, ids: Sequence[str]) -> dict[str, list[Vector]]:
        by_id: dict[str, list[Vector]] = {}
        rows = self._fetch(SQL.vectors_of_records, ids=self._ids(ids))
        for id, first, last, data, digest in rows:
            by_id.setdefault(id, []).append(Vector(first, last, floats(data), digest or b""))
        return by_id

    def put(self, batch: VectorBatch) -> None:
        write(self._server, lambda writer: _put(writer, batch))
        self._on_written(sum(map(len, batch.vectors.values())))

    def adopt(self, model: str) -> None:
        write(self._server, lambda writer: _adopt(writer, model))
        self._on_written(None)


def _put(writer: BatchWriter, batch: VectorBatch) -> None:
    vectors = batch.vectors
    if batch.versions:
        numbers = dict(writer.rows(SQL.text_numbers, ids=ArrayColumn("t", list(batch.versions))))
        # What was reworded or deleted since its text was read keeps what it has.
        vectors = {
            id: windows
            for id, windows in vectors.items()
            if id in numbers and batch.versions.get(id, numbers[id]) == numbers[id]
        }
    number = register_model(writer, batch.model, batch.dims, current=batch.current)
    ids = ArrayColumn("t", list(vectors))
    writer.run(SQL.delete_vectors_of_model, model=number, ids=ids)
    writer.put_vectors(number, batch.dims, vectors)
    if batch.current:
        writer.run(SQL.dequeue, ids=ids)


def _adopt(writer: BatchWriter, model: str) -> None:
    rows = writer.rows(SQL.last_model_named, name=model)
    if not rows:
        return  # there was nothing to embed
    number = rows[0][0]
    writer.run(SQL.delete_vectors_of_others, model=number)
    writer.run(SQL.delete_other_models, model=number)
    writer.run(SQL.make_current)
    writer.run(SQL.empty_queue)
    # What was written since the last text was embedded has no vector of this model.
    writer.run(SQL.enqueue_unembedded)


class PostgresTokenVectors(_Statements, StoredTokenVectors):
    """The token vectors of one tenant. See `components.TokenVectors`."""

    def put(self, batch: TokenVectorBatch) -> None:
        write(self._server, lambda writer: _put_tokens(writer, batch))

    def discard_damaged(self, model: str, *, ids: Sequence[str] | None = None) -> int:
        def work(writer: BatchWriter) -> int:
            model_no, dims, _ = (writer.rows(SQL.token_model, name=model) or [UNKNOWN])[0]
            if not model_no:
                return 0
            among = {"every": ids is None, "ids": self._ids(ids or ())}
            sql = SQL.discard_damaged_token_vectors
            discarded = [id for (id,) in writer.rows(sql, model=model_no, dims=dims, **among)]
            if discarded:
                writer.run(SQL.put_back_texts, model=model_no, ids=ArrayColumn("t", discarded))
            return len(discarded)

        return write(self._server, work)

    def drop(self, *, keep: str | None = None) -> None:
        def work(writer: BatchWriter) -> None:
            # "" is not the name of a model
            for sql in (SQL.drop_token_vectors, SQL.drop_token_failures, SQL.drop_token_models):
                writer.run(sql, keep=keep or "")

        write(self._server, work)


def _put_tokens(writer: BatchWriter, batch: TokenVectorBatch) -> None:
    model_no, dims, _ = (writer.rows(SQL.token_model, name=batch.model) or [UNKNOWN])[0]
    check_token_vectors(batch, dims)
    if not model_no:
        values = {"name": batch.model, "dims": batch.dims}
        ((model_no,),) = writer.rows(SQL.insert_token_model, **values)
    ids = ArrayColumn("t", storable(batch.vectors))
    text_nos = dict(writer.rows(SQL.text_numbers, ids=ids))
    # What is gone, or was reworded while its token vectors were made, is passed over.
    current = {
        id: data
        for id, data in batch.vectors.items()
        if (text_no := text_nos.get(id)) is not None and batch.versions.get(id, text_no) == text_no
    }
    ids = ArrayColumn("t", list(current))
    data = ArrayColumn("y", list(current.values()))
    writer.run(SQL.put_token_vectors, model=model_no, ids=ids, data=data)
    writer.run(SQL.delete_token_failures_of_model, name=batch.model, ids=ids)
    writer.run(SQL.advance_token_model, model=model_no, now=now(), last=writer.text_no)
