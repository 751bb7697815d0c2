"""Vectors on their way into the tables, and the models that made them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...batch import Vector, VectorBatch
from ...rules.vector_validation import choose_model
from ..statements import SQL
from .write_session import WriteSession

if TYPE_CHECKING:
    import apsw


def add_vectors(
    session: WriteSession, record_no: int, model_no: int, windows: Iterable[Vector]
) -> None:
    """Add the windows of a record to the rows that are to be written."""
    for window in windows:
        session.vector_no += 1
        session.rows.vectors.append(
            (
                session.vector_no,
                record_no,
                model_no,
                window.start,
                window.end,
                window.digest or None,
                _as_float16(window.data),
            )
        )


def delete_vectors(session: WriteSession, record_no: int) -> int:
    """Delete the vectors of a record and take it off the queue; returns how many there were."""
    cursor = session.cursor
    rows = cursor.execute("DELETE FROM vectors WHERE rid = ? RETURNING vid", (record_no,))
    numbers = [vector_no for (vector_no,) in rows.fetchall()]
    for vector_no in numbers:
        session.leave_tombstone("vectors", vector_no)
    cursor.execute("DELETE FROM pending WHERE rid = ?", (record_no,))
    return len(numbers)


def delete_token_vectors(session: WriteSession, record_no: int) -> None:
    """Delete the token vectors of a record, and that making them failed."""
    cursor = session.cursor
    if cursor.execute(SQL.delete_token_vectors, (record_no,)).fetchall():
        session.tombstones.setdefault("token_vectors", []).append(record_no)
    cursor.execute(SQL.delete_token_failures, (record_no,))


def store_vectors(cursor: apsw.Cursor, batch: VectorBatch) -> None:
    """Replace the vectors that records have of one model. See `components.Vectors.put`."""
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
        add_vectors(session, record_no, model_no, windows)
        if batch.current:
            cursor.execute("DELETE FROM pending WHERE rid = ?", (record_no,))
    session.flush()
    session.close()


def adopt(cursor: apsw.Cursor, model: str) -> None:
    """Switch to a model whose vectors are complete. See `components.Vectors.adopt`."""
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


def register_model(cursor: apsw.Cursor, name: str, dims: int, *, current: bool = True) -> int:
    """Return the number of an embedder, registered with its dimension; see
    `store.rules.vector_validation.choose_model`."""
    rows = cursor.execute("SELECT model, name, dims, current FROM models").fetchall()
    number, is_new = choose_model(rows, name, dims, current=current)
    if is_new:
        cursor.execute("INSERT INTO models VALUES (?,?,?,?)", (number, name, dims, int(current)))
        if name and not rows and current:
            # what was written while there was no embedder was not queued
            cursor.execute(SQL.queue_without_vectors)
    return number


def _as_float16(data: bytes) -> bytes:
    import numpy as np

    return np.frombuffer(data, np.float32).astype(np.float16).tobytes()
