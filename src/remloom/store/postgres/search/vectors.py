"""The vectors and token vectors of texts, and the queues of texts that wait for theirs.

The queue of token vectors is not a table: the texts of a model that wait are those whose number is
above the one up to which it is done. So a write costs nothing more, and what was written before the
first model came waits as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...batch import TokenVectorBatch, Vector, VectorBatch
from ...results import Pending
from ...rules.expiry import now
from ...rules.indexed_text import embedded_text
from ...rules.vector_validation import check_token_vectors
from ..binary_arrays import ArrayColumn, floats
from ..database import PostgresDatabase, TenantCursor
from ..rows import SQL, decode, storable
from ..write.batch_writer import BatchWriter, register_model, write

_ATTEMPTS = 3  # failures of a text before it is parked
_LONGEST_ERROR = 2_000  # characters
_UNKNOWN = [(0, 0, 0)]  # number, dimensions and progress of a model that made nothing yet


class PostgresVectors:
    """The vectors of one tenant. See `components.Vectors`.

    Args:
        on_written: called with the number of vectors written (None: not counted).
    """

    def __init__(self, server: PostgresDatabase, on_written: Callable[[int | None], None]) -> None:
        self._server = server
        self._on_written = on_written

    def pending(self, limit: int, *, ids: Sequence[str] | None = None) -> list[Pending]:
        if ids is None:
            rows = self._server.fetch(SQL.next_pending, limit=limit, now=now())
        else:
            rows = self._server.fetch(
                SQL.pending_among, limit=limit, now=now(), ids=ArrayColumn("t", ids)
            )
        return [
            Pending(id, embedded_text(decode(*record)), attempts, error or "", text_no or 0)
            for id, attempts, error, text_no, *record in rows
        ]

    def unembedded(self, model: str, limit: int, *, after: int = 0) -> list[Pending]:
        values = {"model": model, "limit": limit, "after": after, "now": now()}
        return [
            Pending(id, embedded_text(decode(*record)), version=text_no)
            for id, text_no, *record in self._server.fetch(SQL.unembedded_by_model, **values)
        ]

    def cached(self, digests: Sequence[bytes], *, model: str) -> dict[bytes, bytes]:
        rows = self._server.fetch(SQL.vectors_by_digest, digests=list(digests), model=model)
        return {digest: floats(data) for digest, data in rows}

    def queue_lengths(self) -> tuple[int, int]:
        with self._server.read() as cursor:
            return queue_lengths(cursor)

    def get(self, id: str) -> list[Vector]:
        return self.of([id]).get(id, [])

    def of(self, ids: Sequence[str]) -> dict[str, list[Vector]]:
        by_id: dict[str, list[Vector]] = {}
        rows = self._server.fetch(SQL.vectors_of_records, ids=ArrayColumn("t", storable(ids)))
        for id, first, last, data, digest in rows:
            by_id.setdefault(id, []).append(Vector(first, last, floats(data), digest or b""))
        return by_id

    def model(self) -> tuple[str, int] | None:
        rows = self._server.fetch(SQL.current_model)
        return rows[0][1:] if rows else None

    def put(self, batch: VectorBatch) -> None:
        write(self._server, lambda writer: _put(writer, batch))
        self._on_written(sum(map(len, batch.vectors.values())))

    def adopt(self, model: str) -> None:
        write(self._server, lambda writer: _adopt(writer, model))
        self._on_written(None)

    def park(self, id: str, error: str) -> None:
        values = {"id": id, "error": _shown(error), "most": _ATTEMPTS}
        write(self._server, lambda writer: writer.run(SQL.count_failure, **values))

    def unpark(self) -> int:
        return write(self._server, lambda writer: writer.run(SQL.unpark))


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


class PostgresTokenVectors:
    """The token vectors of one tenant. See `components.TokenVectors`."""

    def __init__(self, server: PostgresDatabase) -> None:
        self._server = server

    def pending(self, model: str, limit: int, *, ids: Sequence[str] | None = None) -> list[Pending]:
        with self._server.read() as cursor:
            model_no, _, upto = (cursor.rows(SQL.token_model, name=model) or _UNKNOWN)[0]
            values = {"name": model, "model": model_no, "now": now()}
            if ids is None:
                found = cursor.rows(SQL.texts_without_tokens, upto=upto, limit=limit, **values)
                left = limit - len(found)
                found += cursor.rows(SQL.texts_to_try_again, limit=left, **values)
            else:
                values |= {"limit": limit, "ids": ArrayColumn("t", storable(ids))}
                found = cursor.rows(SQL.texts_without_tokens_among, **values)
        return [
            Pending(id, embedded_text(decode(*record)), attempts, error, text_no)
            for id, *record, text_no, attempts, error in found
        ]

    def queue_lengths(self, model: str) -> tuple[int, int]:
        with self._server.read() as cursor:
            return token_queue_lengths(cursor, model)

    def put(self, batch: TokenVectorBatch) -> None:
        write(self._server, lambda writer: _put_tokens(writer, batch))

    def of(self, ids: Sequence[str], *, model: str) -> dict[str, bytes]:
        values = {"ids": ArrayColumn("t", storable(ids)), "name": model, "now": now()}
        return dict(self._server.fetch(SQL.token_vectors_of_records, **values))

    def models(self) -> list[tuple[str, int]]:
        return self._server.fetch(SQL.token_models)

    def park(self, id: str, error: str, *, model: str) -> None:
        values = {"id": id, "error": _shown(error), "name": model, "most": _ATTEMPTS}
        write(self._server, lambda writer: writer.run(SQL.count_token_failure, **values))

    def unpark(self, model: str) -> int:
        return write(self._server, lambda writer: writer.run(SQL.unpark_tokens, name=model))

    def discard_damaged(self, model: str, *, ids: Sequence[str] | None = None) -> int:
        def work(writer: BatchWriter) -> int:
            model_no, dims, _ = (writer.rows(SQL.token_model, name=model) or _UNKNOWN)[0]
            if not model_no:
                return 0
            among = {"every": ids is None, "ids": ArrayColumn("t", storable(ids or ()))}
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
    model_no, dims, _ = (writer.rows(SQL.token_model, name=batch.model) or _UNKNOWN)[0]
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


def queue_lengths(cursor: TenantCursor) -> tuple[int, int]:
    """Count the texts that wait for their vectors, and those parked. It costs what it counts."""
    ((waiting, parked),) = cursor.rows(SQL.count_pending)
    return waiting, parked


def token_queue_lengths(cursor: TenantCursor, model: str) -> tuple[int, int]:
    """Count the texts that wait for their token vectors of a model, and those parked."""
    number, _, upto = (cursor.rows(SQL.token_model, name=model) or _UNKNOWN)[0]
    values = {"name": model, "now": now()}
    ((fresh,),) = cursor.rows(SQL.count_texts_without_tokens, model=number, upto=upto, **values)
    ((failed, parked),) = cursor.rows(SQL.count_token_failures, **values)
    return fresh + failed, parked


def _shown(error: str) -> str:
    return error.replace("\0", " ")[:_LONGEST_ERROR]
