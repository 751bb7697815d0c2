"""Texts that wait for their vectors, and the vectors that were made of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ...batch import Vector, VectorBatch
from ...results import Pending
from ...rules.expiry import now
from ...rules.indexed_text import embedded_text
from ..binary_arrays import ArrayColumn, floats
from ..rows import decode
from ..server.database import PostgresDatabase
from ..statements import SQL
from ..stats import queue_lengths
from ..write.batch_writer import BatchWriter, register_model, write

_T = TypeVar("_T")
_ATTEMPTS = 3  # failed embeddings of a text before it is parked
_SHOWN = 2_000  # characters of an error that are kept


class PostgresVectors:
    """The vectors of one tenant. See `components.Vectors`.

    Args:
        on_written: called with the number of vectors written (None: not counted).
    """

    def __init__(
        self, server: PostgresDatabase, tenant: str, on_written: Callable[[int | None], None]
    ) -> None:
        self._server = server
        self._tenant = tenant
        self._on_written = on_written

    def pending(self, limit: int, *, ids: Sequence[str] | None = None) -> list[Pending]:
        if ids is None:
            rows = self._fetch(SQL.next_pending, limit=limit, now=now())
        else:
            rows = self._fetch(SQL.pending_among, limit=limit, now=now(), ids=ArrayColumn("t", ids))
        return [
            Pending(id, embedded_text(decode(*record)), attempts, error or "", text_no or 0)
            for id, attempts, error, text_no, *record in rows
        ]

    def unembedded(self, model: str, limit: int, *, after: int = 0) -> list[Pending]:
        rows = self._fetch(
            SQL.unembedded_by_model, model=model, limit=limit, after=after, now=now()
        )
        return [
            Pending(id, embedded_text(decode(*record)), version=text_no)
            for id, text_no, *record in rows
        ]

    def cached(self, digests: Sequence[bytes], *, model: str) -> dict[bytes, bytes]:
        rows = self._fetch(SQL.vectors_by_digest, digests=list(digests), model=model)
        return {digest: floats(data) for digest, data in rows}

    def queue_lengths(self) -> tuple[int, int]:
        with self._server.read(self._tenant) as cursor:
            return queue_lengths(cursor, self._tenant)

    def get(self, id: str) -> list[Vector]:
        return self.of([id]).get(id, [])

    def of(self, ids: Sequence[str]) -> dict[str, list[Vector]]:
        # PostgreSQL has no texts with a NUL in them.
        storable = ArrayColumn("t", [id for id in ids if "\0" not in id])
        by_id: dict[str, list[Vector]] = {}
        for id, first, last, data, digest in self._fetch(SQL.vectors_of_records, ids=storable):
            by_id.setdefault(id, []).append(Vector(first, last, floats(data), digest or b""))
        return by_id

    def model(self) -> tuple[str, int] | None:
        rows = self._fetch(SQL.current_model)
        return rows[0][1:] if rows else None

    def put(self, batch: VectorBatch) -> None:
        self._write(lambda writer: _put(writer, batch))
        self._on_written(sum(map(len, batch.vectors.values())))

    def adopt(self, model: str) -> None:
        self._write(lambda writer: _adopt(writer, model))
        self._on_written(None)

    def park(self, id: str, error: str) -> None:
        shown = error.replace("\0", " ")[:_SHOWN]
        self._write(
            lambda writer: writer.run(SQL.count_failure, id=id, error=shown, most=_ATTEMPTS)
        )

    def unpark(self) -> int:
        return self._write(lambda writer: writer.run(SQL.unpark))

    def _fetch(self, sql: str, **values: Any) -> list[Any]:
        return self._server.fetch(self._tenant, sql, {"tenant": self._tenant, **values})

    def _write(self, work: Callable[[BatchWriter], _T]) -> _T:
        return write(self._server, self._tenant, work)


def _put(writer: BatchWriter, batch: VectorBatch) -> None:
    """Store the vectors of records, and take them off the queue."""
    vectors = batch.vectors
    if batch.versions:
        ids = ArrayColumn("t", list(batch.versions))
        now = dict(writer.rows(SQL.text_numbers, ids=ids))
        # What was reworded or deleted since its text was read keeps what it has.
        vectors = {
            id: windows
            for id, windows in vectors.items()
            if id in now and batch.versions.get(id, now[id]) == now[id]
        }
    number = register_model(writer, batch.model, batch.dims, current=batch.current)
    ids = ArrayColumn("t", list(vectors))
    writer.run(SQL.delete_vectors_of_model, model=number, ids=ids)
    writer.put_vectors(number, batch.dims, vectors)
    if batch.current:
        writer.run(SQL.dequeue, ids=ids)


def _adopt(writer: BatchWriter, model: str) -> None:
    """Switch to a model whose vectors are complete."""
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
